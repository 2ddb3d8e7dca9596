# SPDX-License-Identifier: MIT
"""Thread pointers that are not what a C library makes of them."""
import subprocess

from scripted import attach, finish, launch, number
from support import ALL, start

COUNTS = '''
global n, r
probe process.function("work") { n <<< 1 }
probe process.function("work").return { r <<< 1 }
probe end { println(@count(n), " ", @count(r)) }
'''
ROUNDS, EACH = 20, 20 * 3 * 2  # threads, and with SIGSEGV blocked or not


def elsewhere(ctx, *cflags):
    """A program leads its thread pointer to nothing (twice), to what is no thread's, and to zeros; then back."""
    path = ctx.target('rebased', cflags=('-O2', '-g') + cflags)
    r = launch(ctx, COUNTS, '%s %d' % (path, ROUNDS))
    assert (r.returncode, r.stdout) == (7, 'right\n'), (r.returncode, r.stdout, r.stderr)
    return [int(x) for x in r.script.split()], number(r.stderr, 'hits missed'), r.stderr


def test_elsewhere(ctx):
    """Where no thread is known by it hits are missed, and counted so."""
    seen, missed, err = elsewhere(ctx)
    assert (seen, missed) == ([5 * EACH] * 2, 3 * EACH), (seen, missed, err)


def test_elsewhere_static(ctx):
    """A program without a loader: any address serves as a pointer, but none."""
    seen, missed, err = elsewhere(ctx, '-static')
    # Who has none passes for the program's first thread until another pointer has been seen, which may be amid a call.
    assert seen[0] >= seen[1] >= 7 * EACH and seen[0] + missed == 8 * EACH, (seen, missed, err)



def blockless(ctx, *args):
    """Threads that share the thread pointer of who made them: nobody is harmed, and what is not counted is missed."""
    calls, before, after = 5000, 1000, 10000
    r = launch(ctx, COUNTS, ' '.join((ctx.target('blockless'), str(calls)) + args))
    total = sum(2 * i + 1 for i in range(before)) + 100 * sum(2 * i + 1 for i in range(100)) + 4 * sum(2 * i + 1 for i in range(calls))
    assert (r.returncode, r.stdout) == (7, 'sum %d\n' % total), (r.returncode, r.stdout, r.stderr)
    n, back = (int(x) for x in r.script.split())
    missed = number(r.stderr, 'hits missed')
    assert n == back and before < n <= before + after, (n, back, r.stderr)
    assert n + missed >= before + 4 * calls + after, (n, missed, r.stderr)


def test_blockless_threads(ctx):
    blockless(ctx)


def test_blockless_processes(ctx):
    blockless(ctx, 'processes')


def test_blockless_before(ctx):
    """They are there already when the session comes: half of them sleep."""
    calls, after = 20000, 10000
    p = start(ctx, ctx.target('blockless'), calls, 'early', stdin=subprocess.PIPE)
    s = attach(ctx, COUNTS, pid=p.pid)
    out, _ = p.communicate('\n', timeout=300)
    total = 5 * sum(2 * i + 1 for i in range(calls)) + 100 * sum(2 * i + 1 for i in range(100))
    assert (p.returncode, out) == (7, 'sum %d\n' % total), (p.returncode, out)
    out, err = finish(s)
    n, back = (int(x) for x in out.split())
    missed = number(err, 'hits missed')
    # While five threads have that pointer nobody counts; then the first one does.
    assert n == back and 0 < n <= calls + after and n + missed >= 5 * calls + after, (n, back, missed, err)


for _f in (test_elsewhere, test_elsewhere_static, test_blockless_threads, test_blockless_processes, test_blockless_before):
    _f.variants = ALL
