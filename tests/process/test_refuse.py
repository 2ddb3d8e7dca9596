# SPDX-License-Identifier: MIT
"""Bad input: one clear message, status 1, nothing changed."""
import os
import signal
import struct
import subprocess
import time
import zlib

from support import attach, finish, runner, start, tap


def refused(ctx, argv, *words, status=1):
    r = ctx.run([runner(ctx)] + argv, timeout=30)
    assert r.returncode == status, r
    for w in words:
        assert w in r.stderr, (w, r.stderr)
    return r


def module_for(ctx):
    return tap.counter(ctx.tmp, ctx.target('count'), ['work'])


def test_no_such_process(ctx):
    refused(ctx, [module_for(ctx), '-x', '4194000'], 'there is no process 4194000')


def test_zombie(ctx):
    p = ctx.start(['true'])
    time.sleep(0.3)
    refused(ctx, [module_for(ctx), '-x', str(p.pid)], 'zombie')


def test_stopped(ctx):
    p = start(ctx, ctx.target('count'), 1)
    p.send_signal(signal.SIGSTOP)
    time.sleep(0.1)
    refused(ctx, [module_for(ctx), '-x', str(p.pid)], 'is stopped', 'kill -CONT')
    p.send_signal(signal.SIGCONT)


def test_kernel_thread(ctx):
    if os.getuid() or not os.path.exists('/proc/2/comm') or open('/proc/2/comm').read() != 'kthreadd\n':
        ctx.skip('no kernel thread to be seen')
    refused(ctx, [module_for(ctx), '-x', '2'], 'kernel thread')


def test_other_user(ctx):
    p = ctx.start(['sleep', '30'], user=0 if os.getuid() == 0 else None)
    if os.getuid():
        ctx.skip('needs root to start a process of another user')
    refused(ctx, [module_for(ctx), '-x', str(p.pid)], 'belongs to user')


test_other_user.variants = ('nobody',)


def test_32_bit(ctx):
    src = os.path.join(ctx.tmp, 'x.c')
    with open(src, 'w') as f:
        f.write('int main(void) { for (;;) ; }\n')
    exe = os.path.join(ctx.tmp, 'x')
    if subprocess.run(['gcc', '-m32', '-nostartfiles', '-nostdlib', '-Wl,-e,main', '-o', exe, src],
                      stderr=subprocess.DEVNULL).returncode:
        ctx.skip('this gcc does not build 32-bit programs')
    p = ctx.start([exe])
    time.sleep(0.1)
    refused(ctx, [module_for(ctx), '-x', str(p.pid)], '32-bit')


def test_damaged_module(ctx):
    path = module_for(ctx)
    data = bytearray(open(path, 'rb').read())
    for what, change in (('truncated', lambda d: d[:len(d) // 2]), ('check sum', lambda d: d[:-1] + bytes([d[-1] ^ 1])),
                         ('not a trapless module', lambda d: b'x' * 100), ('not a trapless module', lambda d: b'')):
        bad = os.path.join(ctx.tmp, 'bad.tap')
        with open(bad, 'wb') as f:
            f.write(bytes(change(bytes(data))))
        refused(ctx, [bad], what)


def test_missing_module(ctx):
    refused(ctx, [ctx.tmp + '/none.tap'], 'cannot read module')


def test_other_build(ctx):
    """The module was compiled for another build of the same program."""
    path = ctx.target('count')
    folder = os.path.join(ctx.tmp, 'other')
    os.mkdir(folder)
    other = os.path.join(folder, os.path.basename(path))
    subprocess.run(['gcc', '-O1', '-pthread', '-o', other, os.path.join(ctx.root, 'tests/targets/count.c')], check=True)
    p = start(ctx, other, 1)
    r = ctx.start([runner(ctx), module_for(ctx), '-x', str(p.pid)], stderr=subprocess.PIPE)
    time.sleep(1.5)
    r.send_signal(signal.SIGINT)
    _, err = r.communicate(timeout=20)
    assert r.returncode == 1 and 'BUILD_ID' in err, (r.returncode, err)
    assert p.poll() is None


def test_other_runtime(ctx):
    """Compiled against another layout of the runtime: nothing of it is run, the target is not touched."""
    path = ctx.target('count')
    data = bytearray(open(module_for(ctx), 'rb').read())
    for name, word in ((b'tl_runtime_abi_9', 'runtime 9'), (b'tl_mod_any\0xxxxx', 'does not tell')):
        at = data.index(b'tl_runtime_abi_') if word[0] == 'r' else data.index(b'tl_runtime_abi_9')
        data[at:at + 16] = name
        data[12:16] = struct.pack('<I', zlib.crc32(bytes(data[48:])))
        module = os.path.join(ctx.tmp, 'other.tap')
        open(module, 'wb').write(data)
        r = refused(ctx, [module, '-c', path + ' 1 10'], 'VERSION', word, 'compile the script again')
        assert 'ready' not in r.stdout, r


def test_usage(ctx):
    refused(ctx, [], 'no module given', status=2)
    refused(ctx, ['--nonsense'], 'no option', status=2)
    refused(ctx, ['x.tap', '-x', 'abc'], 'process number', status=2)


def under_yama(ctx, scope, *argv):
    """As on a kernel whose Yama says SCOPE, and which keeps to it."""
    folder = '/proc/sys/kernel'
    script = 'mount -t tmpfs none %s && mkdir %s/yama && echo %d >%s/yama/ptrace_scope && exec "$@"'
    words = ['unshare', '-m', 'sh', '-c', script % (folder, folder, scope, folder), 'sh', ctx.target('forbid')]
    return ctx.run(words + [runner(ctx)] + list(argv), timeout=30)


def test_yama(ctx):
    """Each scope has a way round of its own."""
    if os.getuid() or subprocess.run(['unshare', '-m', 'true'], capture_output=True).returncode:
        ctx.skip('needs root, and a mount namespace of its own')
    p = start(ctx, ctx.target('count'), 1)
    for scope, yes, no in ((1, '-c', 'lowered'), (2, 'as root', '-c'), (3, 'boot', '-c')):
        r = under_yama(ctx, scope, module_for(ctx), '-x', str(p.pid))
        if r.returncode == 77:
            ctx.skip(r.stderr)
        said = r.stderr.split('ptrace_scope is %d): ' % scope)
        assert r.returncode == 1 and len(said) == 2 and yes in said[1] and no not in said[1], r
        assert '--preload' in said[1], r
