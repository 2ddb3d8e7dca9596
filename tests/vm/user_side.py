# SPDX-License-Identifier: MIT
"""What scripts in a kernel ask of the program that runs: where it has left its own code. At a system call the registers are
that program's, so what is said there is what all other probes have to say of the same call."""
from suite import TICK, Test, has, lines

# Of one call: its own probe comes first.
CALL = 'global at, n, bad probe syscall.%s { if (pid() == target()) at[tid()] = uaddr() } function mine() { return pid() == target() && at[tid()] } ' \
       'function check() { n++; a = at[tid()]; if (uaddr() != a || ubacktrace() != sprintf("0x%%x", a) || ucallers(3) != ubacktrace() || ustack(0) != a || ' \
       'ustack(1) || usymname(uaddr()) != usymname(a) || sprint_ubacktrace() != usymdata(a) . "\\n" || addr() == a || isinstr(backtrace(), ubacktrace()) || ' \
       'u_register("rip") != addr() || user_mode()) bad++ } %s probe end { println(n, " ", bad) }'
CALLED = CALL % ('openat', 'probe kernel.function("do_sys_openat2"), kernel.function("do_sys_openat2").return, kernel.trace("sys_exit") '
                 '{ if (mine()) { check(); if (!isinstr(pn(), "function")) delete at[tid()] } }')
IN_MODULE = CALL % ('ioctl', 'probe module("loop").function("lo_ioctl"), module("loop").function("lo_ioctl").return { if (mine()) check() }')
# What is printed where the function is called, and what the call's own probe prints.
PRINTED = 'probe syscall.openat, kernel.function("do_sys_openat2") { if (pid() == target()) { print_ubacktrace(); print_ubacktrace_brief(); println("") } }'
# Of a fault the kernel tells where it was. While the kernel copies for a program that has called it, faults are the kernel's.
FAULTS = 'global n, calls, bad probe kernel.trace("exceptions:page_fault_user") { if (pid() == target()) { n++; bad += uaddr() != $regs->ip || uaddr() == addr() } } ' \
         'probe kernel.function("handle_mm_fault") { if (pid() == target()) { calls++; bad += uaddr() <= 0 || addr() > 0 } } probe end { println(n > 9, calls > 9, " ", bad) }'
# Whatever a processor was in as its clock ticked.
TICKS = 'global in_program, in_kernel, bad probe timer.profile { if (pid() == target()) { if (user_mode()) { in_program++; bad += uaddr() != addr() } ' \
        'else { in_kernel++; bad += uaddr() == addr() || uaddr() <= 0 } if (in_program > 9 && in_kernel > 9) exit() } } ' \
        'probe ' + TICK + ' { if (pid() == target()) bad += uaddr() <= 0 } probe end { println(bad) }'
# Threads of the kernel's own have none, nor has what stands nowhere.
NOBODY = 'global n, bad, told probe kernel.trace("sched:sched_switch") { if (execname() =~ "^(swapper|kworker|rcu)") { n++; ' \
         'bad += uaddr() || ubacktrace() != "" || ustack(0) || usymname(uaddr()) != "0x0"; told = sprint_ubacktrace(); if (n == 1) print_ubacktrace() } if (n == 100) exit() } ' \
         'probe begin, timer.ms(1) { bad += uaddr() || ubacktrace() != "" || sprint_ubacktrace() != "" } probe end { print(told); println(n, " ", bad) }'
# The interrupt of samples has a global of its own: it does not wait for what it interrupts.
KINDS = 'global n, m probe kernel.function("do_sys_openat2"), kernel.function("do_sys_openat2").return, kernel.trace("sched_process_exit"), ' \
        'syscall.openat, syscall.openat.return, kernel.data("panic_timeout").write?, begin, timer.ms(1) { n[probe_type()]++ } probe timer.profile { m = probe_type() } ' \
        'probe end { foreach (t+ in n) println(t); println(m) }'
NONE = '<no user backtrace at kernel.trace("sched:sched_switch")>'


def twice(out):
    """Each call is told of twice, alike, by two lines."""
    two = [out[i:i + 3] for i in range(0, len(out), 3)]
    return len(two) == 6 and all(a == two[0] and a[0].strip() == a[1] and a[1].startswith('0x') for a in two) or 'said %r' % (out,)


TESTS = (
    Test('where_a_program_has_called', 'trapless-run called.tap -c "work 5"', lines('15 0'), called=CALLED),
    Test('where_a_program_has_called_a_module', 'insmod /loop.ko; trapless-run called_module.tap -c "losetup /dev/loop0"; rmmod loop',
         lambda out: has(' 0')(out) if out and int(out[-1].split()[0]) > 1 else 'said %r' % (out,), called_module=IN_MODULE),
    Test('the_stack_of_a_program_that_has_called', 'trapless-run printed.tap -c "work 3"', twice, printed=PRINTED),
    Test('where_a_program_has_faulted', 'trapless-run faults.tap -c "work 3"', lines('11 0'), faults=FAULTS),
    Test('where_a_program_was_interrupted', 'work spin & w=$!; trapless-run ticks.tap -x $w; kill $w', lines('0'), ticks=TICKS),
    Test('kinds_of_probes', "trapless-run kinds.tap -c 'sh -c \"work 3; echo 1 >/proc/sys/kernel/panic; sleep 1\"'",
         lines('begin_end', 'hardware_data_breakpoint', 'hrtimer', 'kprobe', 'kretprobe', 'tracepoint', 'profile_timer'), kinds=KINDS),
    Test('threads_of_the_kernel_have_no_program', 'trapless-run nobody.tap', lines(NONE, NONE, '100 0'), nobody=NOBODY),
)
