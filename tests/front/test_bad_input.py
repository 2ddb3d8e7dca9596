# SPDX-License-Identifier: MIT
"""Bad input: one clear message, what to do next, status not 0, nothing changed in the target."""
import os
import re
import shutil
import signal
import struct
import subprocess

from context import wait_until
from support_front import Selling, Untouched, shop, symbol, trapless

SELL = 'probe process.function("sell") { println("hit") exit() }'


def refused(p, tag, *words):
    """One error, with its tag and a next step."""
    assert p.returncode == (2 if tag == 'USAGE' else 1), '%d: %s%s' % (p.returncode, p.stdout, p.stderr)
    assert p.stderr.count('error[') == 1, 'not one error: ' + p.stderr
    assert 'error[%s]' % tag in p.stderr, p.stderr
    assert '= next step: ' in p.stderr, 'no next step: ' + p.stderr
    for w in words:
        assert w in p.stderr, '%r is missing: %s' % (w, p.stderr)


def refused_by_runner(p, *words):
    assert p.returncode == 1, '%d: %s%s' % (p.returncode, p.stdout, p.stderr)
    assert len(p.stderr.strip().splitlines()) == 1, 'not one line: ' + p.stderr
    for w in words:
        assert w in p.stderr, '%r is missing: %s' % (w, p.stderr)


def test_script_errors(ctx):
    target = Selling(ctx)
    refused(trapless(ctx, '-x', target.pid, '-e', 'probe process.function("sell") { x = nosuch() }'), 'NAME_UNKNOWN')
    p = trapless(ctx, '-x', target.pid, '-e', 'probe begin { a = 1 + "x" }\nprobe end { b = nosuch() }')
    assert p.returncode == 1 and p.stderr.count('error[') == 2, 'several in one run: ' + p.stderr
    target.unchanged()


def test_missing_script(ctx):
    refused(trapless(ctx, '/nowhere/script.stp'), 'FILE_MISSING', '/nowhere/script.stp')
    refused(trapless(ctx, '-v'), 'USAGE', '--help')
    refused(trapless(ctx, shop(ctx)), 'USAGE', 'not a script', '-c')


def test_missing_program(ctx):
    refused(trapless(ctx, '-e', SELL, '-c', 'no-such-program x'), 'PROGRAM_UNKNOWN', '`no-such-program`')
    refused(trapless(ctx, '-e', SELL, '-c', '/no/such/program'), 'PROGRAM_UNKNOWN')
    refused(trapless(ctx, '-e', 'probe process("no-such-program").function("f") {}'), 'PROGRAM_UNKNOWN')
    refused(trapless(ctx, '-e', 'probe process("ls").library("no-such.so").function("f") {}'), 'LIBRARY_UNKNOWN')
    path = os.path.join(ctx.tmp, 'emporium')
    shutil.copy(shop(ctx), path)
    near = 'did you mean %s?' % path
    refused(trapless(ctx, '-e', SELL, '-c', path[:-1] + ' x'), 'PROGRAM_UNKNOWN', near)
    refused(trapless(ctx, '-e', 'probe process("%s").function("f") {}' % path.replace('ori', 'ri')), 'PROGRAM_UNKNOWN', near)


def test_wrong_file(ctx):
    text = os.path.join(ctx.tmp, 'text')
    with open(text, 'w') as f:
        f.write('not a program\n')
    os.chmod(text, 0o755)
    refused(trapless(ctx, '-e', 'probe process("%s").function("f") {}' % text), 'FILE_NOT_ELF')
    cut = os.path.join(ctx.tmp, 'cut')
    with open(shop(ctx), 'rb') as f:
        head = f.read(3000)
    with open(cut, 'wb') as f:
        f.write(head)
    p = trapless(ctx, '-e', 'probe process("%s").function("sell") {}' % cut)
    assert p.returncode == 1 and 'error[' in p.stderr and 'panic' not in p.stderr, p.stderr


def test_pid_is_gone(ctx):
    p = ctx.start(['true'])
    p.wait()
    refused(trapless(ctx, '-x', p.pid, '-e', SELL), 'TARGET_MISSING', 'no such process')


