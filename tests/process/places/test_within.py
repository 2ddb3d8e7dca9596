# SPDX-License-Identifier: MIT
"""Functions inside functions, as compilers describe them: found by name, symbol, file and line, with their variables."""
from scripted import launch
from support import PAIR, tap

ROUNDS = 10
EACH = ROUNDS * (ROUNDS - 1) // 2  # what the calls of one function are given together


def numbers(ctx, path, probes):
    """One sum for each probe point and expression, from one run."""
    text = ''.join('global g%d probe process("%s").%s { g%d += %s }\n' % (i, path, point, i, value)
                   for i, (point, value) in enumerate(probes))
    text += 'probe end { printf("%s\\n", %s) }' % (' '.join(['%d'] * len(probes)), ', '.join('g%d' % i for i in range(len(probes))))
    r = launch(ctx, text, '%s %d' % (path, ROUNDS))
    assert r.returncode == 0, r
    return [int(n) for n in r.script.split()]


def line(ctx, source, mark):
    lines = open('%s/tests/targets/%s' % (ctx.root, source)).read().splitlines()
    return '%s:%d' % (source, 1 + [m.endswith(' // ' + mark) for m in lines].index(True))


def symbol(path, part):
    (name,) = {n for n in tap.elf_symbols(open(path, 'rb').read()) if part in n}
    return name


def check(ctx, path, probes):
    wanted = [value for _, _, value in probes]
    assert numbers(ctx, path, [probe[:2] for probe in probes]) == wanted, (path, probes)


def test_cxx(ctx):
    """Lambdas, one in a lambda, members of a function's own classes."""
    for cc in 'g++', 'clang++':
        for level in '-O0', '-O2':
            path = ctx.target('within.cc', cc=cc, cflags=('-g', level))
            probes = [
                ('function("*operator()*@within.cc:%s")' % line(ctx, 'within.cc', 'LAMBDA').split(':')[1], '$x', EACH),
                ('function("*operator()*")', '1', 3 * ROUNDS),
                ('function("operator()@within.cc")', '1', 3 * ROUNDS),
                ('function("outer::Local::member")', '$y', EACH),
                ('function("Local::shared")', '$w', EACH),
                ('function("outer::*::innermost")', '$z', EACH),
                ('function("innermost")', '1', ROUNDS),
                ('statement("*@%s")' % line(ctx, 'within.cc', 'LAST'), '$v', 2 * EACH),
                ('statement("*@%s")' % line(ctx, 'within.cc', 'MEMBER'), '1', ROUNDS),
                ('function("%s")' % symbol(path, '6shared'), '$w', EACH),
            ]
            check(ctx, path, probes)


def test_debug_information_alone(ctx):
    """No symbols tell the names."""
    for cc in 'g++', 'clang++':
        path = ctx.target('within.cc', cc=cc, cflags=('-g', '-O2'), ldflags=('-Wl,--discard-all',))
        assert not any('member' in name for name in tap.elf_symbols(open(path, 'rb').read())), cc
        probes = [('function("outer::Local::member")', '$y', EACH), ('function("outer::*::innermost")', '$z', EACH),
                  ('function("outer::*operator()")', '1', 3 * ROUNDS)]
        check(ctx, path, probes)


def test_nested(ctx):
    """GNU C's, which the compiler numbers: `nested.0`."""
    for level in '-O0', '-O2':
        path = ctx.target('nested', cflags=('-g', level))
        probes = [
            ('function("nested")', '$x', EACH),
            ('function("innermost")', '$z', EACH),
            ('function("in_block")', '$y', EACH),
            ('function("innermost@nested.c")', '1', ROUNDS),
            ('function("%s")' % symbol(path, 'innermost.'), '1', ROUNDS),
            ('statement("*@%s")' % line(ctx, 'nested.c', 'INNERMOST'), '$z', EACH),
            ('statement("*@%s")' % line(ctx, 'nested.c', 'NESTED'), '$x', EACH),
        ]
        if level == '-O2':  # inlined behind them
            probes += [('function("scaled").inline', '$rounds', ROUNDS * ROUNDS)]
        check(ctx, path, probes)


def test_numbered_symbols(ctx):
    """Where no debug information is, the symbol's own name is told without its number."""
    path = ctx.target('nested', cflags=('-O0',))
    check(ctx, path, [('function("innermost")', 'int_arg(1)', EACH), ('function("in_*")', '1', ROUNDS)])


test_cxx.variants = test_nested.variants = PAIR
test_debug_information_alone.once = test_numbered_symbols.once = 'how it is probed is another test'
