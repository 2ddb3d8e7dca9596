# SPDX-License-Identifier: MIT
"""Options of SystemTap's: those that are taken, and what is said of the others."""
import os
import signal
import subprocess
import time

from support_front import good, shop, trapless

once = 'nothing is probed'
HELLO = ['-e', 'probe oneshot { println("hello") }']


def test_more_scripts(ctx):
    p = good(ctx, '-E', 'function f() { return 42 }', '-E', 'probe end { println("end ", f()) }', '-e', 'probe oneshot { println(f()) }')
    assert p.stdout == '42\nend 42\n', p
    p = trapless(ctx, '-E', 'probe end { nothing() }', *HELLO)
    assert p.returncode == 1 and '<-E 1>:1:13' in p.stderr and 'NAME_UNKNOWN' in p.stderr, p


def test_warnings_can_be_errors(ctx):
    script = ['-e', 'probe oneshot { println(x + 0) }']
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


LIMITS = ('--rlimit-as=8000000000', '--rlimit-cpu', '500', '--rlimit-nproc=30000', '--rlimit-stack=4000000', '--rlimit-fsize=90000000')


def test_limits_of_the_passes(ctx):
    """They are the compiler's, and not those of the program that is traced."""
    cc = ctx.tmp + '/cc'
    with open(cc, 'w') as f:
        f.write('#!/bin/sh\ncat /proc/self/limits >%s/limits\nexec gcc "$@"\n' % ctx.tmp)
    os.chmod(cc, 0o755)
    p = good(ctx, *LIMITS, '--no-cache', '--cc', cc, *HELLO, '-c', 'cat /proc/self/limits')
    inside = open(ctx.tmp + '/limits').read()
    for name, wanted in (('Max address space', '8000000000'), ('Max cpu time', '500'), ('Max processes', '30000'), ('Max stack size', '4000000'),
                         ('Max file size', '90000000')):
        own = [line.split(name)[1].split()[:2] for line in open('/proc/self/limits') if line.startswith(name)][0]
        assert [line.split(name)[1].split()[:2] for line in inside.splitlines() if line.startswith(name)] == [[wanted, own[1]]], (name, inside)
        assert [line.split(name)[1].split()[:2] for line in p.stdout.splitlines() if line.startswith(name)] == [own], (name, p)


def test_limits_that_are_too_small(ctx):
    with open(ctx.tmp + '/err', 'w+') as err:
        p = ctx.popen([ctx.bin('trapless'), '--no-cache', '--rlimit-fsize=100', *HELLO], stderr=err)
        assert p.wait(300) == 1
        err.seek(0)
        assert 'error[MODULE_BUILD]' in err.read(), 'the message may be longer than that'
    p = trapless(ctx, '--rlimit-as=1000000', *HELLO)
    assert p.returncode == 1 and 'has no memory left' in p.stderr, p
    p = ctx.run(['sh', '-c', 'ulimit -f 5000; exec "$@"', 'sh', ctx.bin('trapless'), '--rlimit-fsize=99999999999', *HELLO])
    assert p.returncode == 2 and '--rlimit-fsize=99999999999 cannot be set: the hard limit is ' in p.stderr, p


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
    for words, step in ((['-q'], 'leave it out'), (['--remote', 'host'], '-p4'), (['--remote=host'], '-p4'), (['-R', 'x'], 'no kernel module')):
        p = trapless(ctx, *words, *HELLO)
        assert p.returncode == 2 and words[0].split('=')[0] in p.stderr and step in p.stderr and 'next step' in p.stderr, p


def test_what_changes_nothing_here_is_taken(ctx):
    p = good(ctx, '-b', '-P', '--runtime=dyninst', '--dyninst', '--bpf', '-B', 'CONFIG_A=y', '--modinfo', 'a=b', '--all-modules',
             '--save-uprobes', '-s', '4', *HELLO)
    assert (p.stdout, p.stderr) == ('hello\n', ''), p
    assert good(ctx, '--prologue-searching', *HELLO).stdout == 'hello\n'
    p = trapless(ctx, '--runtime=other', *HELLO)
    assert p.returncode == 2 and 'dyninst' in p.stderr, p


def test_files_are_turned_over(ctx):
    out = os.path.join(ctx.tmp, 'out')
    line = 'x' * 63
    good(ctx, '-D', 'MAXACTION_INTERRUPTIBLE=1000000', '-S', '1,2', '-o', out, '-e',
         'probe oneshot { for (i = 0; i < 60000; i++) println("%s") }' % line)
    names = sorted(n for n in os.listdir(ctx.tmp) if n.startswith('out'))
    assert names == ['out.2', 'out.3'], names
    texts = [open(os.path.join(ctx.tmp, n)).read() for n in names]
    assert all(set(t.splitlines()) == {line} for t in texts), 'lines are whole'
    assert 1 << 20 <= len(texts[0]) < (1 << 20) + 64 and 3 * len(texts[0]) + len(texts[1]) == 60000 * 64, [len(t) for t in texts]


