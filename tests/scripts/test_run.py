# SPDX-License-Identifier: MIT
"""Scripts that need no target: what they print is in the .out file beside them."""
import glob
import os
import re

once = 'nothing is probed'


def cases(ctx):
    folder = os.path.join(ctx.root, 'tests', 'scripts', 'run')
    return sorted(glob.glob(os.path.join(folder, 'ok.*.stp')))


def options(script):
    return ['-g'] if '%{' in open(script).read() else []


def test_output_is_exact(ctx):
    bad = []
    for script in cases(ctx):
        want = open(script[:-4] + '.out').read()
        quiet = ['-w'] if 'REGEX_LETTER' in open(script).read() else []
        p = ctx.run([ctx.bin('trapless')] + quiet + options(script) + [script])
        if (p.returncode, p.stdout, p.stderr) != (0, want, ''):
            bad.append('%s: status %d\n%s%s' % (script, p.returncode, p.stdout, p.stderr))
    assert len(cases(ctx)) >= 8, 'scripts are missing'
    assert not bad, '\n'.join(bad)


def test_tables_of_the_unit_test_are_the_compilers(ctx):
    """tests/runtime/regex.c reads them."""
    p = ctx.run([os.path.join(ctx.root, 'gen', 'regex-tables'), '--check', ctx.bin('trapless')])
    assert p.returncode == 0, p


def generated(ctx):
    """Every script with its C. An example that needs debug information this machine does not have is left out."""
    scripts = cases(ctx) + sorted(glob.glob(os.path.join(ctx.root, 'examples', '*.stp')))
    made = []
    for script in scripts:
        for args in (['1', '2'], ['libc.so.6', 'malloc']):
            p = ctx.run([ctx.bin('trapless'), '-w', '-p3', '-c', '/usr/bin/git --version'] + options(script) + [script] + args)
            if p.returncode == 0:
                break
        known = re.search(r'DEBUGINFO_NONE|FUNCTION_NOT_EXPORTED', p.stderr)
        assert p.returncode == 0 or known, script + p.stderr
        if p.returncode == 0:
            made.append((script, p.stdout))
    assert len(made) >= 14, 'too few scripts: %d' % len(made)
    return made


def some(ctx, step):
    """Every step-th of them; in the long form all."""
    return list(generated(ctx))[::1 if ctx.long else step]


def test_generated_c_has_no_warnings(ctx):
    """Pass 3 of every script, through gcc and clang with warnings as errors."""
    include = ['-I', os.path.join(ctx.root, 'runtime'), '-I', os.path.join(ctx.root, 'include')]
    flags = ['-std=gnu11', '-O2', '-ffreestanding', '-fPIC', '-mgeneral-regs-only', '-Wall', '-Wextra', '-Werror',
             '-Wno-unused-parameter', '-fsyntax-only', '-x', 'c', '-']
    for script, text in some(ctx, 2):
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

    deep = {'tl_sprintf', 'tl_hist_print', 'tl_user_string_quoted', 'tl_thread_indent', 'tl_fp_to_string',
            'tl_fp_shown', 'tl_string_to_fp'}

    def need(name, path=()):
        if name not in own or name in path:
            return 1088 if name in deep else 480
        return own[name] + max([need(c, path + (name,)) for c in calls.get(name, ())], default=0)

    return {n.split(':')[-1]: need(n) for n in own}


def module_flags(ctx):
    """How generated C is compiled, as far as frames depend on it."""
    return ['-I', os.path.join(ctx.root, 'runtime'), '-I', os.path.join(ctx.root, 'include'), '-std=gnu11', '-O2',
            '-ffreestanding', '-fPIC', '-fno-strict-aliasing', '-mgeneral-regs-only', '-w']


