# SPDX-License-Identifier: MIT
"""--bpftrace: one-liners on real programs, what they stand for in a kernel, and what is refused."""
import os
import re
import shlex
import shutil
import subprocess

from support_front import good, trapless
from test_kernel_lists import TRACER, kernel

CALLS = 10
# As tests/targets/calls.c makes them, `first` and `second` of each number below CALLS.
LEAVES = 2 * CALLS + len(range(0, CALLS, 3))
LASTS = 2 * CALLS - len(range(0, CALLS, 3))


def calls(ctx):
    return ctx.target('calls')


def traced(ctx, program, command, *words, status=0):
    """Lines of the output."""
    p = trapless(ctx, '--bpftrace', program, *words, '-c', command)
    assert p.returncode == status, (program, p)
    return p.stdout.split('\n')


def of_calls(ctx, program, *words):
    return traced(ctx, program.replace('PATH', calls(ctx)), '%s %d' % (calls(ctx), CALLS), *words, status=7)


def test_counts_of_functions(ctx):
    lines = of_calls(ctx, 'uprobe:PATH:leaf { @[comm] = count(); @sum = sum(arg0); @stack = max(sarg0); }'
                     ' uprobe:PATH:last { @lasts++; } END { printf("%s\\n", "the end"); }')
    numbers = list(range(CALLS)) * 2 + list(range(0, CALLS, 3))
    wanted = ['the end', '@[calls]: %d' % LEAVES, '@lasts: %d' % LASTS, '@stack: 90', '@sum: %d' % sum(numbers)]
    lines = [re.sub(r'@\[calls\S*\]', '@[calls]', line) for line in lines]
    assert [line for line in lines if line in wanted] == wanted, lines


def test_results_and_keys(ctx):
    """Each key's value, in the order of values; the largest alone; loops over maps."""
    lines = of_calls(ctx, 'uretprobe:PATH:last { @[retval % 2, func] = count(); @h = hist(retval); @l = lhist(retval, 0, 300, 100); }'
                     ' END { for ($kv : @) { @all = sum($kv.1); } print(@, 1); }')
    odd_and_even = [int(re.search(r': (\d+)$', line).group(1)) for line in lines if re.match(r'@\[[01], last\]: ', line)]
    assert len(odd_and_even) == 3 and odd_and_even[0] == max(odd_and_even) and odd_and_even[1:] == sorted(odd_and_even[1:]), lines
    assert sum(odd_and_even[1:]) == LASTS and '@all: %d' % LASTS in lines, lines
    for name in 'hl':
        rows = lines[lines.index('@%s:' % name) + 1:]
        rows = rows[1:rows.index('')]
        assert sum(int(row.split()[-1]) for row in rows) == LASTS, (name, lines)


def test_words_predicates_and_members(ctx):
    lines = of_calls(ctx, 'uprobe:PATH:leaf /arg0 == $1 && str($2) != comm/ { printf("%d %d\\n", args.n, args.on_stack); }'
                     ' uprobe:PATH:main { printf("%s\\n", str(*(uint64 *)(arg1 + 8))); }', '3', 'other')
    lines = [line for line in lines if re.fullmatch(r'\d+( \d+)?', line)]
    assert lines == [str(CALLS), '3 60', '3 61', '3 90'], lines


def test_stacks(ctx):
    lines = of_calls(ctx, 'uprobe:PATH:last { @[ustack(2)] = count(); @of[ustack] = count(); }')
    text = re.sub(r'\+0x\w+ \[\S+\]', '', '\n'.join(lines))
    # `first` ends by a jump
    two = {'main': LASTS - CALLS, 'second': CALLS}
    for caller, count in two.items():
        assert '@[\nlast\n%s\n]: %d\n' % (caller, count) in text, text
    assert text.count('@[\n') == 2 and re.search(r'@of\[\nlast\nsecond\nmain\n(.+\n)*\]: %d\n' % CALLS, text), text


def test_allocations_are_counted_as_by_a_script(ctx):
    script = 'probe process.library("libc.so.6").function("malloc").call { n++; sum += ulong_arg(1) } global n, sum' \
             ' probe end { printf("@n: %d\\n@sum: %d\\n", n, sum) }'
    ours = traced(ctx, 'uprobe:libc:malloc { @n = count(); @sum = sum(arg0); }', 'ls -l /')
    theirs = good(ctx, '-e', script, '-c', 'ls -l /').stdout.split('\n')
    assert [line for line in ours if line.startswith('@')] == [line for line in theirs if line.startswith('@')], (ours, theirs)


