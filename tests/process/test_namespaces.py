# SPDX-License-Identifier: MIT
"""A target in user, mount, pid and network namespaces of its own, with a read-only root and no compiler."""
import os
import re
import shutil
import subprocess
import time

from scripted import attach, environment, finish, script_file, words
from support import ALL, attach as attach_module, hits, tap

SCRIPT = '''
global n, wrong
probe process%s.function("work") { n++; if ($b != 1) wrong++ }
probe process%s.function("work").return { n++ }
probe end { printf("hits %%d wrong %%d\\n", n > 0, wrong) }
'''
ENTER = '''
set -e
mount --bind %(root)s %(root)s
mount -t tmpfs none %(root)s/out
mount -t proc none %(root)s/proc
mount --rbind /dev %(root)s/dev
mount -o remount,bind,ro %(root)s
exec chroot %(root)s %(command)s
'''


def small_root(ctx, *programs):
    root = os.path.join(ctx.tmp, 'root')
    for d in ('bin', 'proc', 'out', 'dev'):
        os.makedirs(os.path.join(root, d))
    for p in programs:
        shutil.copy(p, os.path.join(root, 'bin'))
    return root


def inside(ctx, root, command, **kw):
    """Run a command in namespaces of its own on that root; standard input keeps it alive."""
    argv = ['unshare', '-Urmpnf', '--kill-child', '/bin/sh', '-c', ENTER % dict(root=root, command=command)]
    if subprocess.run(['unshare', '-Urmpnf', 'true'], stderr=subprocess.DEVNULL).returncode:
        ctx.skip('this machine does not let us make a user namespace')
    return ctx.start(argv, stderr=subprocess.PIPE, **kw)


def child_named(ctx, parent, name):
    """The process `name` below parent, as we see it."""
    for _ in range(100):
        for pid in filter(str.isdigit, os.listdir('/proc')):
            try:
                with open('/proc/%s/stat' % pid) as f:
                    comm, rest = re.match(r'\d+ \((.*)\) \S (\d+)', f.read()).groups()
            except (OSError, AttributeError):
                continue
            if comm == name[:15] and int(rest) == parent:
                return int(pid)
        time.sleep(0.05)
    raise AssertionError('no %s below %d' % (name, parent))


def target(ctx):
    return ctx.target('count', cflags=('-O2', '-g', '-static'))


def test_from_outside(ctx):
    path = target(ctx)
    root = small_root(ctx, path)
    name = os.path.basename(path)
    p = inside(ctx, root, '/bin/%s 2' % name)
    line = p.stdout.readline()
    assert line.startswith('ready 1 '), (line, p.stderr.read())
    pid = child_named(ctx, p.pid, name)
    time.sleep(0.5)  # its threads are there
    with open('/proc/%d/maps' % pid) as f:
        before = f.read()
    # By the process alone, by its own path of the program, and by ours.
    for which in ('', '("/bin/%s")' % name, '("%s/bin/%s")' % (root, name)):
        s = attach(ctx, SCRIPT % (which, which), pid=pid)
        time.sleep(0.3)
        out, err = finish(s)
        assert out == 'hits 1 wrong 0\n', (out, err)
    time.sleep(1)
    with open('/proc/%d/maps' % pid) as f:
        now = f.read()
    # A page of text that was written stays a mapping of its own; nothing that is not the program's may be more.
    other = [sum(name not in line for line in m.splitlines()) for m in (before, now)]
    assert 'memfd:trapless' not in now and other[1] <= other[0] + 1, (before, now)
    os.kill(pid, 15)
    out, _ = p.communicate(timeout=20)
    assert 'calls' in out and p.returncode == 7, (out, p.returncode)


def test_other_root(ctx):
    """The same mounts, another root: the names that the kernel tells are ours, those of the process its own."""
    if os.getuid():
        ctx.skip('only root may change the root')
    path = ctx.target('count')
    root = small_root(ctx, path)
    for name in subprocess.run(['ldd', path], stdout=subprocess.PIPE, text=True).stdout.split():
        if name.startswith('/'):
            os.makedirs(root + os.path.dirname(name), exist_ok=True)
            shutil.copy(name, root + name)
    p = ctx.start(['chroot', root, '/bin/' + os.path.basename(path), '1'], user=None)
    assert p.stdout.readline().startswith('ready')
    inner = '/bin/' + os.path.basename(path)
    for which in ('', '("%s")' % inner, '("%s")' % (root + inner)):
        s = attach(ctx, SCRIPT % (which, which), pid=p.pid)
        time.sleep(0.3)
        out, err = finish(s)
        assert out == 'hits 1 wrong 0\n', (which, out, err)
    p.terminate()
    assert p.wait(20) == 7


def module(ctx, path):
    """Compiled outside, where there is a compiler."""
    script = script_file(ctx, SCRIPT % (('("%s")' % path,) * 2))
    r = ctx.run(words(ctx, '-p4', '-m', 'inner', script), env=environment(ctx))
    assert r.returncode == 0, r
    return os.path.join(ctx.tmp, 'inner.tap')


def test_from_inside(ctx):
    """The runner alone, started inside, launches the program; nothing can be written and nothing compiled there."""
    if ctx.variant == 'sanitized':
        ctx.skip('a sanitizer needs libraries, which are not inside')
    path = target(ctx)
    root = small_root(ctx, path, ctx.bin('trapless-run'), module(ctx, path))
    p = inside(ctx, root, '/bin/trapless-run /bin/inner.tap -c "/bin/%s 2 5000"' % os.path.basename(path))
    out, err = p.communicate(timeout=60)
    assert p.returncode == 7 and 'calls 10000' in out and 'hits 1 wrong 0' in out, (p.returncode, out, err)


def test_short_threads(ctx):
    """More threads than there are rings, numbered as their own namespace does: those that ended give theirs back."""
    path = ctx.target('short', cflags=('-O2', '-static'))
    p = inside(ctx, small_root(ctx, path), '/bin/%s 2500 wait' % os.path.basename(path))
    line = p.stdout.readline()
    assert line == 'ready\n', (line, p.stderr.read())
    s = attach_module(ctx, tap.counter(ctx.tmp, path, ['work']), child_named(ctx, p.pid, os.path.basename(path)))
    out, _ = p.communicate('go\n', timeout=60)
    assert (p.returncode, out) == (7, 'ran 2500\n'), (p.returncode, out)
    got, err = s.communicate(timeout=20)
    assert hits(got) == 2500 and not re.search('beyond the limit: [1-9]', err), (got, err)


test_from_outside.variants = test_from_inside.variants = ALL
test_short_threads.variants = ('opt', 'nobody')