def test_stack_estimates_are_upper_bounds(ctx):
    """A handler whose estimate is too small would run on a stack that is too small."""
    flags = module_flags(ctx)
    seen = 0
    for script, text in some(ctx, 3):
        real = frames(ctx, flags, text)
        for bound, name in re.findall(r'at most (\d+) bytes of stack \*/\n\w+ (h\d+)\(', text):
            assert real[name] <= int(bound), '%s %s: %d > %s' % (script, name, real[name], bound)
            seen += 1
    assert seen > (30 if ctx.long else 10), seen


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
    p = ctx.run([t, '-G', 's=7', '-e', 'global s = "one" probe oneshot { println(s . "!") }'])
    assert p.stdout == '7!\n', p
    p = ctx.run([t, '-G', 'n=7z', '-e', 'global n = 1 probe oneshot { println(n) }'])
    assert p.returncode != 0 and p.stdout == '' and '-G n=7z' in p.stderr and 'is a number' in p.stderr, p
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
            ('global h probe oneshot { h <<< 1; println([3] in @hist_log(h), [999] in @hist_log(h)) }',
             "histogram index out of range near operator '@hist_log' at <input>:1:73"),
            ('function f(n) { return n ? g(n - 1) : 0 } function g(n) { return n ? f(n - 1) : 0 } probe oneshot { f(13) f(14) }',
             "MAXNESTING exceeded near identifier 'f' at <input>:1:70"),
            ('global h probe oneshot { if (0) h <<< 1; println(@avg(h)) }', "empty aggregate near operator '@avg' at <input>:1:50"),
            ('global h probe oneshot { if (0) h <<< 1; print(@hist_log(h)) }', "empty aggregate near identifier 'print' at <input>:1:42"),
            ('global h probe oneshot { if (0) h[1] <<< 1; println(@hist_log(h[2])) }', "empty aggregate near identifier 'println' at <input>:1:45"),
            ('global a[2] probe oneshot { for (i = 0; i < 3; i++) a[i]++ }', "Array overflow, check size limit (2) near identifier 'a' at <input>:1:53"),
            # a turn of a loop: where `stap -p3` counts it
            ('probe oneshot {\n while (1) {} }', "MAXACTION exceeded near operator '{' at <input>:2:12"),
            ('global n probe oneshot { while (1) n++ }', "MAXACTION exceeded near identifier 'n' at <input>:1:36"),
            ('global n probe oneshot { while (1) { ++n } }', "MAXACTION exceeded near operator '++' at <input>:1:38"),
            ('global n probe oneshot { for (;;) { n++; { n--; } } }', "MAXACTION exceeded near operator '{' at <input>:1:35"),
            ('global n probe oneshot { for (;;) { n++ if (n < 0) n-- n++ } }', 'MAXACTION exceeded near keyword at <input>:1:41'),
            ('global n probe oneshot { for (;;) try { n++ } catch { } }', 'MAXACTION exceeded near keyword at <input>:1:35'),
            ('function f(n) { return f(n + 1) } probe oneshot { f(1) }', "MAXNESTING exceeded near identifier 'f' at <input>:1:24"),
            ('probe oneshot {\n  error("mine") }', "mine near identifier 'error' at <input>:2:3\n"),
            ('function f() { return strlen("a") + g() } function g() { error("x") return 1 } probe oneshot { f() }',
             "x near identifier 'error' at <input>:1:58\n"),
            # the library's own lines are nobody's to mend
            ('probe oneshot {\n  assert(0, "mine") }', "mine near identifier 'assert' at <input>:2:3\n"),
            ('probe oneshot { println(1 + strlen(format_ipaddr(4, AF_INET6()))) }',
             "read fault [man error::fault] at 0x4 near identifier 'format_ipaddr' at <input>:1:36\n")):
        p = ctx.run([ctx.bin('trapless'), '-e', script])
        assert (p.returncode, p.stdout) == (1, ''), (script, p)
        assert p.stderr.startswith('ERROR: ' + want), (script, p.stderr)


def test_maxaction_counts_statements_and_calls(ctx):
    t = ctx.bin('trapless')
    ten = '+'.join(['f(n + 1)'] * 10)
    for limits, script, good in (
            (['MAXACTION_INTERRUPTIBLE=20'], 'global a probe oneshot { for (i = 0; i < 10; i++) a[i] = 1; println("x") }', False),
            (['MAXACTION_INTERRUPTIBLE=30'], 'global a probe oneshot { for (i = 0; i < 10; i++) a[i] = 1; println("x") }', True),
            (['MAXACTION=2'], 'probe oneshot { for (i = 0; i < 9; i++) n += i; println("x") }', False),
            (['MAXACTION=3'], 'probe oneshot { for (i = 0; i < 9; i++) n += i; println("x") }', True),
            ([], 'probe oneshot { for (i = 0; i < 4990; i++) n += i; println("x") }', True),
            ([], 'probe oneshot { for (i = 0; i < 5010; i++) n += i; println("x") }', False),
            (['MAXMAPENTRIES=5000', 'MAXACTION_INTERRUPTIBLE=9000'], 'global a probe oneshot { for (i = 0; i < 4400; i++) a[i] = i }', True),
            ([], 'probe timer.ms(10) { for (i = 0; i < 490; i++) n += i; println("x") exit() }', True),
            ([], 'probe timer.ms(10) { for (i = 0; i < 510; i++) n += i; println("x") exit() }', False),
            (['MAXACTION_INTERRUPTIBLE=3'], 'probe oneshot { print("a") print("b") print("c") print("d") print("e") }', False),
            (['MAXNESTING=40'], 'function f(n) { return n > 9 ? 1 : %s } probe oneshot { println(f(1)) }' % ten, False)):
        words = [w for limit in limits for w in ('-D', limit)]
        p = ctx.run([t] + words + ['-e', script])
        assert p.returncode == (0 if good else 1) and ('MAXACTION exceeded' in p.stderr) == (not good), (script, p)


