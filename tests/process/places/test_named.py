# SPDX-License-Identifier: MIT
"""Functions by name, as compilers leave them."""
from scripted import launch
from support import PAIR, tap


def test_inlined_without_unwind_table(ctx):
    """The symbol around an inlined instance proves that it is code, where no unwind entry does (Go)."""
    path = ctx.target('inlined', cflags=('-g', '-O2', '-fno-asynchronous-unwind-tables'))
    r = launch(ctx, 'global n probe process("%s").function("twice") { n++ } probe end { println(n) }' % path, path + ' 100')
    assert (r.returncode, r.script) == (7, '100\n'), r


test_inlined_without_unwind_table.variants = PAIR


def test_result_that_the_compiler_took_away(ctx):
    """No garbage for a result; the register can be had all the same."""
    path = ctx.target('clones', cflags=('-g', '-O2'))
    assert any('.isra.' in name for name in tap.elf_symbols(open(path, 'rb').read())), 'gcc made no clone'
    script = 'global n probe process("%s").function("unwanted").return { %s n++ } probe end { println(n) }'
    r = launch(ctx, script % (path, 'println($return)'), path)
    assert r.returncode == 1 and 'error[RETURN_TAKEN]' in r.stderr and 'returnval()' in r.stderr, r
    r = launch(ctx, script % (path, 'returnval()'), path)
    assert (r.returncode, r.script) == (7, '10\n'), r