def test_zombie(ctx):
    p = ctx.start(['true'])
    wait_until(lambda: re.search(r'^State:\s*Z', open('/proc/%d/status' % p.pid).read(), re.M), 'it does not come to that')
    refused(trapless(ctx, '-x', p.pid, '-e', SELL), 'TARGET_MISSING', 'has ended')


def test_stopped(ctx):
    target = Selling(ctx)
    target.process.send_signal(signal.SIGSTOP)
    wait_until(lambda: re.search(r'^State:\s*T', open('/proc/%d/status' % target.pid).read(), re.M), 'it does not come to that')
    refused_by_runner(trapless(ctx, '-x', target.pid, '-e', SELL), 'is stopped', 'kill -CONT')
    target.unchanged()
    target.process.send_signal(signal.SIGCONT)
    target.end()


def test_other_user(ctx):
    target = Selling(ctx, user=0, group=0)
    refused(trapless(ctx, '-x', target.pid, '-e', SELL), 'TARGET_MISSING', 'belongs to another user', 'root')
    p = trapless(ctx, '-T', 1, '-e', 'probe process("%s").function("sell") {}' % target.path)
    assert p.returncode == 0 and 'waiting for %s to start (processes of others are not seen: run as their user, or as root)' % target.path in p.stderr, p.stderr
    target.unchanged()
    target.end()


test_other_user.user_only = 'root may trace the processes of all'
test_other_user.by_root = 'it makes a process of another user'


def test_not_dumpable(ctx):
    """The process has said that nobody may look into it."""
    work = 'import ctypes, time; ctypes.CDLL(None).prctl(4, 0); print("ready", flush=True); time.sleep(60)'
    p = ctx.start(['/usr/bin/python3', '-c', work])
    p.stdout.readline()
    before = Untouched(p.pid)
    refused(trapless(ctx, '-x', p.pid, '-e', 'probe process.library("libc.so.6").function("malloc") {}'),
            'TARGET_MISSING', 'non-dumpable', 'PR_SET_DUMPABLE', 'run as root')
    before.unchanged()


test_not_dumpable.user_only = 'root may trace the processes of all'
test_not_dumpable.by_root = 'nobody else can see that nothing has changed'


def test_32_bit(ctx):
    source = os.path.join(ctx.tmp, 'x.c')
    with open(source, 'w') as f:
        f.write('int main(void) { for (;;) __asm__ volatile("int $0x80" : : "a"(29)); }\n')
    exe = os.path.join(ctx.tmp, 'x')
    words = ['gcc', '-m32', '-nostartfiles', '-nostdlib', '-static', '-Wl,-e,main', '-o', exe, source]
    if subprocess.run(words, stderr=subprocess.DEVNULL).returncode:
        ctx.skip('this gcc does not build 32-bit programs')
    p = ctx.start([exe])
    wait_until(lambda: re.search(r' %s\n(.*\n)*.*\[vdso\]' % re.escape(exe), open('/proc/%d/maps' % p.pid).read()), 'it does not come to that')
    before = Untouched(p.pid)
    refused(trapless(ctx, '-x', p.pid, '-e', 'probe process.function("main") {}'), 'FILE_32BIT')
    before.unchanged()


FOREIGN = '''
#include <stdio.h>
__attribute__((noinline)) int work(int n) { __asm__ volatile("" : "+r"(n)); return n + 1; }
int main(void) { int n = 0; puts("ready"); fflush(stdout); while (getchar() != EOF) n = work(n); printf("n %d\\n", n); return 7; }
'''


