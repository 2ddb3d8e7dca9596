# SPDX-License-Identifier: MIT
"""--preload: the agent comes in by LD_PRELOAD, nobody ptraces. Where ptrace is forbidden, and under qemu-user."""
import os
import re
import shutil
import subprocess
import time

from real import check_alike, git, git_is_whole, git_log, python, repository, sqlite
from scripted import environment, number, script_file
from support import ALL, LIBC, NO_BREAKPOINTS, PAIR, has_worked, hits, maps, runner, tap, text_of, wait_until

TRAPS = 'TRAPLESS_TRAPS_ONLY'


def preload(ctx, module, *command, args=(), **kw):
    """Always where ptrace is forbidden: nothing here may depend on it."""
    return ctx.run([ctx.target('forbid'), runner(ctx), module, '--preload'] + list(args) + ['--'] + list(command), **kw)


def script(ctx, text, command, *args, timeout=300, **kw):
    """bin/trapless; the script's output stays apart from the program's."""
    out = os.path.join(ctx.tmp, 'script.out')
    argv = [ctx.target('forbid'), ctx.bin('trapless'), '-v', '--cc', 'gcc', '--preload', '-o', out, '-c', command]
    env = dict(kw.pop('env', {}), **environment(ctx))
    r = ctx.run(argv + list(args) + [script_file(ctx, text)], timeout=timeout, env=env, **kw)
    r.script = open(out).read() if os.path.exists(out) else ''
    return r


def by_traps(ctx):
    return 'traps' in ctx.variant


def exact(ctx, r, calls, probes, status=7):
    """By jumps every call is counted; on traps only every probe is refused, and the program runs as it would."""
    if not by_traps(ctx):
        assert r.returncode == status and hits(r.stdout) == calls, r
        return
    assert r.returncode == 1 and hits(r.stdout) == 0, r
    assert r.stderr.count('[TRAP_FORBIDDEN]') == probes and number(r.stderr, 'probes refused') == probes, r


def test_forbidden(ctx):
    """The filter does forbid what the guardian needs, and the message names the way that this file is about."""
    path = ctx.target('count')
    module = tap.counter(ctx.tmp, path, ['work', 'main'])
    r = ctx.run([ctx.target('forbid'), runner(ctx), module, '-c', path + ' 1 10'])
    assert r.returncode == 1 and 'forbidden' in r.stderr and '--preload' in r.stderr, r


def test_exact(ctx):
    path = ctx.target('count')
    r = preload(ctx, tap.counter(ctx.tmp, path, ['work', 'main']), path, '4', '500')
    assert 'calls 2000' in r.stdout, r
    exact(ctx, r, 2001, 2)


def test_eight_threads(ctx):
    path = ctx.target('count')
    r = preload(ctx, tap.counter(ctx.tmp, path, ['work']), path, '8', '20000')
    assert r.returncode == 7 and hits(r.stdout) == 160000, r


def test_libraries(ctx):
    """Armed before the library's first call into itself: this function runs once, ahead of main."""
    path = ctx.target('count')
    module = tap.counter(ctx.tmp, path, ['__libc_start_main'], library=LIBC)
    exact(ctx, preload(ctx, module, path, '1', '10'), 1, 1)


def test_musl(ctx):
    path = ctx.target('count', cc='musl-gcc')
    exact(ctx, preload(ctx, tap.counter(ctx.tmp, path, ['work', 'main']), path, '4', '500'), 2001, 2)


def test_library_alone(ctx):
    """musl's has no name of its own and needs no other: still a library, not what CMD must run."""
    path = ctx.target('count', cc='musl-gcc')
    r = script(ctx, 'global n probe process.library("libc.so").function("exit") { n++ } probe end { println(n) }', path + ' 1 5')
    assert r.returncode == 7 and r.script == '1\n', r


def test_short_lived(ctx):
    """As often as it takes to meet any race between the program's end and the session's."""
    path = ctx.target('count')
    module = tap.counter(ctx.tmp, path, ['work', 'main'])
    for _ in range(20):
        r = preload(ctx, module, path, '2', '5')
        assert r.returncode == 7 and hits(r.stdout) == 11, r
        assert 'not known' not in r.stderr, r


# --- how the program is started -------------------------------------------------------------


def test_through_shell(ctx):
    path = ctx.target('count')
    module = tap.counter(ctx.tmp, path, ['work'])
    r = ctx.run([runner(ctx), module, '--preload', '-c', 'X=1; exec %s 2 100' % path])
    exact(ctx, r, 200, 1)
    r = ctx.run([runner(ctx), module, '--preload', '-c', "true; (sh -c '%s 2 100; true') | cat; exit 4" % path])
    exact(ctx, r, 200, 1, 4)


