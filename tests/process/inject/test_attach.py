# SPDX-License-Identifier: MIT
"""Attaching to a running process: counts, cleanliness, every kind of program."""
import os
import re
import signal
import time

import scripted
from support import ALL, LIBC, NO_GUARDIAN, PAIR, Before, attach, end_count, finish, has_worked, hits, libc_functions, runner, start, start_count, tap, tracer_of, wait_state


BIG_STACK = 1 << 1  # TL_TAP_PROBE_BIG_STACK


def count_exactly(ctx, threads, target='count', **how):
    """Attached before its first call, the probe sees as many calls as the program counts."""
    path = ctx.target(target, **how)
    module = tap.counter(ctx.tmp, path, ['work'])
    calls = 2000 if 'traps' in ctx.variant else 200000
    p = start(ctx, path, threads, calls, 2)
    s = attach(ctx, module, p.pid)
    out, _ = p.communicate(timeout=300)
    assert p.returncode == 7
    got, err = s.communicate(timeout=300)
    assert 'calls %d' % (calls * threads) in out
    assert hits(got) == calls * threads, 'hits %d of %d; %s' % (hits(got), calls * threads, err)


def test_count_one_thread(ctx):
    count_exactly(ctx, 1)


def test_count_eight_threads(ctx):
    count_exactly(ctx, 8)


def test_count_crowd(ctx):
    """More threads than stacks of ours lie ready for, when a session comes and while it is there."""
    path = ctx.target('crowd')
    p = start(ctx, path)

    def turn(more, calls):
        p.stdin.write('%d\n' % more)
        p.stdin.flush()
        assert p.stdout.readline() == 'calls %d\n' % calls
    turn(600, 600)
    s = attach(ctx, tap.counter(ctx.tmp, path, ['work'], flags=BIG_STACK), p.pid)
    turn(0, 1200)
    turn(300, 2100)
    calls, rounds = 2100, 0

    def counted():
        r = ctx.run([runner(ctx), '--sessions', '--session', str(s.pid)])
        return int(re.search(r'^ *0 +(\d+) ', r.stdout, re.M).group(1))
    seen = 0
    while counted() - seen != 900:  # what is short is looked after soon, and then nothing is missed
        rounds += 1
        assert rounds < 300, counted()
        time.sleep(0.2)
        seen, calls = counted(), calls + 900
        turn(0, calls)
    out, err = finish(s)
    assert hits(out) == calls - 600 - scripted.number(err, 'hits missed'), (calls, out, err)
    p.communicate(timeout=300)
    assert p.returncode == 7


def test_count_static(ctx):
    count_exactly(ctx, 2, cflags=('-O2', '-static'))


def test_count_no_pie(ctx):
    count_exactly(ctx, 2, cflags=('-O2', '-no-pie'))


def test_count_static_pie(ctx):
    count_exactly(ctx, 2, cflags=('-O2', '-static-pie'))


def test_count_musl(ctx):
    count_exactly(ctx, 2, cc='musl-gcc', cflags=('-O2',))


for _f in (test_count_one_thread, test_count_eight_threads):
    _f.variants = ALL
for _f in (test_count_static, test_count_no_pie, test_count_static_pie, test_count_musl):
    _f.variants = PAIR


def test_leaves_nothing(ctx):
    """Attached in full swing and detached: text, mappings, threads, descriptors as before; the program goes on."""
    p, module, before = start_count(ctx, 3)
    for _ in range(3):
        s = attach(ctx, module, p.pid)
        has_worked(p.pid)
        out, err = finish(s)
        assert hits(out) > 0
        if 'still stands' not in err:
            before.check()
    before.check()
    assert 'calls' in end_count(p)


test_leaves_nothing.variants = ALL


def test_runner_killed(ctx):
    """SIGKILL to the runner at any moment: the target lives on, clean, and can be attached to again."""
    p, module, before = start_count(ctx, 2)
    for i in range(40 if ctx.long else 8):
        s = ctx.start([runner(ctx), module, '-x', str(p.pid)])
        time.sleep(0.01 + 0.03 * i)
        s.send_signal(signal.SIGKILL)
        s.wait()
        before.check()
        assert p.poll() is None, 'the target died'
    s = attach(ctx, module, p.pid)
    has_worked(p.pid)
    assert hits(finish(s)[0]) > 0
    before.check()
    end_count(p)


test_runner_killed.variants = PAIR


def test_ended_while_arming(ctx):
    """SIGINT while thousands of probes are being armed is heeded before all are in: `end` runs, the text is as it was."""
    p, _, _ = start_count(ctx, 2)
    module = tap.counter(ctx.tmp, ctx.target('count'), libc_functions(), library=LIBC, flags=4)
    before = Before(p.pid, os.path.basename(LIBC))
    for _ in range(20):
        out, err = finish(attach(ctx, module, p.pid, until='  start '))
        assert hits(out) >= 0 and 'never armed' not in err, (out, err)
        before.check()
        if 'cut short' in err:
            break
    else:
        raise AssertionError('heeded when all was in: ' + err)
    end_count(p)


