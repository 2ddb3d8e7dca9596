# SPDX-License-Identifier: MIT
"""A target in user, mount, pid and network namespaces of its own, with a read-only root and no compiler."""
import os
import re
import shutil
import signal
import subprocess

from scripted import attach, environment, finish, script_file, words
from support import ALL, Before, attach as attach_module, has_slept, has_threads, has_worked, hits, runner, start, wait_until
from tap import counter

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
    """A folder with these programs, and the libraries and the loader that they need."""
    root = os.path.join(ctx.tmp, 'root')
    for d in ('bin', 'proc', 'out', 'dev'):
        os.makedirs(os.path.join(root, d))
    for p in programs:
        shutil.copy(p, os.path.join(root, 'bin'))
        for name in subprocess.run(['ldd', p], capture_output=True, text=True).stdout.split():
            if name.startswith('/'):
                os.makedirs(root + os.path.dirname(name), exist_ok=True)
                shutil.copy(name, root + name)
    return root


def inside(ctx, root, command, **kw):
    """Run a command in namespaces of its own on that root; standard input keeps it alive."""
    argv = ['unshare', '-Urmpnf', '--kill-child', '/bin/sh', '-c', ENTER % dict(root=root, command=command)]
    if subprocess.run(['unshare', '-Urmpnf', 'true'], stderr=subprocess.DEVNULL).returncode:
        ctx.skip('this machine does not let us make a user namespace')
    return ctx.start(argv, stderr=subprocess.PIPE, **kw)


def child_named(ctx, parent, name):
    """The process `name` below parent, as we see it."""
    def found():
        for pid in filter(str.isdigit, os.listdir('/proc')):
            try:
                with open('/proc/%s/stat' % pid) as f:
                    comm, rest = re.match(r'\d+ \((.*)\) \S (\d+)', f.read()).groups()
            except (OSError, AttributeError):
                continue
            if comm == name[:15] and int(rest) == parent:
                return int(pid)
    wait_until(found, 'no %s below %d' % (name, parent))
    return found()


def static(ctx):
    return ctx.target('count', cflags=('-O2', '-g', '-static'))


def begun(ctx, path, args, *programs):
    """A program inside, that says `ready`: the one that ends with it, its number here, and the small root."""
    name = os.path.basename(path)
    root = small_root(ctx, path, *programs)
    p = inside(ctx, root, '/bin/%s %s' % (name, args))
    line = p.stdout.readline()
    assert line.startswith('ready'), (line, p.stderr.read())
    return p, child_named(ctx, p.pid, name), root


def ended_well(p, pid):
    os.kill(pid, 15)
    out, _ = p.communicate(timeout=300)
    assert 'calls' in out and p.returncode == 7, (out, p.returncode)


def from_outside(ctx, path):
    name = os.path.basename(path)
    p, pid, root = begun(ctx, path, '2')
    has_threads(pid, 3)
    before = Before(pid, name)
    # By the process alone, by its own path of the program, and by ours.
    for which in ('', '("/bin/%s")' % name, '("%s/bin/%s")' % (root, name)):
        s = attach(ctx, SCRIPT % (which, which), pid=pid)
        has_worked(pid)
        out, err = finish(s)
        assert out == 'hits 1 wrong 0\n', (out, err)
        before.check()
    ended_well(p, pid)


def test_from_outside(ctx):
    from_outside(ctx, static(ctx))


def test_from_outside_dynamic(ctx):
    """The libraries and the loader are the small root's own."""
    from_outside(ctx, ctx.target('count'))


def test_of_another_user(ctx):
    """Who made the namespaces may trace what runs there, as root may; nobody else."""
    user, ctx.user = ctx.user, None
    path = static(ctx)
    p, pid, _ = begun(ctx, path, '1')
    has_threads(pid, 2)
    before = Before(pid, os.path.basename(path))
    ctx.user = user
    r = ctx.run(words(ctx, '-x', pid, script_file(ctx, SCRIPT % ('', ''))), env=environment(ctx))
    assert r.returncode == 1 and 'error[TARGET_MISSING]' in r.stderr and 'belongs to another user' in r.stderr, r
    r = ctx.run([runner(ctx), counter(ctx.tmp, path, ['work']), '-x', str(pid)])
    assert r.returncode == 1 and 'belongs to user 0' in r.stderr, r
    before.check()
    ended_well(p, pid)


