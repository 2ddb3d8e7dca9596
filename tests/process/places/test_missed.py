# SPDX-License-Identifier: MIT
"""What is missed is counted by its cause, and by no other's."""
from scripted import launch, missed, number
from support import ALL, PAIR

INSIDE, STRANGE, RECORDS, NUMBERS, CALLS = (
    'inside another handler', 'in threads that share', 'in more than 32768', 'in more than 4096 threads', 'more than 4096 calls')
RETURNS = 'global n probe process.function("%s").return { n <<< 1 } probe end { println(@count(n)) }'


def only(r, why, count):
    counts = {w: missed(r.stderr, w) for w in (INSIDE, STRANGE, RECORDS, NUMBERS, CALLS)}
    assert counts == dict(dict.fromkeys(counts, 0), **{why: count}), (counts, r.script, r.stderr)
    assert number(r.stderr, 'hits missed') == count, r.stderr


def test_strange(ctx):
    """A program leads its thread pointer elsewhere: entry and return are two probes."""
    r = launch(ctx, 'global n probe process.function("work") { n <<< 1 } probe end { println(@count(n)) }',
               '%s 20' % ctx.target('rebased'))
    assert r.returncode == 7 and r.stdout == 'right\n', r
    only(r, STRANGE, 8 * 120 - int(r.script))
    assert int(r.script) < 8 * 120


def test_calls_under_way(ctx):
    r = launch(ctx, RETURNS % 'down', '%s 5000' % ctx.target('recursive'))
    assert r.returncode == 7 and r.stdout == 'sum %d\n' % sum(range(5001)), r
    assert r.script == '4096\n', r.script
    only(r, CALLS, 5000 - 4096)


def test_threads_that_return(ctx):
    """Where all of them live at once."""
    threads, calls = 6000, 2
    r = launch(ctx, RETURNS % 'work', '%s %d %d' % (ctx.target('throng'), threads, calls))
    if 'no more threads' in r.stdout:
        ctx.skip('this machine does not allow %d threads' % threads)
    assert (r.returncode, r.stdout) == (0, 'ready\ndone\n'), (r.stdout, r.stderr)
    assert 0 < int(r.script) <= 4096 * calls, r.script
    only(r, NUMBERS, threads * calls - int(r.script))


test_strange.variants = test_calls_under_way.variants = ALL
test_threads_that_return.variants = PAIR
