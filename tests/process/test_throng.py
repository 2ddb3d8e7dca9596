# SPDX-License-Identifier: MIT
"""More threads at once than a table of 4096 would hold: none of their hits is missed."""
import scripted

THREADS = 10000
SCRIPT = 'global n probe process.function("work") { n++ } probe end { println(n) }'


def test_ten_thousand_threads(ctx):
    r = scripted.launch(ctx, SCRIPT, '%s %d' % (ctx.target('throng'), THREADS))
    if 'no more threads' in r.stdout:
        ctx.skip('this machine does not allow %d threads' % THREADS)
    assert (r.returncode, r.stdout) == (0, 'ready\ndone\n'), (r.stdout[-500:], r.stderr[-2000:])
    missed = scripted.number(r.stderr, 'hits missed')
    assert (int(r.script), missed) == (2 * THREADS, 0), (r.script, missed, r.stderr[-2000:])
