# SPDX-License-Identifier: MIT
"""The command line: passes, options, commands, exit status, listing, running processes."""
import os
import re
import shutil
import signal
import subprocess
import time

from support_front import Selling, good, shop, trapless

PAIR = ('opt', 'traps')
COUNT = 'global n  probe process.function("sell") { n++ }  probe end { printf("n=%d\\n", n) }'


def test_passes(ctx):
    script = 'probe begin { println("hello") exit() }'
    assert 'probe begin' in good(ctx, '-p1', '-e', script).stdout
    assert good(ctx, '-p2', '-e', script).stdout == 'begin\n'
    assert 'hello' in good(ctx, '-p3', '-e', script).stdout
    assert good(ctx, '-p4', '-e', script).stdout == 'script.tap\n'
    assert good(ctx, '-p5', '-e', script).stdout == 'hello\n'
    assert good(ctx, '-e', script).stdout == 'hello\n'


def test_nobody_reads(ctx):
    """Neither a reader that has had enough nor a full disk is a crash."""
    script = 'probe begin { println("hello") exit() }'
    words = (['-l', 'begin'], ['-p1', '-e', script], ['-p2', '-e', script], ['-p3', '-e', script], ['--completions', 'bash'])
    for args in words:
        reader, writer = os.pipe()
        os.close(reader)
        p = subprocess.run([ctx.bin('trapless')] + args, stdout=writer, stderr=subprocess.PIPE, text=True, timeout=300)
        os.close(writer)
        assert (p.returncode, p.stderr) == (0, ''), (args, p)
        with open('/dev/full', 'w') as full:
            p = subprocess.run([ctx.bin('trapless')] + args, stdout=full, stderr=subprocess.PIPE, text=True, timeout=300)
        assert p.returncode == 1 and 'cannot write the output: No space left on device' in p.stderr, (args, p)


def test_exit_is_at_once(ctx):
    """No handler begins after it, however long the session takes to end."""
    p = good(ctx, '-e', 'global n  probe process.function("sell") { println(++n) if (n == 3) exit() }', '-c', shop(ctx) + ' 1 5000 >/dev/null')
    assert p.stdout == '1\n2\n3\n', p.stdout
    p = good(ctx, '-e', 'probe begin { exit() } probe process.function("sell") { println("sold") }', '-c', shop(ctx) + ' 1 500 >/dev/null')
    assert p.stdout == '', p.stdout


test_exit_is_at_once.variants = PAIR


def test_places_and_times(ctx):
    """uaddr() and caller_addr() against the program's symbols; the clocks against each other and ours."""
    path = shop(ctx)
    nm = ctx.run(['nm', '-S', path]).stdout
    at = {m[2]: (int(m[0], 16), int(m[1], 16)) for m in re.findall(r'^(\w+) (\w+) [tT] (\w+)$', nm, re.M)}
    script = ('probe process.function("sell") { printf("%d %d %d %d %d %d %s %s\\n", uaddr(), caller_addr(), gettimeofday_s(),'
              ' gettimeofday_ms(), gettimeofday_us(), gettimeofday_ns(), usymname(uaddr()), usymname(caller_addr())) exit() }')
    before = time.time()
    *numbers, name, caller = good(ctx, '-e', script, '-c', path + ' 1 20 >/dev/null').stdout.split()
    after = time.time()
    here, back, s, ms, us, ns = map(int, numbers)
    assert (name, caller) == ('sell', 'till_main'), (name, caller)
    assert 0 < back - here - (at[caller][0] - at[name][0]) < at[caller][1], (here, back, at)
    assert before <= ns / 1e9 <= after and s * 10**9 <= ms * 10**6 <= us * 10**3 <= ns, (before, s, ms, us, ns, after)
    assert good(ctx, '-e', 'probe begin { println(uaddr(), caller_addr()) exit() }').stdout == '00\n'


test_places_and_times.variants = PAIR


