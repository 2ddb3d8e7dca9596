# SPDX-License-Identifier: MIT
"""Rust programs: names with wildcards, members, constants, texts that know their length."""
import os
import shutil
from test_values import traced


def test_structures_and_texts(ctx):
    if not shutil.which('rustc'):
        ctx.skip('there is no rustc')
    for level in ('0', '2'):
        program = os.path.join(ctx.tmp, 'shapes' + level)
        source = os.path.join(ctx.root, 'tests', 'scripts', 'values', 'shapes.rs')
        p = ctx.run(['rustc', '-g', '-C', 'opt-level=' + level, '-o', program, source], timeout=120)
        assert p.returncode == 0, p.stderr
        out = traced(ctx, program, r'''
            probe process.function("shapes::*::show") {
                println(probefunc(), " ", $p->x, " ", $b->y, " ", $list->length, " ", $list->data_ptr[1], " ", $kind, " ", @enumname($kind))
                println($p$, $b$, $text$, user_string_n($text->data_ptr, $text->length))
            }
            probe process.function("shapes::geo::show").return { println($return) }''')
        want = ('shapes::geo::show 3 2 2 8 7 B\n{.x=3, .y=-4, .name="p\\000q"}{.x=1, .y=2, .name=""}"text"text\n6\n')
        fields = ' '.join(sorted(out.replace('{', ' ').replace('}', ' ').replace(',', ' ').split()))
        assert fields == ' '.join(sorted(want.replace('{', ' ').replace('}', ' ').replace(',', ' ').split())), (level, out)
