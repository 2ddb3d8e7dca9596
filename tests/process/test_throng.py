# SPDX-License-Identifier: MIT
"""More threads at once than a table of 4096 would hold: none of their hits is missed."""
import os
import re

import scripted
from support import start

THREADS = 10000
SCRIPT = 'global n probe process.function("work") { n++ } probe end { println(n) }'


def test_ten_thousand_threads(ctx):
    r = scripted.launch(ctx, SCRIPT, '%s %d' % (ctx.target('throng'), THREADS))
    if 'no more threads' in r.stdout:
        ctx.skip('this machine does not allow %d threads' % THREADS)
    assert (r.returncode, r.stdout) == (0, 'ready\ndone\n'), (r.stdout[-500:], r.stderr[-2000:])
    missed = scripted.number(r.stderr, 'hits missed')
    assert (int(r.script), missed) == (2 * THREADS, 0), (r.script, missed, r.stderr[-2000:])


def times_asleep(pid, tid):
    with open('/proc/%d/task/%d/status' % (pid, tid)) as f:
        return next(int(line.split()[1]) for line in f if line.startswith('voluntary_ctxt_switches'))


def test_stopped_seldom(ctx):
    """All of a crowd is stopped a few times while thousands of probes are placed, not once for some dozens of them."""
    p = start(ctx, ctx.target('crowd'))
    p.stdin.write('600\n')
    p.stdin.flush()
    assert p.stdout.readline() == 'calls 600\n'
    sleepers = [int(t) for t in os.listdir('/proc/%d/task' % p.pid) if int(t) != p.pid]
    before = {t: times_asleep(p.pid, t) for t in sleepers}
    with open('/proc/%d/maps' % p.pid) as f:
        point = 'process("%s").function("*")' % re.search(r'/\S+/libc\.so\.6', f.read()).group(0)
    s = scripted.attach(ctx, 'global n probe %s, %s.return { n <<< 1 } probe end { println(@count(n) > 0) }' % (point, point), pid=p.pid)
    stops = sorted(times_asleep(p.pid, t) - before[t] for t in sleepers)
    out, err = scripted.finish(s)
    armed = int(re.search(r'(\d+) probes armed', err).group(1))
    assert armed > 2000 and stops[len(stops) // 2] < 40, (armed, stops[0], stops[len(stops) // 2], stops[-1], err[-2000:])
    p.stdin.write('0\n')
    p.stdin.flush()
    assert p.stdout.readline() == 'calls 1200\n'