def test_terminal_and_status(ctx):
    path = ctx.target('count')
    module = tap.counter(ctx.tmp, path, ['main'])
    r = preload(ctx, module, 'cat', input='through\n')
    assert r.returncode == 0 and 'through' in r.stdout and 'never armed: 1 probe' in r.stderr, r
    r = preload(ctx, module, 'sh', '-c', 'kill -9 $$')
    assert r.returncode == 137, r
    r = preload(ctx, module, '/nonexistent/program')
    assert r.returncode == 127 and 'cannot start' in r.stderr and not r.stdout, r


def look(ctx, path, env):
    """What the program says of its environment: alone, and traced."""
    module = tap.counter(ctx.tmp, path, ['main'], name=os.path.basename(path))
    bare = ctx.run([path], env=env)
    r = preload(ctx, module, path, env=env)
    assert r.returncode == 0 and hits(r.stdout) == 1, r
    return bare.stdout, r.stdout


def test_environment(ctx):
    """Neither the program nor its children see anything of us; the user's own LD_PRELOAD stays."""
    empty = os.path.join(ctx.tmp, 'empty.so')
    for cc in ('gcc', 'musl-gcc'):
        path = ctx.target('environ', cc=cc)
        bare, traced = look(ctx, path, {})
        assert traced.startswith(bare) and 'entry 1\n0\n' in bare, (bare, traced)
    subprocess.run(['gcc', '-shared', '-nostdlib', '-o', empty, '-xc', '/dev/null'], check=True)
    bare, traced = look(ctx, ctx.target('environ'), dict(LD_PRELOAD=empty))
    assert traced.startswith(bare) and 'preload %s,' % empty in bare, (bare, traced)


def test_refused_beforehand(ctx):
    """One message, and nothing is started."""
    path = ctx.target('count', cflags=('-O2', '-static'))
    r = preload(ctx, tap.counter(ctx.tmp, path, ['main']), path, '1', '10')
    assert r.returncode == 1 and 'ready' not in r.stdout, r
    assert re.search('cannot enter .*linked statically.*leave --preload away', r.stderr), r


def test_refused_other_rights(ctx):
    if os.getuid():
        ctx.skip('only root can make a program of another user')
    path = ctx.target('count')
    theirs = os.path.join(ctx.tmp, 'theirs')
    shutil.copy(path, theirs)
    os.chown(theirs, 65533, 65533)
    os.chmod(theirs, 0o4755)
    r = preload(ctx, tap.counter(ctx.tmp, path, ['main']), theirs, '1', '10')
    assert r.returncode == 1 and 'ready' not in r.stdout and 'ignores LD_PRELOAD' in r.stderr, r


# --- objects that come later -------------------------------------------------------------------


def late(ctx, cc, *emulator):
    lib = ctx.target('plugin', cflags=('-O2', '-g', '-shared', '-fPIC'), cc=cc)
    path = ctx.target('late', cc=cc)
    module = tap.counter(ctx.tmp, lib, ['plugin'], library=lib)
    return preload(ctx, module, *emulator, path, lib, '50', input='go\n')


def test_dlopen(ctx):
    """The constructor's call is counted, too."""
    for cc in ('gcc', 'musl-gcc'):
        r = late(ctx, cc)
        assert 'called 50' in r.stdout, r
        if by_traps(ctx): # the place where the loader tells can be reached by a jump
            assert r.returncode == 1 and '[TRAP_FORBIDDEN]' in r.stderr, r
        else:
            assert r.returncode == 7 and hits(r.stdout) == 51, r


def test_reopened(ctx):
    """Unloaded and loaded again eight times, here and elsewhere."""
    lib = ctx.target('plugin', cflags=('-O2', '-g', '-shared', '-fPIC'))
    other = ctx.target('plugin', cflags=('-O2', '-g', '-shared', '-fPIC', '-DOTHER'))
    module = tap.counter(ctx.tmp, lib, ['plugin'], library=lib)
    for more in ((), (other,)):
        r = preload(ctx, module, ctx.target('reopen'), lib, '8', '20', *more, input='go\n')
        assert r.returncode == 7 and 'called 160' in r.stdout and hits(r.stdout) == 8 * 21, r


# --- qemu-user -----------------------------------------------------------------------------------


def emulator(ctx):
    if shutil.which('qemu-x86_64') is None:
        ctx.skip('no qemu-x86_64 (Debian: qemu-user)')
    return 'qemu-x86_64'


