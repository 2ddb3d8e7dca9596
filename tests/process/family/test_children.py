# SPDX-License-Identifier: MIT
"""Threads and children, with traps in everything that creates them."""
import os
import re
import signal
import subprocess
import time

import scripted
from support import ALL, LIBC, PAIR, Before, attach, finish, has_worked, hits, libc_functions, maps, merged, runner, start, tap, text_of, tracer_of


def test_children(ctx):
    """fork, vfork, spawn, clone, system: children run unharmed and are counted as untraced."""
    path = ctx.target('children')
    module = tap.counter(ctx.tmp, path, ['work'])
    r = ctx.run([runner(ctx), module, '--no-follow', '-c', path + ' 10'], timeout=300)
    calls = int(re.search(r'calls (\d+)', r.stdout).group(1))
    assert r.returncode == 5 and hits(r.stdout) == calls, r
    assert 'child processes that ran untraced: 50' in r.stderr, r.stderr


def test_followed(ctx):
    """The same children, followed: those that run the program's own code are hit as it is, and it sees nothing of that."""
    path = ctx.target('children')
    module = tap.counter(ctx.tmp, path, ['work'])
    r = ctx.run([runner(ctx), module, '-c', path + ' 10'], timeout=300)
    calls = int(re.search(r'calls (\d+)', r.stdout).group(1))
    assert r.returncode == 5 and hits(r.stdout) == calls + 20, r  # fork and clone
    assert 'untraced' not in r.stderr, r.stderr


def test_all_of_libc(ctx):
    """Every function of libc probed while the program creates threads and children."""
    path = ctx.target('children')
    functions = libc_functions()
    module = tap.counter(ctx.tmp, path, functions, library=LIBC, flags=4)
    r = ctx.run([runner(ctx), module, '--explain', '-c', path + ' 3'], timeout=300)
    assert r.returncode == 5 and 'calls 123' in r.stdout, (r.returncode, r.stdout[-300:], r.stderr[-800:])
    assert hits(r.stdout) > 1000, r.stdout
    rungs = re.findall(r'^(\w+) +libc\S*\+0x', r.stderr, re.M)
    assert len(rungs) == len(functions) and ('traps' not in ctx.variant or set(rungs) == {'trap'}), (len(functions), set(rungs), r.stderr[:500])


test_all_of_libc.variants = PAIR


def test_vfork_child_stays(ctx):
    """Text is changed with everyone stopped while a thread waits for its vfork child, which cannot stop, nor hold all others up."""
    path = ctx.target('vforks')
    ctx.env['TRAPLESS_PATCHING'] = 'stop'
    p = start(ctx, path, stdin=subprocess.PIPE)
    before = Before(p.pid, os.path.basename(path))
    module = tap.counter(ctx.tmp, path, ['work'])
    first = attach(ctx, module, p.pid)
    p.stdin.write('v')
    p.stdin.flush()
    assert p.stdout.readline() == 'child\n'
    second = attach(ctx, module, p.pid)
    has_worked(p.pid)
    for s in second, first:
        assert hits(finish(s)[0]) > 0
    before.check()
    assert p.communicate('e', timeout=300)[0] == 'child 9 wrong 0\n' and p.returncode == 7


test_vfork_child_stays.variants = ALL


def test_vfork_child_has_its_own_numbers(ctx):
    """On the record of the thread that waits for it; and who waits has its own again afterwards."""
    path = ctx.target('vforked')
    r = scripted.launch(ctx, '''
global n, wrong
probe process.function("check") { n++; if (pid() != $pid || tid() != $tid) wrong++ }
probe syscall.execve { if (pid() != target()) printf("spawned %d %d\\n", pid(), tid()) }
probe end { printf("checked %d wrong %d\\n", n, wrong) }
''', path + ' 20')
    child = re.fullmatch(r'spawned (\d+)\n', r.stdout).group(1)
    assert r.returncode == 7 and r.script == 'spawned %s %s\nchecked 160 wrong 0\n' % (child, child), (r.script, r.stderr)