def test_empty_rows_of_histograms(ctx):
    """-D HIST_ELISION: as many stay beside the others, or all of them."""
    script = 'global a probe oneshot { a <<< 1; a <<< 4096; print(@hist_log(a)) }'

    def rows(*words):
        p = ctx.run([ctx.bin('trapless'), *words, '-e', script])
        assert (p.returncode, p.stderr) == (0, ''), p
        return ' '.join(line.split()[0] for line in p.stdout.splitlines()[1:-1])
    assert rows() == rows('-D', 'HIST_ELISION=2') == '0 1 2 4 ~ 1024 2048 4096 8192 16384'
    assert rows('-D', 'HIST_ELISION=0') == '~ 1 ~ 4096'
    assert rows('-D', 'HIST_ELISION=1') == '0 1 2 ~ 2048 4096 8192'
    assert rows('-DHIST_ELISION=-1') == '0 1 2 4 8 16 32 64 128 256 512 1024 2048 4096 8192 16384'
    p = ctx.run([ctx.bin('trapless'), '-D', 'HIST_ELISION=255', '-e', script])
    assert p.returncode == 2 and 'the value is a number, -1 to 254' in p.stderr, p
    p = ctx.run([ctx.bin('trapless'), '-D', 'HIST_ELLISION=0', '-e', script])
    assert p.returncode == 0 and 'warning[USAGE]' in p.stderr and 'did you mean `HIST_ELISION`?' in p.stderr, p


def test_arguments_are_variables_too(ctx):
    script = 'probe oneshot { printf("%d", argc) for (i = 1; i <= argc; i++) print("|", argv[i]) println("[", argv[9], "]") }'
    for args, want in ((['one', 'a "b\\ %d\n', '3'], '3|one|a "b\\ %d\n|3[]\n'), ([], '0[]\n')):
        p = ctx.run([ctx.bin('trapless'), '-e', script] + args)
        assert (p.returncode, p.stdout, p.stderr) == (0, want, ''), p
    p = ctx.run([ctx.bin('trapless'), '-e', 'global n probe oneshot { n = argc }', 'a', 'b'])
    assert (p.returncode, p.stdout) == (0, 'n=2\n'), 'shown at the end are the script\'s own globals: %s' % (p,)
    p = ctx.run([ctx.bin('trapless'), '-e', 'global argv = 7 probe oneshot { println(argv) }', 'x'])
    assert p.stdout == '7\n', p


def test_globals_of_the_library_are_not_shown(ctx):
    p = ctx.run([ctx.bin('trapless'), '-e', 'global mine probe oneshot { qs_wait("q") mine = 1 }'])
    assert (p.returncode, p.stdout) == (0, 'mine=1\n'), p


def test_strings_are_cut_and_the_cuts_are_counted(ctx):
    p = ctx.run([ctx.bin('trapless'), '-e', 'probe oneshot { for (i = 0; i < 52; i++) s .= "0123456789" '
                 'println(strlen(s), " ", strlen(sprintf("%600d", 1))) }'])
    assert p.stdout == '511 511\n' and 'cut at MAXSTRINGLEN: 2' in p.stderr, p


def test_macros_of_a_folder_are_there_for_every_script(ctx):
    folder = os.path.join(ctx.tmp, 'tap', 'inner')
    os.makedirs(folder)
    open(os.path.join(folder, 'm.stpm'), 'w').write('@define twice(x) %( (@x * 2) %)')
    open(os.path.join(folder, 'f.stp'), 'w').write('function four() { return @twice(2) }')
    trapless = [ctx.bin('trapless'), '-I', os.path.join(ctx.tmp, 'tap'), '-e']
    p = ctx.run(trapless + ['probe oneshot { println(@twice(4) + four()) }'])
    assert (p.returncode, p.stdout, p.stderr) == (0, '12\n', ''), p
    open(os.path.join(folder, 'm.stpm'), 'a').write('\nprobe begin { }')
    p = ctx.run(trapless + ['probe oneshot { }'])
    assert p.returncode == 1 and 'error[MACRO_DEFINE]' in p.stderr and 'm.stpm:2:1' in p.stderr, p