def test_qemu(ctx):
    path, qemu = ctx.target('count'), emulator(ctx)
    module = tap.counter(ctx.tmp, path, ['work', 'main'])
    exact(ctx, preload(ctx, module, qemu, path, '4', '500'), 2001, 2)
    path = ctx.target('count', cc='musl-gcc')
    # musl's loader lies elsewhere in what qemu calls the program: only its path differs
    exact(ctx, preload(ctx, tap.counter(ctx.tmp, path, ['work', 'main'], name='musl'), qemu, path, '2', '50'), 101, 2)


def test_qemu_dlopen(ctx):
    r = late(ctx, 'gcc', emulator(ctx))
    assert r.returncode == 7 and hits(r.stdout) == 51, r


def test_qemu_script(ctx):
    path, qemu = ctx.target('count'), emulator(ctx)
    r = script(ctx, 'global n, r probe process("%s").function("work") { n++ } '
               'probe process("%s").function("work").return { if ($return == @entry($a) + 1 || 1) r++ } '
               'probe end { println(n, " ", r) }' % (path, path), '%s %s 2 300' % (qemu, path))
    assert r.returncode == 7 and r.script == '600 600\n', (r.script, r.stderr)


# --- leaving ---------------------------------------------------------------------------------------


class Traced:
    """tests/targets/threads.c, running with a probe on what it does all the time."""

    def __init__(self, ctx, cc='gcc', *before):
        self.path = ctx.target('threads', cc=cc)
        module = tap.counter(ctx.tmp, self.path, ['work'])
        self.runner = ctx.start([runner(ctx), module, '--preload', '--'] + list(before) + [self.path],
                                stderr=subprocess.PIPE)
        assert self.runner.stdout.readline() == 'ready\n'
        self.pid = self.child('trapless-attend', False)
        self.attendant = self.child('trapless-attend', True)
        self.changed = text_of(self.pid, os.path.basename(self.path))

    def child(self, name, wanted):
        for tid in open('/proc/%d/task/%d/children' % (self.runner.pid, self.runner.pid)).read().split():
            if (open('/proc/%s/comm' % tid).read().strip() == name) == wanted:
                return int(tid)
        raise AssertionError('no such child')

    def clean(self):
        try:
            names = [open('/proc/%d/task/%s/comm' % (self.pid, t)).read().strip()
                     for t in os.listdir('/proc/%d/task' % self.pid)]
        except (FileNotFoundError, ProcessLookupError):
            return False  # a thread is just going
        return (len(names) == 4 and 'trapless' not in names and not re.search('memfd:trapless ', maps(self.pid))
                and len(os.listdir('/proc/%d/fd' % self.pid)) == 3)

    def left_clean(self):
        wait_until(self.clean, lambda: 'left behind: ' + maps(self.pid), 60, wrong=True)
        now = text_of(self.pid, os.path.basename(self.path))
        assert now != self.changed and now in open(self.path, 'rb').read(), 'text was not put back'

    def end(self):
        out, err = self.runner.communicate('x\n', timeout=300)
        return int(re.search(r'calls (\d+)', out).group(1)), out, err


def test_interrupt(ctx):
    """The session ends and the program goes on: text, threads, mappings, descriptors as without us."""
    for cc in ('gcc', 'musl-gcc'):
        t = Traced(ctx, cc)
        assert not t.clean()
        has_worked(t.pid)
        t.runner.send_signal(2)
        t.left_clean()
        calls, out, err = t.end()
        assert t.runner.returncode == 9 and 0 < hits(out) <= calls, (out, err)


def test_runner_killed(ctx):
    """Whoever of us dies, the agent leaves by itself."""
    for who in ('runner', 'attendant', 'both'):
        t = Traced(ctx)
        time.sleep(0.05)
        if who != 'attendant':
            t.runner.kill()
        if who != 'runner':
            os.kill(t.attendant, 9)
        t.left_clean()
        calls, out, err = t.end()
        assert calls > 0 and t.runner.returncode == (1 if who == 'attendant' else -9), (who, out, err)


