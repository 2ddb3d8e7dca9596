# SPDX-License-Identifier: MIT
"""Threads that stop all the time leave their turn to others: those that were seized before them."""
import scripted
from support import PAIR


def test_the_first_thread_has_its_turn(ctx):
    path = ctx.target('turns')
    script = 'global n probe process.function("work") { n++ } probe end { println(n > 20) }'
    r = scripted.launch(ctx, script, path + ' 100', timeout=300)
    assert (r.returncode, r.stdout, r.script) == (7, 'sum 210\n', '1\n'), r


test_the_first_thread_has_its_turn.variants = PAIR
