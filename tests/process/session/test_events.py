# SPDX-License-Identifier: MIT
"""process.begin, .end, .thread.begin, .thread.end: each once, in the thread's name, and around all its hits."""
import os
import re
import signal
import subprocess

from scripted import attach, finish, launch, number
from support import ALL, PAIR, Before, has_threads, start

LAST = 16
ENDS = ('return', 'thread', 'kill', 'exec', 'first')
SCRIPT = '''
global begun, ended, begins, ends, early, late, hits, living, names
probe process.begin { begins++; printf("begin %d %d %s\\n", pid(), tid(), execname()) }
probe process.end { ends++; printf("end %d %d %s\\n", pid(), tid(), execname()) }
probe process.thread.begin { begun++ }
probe process.thread.begin { living[tid()] = pid() == target() }
probe process.thread.end { ended++ }
probe process.thread.end { names[execname()]++; delete living[tid()] }
probe process.function("work") { hits++ }
probe process.function("work") { if (!begins) early++; if (ends) late++; if (!living[tid()]) early++ }
probe end {
    printf("begun %d ended %d early %d late %d hits %d left %d\\n", begun, ended, early, late, hits, @count(sizes))
    foreach (n in names) printf("%s %d\\n", n, names[n])
}
global sizes
probe end(-1) { foreach (t in living) sizes <<< t }
'''


def check(out, err, pid, threads, in_order=True):
    """The threads that come and go, the last ones, and the process itself."""
    total = threads + LAST
    skipped = number(err, 'handlers skipped') > 0
    assert re.search(r'^begin %d %d comings\S*$' % (pid, pid), out, re.M), out
    assert re.search(r'^end %d %d comings\S*$' % (pid, pid), out, re.M), out
    got = [int(n) for n in re.search(r'^begun (\d+) ended (\d+) early (\d+) late (\d+) hits (\d+) left (\d+)$',
                                     out, re.M).groups()]
    assert (got[0], got[1], got[4]) == (total, total, threads * 100), (out, err)
    if in_order and not skipped:  # its lock was not free in time
        assert (got[2], got[3], got[5]) == (0, 0, 0), (out, err)
        assert 'worker %d\n' % threads in out, out


def run(ctx, how, threads, *args):
    path = ctx.target('comings')
    r = launch(ctx, SCRIPT, '%s %s %d' % (path, how, threads), *args, stdin=subprocess.DEVNULL)
    want = 128 + signal.SIGKILL if how == 'kill' else 0 if how == 'first' else 5
    assert r.returncode == want, (how, r.returncode, r.stderr)
    pid = int(re.search(r'^begin (\d+)', r.script, re.M)[1])
    check(r.script, r.stderr, pid, threads)


def test_events_of_a_program_that_is_started(ctx):
    for how in ENDS:
        run(ctx, how, 64)


test_events_of_a_program_that_is_started.variants = ALL


def test_programs_that_children_become(ctx):
    """Those that the script does not name, by fork and vfork, of a program that is started and of one that runs."""
    script = 'probe process.begin { println("begin ", execname()) }  probe process.end { println("end ", execname()) }'
    r = launch(ctx, script, "sh -c '/bin/echo a >/dev/null; (/bin/date >/dev/null); exit 3'")
    told = sorted(r.script.split('\n'))
    assert r.returncode == 3, r
    assert [t for t in told if ' sh' not in t] == ['', 'begin date', 'begin echo', 'end date', 'end echo'], r.script
    assert told.count('begin sh') == told.count('end sh') + told.count('begin date') - 1 >= 1, r


def test_many_threads(ctx):
    run(ctx, 'return', 2000 if ctx.long else 300)


test_many_threads.variants = PAIR


def go(p):
    p.stdin.write('\n')
    p.stdin.flush()


def test_events_of_a_running_process(ctx):
    for how in ENDS:
        p = start(ctx, ctx.target('comings'), how, 64, stdin=subprocess.PIPE)
        s = attach(ctx, SCRIPT, pid=p.pid)
        go(p)
        p.wait(timeout=300)
        out, err = s.communicate(timeout=300)
        check(out, s.seen + err, p.pid, 64)
        assert s.returncode == 0, err


test_events_of_a_running_process.variants = ALL


def test_threads_that_are_there_begin_once(ctx):
    """And those that end with the session do not end."""
    p = start(ctx, ctx.target('count'), 8)
    has_threads(p.pid, 9)
    before = Before(p.pid, 'count')
    s = attach(ctx, '''global b, e, p, q
        probe process.begin { p++ } probe process.end { q++ }
        probe process.thread.begin { b++ } probe process.thread.end { e++ }
        probe end { printf("%d %d %d %d\\n", p, q, b, e) }''', pid=p.pid)
    out, err = finish(s)
    assert out == '1 0 8 0\n', (out, err)
    before.check()


def test_only_the_named_program_has_events(ctx):
    p = start(ctx, ctx.target('count'), 1)
    s = attach(ctx, '''probe process("/bin/true").begin, process("/bin/true").thread.begin { println("wrong") }
        probe process.begin { println("right") }''', pid=p.pid)
    out, _ = finish(s)
    assert out == 'right\n', out


def test_two_sessions_are_told(ctx):
    p = start(ctx, ctx.target('comings'), 'return', 64, stdin=subprocess.PIPE)
    both = [attach(ctx, SCRIPT, pid=p.pid) for _ in range(2)]
    go(p)
    p.wait(timeout=300)
    for s in both:
        out, err = s.communicate(timeout=300)
        check(out, s.seen + err, p.pid, 64)


def test_a_stopped_or_killed_runner_holds_nobody_up(ctx):
    """Threads wait a moment for a runner that is stopped, once, and not at all for one that is gone."""
    for sig in signal.SIGSTOP, signal.SIGKILL:
        p = start(ctx, ctx.target('comings'), 'return', 64, stdin=subprocess.PIPE)
        s = attach(ctx, SCRIPT, pid=p.pid)
        runner = int(re.search(r'^PPid:\t(\d+)', open('/proc/%d/status' % tracer(p.pid)).read(), re.M)[1])
        os.kill(runner, sig)
        go(p)
        assert p.wait(timeout=300) == 5
        if sig == signal.SIGSTOP:
            os.kill(runner, signal.SIGCONT)
            out, err = s.communicate(timeout=300)
            check(out, s.seen + err, p.pid, 64, in_order=False)


def tracer(pid):
    return int(re.search(r'^TracerPid:\t(\d+)', open('/proc/%d/status' % pid).read(), re.M)[1])


def test_preload_refuses_events(ctx):
    r = launch(ctx, 'probe process.thread.begin { }', ctx.target('comings') + ' return 0', '--preload')
    assert r.returncode == 1 and 'only a tracer is told' in r.stderr, r.stderr
