# SPDX-License-Identifier: MIT
"""process.data: each write, or access, of a variable, in all threads; the program notices nothing, then or later."""
import ctypes
import os
import re
import signal
import struct
import subprocess

from scripted import attach, environment, finish, launch, script_file, words
from support import ALL, PAIR, Before, start, tracer_of

THREADS, TIMES = 8, 100
COUNT = '''
global writes, few, accesses, wrong
probe process.data("total").write { writes++; wrong += pid() != target() || usymname(uaddr()) != "worker" }
probe process.data("few@watched.c").write { few++ }
probe process.data("few").rw { accesses++ }
probe end { printf("total %d few %d accesses %d wrong %d\\n", writes, few, accesses, wrong) }
'''


def counted(rounds):
    """A write is one access, too; the kernel's is none, nor a child's."""
    return 'total %d few %d accesses %d wrong 0\n' % (rounds * THREADS * TIMES, rounds * 10, rounds * 15)


def program(ctx):
    return start(ctx, ctx.target('watched', cflags=('-O1', '-g')), THREADS, stdin=subprocess.PIPE)


def go(p, n):
    p.stdin.write('\n')
    p.stdin.flush()
    said = p.stdout.readline()
    assert said == 'did %d\n' % (n * THREADS * TIMES), (said, p.poll())


def end(p):
    out, _ = p.communicate(timeout=300)
    assert (p.returncode, out) == (7, ''), (p.returncode, out)


def test_running_process(ctx):
    p = program(ctx)
    before = Before(p.pid, 'watched')
    finish(attach(ctx, COUNT, '--no-follow', pid=p.pid))
    before.check()
    go(p, 1)
    s = attach(ctx, COUNT, '--no-follow', pid=p.pid)
    for n in 2, 3:
        go(p, n)
    out, err = finish(s)
    assert out == counted(2), (out, err)
    go(p, 4)  # a register that was left in a thread would end it here
    end(p)


def test_program_that_is_started(ctx):
    path = ctx.target('watched', cflags=('-O1', '-g'))
    r = launch(ctx, COUNT, '%s %d' % (path, THREADS), '--no-follow', input='\n\n')
    assert (r.returncode, r.script) == (7, counted(2)), (r.returncode, r.script, r.stderr)


def test_values_and_probes_beside(ctx):
    """The handler runs behind the write, before the thread goes on; functions are probed as ever."""
    p = program(ctx)
    s = attach(ctx, '''global calls, values
        probe process.function("round_of") { calls++ }
        probe process.data("few").write { values = values . sprintf("%d ", @var("few")) }
        probe end { printf("%d: %s\\n", calls, values) }''', pid=p.pid)
    go(p, 1)
    out, err = finish(s)
    assert out == '1: 0 1 2 3 4 5 6 7 8 9 \n', (out, err)
    end(p)


def test_written_by_a_displaced_instruction(ctx):
    """It runs in a detour, and is seen where it stands."""
    p = program(ctx)
    s = attach(ctx, '''global calls, where, wrong
        probe process.function("store") { calls++ }
        probe process.data("stored").write { where[usymname(uaddr())]++; wrong += @var("stored") != calls + (calls == 5 && usymname(uaddr()) != "store") }
        probe end { printf("%d %d %d\\n", calls, where["store"], wrong) }''', pid=p.pid)
    go(p, 1)
    out, err = finish(s)
    assert out == '5 5 0\n', (out, err)
    end(p)


def test_by_address(ctx):
    p = program(ctx)
    where = attach(ctx, '''probe process.data("few").write { printf("%d\\n", &@var("few")); exit() }''', pid=p.pid)
    go(p, 1)
    address = int(where.communicate(timeout=300)[0])
    s = attach(ctx, '''global n probe process.data(%d).length(4).rw { n++ } probe end { println(n) }''' % address,
               pid=p.pid)
    go(p, 2)
    out, err = finish(s)
    assert out == '15\n', (out, err)
    end(p)


def test_sessions_together(ctx):
    """Each has its own count; who leaves takes its registers along."""
    p = program(ctx)
    first, second = (attach(ctx, COUNT, '--no-follow', pid=p.pid) for _ in range(2))
    go(p, 1)
    assert finish(first)[0] == counted(1)
    go(p, 2)
    third = attach(ctx, COUNT, '--no-follow', pid=p.pid)
    go(p, 3)
    assert finish(third)[0] == counted(1)
    assert finish(second)[0] == counted(3)
    go(p, 4)
    end(p)