def test_mistakes_in_embedded_c_have_their_line(ctx):
    for script, place, want in (
            ('probe begin {\n%{ printk("x"); %}\n}', ':2:', 'implicit declaration'),
            ('%{\n#include <linux/nothing.h>\n%}\nprobe begin { }', ':2:', 'No such file'),
            ('function f:long() %{\n\nSTAP_RETURN("text");\n%}\nprobe begin { f() }', ':3:', 'error'),
            ('function f:string() %{\nstrlcpy(STAP_RETVALUE, 3, MAXSTRINGLEN);\n%}\nprobe begin { f() }', ':2:', 'error')):
        p = ctx.run([ctx.bin('trapless'), '-g', '-p4', '-e', script])
        assert p.returncode == 1 and 'error[MODULE_BUILD]' in p.stderr, p
        assert want in p.stderr and place in p.stderr and 'embedded-c.md' in p.stderr, p.stderr


def test_embedded_c_has_no_variables(ctx):
    p = ctx.run([ctx.bin('trapless'), '-g', '-e', 'probe begin { %{ static int calls; STAP_PRINTF("%d", ++calls); %} }'])
    assert p.returncode == 1 and 'error[MODULE_BUILD]' in p.stderr and '`calls`' in p.stderr, p
    assert 'STAP_GLOBAL_SET' in p.stderr and '<input>:1:29' in p.stderr, p.stderr
    for script, place in (('%{\n#include <stdint.h>\nstatic int64_t n;\n%}\nfunction f:long() %{ STAP_RETURN(++n); %} probe begin { f() }', '3:16'),
                          ('function f:long(nn)\n%{\n  static int n = 5;\n STAP_RETURN(n++ + STAP_ARG_nn); %} probe begin { f(1) }', '3:14'),
                          ('probe begin {\n println(%{ ({ static int n; ++n; }) %}) }', '2:10')):
        p = ctx.run([ctx.bin('trapless'), '-g', '-p4', '-e', script])
        assert p.returncode == 1 and 'of its own: `n`' in p.stderr and '<input>:%s\n' % place in p.stderr, p.stderr


def test_embedded_c_runs_in_the_traced_program(ctx):
    script = '''global seen
        function note(x:long) %{ /* pragma:write:seen */ STAP_GLOBAL_SET_seen(STAP_ARG_x, tl_tid(run) > 0); %}
        probe process.function("main") { note(7) note(8) %{ STAP_PRINTF("%s", "in main\\n"); %} }
        probe end { foreach (x in seen) println(x, " ", seen[x]) if (0) seen[0] = 0 }'''
    program = ctx.target('../examples/shop')
    p = ctx.run([ctx.bin('trapless'), '-g', '-o', 'out', '-c', program + ' 1 1', '-e', script], timeout=300)
    out = open(os.path.join(ctx.tmp, 'out')).read()
    assert p.returncode == 0 and out == 'in main\n7 1\n8 1\n', (p, out)


def test_all_documented_functions_are_known(ctx):
    """What SystemTap's manual pages list is there, or refused with its reason; none is merely unknown."""
    pages = glob.glob('/usr/share/man/man3/function::*.3stap.gz')
    if not pages:
        ctx.skip('the manual pages of the package systemtap-common are not installed')
    names = {os.path.basename(p)[len('function::'):-len('.3stap.gz')] for p in pages}
    names = sorted(n for n in names if re.fullmatch(r'\w+', n))
    own = ''.join(open(f).read() for f in glob.glob(os.path.join(ctx.root, 'tapset', '*.stp')))
    missing = [n for n in names if not re.search(r'^function %s\b' % n, own, re.M)]
    unknown = []
    for n in missing:
        p = ctx.run([ctx.bin('trapless'), '-p2', '-e', 'probe begin { %s() }' % n])
        if not re.search(r'^error\[(NOT_BUILT|POINT_KERNEL)\]', p.stderr, re.M):
            unknown.append(n)
    assert not unknown, unknown
