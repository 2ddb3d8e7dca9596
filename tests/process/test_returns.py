# SPDX-License-Identifier: MIT
"""Return probes on frames that end by return, throw, longjmp and tail call."""
import re

from scripted import attach, check_rung, finish, launch, number
from support import ALL, PAIR

NAMES = ('thrower', 'middle', 'rethrower', 'jumper', 'over_jumper')
SCRIPT = '''
global entered, returned, wrong
probe process.function("thrower"), process.function("middle"), process.function("rethrower"),
      process.function("jumper"), process.function("over_jumper") { entered++ }
probe process.function("middle").return, process.function("rethrower").return,
      process.function("over_jumper").return { returned++ }
probe process.function("thrower").return { if ($return != @entry($n) / 2) wrong++; returned++ }
probe process.function("jumper").return { if ($return != @entry($n)) wrong++; returned++ }
probe end { printf("entered %d returned %d wrong %d\\n", entered, returned, wrong) }
'''
LEFT = 'calls left by an exception or longjmp'


def target(ctx, cxx='g++', cflags=('-O2', '-g')):
    return ctx.target('throw.cc', cc=cxx, cflags=cflags)


def as_it_would(ctx, path, threads, rounds):
    command = '%s %d %d' % (path, threads, rounds)
    bare = ctx.run(command.split())
    r = launch(ctx, SCRIPT, command)
    assert (r.stdout, r.returncode) == (bare.stdout, bare.returncode) and bare.returncode == 11, (bare, r)
    entered, returned = (int(x) for x in re.search(r'entered (\d+) returned (\d+)', bare.stdout).groups())
    assert r.script == 'entered %d returned %d wrong 0\n' % (entered, returned), (r.script, bare.stdout, r.stderr)
    return r, entered - returned


def test_throw_and_longjmp(ctx):
    """Output unchanged, one `.return` for each normal return, all others counted as left."""
    r, left = as_it_would(ctx, target(ctx), 1, 500)
    assert number(r.stderr, LEFT) == left, (left, r.stderr)


def test_threads(ctx):
    r, left = as_it_would(ctx, target(ctx), 8, 302)
    assert number(r.stderr, LEFT) == left, (left, r.stderr)


def test_static(ctx):
    as_it_would(ctx, target(ctx, cflags=('-O2', '-g', '-static')), 2, 300)


def test_clang(ctx):
    as_it_would(ctx, target(ctx, 'clang++'), 2, 300)


def test_unoptimized(ctx):
    as_it_would(ctx, target(ctx, cflags=('-O0', '-g')), 2, 300)


def test_recursion_and_tail_calls(ctx):
    """A tail call is the return of the function that makes it; what the callee returns is known for the callee only."""
    script = '''
global r, t, l, sum, bad
probe process.function("recurse").return { r++; sum += $return; if ($return != @entry($n) * (@entry($n) + 1) / 2) bad++ }
probe process.function("tail").return { t++ }
probe process.function("last").return { if ($return != @entry($n) * 2 + 1) bad++ }
probe process.function("last").return { l++ }
probe end { printf("recurse %d sum %d tail %d last %d bad %d\\n", r, sum, t, l, bad) }
'''
    r = launch(ctx, script, target(ctx) + ' 4 100')
    assert r.returncode == 11, r
    want = sum(n * (n + 1) // 2 for n in range(201)) * 2 * 4
    assert r.script == 'recurse %d sum %d tail 400 last 400 bad 0\n' % (201 * 2 * 4, want), (r.script, r.stderr)


def memory(pid):
    with open('/proc/%d/status' % pid) as f:
        rss = int(re.search(r'VmRSS:\s+(\d+)', f.read()).group(1))
    with open('/proc/%d/maps' % pid) as f:
        return rss, len(f.readlines())


def test_no_leak(ctx):
    """100,000 throws: neither memory nor mappings grow from the first part of the run to the last."""
    rounds = 30002 if ctx.variant == 'opt' or ctx.long else 1502
    p = ctx.start([target(ctx), '1', str(rounds), '8'])
    assert p.stdout.readline() == 'ready\n'
    s = attach(ctx, SCRIPT, pid=p.pid)
    seen = []
    for i in range(8):
        p.stdin.write('\n')
        p.stdin.flush()
        assert p.stdout.readline() == 'phase %d\n' % i
        if i < 7:
            seen.append(memory(p.pid))
    out = p.stdout.read()
    p.wait(timeout=60)
    assert p.returncode == 11, 'the program ended with %d' % p.returncode
    got, err = finish(s, None)
    entered, returned = (int(x) for x in re.search(r'entered (\d+) returned (\d+)', out).groups())
    assert got == 'entered %d returned %d wrong 0\n' % (entered, returned), (got, out, err)
    assert 'caught' in out and entered - returned > 8 * rounds, out
    assert seen[-1][0] - seen[0][0] < 512 and seen[-1][1] <= seen[0][1] + 1, seen
    assert number(err, LEFT) == entered - returned, err


test_throw_and_longjmp.variants = test_threads.variants = ALL
test_static.variants = test_clang.variants = test_unoptimized.variants = PAIR
test_recursion_and_tail_calls.variants = test_no_leak.variants = PAIR
