# SPDX-License-Identifier: MIT
"""Stacks of the traced program: the same as its own C library finds, and from every instruction up to its start."""
import re
import subprocess

from scripted import attach, finish, launch, number
from support import PAIR, tap

BUILDS = [('gcc', ('-O2', '-g')), ('gcc', ('-O0',)), ('clang', ('-O2',)), ('gcc', ('-O2', '-static')),
          ('gcc', ('-O2', '-fno-pie', '-no-pie', '-Wl,-z,lazy'))]


def lines_of(text):
    """The stacks in it, each a list of addresses."""
    return [line.split() for line in text.splitlines() if line.startswith('0x')]


def check_as_libc(ctx, path):
    r = launch(ctx, 'probe process("%s").function("mark") { println(ubacktrace()) }' % path, path)
    assert r.returncode == 0, r
    own, ours = lines_of(r.stdout), lines_of(r.script)
    assert len(own) == len(ours) > 10, r
    for want, got in zip(own, ours):
        assert got[1:] == want, 'the program: %s\nwe: %s' % (want, got)


def test_frames_one_by_one(ctx):
    path = ctx.target('stacks')
    each = 'for (i = 0; ustack(i); i++) s .= sprintf("%s0x%x", i ? " " : "", ustack(i))'
    r = launch(ctx, 'probe process("%s").function("mark") { %s println(s == ubacktrace(), " ", caller() == '
               'sprintf("%%s 0x%%x", usymname(ustack(1)), ustack(1))) s = "" }' % (path, each), path, '-DMAXACTION=10000')
    said = [line for line in r.script.splitlines() if line]
    assert r.returncode == 0 and len(said) > 10 and set(said) == {'1 1'}, r


def test_same_as_libc(ctx):
    for cc, cflags in BUILDS:
        check_as_libc(ctx, ctx.target('stacks', cflags=cflags, cc=cc))


test_same_as_libc.variants = PAIR


def test_return_begins_with_the_caller(ctx):
    path = ctx.target('stacks')
    script = ('probe process("%s").function("mark") { println(ubacktrace()) }'
              'probe process("%s").function("mark").return { printf("r %%s\\n", ubacktrace()) }') % (path, path)
    r = launch(ctx, script, path)
    entries = lines_of(r.script)
    returns = [line[2:].split() for line in r.script.splitlines() if line.startswith('r ')]
    # leave() is left by longjmp, but mark() returns to it
    assert len(entries) == len(returns) > 10, r
    assert [e[1:] for e in entries if e[1:] not in returns] == [], r.script


def instructions(path, functions):
    """The addresses of a file's instructions in these functions."""
    out = subprocess.run(['objdump', '-d', path], stdout=subprocess.PIPE, text=True, check=True).stdout
    inside, found = False, []
    for line in out.splitlines():
        start = re.match(r'[0-9a-f]+ <(.*)>:', line)
        if start:
            inside = start.group(1) in functions
        insn = re.match(r' +([0-9a-f]+):\t[^\t]+\t', line)
        if insn and inside:
            found.append(int(insn.group(1), 16))
    return found


def test_from_every_instruction(ctx):
    """Prologues, epilogues, between pushes: each leads to main(), and from there to where the program began."""
    path = ctx.target('stacks', cflags=('-O2', '-g', '-static'), ldflags=('-pthread',))
    functions = ['deep', 'compare', 'aligned', 'on_signal', 'interrupted', 'qsort', 'msort_with_tmp.part.0', '__qsort_r',
                 'raise', '__vfprintf_internal', '_IO_new_file_xsputn', '_IO_default_xsputn', 'memset', '_IO_padn']
    at = instructions(path, functions)
    assert len(at) > 1000, len(at)
    main, size, _ = tap.elf_symbols(open(path, 'rb').read())['main']
    points = ',\n'.join('process("%s").statement(0x%x) ?' % (path, a) for a in at)  # padding is no code
    script = 'probe %s { println(ucallers(30)) }' % points
    r = launch(ctx, script, path, '-DRINGSIZE=16777216')
    stacks = lines_of(r.script)
    assert r.returncode == 0 and number(r.stderr, 'records lost') == 0 and len(stacks) > 1000, r.stderr[-3000:]
    assert len({s[0] for s in stacks}) > 500
    # a thread's begins elsewhere
    ends = {tuple(s[-2:]) for s in stacks}
    in_main = [s for s in stacks if any(main <= int(a, 16) < main + size for a in s)]
    assert len(in_main) > len(stacks) / 2, (len(in_main), len(stacks))
    assert len({tuple(s[-2:]) for s in in_main}) == 1, ends
    assert len(ends) == 2, ends