def test_other_architecture(ctx):
    """Of a program that an emulator runs only the emulator is a process here: it may be probed."""
    cc, emulator = 'mips-linux-gnu-gcc', shutil.which('qemu-mips') or shutil.which('qemu-mips-static')
    if not shutil.which(cc) or not emulator:
        ctx.skip('no %s, or no qemu-mips' % cc)
    source, exe = os.path.join(ctx.tmp, 'x.c'), os.path.join(ctx.tmp, 'x')
    with open(source, 'w') as f:
        f.write(FOREIGN)
    subprocess.run([cc, '-static', '-o', exe, source], check=True)
    point = 'probe process("%s").function("work") { exit() }' % exe
    p = ctx.start([emulator, exe])
    assert p.stdout.readline() == 'ready\n'
    before = Untouched(p.pid)
    for args in ([], ['-x', p.pid], ['-c', '%s %s' % (emulator, exe)], ['-c', exe]):
        refused(trapless(ctx, *args, '-e', point), 'FILE_WRONG_ARCH', 'MIPS', 'only x86-64', 'qemu')
    refused(trapless(ctx, '-c', exe, '-e', 'probe process.function("work") { }'), 'FILE_WRONG_ARCH')
    mine = trapless(ctx, '-x', p.pid, '-e', 'probe process.function("work") { }')
    assert mine.returncode == 1 and os.path.realpath(emulator) in mine.stderr, mine.stderr
    before.unchanged()
    s = ctx.start([ctx.bin('trapless'), '-v', '-x', str(p.pid), '-e', 'global n probe process.library("libc.so.6")'
                   '.function("pthread_mutex_lock") { n++ } probe end { println(n) }'], stderr=subprocess.PIPE)
    assert any('probes armed' in line for line in s.stderr)
    out, _ = p.communicate('x' * 100, timeout=300)
    assert (p.returncode, out) == (7, 'n 100\n'), (p.returncode, out)
    got, err = s.communicate(timeout=300)
    assert s.returncode == 0 and int(got) > 0, (got, err)


def test_no_compiler(ctx):
    target = Selling(ctx)
    p = trapless(ctx, '--no-cache', '--cc', 'no-such-cc', '-x', target.pid, '-e', SELL)
    refused(p, 'COMPILER_MISSING', 'apt-get install gcc', 'trapless-run')
    target.unchanged()
    target.end()


def test_what_is_no_compiler(ctx):
    p = trapless(ctx, '--no-cache', '--cc', 'gcc -Dstatic=4', '-e', SELL, '-c', shop(ctx))
    refused(p, 'MODULE_BUILD', ': error: ', '--cc')
    assert len(p.stderr.splitlines()) < 8, p.stderr
    refused(trapless(ctx, '--no-cache', '--cc', 'false', '-e', SELL, '-c', shop(ctx)), 'MODULE_BUILD', 'does not say why')


def test_no_room(ctx):
    """The compiler's folder is full."""
    if os.getuid() or subprocess.run(['unshare', '-m', 'true'], stderr=subprocess.DEVNULL).returncode:
        ctx.skip('only root may mount a small folder')
    tmp = os.path.join(ctx.tmp, 'small')
    os.mkdir(tmp)
    mount = 'mount -t tmpfs -o size=4k,mode=1777 none "$0" && TMPDIR="$0" exec "$@"'
    p = ctx.run(['unshare', '-m', 'sh', '-c', mount, tmp, ctx.bin('trapless'), '--no-cache', '-e', 'probe begin { exit() }'])
    refused(p, 'MODULE_BUILD', 'make room in ' + tmp, 'TMPDIR')


def test_too_few_open_files(ctx):
    p = ctx.run(['sh', '-c', 'ulimit -n 6; exec "$0" --no-cache -e "probe begin { exit() }"', ctx.bin('trapless')])
    refused(p, 'MODULE_BUILD', 'Too many open files', 'ulimit -n')


def test_no_more_processes(ctx):
    """The limit is of all that the user runs; it does not hold for root."""
    p = ctx.run(['prlimit', '--nproc=0', ctx.bin('trapless'), '-e', 'probe begin { exit() }'])
    assert p.returncode == 1 and 'cannot start a thread of its own: ' in p.stderr and 'ulimit -u' in p.stderr, p
    p = ctx.run([ctx.bin('trapless'), '--no-cache', '--rlimit-nproc', '0', '-e', 'probe begin { exit() }'])
    refused(p, 'MODULE_BUILD', 'the C compiler cannot be run: ', '--rlimit-nproc')


test_no_more_processes.user_only = 'no such limit holds for root'


def limited(ctx, limit, *args):
    """trapless under a limit of the shell's."""
    words = ['sh', '-c', 'ulimit %s; exec "$@"' % limit, 'sh', ctx.bin('trapless'), '-e', 'probe begin { exit() }']
    return ctx.run(words + list(args))


def test_files_of_no_size(ctx):
    """ulimit -f: the compiler's files, the module, then the session's memory."""
    refused(limited(ctx, '-f 0', '--no-cache'), 'MODULE_BUILD', 'ulimit -f')
    assert trapless(ctx, '-e', 'probe begin { exit() }').returncode == 0  # it is in the cache now
    refused(limited(ctx, '-f 0'), 'FILE_MISSING', 'ulimit -f')
    refused_by_runner(limited(ctx, '-f 200'), 'cannot make session memory', 'ulimit -f')