def test_a_script_turns_files_over(ctx):
    out = os.path.join(ctx.tmp, 'out')
    script = ['-o', out, '-e', 'probe oneshot { println("a"); switch_file(); println("b"); switch_file(); switch_file() }']
    good(ctx, '-S', '5', *script)
    assert [open('%s.%d' % (out, n)).read() for n in range(4)] == ['a\n', 'b\n', '', ''], os.listdir(ctx.tmp)
    good(ctx, *script)
    assert open(out).read() == 'a\nb\n'
    for words, said in ((['-S', '5'], '-o <FILE>'), (['-S', '0', '-o', out], 'whole MiB'), (['-S', '1,x', '-o', out], 'whole MiB')):
        p = trapless(ctx, *words, *HELLO)
        assert p.returncode == 2 and said in p.stderr, p
    good(ctx, '-p4', '-m', 'm', *HELLO, cwd=ctx.tmp)
    for words in (['-S', '1'], ['-S', 'x', '-o', 'f'], ['-S', '1', '--raw', '-o', 'f']):
        p = ctx.run([ctx.bin('trapless-run'), 'm.tap', *words], cwd=ctx.tmp)
        assert p.returncode != 0 and '--rotate' in p.stderr, p


def test_a_session_is_left_in_the_background(ctx):
    out = os.path.join(ctx.tmp, 'out')
    p = ctx.start([ctx.bin('trapless'), '-F', '-o', out, '-e',
                   'probe begin { println(stp_pid()) } probe timer.s(3600) { } probe end { println("over") }'], stdin=subprocess.DEVNULL)
    pid = int(p.stdout.readline())  # and no further: the session may keep it open
    try:
        for _ in range(600):
            if os.path.exists(out) and open(out).read():
                break
            time.sleep(0.1)
        assert os.getpgid(pid) == pid
    finally:
        os.kill(pid, signal.SIGTERM)
    for _ in range(600):
        if 'over' in open(out).read():
            break
        time.sleep(0.1)
    assert open(out).read() == '%d\nover\n' % pid
    p = trapless(ctx, '-F', *HELLO)
    assert p.returncode == 2 and '-o <FILE>' in p.stderr, p


def test_variables_that_are_not_there_are_skipped(ctx):
    program = shop(ctx, cflags=['-g', '-O1'])
    script = ['-c', program, '-e', 'probe process.function("main") { println($nothing, "[", $nothing$, "]", @defined($nothing)); exit() }']
    p = trapless(ctx, '-p2', *script)
    assert p.returncode == 1 and p.stderr.count('error[CTX_VAR_UNKNOWN]') == 2, p
    p = good(ctx, '--skip-badvars', *script)
    assert '0[]0' in p.stdout and p.stderr.count('warning[CTX_VAR_UNKNOWN]') == 2 and 'no `$nothing`' in p.stderr, p


def test_the_cache_is_emptied_and_passed_by(ctx):
    env = dict(XDG_CACHE_HOME=os.path.join(ctx.tmp, 'cache'))
    folder = os.path.join(ctx.tmp, 'cache', 'trapless')
    good(ctx, *HELLO, env=env)
    made = os.listdir(folder)
    assert len(made) == 1, made
    path = os.path.join(folder, made[0])
    before = os.stat(path).st_ino
    good(ctx, *HELLO, env=env)
    assert os.stat(path).st_ino == before
    good(ctx, '--poison-cache', *HELLO, env=env)
    assert os.listdir(folder) == made and os.stat(path).st_ino != before
    for _ in range(2):  # an empty one, too
        p = good(ctx, '--clean-cache', env=env)
        assert p.stdout == '' and os.listdir(folder) == [], p
    os.rmdir(folder)
    good(ctx, '--clean-cache', env=env)


def test_passes_say_more(ctx):
    assert 'Pass 1' in good(ctx, '--vp', '00001', *HELLO).stderr and good(ctx, '--vp', '0', *HELLO).stderr == ''
    p = trapless(ctx, '--vp', '1x', *HELLO)
    assert p.returncode == 2 and 'a digit for each' in p.stderr, p


def test_colours_when_asked_for(ctx):
    wrong = ['-p2', '-e', 'probe begin { nothing() }']
    for words, wanted in (([], False), (['--color'], True), (['--color=always'], True), (['--colour=never'], False), (['--color=auto'], False)):
        p = trapless(ctx, *words, *wrong)
        assert p.returncode == 1 and ('\x1b[' in p.stderr) == wanted, (words, p)


def test_temporary_files_lie_where_it_is_said(ctx):
    p = good(ctx, '-k', '--no-cache', '--tmpdir', ctx.tmp, *HELLO)
    assert ctx.tmp in p.stderr + p.stdout, p
