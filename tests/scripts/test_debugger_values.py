# SPDX-License-Identifier: MIT
"""--pretty: values of C++, Rust and Go as debuggers show them; without it, SystemTap's text."""
import os
import re
import shutil

from test_run import frames, module_flags
from test_rust import builds
from test_values import BUILDS, built


def shown(ctx, program, script, *options):
    to = os.path.join(ctx.tmp, 'shown.out')
    p = ctx.run([ctx.bin('trapless'), *options, '-o', to, '-c', program, '-e', script], timeout=300)
    assert p.returncode == 0, p.stderr
    return open(to).read()


def containers(ctx, cc, level):
    """clang leaves the definitions of a library's types to the library, which has no debug information here."""
    return built(ctx, 'containers.cc', cc, level, '-std=c++17', *(['-fstandalone-debug'] if cc == 'clang' else []))


def cxx(name):
    """Of these functions the structure that the parameter leads to."""
    return 'probe process.function("%s") { println($p$) println($p$$) }\n' % name


NUMBERS = ("{.colour=GREEN, .odd=7, .kind=Large, .bits=BLUE, .yes=true, .no=false, .d=-2.5, .tenth=0.1, .f=1.5, .third=0.333333, "
           ".c='c', .row=%s, .table=%s, .many=%s}\n")
TEXTS = r'{.little="a\"b\n", .large="%s"..., .empty="", .view="view"}' % ('x' * 195) + '\n'
ROWS = ('{.none=[...], .few=[...], .many=[...], .words=[...], .points=[...], .nested=[...], .fixed=[...]}\n'
        '{.none=[], .few=[1, -2, 3], .many=[7, 7, 7, 7, 7, 7, 7, 7, ...], .words=["one", "two"], '
        '.points=[{.x=1, .y=2}, {.x=3, .y=4}], .nested=[[1], [], [2, 3]], .fixed=[0.5, 2]}\n')
MAYBES = ('{.one=5, .none=nullopt, .text="text", .owned=%s, .empty=nullptr, .shared=9, .ring=%s}\n')
RING = '{.value=1, .next={.value=1, .next={.value=1, .next=...}}}'


def test_libstdcxx(ctx):
    want = (NUMBERS % (('[...]',) * 3) + NUMBERS % ('[1, 2, 3]', '[[1, 2], [3, 4]]', '[1, 2, 3, 4, 5, 6, 7, 8, ...]') + TEXTS * 2 + ROWS
            + MAYBES % ('{...}', '{...}') + MAYBES % ('{.x=1, .y=2}', RING)
            + '"a\\"b\\n" [1, -2, 3] true BLUE\n')
    script = ''.join(map(cxx, ('numbers', 'texts', 'rows', 'maybes')))
    script += 'probe process.function("whole") { println($s$, " ", $p$, " ", $b$, " ", $c$) }'
    for cc, level in BUILDS:
        found = shown(ctx, containers(ctx, cc, level), script, '--pretty')
        assert found == want, '%s %s\n%s\nnot\n%s' % (cc, level, found, want)


def test_garbage_ends_its_own_value_only(ctx):
    """An end before the start, a pointer to nowhere, 2^60 elements or bytes."""
    for cc, level in BUILDS:
        out = shown(ctx, containers(ctx, cc, level), cxx('garbage'), '--pretty').splitlines()
        want = r'\{.backwards=ERROR, .wild=ERROR, .huge=\[1, 2, 3, 4(, -?\d+){4}, \.\.\.\], .endless="endless\\0.*"\.\.\., .nowhere=0x10, .after=77\}'
        assert re.fullmatch(want, out[1]) and len(out) == 2 and len(out[1]) < 512, (cc, level, out)


def test_stack_estimates_are_upper_bounds(ctx):
    p = ctx.run([ctx.bin('trapless'), '--pretty', '-p3', '-e', ''.join(map(cxx, ('numbers', 'texts', 'rows', 'maybes'))),
                 '-c', containers(ctx, 'gcc', '-O0')], timeout=300)
    assert p.returncode == 0, p.stderr
    bounds = re.findall(r'at most (\d+) bytes of stack \*/\n\w+ (h\d+)\(', p.stdout)
    real = frames(ctx, module_flags(ctx), p.stdout)
    assert len(bounds) == 4 and all(real[name] <= int(bound) for bound, name in bounds), (bounds, real)


