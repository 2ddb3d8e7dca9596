# SPDX-License-Identifier: MIT
"""-l and -L of programs' points, and the names that pp() gives them."""
import os
import re
import subprocess

from support_front import good, trapless

SOURCE = os.path.realpath(os.path.join(os.path.dirname(__file__), '..', 'targets', 'lists.c'))


def builds(ctx):
    for cc in 'gcc', 'clang':
        path = os.path.join(os.path.realpath(ctx.tmp), cc)
        r = ctx.run([cc, '-g', '-O1', '-o', path, SOURCE])
        assert r.returncode == 0, r
        yield path


def line_of(mark):
    with open(SOURCE) as f:
        return next(n for n, line in enumerate(f, 1) if '/* %s */' % mark in line)


def lines(ctx, path, place, option='-l'):
    """What is listed of a statement's place: function and line, and the rest."""
    out = good(ctx, option, 'process("%s").statement("%s")' % (path, place)).stdout
    return [(f, int(n), rest.strip()) for f, n, rest in re.findall(r'statement\("(\w+)@\S*lists\.c:(\d+)"\)(.*)', out)]


def test_lines_of_a_function_are_its_own(ctx):
    """Not those of what is inlined into it, unless they are asked for; a copy's call is its caller's line."""
    added, given = line_of('ADDED'), line_of('GIVEN')
    for path in builds(ctx):
        own = lines(ctx, path, 'give@lists.c:*')
        assert {f for f, _, _ in own} == {'give'} and given in [n for _, n, _ in own], (path, own)
        assert not {n for _, n, _ in own} & set(range(added - 2, added + 5)), (path, own)
        # where it is called: with its caller's variables alone
        called = lines(ctx, path, 'give@lists.c+%d' % (given - line_of('GIVE')), '-L')
        assert [c[:2] for c in called] == [('give', given)] and '$numbers:' in called[0][2] and '$a:' not in called[0][2], (path, called)
        assert [l[:2] for l in lines(ctx, path, 'give@lists.c:%d' % (added + 2))] == [('add', added + 2)], path
        # wherever it has been inlined
        assert {f for f, _, _ in lines(ctx, path, 'add@lists.c:*')} == {'add'}, path
        good(ctx, '-o', 'out', '-c', path + ' >/dev/null', '-e', '''global n, m
            probe process.statement("add@lists.c:%d") { n++ } probe process.statement("give@lists.c:%d") { m++ }
            probe end { println(n, " ", m) }''' % (added, given))
        assert open(os.path.join(ctx.tmp, 'out')).read() == '4 3\n', path


def test_functions_have_their_lines(ctx):
    """A wildcard's and callees, as those that are named: in lists, and by pp(). Without debug information: the name."""
    own = {name: line_of(name.upper()) for name in ('add', 'give', 'compare', 'main')}
    for path in builds(ctx):
        at = {name: '%s@%s:%d' % (name, SOURCE, line) for name, line in own.items()}
        process = 'process("%s")' % path
        listed = good(ctx, '-l', process + '.function("*")').stdout.splitlines()
        assert {process + '.function("%s")' % name for name in at.values()} < set(listed), (listed, at)
        assert process + '.function("_start")' in listed, listed
        for suffix in '.call', '.return':
            listed = good(ctx, '-l', process + '.function("gi*")' + suffix).stdout
            assert listed == process + '.function("%s")%s\n' % (at['give'], suffix), listed
        callee = process + '.function("%s").callee("%s")\n' % (at['give'], at['add'])
        for pattern in 'function("g*").callees', 'function("give").callee("a*")':
            assert good(ctx, '-l', '%s.%s' % (process, pattern)).stdout == callee, pattern
        assert callee in good(ctx, '-l', process + '.function("*").callees').stdout
        good(ctx, '-o', 'out', '-c', path + ' >/dev/null', '-e', """probe process.function("com*"), process.function("com*").return,
            process.function("m*").callee("com*").call { println(pp()) }""")
        name = process + '.function("%s")' % at['compare']
        out = open(os.path.join(ctx.tmp, 'out')).read().splitlines()
        assert sorted(out) == sorted([name, name + '.return', process + '.function("%s").callee("%s").call' % (at['main'], at['compare'])]), out


