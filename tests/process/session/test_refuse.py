# SPDX-License-Identifier: MIT
"""Bad input: one clear message, status 1, nothing changed."""
import os
import re
import signal
import struct
import subprocess
import time
import zlib

from support import Before, attach, end_count, finish, has_threads, runner, start, tap, wait_state


def refused(ctx, argv, *words, status=1, untouched=None):
    r = ctx.run([runner(ctx)] + argv, timeout=300)
    assert r.returncode == status, r
    for w in words:
        assert w in r.stderr, (w, r.stderr)
    if untouched:
        untouched.check()
    return r


def of_count(p):
    """Its threads are there."""
    has_threads(p.pid, 2)
    return Before(p.pid, os.path.basename(os.readlink('/proc/%d/exe' % p.pid)), 'libc.so.6')


def module_for(ctx):
    return tap.counter(ctx.tmp, ctx.target('count'), ['work'])


def test_no_such_process(ctx):
    refused(ctx, [module_for(ctx), '-x', '4194000'], 'there is no process 4194000')


def test_zombie(ctx):
    p = ctx.start(['true'])
    wait_state(p.pid, 'Z')
    refused(ctx, [module_for(ctx), '-x', str(p.pid)], 'zombie')


def test_one_of_several_has_ended(ctx):
    """That is told, and no failure: of all processes of a program one may end at any time."""
    gone, p = ctx.start(['true']), start(ctx, ctx.target('count'), 1)
    wait_state(gone.pid, 'Z')
    s = attach(ctx, module_for(ctx), gone.pid, p.pid)
    out, err = finish(s)
    assert 'process %d has already ended' % gone.pid in err, err
    end_count(p)


def test_too_little_memory(ctx):
    """Whichever step of coming its limit ends: all is given back that the steps before took."""
    p = start(ctx, ctx.target('count'), 1)
    before, module, more = of_count(p), module_for(ctx), 64 << 10
    size = 4096 * int(open('/proc/%d/statm' % p.pid).read().split()[0])
    while True:
        assert ctx.run(['prlimit', '--pid', str(p.pid), '--as=%d:' % (size + more)]).returncode == 0
        try:
            finish(attach(ctx, module, p.pid))
            break
        except AssertionError as e:
            assert 'raise its limit of memory (prlimit --as, --data)' in str(e), (more, e)
        before.check()
        more *= 4
    assert more > 256 << 10
    before.check()
    end_count(p)


