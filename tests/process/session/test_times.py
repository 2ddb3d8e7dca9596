# SPDX-License-Identifier: MIT
"""-t: what each probe's handlers took."""
import re

from scripted import check_rung, launch
from support import ALL, runner

CALLS = 500
HEAD = '----- probe hit report:\n'
LINE = re.compile(r'^(.+), \((.+:\d+:\d+)\), hits: (\d+), cycles: (\d+)min/(\d+)avg/(\d+)max, index: (\d+)$', re.M)
# A handler that only counts, one that takes a lock, a return, and places that nobody comes by.
SCRIPT = '''
global n, last, spent
probe process.function("work") { n++ }
probe process.function("work") { last[tid()] = long_arg(1) }
probe process.function("work").return { if (returnval() == 1) next; spent <<< returnval() }
probe process.function("on_term") { n++ }
probe end { printf("%d %d\\n", n, @count(spent)); if (last[0] == 1) n-- }
'''


def check(report):
    """Of each probe that was hit: hits and point, in order."""
    rows = LINE.findall(report)
    assert len(rows) == report.count('\n'), report
    for _, _, hits, least, mean, most, _ in rows:
        assert 0 <= int(least) <= int(mean) <= int(most) and int(hits) > 0, report
    return [(int(hits), point) for point, _, hits, *_ in rows]


def test_times_of_all_threads(ctx):
    r = launch(ctx, SCRIPT, '%s 4 %d' % (ctx.target('count'), CALLS), '-t', '--suppress-handler-errors')
    assert r.returncode == 7, r
    said, _, report = r.script.partition(HEAD)
    rows = check(report)
    assert [hits for hits, _ in rows] == [4 * CALLS] * 3 + [1], (rows, r.stderr)
    assert said.split()[0] == str(4 * CALLS) and 'end' in rows[3][1] and '.return' in rows[2][1], (said, rows)
    check_rung(ctx, r.stderr)


test_times_of_all_threads.variants = ALL


def test_untimed_scripts_tell_nothing(ctx):
    r = launch(ctx, SCRIPT, '%s 1 %d' % (ctx.target('count'), CALLS))
    assert r.returncode == 7 and HEAD not in r.script and r.script.count('\n') == 1, r.script


def test_in_the_module(ctx):
    """What is measured is decided as the module is made; errors and exits are measured as well."""
    script = 'probe begin { try { error("x") } catch { } } probe begin(1) { exit() } probe end(-1) { println(1 / zero) } global zero'
    p = ctx.run([ctx.bin('trapless'), '-t', '-p4', '-m', 'm', '-e', script], cwd=ctx.tmp)
    assert p.returncode == 0, p
    p = ctx.run([runner(ctx), 'm.tap'], cwd=ctx.tmp)
    assert p.returncode == 1 and 'division by 0' in p.stderr, p
    assert [hits for hits, _ in check(p.stdout.partition(HEAD)[2])] == [1, 1, 1], p