def test_ring_size(ctx):
    """More than is read in time: some is lost, and said to be, or nothing with room for all."""
    path, script = shop(ctx), 'probe process.function("sell") { println("0123456789") }'
    for size, complete in (('4096', False), ('4194304', True)):
        r = good(ctx, '-D', 'RINGSIZE=' + size, '-e', script, '-c', path + ' 1 20000 >/dev/null')  # whose own line would come amid one of ours
        assert (r.stdout.count('0123456789\n') == 20000) == complete, r.stderr
        assert ('records lost (rings full: raise -D RINGSIZE)' in r.stderr) != complete, r.stderr


def test_long_reports(ctx):
    """`begin`, `end` and the display of globals print more than a ring holds."""
    loop = 'for (i = 0; i < 3000; i++) printf("%0100d\\n", i)'
    r = good(ctx, '-D', 'MAXACTION=100000', '-e', 'global a  probe begin { %s  for (i = 0; i < 2048; i++) a[i] = sprintf("%%0100d", i)  exit() }  probe end { %s }' % (loop, loop))
    assert r.stdout.count('\n') == 3000 + 3000 + 2048 and 'lost' not in r.stderr, r.stderr


def test_module(ctx):
    """-p4 -m NAME leaves NAME.tap, which runs without the host tool."""
    target = Selling(ctx)
    script = 'global on  probe process.function("sell") { if (!on++) println("on") } ' + COUNT
    assert good(ctx, '-p4', '-m', 'count', '-x', target.pid, '-e', script).stdout == 'count.tap\n'
    p = ctx.start([ctx.bin('trapless-run'), 'count.tap', '-x', str(target.pid)], cwd=ctx.tmp, env={'PATH': '/nowhere'})
    assert p.stdout.readline() == 'on\n'
    sold = target.end()
    n = int(re.search(r'n=(\d+)', p.communicate(timeout=300)[0]).group(1))
    assert p.returncode == 0 and 0 < n <= sold
    again = ctx.run([ctx.bin('trapless-run'), 'count.tap', '-c', target.path + ' 2 50'], cwd=ctx.tmp)
    assert 'n=100\n' in again.stdout, again


test_module.variants = PAIR


def test_module_without_target(ctx):
    """What only a process can reach wants one; `begin`, `end` and timers run alone, as what may be missing does."""
    path = shop(ctx)
    run = ctx.bin('trapless-run')

    def module(name, script, *args):
        good(ctx, '-p4', '-m', name, *args, '-e', script)
        return name + '.tap'

    sold = module('sold', 'probe process("%s").function("sell") { }' % path)
    p = ctx.run([run, sold], cwd=ctx.tmp)
    assert p.returncode == 2 and p.stdout == '', p
    assert p.stderr.count('\n') == 1 and 'no target: give -x PID, -c CMD or --later;' in p.stderr, p.stderr
    own = 'probe begin { println("on") exit() } '
    for script in (own, own + 'probe process("%s").function("sell") ? { }' % path):
        p = ctx.run([run, module('alone', script)], cwd=ctx.tmp)
        assert p.returncode == 0 and p.stdout == 'on\n', p
    p = ctx.run([run, sold, '-T', '1'], cwd=ctx.tmp)
    assert p.returncode == 2 and 'belongs to trapless -p4' in p.stderr, p
    p = ctx.run([run, sold, '-x', 'shop'], cwd=ctx.tmp)
    assert p.returncode == 2 and 'pgrep' in p.stderr, p


def test_module_of_another_program(ctx):
    """Its library is there, but the program that it was made for is not: that is said."""
    path = shop(ctx)
    good(ctx, '-p4', '-m', 'made', '-c', path, '-e', 'probe process.library("libc.so.6").function("malloc") { }')
    p = ctx.run([ctx.bin('trapless-run'), 'made.tap', '-c', 'cat /dev/null'], cwd=ctx.tmp)
    assert 'never armed: 1 probe: %s, for which the module was made, was not run' % path in p.stderr, p.stderr


