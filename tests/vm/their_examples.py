# SPDX-License-Identifier: MIT
"""Which of SystemTap's examples tests/vm/examples runs in a kernel, and what each must say there."""
import os

from theirs import EXAMPLES


class Run:
    """`says`: patterns (what grep -E and Python read alike) that only real data satisfies. `words`: its arguments, where those
    of its .meta fit nothing that is there; `options` of the compiler; `runner`: of trapless-run. `live`: it speaks before it ends.
    `status`: of trapless-run, which is that of its program."""
    def __init__(self, script, *says, words=None, options=(), runner=(), live=False, status=0, folder=EXAMPLES):
        self.script, self.says, self.words, self.options, self.runner, self.live, self.status = script, says, words, options, runner, live, status
        self.path = os.path.join(folder, script)
        self.name = os.path.basename(script)[:-len('.stp')].replace('-', '_').replace('.', '_')


HISTOGRAM = r'^ *[0-9]+ \|@+ +[1-9]'
LIVE = dict(live=True)


def started(*kinds):
    return '-c', 'busy ' + ' '.join(kinds)


RUNS = (
    Run('general/alias_suffixes.stp', r'intervals for write -- .* count:[1-9]', HISTOGRAM),
    Run('general/ansi_colors.stp', ' Bold ', **LIVE),
    Run('general/ansi_colors2.stp', ' Colors ', **LIVE),
    Run('general/eventcount.stp', r'^busy\([0-9]+\) +[1-9][0-9]* .*syscall.kill', words=['syscall.kill', 'syscall.semop'], options=['-G', 'period=1'], **LIVE),
    Run('general/func_time_stats.stp', r'count:[1-9]', HISTOGRAM),
    Run('general/grapher.stp', r'cpu [0-9]{13} [1-9]', **LIVE),
    Run('general/graphs.stp', 'title "ioblock"', r'^[1-9][0-9]*$', **LIVE),
    Run('general/helloworld.stp', 'hello world', **LIVE),
    Run('general/measureinterval.stp', '^id=busy$', r'^[1-9][0-9]*$'),
    Run('general/regex.stp', '^opened .*busy.tar.gz', words=['busy.*gz'], **LIVE),
    Run('general/sizeof.stp', r'byte-size: [1-9][0-9]+', **LIVE),
    Run('general/socket-events.stp', r'^Socket [0-9]+ connect, wait [1-9][0-9]* us, send', runner=started('streams', 'datagrams')),
    Run('general/stopwatches.stp', r'kernel-space +[1-9][0-9]*us', runner=started('files')),
    Run('general/watchdog.stp', r'^stack of [1-9]', words=['syscall.nanosleep', 'syscall.nanosleep.return', '50'], **LIVE),
    Run('interrupt/interrupts-by-dev.stp', r'ttyS0 : +[1-9]', **LIVE),
    Run('io/deviceseeks.stp', '^Device: nullb', HISTOGRAM),
    Run('io/disktop.stp', r' busy +nullb0 +W +[1-9]', **LIVE),
    Run('io/inodewatch.stp', r'^busy\([0-9]+\) vfs_write 0x[0-9a-f]+/12$', words=['254', '0', '12'], **LIVE),
    Run('io/inodewatch2.stp', r'^busy\([0-9]+\) notify_change 0x[0-9a-f]+/12 100640 0$', words=['254', '0', '12'], **LIVE),
    Run('io/io_submit.stp', r'^[1-9][0-9]*:', 'io_submit'),
    Run('io/ioblktime.stp', r'nullb[01] +[RW] +[1-9][0-9]* +[1-9]'),
    Run('io/iodevstats.stp', r'^ +busy +[0-9]+, +[0-9]+ +[1-9]'),
    Run('io/iostats.stp', r'^ +busy +[1-9][0-9]* +[0-9]+ '),
    Run('io/iotime.stp', r'\(busy\) access "/disk/new" read: 4096 write: 16384', **LIVE),
    Run('io/iotop.stp', r'busy[^a-z]+[1-9][0-9]*[^a-z]+[1-9][0-9]*$', **LIVE),
    Run('io/mbrwatch.stp', r'^device nullb1 sector 0 write, process busy\[', 'submit_bio', **LIVE),
    Run('io/slowvfs.stp', r'^busy\[[0-9]+\] [0-9]+ .*watched', options=['-G', 'sloth=0'], **LIVE),
    Run('io/switchfile.stp', '^log data', **LIVE),
    Run('io/traceaio.stp', r'io_submit\(', r'iocb\[ +7\]=0x[0-9a-f]+, fd=[0-9]+, opcode=0, offset=229376, nbytes=4096', runner=started('aio')),
    Run('io/traceio.stp', r' busy r: +[1-9][0-9]* .* w: +[1-9]', **LIVE),
    Run('io/traceio2.stp', r'^busy\([0-9]+\) vfs_(read|write) 0x[1-9a-f]', words=['0xfe00'], **LIVE),
    Run('lwtools/accept2close-nd.stp', r' busy +[0-9]+ +[0-9]+ ms$', **LIVE),
    Run('lwtools/biolatency-nd.stp', HISTOGRAM),
    Run('lwtools/bitesize-nd.stp', '^process name: busy', HISTOGRAM),
    Run('lwtools/execsnoop-nd.stp', ' busybox +true of busy', **LIVE),
    Run('lwtools/killsnoop-nd.stp', r'^[1-9][0-9]* +busy +9 +[1-9]', **LIVE),
    Run('lwtools/opensnoop-nd.stp', r' busy +[1-9][0-9]* "?/tmp/busy.tar.gz', **LIVE),
    Run('lwtools/rwtime-nd.stp', HISTOGRAM),
    Run('lwtools/syscallbypid-nd.stp', r'^[1-9][0-9]* +busy +semop +[1-9]'),
    Run('memory/hugepage_clear_delays.stp', r' busy\( *[0-9]+\) count=[1-9]'),
    Run('memory/hugepage_collapse.stp', r': busy \([0-9]+\) collapse_huge_page', **LIVE),
    Run('memory/hugepage_cow_delays.stp', r' busy\( *[0-9]+\) count=[1-9]'),
    Run('memory/mmfilepage.stp', r'^busy +[1-9][0-9]* +[1-9]'),
    Run('memory/overcommit.stp', r'overcommit blocked malloc, process busy \([0-9]+\), [1-9]', **LIVE),
    Run('memory/pfaults.stp', r'^[0-9]+:[0-9]+:.*:[rw]:minor:[0-9]', **LIVE),
    Run('memory/vm.tracepoints.stp', '^Process:busy', r'^Slab_size:[1-9][0-9]*.Count:[1-9]', **LIVE),
    Run('network/connect_stat.stp', r'127.0.0.1: busy \([0-9]+\),0,0 -> busy', **LIVE),
    Run('network/dropwatch.stp', r'[1-9] packets dropped at [a-z_0-9]+', **LIVE),
    Run('network/netdev.stp', 'Changing MTU on device dummy0 from 1500 to 1400', 'dummy0 entering in promiscuous', r'dummy0 is sending \(queued\)', **LIVE),
    Run('network/nettop.stp', r' dummy0 +[1-9].* busy'),
    Run('network/sk_stream_wait_memory.stp', r'busy\([0-9]+\) blocked on full', r'busy\([0-9]+\) recovered from full', **LIVE),
    Run('network/tcp_connections.stp', r' busy +[0-9]+ +[1-9][0-9]* +127.0.0.1', **LIVE),
    Run('network/tcp_init_cwnd.stp', r'counts\[[0-9]+,[0-9]+\]'),
    Run('network/tcpdumplike.stp', r' 127.0.0.1 +127.0.0.1 +[0-9]+ +[0-9]+  0  1 ', '127.0.0.1 .*  UDP$', **LIVE),
    Run('process/auditbt.stp', r'^busy\[[0-9]+\] ', **LIVE),
    Run('process/chng_cpu.stp', r'thread [0-9]+ \(busy\) context switched on cpu[01] state: ', 'schedule', words=['busy'], **LIVE),
    Run('process/cycle_thief.stp', r'^task [1-9][0-9]* on processor', HISTOGRAM, runner=started('files', 'sleeps')),
    Run('process/errsnoop.stp', r' 2/ENOENT +openat +busy +[1-9][0-9]* AT_FDCWD, "/tmp/nothing"', words=['1', '400'], **LIVE),
    Run('process/forktracker.stp', r': busy \([0-9]+:[0-9]+\) created [1-9]', r"is exec'ing .*busybox", **LIVE),
    Run('process/futexes.stp', r'^busy\[[0-9]+\] lock 0x[0-9a-f]+ contended [1-9]'),
    Run('process/migrate.stp', r'^thread [0-9]+ \(busy\) is migrating from [01] to [01]', words=['busy'], **LIVE),
    Run('process/proc_snoop.stp', 'exec "?/bin/busybox', r'busy +create p:', r'sigsend 9 \(SIGKILL\) to p:', **LIVE),
    Run('process/procmod_watcher.stp', r'EXEC: .* busy: ', 'EXIT: .* true: exit code', **LIVE),
    Run('process/proctop.stp', r'^ +[1-9][0-9]* +busy +[A-Z]+ +[1-9]', options=['-D', 'MAXACTION=100000'], **LIVE),
    Run('process/sched-latency.stp', r'^pid:[1-9][0-9]* prio:120', HISTOGRAM, **LIVE),
    Run('process/schedtimes.stp', r'^ +busy: +[1-9][0-9]* +[1-9]'),
    Run('process/semop-watch.stp', r'operate on set [0-9]+ sems 1', **LIVE),
    Run('process/sig_by_pid.stp', r' busy +[1-9][0-9]* +busy +SIGKILL +[1-9]'),
    Run('process/sig_by_proc.stp', r'^busy +busy +SIGUSR1 +[1-9]'),
    Run('process/sigkill.stp', r'^SIGKILL was sent to busy \(pid:[0-9]+\) by busy uid:0', **LIVE),
    Run('process/sigmon.stp', r'^[1-9][0-9]* +busy +[1-9][0-9]* +busy +9 +SIGKILL', runner=started('killed'), status=137),
    Run('process/sleeptime.stp', r'\(busy\) nanosleep: [1-9]', r'\(busy\) clock_nanosleep: [1-9]', **LIVE),
    Run('process/spawn_seeker.stp', '^ +busy +[1-9]'),
    Run('process/strace.stp', r'openat\(AT_FDCWD, "/disk/new", .* = [0-9]', runner=started('files'), options=['-G', 'follow_fork=1']),
    Run('process/syscalls_by_pid.stp', r'^[1-9][0-9]* +[1-9][0-9]*$'),
    Run('process/syscalls_by_proc.stp', r'^[1-9][0-9]* +busy$'),
    Run('process/thread-business.stp', r'^ +busy +[0-9]+ +[1-9][0-9]* [a-z]', **LIVE),
    Run('process/wait4time.stp', r'\(busy\) wait4: [1-9][0-9]* [1-9]', **LIVE),
    Run('profiling/container_check.stp', r'busy'),
    Run('profiling/fntimes.stp', r'^function ksys_(read|write)[a-z]* well over maximum time', words=['kernel.function("ksys_*")'],
        options=['-G', 'mincount=2', '-G', 'note_percent=0'], **LIVE),
    Run('profiling/ioctl_handler.stp', '^busy [1-9]', r'^  (tty_ioctl|sock_ioctl)'),
    Run('profiling/latencytap.stp', r'[1-9]'),
    Run('profiling/periodic.stp', r'^(kernel|work_q|process) +[a-z_0-9().]+.* [1-9][0-9]*$'),
    Run('profiling/sched_switch.stp', r'==> +[0-9]+: *[0-9]+:R busy', **LIVE),
    Run('profiling/timeout.stp', r'\| busy$', **LIVE),
    Run('stapgames/2048.stp', r'SCORE|[24]', **LIVE),
    Run('stapgames/block.stp', r'\[01\]\[01\]', **LIVE),
    Run('stapgames/eater.stp', '####', **LIVE),
    Run('stapgames/lifegame.stp', 'o', **LIVE),
    Run('stapgames/pingpong.stp', '@', **LIVE),
)
# A few of each kind, of which `make check-vm` is enough.
SHORT = ('general/alias_suffixes.stp', 'io/iotop.stp', 'io/mbrwatch.stp', 'network/tcpdumplike.stp', 'network/netdev.stp', 'process/proc_snoop.stp',
         'process/sig_by_proc.stp', 'memory/pfaults.stp')