def test_files_as_strace_has_them(ctx):
    if not shutil.which('strace'):
        ctx.skip('no strace')
    out = os.path.join(ctx.tmp, 'strace.out')
    subprocess.run(['strace', '-e', 'trace=openat', '-o', out, 'ls', '/'], stdout=subprocess.DEVNULL, check=True)
    theirs = re.findall(r'openat\([^"]*"([^"]*)"', open(out).read())
    lines = traced(ctx, 'tracepoint:syscalls:sys_enter_openat { printf("open %s %s\\n", comm, str(args.filename)); }'
                   ' tracepoint:syscalls:sys_exit_openat { @[args.ret >= 0] = count(); }', 'ls /')
    ours = [line.split()[2] for line in lines if line.startswith('open ls ')]
    # the loader opens some before there is anything to be told by
    assert ours and ours == theirs[len(theirs) - len(ours):], (ours, theirs)


def test_all_system_calls(ctx):
    lines = traced(ctx, 'tracepoint:raw_syscalls:sys_enter { @all = count(); } tracepoint:syscalls:sys_enter_* { @[probe] = count(); }', 'ls /')
    each = [int(line.split(': ')[1]) for line in lines if line.startswith('@[tracepoint:syscalls:sys_enter_')]
    assert each and each == sorted(each) and '@all: %d' % sum(each) in lines, lines


def test_static_marks(ctx):
    target = ctx.target('marks')
    program = 'usdt:%s:targets:registers { printf("%%d %%d %%s\\n", arg0, arg1, probe); } usdt:%s:none { @ = count(); }' % (target, target)
    p = trapless(ctx, '--bpftrace', program, '-c', target, input='a\nb\n')
    assert p.returncode == 0 and p.stdout.count('-5 250 usdt:%s:targets:registers\n' % target) == 2, p
    assert p.stdout.endswith('@: 2\n'), p


def test_session(ctx):
    """Without a program there is the session alone."""
    p = good(ctx, '--bpftrace', 'BEGIN { printf("a%d\\n", $1); @t = 1; } interval:ms:10 { @n++; if (@n == 3) { exit(); } } END { time("%Y\\n"); }', '5')
    assert re.fullmatch(r'a5\n20\d\d\n@n: 3\n@t: 1\n', p.stdout), p
    p = good(ctx, '--bpftrace', 'BEGIN { exit(); }', 'unused')
    assert 'warning[ARG_UNUSED]' in p.stderr and '`unused`' in p.stderr, p


def test_samples(ctx):
    p = ctx.start([ctx.target('sampled'), '1', 'asleep'], stdin=subprocess.PIPE)
    out = good(ctx, '--bpftrace', 'profile:hz:199 { @[pid, func] = count(); @stacks[ustack(2)] = count(); @n++; if (@n >= 20) { exit(); } }',
               '-x', p.pid).stdout
    assert '@[%d, ' % p.pid in out and '@n: 20\n' in out and re.search(r'@stacks\[\nbusy\+.*\n.*\n\]: \d+\n', out), out
    p.communicate('\n')
    assert p.returncode == 7, p.returncode


def test_shown(ctx):
    program = 'uprobe:libc:malloc { @ = count(); }'
    shown = good(ctx, '--bpftrace', program, '-c', 'ls', '-p1').stdout
    assert shown.startswith('# %s\nglobal map\n' % program), shown
    assert 'probe process.library("libc.so*").function("malloc").call {\n\tmap <<< 1\n}\n' in shown, shown
    p = good(ctx, '--bpftrace', program, '-c', 'ls', '-v', '-p2')
    assert shown in p.stderr and 'function("malloc' in p.stdout, p
    path = os.path.join(ctx.tmp, 'kept.stp')
    with open(path, 'w') as f:
        f.write(shown)
    assert re.search(r'^@: \d+$', good(ctx, path, '-c', 'ls /').stdout, re.M)


def test_listed(ctx):
    """Points alone are listed."""
    lines = good(ctx, '--bpftrace', 'uprobe:%s:l*' % calls(ctx)).stdout.split()
    assert sorted(re.search(r'function\("(\w+)', line).group(1) for line in lines) == ['last', 'leaf'], lines
    lines = good(ctx, '--bpftrace', 'tracepoint:syscalls:sys_enter_*', '-c', 'ls').stdout.split('\n')
    assert {'syscall.openat', 'syscall.read'} <= set(lines) and not any('.return' in line for line in lines), lines


