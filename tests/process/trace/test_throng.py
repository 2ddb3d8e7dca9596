# SPDX-License-Identifier: MIT
"""Many threads: none of their hits is missed, and they are stopped seldom."""
import os
import re

import scripted
from support import LIBC, naps, start

THREADS = 10000
SCRIPT = 'global n probe process.function("work") { n++ } probe end { println(n) }'


def test_ten_thousand_threads(ctx):
    """More at once than a table of 4096 would hold."""
    r = scripted.launch(ctx, SCRIPT, '%s %d' % (ctx.target('throng'), THREADS))
    if 'no more threads' in r.stdout:
        ctx.skip('this machine does not allow %d threads' % THREADS)
    assert (r.returncode, r.stdout) == (0, 'ready\ndone\n'), (r.stdout[-500:], r.stderr[-2000:])
    missed = scripted.number(r.stderr, 'hits missed')
    assert (int(r.script), missed) == (2 * THREADS, 0), (r.script, missed, r.stderr[-2000:])


def test_stopped_seldom(ctx):
    """All of a crowd is stopped a few times while thousands of probes are placed, not once for some dozens of them."""
    p = start(ctx, ctx.target('crowd'))
    p.stdin.write('600\n')
    p.stdin.flush()
    assert p.stdout.readline() == 'calls 600\n'
    sleepers = [int(t) for t in os.listdir('/proc/%d/task' % p.pid) if int(t) != p.pid]
    before = {t: naps(p.pid, t) for t in sleepers}
    point = 'process("%s").function("*")' % LIBC
    s = scripted.attach(ctx, 'global n probe %s, %s.return { n <<< 1 } probe end { println(@count(n) > 0) }' % (point, point), pid=p.pid)
    stops = sorted(naps(p.pid, t) - before[t] for t in sleepers)
    out, err = scripted.finish(s)
    armed = int(re.search(r'(\d+) probes armed', err).group(1))
    assert armed > 2000 and stops[len(stops) // 2] < 40, (armed, stops[0], stops[len(stops) // 2], stops[-1], err[-2000:])
    p.stdin.write('0\n')
    p.stdin.flush()
    assert p.stdout.readline() == 'calls 1200\n'