def test_too_many(ctx):
    """What does not fit is refused, and the program left alone."""
    p = program(ctx)
    before = Before(p.pid, 'watched')
    script = script_file(ctx, '''probe process.data("few").write { }
        probe process.data("line").length(32).write { }''')
    r = ctx.run(words(ctx, '-x', p.pid, script), env=environment(ctx), timeout=300)
    assert r.returncode == 1, (r.stdout, r.stderr)
    assert 'data("line").length(32).write: probe refused [LIMIT]: the processor has four' in r.stderr, r.stderr
    before.check()
    go(p, 1)
    end(p)


def test_nothing_is_mapped_there(ctx):
    """At the address, or at its last byte."""
    p = program(ctx)
    before = Before(p.pid, 'watched')
    with open('/proc/%d/maps' % p.pid) as maps:
        mapped = [[int(x, 16) for x in line.split()[0].split('-')] for line in maps]
    end_of = next(hi for (_, hi), (lo, _) in zip(mapped, mapped[1:]) if lo > hi)
    for address, length in (0x10, 8), (end_of - 4, 8), (end_of, 4):
        point = 'process.data(%d).length(%d).write' % (address, length)
        r = ctx.run(words(ctx, '-x', p.pid, '-e', 'probe %s { }' % point), env=environment(ctx), timeout=300)
        assert r.returncode == 1 and 'probe refused [INVAL]: the process has no memory there' in r.stderr, (address, r)
    s = attach(ctx, 'probe process.data(%d).length(4).write { } probe timer.ms(50) { exit() }' % (end_of - 4), pid=p.pid)
    out, err = s.communicate(timeout=300)
    assert s.returncode == 0 and 'probe refused' not in s.seen + err, s.seen + err
    before.check()
    go(p, 1)
    end(p)


def test_killed_runner(ctx):
    """Its guardian takes them out."""
    p = program(ctx)
    s = attach(ctx, COUNT, '--no-follow', pid=p.pid)
    go(p, 1)
    guardian = tracer_of(p.pid)
    with open('/proc/%d/status' % guardian) as f:
        os.kill(int(re.search(r'^PPid:\t(\d+)', f.read(), re.M)[1]), signal.SIGKILL)
    for n in 2, 3:
        go(p, n)
    end(p)
    s.wait(timeout=300)


def test_killed_guardian(ctx):
    """Its heir takes them out, where the program is not hit before that."""
    p = program(ctx)
    before = Before(p.pid, 'watched')
    s = attach(ctx, COUNT, '--no-follow', pid=p.pid)
    os.kill(tracer_of(p.pid), signal.SIGKILL)
    s.communicate(timeout=300)
    before.check()
    go(p, 1)
    end(p)


def test_beside_spawning_threads(ctx):
    """A parent that waits for its vfork child cannot be stopped, and holds nobody up."""
    p = start(ctx, ctx.target('spawner', cflags=('-O1', '-g')), stdin=subprocess.PIPE)
    for _ in range(20 if ctx.long else 6):
        s = attach(ctx, 'global n probe process.data("counter").write { if (++n == 20) exit() }', pid=p.pid)
        out, err = s.communicate(timeout=300)
        assert s.returncode == 0, s.seen + err
    out, _ = p.communicate('\n', timeout=300)
    assert (p.returncode, out) == (7, ''), (p.returncode, out)


def test_where_sigtrap_is_blocked(ctx):
    """By a mask, or while the program's own handler of it runs: mask and disposition are as the program has set them."""
    path = ctx.target('sigtrap', cflags=('-O1', '-g'))
    for mode in ((), ('alone',), ('inside',)):
        p = start(ctx, path, 200, *mode, stdin=subprocess.PIPE)
        s = attach(ctx, 'global n probe process.data("hits").write { n++ } probe end { println(n) }', pid=p.pid)
        out, _ = p.communicate('go\n', timeout=300)
        assert (p.returncode, out) == (7, 'right 200\n'), (mode, p.returncode, out)
        out, err = s.communicate(timeout=300)
        assert s.returncode == 0 and int(out) >= 200, (mode, out, s.seen + err)


def test_of_a_library(ctx):
    """Its variable is watched from when it is loaded; before its constructor runs, where the program is started."""
    lib = ctx.target('plugin', cflags=('-O0', '-g', '-shared', '-fPIC'))
    path = ctx.target('late')
    script = '''global n probe process("%s").library("%s").data("sum").write { n++ } probe end { println(n) }''' % (path, lib)
    p = start(ctx, path, lib, 3, stdin=subprocess.PIPE)
    s = attach(ctx, script, pid=p.pid)
    out, _ = p.communicate('\n', timeout=300)
    assert (p.returncode, out) == (7, 'called 3\n'), (p.returncode, out)
    assert s.communicate(timeout=300)[0] == '1\n'
    r = launch(ctx, script, '%s %s 3' % (path, lib), input='\n')
    assert (r.returncode, r.script) == (7, '1\n'), (r.script, r.stderr)


