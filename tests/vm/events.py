# SPDX-License-Identifier: MIT
"""--trace-events in a kernel: what a program does is told once, what the machine does as often as the kernel counts it."""
import re

from suite import Test, has, lines, session

CALLS = '--trace-events', 'sys_*'
FAMILY = '--trace-events', 'fork,exec,exit'
MACHINE = '--trace-events', 'sched_switch,fork,irq_*'
EVERYTHING = '--trace-events', '*'
PATTERN = '--trace-events', 'sched:sched_process_e*,signal_deliver'

# What the kernel counts, before, within and behind the session; and what was told. What is printed interrupts for more.
COUNTERS = r'''counters() { sed -n 's/^ctxt /sched_switch /p; s/^processes /fork /p' /proc/stat
awk '/ ttyS0$/ { print "irq_enter", $2 + $3 }' /proc/interrupts; }
told() { echo "irq_enter $(grep -c ' irq_enter irq=.* handler="ttyS0"$' told)"; for e in sched_switch fork; do echo "$e $(grep -c ") $e " told)"; done; }
echo all is counted; counters >before
%s
counters >behind; told >n; for f in before first last behind n; do sed "s/^/$f /" $f; done''' \
    % session('-o told machine.tap', 'counters >first; for i in 1 2 3 4 5; do /bin/busybox true; echo so much is printed; done; usleep 200000; counters >last')

ALL = r'''insmod /loop.ko; dd if=/dev/zero of=image bs=4k count=64 2>/dev/null; losetup /dev/loop0 image; ifconfig lo 127.0.0.1 up
%s
losetup -d /dev/loop0; rmmod loop
sed -n 's/^ *[0-9]*\.[0-9]* \[[0-9]*\] .*([0-9]*) \([a-z_]*\) .*/\1/p' told | sort -u
echo later; grep -c '^ *[0-9]\{5,\}' told; for e in device= disk= sig=USR1 'file="/bin/busybox"'; do grep -m 1 "$e" told; done''' \
    % session('-o told everything.tap', '''work 3; sh -c 'trap true USR1; kill -USR1 $$'; ping -c 1 127.0.0.1 >/dev/null; /bin/busybox true
dd if=/dev/zero of=/dev/loop0 bs=4k count=1 conv=fsync 2>/dev/null; usleep 100000''')
NAMES = '''block_complete block_issue exec exit file_open fork hrtimer_expire mem_map net_receive net_send page_fault sched_switch
sched_wakeup signal signal_deliver softirq_enter softirq_exit sys_enter sys_exit timer_expire'''.split()


def each_told(out):
    """With times since the session began, all of them."""
    late = out[out.index('later') + 1] if 'later' in out else '?'
    fields = 'device="lo" len=', 'disk="loop0" sector=', 'sig=USR1 to=', 'file="/bin/busybox"'
    return late == '0' and has('status 0', *NAMES, *fields)(out) or 'said %r' % (out,)


def as_counted(out):
    """At least what came between the inner looks at the counters, at most what came between the outer ones."""
    of = {(m[1], m[2]): int(m[3]) for m in (re.match(r'(before|first|last|behind|n) (\w+) (\d+)$', line) for line in out) if m}
    for event in ('sched_switch', 'fork', 'irq_enter'):
        least, most = (of[last, event] - of[first, event] for first, last in (('first', 'last'), ('before', 'behind')))
        if not 0 < least <= of['n', event] <= most:
            return '%s: %d, and not %d to %d' % (event, of['n', event], least, most)
    return 'status 0' in out or 'said %r' % (out,)


TESTS = (
    Test('events_of_a_program', r'''trapless-run -o told calls.tap -c 'work 100'; echo "status $?"
grep -c ' work(.* sys_enter nr=257 name=openat arg1=0x.* ip=0x' told; grep -c ' work(.* sys_exit nr=257 name=openat ret=[0-9]*$' told
grep -c 'sys_enter .*name=exit_group arg1=0x0 ' told; sed 's/.*\] \([a-z-]*\)(.*/\1/' told | sort -u''',
         lambda out: out[:4] == ['status 0', '100', '100', '1'] and set(out[4:]) <= {'trapless-run', 'work'} or 'said %r' % (out,), calls=CALLS),
    Test('events_of_a_family', r'''trapless-run -o told family.tap -c 'sh -c "for i in 1 2 3; do /bin/busybox true; done; exit 5"'; echo "status $?"
for e in ') fork child=' ') exec old_tid=' 'exec .*file="/bin/busybox"' ') exit tid=.* status=0 signal=0' 'sh(.*) exit tid=.* status=5 signal=0'
do grep -c "$e" told; done''', lines('status 5', '3', '4', '3', '3', '1'), family=FAMILY),
    Test('events_as_the_kernel_counts_them', COUNTERS, as_counted, machine=MACHINE),
    Test('each_event_of_a_kernel', ALL, has('status 0', *NAMES, '0',  'device="lo" len=', 'disk="loop0" sector=', 'sig=USR1 to=', 'file="/bin/busybox"'),
         everything=EVERYTHING),
    Test('events_by_the_names_of_tracepoints', "trapless-run pattern.tap -c '/bin/busybox true'; echo \"status $?\"",
         has('busybox(', ' sched:sched_process_exec p=0x', ' sched:sched_process_exit p=0x', 'status 0'), pattern=PATTERN),
)
