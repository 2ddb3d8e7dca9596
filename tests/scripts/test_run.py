# SPDX-License-Identifier: MIT
"""Scripts that need no target: what they print is in the .out file beside them."""
import glob
import os


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


def test_generated_c_has_no_warnings(ctx):
    """Pass 3 of every script, through gcc and clang with warnings as errors."""
    scripts = cases(ctx) + sorted(glob.glob(os.path.join(ctx.root, 'examples', '*.stp')))
    include = ['-I', os.path.join(ctx.root, 'runtime'), '-I', os.path.join(ctx.root, 'include')]
    flags = ['-std=gnu11', '-O2', '-ffreestanding', '-fPIC', '-mgeneral-regs-only', '-Wall', '-Wextra', '-Werror',
             '-Wno-unused-parameter', '-fsyntax-only', '-x', 'c', '-']
    for script in scripts:
        p = ctx.run([ctx.bin('trapless'), '-w', '-p3', '-c', '/usr/bin/git --version', script, '1', '2'])
        assert p.returncode == 0, script + p.stderr
        for cc in ('gcc', 'clang'):
            q = ctx.run([cc] + include + flags, input=p.stdout)
            assert q.returncode == 0, '%s, %s:\n%s' % (script, cc, q.stderr[:2000])


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
