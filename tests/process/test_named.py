# SPDX-License-Identifier: MIT
"""Functions by name, as compilers leave them."""
from scripted import launch
from support import PAIR


def test_inlined_without_unwind_table(ctx):
    """The symbol around an inlined instance proves that it is code, where no unwind entry does (Go)."""
    path = ctx.target('inlined', cflags=('-g', '-O2', '-fno-asynchronous-unwind-tables'))
    r = launch(ctx, 'global n probe process("%s").function("twice") { n++ } probe end { println(n) }' % path, path + ' 100')
    assert (r.returncode, r.script) == (7, '100\n'), r


test_inlined_without_unwind_table.variants = PAIR
