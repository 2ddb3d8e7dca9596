# SPDX-License-Identifier: MIT
"""Static marks: their arguments in every form, and semaphores, which count those who listen."""
import os
import signal

import scripted
import support

PIE = ('-O2', '-g')
FIXED = ('-O2', '-g', '-fno-pie')


def builds(ctx):
    for cc in 'gcc', 'clang':
        yield ctx.target('marks', PIE, cc)
        yield ctx.target('marks', FIXED, cc, ('-no-pie',))


def say(p, line='go'):
    """What the program answers."""
    p.stdin.write(line + '\n')
    p.stdin.flush()
    return p.stdout.readline().strip()


ARGUMENTS = '''
probe process.mark("registers") { printf("%d %d %d", $arg1, $arg2, $arg3) printf(" %d\\n", @uderef(8, $arg4)) }
probe process.mark("memory") { printf("%d %d %d %d %d\\n", $arg1, $arg2, $arg3, $arg4, $arg5) }
probe process.mark("constants") { println($$vars) printf("%d %d\\n", $arg3, $arg4) }
probe process.mark("high") { println($arg1, " ", $arg2, " ", $arg3) }
probe process.mark("odd") { println($$parms) println(@defined($arg1), @defined($arg2), @defined($arg7)) }
probe process.mark("none") { i = 0 println($$vars, "-", i) println($i) }
'''
ARGUMENTS_SEEN = '''\
-5 250 1 1
-20 -1099511627776 -7 65535 4294967289
$arg1=0xfffffffffffffffd $arg2=0xffffffff $arg3=0xffffffffffffffc8 $arg4=0xc8 $arg5=0x5
-56 200
129 -127 33278
$arg1=? $arg2=0x1 $arg3=? $arg4=? $arg5=? $arg6=?
010
-0
1
'''


def test_arguments_in_every_form(ctx):
    for path in builds(ctx):
        r = scripted.launch(ctx, ARGUMENTS, path, '-w', input='go\n')
        assert r.returncode == 0, r.stderr
        assert r.script == ARGUMENTS_SEEN, '%s:\n%s%s' % (path, r.script, r.stderr)


def test_names_and_wildcards(ctx):
    script = '''probe process.provider("targ*").mark("[rm]e*") { println($$provider, " ", $$name) n++ }
        global n  probe process.mark("*") { n++ } probe end { println(n) println(m) }
        global m  probe process.provider("other").mark("*") ?, process.mark("none") { m++ }'''
    path = ctx.target('marks')
    r = scripted.launch(ctx, script, path, input='go\n')
    assert r.returncode == 0, r.stderr
    assert r.script == 'targets registers\ntargets memory\n9\n1\n', r.script + r.stderr
    r = ctx.run([ctx.bin('trapless'), '-L', 'process("%s").mark("[moh]*")' % path])
    shown = ['.mark("high") $arg1:long $arg2:long $arg3:long',
             '.mark("memory") $arg1:long $arg2:long $arg3:long $arg4:long $arg5:long', '.mark("odd") $arg2:long']
    assert [line.split(')', 1)[1] for line in r.stdout.splitlines()] == shown, r.stdout + r.stderr


test_names_and_wildcards.variants = support.PAIR


LISTEN = 'global n  probe process.mark("watched") { n += $arg1 } probe end { println(n) }'


def test_semaphores_count_who_listens(ctx):
    """Two sessions, coming and going in any order; a fork child that is let go of has none."""
    for path in builds(ctx):
        p = support.start(ctx, path)
        assert say(p) == '0'
        a = scripted.attach(ctx, LISTEN, '--no-follow', pid=p.pid)
        assert say(p) == '1'
        b = scripted.attach(ctx, LISTEN, '--no-follow', pid=p.pid)
        assert say(p) == '2'
        assert say(p, 'f') == 'child 0'
        out, _ = scripted.finish(a)
        assert out == '9\n', out  # 2 + 3 + 4
        assert say(p) == '1'
        out, _ = scripted.finish(b)
        assert out == '12\n', out  # 3 + 4 + 5
        assert say(p) == '0'
        p.stdin.close()
        assert p.wait(timeout=300) == 0


def test_semaphores_when_a_probe_is_switched(ctx):
    path = ctx.target('marks')
    p = support.start(ctx, path)
    support.runtime_folder(ctx)
    s = scripted.attach(ctx, LISTEN, pid=p.pid)
    for switch, count in ('--disable', '0'), ('--enable', '1'):
        r = ctx.run([support.runner(ctx), switch, '*', '--session', str(s.pid)])
        assert r.returncode == 0, r.stdout + r.stderr
        assert say(p) == count
    scripted.finish(s)
    assert say(p) == '0'
    p.stdin.close()


