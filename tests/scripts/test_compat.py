# SPDX-License-Identifier: MIT
"""What docs/script-compat.md says is what the compiler does."""
import concurrent.futures
import os
import re
import shlex
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import compat

once = 'nothing is probed'


def told(ctx, program, how, line):
    """The exit status, and the tags of the errors."""
    if line.startswith('-'):
        words = shlex.split(line)
    else:
        words = ['-w', '-p2', '-c', program] + ['-g'] * (how == 'guru') + ['-e', line, '5', 'word']
    p = ctx.run([ctx.bin('trapless')] + words)
    return p, set(re.findall(r'^error\[(\w+)\]', p.stderr, re.M))


def wrong(ctx, program, how, line):
    """None, or what went otherwise."""
    p, tags = told(ctx, program, how, line)
    if how in compat.ACCEPTED:
        return None if p.returncode == 0 else 'refused: %s\n%s' % (line, p.stderr)
    helped = p.stderr.count('next step:') >= len(tags) and 'panicked' not in p.stderr
    return None if p.returncode in (1, 2) and tags == {how} and helped else 'not %s: %s\n%s' % (how, line, p.stderr)


def test_every_row(ctx):
    program = os.path.join(ctx.tmp, 'target')
    source = os.path.join(ctx.root, 'tests', 'scripts', 'sema', 'target.c')
    assert ctx.run(['gcc', '-g', '-O2', '-o', program, source]).returncode == 0
    table = compat.rows(open(compat.TABLE).read())
    cases = [case for row in table for case in row.tries + row.refusals]
    assert len(cases) > 300, len(cases)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        said = list(pool.map(lambda case: wrong(ctx, program, *case), cases))
    bad = [s for s in said if s]
    assert not bad, '\n'.join(bad)


def test_mistakes_are_seen(ctx):
    row = 'a -- b\n\ttest: scripts/nothing.stp\n\tok: probe begin { }\n'
    assert list(compat.mistakes(compat.rows(row))) == ['a: there is no test scripts/nothing.stp']
    assert list(compat.mistakes(compat.rows('a -- b\n\tNOT_BUILT: x\n'))) == ['a: why is it refused?']
    assert len(list(compat.mistakes(compat.rows('a -- b\n\ttest: scripts/compat.py\n')))) == 1
