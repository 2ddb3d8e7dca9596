# SPDX-License-Identifier: MIT
"""Scripts that need no target: what they print is in the .out file beside them."""
import glob
import os
import re

once = 'nothing is probed'


def cases(ctx):
    folder = os.path.join(ctx.root, 'tests', 'scripts', 'run')
    return sorted(glob.glob(os.path.join(folder, 'ok.*.stp')))


def test_output_is_exact(ctx):
    bad = []
    for script in cases(ctx):
        want = open(script[:-4] + '.out').read()
        p = ctx.run([ctx.bin('trapless'), script])
        if (p.returncode, p.stdout, p.stderr) != (0, want, ''):
            bad.append('%s: status %d\n%s%s' % (script, p.returncode, p.stdout, p.stderr))
    assert len(cases(ctx)) >= 8, 'scripts are missing'
    assert not bad, '\n'.join(bad)


def generated(ctx):
    """Every script with its C. An example that needs debug information this machine does not have is left out."""
    scripts = cases(ctx) + sorted(glob.glob(os.path.join(ctx.root, 'examples', '*.stp')))
    made = []
    for script in scripts:
        for args in (['1', '2'], ['libc.so.6', 'malloc']):
            p = ctx.run([ctx.bin('trapless'), '-w', '-p3', '-c', '/usr/bin/git --version', script] + args)
            if p.returncode == 0:
                break
        known = re.search(r'DEBUGINFO_NONE|FUNCTION_NOT_EXPORTED', p.stderr)
        assert p.returncode == 0 or known, script + p.stderr
        if p.returncode == 0:
            made.append((script, p.stdout))
    assert len(made) >= 14, 'too few scripts: %d' % len(made)
    return made


def test_generated_c_has_no_warnings(ctx):
    """Pass 3 of every script, through gcc and clang with warnings as errors."""
    include = ['-I', os.path.join(ctx.root, 'runtime'), '-I', os.path.join(ctx.root, 'include')]
    flags = ['-std=gnu11', '-O2', '-ffreestanding', '-fPIC', '-mgeneral-regs-only', '-Wall', '-Wextra', '-Werror',
             '-Wno-unused-parameter', '-fsyntax-only', '-x', 'c', '-']
    for script, text in generated(ctx):
        for cc in ('gcc', 'clang'):
            q = ctx.run([cc] + include + flags, input=text)
            assert q.returncode == 0, '%s, %s:\n%s' % (script, cc, q.stderr[:2000])


def frames(ctx, cc_flags, text):
    """Bytes of stack below every function of generated C, by gcc's call graph."""
    p = ctx.run(['gcc'] + cc_flags + ['-fcallgraph-info=su', '-c', '-o', 'stack.o', '-x', 'c', '-'], input=text)
    assert p.returncode == 0, p.stderr[:2000]
    own, calls = {}, {}
    for line in open(os.path.join(ctx.tmp, 'stack.ci')):
        if m := re.match(r'node: \{ title: "([^"]*)" label: "[^"]*?(\d+) bytes', line):
            own[m[1]] = int(m[2])
        elif m := re.match(r'edge: \{ sourcename: "([^"]*)" targetname: "([^"]*)"', line):
            calls.setdefault(m[1], set()).add(m[2])

    deep = {'tl_sprintf', 'tl_hist_print', 'tl_user_string_quoted', 'tl_thread_indent'}

    def need(name, path=()):
        if name not in own or name in path:
            return 1024 if name in deep else 480
        return own[name] + max([need(c, path + (name,)) for c in calls.get(name, ())], default=0)

    return {n.split(':')[-1]: need(n) for n in own}


def test_stack_estimates_are_upper_bounds(ctx):
    """A handler whose estimate is too small would run on a stack that is too small."""
    flags = ['-I', os.path.join(ctx.root, 'runtime'), '-I', os.path.join(ctx.root, 'include'), '-std=gnu11', '-O2',
             '-ffreestanding', '-fPIC', '-fno-strict-aliasing', '-mgeneral-regs-only', '-w']
    seen = 0
    for script, text in generated(ctx):
        real = frames(ctx, flags, text)
        for bound, name in re.findall(r'at most (\d+) bytes of stack \*/\n\w+ (h\d+)\(', text):
            assert real[name] <= int(bound), '%s %s: %d > %s' % (script, name, real[name], bound)
            seen += 1
    assert seen > 30, seen


def test_passes_stop_where_asked(ctx):
    script = ['-e', 'probe begin { println(1 + 2) exit() }']
    tree = ctx.run([ctx.bin('trapless'), '-p1'] + script)
    assert tree.returncode == 0 and 'probe begin' in tree.stdout, tree
    assert ctx.run([ctx.bin('trapless'), '-p2'] + script).stdout == 'begin\n'
    assert '#include "script.h"' in ctx.run([ctx.bin('trapless'), '-p3'] + script).stdout
    made = ctx.run([ctx.bin('trapless'), '-p4', '-m', 'made'] + script)
    assert made.stdout == 'made.tap\n', made
    ran = ctx.run([ctx.bin('trapless-run'), 'made.tap'])
    assert (ran.returncode, ran.stdout) == (0, '3\n'), ran


