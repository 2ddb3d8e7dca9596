# SPDX-License-Identifier: MIT
"""Thread-local variables, of the program and of libraries, by every way in which code finds them."""
import os
import shutil

from test_values import traced

WAYS = {'general': (), 'initial': ('-ftls-model=initial-exec',), 'descriptors': ('-mtls-dialect=gnu2',)}
BUILDS = [('gcc', way) for way in WAYS] + [('clang', 'general'), ('clang', 'initial')]
SCRIPT = r'''
    probe process("LIB").function("fresh") {
        try { print($n, ": ", @var("mine"), " ", @var("shown"), "; ") } catch (why) { print($n, ": ", why, "; ") }
    }
    probe process("LIB").function("told") {
        print(@var("mine") == $m, @var("shown") == $s, &@var("room")[1] == $at, @var("room")[1] == $m, " ")
    }
    probe process.function("used") {
        println(@var("counted") == $c, " ", @var("mine@ownlib.c", "LIB"), " ", @var("shown", "LIB"))
    }'''


def source(ctx, name):
    return os.path.join(ctx.root, 'tests', 'scripts', 'values', name)


def compiled(ctx, cc, out, *args):
    if not shutil.which(cc):
        ctx.skip('there is no ' + cc)
    out = os.path.join(ctx.tmp, out)
    p = ctx.run([cc, '-g', '-o', out, *args])
    assert p.returncode == 0, p.stderr
    return out


def library(ctx, cc, *flags):
    return compiled(ctx, cc, 'libown.so', '-shared', '-fPIC', *flags, source(ctx, 'ownlib.c'))


def lines(fresh):
    """Of each thread what a script reads that the library's code has not touched (`fresh`), and has."""
    return ''.join('%d: %s; 1111 1 %d %d\n' % (n, fresh, 10 + n, 2 * n) for n in range(1, 5))


NOT_YET = 'thread-local storage of libown.so is not allocated in this thread yet'


def test_of_a_linked_library(ctx):
    """Each thread has them from its start."""
    for level in ('-O0', '-O2'):
        for cc, way in BUILDS:
            lib = library(ctx, cc, level, *WAYS[way])
            program = compiled(ctx, cc, 'linked', level, source(ctx, 'own.c'), lib, '-pthread')
            found = traced(ctx, program, SCRIPT.replace('LIB', lib))
            assert found == lines('10 5'), (cc, way, level, found)


def test_of_a_loaded_library(ctx):
    """By the general model a thread has them from when it touches one of them; the others find room that is there."""
    for cc, way in BUILDS:
        lib = library(ctx, cc, '-O2', *WAYS[way])
        program = compiled(ctx, cc, 'loaded', '-O2', '-DLOADED', source(ctx, 'own.c'), '-pthread')
        found = traced(ctx, program + ' ' + lib, SCRIPT.replace('LIB', lib))
        assert found == lines(NOT_YET if way == 'general' else '10 5'), (cc, way, found)


def test_of_a_library_without_probes(ctx):
    """It is loaded after the session has begun; @errno is one such variable."""
    lib = library(ctx, 'gcc', '-O2')
    program = compiled(ctx, 'gcc', 'linked', '-O2', source(ctx, 'own.c'), lib, '-pthread')
    script = 'probe process.function("used") { println(@var("shown", "%s"), " ", @errno == @var("errno", "libc.so.6")) }' % lib
    assert traced(ctx, program, script) == ''.join('%d 1\n' % (2 * n) for n in range(1, 5))


def test_of_musl(ctx):
    """There every thread has them as soon as the library is loaded."""
    lib = library(ctx, 'musl-gcc', '-O2')
    program = compiled(ctx, 'musl-gcc', 'loaded', '-O2', '-DLOADED', source(ctx, 'own.c'), '-pthread')
    found = traced(ctx, program + ' ' + lib, SCRIPT.replace('LIB', lib))
    assert found == lines('10 5'), found


def test_of_programs(ctx):
    """As they lie in the program itself, whatever it is."""
    script = SCRIPT.replace('("LIB")', '').replace(', "LIB"', '')
    for cc in ('gcc', 'clang'):
        for flags in (('-no-pie',), ('-fPIE', '-pie'), ('-static',)):
            program = compiled(ctx, cc, 'whole', '-O2', *flags, source(ctx, 'own.c'), source(ctx, 'ownlib.c'), '-pthread')
            found = traced(ctx, program, script)
            assert found == lines('10 5'), (cc, flags, found)


def test_without_a_word_of_the_loader(ctx):
    """Nothing in the library asks for it: refused, not guessed."""
    with open(os.path.join(ctx.tmp, 'idle.c'), 'w') as f:
        f.write('__thread int idle = 1; int touch(int n) { return n; }')
    lib = compiled(ctx, 'gcc', 'libidle.so', '-shared', '-fPIC', os.path.join(ctx.tmp, 'idle.c'))
    p = ctx.run([ctx.bin('trapless'), '-p2', '-e', 'probe process("%s").function("touch") { println(@var("idle")) }' % lib])
    assert p.returncode == 1 and 'no code of libidle.so asks its loader' in p.stderr, p.stderr
