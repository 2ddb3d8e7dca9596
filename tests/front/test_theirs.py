# SPDX-License-Identifier: MIT
"""Options of SystemTap's: those that are taken, and what is said of the others."""
from support_front import good, trapless

once = 'nothing is probed'
HELLO = ['-e', 'probe oneshot { println("hello") }']


def test_more_scripts(ctx):
    p = good(ctx, '-E', 'function f() { return 42 }', '-E', 'probe end { println("end ", f()) }', '-e', 'probe oneshot { println(f()) }')
    assert p.stdout == '42\nend 42\n', p
    p = trapless(ctx, '-E', 'probe end { nothing() }', *HELLO)
    assert p.returncode == 1 and '<-E 1>:1:13' in p.stderr and 'NAME_UNKNOWN' in p.stderr, p


def test_warnings_can_be_errors(ctx):
    script = ['-e', 'probe oneshot { println(x) }']
    p = good(ctx, *script)
    assert p.stdout == '0\n' and 'warning[NEVER_ASSIGNED]' in p.stderr, p
    p = trapless(ctx, '-W', *script)
    assert p.returncode == 1 and 'error[NEVER_ASSIGNED]' in p.stderr and p.stdout == '', p
    assert trapless(ctx, '-W', *HELLO).stdout == 'hello\n'


def test_globals_are_not_shown(ctx):
    script = ['-e', 'global n probe oneshot { n = 7 }']
    assert good(ctx, *script).stdout == 'n=7\n'
    assert good(ctx, '--no-global-var-display', *script).stdout == ''


def test_errors_and_limits_are_suppressed(ctx):
    script = ['-e', 'global z probe begin { if (z) z++; println(1 / z) } probe begin(1) { println("next") exit() } probe error { println("error") }']
    assert trapless(ctx, *script).stdout == 'error\n'
    p = good(ctx, '--suppress-handler-errors', *script)
    assert p.stdout == 'next\n' and 'division' not in p.stderr, p
    slow = ['-D', 'MAXACTION=10', '-e', 'probe oneshot { for (i = 0; i < 200000; i++) n += i; println(n) }']
    p = trapless(ctx, *slow)
    assert p.returncode == 1 and 'MAXACTION' in p.stderr, p
    assert good(ctx, '-g', '--suppress-time-limits', *slow[2:]).stdout == '19999900000\n'
    assert trapless(ctx, '--suppress-time-limits', *slow).returncode == 2


def test_what_conditionals_see(ctx):
    script = ['-e', 'probe oneshot { %( systemtap_v < "2.0" %? println("old") %: println("new") %) '
              '%( systemtap_privilege == "stapusr" %? println("user") %: println("all") %) }']
    assert good(ctx, *script).stdout == 'new\nall\n'
    assert good(ctx, '--compatible=1.8', '--check-version', '--unprivileged', *script).stdout == 'old\nuser\n'
    assert good(ctx, '--compatible', '4.0', '--privilege=stapusr', *script).stdout == 'new\nuser\n'
    assert trapless(ctx, '--compatible=new', *script).returncode == 2
    assert trapless(ctx, '--privilege=root', *script).returncode == 2


def test_lists(ctx):
    functions = good(ctx, '--dump-functions').stdout.splitlines()
    for line in ('strlen:long (s:string)', 'user_string:string (addr:long, other:string)', 'set_user_int (addr:long, val:long) /* guru */',
                 'fp_add:long (a:long, b:long)', 'pid:long ()'):
        assert line in functions, line
    assert len(functions) > 250 and functions == sorted(functions) and not any(f.startswith('_') for f in functions), len(functions)
    types = good(ctx, '--dump-probe-types').stdout.splitlines()
    for line in ('begin', 'end(n)', 'timer.ms(n)', 'timer.ms(n).randomize(n)', 'process("PATH").function("NAME").return'):
        assert line in types, line
    assert 'oneshot = begin' in good(ctx, '--dump-probe-aliases').stdout.splitlines()


def test_limits_that_bound_nothing_are_taken(ctx):
    p = good(ctx, '-D', 'INTERRUPTIBLE=0', '-D', 'MAXTRYCATCH=5', '-DSTP_NO_OVERLOAD', '-u', '--ldd', '-d', '/bin/ls', *HELLO)
    assert (p.stdout, p.stderr) == ('hello\n', ''), p
    p = good(ctx, '-D', 'MAXSTRINGLENGTH=20', *HELLO)
    assert 'MAXSTRINGLEN' in p.stderr and 'not a limit' in p.stderr, p
    p = trapless(ctx, '-d', '/no/such/file', *HELLO)
    assert p.returncode == 1 and 'FILE_MISSING' in p.stderr, p


def test_all_errors_are_shown(ctx):
    for option in ([], ['--semantic-keep-going']):
        p = trapless(ctx, *option, '-p2', '-e', 'probe begin { nothing() } probe nowhere { } probe end { print(1 . "a") }')
        assert p.returncode == 1 and p.stderr.count('error[') == 3, p


def test_what_has_no_meaning_is_said_with_a_next_step(ctx):
    for words, step in ((['-b'], 'buffer of its own'), (['--remote', 'host'], '-p4'), (['--remote=host'], '-p4'), (['--bpf'], 'inside the program'),
                        (['--runtime=dyninst'], 'inside the program'), (['-S', '1,2'], 'logrotate'), (['--monitor'], '--sessions'),
                        (['--skip-badvars'], '@defined')):
        p = trapless(ctx, *words, *HELLO)
        assert p.returncode == 2 and words[0].split('=')[0] in p.stderr and step in p.stderr and 'next step' in p.stderr, p
