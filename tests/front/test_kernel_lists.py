# SPDX-License-Identifier: MIT
"""-l of kernels' points, by files of a kernel that is made here."""
import os
import struct

from support_front import good, trapless

TRACER = 'int __traceiter_%s(void *data, int n) { return n; }\n'


def kernel(ctx, name, source):
    """A folder as -r takes it."""
    folder = os.path.join(os.path.realpath(ctx.tmp), name)
    os.makedirs(folder)
    path = os.path.join(folder, 'kernel.c')
    with open(path, 'w') as f:
        f.write(source)
    made = ctx.run(['clang', '-target', 'bpf', '-O1', '-g', '-w', '-c', '-o', os.path.join(folder, 'vmlinux'), path])
    assert made.returncode == 0, made
    return folder


def symbols(names):
    """C text of a list as a kernel has it in itself (crates/debuginfo/src/kernel/kallsyms.rs). Each byte is a token."""
    def padded(part):
        return part + bytes(-len(part) % 8)
    packed = [bytes([len(name)]) + name.encode() for name in names]
    begins = [sum(map(len, packed[:n])) for n in range(0, len(packed), 256)]
    tokens = [bytes([n] if n else []) + b'\0' for n in range(256)]
    starts = [sum(map(len, tokens[:n])) for n in range(256)]
    parts = [struct.pack('<I', len(names)), b''.join(packed), struct.pack('<%dI' % len(begins), *begins), b''.join(tokens),
             struct.pack('<256H', *starts)]
    words = ','.join(str(b) for part in parts for b in padded(part))
    return 'const unsigned char list[] __attribute__((section(".rodata"), aligned(8))) = {%s};\n' % words


def listed(ctx, folder, point):
    return good(ctx, '-r', folder, '-l', point).stdout.split()


def test_one_of_several_names(ctx):
    """What stands for one of several functions is listed where the kernel has the first of them, or the last."""
    names = 'scheduler_tick', 'sched_tick'
    for name in names:
        folder = kernel(ctx, name, 'void %s(void) { }\n' % name + TRACER % 'sched_switch')
        assert listed(ctx, folder, 'scheduler.tick') == ['scheduler.tick']
        two = 'kernel.function("%s") !, kernel.function("%s")' % names
        assert listed(ctx, folder, two) == ['kernel.function("%s")' % name]
        assert listed(ctx, folder, 'scheduler.ti*') == ['scheduler.tick']
    folder = kernel(ctx, 'neither', TRACER % 'other')
    p = trapless(ctx, '-r', folder, '-l', 'scheduler.tick')
    assert p.returncode == 1 and 'error[POINT_NO_MATCH]' in p.stderr and 'sched_tick' in p.stderr, p


def test_what_runs_once_is_left_out(ctx):
    """Patterns have no function whose text is gone when the kernel has started; one that is named is refused."""
    names = ['Tf%d' % n for n in range(1000)] + ['Tvfs_read', 'ttwice', 'T_sinittext', 'tvfs_start', 'ttwice', 'T_einittext']
    source = ''.join('void %s(void) { }\n' % f for f in ('vfs_read', 'vfs_start', 'twice')) + symbols(names)
    folder = kernel(ctx, 'once', source)
    for point in 'kernel.function("vfs_*")', 'kernel.function("*r*")':
        assert listed(ctx, folder, point) == ['kernel.function("vfs_read")'], point
    assert listed(ctx, folder, 'kernel.function("twice")') == ['kernel.function("twice")']
    p = trapless(ctx, '-r', folder, '-p2', '-e', 'probe kernel.function("vfs_start") {}')
    assert p.returncode == 1 and 'error[POINT_NO_MATCH]' in p.stderr and 'only while the kernel starts' in p.stderr, p
    assert good(ctx, '-r', folder, '-p2', '-e', 'probe kernel.function("vfs_*"), kernel.function("vfs_start") ? {}').stderr == ''
    p = trapless(ctx, '-r', folder, '-p2', '-e', 'probe kernel.function("vfs_strat") {}')
    assert p.returncode == 1 and 'vfs_start' not in p.stderr, p


def test_all_of_a_kernel(ctx):
    """Words with wildcards stand for all functions and tracepoints, deeper for what may follow each."""
    folder = kernel(ctx, 'whole', 'void vfs_read(void) { }\n' + TRACER % 'opened')
    modules = os.path.join(folder, 'lib/modules')
    os.makedirs(modules)
    with open(os.path.join(modules, 'm.c'), 'w') as f:
        f.write('int m_open(void) { return 1; }\n')
    assert ctx.run(['cc', '-c', '-O1', '-o', 'm.ko', 'm.c'], cwd=modules).returncode == 0
    functions = ['kernel.function("%s")' % f for f in ('__traceiter_opened', 'vfs_read')]
    assert listed(ctx, folder, 'kernel.*') == functions + ['kernel.trace("opened")']
    assert listed(ctx, folder, 'kernel.f*') == functions
    deeper = listed(ctx, folder, 'kernel.**')
    assert functions[1] + '.return' in deeper and 'kernel.trace("opened")' in deeper, deeper
    assert listed(ctx, folder, 'module("m").*') == ['module("m").function("m_open")']
    assert listed(ctx, folder, 'module("*").**') == ['module("m").function("m_open")' + w for w in ('', '.call', '.return')]
    assert listed(ctx, folder, 'kernel.*, begin') == ['begin'] + functions + ['kernel.trace("opened")']
    p = trapless(ctx, '-r', folder, '-l', 'kernel.d*')
    assert p.returncode == 1 and 'error[POINT_UNKNOWN]' in p.stderr, p


def test_hints_have_what_was_given(ctx):
    """A command that a hint names is about the same kernel."""
    folder = kernel(ctx, 'a folder', 'void vfs_read(void) { }\n' + TRACER % 'opened')
    for point in 'kernel.function("zzzz")', 'kernel.trace("zzzz")', 'kernel.trace':
        p = trapless(ctx, '-r', folder, '-a', 'x86_64', '-p2', '-e', 'probe %s {}' % point)
        hint = "trapless -r '%s' -a x86_64 -l 'kernel.%s(\"*\")' lists them" % (folder, point.split('.')[1].split('(')[0])
        assert p.returncode == 1 and hint in p.stderr, p
