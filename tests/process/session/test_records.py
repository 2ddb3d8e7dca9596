# SPDX-License-Identifier: MIT
"""What handlers print: nothing is lost by default, what one has printed stays together, and who is silent costs nothing."""
import collections
import os
import re
import signal
import time

import scripted
from support import NO_BREAKPOINTS, PAIR, attach, end_count, finish, naps, runner, start, start_count, stat_of

LINE = 'probe process("%s").function("work") { %s }\n'


def printed(ctx, statements, threads, calls, *args):
    path = ctx.target('throng')
    r = scripted.launch(ctx, LINE % (path, statements), '%s %d %d' % (path, threads, calls), *args)
    assert r.returncode == 0 and scripted.number(r.stderr, 'records lost') == 0, r.stderr
    return r


def test_burst(ctx):
    """More at once than anybody reads meanwhile: the memory for records holds it."""
    r = printed(ctx, 'printf("%d %d\\n", $thread, $call)', 1, 1000000)
    assert r.script == ''.join('0 %d\n' % i for i in range(1000000))


def test_lines_of_one_handler_stay_together(ctx):
    threads, calls = 4, 20000
    r = printed(ctx, 'printf("a %d %d\\n", $thread, $call) println("b") printf("c %d %d\\n", $thread, $call)', threads, calls)
    lines = r.script.splitlines()
    assert len(lines) == 3 * threads * calls
    at = collections.Counter()
    for a, b, c in zip(lines[::3], lines[1::3], lines[2::3]):
        thread = a.split()[1]
        assert (a, b, c) == ('a %s %d' % (thread, at[thread]), 'b', 'c %s %d' % (thread, at[thread])), (a, b, c)
        at[thread] += 1


def test_many_threads(ctx):
    """All alive at once: each has its place."""
    r = printed(ctx, 'printf("%d %d\\n", $thread, $call)', 3000, 50)
    assert len(set(r.script.splitlines())) == 3000 * 50
    assert scripted.number(r.stderr, 'hits in threads beyond 32766, as many as have room in the session\'s memory') == 0, r.stderr


def test_little_memory(ctx):
    """What is lost is counted."""
    path = ctx.target('throng')
    r = scripted.launch(ctx, LINE % (path, 'printf("%d %d\\n", $thread, $call)'), path + ' 40 5000', '-s', '1')
    lost = scripted.number(r.stderr, 'records lost')
    lines = r.script.splitlines()
    assert r.returncode == 0 and lost >= 0 and len(lines) + lost == 200000 and len(set(lines)) == len(lines), r.stderr


def session_of(pid):
    """It and its descendants: runner and guardian."""
    found, parents = {pid}, {}
    for other in filter(str.isdigit, os.listdir('/proc')):
        try:
            parents[int(other)] = int(stat_of(int(other))[1])
        except OSError:
            pass  # it has ended
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    return found


def wakes(pid):
    """Of all threads: how often they have slept."""
    return sum(naps(pid, int(tid)) for tid in os.listdir('/proc/%d/task' % pid))


def test_silence(ctx):
    """Nobody hits anything: runner and guardian wake up some ten times a second, both together."""
    p, path = start(ctx, ctx.target('threads')), ctx.target('threads')
    s = scripted.attach(ctx, 'probe process("%s").function("main") { println("hit") }' % path, pid=p.pid)
    ours = session_of(s.pid)
    assert len(ours) >= 2, ours
    time.sleep(1)
    begun, before = time.monotonic(), sum(map(wakes, ours))
    time.sleep(3)
    n, seconds = sum(map(wakes, ours)) - before, time.monotonic() - begun
    scripted.finish(s)
    assert n <= 12 * seconds, '%d times in %.1f s: %s' % (n, seconds, ours)


def shared_with(pid):
    """The flags of each mapping that the program shares with us."""
    with open('/proc/%d/smaps' % pid) as f:
        return re.findall(r'/memfd:trapless .*?^VmFlags: (.*?) *$', f.read(), re.M | re.S)


def test_core_dumps_have_none_of_it(ctx):
    p, module, _ = start_count(ctx, 1)
    session = attach(ctx, module, p.pid)
    attached = shared_with(p.pid)
    finish(session)
    end_count(p)
    preloading = start(ctx, runner(ctx), module, '--preload', '--', ctx.target('count'), 1)
    with open('/proc/%d/task/%d/children' % (preloading.pid, preloading.pid)) as f:
        child, = (pid for pid in map(int, f.read().split()) if os.path.basename(os.readlink('/proc/%d/exe' % pid)).startswith('count-'))
    loaded = shared_with(child)
    os.kill(child, signal.SIGTERM)
    assert preloading.wait(300) == 7
    assert attached and loaded, (attached, loaded)
    assert all('dd' in flags.split() for flags in attached + loaded), (attached, loaded)


test_burst.jumps_only = 'a million breakpoints take minutes'
test_core_dumps_have_none_of_it.jumps_only = NO_BREAKPOINTS
test_lines_of_one_handler_stay_together.variants = test_many_threads.variants = PAIR