def test_no_probe_was_hit(ctx):
    """One line says so, but for -w; what was hit, or is told by -v, needs none."""
    line = 'no probe was hit (-v names them)'
    quiet, busy = ('probe process.library("libc.so.6").function("%s") { }' % f for f in ('fork', 'malloc'))
    for args, told in ((['-e', quiet], 1), (['-w', '-e', quiet], 0), (['-v', '-e', quiet], 0), (['-e', quiet + busy], 0)):
        p = good(ctx, *args, '-c', shop(ctx) + ' 1 1')
        assert p.stderr.count(line) == told, (args, p.stderr)


def test_module_is_no_script(ctx):
    good(ctx, '-p4', '-m', 'made', '-e', 'probe begin { exit() }')
    p = trapless(ctx, 'made.tap')
    assert p.returncode == 2 and 'trapless-run made.tap -x PID' in p.stderr and 'LEX_CHAR' not in p.stderr, p.stderr


def test_example_of_that_name(ctx):
    p = trapless(ctx, 'callers.stp')
    assert p.returncode == 1 and 'trapless --example callers.stp' in p.stderr, p.stderr


def test_output_of_no_session(ctx):
    p = trapless(ctx, '-p4', '-o', 'out', '-e', 'probe begin { }')
    assert p.returncode == 0 and 'warning[USAGE]' in p.stderr and '-p4 runs none' in p.stderr and '-m NAME' in p.stderr, p


def test_without_the_script_library(ctx):
    """One message, with what to do."""
    os.mkdir(os.path.join(ctx.tmp, 'alone'))
    exe = os.path.join(ctx.tmp, 'alone', 'trapless')
    shutil.copy(ctx.bin('trapless'), exe)
    p = ctx.run([exe, '-e', 'probe begin { nosuch() exit() }'], cwd=ctx.tmp)
    assert p.returncode == 1 and p.stderr.count('error[') == 1 and 'make install' in p.stderr, p.stderr

def test_module_in_the_temporary_folder_goes_away(ctx):
    tmp = os.path.join(ctx.tmp, 'T')
    os.mkdir(tmp)
    os.chmod(tmp, 0o777)
    good(ctx, '-e', 'probe begin { exit() }', env={'TMPDIR': tmp})
    trapless(ctx, '-e', 'probe begin { nosuch() }', env={'TMPDIR': tmp})
    trapless(ctx, '--no-cache', '-e', 'probe begin { error("x") }', env={'TMPDIR': tmp})
    assert os.listdir(tmp) == [], os.listdir(tmp)


def test_script_from_everywhere(ctx):
    script = 'probe begin { printf("%s %d %d\\n", @1, $2, $#) exit() }\n'
    path = os.path.join(ctx.tmp, 's.stp')
    with open(path, 'w') as f:
        f.write(script)
    for p in (good(ctx, path, 'a b', '-7'), good(ctx, '-', 'a b', '-7', input=script), good(ctx, '-e', script, 'a b', '-7')):
        assert p.stdout == 'a b -7 2\n', p.stdout


def test_output_file(ctx):
    p = good(ctx, '-o', 'out', '-e', 'probe begin { println("x") exit() }')
    assert p.stdout == '' and open(os.path.join(ctx.tmp, 'out')).read() == 'x\n'


def test_globals_and_limits(ctx):
    script = 'global g = 1, s = "a"  probe begin { printf("%d %s %d\\n", g, s, strlen("1234567890123456789012345")) exit() }'
    assert good(ctx, '-G', 'g=-0x10', '-G', 's=bc', '-e', script).stdout == '-16 bc 25\n'


def test_time_limit(ctx):
    script = 'probe timer.ms(250) { println("tick") }  probe end { println("end") }'
    out = good(ctx, '-T', 1, '-e', script, timeout=300).stdout
    assert 2 <= out.count('tick') <= 4 and out.endswith('end\n'), out
    good(ctx, '-T', 1, '-p4', '-m', 'limited', '-e', script)
    assert ctx.run([ctx.bin('trapless-run'), 'limited.tap'], cwd=ctx.tmp, timeout=300).stdout.endswith('end\n')


