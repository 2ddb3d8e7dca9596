# SPDX-License-Identifier: MIT
"""-l of kernels' points, by files of a kernel that is made here."""
import os

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
