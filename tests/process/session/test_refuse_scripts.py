# SPDX-License-Identifier: MIT
"""Scripts and targets that are refused: one clear message, a next step, status 1, and the target as it was."""
import os
import re
import shutil
import signal
import subprocess
import time

from scripted import environment, launch, number, script_file, words
from support import LIBC, NO_BREAKPOINTS, Before, has_threads, runner, start, tap, tracer_of, wait_state, wake


def refused(ctx, script, *expect, pid=None, args=(), untouched=None):
    argv = words(ctx, *(('-x', pid) if pid else ()), *args) + [script_file(ctx, script)]
    r = ctx.run(argv, env=environment(ctx), timeout=300)
    assert r.returncode == 1, r
    for w in expect:
        assert w in r.stderr, (w, r.stderr)
    if untouched:
        untouched.check()
    return r


def running(ctx, *args):
    path = ctx.target('count')
    p = start(ctx, path, *(args or (1,)))
    has_threads(p.pid, 2)
    return path, p, Before(p.pid, os.path.basename(path))


def ended_well(p):
    p.terminate()
    out, _ = p.communicate(timeout=300)
    assert p.returncode == 7 and 'calls' in out, (p.returncode, out)


def test_inside_an_instruction(ctx):
    path, p, before = running(ctx)
    work, size, _ = tap.elf_symbols(open(path, 'rb').read())['work']
    refused(ctx, 'probe process("%s").statement(0x%x) { exit() }' % (path, work + 1), 'instruction', pid=p.pid,
            untouched=before)
    ended_well(p)


def test_in_data(ctx):
    path, p, before = running(ctx)
    at = tap.elf_symbols(open(path, 'rb').read())['counts'][0]
    refused(ctx, 'probe process("%s").statement(0x%x) { exit() }' % (path, at), pid=p.pid, untouched=before)
    ended_well(p)


def test_functions_without_return_probes(ctx):
    without_return_probes(ctx, LIBC, '/bin/true')


def test_functions_without_return_probes_preloaded(ctx):
    without_return_probes(ctx, LIBC, '/bin/true', '--preload')


test_functions_without_return_probes_preloaded.jumps_only = NO_BREAKPOINTS


def test_functions_without_return_probes_static(ctx):
    """No dynamic symbols: their names are the script's."""
    path = ctx.target('leaves', cflags=('-O2', '-static'))
    without_return_probes(ctx, path, path)


def without_return_probes(ctx, path, command, *how):
    names = ('_setjmp', 'vfork', 'getpid')
    reasons = {'_setjmp': 'once more for each jump back', 'vfork': 'in the child too'}
    script = ''.join('probe process("%s").function("%s").return { println("never") }\n' % (path, n) for n in names)
    r = launch(ctx, script, command, *how)
    assert r.returncode == 1, r
    for name, why in reasons.items():
        said = r'function\("%s"\)\.return' % name
        assert re.search(said + r': probe refused \[RET_BLACKLIST\]: .*' + why, r.stderr), r
        assert re.search('refused .*' + said + r'.*\[RET_BLACKLIST\]: .*' + why, r.stderr), r
    assert not re.search(r'"getpid".*refused', r.stderr), r


def test_refused_among_those_that_a_wildcard_matched(ctx):
    """A warning for each reason, and the session goes on; where nothing is left of the wildcard it is an error."""
    path, p, before = running(ctx)
    script = 'probe process("%s").library("%s").function("%s").return { } probe timer.ms(100) { println("on") exit() }'
    some, none = (script % (path, LIBC, n) for n in ('*fork', 'vfor[k]'))
    warning = r'^WARNING: .*fork.*: probes? refused \[RET_BLACKLIST\]'
    r = ctx.run(words(ctx, '-x', p.pid) + [script_file(ctx, some)], env=environment(ctx))
    assert r.returncode == 0 and r.stdout == 'on\n', r
    assert len(re.findall(warning, r.stderr, re.M)) == 1 and number(r.stderr, 'probes refused') == 1, r
    refused(ctx, none, 'refused [RET_BLACKLIST]', pid=p.pid, untouched=before)
    ended_well(p)
    r = launch(ctx, some.split(' probe timer')[0], path + ' 1 10')
    assert r.returncode == 7 and len(re.findall(warning, r.stderr, re.M)) == 1, r