def test_only_pretty_shows_them(ctx):
    """SystemTap's text stays; a format that is none of text shows the others."""
    program = containers(ctx, 'gcc', '-O0')
    script = 'probe process.function("numbers") { println($p->colour$, " ", $p->yes$, " ", $p->row$, " ", $p->d$) }'
    assert shown(ctx, program, script) == '5 1 [1, ...] ?\n'
    assert shown(ctx, program, script, '--pretty') == 'GREEN true [1, 2, 3] -2.5\n'
    event = shown(ctx, program, script, '--format', 'json').splitlines()[1]
    assert '"fields":{"p_colour":"GREEN","p_yes":"true","p_row":"[1, 2, 3]","p_d":"-2.5"}' in event, event
    texts = shown(ctx, program, 'probe process.function("texts") { println($p$$) }')
    assert '._M_string_length=5' in texts or '._M_dataplus=' in texts, texts


def test_gdb_sees_the_same(ctx):
    if not shutil.which('gdb'):
        ctx.skip('there is no gdb')
    program = containers(ctx, 'gcc', '-O0')
    names = ('few', 'words', 'fixed')
    p = ctx.run(['gdb', '-nx', '-batch', '-ex', 'set print frame-arguments none', '-ex', 'break rows', '-ex', 'run']
                + [w for n in names for w in ('-ex', 'output p.%s' % n, '-ex', 'echo \\n')] + [program], timeout=300)
    if 'std::vector of length' not in p.stdout:
        ctx.skip("gdb has no printers of libstdc++'s types here")
    theirs = re.findall(r'= (?:\{_M_elems = )?(\{.*?\})\}?$', p.stdout, re.M)
    ours = shown(ctx, program, 'probe process.function("rows") { println($p->few$) println($p->words$) println($p->fixed$) }', '--pretty')
    assert [t.replace('{', '[').replace('}', ']') for t in theirs] == ours.splitlines(), (p.stdout, ours)


RUST = [
    ('{.none=[...], .few=[...], .many=[...], .words=[...], .nested=[...], .points=[...], .slice=[...], .boxed=[...], .maybe=Some(...), '
     '.array=[...]}'),
    ('{.none=[], .few=[1, -2, 3], .many=[7, 7, 7, 7, 7, 7, 7, 7, ...], .words=["one", "two"], .nested=[[1], [], [2, 3]], '
     '.points=[{.x=1, .y=2}], .slice=[5, 6], .boxed=[8, 9], .maybe=Some([0.5]), .array=[1.5, -2]}'),
    '{.owned={...}, .counted={...}, .shared="shared", .option=Some(...), .colours=[...], .yes=true, .tenth=0.1}',
    '{.owned={.x=3, .y=4}, .counted={.x=5, .y=6}, .shared="shared", .option=Some(1), .colours=[Red, Green], .yes=true, .tenth=0.1}',
    '[4, 5, 6]']


def parts(text):
    """The members sorted: their order is the compiler's."""
    return sorted(re.findall(r'\.\w+=', text)), sorted(re.split(r'[{},] ?', text))


def test_rust(ctx):
    script = ''.join(cxx('containers::' + n) for n in ('rows', 'owners')) + 'probe process.function("containers::slice") { println($p$) }'
    for level, program in builds(ctx, 'containers', '-A', 'dead_code'):
        out = shown(ctx, program, script, '--pretty').splitlines()
        assert list(map(parts, out)) == list(map(parts, RUST)), (level, out)


GO = ('{.text="a\\"b\\n", .none=[...], .few=[...], .words=[...], .points=[...], .many=[...], .yes=true, .tenth=0.1, .array=[...]}\n'
      '{.text="a\\"b\\n", .none=[], .few=[1, -2, 3], .words=["one", "two"], .points=[{.x=1, .y=2}, {.x=3, .y=4}], '
      '.many=[0, 0, 0, 0, 0, 0, 0, 0, ...], .yes=true, .tenth=0.1, .array=[7, 8, 9]}\n"text"[1, -2, 3]\n')


def go(ctx, compiler, words, env={}):
    if not shutil.which(compiler):
        ctx.skip('there is no ' + compiler)
    source = os.path.join(ctx.root, 'tests', 'scripts', 'values', 'containers.go')
    program = os.path.join(ctx.tmp, 'containers-' + compiler)
    p = ctx.run([compiler, *words, '-o', program, source], timeout=300, env=env)
    assert p.returncode == 0, p.stderr
    return program


GO_SCRIPT = 'probe process.function("main.rows") { println($p$) println($p$$) println($s$, $l$) }'


def test_gccgo(ctx):
    """Its debug information has bytes as characters."""
    out = shown(ctx, go(ctx, 'gccgo-12', ['-g', '-O0']), GO_SCRIPT, '--pretty')
    assert out.replace(r"'\000'", '0') == GO, out


def test_go(ctx):
    env = {'GO111MODULE': 'off', 'GOCACHE': os.path.join(ctx.tmp, 'cache'), 'GOFLAGS': ''}
    assert shown(ctx, go(ctx, 'go', ['build'], env), GO_SCRIPT, '--pretty') == GO