test_from_every_instruction.variants = PAIR


def test_text(ctx):
    path = ctx.target('stacks')
    name = path.split('/')[-1]
    r = launch(ctx, 'global n probe process("%s").function("mark") { if (n++ == 0) {'
                    ' print_ubacktrace() print_ubacktrace_brief() print(sprint_ubacktrace())'
                    ' print_usyms(ucallers(2)) print(sprint_ustack(ucallers(1))) print_usyms("0x10 1f") } }' % path, path, '-DMAXSTRINGLEN=4096')
    want = ['mark'] + ['deep'] * 6 + ['main']
    lines = r.script.splitlines()
    full = [re.fullmatch(r' 0x[0-9a-f]+ : (\w+)\+0x[0-9a-f]+/0x[0-9a-f]+ \[(.*)\]', line) for line in lines]
    printed = [m.group(1) for m in full if m]
    depth = next(i for i, m in enumerate(full) if not m)
    assert printed[:8] == want and printed[depth - 1] == '_start', r.script
    assert full[0].group(2).endswith('/' + name), r.script
    brief, text, of_words = (lines[depth * n:][:depth] for n in (1, 2, 3))
    assert brief[0] == 'mark+0x0' and re.fullmatch(r'deep\+0x[0-9a-f]+', brief[1]), brief
    assert text[0] == 'mark+0x0 [%s]' % name and all(re.fullmatch(r'\w+\+0x[0-9a-f]+ \[[^/]+\]', line) for line in text), text
    assert of_words == [lines[0], lines[1], lines[0], ' 0x10 : 0x10', ' 1f : 0x1f'], of_words


def test_last_call_of_a_function(ctx):
    """Its return address lies behind the function."""
    path = ctx.target('stacks')
    r = launch(ctx, 'probe process("%s").function("leave") { print_ubacktrace_brief() }' % path, path)
    assert re.match(r'leave\+0x0\nends_with_a_call\+0x[0-9a-f]+\nmain\+', r.script), r.script


def test_of_a_library_alone(ctx):
    """No point names the program that CMD starts, or one of those that a shell does: its frames are there all the same."""
    path = ctx.target('stacks')
    libc = re.search(r'libc\.so\.6 => (\S+)', subprocess.check_output(['ldd', path], text=True)).group(1)
    script = ('global n probe process("%s").function("backtrace") { if (n++ == 0) print_ubacktrace_brief() }' % libc)
    want = re.compile(r'\w*backtrace\+0x0\nmark\+0x\w+\n(deep\+0x\w+\n){6}main\+0x\w+\n(.*\n)*_start\+0x')
    for words in ([path], ['echo one; %s; echo two' % path], [path, '-d', '/bin/ls']):
        r = launch(ctx, script, *words)
        assert r.returncode == 0 and want.match(r.script), (words, r.script, r.stderr)


def test_as_deep_as_is_asked(ctx):
    """-D MAXBACKTRACE: 32 frames where it is not given."""
    path = ctx.target('stacks')
    script = 'global n probe process("%s").function("mark") { if (n++ == 0) { print_ubacktrace() println(ubacktrace()) ' \
             'print(sprint_ubacktrace()) println(ucallers(9)) } }' % path
    for args, frames in ((), 32), (('-D', 'MAXBACKTRACE=3'), 3), (('-D', 'MAXBACKTRACE=100'), 100), (('-D', 'MAXBACKTRACE=4096'), 606):
        r = launch(ctx, script, path + ' 600', '-DMAXSTRINGLEN=8192', '-DRINGSIZE=1048576', *args)
        lines = r.script.splitlines()
        shown, words, text = lines[:frames], lines[frames].split(), lines[frames + 1:-1]
        assert len(shown) == frames and [line.split()[0] for line in shown][:len(words)] == words and all(' : ' in line for line in shown), (args, r)
        assert len(words) == min(frames, 8191 // 15), (args, len(words), r.script)
        assert text[0].startswith('mark+0x0') and len(text) == frames or frames == 606, (args, len(text))
        assert lines[-1].split() == words[:min(9, frames)], (args, r.script)


def test_running_process_and_no_stack(ctx):
    """A process that runs, and its libraries; begin has no stack."""
    path = ctx.target('steady')
    p = ctx.start([path], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    s = attach(ctx, 'probe begin { printf("[%%s]", ubacktrace()) }'
                    'probe process("%s").function("turn") { print_ubacktrace_brief() exit() }' % path,
               pid=p.pid, stdout=subprocess.PIPE, text=True)
    out, err = finish(s, sig=None)
    p.communicate(b'')
    assert re.match(r'\[\]turn\+0x0\n.*start_thread\+0x', out, re.S), out + err