def test_verbose_and_keep(ctx):
    p = good(ctx, '-v', '-k', '--no-cache', '-e', 'probe begin { exit() }')
    for n in (1, 2, 3, 4):
        assert re.search(r'^Pass %d: .* in \d+\.\d ms\.$' % n, p.stderr, re.M), p.stderr
    kept = re.search(r'^kept (\S+\.c) and (\S+\.o)$', p.stderr, re.M).groups()
    for name in kept:
        assert os.path.getsize(name) > 100
    shutil.rmtree(os.path.dirname(kept[0]))


def test_warnings_can_be_silenced(ctx):
    script = 'probe begin { println(x + 0) exit() }'
    assert 'warning[NEVER_ASSIGNED]' in good(ctx, '-e', script).stderr
    assert 'warning' not in good(ctx, '-w', '-e', script).stderr


def test_arguments_that_nothing_names(ctx):
    """As SystemTap warns of them; `$#` and argv name all."""
    def said(script, *words):
        p = trapless(ctx, '-p2', '-e', script, *words)
        assert p.returncode == 0, p
        return re.findall(r'^warning\[ARG_UNUSED\].*neither (\S+) nor', p.stderr, re.M)
    assert said('probe begin { println(@2) }', 'one', 'two', 'three') == ['$1', '$3']
    assert said('@define x %( $1 %) probe begin { %( @2 == "two" %? println(3) %) }', '1', 'two') == []
    for text in ('println($#)', 'println(@#)', 'println(argc)', 'println(argv[1])'):
        assert said('probe begin { %s }' % text, 'one', 'two') == [], text
    assert said('probe begin { } // $1', 'one') == ['$1']


def test_no_colour_without_a_terminal(ctx):
    assert '\x1b' not in trapless(ctx, '-e', 'probe begin { x = }').stderr


def test_commands(ctx):
    """What needs a shell only for its words becomes the traced process itself."""
    path = shop(ctx)
    name = os.path.basename(path)
    quoted = ctx.tmp + '/a shop'
    shutil.copy(path, quoted)
    for cmd in (path + ' 2 50', "'%s' 2 50" % quoted, path + ' "2" 50', 'A=1 B="x y" %s 2 50' % path,
                'exec %s 2 $((25 + 25))' % path, path + ' 2 50 >/dev/null',
                'cd / && exec %s 2 50' % path):
        p = good(ctx, '-e', COUNT, '-c', cmd)
        assert 'n=100\n' in p.stdout and 'warning' not in p.stderr, (cmd, p.stdout, p.stderr)
    p = good(ctx, '-e', COUNT, '-c', name + ' 2 50', env={'PATH': os.path.dirname(path) + ':/usr/bin:/bin'})
    assert 'n=100\n' in p.stdout, p


test_commands.variants = PAIR + ('nobody',)


def test_a_shell_that_is_named_is_traced(ctx):
    """As SystemTap does: `bash -c` is bash, also where bash would become its last command."""
    script = 'probe process.function("execute_command") { println("in ", execname()) exit() }'
    for line in ('bash -c "true; true"', "exec bash -c 'true; true' </dev/null"):
        p = good(ctx, '-e', script, '-c', line)
        assert p.stdout == 'in bash\n' and 'warning' not in p.stderr, (line, p.stdout, p.stderr)
    path = shop(ctx)
    p = good(ctx, '-e', COUNT.replace('process', 'process("%s")' % path, 1), '-c', "sh -c '%s 2 50'" % path)
    assert 'n=100\n' in p.stdout, p.stdout + p.stderr


