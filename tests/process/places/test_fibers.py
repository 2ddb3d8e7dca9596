# SPDX-License-Identifier: MIT
"""Calls on many stacks of one thread, some of which never return: each return is seen once, with what is kept for its call."""
import re

from scripted import launch, number
from support import PAIR

FIBERS = 12
SCRIPT = '''
global entered, returned, wrong
probe process.function("leaf"), process.function("half_way") { entered++ }
probe process.function("leaf").return { returned++; if ($return != @entry($id) * 1000 + @entry($k) || $id != @entry($id)) wrong++ }
probe process.function("half_way").return { returned++; if ($return != @entry($id)) wrong++ }
probe end { printf("entered %d returned %d wrong %d\\n", entered, returned, wrong) }
'''


def traced(ctx, *args, fibers=FIBERS):
    """(calls, returned, left) as the program counts them; the session."""
    path = ctx.target('fibers.cc', cc='g++', cflags=('-O2', '-g', '-DFIBERS=%d' % fibers))
    command = ' '.join((path,) + args)
    bare = ctx.run(command.split())
    said = re.fullmatch(r'calls (\d+) returned (\d+) left (\d+) bad 0\n', bare.stdout)
    assert said and bare.returncode == 17, bare
    r = launch(ctx, SCRIPT, command)
    assert (r.stdout, r.returncode) == (bare.stdout, 17), (r.returncode, r.stdout, r.stderr)
    return tuple(map(int, said.groups())), r


def check(ctx, *args):
    (calls, returned, left), r = traced(ctx, *args)
    assert r.script == 'entered %d returned %d wrong 0\n' % (calls, returned), (r.script, returned, r.stderr)
    assert number(r.stderr, 'hits missed') == number(r.stderr, 'returns without their call') == 0, r.stderr
    # of each fiber the last one may show itself no more
    assert left - FIBERS <= number(r.stderr, 'calls left by an exception or longjmp') <= left, (left, r.stderr)


def test_side_by_side(ctx):
    check(ctx, str(ctx.seed()))


def test_far_apart(ctx):
    """A call far away is left where it is: below it older ones lie that have ended long ago."""
    check(ctx, str(ctx.seed()), '1')


def test_both(ctx):
    for seed in range(1, 5):
        check(ctx, str(seed), '2')


def test_many(ctx):
    """More than are kept of a thread of which nobody knows that its calls come back: some of the first are lost."""
    fibers = 180
    (calls, returned, left), r = traced(ctx, '1', fibers=fibers)
    entered, seen, wrong = map(int, re.fullmatch(r'entered (\d+) returned (\d+) wrong (\d+)\n', r.script).groups())
    assert (entered, wrong) == (calls, 0), (r.script, r.stderr)
    assert returned - 2 * fibers <= seen <= returned, (seen, returned, r.stderr)
    assert number(r.stderr, 'returns without their call') <= returned - seen, r.stderr


test_side_by_side.variants = test_far_apart.variants = PAIR