def test_locked_memory(ctx):
    path = ctx.target('locked')
    p = ctx.start(['prlimit', '--memlock=65536', path], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert p.stdout.readline() == 'ready\n'
    try:
        finish(attach(ctx, tap.counter(ctx.tmp, path, ['main']), p.pid))
        raise AssertionError('attached')
    except AssertionError as e:
        assert 'it locks its memory, and may lock no more: raise that limit (prlimit --memlock)' in str(e), e
    p.communicate('x', timeout=300)
    assert p.returncode == 7


test_locked_memory.variants = ('nobody',)
test_locked_memory.user_only = 'root may lock as much as there is'


def test_too_few_descriptors(ctx):
    """Ours: it is never the process that is missing."""
    p = start(ctx, ctx.target('count'), 1)
    for limit in range(8, 13):
        r = ctx.run(['prlimit', '--nofile=%d' % limit, runner(ctx), module_for(ctx), '-x', str(p.pid)], timeout=300)
        assert r.returncode == 1 and 'there is no process' not in r.stderr, (limit, r)
    end_count(p)


def check_frozen(ctx, group, file, on, off):
    def put(name, text):
        with open(os.path.join(group, name), 'w') as f:
            f.write(text)
    p = start(ctx, ctx.target('count'), 1)
    try:
        put('cgroup.procs', str(p.pid))
        put(file, on)
        time.sleep(0.3)
        refused(ctx, [module_for(ctx), '-x', str(p.pid)], 'process %d is frozen by its control group' % p.pid)
    finally:
        put(file, off)
        end_count(p)
        os.rmdir(group)


def test_frozen(ctx):
    """By control groups of version 1 and 2, where these are mounted."""
    seen, why = 0, 'none is mounted'
    for place in ('freezer/', 'unified/', ''):
        group = '/sys/fs/cgroup/%strapless-test-%d' % (place, os.getpid())
        try:
            os.mkdir(group)
        except OSError as e:
            why = e.strerror
            continue
        if os.path.exists(group + '/cgroup.freeze'):
            check_frozen(ctx, group, 'cgroup.freeze', '1', '0')
        elif os.path.exists(group + '/freezer.state'):
            check_frozen(ctx, group, 'freezer.state', 'FROZEN', 'THAWED')
        else:
            os.rmdir(group)
            continue
        seen += 1
    if not seen:
        ctx.skip('no control group can be made: %s' % why)


def test_stopped(ctx):
    p = start(ctx, ctx.target('count'), 1)
    before = of_count(p)
    p.send_signal(signal.SIGSTOP)
    wait_state(p.pid, 'T')
    refused(ctx, [module_for(ctx), '-x', str(p.pid)], 'is stopped', 'kill -CONT', untouched=before)
    p.send_signal(signal.SIGCONT)
    end_count(p)


def test_no_new_code(ctx):
    """The refusal says which rules there are, and what to do."""
    codeless, path = ctx.target('codeless'), ctx.target('count')
    if ctx.run([codeless, '/bin/true']).returncode == 77:
        ctx.skip('the kernel has no PR_SET_MDWE (Linux 6.3)')
    p = start(ctx, codeless, path, 1)
    before = of_count(p)
    refused(ctx, [module_for(ctx), '-x', str(p.pid)], 'new executable memory', 'MemoryDenyWriteExecute', 'PR_SET_MDWE', '-c', untouched=before)
    end_count(p)


def test_kernel_thread(ctx):
    if not os.path.exists('/proc/2/comm') or open('/proc/2/comm').read() != 'kthreadd\n':
        ctx.skip('no kernel thread to be seen')
    refused(ctx, [module_for(ctx), '-x', '2'], 'kernel thread')


def test_other_user(ctx):
    p = ctx.start(['sleep', '30'], user=0)
    refused(ctx, [module_for(ctx), '-x', str(p.pid)], 'belongs to user', untouched=Before(p.pid, 'sleep', 'libc.so.6'))


test_other_user.user_only = 'root may trace the processes of all'
test_other_user.by_root = 'it makes a process of another user'


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
    refused(ctx, [module_for(ctx), '-x', str(p.pid)], '32-bit', untouched=Before(p.pid, exe))


ENDED = re.compile('there is no process|has already ended|ended while probes were placed in it')


def test_ends_meanwhile(ctx):
    """Wherever its end meets us, that is what we say of it."""
    module = module_for(ctx)
    for i in range(40):
        p = start(ctx, ctx.target('count'), 4)
        sessions = [ctx.start([runner(ctx), module, '-x', str(p.pid)], stderr=subprocess.PIPE) for _ in range(1 + i % 2)]
        time.sleep(0.0015 * i)
        p.send_signal(signal.SIGTERM if i % 4 > 1 else signal.SIGKILL)
        p.wait()
        for s in sessions:
            out, err = s.communicate(timeout=300)
            if s.returncode:
                assert s.returncode == 1 and len(err.splitlines()) == 1 and ENDED.search(err), (i, out, err)
            else:
                assert out.startswith('hits '), (i, out, err)


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
    before = of_count(p)
    r = ctx.start([runner(ctx), module_for(ctx), '-x', str(p.pid)], stderr=subprocess.PIPE)
    assert any('BUILD_ID' in line for line in r.stderr)
    r.send_signal(signal.SIGINT)
    r.communicate(timeout=300)
    assert r.returncode == 1
    before.check()
    end_count(p)


def test_other_runtime(ctx):
    """Compiled against another layout of the runtime: nothing of it is run, the target is not touched."""
    path = ctx.target('count')
    data = bytearray(open(module_for(ctx), 'rb').read())
    at = data.index(b'tl_runtime_abi_')
    for name, word in ((b'tl_runtime_abi_0', 'runtime 0'), (b'tl_mod_any\0xxxxx', 'does not tell')):
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
    words = ['unshare', '-m', 'sh', '-c', script % (folder, folder, scope, folder), 'sh']
    words += ['setpriv', '--reuid=%d' % (ctx.user or 0), '--', ctx.target('forbid'), runner(ctx)]
    return ctx.run(words + list(argv), user=None, timeout=300)


def test_yama(ctx):
    """Each scope has a way round of its own."""
    if os.getuid() or subprocess.run(['unshare', '-m', 'true'], capture_output=True).returncode:
        ctx.skip('needs root, and a mount namespace of its own')
    p = start(ctx, ctx.target('count'), 1)
    before = of_count(p)
    for scope, yes, no in ((1, '-c', 'lowered'), (2, 'as root', '-c'), (3, 'boot', '-c')):
        r = under_yama(ctx, scope, module_for(ctx), '-x', str(p.pid))
        if r.returncode == 77:
            ctx.skip(r.stderr)
        said = r.stderr.split('ptrace_scope is %d): ' % scope)
        assert r.returncode == 1 and len(said) == 2 and yes in said[1] and no not in said[1], r
        assert '--preload' in said[1], r
        before.check()