# The program, words behind it, the tag, what is said, and the place.
REFUSED = (
    ('BEGIN { cat("/x"); }', (), 'BPFTRACE_REFUSED', 'handlers do not read files', '1:9'),
    ('BEGIN {\n\tprintf("%s\\n", pid);\n}', (), 'BPFTRACE_WRONG', '%s does not go with a number', '2:17'),
    ('BEGIN { printf("a\\n" }', (), 'BPFTRACE_WRONG', '`)` is wanted here', '1:22'),
    ('uprobe:libc:malloc { @ = count(); }', (), 'BPFTRACE_REFUSED', 'of which program?', '1:1'),
    ('uprobe:libc:malloc { @ = kstack; }', ('-c', 'ls'), 'BPFTRACE_REFUSED', "the kernel's stack", '1:26'),
    ('nothing:x { }', (), 'BPFTRACE_WRONG', 'no kind of probe `nothing`', '1:1'),
    ('', (), 'BPFTRACE_WRONG', 'there is no probe', '1:1'),
)


def test_refused(ctx):
    for program, words, tag, what, place in REFUSED:
        p = trapless(ctx, '--bpftrace', program, *words)
        assert p.returncode == 1 and p.stdout == '', (program, p)
        assert 'error[%s]: ' % tag in p.stderr and what in p.stderr and 'next step: ' in p.stderr, (program, p.stderr)
        assert '<--bpftrace>:%s\n' % place in p.stderr, (program, p.stderr)
    p = trapless(ctx, '--bpftrace', 'uprobe:libc:no_such_function { }', '-c', 'ls')
    assert p.returncode == 1 and 'error[FUNCTION_UNKNOWN]' in p.stderr and '<--bpftrace, translated>' in p.stderr, p
    for words in ('-e', 'probe begin { }'), ('-l', 'begin'), ('--trace-events', 'exit'), ('--sessions',), ('--example',):
        p = trapless(ctx, '--bpftrace', 'BEGIN { }', *words)
        assert p.returncode == 2 and 'cannot be used with' in p.stderr, (words, p)


# What these stand for in a kernel; they are not run.
OF_KERNEL = (
    ('kprobe:vfs_read { @[kstack] = count(); @b[ustack(3), comm] = sum(arg2); }', 'kernel.function("vfs_read")'),
    ('kprobe:vfs_read { @s[tid] = nsecs; } kretprobe:vfs_read /@s[tid]/ { @ = hist(nsecs - @s[tid]); delete(@s[tid]); }', 'kernel.function("vfs_read").return'),
    ('kretprobe:vfs_read { @bytes = lhist(retval, 0, 2000, 200); }', 'kernel.function("vfs_read").return'),
    ('tracepoint:sched:sched_* { @[probe] = count(); } interval:s:5 { exit(); }', 'kernel.trace("sched:sched_switch")'),
    ('tracepoint:sched:sched_switch { @[args.next_pid, kstack(4)] = count(); }', 'kernel.trace("sched:sched_switch")'),
    ('profile:hz:99 { @[kstack] = count(); }', 'timer.profile.freq.hz(99)'),
    ('#include <linux/path.h>\nkprobe:vfs_open { printf("%s\\n", str(((struct path *)arg0)->dentry->d_name.name)); }', 'kernel.function("vfs_open")'),
    ('fentry:vfs_open { @ = args.path->dentry->d_name.name; } fexit:vfs_open { @r = retval; }', 'kernel.function("vfs_open")'),
)

SOURCE = '''
struct name { const char *name; };
struct dentry { struct name d_name; };
struct path { void *mnt; struct dentry *dentry; };
struct dentry one;
struct task_struct { int pid, tgid; char comm[16]; };
int vfs_open(const struct path *path) { return *path->dentry->d_name.name; }
long vfs_read(void *file, char *buf, unsigned long count) { return count; }
int __traceiter_sched_switch(void *data, int preempt, struct task_struct *prev, struct task_struct *next) { return next->pid; }
'''


def test_of_a_kernel(ctx):
    folder = kernel(ctx, 'kernel', SOURCE)
    for program, point in OF_KERNEL:
        p = good(ctx, '-r', folder, '-p2', '--bpftrace', program)
        assert point in p.stdout, (program, p)


# Of each example of the page, in their order, what its output has.
EXAMPLES = (r'^hello$', r'^ls /.*libc\.so\.6$', r'^@\[ls\]: \d+$', r'^@bytes:\n *value', r'^@sizes:\n *value(.*\n)*@total: \d+$',
            r'^@ns:\n *value', r'^@\[\n(.*libc.*\n)+', r'^@\[str\w+\]: \d+$', r'^6 ""$', r'^@\[seq, \n')


def test_examples_of_the_page(ctx):
    page = open(ctx.root + '/docs/bpftrace.md').read().split('## Ten to try')[1].split('Of a kernel')[0]
    lines = re.findall(r'^    trapless (.*)$', page, re.M)
    assert len(lines) == len(EXAMPLES), lines
    for line, wanted in zip(lines, EXAMPLES):
        p = good(ctx, *shlex.split(line))
        assert re.search(wanted, p.stdout, re.M), (line, p.stdout)