def test_no_memory(ctx):
    """ulimit -d, from where the program can be loaded at all."""
    assert trapless(ctx, '-e', 'probe begin { exit() }').returncode == 0
    for limit in 500, 1000, 2000:
        p = limited(ctx, '-d %d' % limit)
        assert p.returncode == 1 and 'next step: raise it' in p.stderr and 'ulimit -d' in p.stderr, p


def test_inlined_or_not(ctx):
    """There, but not in the way that was asked for."""
    path = ctx.target('inlined')
    for suffix in '.return', '.call':
        p = trapless(ctx, '-e', 'probe process("%s").function("twice")%s {}' % (path, suffix))
        refused(p, 'POINT_NO_MATCH', 'only inlined', 'no calls and returns of its own', '.function("twice") alone or .inline')
    p = trapless(ctx, '-e', 'probe process("%s").function("main").inline {}' % path)
    refused(p, 'POINT_NO_MATCH', 'nowhere inlined', 'leave .inline out')
    for suffix in '', '.call', '.inline':
        refused(trapless(ctx, '-e', 'probe process("%s").function("thrice")%s {}' % (path, suffix)), 'FUNCTION_UNKNOWN')


def test_no_debug_information(ctx):
    target = Selling(ctx, ctx.target('../examples/shop', cflags=('-O2', '-s', '-rdynamic')))

    def asked(place):
        return trapless(ctx, '-x', target.pid, '-e', 'probe process("%s").%s' % (target.path, place))

    refused(asked('function("sell") { println($n) }'), 'DEBUGINFO_NONE', 'with -g', 'int_arg')
    for place in ('function("sell@shop.c")', 'statement("sell@shop.c:20")', 'function("sell").inline'):
        refused(asked(place + ' {}'), 'DEBUGINFO_NONE', 'no source lines', '.statement(0x')
    refused(asked('function("sel") {}'), 'FUNCTION_NOT_EXPORTED', 'did you mean sell')
    target.unchanged()
    target.end()


def test_machine_without_debug_information(ctx):
    """As Debian is without libc6-dbg: what the C library exports can be probed, the rest is refused, with the package's name."""
    if os.getuid() or subprocess.run(['unshare', '-m', 'true'], stderr=subprocess.DEVNULL).returncode:
        ctx.skip('only root may hide the debug information of this machine')

    def asked(place):
        hidden = 'mount -t tmpfs none /usr/lib/debug && exec "$0" "$@"'
        script = 'probe process.library("libc.so.6").' + place
        return ctx.run(['unshare', '-m', 'sh', '-c', hidden, ctx.bin('trapless'), '-e', script, '-c', '/bin/ls'],
                       env={'DEBUGINFOD_URLS': ''})

    p = asked('function("malloc") { println("of ", ulong_arg(1) > 0, probefunc()) exit() }')
    assert p.returncode == 0 and 'of 1malloc\n' in p.stdout, p
    refused(asked('function("malloc") { println($bytes) }'), 'DEBUGINFO_NONE', 'libc6-dbg', 'int_arg')
    refused(asked('statement("malloc@malloc.c:*") {}'), 'DEBUGINFO_NONE', 'libc6-dbg', '.statement(0x')
    refused(asked('function("ptmalloc_init") {}'), 'FUNCTION_NOT_EXPORTED')


def test_function_of_a_stripped_program(ctx):
    target = Selling(ctx, ctx.target('../examples/shop', cflags=('-O2', '-s')))
    p = trapless(ctx, '-x', target.pid, '-e', 'probe process("%s").function("sell") {}' % target.path)
    refused(p, 'FUNCTION_NOT_EXPORTED', 'is stripped', 'with -g', '.statement(0x')
    bare = os.path.join(ctx.tmp, 'bare')
    for options in ((), ('-static-pie',)):
        assert ctx.run(['gcc', '-s', *options, '-o', bare, os.path.join(ctx.root, 'tests/targets/tails.c')]).returncode == 0
        p = trapless(ctx, '-e', 'probe process("%s").function("*") {}' % bare)
        assert p.returncode == 1 and 'library' not in p.stderr, p
    target.unchanged()
    target.end()
    git = trapless(ctx, '-e', 'probe process("git").function("cmd_log") {}', env={'DEBUGINFOD_URLS': ''})
    if git.returncode:
        refused(git, 'FUNCTION_NOT_EXPORTED', 'git-dbgsym', 'DEBUGINFOD_URLS', '.statement(0x')