def test_callees_of_who_has_none(ctx):
    """That start-up code has no debug information is not what is wrong with a wildcard."""
    path = os.path.join(ctx.tmp, 'plain')
    with open(path + '.c', 'w') as f:
        f.write('int main(void) { return 0; }')
    assert ctx.run(['gcc', '-g', '-O0', '-o', path, path + '.c']).returncode == 0
    p = trapless(ctx, '-l', 'process("%s").function("*").callees' % path)
    assert p.returncode == 1 and 'no call of `*` from there is known' in p.stderr, p
    p = trapless(ctx, '-l', 'process("%s").function("_start").callees' % path)
    assert p.returncode == 1 and 'DEBUGINFO_NOT_HERE' in p.stderr, p


def test_wildcards_in_words(ctx):
    """Each stands for the words that may be there with such an argument, as in SystemTap; what is not there is not missed."""
    path = next(builds(ctx))
    process = 'process("%s")' % path
    folder = '-I', os.path.join(ctx.tmp, 'tapset')
    os.mkdir(folder[1])
    with open(os.path.join(folder[1], 'absent.stp'), 'w') as f:
        f.write('probe absent.begins = process("of-no-folder").begin { }\n')
    def listed(pattern, *more):
        return [l.replace(process, 'P') for l in good(ctx, '-l', pattern, *more).stdout.splitlines()]
    events = ['P.begin', 'P.end', 'P.plt("printf")', 'P.syscall']
    assert [l for l in listed(process + '.*') if 'finalize' not in l] == events
    deeper = events[:3] + ['P.plt("printf").return', 'P.syscall', 'P.syscall.return', 'P.thread.begin', 'P.thread.end']
    assert [l for l in listed(process + '.**') if 'finalize' not in l] == deeper
    words = [re.sub(r'@[^"]*', '', l) for l in listed(process + '.f*("give").*')]
    assert words == ['P.function("give")' + w for w in ('.call', '.callee("add")', '.exported', '.return')], words
    assert listed('pro*("%s").th*.*nd' % path) == ['P.thread.end']
    assert listed('timer.s*(5)') == ['timer.s(5)', 'timer.sec(5)'] and listed('timer.*') == ['timer.profile']
    assert listed('be*') == ['begin']
    assert listed('process.**') == ['process.' + w for w in ('begin', 'end', 'syscall', 'syscall.return', 'thread.begin', 'thread.end')]
    # aliases beside what is no alias; a family that is named is missed where its program is
    every = listed('**', *folder)
    p = trapless(ctx, '-l', 'absent.*', *folder)
    assert p.returncode == 1 and 'error[PROGRAM_UNKNOWN]' in p.stderr and not [l for l in every if 'absent' in l], (p, every)
    assert {'begin', 'never', 'process.begin', 'syscall.openat', 'oneshot'} < set(every) and not [l for l in every if 'procfs' in l], every
    for point, tag in (('.function("nosuch").*', 'FUNCTION_UNKNOWN'), ('.nosuch*', 'POINT_UNKNOWN')):
        p = trapless(ctx, '-l', process + point)
        assert p.returncode == 1 and 'error[%s]' % tag in p.stderr, p
    script = """global n  probe process.f*("give").re*, process.b* { n[pp()]++ }  probe e* { if (pn() == "end") foreach (p+ in n) println(p, " ", n[p]) }"""
    good(ctx, '-o', 'out', '-c', path + ' >/dev/null', '-e', script)
    out = open(os.path.join(ctx.tmp, 'out')).read().replace(process, 'P')
    assert re.sub('@[^"]*', '', out) == 'P.begin 1\nP.function("give").return 3\n', out


def readable(ctx, path, point):
    out = good(ctx, '-L', 'process("%s").function("%s' % (path, point)).stdout
    return re.findall(r'\$(\w+:.*?)(?= \$|$)', out, re.M)


def test_types_and_static_locals(ctx):
    """Types in SystemTap's layout, with what it leaves out; a function's static variables, which a return has, too."""
    path = os.path.join(ctx.tmp, 'typed')
    with open(path + '.cc', 'w') as f:
        f.write("""namespace ns { struct S { int a; }; } typedef int (*call)(long);
            int f(const ns::S &r, char *const *names, int (*rows)[4], void (*hook)(int, ...), call (*get)(void), volatile ns::S &&moved)
            { static int calls; const char text[] = "abc"; long grid[2][3]; asm volatile("" : : "r"(grid), "r"(text)); return ++calls; }
            int main() { ns::S s; return f(s, 0, 0, 0, 0, ns::S()); }""")
    assert ctx.run(['g++', '-g', '-O0', '-o', path, path + '.cc']).returncode == 0
    parameters = ['r:struct ns::S const&', 'names:char* const*', 'rows:int (*)[4]', 'hook:void (*) (int, ...)', 'get:call (*) (void)',
                  'moved:struct ns::S volatile&&']
    assert readable(ctx, path, 'f")') == parameters + ['calls:int', 'text:char const[4]', 'grid:long int[2][3]']
    assert readable(ctx, path, 'f").return') == ['return:int'] + parameters + ['calls:int']
    for path in builds(ctx):
        numbers = 'numbers:long int*' if 'gcc' in path else 'numbers:long*'
        given = ['name:char const*', 'p:struct point*', numbers, 'calls:int']
        assert readable(ctx, path, 'give").return') == ['return:int'] + given, path
        assert readable(ctx, path, 'give")')[:4] == given, path