def test_static_local(ctx):
    """By its function's name."""
    path = ctx.target('watched', cflags=('-O1', '-g'))
    script = 'probe process("%s").data("store::last").write { n++; v = @var("stored") } global n, v probe end { println(n, " ", v) }'
    r = launch(ctx, script % path, path, input='\n')
    assert (r.returncode, r.script) == (7, '5 5\n'), (r.script, r.stderr)


def refused(ctx, point, tag, said):
    r = ctx.run(words(ctx, '-p2', script_file(ctx, 'probe process("%s")%s { }' % (
        ctx.target('watched', cflags=('-O1', '-g')), point))), env=environment(ctx))
    assert r.returncode == 1 and 'error[%s]' % tag in r.stderr and said in r.stderr, r.stderr


def test_refused_by_name(ctx):
    refused(ctx, '.data("totel").write', 'POINT_NO_MATCH', 'did you mean `total`?')
    refused(ctx, '.data("store::first").write', 'POINT_NO_MATCH', 'no variable')
    refused(ctx, '.data("own").write', 'POINT_NO_MATCH', 'no place of its own')
    refused(ctx, '.data("line").write', 'POINT_ARGUMENT', 'at most 32 can be watched')
    refused(ctx, '.data("total")', 'POINT_UNKNOWN', '.rw for reads and writes')
    refused(ctx, '.data("total").length(33).rw', 'POINT_ARGUMENT', '1 to 32')
    refused(ctx, '.data(0xffffffff81000000).write', 'POINT_ARGUMENT', 'no program has data at')


def test_preload_refuses(ctx):
    path = ctx.target('watched', cflags=('-O1', '-g'))
    r = launch(ctx, 'probe process.data("total").write { }', path, '--preload', input='\n')
    assert r.returncode == 1 and 'only a tracer may set' in r.stderr, r.stderr


test_running_process.variants = test_program_that_is_started.variants = ALL
test_sessions_together.variants = test_killed_runner.variants = test_nothing_is_mapped_there.variants = ALL
test_written_by_a_displaced_instruction.variants = test_beside_spawning_threads.variants = test_of_a_library.variants = test_values_and_probes_beside.variants = PAIR


def test_registers_are_named(ctx):
    """-v tells which register a probe has; the last one is the first to be taken."""
    script = 'probe process.data("total").write, process.data("few").rw { }'
    p = program(ctx)
    _, err = finish(attach(ctx, script, pid=p.pid))
    end(p)
    lines = re.findall(r'watch +0x[0-9a-f]+ +process\("[^"]*"\)\.data\("(\w+)"\)\.\w+; (\d) bytes; debug register (\d)\n', err)
    assert lines == [('total', '8', '3'), ('few', '4', '2')], err


def breakpoints(ctx, pid, n):
    """Takes n debug registers of that thread, as `perf record -e mem:ADDRESS` does."""
    libc = ctypes.CDLL(None, use_errno=True)
    files = []
    for i in range(n):
        attr = ctypes.create_string_buffer(136)
        struct.pack_into('<II', attr, 0, 5, 136)  # PERF_TYPE_BREAKPOINT
        struct.pack_into('<QIIQQ', attr, 40, 0b1100000, 0, 2, 0x10000 + 8 * i, 8)  # not in the kernel; a write
        fd = libc.syscall(298, attr, pid, -1, -1, 8)  # perf_event_open
        if fd < 0:
            ctx.skip('no breakpoints of perf here: ' + os.strerror(ctypes.get_errno()))
        files.append(fd)
    return files


def test_registers_that_the_kernel_does_not_give(ctx):
    """All four of the first thread's are taken: told once, with the kernel's reason; nothing happens to the program."""
    p = program(ctx)
    taken = breakpoints(ctx, p.pid, 4)
    s = attach(ctx, COUNT, pid=p.pid)
    go(p, 1)
    out, err = finish(s)
    for fd in taken:
        os.close(fd)
    go(p, 2)
    end(p)
    told = re.findall(r'does not give a thread of process (\d+) the debug registers .*\(No space left on device\).*; next: ', err)
    assert told == [str(p.pid)] and 'accesses 0 ' in out, (out, err)


test_registers_are_named.variants = test_registers_that_the_kernel_does_not_give.variants = PAIR