def test_function_of_a_library(ctx):
    """Not the program's, but one of its libraries has it."""
    target = Selling(ctx)
    for function in ('malloc', 'mallo?'):
        p = trapless(ctx, '-x', target.pid, '-e', 'probe process.function("%s") {}' % function)
        refused(p, 'FUNCTION_UNKNOWN', '.library("libc.so.6").function("%s")' % function)
    target.unchanged()
    target.end()


def test_another_program(ctx):
    """A process that runs something else is told at the start; the session goes on."""
    target = Selling(ctx)
    script = 'probe process("/bin/true").library("libc.so.6").function("malloc") { } probe timer.ms(1) { exit() }'
    p = trapless(ctx, '-x', target.pid, '-e', script)
    told = 'WARNING: process %d runs %s, but the script is about ' % (target.pid, target.path)
    assert p.returncode == 0 and told in p.stderr and '/bin/true' in p.stderr, p.stderr
    assert 'WARNING' not in trapless(ctx, '-w', '-x', target.pid, '-e', script).stderr
    p = trapless(ctx, '-x', target.pid, '-e', script + 'probe process("%s").function("sell") {}' % target.path)
    assert 'WARNING' not in p.stderr, p.stderr
    target.end()


def test_kernel_thread(ctx):
    if not os.path.exists('/proc/2') or open('/proc/2/comm').read() != 'kthreadd\n':
        ctx.skip('no threads of the kernel are seen here')
    refused(trapless(ctx, '-x', 2, '-e', 'probe process.function("main") {}'), 'TARGET_MISSING', 'thread of the kernel')


test_kernel_thread.variants = ('opt', 'nobody')


def test_unknown_names(ctx):
    target = Selling(ctx)
    refused(trapless(ctx, '-x', target.pid, '-e', 'probe process.function("sel") {}'), 'FUNCTION_UNKNOWN', 'sell')
    refused(trapless(ctx, '-x', target.pid, '-e', 'probe process.function("sell") { println($nn) }'), 'CTX_VAR_UNKNOWN')
    target.unchanged()
    target.end()