test_vfork_child_has_its_own_numbers.variants = ALL


def test_programs_are_followed(ctx):
    """By fork and exec, by posix_spawn, through programs that the script does not name, and as the target itself."""
    path = ctx.target('execs')
    module = tap.counter(ctx.tmp, path, ['work'])
    r = ctx.run([runner(ctx), module, '-c', path + ' 6'], timeout=300)
    assert r.returncode == 5 and r.stdout.startswith('hits 10\n'), r
    r = ctx.run([runner(ctx), module, '-c', 'true; %s 1; env sh -c "%s 2; exit 0"; exit 4' % (path, path)], timeout=300)
    assert r.returncode == 4 and r.stdout.startswith('hits 5\n'), r
    r = ctx.run([runner(ctx), module, '--no-follow', '-c', 'true; %s 1; %s 2; exit 4' % (path, path)], timeout=300)
    assert r.returncode == 4 and r.stdout.startswith('hits 1\n'), r


test_children.variants = test_followed.variants = test_programs_are_followed.variants = ALL


def child_of(p, how):
    p.stdin.write(how + '\n')
    p.stdin.flush()
    return int(p.stdout.readline())


def what_it_has(pid, path):
    text = [text_of(pid, name) for name in (os.path.basename(path), os.path.basename(os.path.realpath(LIBC)))]
    assert all(text), maps(pid)
    return text, merged(maps(pid)), sorted(os.listdir('/proc/%d/fd' % pid)), len(os.listdir('/proc/%d/task' % pid))


def test_left_clean(ctx):
    """A child that lives on is as one that was born before: text, mappings, descriptors, threads; nobody traces it; also where
    our memory is in many pieces around the program's."""
    path = ctx.target('lives')
    modules = [tap.counter(ctx.tmp, path, ['work']), tap.counter(ctx.tmp, path, ['usleep', 'fork', 'clone'], library=LIBC),
               tap.counter(ctx.tmp, path, libc_functions(), library=LIBC, flags=4, name='many')]
    for how in 'fork', 'clone':
        p = start(ctx, path)
        bare = what_it_has(child_of(p, how), path)
        for module in modules:
            s = attach(ctx, module, p.pid, args=('--no-follow',))
            pid = child_of(p, how)
            while tracer_of(pid):
                time.sleep(0.01)
            time.sleep(0.1)
            assert what_it_has(pid, path) == bare, maps(pid)
            finish(s)
            assert what_it_has(pid, path) == bare, maps(pid)
        p.stdin.close()
        assert p.wait(300) == 0


def test_followed_and_left(ctx):
    """A child that lives on is traced by a guardian of its own, and left as clean as its parent."""
    path = ctx.target('lives')
    module = tap.counter(ctx.tmp, path, ['work'])
    for how in 'fork', 'clone':
        p = start(ctx, path)
        bare = what_it_has(child_of(p, how), path)
        s = attach(ctx, module, p.pid)
        pid = child_of(p, how)
        while tracer_of(pid) in (0, tracer_of(p.pid)):
            time.sleep(0.01)
        finish(s)
        assert not tracer_of(pid) and what_it_has(pid, path) == bare, maps(pid)
        p.stdin.close()
        assert p.wait(300) == 0


test_left_clean.variants = test_followed_and_left.variants = PAIR


def test_runner_gone_while_children_wait(ctx):
    """Killed, or stopped for longer than a child waits for it: each child goes on by itself, and ends as it would have."""
    path = ctx.target('forks', cflags=('-O2', '-no-pie'))
    module = tap.counter(ctx.tmp, path, ['work'])
    for sig in signal.SIGKILL, signal.SIGSTOP:
        p = start(ctx, path)
        s = attach(ctx, module, p.pid, seconds=0.3)
        s.send_signal(sig)
        time.sleep(0.5)
        p.terminate()
        out = p.communicate(timeout=300)[0]
        assert p.returncode == 7 and re.fullmatch(r'forks [1-9]\d* bad 0\n', out), (p.returncode, out)
        s.kill()
        s.communicate()


