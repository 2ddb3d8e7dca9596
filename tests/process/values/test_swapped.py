# SPDX-License-Identifier: MIT
"""Numbers that are not in the processor's byte order: read, shown and written as the program sees them."""
from scripted import launch
from support import PAIR

PROBE = 'probe process.function("look") { %s }'
NUMBERS = ('$s->half', '$s->word', '$s->whole', '$s->low', '$s->high', '$s->kind', '$s->halves[2]', '$s->kinds[1]', '$s->byte',
           '$s->plain->within', '$s->rows[1][0]', '$s->real', '$s->points[1]', '$by_value->word', '$by_value->low', '$few->a', '$few->b')
VALUES = (0x102, -2, 0x102030405060708, -3, 1025, 2, 3, 2, -5, 7, -3, 0x4004000000000000, 5, -2, -3, 0x1020304, -6)
SHOWN = ('.half=258, .word=-2, .whole=72623859790382856, .low=-3, .high=1025, .kind=2, .halves=[1, ...], .kinds=[1, ...], '
         '.name="abc", .byte=\'\\373\', .text="text", .plain={.within=7}, .rows=[1, ...], .real=?, .points=')
CHANGES = '$s->half = 0x304; $s->word++; $s->low = 4; $s->high -= 1000; $s->kind = 1; $s->halves[1] = 9;'


def programs(ctx):
    for flags in (('-O0',), ('-O2',), ('-O0', '-gdwarf-4'), ('-O0', '-gdwarf-3', '-gstrict-dwarf')):
        yield ctx.target('swapped', cflags=('-g',) + flags)


def test_read(ctx):
    for path in programs(ctx):
        script = 'printf("%s\\n", %s)' % (' '.join(['%d'] * len(NUMBERS)), ', '.join(NUMBERS))
        r = launch(ctx, PROBE % script, path)
        assert [int(n) for n in r.script.split()] == list(VALUES), (path, r)


def test_shown(ctx):
    for path in programs(ctx):
        r = launch(ctx, PROBE % 'printf("%s\\n%s\\n%s\\n%s\\n", $s$$, $s->halves$, $s->points$, $$vars$$)', path)
        lines = r.script.splitlines()
        assert lines[0].startswith('{' + SHOWN) and lines[1:3] == ['[1, ...]', '4'], (path, r)
        assert lines[3].count('{' + SHOWN) == 2 and 'few={.a=16909060, .b=-6}' in lines[3], (path, r)


def test_written(ctx):
    for path in programs(ctx):
        r = launch(ctx, PROBE % CHANGES, path, '-g')
        assert r.stdout == '772 -1 4 25 1 9\n', (path, r)


test_read.variants = test_written.variants = PAIR
test_shown.once = 'how it is probed is another test'