def test_closing_line_of_refusals(ctx):
    """It points to --explain where that was not asked for, and a probe with '?' is not missed."""
    text = 'probe process("%s").function("%s").return%s { } probe begin { }'
    closing = 'probes refused (--explain tells why): 1\n'
    for name, how, said in (('vfor[k]', '', True), ('vfork', ' ?', False)):
        script = script_file(ctx, text % (LIBC, name, how))
        r = ctx.run([ctx.bin('trapless'), '-c', '/bin/true', script], env=environment(ctx))
        assert (closing in r.stderr) == said and (said or 'refused' not in r.stderr), r


def test_no_such_function(ctx):
    path, p, before = running(ctx)
    refused(ctx, 'probe process.function("wrok") { exit() }', 'wrok', 'next step', pid=p.pid, untouched=before)
    refused(ctx, 'probe process("%s").function("work") { println($nothing) }' % path, '$nothing', pid=p.pid,
            untouched=before)
    ended_well(p)


def test_stopped_and_zombie(ctx):
    path, p, before = running(ctx)
    p.send_signal(signal.SIGSTOP)
    wait_state(p.pid, 'T')
    refused(ctx, 'probe process("%s").function("work") { exit() }' % path, 'stopped', 'kill -CONT', pid=p.pid)
    p.send_signal(signal.SIGCONT)
    before.check()
    ended_well(p)
    z = ctx.start(['true'])
    wait_state(z.pid, 'Z')
    refused(ctx, 'probe process("%s").function("work") { exit() }' % path, 'zombie', pid=z.pid)


def goes_on(pid):
    """Are all its threads traced, and none of them stopped?"""
    tids = [int(t) for t in os.listdir('/proc/%d/task' % pid)]
    return all(map(tracer_of, tids)) and not any(
        re.search(r'^State:\s*[tT]', open('/proc/%d/status' % t).read(), re.M) for t in tids)


def traced_by_other(ctx, begun, *argv):
    """Refused by both tools; the process is as it was, and so is whoever traces it: it is to see the next step()."""
    if shutil.which(argv[0]) is None:
        ctx.skip('no ' + argv[0])
    path = ctx.target('asleep')
    p = start(ctx, path)
    other = ctx.start([a.replace('PID', str(p.pid)) for a in argv], stderr=subprocess.STDOUT)
    assert any(begun in line for line in other.stdout)
    while not goes_on(p.pid):
        time.sleep(0.01)
    before = Before(p.pid, os.path.basename(path), 'libc.so.6')
    refused(ctx, 'probe process("%s").function("step") { exit() }' % path, 'already traced by ' + argv[0], pid=p.pid)
    r = ctx.run([runner(ctx), tap.counter(ctx.tmp, path, ['step']), '-x', str(p.pid)])
    assert r.returncode == 1 and len(r.stderr.splitlines()) == 1 and 'already traced by ' + argv[0] in r.stderr, r
    before.check()
    wake(p, 1)
    return p, other


def end_asleep(p):
    p.stdin.close()
    assert p.wait(timeout=300) == 7


def test_under_strace(ctx):
    log = os.path.join(ctx.tmp, 'log')
    p, s = traced_by_other(ctx, 'attached', 'strace', '-f', '-o', log, '-p', 'PID')
    s.send_signal(signal.SIGINT)
    s.wait(timeout=300)
    with open(log) as f:
        assert 'write(1, "woken 1' in f.read()
    end_asleep(p)


def test_under_gdb(ctx):
    p, g = traced_by_other(ctx, 'Continuing', 'gdb', '-q', '-nx', '-p', 'PID', '-ex', 'break step', '-ex', 'continue', '-ex',
                           'detach', '-ex', 'quit')
    out, _ = g.communicate(timeout=300)
    assert g.returncode == 0 and re.search(r'hit Breakpoint 1\S*, step', out) and 'detached' in out, (g.returncode, out)
    end_asleep(p)


