# SPDX-License-Identifier: MIT
"""The names of constants that arguments of system calls are shown by (gen/flags.txt) against the C headers."""
import os
import re
import subprocess

# Two worlds that cannot be included together; a constant is in one of them or in both.
LIBC = '''fcntl.h sched.h signal.h unistd.h netinet/in.h netinet/tcp.h netinet/udp.h sys/epoll.h sys/eventfd.h sys/fanotify.h sys/file.h sys/inotify.h sys/ipc.h
    sys/mman.h sys/mount.h sys/msg.h sys/poll.h sys/quota.h sys/random.h sys/reboot.h sys/resource.h sys/sem.h sys/shm.h sys/signalfd.h
    sys/socket.h sys/stat.h sys/swap.h sys/time.h sys/timerfd.h sys/timex.h sys/uio.h sys/wait.h sys/xattr.h linux/net.h'''.split()
KERNEL = '''asm/ptrace-abi.h linux/bpf.h linux/capability.h linux/dqblk_xfs.h linux/elf.h linux/falloc.h linux/fanotify.h linux/fcntl.h linux/fs.h linux/futex.h linux/ioprio.h linux/kcmp.h linux/kexec.h
    linux/keyctl.h linux/membarrier.h linux/mempolicy.h linux/mman.h linux/module.h linux/mount.h linux/perf_event.h linux/prctl.h linux/ptrace.h
    linux/quota.h linux/reboot.h linux/resource.h linux/sched.h linux/seccomp.h linux/securebits.h linux/signal.h linux/stat.h linux/time.h linux/timex.h asm/prctl.h asm/mman.h asm/fcntl.h
    linux/userfaultfd.h linux/in.h linux/tcp.h linux/msg.h linux/sem.h linux/shm.h linux/ipc.h linux/socket.h'''.split()
# No header for programs has these: only the kernel's own.
UNSAID = {'SWAP_FLAG_DISCARD_ONCE', 'SWAP_FLAG_DISCARD_PAGES'} | {
    'KEY_%s_%s' % (who, what) for who in ('POS', 'USR', 'GRP', 'OTH') for what in ('VIEW', 'READ', 'WRITE', 'SEARCH', 'LINK', 'SETATTR')}


def is_kernels_alone(name):
    """What the C library says otherwise than the kernel: it keeps two signals to itself, and calls files large that are."""
    return name.startswith('SIGRTM') or name == 'O_LARGEFILE'


def table(ctx):
    """(function, value, name) of each row."""
    function = None
    with open(os.path.join(ctx.root, 'gen', 'flags.txt')) as f:
        for line in f:
            if line.startswith('\t'):
                value, name = line.split()
                yield function, int(value, 16), name
            elif not line.startswith('#'):
                function = line.split('(')[0]


def values(ctx, headers, names):
    """Of those names that these headers have."""
    names = [n for n in names if headers is KERNEL or not is_kernels_alone(n)]
    head = '#define _GNU_SOURCE\n' + ''.join('#include <%s>\n' % h for h in headers)
    def source(names):
        path = os.path.join(ctx.tmp, 'flags.c')
        with open(path, 'w') as f:
            f.write(head + '#include <stdio.h>\nint main(void)\n{\n')
            f.writelines('\tprintf("%s %%llx\\n", (unsigned long long)(%s));\n' % (n, n) for n in names)
            f.write('\treturn 0;\n}\n')
        return path
    r = subprocess.run(['gcc', '-fsyntax-only', '-fmax-errors=0', source(names)], stderr=subprocess.PIPE, text=True, env=dict(os.environ, LC_ALL='C'))
    unknown = set(re.findall(r"error: '(\w+)' undeclared", r.stderr))
    names = [n for n in names if n.split('+')[0] not in unknown]
    program = os.path.join(ctx.tmp, 'flags')
    subprocess.run(['gcc', '-o', program, source(names)], check=True)
    out = subprocess.run([program], stdout=subprocess.PIPE, text=True, check=True).stdout
    return {n: int(v, 16) for n, v in (line.split() for line in out.splitlines())}


def test_constants_have_the_values_of_the_headers(ctx):
    rows = list(table(ctx))
    names = sorted({name for _, _, name in rows})
    worlds = values(ctx, LIBC, names), values(ctx, KERNEL, names)
    assert set(names) - set(worlds[0]) - set(worlds[1]) == UNSAID
    for function, value, name in rows:
        for world in worlds:
            given = world.get(name, value)
            if function == '_signal_set' and name in world:
                given = 1 << (given - 1)
            assert value in (given, given & 0xffffffff), '%s: %s is %#x, not %#x' % (function, name, given, value)
    assert len(rows) > 800 and min(map(len, worlds)) > 500, (len(rows), [len(w) for w in worlds])