def test_the_shell_that_was_not_named(ctx):
    """What is looked for in the shell, or in a script's interpreter, is meant to be in a program: that is to be named."""
    path = shop(ctx)
    file = ctx.tmp + '/a script'
    with open(file, 'w') as f:
        f.write('#!/bin/sh\n%s 2 50\n' % path)
    os.chmod(file, 0o755)
    for line, why, meant in (('cd /; %s 2 50' % path, '-c starts a shell for this command', path),
                             ('%s 2 50 > /dev/null && true' % path, '-c starts a shell for this command', path),
                             ("'%s'" % file, file + ' is a script', 'PATH')):
        for point in 'function("no_such_one")', 'mark("no_such_one")', 'statement("*@no_such_one.c:1")':
            p = trapless(ctx, '-e', 'probe process.%s { println(1) }' % point, '-c', line)
            assert p.returncode == 1 and why in p.stderr and 'process("%s")' % meant in p.stderr, (line, point, p)
    p = trapless(ctx, '-e', 'probe process.function("no_such_one") { println(1) }', '-c', path + ' 2 50')
    assert p.returncode == 1 and 'shell' not in p.stderr, p


def test_commands_of_several_programs(ctx):
    path = shop(ctx)
    script = COUNT.replace('process', 'process("%s")' % path, 1)
    for args, n in ((), 13), (('--no-follow',), 5):
        p = good(ctx, '-e', script, *args, '-c', 'true; %s 1 5; %s 2 4; true' % (path, path))
        assert 'n=%d' % n in p.stdout.splitlines(), p.stdout
        assert ('warning[PROCESS_LATER]' in p.stderr) == bool(args) and ('--no-follow' in p.stderr) == bool(args), p.stderr


def test_a_program_is_no_script(ctx):
    for words in (['cat', 'x', 'y'], ['/bin/cat']):
        p = ctx.run([ctx.bin('trapless')] + words)
        assert p.returncode == 2 and "%s is a program, not a script" % words[0] in p.stderr, p
        assert "-c '%s'" % ' '.join(words) in p.stderr, p
    p = ctx.run([ctx.bin('trapless'), 'no-such-program-anywhere'])
    assert p.returncode == 1 and 'No such file' in p.stderr, p


def test_commands_that_are_scripts(ctx):
    """`process` is the interpreter."""
    script = os.path.join(ctx.tmp, 'work.py')
    with open(script, 'w') as f:
        f.write('#!/usr/bin/python3\nprint("work")\n')
    os.chmod(script, 0o755)
    p = good(ctx, '-e', 'global n  probe process.library("libc.so.6").function("malloc") { n++ } probe end { println(n) }',
             '-c', script)
    assert p.stdout.startswith('work\n') and int(p.stdout.split()[1]) > 10, p.stdout


def test_exit_status(ctx):
    quiet = 'probe begin { }'
    assert trapless(ctx, '-e', quiet, '-c', 'sh -c "exit 37"').returncode == 37
    assert trapless(ctx, '-e', quiet, '-c', 'sh -c "kill -TERM \\$\\$"').returncode == 128 + signal.SIGTERM
    assert trapless(ctx, '-e', quiet, '-c', 'false').returncode == 1
    assert trapless(ctx, '-e', 'probe begin { exit() }').returncode == 0
    assert trapless(ctx, '-e', 'probe begin { error("no") }').returncode == 1


def test_interrupt(ctx):
    """SIGINT ends a session as exit() does, and the target lives on."""
    target = Selling(ctx)
    p = ctx.start([ctx.bin('trapless'), '-x', str(target.pid), '-e',
                   'probe begin { println("on") } ' + COUNT], stderr=subprocess.PIPE)
    assert p.stdout.readline() == 'on\n'
    p.send_signal(signal.SIGINT)
    out, err = p.communicate(timeout=300)
    assert p.returncode == 0 and re.match(r'n=\d+\n$', out), (p.returncode, out, err)
    target.end()


test_interrupt.variants = PAIR + ('nobody',)


def test_counts_while_attached(ctx):
    target = Selling(ctx)
    p = ctx.start([ctx.bin('trapless'), '-x', str(target.pid), '-e', 'probe begin { println("on") } ' + COUNT])
    assert p.stdout.readline() == 'on\n'
    sold = target.end()
    n = int(re.search(r'n=(\d+)', p.communicate(timeout=300)[0]).group(1))
    assert p.returncode == 0 and 0 < n <= sold, (n, sold)