def elf32():
    """A 32-bit program by hand: one page, one jump to itself."""
    import struct
    code = b'\xeb\xfe'
    head = b'\x7fELF\x01\x01\x01' + bytes(9)
    head += struct.pack('<HHIIIIIHHHHHH', 2, 3, 1, 0x8048054, 52, 0, 0, 52, 32, 1, 40, 0, 0)
    return head + struct.pack('<IIIIIIII', 1, 0, 0x8048000, 0x8048000, 84 + len(code), 84 + len(code), 5, 4096) + code


def test_32_bit(ctx):
    exe = os.path.join(ctx.tmp, 'small')
    with open(exe, 'wb') as f:
        f.write(elf32())
    os.chmod(exe, 0o755)
    try:
        p = ctx.start([exe])
    except OSError as e:
        ctx.skip('this kernel does not run 32-bit programs: %s' % e)
    time.sleep(0.1)
    assert p.poll() is None
    refused(ctx, 'probe process.statement(0x8048054) { exit() }', '32-bit', pid=p.pid)
    refused(ctx, 'probe timer.s(1) { exit() }', '32-bit', pid=p.pid)
    assert p.poll() is None
    refused(ctx, 'probe timer.s(1) { exit() }', '32-bit', 'not started', args=('-c', exe))


def test_gone(ctx):
    p = ctx.popen(['true'])
    p.wait()
    refused(ctx, 'probe process.function("main") { exit() }', str(p.pid), pid=p.pid)


FILTER = '''
import ctypes, os, struct, sys, time
libc = ctypes.CDLL(None, use_errno=True)
# kill on: memfd_create, mprotect, clone, clone3, process_vm_writev, recvmsg, membarrier
numbers = (319, 10, 56, 435, 311, 47, 324)
code = struct.pack('HBBI', 0x20, 0, 0, 0)
for i, n in enumerate(numbers):
    code += struct.pack('HBBI', 0x15, len(numbers) - i, 0, n)
code += struct.pack('HBBI', 6, 0, 0, 0x7fff0000) + struct.pack('HBBI', 6, 0, 0, 0x80000000)
buf = ctypes.create_string_buffer(code)
class Prog(ctypes.Structure):
    _fields_ = [('len', ctypes.c_ushort), ('filter', ctypes.c_void_p)]
prog = Prog(len(code) // 8, ctypes.addressof(buf))
libc.prctl(38, 1, 0, 0, 0)
if libc.prctl(22, 2, ctypes.byref(prog), 0, 0):
    print('no filter', flush=True); sys.exit(0)
print('ready', flush=True)
while sys.stdin.readline():
    print('alive', sum(i * i for i in range(1000)), flush=True)
sys.exit(6)
'''


def test_kill_filter(ctx):
    """A program whose seccomp filter kills: traced or refused with the way round, and it lives on."""
    path = os.path.join(ctx.tmp, 'filter.py')
    with open(path, 'w') as f:
        f.write(FILTER)
    p = ctx.start(['/usr/bin/python3', '-S', '-E', path])
    if p.stdout.readline() != 'ready\n':
        ctx.skip('no seccomp filters here')
    argv = words(ctx, '-x', p.pid, '-T', 1) + [script_file(
        ctx, 'global n probe process.library("libc.so.6").function("*read*") ? { n++ } probe end { println(n) }')]
    s = ctx.popen(argv, env=environment(ctx), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                  stderr=subprocess.PIPE, text=True)
    for _ in range(5):
        time.sleep(0.2)
        assert p.poll() is None, 'the target was killed: %s' % s.communicate()[1]
        p.stdin.write('\n')
        p.stdin.flush()
        assert p.stdout.readline() == 'alive 332833500\n'
    out, err = s.communicate(timeout=300)
    if s.returncode:
        assert re.search('seccomp', err, re.I), err
    p.stdin.close()
    p.stdin = None
    assert p.wait(timeout=300) == 6


test_kill_filter.variants = ('opt', 'nobody')
test_under_strace.variants = test_under_gdb.variants = test_inside_an_instruction.variants = ('opt', 'nobody')