def test_damaged_module(ctx):
    target = Selling(ctx)
    p = trapless(ctx, '-p4', '-m', 'whole', '-x', target.pid, '-e', SELL)
    assert p.returncode == 0, p.stderr
    with open(os.path.join(ctx.tmp, 'whole.tap'), 'rb') as f:
        data = f.read()
    changed = bytearray(data)
    changed[len(data) // 2] ^= 0x10
    for bad, word in ((data[:-9], 'truncated'), (bytes(changed), 'check sum'), (b'', 'not a trapless module')):
        path = os.path.join(ctx.tmp, 'bad.tap')
        with open(path, 'wb') as f:
            f.write(bad)
        refused_by_runner(ctx.run([ctx.bin('trapless-run'), path, '-x', str(target.pid)]), word)
        target.unchanged()
    target.end()


def test_module_for_another_machine(ctx):
    target = Selling(ctx)
    assert trapless(ctx, '-p4', '-m', 'own', '-x', target.pid, '-e', SELL).returncode == 0
    with open(os.path.join(ctx.tmp, 'own.tap'), 'rb') as f:
        data = bytearray(f.read())
    machine = 6  # struct tl_tap_header
    assert struct.unpack_from('<H', data, machine)[0] == 62
    struct.pack_into('<H', data, machine, 183)
    path = os.path.join(ctx.tmp, 'other.tap')
    with open(path, 'wb') as f:
        f.write(data)
    refused_by_runner(ctx.run([ctx.bin('trapless-run'), path, '-x', str(target.pid)]), 'another architecture', '-a x86_64')
    target.unchanged()
    target.end()


def test_bad_addresses(ctx):
    target = Selling(ctx)
    point = 'probe process.statement(%d) { println("hit") }'
    sell, data = symbol(target.path, 'sell'), symbol(target.path, 'closing')
    refused(trapless(ctx, '-x', target.pid, '-e', point % data), 'POINT_NO_MATCH', 'lies in no code')
    refused(trapless(ctx, '-x', target.pid, '-e', point % 0x99999999), 'POINT_NO_MATCH', 'lies in no code')
    target.unchanged()
    code = subprocess.run(['objdump', '-d', '--disassemble=sell', target.path], stdout=subprocess.PIPE, text=True,
                          check=True).stdout
    starts = [int(a, 16) for a in re.findall(r'^ +([0-9a-f]+):', code, re.M)]
    inside = next(a for a in range(sell, sell + 64) if a not in starts)
    p = trapless(ctx, '-x', target.pid, '-T', 5, '-e', point % inside, timeout=300)
    assert p.returncode == 1 and 'NOT_BOUNDARY' in p.stderr and 'objdump' in p.stderr, p.stderr
    target.unchanged()
    target.end()


def test_refused_function(ctx):
    """Start-up code has no bounds: refused by name, left out by a wildcard."""
    target = Selling(ctx)
    p = trapless(ctx, '-x', target.pid, '-T', 5, '-e', 'probe process.function("_init") { println("hit") }', timeout=300)
    assert p.returncode == 1 and 'NOT_PROVEN' in p.stderr and 'probe a function entry' in p.stderr, p.stderr
    target.unchanged()
    p = trapless(ctx, '-x', target.pid, '-e', 'probe process.function("*") { exit() }', timeout=300)
    assert p.returncode == 0 and 'NOT_PROVEN' not in p.stderr, p.stderr
    target.unchanged()
    target.end()


def test_options(ctx):
    for argv in (['-p', '9', '-e', SELL], ['-x', 'abc', '-e', SELL], ['--nonsense'], ['-x', '1', '-c', 'ls', '-e', SELL]):
        p = trapless(ctx, *argv)
        assert p.returncode == 2 and '--help' in p.stderr, p.stderr
    for seconds in ('1.5', '0', 'x'):
        p = trapless(ctx, '-T', seconds, '-e', 'probe begin {}')
        assert p.returncode == 2 and 'whole seconds' in p.stderr and 'timer.ms(1500)' in p.stderr, p
    refused(trapless(ctx, '-m', 'a/b', '-p4', '-e', 'probe begin {}'), 'USAGE', 'letters')
    refused(trapless(ctx, '-c', ' ', '-e', 'probe begin {}'), 'USAGE', 'no command')
    p = ctx.run([ctx.bin('trapless-run'), 'x.tap', '-c', ''])
    assert p.returncode == 2 and '-c wants a command' in p.stderr, p.stderr
    refused(trapless(ctx, '-G', 'x=1', '-e', 'probe begin {}'), 'USAGE')
    refused(trapless(ctx, '-G', 'x=1', '-e', 'private x = 2 probe begin { println(x) }'), 'USAGE', '`x` is private')
    refused(trapless(ctx, '-D', 'MAXMAPENTRIES=0', '-e', 'probe begin {}'), 'USAGE', '1 to ')
    assert trapless(ctx, '-T', '0', '-e', 'probe begin {}').returncode == 2
    refused(trapless(ctx, '-D', 'MAXSTRINGLEN=5', '-e', 'probe begin {}'), 'USAGE', '16 to 8192')
    refused(trapless(ctx, '-D', 'RINGSIZE=1', '-e', 'probe begin {}'), 'USAGE', '4096 to ', 'e.g. -D RINGSIZE=')
    p = trapless(ctx, '-p2', '-D', 'MAXSTRNGLEN=64', '-e', 'probe begin {}')
    assert p.returncode == 0 and 'did you mean `MAXSTRINGLEN`' in p.stderr, p.stderr
    refused(trapless(ctx, '-a', 'arm64', '-e', 'probe begin {}'), 'NOT_BUILT', 'x86_64')
    assert trapless(ctx, '-a', 'x86_64', '-p2', '-e', 'probe begin {}').returncode == 0
    refused(trapless(ctx, '-p4', '-m', 'x', '-e', 'probe begin {}', cwd='/proc'), 'FILE_MISSING')
    p = trapless(ctx, '--no-cache', '-e', 'probe begin {}', env={'TMPDIR': '/nowhere'})
    refused(p, 'FILE_MISSING', 'set TMPDIR')