test_counts_while_attached.variants = PAIR + ('nobody',)


def test_all_processes_of_a_program(ctx):
    path = os.path.join(ctx.tmp, 'shop')
    shutil.copy(shop(ctx), path)
    targets = [Selling(ctx, path) for _ in range(3)]
    script = 'global n  probe process("%s").function("sell") { n[pid()]++ }' % path
    script += '  probe end { foreach (p+ in n) printf("%d %s\\n", p, n[p] > 0 ? "sells" : "rests") }'
    p = good(ctx, '-T', 1, '-e', script, timeout=300)
    assert p.stdout == ''.join('%d sells\n' % t.pid for t in sorted(targets, key=lambda t: t.pid)), p.stdout
    assert 'warning' not in p.stderr, p.stderr
    line = re.search(r'^tracing processes (.*) of %s$' % path, p.stderr, re.M).group(1)
    assert sorted(map(int, line.split(', '))) == sorted(t.pid for t in targets)
    # Of several programs it is enough when one runs, the others are told; one that may be missing is not missed.
    shutil.copy(path, path + 'keeper')
    p = good(ctx, '-T', 1, '-e', script.replace('/shop"', '/shop*"'), timeout=300)
    assert 'sells' in p.stdout and 'error' not in p.stderr, p
    assert 'waiting for %skeeper to start' % path in p.stderr, p.stderr
    for t in targets:
        t.end()
    good(ctx, '-T', 1, '-e', script.replace('("sell")', '("sell") ?'))
    p = trapless(ctx, '--no-follow', '-T', 1, '-e', script)
    assert p.returncode == 1 and 'error[TARGET_MISSING]' in p.stderr and 'no process of ' + path in p.stderr, p.stderr


def test_programs_that_start_later(ctx):
    """They are waited for, two programs as well; exit() ends that as Ctrl-C does, and what was not run is told of."""
    paths = [os.path.join(ctx.tmp, n) for n in ('shop', 'shopkeeper')]
    shutil.copy(shop(ctx), paths[0])
    shutil.copy(shop(ctx, cflags=('-O1', '-g')), paths[1])
    script = """global n, b  probe process("%s*").begin { b++ printf("begin %%s\\n", execname()) }
        probe process("%s*").function("sell") { if (n[execname()]++ && n["shop"] && n["shopkeeper"] && b == 2) exit() }
        probe begin { println("on") }  probe end { println("end") }""" % (paths[0], paths[0])
    p = ctx.start([ctx.bin('trapless'), '-e', script], stderr=subprocess.PIPE)
    assert p.stdout.readline() == 'on\n'
    targets = [Selling(ctx, path) for path in paths]
    out, err = p.communicate(timeout=300)
    assert p.returncode == 0 and sorted(out.splitlines()) == ['begin shop', 'begin shopkeeper', 'end'], (out, err)
    assert 'waiting for %s and 1 more programs to start' % paths[0] in err, err
    for t in targets:
        assert 'tracing process %d of %s' % (t.pid, t.path) in err, err
        t.end()
    p = ctx.start([ctx.bin('trapless'), '-e', script], stderr=subprocess.PIPE)
    assert p.stdout.readline() == 'on\n'
    p.send_signal(signal.SIGINT)
    out, err = p.communicate(timeout=300)
    assert p.returncode == 0 and out == 'end\n' and 'never armed' in err and 'was not run' in err, (out, err)


test_programs_that_start_later.variants = PAIR + ('nobody',)
test_all_processes_of_a_program.variants = PAIR + ('nobody',)


