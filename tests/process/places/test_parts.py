# SPDX-License-Identifier: MIT
"""Functions in several parts, as compilers and linkers lay them out: one entry, all exits."""
from scripted import launch, number
from support import PAIR

PARTS = ('-fbasic-block-sections=all',)
COUNTS = ('global n, all, returned probe process.function("work") { n++ } probe process.function("wor*") { all++ } '
          'probe process.function("work").return { returned += returnval() } ')
VALUES = 'global s, r probe process.function("work") { s += $i } probe process.function("work").return { r += $return } '
STACKS = 'global stacks probe process.function("report") { if (sprint_ubacktrace() =~ "report.*work.*main") stacks++ } '
END = 'probe end { printf("%s\\n", %s) }'


def check(ctx, path, script, wanted):
    names = ', '.join(wanted)
    r = launch(ctx, script + END % (' '.join(['%d'] * len(wanted)), names), path + ' 100')
    assert r.returncode == 0 and r.stdout == '100 15 9670\n', r
    assert [int(n) for n in r.script.split()] == list(wanted.values()), (wanted, r)
    assert number(r.stderr, 'returns without their call') == 0, r


ENTERED = {'n': 100, 'all': 100, 'returned': 9670}
READ = {'s': 4950, 'r': 9670}


def test_blocks(ctx):
    """The debug information has the part with the entry last; where no symbol tells it, the unwind table does."""
    for flags in (('-O2',), ('-O0',), ('-O2', '-gdwarf-4')):
        path = ctx.target('parts', cc='clang', cflags=('-g',) + flags + PARTS)
        check(ctx, path, COUNTS + VALUES + STACKS, dict(ENTERED, **READ, stacks=15))
    path = ctx.target('parts', cc='clang', cflags=('-g', '-O2', '-DLINKAGE=static') + PARTS, ldflags=('-Wl,--discard-all',))
    check(ctx, path, COUNTS + VALUES, dict(ENTERED, **READ))


def test_without_debug_information(ctx):
    path = ctx.target('parts', cc='clang', cflags=('-O2',) + PARTS)
    check(ctx, path, COUNTS + STACKS, dict(ENTERED, stacks=15))


def test_ordered(ctx):
    """The entry lies behind all other parts, in the file, too."""
    order = ctx.root + '/tests/targets/parts.order'
    path = ctx.target('parts', cc='clang', cflags=('-g', '-O2', '-ffunction-sections', '-funique-basic-block-section-names') + PARTS,
                      ldflags=('-fuse-ld=gold', '-Wl,--section-ordering-file=' + order))
    check(ctx, path, COUNTS + VALUES + STACKS, dict(ENTERED, **READ, stacks=15))


def test_cold(ctx):
    """gcc's."""
    path = ctx.target('parts', cflags=('-g', '-O2'))
    check(ctx, path, COUNTS + VALUES + STACKS, dict(ENTERED, **READ, stacks=15))


def test_coroutine(ctx):
    """Its part that goes on is probed at its entry, not where it goes on in one of several cases; gcc's is a function like others."""
    parts = 'global n, r, d probe process("%s").function("%s") { n++ } probe process("%s").function("%s").return { r++ } ' \
            'probe process("%s").function("*.destroy") { d++ } probe end { printf("%%d %%d %%d\\n", n, r, d) }'
    for cc, flags, part in (('clang++', ('-fcoroutines-ts',), '*.resume'), ('g++', (), '*.actor')):
        for level in '-O0', '-O1':
            path = ctx.target('resumed.cc', cc=cc, cflags=('-g', level, '-std=c++20') + flags)
            r = launch(ctx, parts % (path, part, path, part, path), path)
            more = 2 if cc == 'g++' else 0  # once as it is made, once as it is destroyed
            assert r.stdout == '11 0\n' and r.script == '%d %d 1\n' % (11 + more, 11 + more), (path, r)


def test_coroutine_has_no_parameters(ctx):
    """Of those of the whole function none is passed to its parts, and none returns its result."""
    path = ctx.target('resumed.cc', cc='clang++', cflags=('-g', '-O0', '-std=c++20', '-fcoroutines-ts'))
    for point, tag in (('function("*.resume") { println($from) }', 'CTX_VAR_OPTIMIZED_OUT'),
                       ('function("*.resume").return { println($return$) }', 'RETURN_VOID')):
        r = launch(ctx, 'probe process("%s").%s' % (path, point), path)
        assert r.returncode == 1 and tag in r.stderr, r


test_coroutine.variants = test_blocks.variants = test_ordered.variants = PAIR
test_without_debug_information.once = test_coroutine_has_no_parameters.once = test_cold.once = 'how it is probed is another test'