def test_other_root(ctx):
    """The same mounts, another root: the names that the kernel tells are ours, those of the process its own."""
    if os.getuid():
        ctx.skip('only root may change the root')
    path = ctx.target('count')
    root = small_root(ctx, path)
    user = ctx.user or 0
    p = ctx.start(['chroot', '--userspec=%d:%d' % (user, user), root, '/bin/' + os.path.basename(path), '1'], user=None)
    assert p.stdout.readline().startswith('ready')
    inner = '/bin/' + os.path.basename(path)
    for which in ('', '("%s")' % inner, '("%s")' % (root + inner)):
        s = attach(ctx, SCRIPT % (which, which), pid=p.pid)
        has_worked(p.pid)
        out, err = finish(s)
        assert out == 'hits 1 wrong 0\n', (which, out, err)
    p.terminate()
    assert p.wait(300) == 7


def test_own_root(ctx):
    """It has changed its root since: its program and libraries are not in there."""
    if os.getuid():
        ctx.skip('only root may change the root')
    path, root = ctx.target('rooted'), os.path.join(ctx.tmp, 'root')
    os.mkdir(root)
    p = start(ctx, path, root)
    for which in ('', '("%s")' % path, '("/proc/%d/exe")' % p.pid):
        s = attach(ctx, SCRIPT % (which, which), pid=p.pid)
        has_slept(p.pid, 30)
        out, err = finish(s)
        assert out == 'hits 1 wrong 0\n', (which, out, err)
    r = ctx.run(words(ctx, '-x', p.pid, '-T', '1', script_file(
        ctx, 'probe process.library("libc.so.6").function("usleep") { println("asleep") exit() }')), env=environment(ctx))
    assert r.returncode == 0 and r.stdout == 'asleep\n', r
    p.terminate()
    assert p.wait(300) == -signal.SIGTERM


def module(ctx, path, script=SCRIPT):
    """Compiled outside, where there is a compiler."""
    script = script_file(ctx, script % (('("%s")' % path,) * 2))
    r = ctx.run(words(ctx, '-p4', '-m', 'inner', script), env=environment(ctx))
    assert r.returncode == 0, r
    return os.path.join(ctx.tmp, 'inner.tap')


def only_the_runner(ctx):
    if ctx.variant == 'sanitized':
        ctx.skip('a sanitized runner needs more of /proc and the libraries than is inside')


def from_inside(ctx, path):
    """The runner alone, started inside, launches the program; nothing can be written and nothing compiled there."""
    only_the_runner(ctx)
    root = small_root(ctx, path, ctx.bin('trapless-run'), module(ctx, path))
    p = inside(ctx, root, '/bin/trapless-run /bin/inner.tap -c "/bin/%s 2 5000"' % os.path.basename(path))
    out, err = p.communicate(timeout=300)
    assert p.returncode == 7 and 'calls 10000' in out and 'hits 1 wrong 0' in out, (p.returncode, out, err)


def test_from_inside(ctx):
    from_inside(ctx, static(ctx))


def test_from_inside_dynamic(ctx):
    from_inside(ctx, ctx.target('count'))


def attached_inside(ctx, path):
    """The runner alone comes to the program, which is process 1 there."""
    only_the_runner(ctx)
    made = module(ctx, path, SCRIPT + 'probe timer.ms(50) { if (n > 1000) exit() }')
    p, pid, _ = begun(ctx, path, '2', ctx.bin('trapless-run'), made)
    has_threads(pid, 3)
    before = Before(pid, os.path.basename(path))
    for _ in range(2):
        r = ctx.run(['nsenter', '-t', str(pid), '-U', '--preserve-credentials', '-m', '-p', '-n', '-r', '/bin/trapless-run',
                     '-v', '/bin/inner.tap', '-x', '1'])
        assert r.returncode == 0 and r.stdout == 'hits 1 wrong 0\n', r
        before.check()
    ended_well(p, pid)


def test_attached_inside(ctx):
    attached_inside(ctx, static(ctx))


def test_attached_inside_dynamic(ctx):
    attached_inside(ctx, ctx.target('count'))


def test_short_threads(ctx):
    """More threads than there are rings, numbered as their own namespace does: those that ended give theirs back."""
    path = ctx.target('short', cflags=('-O2', '-static'))
    p, pid, _ = begun(ctx, path, '2500 wait')
    s = attach_module(ctx, counter(ctx.tmp, path, ['work']), pid)
    out, _ = p.communicate('go\n', timeout=300)
    assert (p.returncode, out) == (7, 'ran 2500\n'), (p.returncode, out)
    got, err = s.communicate(timeout=300)
    assert hits(got) == 2500 and not re.search('beyond the limit: [1-9]', err), (got, err)


for _f in (test_from_outside, test_from_outside_dynamic, test_from_inside, test_from_inside_dynamic, test_attached_inside,
           test_attached_inside_dynamic):
    _f.variants = ALL
test_of_another_user.user_only = 'root may trace the processes of all'
test_of_another_user.by_root = 'it makes a process of another user'
test_short_threads.variants = ('opt', 'nobody')
test_own_root.root_only = 'nobody else may change his root'