def test_list(ctx):
    path = shop(ctx)
    functions = good(ctx, '-l', 'process("%s").function("s*")' % path).stdout.splitlines()
    assert functions == sorted(functions) and len(functions) == 2, functions
    assert re.match(r'process\("%s"\)\.function\("same(@.*shop\.c:\d+)?"\)$' % path, functions[0]), functions
    p = good(ctx, '-L', 'process("%s").function("price_of")' % path)
    assert re.search(r'"\) \$name:char const\* \$pieces:int( \$i:int)?$', p.stdout, re.M), p.stdout
    p = good(ctx, '-L', 'process("%s").function("price_of").return' % path)
    assert p.stdout.endswith('.return $return:int $name:char const* $pieces:int\n'), p.stdout
    p = good(ctx, '-l', 'process("git").library("libc.so.6").function("malloc")')
    assert p.stdout.count('\n') == 1 and 'malloc' in p.stdout
    p = good(ctx, '-L', 'process.function("price_of")', '-c', path)
    assert '$pieces:int' in p.stdout
    p = trapless(ctx, '-l', 'process("%s").function("nosuch")' % path)
    assert p.returncode == 1 and 'FUNCTION_UNKNOWN' in p.stderr
    p = trapless(ctx, '-l', 'process("%s").library("nosuch.so").function("f")' % path)
    assert p.returncode == 1 and 'opens later is given by its whole path' in p.stderr, p


def test_list_of_functions_of_one_name(ctx):
    """Of a wildcard, too, they are told apart: static ones of two files, overloads; and by pp() as the program runs."""
    for name, text in (('one.cc', 'static __attribute__((noinline)) int same(int a) { asm volatile(""); return a + 1; }\n'
                                  'int two(int a);\nint main(int c, char **) { return same(c) + two(c) == 7 ? 0 : 1; }\n'),
                       ('two.cc', '\nstatic __attribute__((noinline)) int same(int a) { asm volatile(""); return a + 2; }\n'
                                  'static __attribute__((noinline)) int same(int a, int b) { asm volatile(""); return a + b; }\n'
                                  'int two(int a) { return same(a) + same(a, 0) + 1; }\n')):
        with open(os.path.join(ctx.tmp, name), 'w') as f:
            f.write(text)
    path = os.path.join(os.path.realpath(ctx.tmp), 'same')
    built = ctx.run(['g++', '-g', '-O1', '-o', path, path[:-4] + 'one.cc', path[:-4] + 'two.cc'])
    assert built.returncode == 0, built
    point = 'process("%s").function("same@%s%s:%d")'
    points = [point % (path, path[:-4], file, line) for file, line in (('one.cc', 1), ('two.cc', 2), ('two.cc', 3))]
    for pattern in 's*', 'same':
        assert good(ctx, '-l', 'process("%s").function("%s")' % (path, pattern)).stdout.splitlines() == points, pattern
    good(ctx, '-o', 'out', '-c', path, '-e', 'probe process.function("s*") { println(pp()) }')
    assert open(os.path.join(ctx.tmp, 'out')).read().splitlines() == points


def test_list_of_aliases(ctx):
    """By their own names, as stap -l: those of tapsets, of system calls without a program, and what follows the name."""
    path = shop(ctx)
    folder = os.path.join(ctx.tmp, 'tapset')
    os.mkdir(folder)
    with open(os.path.join(folder, 'my.stp'), 'w') as f:
        f.write('probe my.price = process("%s").function("price_of") { }\n'
                'probe my.all = process("%s").function("*") { }\n'
                'probe my.nothing = process("%s").function("nosuch") ? { }\n'
                'probe my.start = begin { text = "a"; if (@defined($return)) unseen = 1 }, { n = strlen(text) }\n' % (path, path, path))
    def listed(option, pattern, *more):
        return good(ctx, option, pattern, '-I', folder, *more).stdout
    assert listed('-l', 'my.*') == 'my.all\nmy.price\nmy.start\n'
    assert listed('-L', 'my.start') == 'my.start text:string n:long\n'
    assert listed('-L', 'my.price.return') == 'my.price.return $return:int $name:char const* $pieces:int\n'
    assert listed('-l', 'process.begin') == 'process.begin\n'
    for words in (), ('-c', path):
        assert listed('-l', 'syscall.openat*', *words) == 'syscall.openat\nsyscall.openat2\n', words
        assert listed('-l', 'nd_syscall.openat.return', *words) == 'nd_syscall.openat.return\n', words
    fd = 'name:string fd:long argstr:string'
    assert listed('-L', 'syscall.close') == 'syscall.close %s\n' % fd
    assert listed('-L', 'syscall.close.return') == 'syscall.close.return %s retval:long retstr:string\n' % fd
    assert listed('-L', 'syscall.close', '-c', path).startswith('syscall.close %s $syscall:long $arg1:long $arg2' % fd)
    p = trapless(ctx, '-l', 'process.function("main")')
    assert p.returncode == 1 and 'PROCESS_TARGET' in p.stderr, p


