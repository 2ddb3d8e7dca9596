# SPDX-License-Identifier: MIT
"""timer.profile: where the threads of the target are that run; those that sleep are not disturbed."""
import os
import re
import signal
import subprocess

from scripted import attach, environment, finish, launch, number, script_file
from support import ALL, Before, has_threads, runner, start, tracer_of, wait_until

# No point names the program: its names and stacks come from -x or -c.
WHERE = '''
global at, callers, n, wrong
probe timer.profile.freq.hz(500) {
    at[usymname(uaddr())]++
    wrong += pid() != target() || execname() !~ "^sampled"
    if (sprint_ubacktrace() =~ "busy.*work") callers++
    if (++n >= 60) exit()
}
probe end {
    foreach (f in at- limit 1) println("most ", f)
    printf("samples %d callers %d wrong %d\\n", n, callers, wrong)
}
'''


def sampled(ctx, threads, what='asleep'):
    p = start(ctx, ctx.target('sampled'), threads, what, stdin=subprocess.PIPE)
    if what == 'asleep':
        has_threads(p.pid, 1 + threads + 4)
    return p


def end(p):
    out, _ = p.communicate('\n', timeout=300)
    assert p.returncode == 7, p.returncode
    return out


def check(out, err):
    """Nearly all the time goes by in busy(), and work() calls that."""
    assert 'most busy\n' in out, (out, err)
    n, callers, wrong = (int(v) for v in re.search(r'^samples (\d+) callers (\d+) wrong (\d+)$', out, re.M).groups())
    assert n >= 60 and callers > n // 2 and wrong == 0, (out, err)


def sleepers(pid):
    """Threads that sleep where they can stay for ever: how often they have gone to sleep."""
    found = {}
    for tid in os.listdir('/proc/%d/task' % pid):
        text = open('/proc/%d/task/%s/status' % (pid, tid)).read()
        if '\nState:\tS' in text:
            found[tid] = re.search(r'^voluntary_ctxt_switches:\t(\d+)$', text, re.M)[1]
    return found


def all_asleep(pid):
    """The one that was borrowed to attach has gone back to sleep, too."""
    wait_until(lambda: len(sleepers(pid)) >= 5, lambda: str(sleepers(pid)))
    return sleepers(pid)


def test_where_it_is(ctx):
    p = sampled(ctx, 2)
    before = Before(p.pid, 'sampled')
    s = attach(ctx, WHERE, pid=p.pid)
    out, err = finish(s, sig=None, timeout=300)
    check(out, s.seen + err)
    before.check()
    end(p)


test_where_it_is.variants = ALL


def test_the_sleeping_sleep_on(ctx):
    """None of them is woken while threads beside them are sampled."""
    p = sampled(ctx, 2)
    s = attach(ctx, WHERE.replace('exit()', 'if (n == 60) println("enough")').replace('500', '1000'), pid=p.pid)
    for line in s.stderr:
        s.seen += line
        if line.startswith('  watch '):  # a thread was borrowed once more
            break
    before = all_asleep(p.pid)
    for line in s.stdout:
        if line == 'enough\n':
            break
    after = sleepers(p.pid)
    out, err = finish(s)
    assert after == before, (before, after, err)
    check(out, err)
    end(p)


test_the_sleeping_sleep_on.variants = ALL


def test_calls_notice_nothing(ctx):
    """Its threads sleep for moments in all kinds of calls, and die where one ends otherwise than it should."""
    p = start(ctx, ctx.target('blocked'), stderr=subprocess.PIPE)
    finish(attach(ctx, '''global n probe timer.profile.freq.hz(1000) { n++ }
        probe timer.s(3) { exit() }''', pid=p.pid), sig=None, timeout=300)
    out, err = p.communicate(timeout=300)
    assert p.returncode == 0, (p.returncode, out, err)


test_calls_notice_nothing.variants = ('opt', 'nobody')


def test_a_busy_program_ends_as_ever(ctx):
    path = ctx.target('sampled')
    bare = ctx.run([path, '3', '3000'])
    assert bare.returncode == 7, bare
    r = launch(ctx, '''global n probe timer.profile.freq.hz(1000) { n++ }
        probe end { println("samples ", n > 0) }''', path + ' 3 3000')
    assert (r.returncode, r.stdout, r.script) == (7, bare.stdout, 'samples 1\n'), r