def test_semaphores_after_a_death(ctx):
    """Of the runner, then of the guardian: the next session, or an heir, takes the dead one's count away."""
    path = ctx.target('marks')
    p = support.start(ctx, path)
    before = support.Before(p.pid, os.path.basename(path))
    s = scripted.attach(ctx, LISTEN, pid=p.pid)
    runner = int(open('/proc/%d/status' % support.tracer_of(p.pid)).read().split('PPid:')[1].split()[0])
    os.kill(runner, signal.SIGKILL)
    s.wait(timeout=300)
    before.check()
    assert say(p) == '0'
    s = scripted.attach(ctx, LISTEN, pid=p.pid)
    os.kill(support.tracer_of(p.pid), signal.SIGKILL)
    before.check()
    assert say(p) == '0'
    s.wait(timeout=300)
    p.stdin.close()
    assert p.wait(timeout=300) == 0


def test_real_marks(ctx):
    """The C++ runtime's, in a program that throws."""
    path = ctx.target('throw.cc', cc='g++')
    script = '''global n  probe process.library("libstdc++.so.6").provider("libstdcxx").mark("*") { n[$$name]++ }
        probe end { foreach (k in n) println(k) }'''
    r = scripted.launch(ctx, script, path)
    assert sorted(r.script.split()) == ['catch', 'rethrow', 'throw'], r.script + r.stderr


# --- in libraries ------------------------------------------------------------------------------

SHARED = ('-O2', '-g', '-shared', '-fPIC')
# In a section of the file, in what the loader clears, and at the end of that, on a page of its own.
PLACES = '', '-DSEMAPHORE=', '-DSEMAPHORE=__attribute__((section(".bss.z"),aligned(8192)))'
TICKS = '''global n, sum  probe process("%s").library("%s").mark("plugged") { n++ sum += $arg1 }
    probe end { println(n, " ", sum) }'''
ALL = '101 5050\n'  # the constructor's, and 100 more


def with_library(ctx, place, cc='gcc'):
    lib = ctx.target('plugged', SHARED + ((place,) if place else ()), cc)
    return ctx.target('linked', cc=cc, ldflags=(lib,)), lib


def test_semaphores_of_libraries(ctx):
    """Mapped by the loader, whose constructors are seen, too: by a session that starts the program, or its parent."""
    for place in PLACES:
        for cc in 'gcc', 'clang', 'musl-gcc':
            path, lib = with_library(ctx, place, cc)
            for command in '%s', 'sh -c "%s; exit 7"':
                r = scripted.launch(ctx, TICKS % (path, lib), command % path)
                assert r.script == ALL and r.stdout == 'ready\nlisteners 1\n', (place, cc, r)


def test_semaphores_of_libraries_attached(ctx):
    for place in PLACES:
        path, lib = with_library(ctx, place)
        p = support.start(ctx, path, 'wait')
        s = scripted.attach(ctx, TICKS % (path, lib), pid=p.pid)
        assert say(p) == 'listeners 1'
        assert scripted.finish(s, sig=None)[0] == '100 5050\n'


def test_semaphores_of_libraries_preloaded(ctx):
    for place in PLACES:
        path, lib = with_library(ctx, place)
        r = scripted.launch(ctx, TICKS % (path, lib), path, '--preload')
        assert r.script == ALL and r.stdout == 'ready\nlisteners 1\n', (place, r)


test_semaphores_of_libraries_preloaded.jumps_only = support.NO_BREAKPOINTS


def test_semaphores_of_libraries_loaded_late(ctx):
    """And again."""
    for place in PLACES:
        _, lib = with_library(ctx, place)
        path = ctx.target('copies', ldflags=('-ldl',))
        for how in 'on':
            lines = ('%s %s\nc\nx 1\n%s %s\nc\n' % (how, lib, how, lib))
            r = scripted.launch(ctx, TICKS % (path, lib), path, input=lines)
            assert r.script == '22 30\n', (place, r.script, r.stdout, r.stderr)


def test_semaphore_that_cannot_be_written(ctx):
    """It is said; the mark stands."""
    path, lib = with_library(ctx, '-DSEMAPHORE=__attribute__((section(".rodata.z,\\"a\\",@progbits#")))')
    p = support.start(ctx, path, 'wait')
    s = scripted.attach(ctx, TICKS % (path, lib), pid=p.pid)
    assert say(p) == 'listeners 0'
    out, err = scripted.finish(s, sig=None)
    assert out == '0 0\n' and '1 mark with a semaphore that lies in no memory that can be written' in err, (out, err)


def test_preloaded(ctx):
    r = scripted.launch(ctx, LISTEN, ctx.target('marks'), '--preload', input='go\ngo\n')
    assert r.returncode == 0 and r.script == '3\n', r.script + r.stderr
    assert r.stdout == 'ready\n1\n1\n', r.stdout


test_preloaded.jumps_only = support.NO_BREAKPOINTS