def test_killed_at_any_moment(ctx):
    """From before the program starts to after its end: it does its work, or was never started."""
    path = ctx.target('count')
    module = tap.counter(ctx.tmp, path, ['work', 'main'])
    outs = [os.path.join(ctx.tmp, 'out%d' % i) for i in range(250 if ctx.long else 25)]
    for i, out in enumerate(outs):
        r = ctx.start([runner(ctx), module, '--preload', '-c', '%s 2 100000 > %s 2>&1; echo $? >> %s' % (path, out, out)],
                      stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(i % 25 * 0.002)
        r.kill()
        r.wait()
    begun = lambda: [open(out).read() for out in outs if os.path.exists(out)]
    wait_until(lambda: all(said.endswith('calls 200000\n7\n') for said in begun()), lambda: str(begun()), pause=0.1)
    assert begun(), 'every kill came too early'


def test_leaves_at_once(ctx):
    """The closing figures of a program without exit handlers, and what is said where they are not to be had."""
    path = ctx.target('leaves')
    module = tap.counter(ctx.tmp, path, ['work'])
    r = preload(ctx, module, path)
    assert r.returncode == 7 and hits(r.stdout) == 2 and 'not known' not in r.stderr, r
    r = preload(ctx, module, 'sh', '-c', '%s; kill -9 $$' % path)
    assert r.returncode == 137 and hits(r.stdout) == 2, r
    path = ctx.target('threads')
    r = ctx.start([runner(ctx), tap.counter(ctx.tmp, path, ['work']), '--preload', '-c', path], stderr=subprocess.PIPE)
    r.stdout.readline()
    pid = int(open('/proc/%d/task/%d/children' % (r.pid, r.pid)).read().split()[0])
    os.kill(pid, 9)
    out, err = r.communicate(timeout=300)
    assert r.returncode == 137 and 'hits missed: not known' in err, (out, err)


def test_script_exit(ctx):
    path = ctx.target('count')
    r = script(ctx, 'global n probe process("%s").function("work") { if (n++ == 500) exit() } '
               'probe end { println(n > 500) }' % path, path + ' 2 50000')
    assert r.returncode == 7 and r.script == '1\n' and 'calls 100000' in r.stdout, (r, r.script)


def test_exec(ctx):
    """The program becomes another one: the session is over, and that one knows nothing of us."""
    path = ctx.target('environ')
    r = preload(ctx, tap.counter(ctx.tmp, path, ['execve'], library=LIBC), '/bin/sh', '-c', 'exec ' + path)
    assert r.returncode == 0 and ' 0 ours' in r.stdout and 'preload none' in r.stdout, r
    assert hits(r.stdout) == 1, r


# --- real programs ---------------------------------------------------------------------------------


LIBRARY = 'global n probe process("{0}").library("{1}").function("*").call ? { n++ } probe end { println(n) }'
EVERYTHING = 'probe process("{0}").function("*").call ? { n++ } ' + LIBRARY


def check(ctx, work, least, text=EVERYTHING):
    """The same output and status as without us, and that many hits."""
    r = script(ctx, text.replace('{0}', work.program).replace('{1}', work.library), work.command, env=work.env)
    check_alike(ctx, work, r)
    if by_traps(ctx):
        # None is in, and none is missed: each may be missing.
        assert int(r.script) == 0 and number(r.stderr, 'probes refused') == 0, (r.script, r.stderr[-1500:])
    else:
        assert int(r.script) >= least, (r.script, r.stderr[-1500:])


def test_git(ctx):
    check(ctx, git_log(ctx), 1000)


def test_git_gc(ctx):
    """git starts git: the children run on unharmed."""
    repo = repository(ctx)
    check(ctx, git(ctx, repo, 'gc -q'), 1000)
    git_is_whole(ctx, repo)


def test_sqlite(ctx):
    check(ctx, sqlite(ctx), 1000)


def test_python(ctx):
    """Threads, children and exceptions, every function of libc probed."""
    check(ctx, python(ctx), 5000, LIBRARY)


def test_children(ctx):
    """fork, vfork, spawn, clone and system with entry and return probes on what runs in child and parent."""
    path = ctx.target('children')
    r = script(ctx, 'global n, r, bad probe process("%s").function("work") { n++; if (pid() != target()) bad++ }\n'
               'probe process("%s").function("work").return { r++; if ($return != @entry($a) * 3 + 1) bad++ }\n'
               'probe end { printf("%%d %%d %%d\\n", n, r, bad) }' % (path, path), path + ' 10')
    calls = int(re.search(r'calls (\d+)', r.stdout).group(1))
    assert r.returncode == 5 and r.script == '%d %d 0\n' % (calls, calls), (r.stdout, r.script, r.stderr)


test_exact.variants = ALL + ('clang',)
test_musl.variants = ALL
test_forbidden.variants = test_dlopen.variants = ALL
test_libraries.variants = test_qemu.variants = test_git.variants = test_sqlite.variants = PAIR
test_through_shell.variants = test_git_gc.variants = PAIR
test_environment.variants = test_interrupt.variants = test_runner_killed.variants = ('opt', 'nobody')
test_eight_threads.variants = test_children.variants = test_qemu_dlopen.variants = ('opt', 'nobody')
for _f in (test_eight_threads, test_library_alone, test_short_lived, test_environment, test_reopened, test_qemu_dlopen,
           test_qemu_script, test_interrupt, test_runner_killed, test_leaves_at_once, test_script_exit, test_exec, test_children):
    _f.jumps_only = NO_BREAKPOINTS