test_a_busy_program_ends_as_ever.variants = ALL


def test_beside_probes(ctx):
    """Other probes of the session, and another session: all have what is theirs."""
    p = sampled(ctx, 2)
    script = WHERE.replace('exit()', 'if (n == 60) println("enough")') + '''
        global hits probe process.function("seldom") { hits++ } probe end { println("hits ", hits > 0) }'''
    both = [attach(ctx, script, pid=p.pid) for _ in range(2)]
    for s in both:
        for line in s.stdout:
            if line == 'enough\n':
                break
    for s in both:
        out, err = finish(s)
        check(out, s.seen + err)
        assert 'hits 1\n' in out, out
        assert number(err, 'samples left out') >= 0, err
    end(p)


test_beside_probes.variants = ALL


def test_children_that_become_programs(ctx):
    """A guardian that is at work on a child as that becomes another program leaves it alone: no call of it ends with an errno of the
    kernel's own."""
    path = ctx.target('readers')
    script = 'global n probe timer.profile { n[execname(), tid()] <<< user_mode() } probe timer.s(60) { exit() }'
    r = launch(ctx, script, path + ' 60')
    assert r.returncode == 5 and 'wrong 0' in r.stdout, (r.returncode, r.stdout)


def test_many_threads(ctx):
    """Each of them is seen."""
    threads = 64 if ctx.long else 16
    p = sampled(ctx, threads)
    out, err = finish(attach(ctx, '''global who, n
        probe timer.profile { if (!([tid()] in who)) { who[tid()] = 1; if (++n == %d) exit() } }
        probe end { println(n) }''' % threads, pid=p.pid), sig=None, timeout=300)
    assert out == '%d\n' % threads, (out, err)
    end(p)


def test_a_stopped_or_killed_runner_holds_nobody_up(ctx):
    for sig in signal.SIGSTOP, signal.SIGKILL:
        p = sampled(ctx, 2)
        s = attach(ctx, WHERE.replace('exit()', 'if (n == 60) println("enough")'), pid=p.pid)
        guardian = tracer_of(p.pid)
        run_by = int(re.search(r'^PPid:\t(\d+)', open('/proc/%d/status' % guardian).read(), re.M)[1])
        for line in s.stdout:
            if line == 'enough\n':
                break
        os.kill(run_by, sig)
        end(p)
        if sig == signal.SIGSTOP:
            os.kill(run_by, signal.SIGCONT)
            out, err = s.communicate(timeout=300)
            check(out, s.seen + err)


def translate(ctx, script, *args):
    return ctx.run([ctx.bin('trapless'), '-p2', *args, script_file(ctx, script)], env=environment(ctx))


def test_there_must_be_a_target(ctx):
    path = ctx.target('sampled')
    for point in 'timer.profile', 'timer.profile.tick', 'timer.profile.freq.hz(10)':
        r = translate(ctx, 'probe %s, timer.s(1) { }' % point)
        assert r.returncode == 1 and 'which process is to be sampled?' in r.stderr and '-x PID' in r.stderr, r
        r = translate(ctx, 'probe %s { }' % point, '-c', path)
        assert r.returncode == 0, r
    r = translate(ctx, 'probe timer.profile { } probe process("%s").function("busy") { }' % path)
    assert r.returncode == 0, r
    r = ctx.run([ctx.bin('trapless'), '-p4', '-m', 'sampling', '-c', path, '-e', 'probe timer.profile { }'],
                env=environment(ctx), cwd=ctx.tmp)
    assert r.returncode == 0, r
    r = ctx.run([runner(ctx), os.path.join(ctx.tmp, 'sampling.tap')])
    assert r.returncode == 2 and 'no target: give -x PID or -c CMD; see' in r.stderr, r
    r = translate(ctx, 'probe timer.profile ?, timer.s(1) { }')
    assert (r.returncode, r.stdout) == (0, 'timer.s(1)\n'), r


def test_preload_refuses_samples(ctx):
    r = launch(ctx, 'probe timer.profile { }', ctx.target('sampled') + ' 1 1', '--preload')
    assert r.returncode == 1 and 'only a tracer may look where threads are' in r.stderr, r.stderr