def comes_and_goes(ctx, *args):
    """Sessions come and go while a program forks over and over; none is refused."""
    path = ctx.target('forks', cflags=('-O2', '-no-pie'))
    module = tap.counter(ctx.tmp, path, ['work'])
    p = start(ctx, path, *args)
    for _ in range(40 if ctx.long else 8):
        finish(attach(ctx, module, p.pid, seconds=0.02))
    p.terminate()
    out = p.communicate(timeout=300)[0]
    assert p.returncode == 7 and re.fullmatch(r'forks [1-9]\d+ bad 0\n', out), (p.returncode, out)


def test_born_at_any_moment(ctx):
    """No child loses what lies low in memory, as non-PIE text does."""
    comes_and_goes(ctx)


def test_forks_without_rest(ctx):
    """A SIGCHLD waits at nearly every stop, thrown away or for a handler."""
    comes_and_goes(ctx, 'ignores')
    comes_and_goes(ctx, 'handles')


def test_debugger(ctx):
    """A target that traces its own children: they are nobody else's when they ask for it, vfork children too, or when they are seized."""
    path = ctx.target('debugger')
    r = ctx.run([runner(ctx), tap.counter(ctx.tmp, path, ['work']), '-c', path], timeout=300)
    assert r.returncode == 5 and 'traced 40 seized 20 calls 40\n' in r.stdout and hits(r.stdout) == 40, r
    assert 'child processes that ran untraced: 60' in r.stderr, r.stderr


def test_debugger_before(ctx):
    """The same in programs that CMD runs before the wanted one."""
    path, count = ctx.target('debugger'), ctx.target('count')
    module = tap.counter(ctx.tmp, count, ['work'])
    r = ctx.run([runner(ctx), module, '-c', path], timeout=300)
    assert r.returncode == 5 and 'traced 40 seized 20 calls 40\n' in r.stdout, r
    command = '%s; sleep 30 >&- & %s 1 50; grep TracerPid /proc/$!/status; kill $!; exit 4' % (path, count)
    for args in (), ('--no-follow',):
        r = ctx.run([runner(ctx), module, *args, '-c', command], timeout=300)
        assert r.returncode == 4 and 'traced 40 seized 20 calls 40\n' in r.stdout and hits(r.stdout) == 50, r
        assert ('TracerPid:\t0\n' in r.stdout) == bool(args), r  # watched for what it may become


def test_debugger_while_arming(ctx):
    """Its vfork children ask for it while probes come and go, two of them at a time: they wait, and nobody is refused."""
    p = start(ctx, ctx.target('debugger'), 'on', stdin=subprocess.PIPE)
    s = scripted.attach(ctx, 'global n probe process.library("libc.so.6").function("*") { n++ }', pid=p.pid)
    _, err = scripted.finish(s)
    assert scripted.number(err, 'child processes that ran untraced') > 0, err
    out, _ = p.communicate('\n', timeout=300)
    assert (out, p.returncode) == ('refused 0\n', 5), (out, p.returncode)


def test_no_vdso(ctx):
    """The vDSO is taken away while the program is traced, and is not there when the next session comes."""
    path = ctx.target('forks')
    module = tap.counter(ctx.tmp, path, ['work'])
    p = start(ctx, path, 'handles')
    s = attach(ctx, module, p.pid)
    p.send_signal(signal.SIGUSR1)
    while '[vdso]' in maps(p.pid):
        time.sleep(0.01)
    finish(s)
    finish(attach(ctx, module, p.pid, seconds=0.02))
    p.terminate()
    out = p.communicate(timeout=300)[0]
    assert p.returncode == 7 and re.fullmatch(r'forks [1-9]\d+ bad 0\n', out), (p.returncode, out)


test_runner_gone_while_children_wait.variants = test_born_at_any_moment.variants = test_no_vdso.variants = PAIR
test_debugger.variants = test_debugger_before.variants = test_debugger_while_arming.variants = ALL
