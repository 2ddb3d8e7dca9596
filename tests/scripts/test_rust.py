# SPDX-License-Identifier: MIT
"""Rust programs: names with wildcards, members, constants, texts that know their length."""
import os
import re
import shutil
from test_values import traced


def builds(ctx, name, *more):
    """Without and with optimisation: the level, and the program."""
    if not shutil.which('rustc'):
        ctx.skip('there is no rustc')
    source = os.path.join(ctx.root, 'tests', 'scripts', 'values', name + '.rs')
    for level in ('0', '2'):
        program = os.path.join(ctx.tmp, name + level)
        p = ctx.run(['rustc', '-g', *more, '-C', 'opt-level=' + level, '-o', program, source], timeout=300)
        assert p.returncode == 0, p.stderr
        yield level, program


def test_structures_and_texts(ctx):
    for level, program in builds(ctx, 'shapes'):
        out = traced(ctx, program, r'''
            probe process.function("shapes::*::show") {
                println(probefunc(), " ", $p->x, " ", $b->y, " ", $list->length, " ", $list->data_ptr[1], " ", $kind, " ", @enumname($kind))
                println($p$, $b$, $text$, user_string_n($text->data_ptr, $text->length))
            }
            probe process.function("shapes::geo::show").return { println($return) }''')
        want = ('shapes::geo::show 3 2 2 8 7 B\n{.x=3, .y=-4, .name="p\\0q"}{.x=1, .y=2, .name=""}"text"text\n6\n')
        fields = ' '.join(sorted(out.replace('{', ' ').replace('}', ' ').replace(',', ' ').split()))
        assert fields == ' '.join(sorted(want.replace('{', ' ').replace('}', ' ').replace(',', ' ').split())), (level, out)


VARIANTS = r'''Quit | None | None | Err("bad") | Minus(700)
[.inner=Some(Some(1)), .name=None, .only=Single(9, -9)]
Move[.x=1, .y=-2] | Some(7) | Some(0xN) | Ok(-4) | Plus
[.inner=Some(None), .name=Some("n"), .only=Single(9, -9)]
1 -2 7 9
Write("hi") | None | None | Err("bad") | Minus(700)
[.inner=Some(Some(1)), .name=None, .only=Single(9, -9)]
Color(1, 2, 3) | Some(7) | Some(0xN) | Ok(-4) | Plus
[.inner=Some(None), .name=Some("n"), .only=Single(9, -9)]
'''


def members(text):
    """The lines; of a structure its members sorted, whose order is the compiler's."""
    return [sorted(re.findall(r'\.\w+=(?:[^,(]|\(.*?\)+)*', s.strip('{}'))) if s[0] == '{' else s for s in text.splitlines()]


def test_variants(ctx):
    for level, program in builds(ctx, 'variants', '-A', 'dead_code'):
        out = traced(ctx, program, r'''
            probe process.function("variants*::handle") {
                println($m$, " | ", $o$, " | ", $b$, " | ", $r$, " | ", $s$)
                println($h$$)
                if ($m$ =~ "^Move") println($m->Move->x, " ", $m->y, " ", $o->Some->__0, " ", $h->only->__0)
            }''')
        out = re.sub('0x[0-9a-f]+', '0xN', out)
        assert members(out) == members(VARIANTS.replace('[', '{').replace(']', '}')), (level, out)


RESULTS = r'''number Some(41) Some(42) None None
long Some(51) Some(52) None None
byte Some(61) Some(62) None None
packed Ok(1) Ok(2) Err(3) Err(4)
pair {.__0=6, .__1=9} {.__0=7, .__1=9} {.__0=8, .__1=9} {.__0=9, .__1=9}
around {.__0={.__0=7, .__1=8}} {.__0={.__0=8, .__1=8}} {.__0={.__0=9, .__1=8}} {.__0={.__0=10, .__1=8}}
three {.x=1, .y=101, .z=201} {.x=2, .y=102, .z=202} {.x=3, .y=103, .z=203} {.x=4, .y=104, .z=204}
mixed {.small=1, .large=77} {.small=2, .large=77} {.small=3, .large=77} {.small=4, .large=77}
character Some('B') Some('C') None None
wide Some('\u{9f}') Some('é') Some('€') Some('😀')
nothing Ok(()) Ok(()) Err({}) Err({})
text "small" "small" "big" "big"
maybe Some("text 1") Some("text 2") None None
result Ok(10) Ok(20) Err("bad 3") Err("bad 4")
message Quit Move{.x=-1, .y=2} Say("hi") Color(1, 2, 3)
'''


def test_results(ctx):
    names = [line.split()[0] for line in RESULTS.splitlines()]
    probes = ''.join('probe process.function("results::%s").return { got_%s = got_%s . " " . $return$$ }\n' % (n, n, n) for n in names)
    shown = ''.join('println("%s", got_%s)\n' % (n, n) for n in names)
    script = 'global %s\n%sprobe process.function("results::three").return { sum += $return->z; got = $$return$$ }\n' % (
        ', '.join('got_' + n for n in names), probes)
    script += 'global sum, got\nprobe end { %sprintln(sum, " ", got =~ "^return=.*[.]z=204") }' % shown
    for level, program in builds(ctx, 'results', '-A', 'dead_code'):
        out = traced(ctx, program, script)
        assert out == RESULTS + '810 1\n', (level, out)
