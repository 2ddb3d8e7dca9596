# SPDX-License-Identifier: MIT
"""Return probes on frames that end by return, throw, longjmp and tail call."""
import re

from scripted import attach, finish, launch, number
from support import ALL, PAIR, has_slept

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
    """Recursion, and a function that ends with a jump to another one: it returns when that one does."""
    script = '''
global r, t, l, sum, bad
probe process.function("recurse").return { r++; sum += $return; if ($return != @entry($n) * (@entry($n) + 1) / 2) bad++ }
probe process.function("tail").return { t++; if ($return != @entry($n) * 2 + 3) bad++ }
probe process.function("last").return { if ($return != @entry($n) * 2 + 1) bad++ }
probe process.function("last").return { l++ }
probe end { printf("recurse %d sum %d tail %d last %d bad %d\\n", r, sum, t, l, bad) }
'''
    r = launch(ctx, script, target(ctx) + ' 4 100')
    assert r.returncode == 11, r
    want = sum(n * (n + 1) // 2 for n in range(201)) * 2 * 4
    assert r.script == 'recurse %d sum %d tail 400 last 400 bad 0\n' % (201 * 2 * 4, want), (r.script, r.stderr)


TAILS = '''
global n, bad, blind
probe process.function("tail").return { n["tail"]++; if ($return != @entry($n) * 3 + 4) bad++ }
probe process.function("even").return { n["even"]++; if ($return != 100 && $return != 200) bad++ }
probe process.function("parse").return { n["parse"]++; if ($return != 17) bad++ }
probe process.function("tail").return { blind++ }
probe end { printf("tail %d even %d parse %d of tail %d bad %d\\n", n["tail"], n["even"], n["parse"], blind, bad) }
'''


def tails(ctx, *link):
    return ctx.target('tails.c', cc='gcc', cflags=('-O2', '-g') + link)


BLIND = 'calls left by a jump to a function that is not watched'


def test_tail_calls(ctx):
    """What a function returns that ends with a jump is what the function jumped to returns."""
    path = tails(ctx)
    bare = ctx.run([path, '100'])
    r = launch(ctx, TAILS, path + ' 100')
    assert (r.stdout, r.returncode) == (bare.stdout, 6), (bare, r)
    m = re.fullmatch(r'tail 150 even (\d+) parse (\d+) of tail 150 bad 0\n', r.script)
    # even(0..9): one entry each second step
    assert m and int(m.group(1)) == 10 * sum(1 + i // 2 for i in range(10)), (r.script, r.stderr)
    assert int(m.group(2)) + number(r.stderr, BLIND) == 100, (r.script, r.stderr)
    assert re.search(r'function\("tail@[^"]*"\)\.return.*1 function watched behind tail calls', r.stderr), r.stderr


def test_tail_calls_into_libraries(ctx):
    """Where a linkage table will lead is found out before the first call; by a pointer it is learnt from it."""
    r = launch(ctx, TAILS, tails(ctx, '-Wl,-z,lazy') + ' 600 slowly')
    m = re.search(r'tail 900 even \d+ parse (\d+) of tail 900 bad 0', r.script)
    assert r.returncode == 6 and m, (r.script, r.stderr)
    assert int(m.group(1)) + number(r.stderr, BLIND) == 600 and int(m.group(1)) > 50, (r.script, r.stderr)


RUNNING = '''
global n, r, bad
probe process.function("into"), process.function("double") { n[ppfunc()]++ }
probe process.function("into").return { r["into"]++; if (returnval() != 2 * (@entry(ulong_arg(1)) + 1)) bad++ }
probe process.function("double").return { r["double"]++; if (returnval() != 2 * @entry(ulong_arg(1))) bad++ }
probe process.function("never").return { r["never"]++ }
probe end { printf("into %d %d double %d %d never %d bad %d\\n", n["into"], r["into"], n["double"], r["double"], r["never"], bad) }
'''


def test_functions_that_run_into_the_next(ctx):
    """strcasecmp into strcasecmp_l: they return where that one does. Behind a last call nobody comes out."""
    r = launch(ctx, RUNNING, ctx.target('running.S', cc='gcc'))
    assert (r.returncode, r.script) == (7, 'into 100 100 double 200 200 never 100 bad 0\n'), (r, r.stderr)
    assert number(r.stderr, LEFT) <= 2, r.stderr  # main, and never() as it ends the program
    assert re.search(r'function\("into"\)\.return.*1 function watched behind tail calls', r.stderr), r.stderr
    assert re.search(r'function\("never"\)\.return.*exits: (1 by jump, 0|0 by jump, 1) by trap', r.stderr), r.stderr


def test_tail_calls_that_a_wildcard_matched(ctx):
    """One warning for all of them, also where refusals are allowed for."""
    for allowed in ('', '?'):
        script = 'global n probe process.function("*").return%s { n++ } probe end { println(n) }' % allowed
        r = launch(ctx, script, tails(ctx, '-Wl,-z,lazy') + ' 1')
        told = re.findall(r'TAIL_CALL: .* and (\d+) more: (\d+) calls', r.stderr)
        assert r.stderr.count('TAIL_CALL: ') == len(told) == 1, r.stderr
        assert int(told[0][0]) >= 1 and int(told[0][1]) == number(r.stderr, BLIND), r.stderr


def test_tail_calls_by_pointer(ctx):
    """When the probe is placed the loader has not filled it in: it is looked at again where the program begins."""
    r = launch(ctx, 'global n, sum probe process.function("by_hook").return { n++; sum += $return } probe end { println(n, " ", sum) }',
               ctx.target('hook', cflags=('-O2', '-g', '-fPIE', '-pie')))
    assert (r.returncode, r.stdout, number(r.stderr, BLIND)) == (6, '55\n', 0), r
    assert r.script == '10 55\n', r


def test_tail_calls_of_a_running_program(ctx):
    """Attached to: its linkage tables are in use already, and nothing is missed."""
    p = ctx.start([tails(ctx, '-Wl,-z,now'), '100000', 'slowly'])
    s = attach(ctx, TAILS, pid=p.pid)
    has_slept(p.pid, 1500 if 'traps' in ctx.variant else 300)  # each breakpoint is a stop
    out, err = finish(s)
    p.kill()
    m = re.search(r'parse (\d+) of tail \d+ bad 0', out)
    assert m and int(m.group(1)) > 10 and number(err, BLIND) == 0, (out, err)


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
    p.wait(timeout=300)
    assert p.returncode == 11, 'the program ended with %d' % p.returncode
    got, err = finish(s, None)
    entered, returned = (int(x) for x in re.search(r'entered (\d+) returned (\d+)', out).groups())
    assert got == 'entered %d returned %d wrong 0\n' % (entered, returned), (got, out, err)
    assert 'caught' in out and entered - returned > 8 * rounds, out
    assert seen[-1][0] - seen[0][0] < 512 and seen[-1][1] <= seen[0][1] + 1, seen
    assert number(err, LEFT) == entered - returned, err


LAST = '''
global returned
probe process.function("thrower"), process.function("outer"), process.function("jumper"), process.function("waiter") { }
probe process.function("thrower").return, process.function("outer").return, process.function("jumper").return,
      process.function("waiter").return { returned++ }
probe end { printf("returned %d\\n", returned) }
'''


def test_last_calls_of_living_threads(ctx):
    """Threads that left a call and sleep or turn without coming by again; those inside of one have not left it."""
    threads = 12
    p = ctx.start([ctx.target('left.cc', cc='g++', cflags=('-O2', '-g', '-pthread')), str(threads)])
    assert p.stdout.readline() == 'ready\n'
    s = attach(ctx, LAST, pid=p.pid)
    p.stdin.write('\n')
    p.stdin.flush()
    assert p.stdout.readline() == 'in place\n'
    got, err = finish(s)
    p.stdin.write('\n')
    p.stdin.flush()
    assert (p.stdout.read(), p.wait(timeout=300)) == ('over\n', 11)
    assert got == 'returned %d\n' % (threads // 4 * 2), (got, err)
    assert number(err, LEFT) == threads // 4 * 4, err


test_throw_and_longjmp.variants = ALL + ('clang',)
test_threads.variants = ALL
test_static.variants = test_clang.variants = test_unoptimized.variants = PAIR
test_tail_calls.variants = test_functions_that_run_into_the_next.variants = ALL
test_tail_calls_into_libraries.variants = test_tail_calls_of_a_running_program.variants = PAIR
test_recursion_and_tail_calls.variants = test_last_calls_of_living_threads.variants = test_no_leak.variants = PAIR
test_tail_calls_by_pointer.jumps_only = 'a breakpoint at the exit looks where each jump leads, and misses none'


def test_a_wildcard_tells_what_it_has_not_got(ctx):
    """Each reason in full, and all of them in one line; one probe alone has its own line only."""
    path = ctx.target('wayless', cflags=('-O2', '-g'))
    r = launch(ctx, 'global n probe process.function("s*").return { n++ } probe end { println(n) }', path)
    assert (r.returncode, r.script) == (41, '10\n'), (r, r.stderr)
    assert re.findall(r'\.return( and 1 more)?: probes? refused \[(\w+)\]', r.stderr) == [
        (' and 1 more', 'NO_EXIT'), ('', 'RET_BLACKLIST')], r.stderr
    assert re.findall(r'^WARNING: \S+:1:10: (.*)', r.stderr, re.M) == [
        '3 of the 4 functions that the wildcard matches have no return probe: 2 NO_EXIT, 1 RET_BLACKLIST'], r.stderr
    r = launch(ctx, 'global n probe process.function("s[ow]*").return { n++ } probe end { println(n) }', path)
    assert r.script == '10\n' and 'RET_BLACKLIST' in r.stderr and 'the wildcard matches' not in r.stderr, r.stderr


def test_why_returns_are_not_seen(ctx):
    """More calls wait than a thread has room for; and a function is entered behind its probe. Each by its own name."""
    path = ctx.target('crowded', cflags=('-O2', '-g'))
    r = launch(ctx, 'global n, a probe process.function("deep_*").return { n++ } probe process.function("amid").return { a++ } '
                    'probe end { println(n, " ", a) }', path)
    assert (r.returncode, r.stdout, r.script) == (7, '140 %d\n' % sum(2 * i + 3 for i in range(10)), '140 10\n'), r
    assert number(r.stderr, 'returns without their call') == 10 and number(r.stderr, 'hits missed') == 0, r.stderr
    assert number(r.stderr, 'calls left by a jump while 126 return probes, which is the limit, waited in their thread') == 14, r.stderr
    assert number(r.stderr, BLIND) == 0 and 'TAIL_CALL: ' not in r.stderr, r.stderr