def test_arguments_and_globals_and_limits(ctx):
    t = ctx.bin('trapless')
    p = ctx.run([t, '-e', 'probe oneshot { println($1 + 1, @2, $#) }', '41', 'two'])
    assert p.stdout == '42two2\n', p
    p = ctx.run([t, '-G', 'n=7', '-e', 'global n = 1 probe oneshot { println(n) }'])
    assert p.stdout == '7\n', p
    p = ctx.run([t, '-D', 'MAXSTRINGLEN=16', '-e', 'probe oneshot { s = "123456789" . "123456789"; println(strlen(s)) }'])
    assert p.stdout == '15\n', p
    p = ctx.run([t, '-D', 'MAXMAPENTRIES=3', '-e', 'global a probe oneshot { for (i = 0; i < 9; i++) a[i] = 1 }'])
    assert p.returncode == 1 and 'Array overflow' in p.stderr, p


def test_several_errors_in_one_run_each_with_a_next_step(ctx):
    p = ctx.run([ctx.bin('trapless'), '-e', 'probe begin { println(1 . 2) foo() } probe nothing { }'])
    assert p.returncode == 1 and p.stdout == '', p
    assert p.stderr.count('error[') == 4 and p.stderr.count('next step:') == 4, p.stderr
    for tag in ('TYPE_MISMATCH', 'NAME_UNKNOWN', 'POINT_UNKNOWN'):
        assert tag in p.stderr, p.stderr


def test_run_time_error_ends_the_session_with_error_probes(ctx):
    p = ctx.run([ctx.bin('trapless'), '-e',
                 'global z probe begin { println(1 / z) } probe error { println("error probe") } probe end { println("end probe") }'])
    assert p.returncode == 1 and p.stdout == 'error probe\n', p
    assert 'division by 0' in p.stderr, p.stderr


def test_run_time_errors_name_their_place(ctx):
    """SystemTap's texts: what failed, and near which word of the script."""
    for script, want in (
            ('global h probe oneshot { if (h) h++ println(1 %\n h) }', "division by 0 near operator '%' at <input>:1:47"),
            ('global h probe oneshot { if (0) h <<< 1; println(@avg(h)) }', "empty aggregate near operator '@avg' at <input>:1:50"),
            ('global h probe oneshot { if (0) h <<< 1; print(@hist_log(h)) }', "empty aggregate near identifier 'print' at <input>:1:42"),
            ('global h probe oneshot { if (0) h[1] <<< 1; println(@hist_log(h[2])) }', "empty aggregate near identifier 'println' at <input>:1:45"),
            ('global a[2] probe oneshot { for (i = 0; i < 3; i++) a[i]++ }', "Array overflow, check MAXMAPENTRIES near identifier 'a' at <input>:1:53"),
            ('probe oneshot {\n while (1) {} }', 'MAXACTION exceeded near keyword at <input>:2:2'),
            ('function f(n) { return f(n + 1) } probe oneshot { f(1) }', "MAXNESTING exceeded near identifier 'f' at <input>:1:24"),
            ('probe oneshot {\n  error("mine") }', "mine near identifier 'error' at <input>:2:3")):
        p = ctx.run([ctx.bin('trapless'), '-e', script])
        assert (p.returncode, p.stdout) == (1, ''), (script, p)
        assert p.stderr.startswith('ERROR: ' + want), (script, p.stderr)


def test_maxaction_counts_statements_and_calls(ctx):
    t = ctx.bin('trapless')
    ten = '+'.join(['f(n + 1)'] * 10)
    for limits, script, good in (
            (['MAXACTION=20'], 'global a probe oneshot { for (i = 0; i < 10; i++) a[i] = 1; println("x") }', False),
            (['MAXACTION=30'], 'global a probe oneshot { for (i = 0; i < 10; i++) a[i] = 1; println("x") }', True),
            (['MAXACTION=3'], 'probe oneshot { print("a") print("b") print("c") print("d") print("e") }', False),
            (['MAXNESTING=40'], 'function f(n) { return n > 9 ? 1 : %s } probe oneshot { println(f(1)) }' % ten, False)):
        words = [w for limit in limits for w in ('-D', limit)]
        p = ctx.run([t] + words + ['-e', script])
        assert p.returncode == (0 if good else 1) and ('MAXACTION exceeded' in p.stderr) == (not good), (script, p)


def test_strings_are_cut_and_the_cuts_are_counted(ctx):
    p = ctx.run([ctx.bin('trapless'), '-e', 'probe oneshot { for (i = 0; i < 52; i++) s .= "0123456789" '
                 'println(strlen(s), " ", strlen(sprintf("%600d", 1))) }'])
    assert p.stdout == '511 511\n' and 'cut at MAXSTRINGLEN: 2' in p.stderr, p


def test_what_is_not_built_is_refused_with_a_next_step(ctx):
    program = os.path.join(ctx.tmp, 'target')
    source = os.path.join(ctx.root, 'tests', 'scripts', 'sema', 'target.c')
    assert ctx.run(['gcc', '-g', '-O2', '-o', program, source]).returncode == 0
    lines = open(os.path.join(ctx.root, 'tests', 'scripts', 'not_built.txt')).read().splitlines()
    cases = [line.split('\t', 1) for line in lines if not line.startswith('#')]
    assert len(cases) >= 80, len(cases)
    for tag, script in cases:
        p = ctx.run([ctx.bin('trapless'), '-p2', '-c', program, '-e', script])
        tags = re.findall(r'^error\[(\w+)\]', p.stderr, re.M)
        assert p.returncode == 1 and set(tags) == {tag}, (script, p)
        assert p.stderr.count('next step:') >= len(tags) and 'panicked' not in p.stderr, (script, p)