test_ended_while_arming.variants = PAIR


def test_guardian_killed(ctx):
    """Another one takes the probes out."""
    p, module, before = start_count(ctx, 2)
    for _ in range(5):
        s = attach(ctx, module, p.pid, seconds=0.05)
        os.kill(tracer_of(p.pid), signal.SIGKILL)
        _, err = s.communicate(timeout=300)
        assert s.returncode == 1 and 'another one takes the probes out' in err and 'clean up' not in err, err
        before.check()
        assert p.poll() is None, 'the target died'
    end_count(p)


test_guardian_killed.jumps_only = NO_GUARDIAN


def test_guardian_killed_by_traps(ctx):
    """Breakpoints that nobody serves are gone before the next hit, half a second later."""
    path = ctx.target('late')
    p = start(ctx, path, '/nonexistent', stdin=-1)
    s = attach(ctx, tap.counter(ctx.tmp, path, ['printf', 'dlopen'], library=LIBC), p.pid)
    os.kill(tracer_of(p.pid), signal.SIGKILL)
    _, err = s.communicate(timeout=300)
    assert s.returncode == 1 and 'another one takes the probes out' in err, err
    time.sleep(0.5)
    out, _ = p.communicate('go\n', timeout=300)
    assert p.returncode == 2 and out == 'called 0\n', (p.returncode, out)


test_guardian_killed_by_traps.variants = ('traps',)


def test_both_killed(ctx):
    """Nobody was left to clean up: the next session does it."""
    p, module, before = start_count(ctx, 2)
    s = attach(ctx, module, p.pid, seconds=0.1)
    guardian = tracer_of(p.pid)
    os.kill(guardian, signal.SIGSTOP)
    s.kill()
    os.kill(guardian, signal.SIGKILL)
    s.wait()
    time.sleep(0.1)
    assert p.poll() is None, 'the target died'
    s = attach(ctx, module, p.pid)
    has_worked(p.pid)
    out, err = finish(s)
    assert 'cleaned up after' in err and hits(out) > 0, (out, err)
    before.check()
    end_count(p)


def test_both_killed_with_plenty(ctx):
    """Thousands of pieces of memory for detours: all are given back."""
    program, lib = os.path.realpath('/usr/bin/python3'), 'libcrypto.so.3'
    p = ctx.start([program, '-c', 'import sys, ssl; print("ready", flush=True); sys.stdin.read()'])
    assert p.stdout.readline() == 'ready\n'
    before = Before(p.pid, lib)
    script = 'probe process("%s").library("%s").function("%s").return { }'
    s = scripted.attach(ctx, script % (program, lib, '*'), pid=p.pid)
    os.kill(tracer_of(p.pid), signal.SIGKILL)
    s.kill()
    s.wait()
    scripted.finish(scripted.attach(ctx, script % (program, lib, 'EVP_MD_get_size'), pid=p.pid))
    before.check()
    p.communicate('', timeout=300)
    assert p.returncode == 0


test_both_killed.jumps_only = test_both_killed_with_plenty.jumps_only = NO_GUARDIAN


def test_two_processes(ctx):
    """One session over two processes: the sum of both."""
    path = ctx.target('count')
    module = tap.counter(ctx.tmp, path, ['work'])
    a, b = start(ctx, path, 1, 3000, 4), start(ctx, path, 2, 1000, 4)
    s = attach(ctx, module, a.pid, b.pid)
    for p in (a, b):
        p.communicate(timeout=300)
        assert p.returncode == 7
    out, _ = s.communicate(timeout=300)
    assert hits(out) == 5000, out


def test_leader_gone(ctx):
    """A process whose main thread has ended is traced like any other, and is not kept alive."""
    path = ctx.target('leaderless')
    module = tap.counter(ctx.tmp, path, ['work'])
    p = start(ctx, path)
    wait_state(p.pid, 'Z')
    s = attach(ctx, module, p.pid)
    p.stdin.write('on\n' * 300)  # calls
    p.stdin.close()
    assert p.wait(timeout=300) == 0 and p.stdout.read() == 'calls 300\n'
    assert hits(s.communicate(timeout=300)[0]) == 300


def test_leader_gone_by_script(ctx):
    """Its program and files are found, by its number and by its program's name."""
    path = ctx.target('leaderless')
    p = start(ctx, path, 1000000)
    wait_state(p.pid, 'Z')
    for point, args in (('process', ('-x', p.pid)), ('process("%s")' % path, ())):
        script = scripted.script_file(ctx, 'probe %s.function("work") { println("seen") exit() }' % point)
        r = ctx.run(scripted.words(ctx, *args) + [script], env=scripted.environment(ctx), timeout=300)
        assert r.returncode == 0 and r.stdout.startswith('seen\n'), r