def test_programs_are_shown_by_their_whole_path(ctx):
    """However the script writes it: from here, or by a link. In lists, by pp() and in stacks."""
    path = os.path.realpath(shop(ctx))
    os.symlink(path, os.path.join(ctx.tmp, 'link'))
    shutil.copy(path, os.path.join(ctx.tmp, 'copy'))
    copy = os.path.realpath(os.path.join(ctx.tmp, 'copy'))
    for written, whole in (('./link', path), (os.path.join(ctx.tmp, 'link'), path), ('./copy', copy)):
        listed = good(ctx, '-l', 'process("%s").function("main")' % written).stdout
        assert listed.startswith('process("%s").function("main' % whole), listed
        good(ctx, '-o', 'out', '-c', written + ' 1 1', '-e', """probe process("%s").begin, process.function("main") { println(pp()) }
            probe process("%s").function("main") { print_ubacktrace() exit() }""" % (written, whole))
        out = open(os.path.join(ctx.tmp, 'out')).read()
        assert out.count('process("%s")' % whole) == 2 and '[%s]' % whole in out and written not in out, out


def test_completions(ctx):
    for shell, word in (('bash', 'complete -F _trapless'), ('zsh', '#compdef trapless'), ('fish', 'complete -c trapless')):
        assert word in good(ctx, '--completions', shell).stdout


def test_cache(ctx):
    """The second run compiles nothing: it does not even need a compiler."""
    folder = os.path.join(ctx.tmp, 'cache')
    env = {'XDG_CACHE_HOME': folder}
    script = 'probe begin { println("cached") exit() }'
    good(ctx, '--no-cache', '-e', script, env=env)
    assert not os.path.exists(folder)
    good(ctx, '-e', script, env=env)
    name, = os.listdir(os.path.join(folder, 'trapless'))
    path = os.path.join(folder, 'trapless', name)
    before = os.stat(path).st_mtime_ns
    assert good(ctx, '-e', script, env=env).stdout == 'cached\n'
    assert os.stat(path).st_mtime_ns == before
    os.chmod(folder + '/trapless', 0o500)
    assert good(ctx, '-e', script.replace('cached', 'other'), env=env).stdout == 'other\n'
    os.chmod(folder + '/trapless', 0o700)


def test_progress_on_a_terminal(ctx):
    """Something moves when a pass takes more than a second, and only then."""
    slow = os.path.join(ctx.tmp, 'slow-cc')
    with open(slow, 'w') as f:
        f.write('#!/bin/sh\nsleep 2\nexec gcc "$@"\n')
    os.chmod(slow, 0o755)
    line = "%s --no-cache --cc %s -e 'probe begin { exit() }'" % (ctx.bin('trapless'), slow)
    if shutil.which('script') is None:
        ctx.skip('no script(1)')
    out = ctx.run(['script', '-qec', line, '/dev/null'], timeout=300).stdout
    assert 'compiling ... 1 s' in out and out.rstrip('\r\n').endswith('\x1b[K'), repr(out)
    out = ctx.run(['script', '-qec', line.replace(slow, 'gcc'), '/dev/null'], timeout=300).stdout
    assert '...' not in out or 'compiling ... ' in out, repr(out)