def test_what_is_listed_can_be_asked_for(ctx):
    """Also where a function's line has no code, as behind a macro of several lines."""
    path = os.path.join(os.path.realpath(ctx.tmp), 'macro')
    with open(path + '.c', 'w') as f:
        f.write('#define NAME(n) n##_named\n__attribute__((noinline)) int\nNAME (\n macro\n) (int a)\n{ return a + 1; }\n'
                'int main(int c, char **v) { return macro_named(c); }')
    assert ctx.run(['gcc', '-g', '-O1', '-o', path, path + '.c']).returncode == 0
    listed = good(ctx, '-l', 'process("%s").function("mac*")' % path).stdout
    assert '"macro_named@%s.c:3"' % path in listed and good(ctx, '-l', listed.strip()).stdout == listed, listed


def test_addresses_of_a_process(ctx):
    """As nm has them, and with .absolute as the process has them, in its libraries, too; shown as they are asked for."""
    path = os.path.join(os.path.realpath(ctx.tmp), 'ticking')
    with open(path + '.c', 'w') as f:
        f.write('#include <stdio.h>\n#include <unistd.h>\n'
                '__attribute__((noinline)) int tick(int n) { asm volatile(""); return n + 1; }\n'
                'int main() { printf("%p %p\\n", (void *)tick, (void *)usleep); fflush(stdout);\n'
                'for (int n = 1;;) { n = tick(n) % 1000 + 1; usleep(1000); } }\n')
    assert ctx.run(['gcc', '-g', '-O1', '-pie', '-fPIE', '-o', path, path + '.c']).returncode == 0
    nm = ctx.run(['nm', path]).stdout
    file_address = int(re.search(r'^(\w+) t tick$', nm, re.M | re.I).group(1), 16)
    p = subprocess.Popen([path], stdout=subprocess.PIPE, text=True)
    try:
        tick, usleep = p.stdout.readline().split()
        process = 'process(%d)' % p.pid
        for point in ('.statement(%#x)' % file_address, '.statement(%s).absolute' % tick):
            assert good(ctx, '-L', process + point).stdout == process + point + ' $n:int\n', point
        refused = trapless(ctx, '-l', process + '.statement(%s)' % tick)
        assert refused.returncode == 1 and 'error[POINT_NO_MATCH]' in refused.stderr and '.absolute' in refused.stderr, refused
        refused = trapless(ctx, '-l', process + '.statement(0x10).absolute')
        assert refused.returncode == 1 and 'error[POINT_NO_MATCH]' in refused.stderr, refused
        good(ctx, '-o', 'out', '-e', """global n, m  probe %s.statement(%s).absolute { n++ if (n == 1) println(pp(), " ", $n > 0, " ", ppfunc()) }
            probe %s.statement(%s).absolute { if (++m == 3) exit() } probe end { println(n > 0, m > 2) }""" % (process, tick, process, usleep))
        assert open(os.path.join(ctx.tmp, 'out')).read() == '%s.statement(%s).absolute 1 tick\n11\n' % (process, tick)
    finally:
        p.kill()
        p.wait()


def test_a_program_of_this_folder(ctx):
    """By its name alone, where PATH has none of that name."""
    path = os.path.join(os.path.realpath(ctx.tmp), 'of-this-folder')
    assert ctx.run(['gcc', '-g', '-O1', '-o', path, SOURCE]).returncode == 0
    assert good(ctx, '-l', 'process("of-this-folder").begin').stdout == 'process("%s").begin\n' % path
    p = trapless(ctx, '-l', 'process("of-no-folder").begin')
    assert p.returncode == 1 and 'no program `of-no-folder` in ' in p.stderr, p
