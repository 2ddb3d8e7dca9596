# SPDX-License-Identifier: MIT
"""What arguments of system calls mean: flags by name, what they point to, all the variables that SystemTap documents."""
import os
import re

import scripted
import support

# What tests/targets/described.c asks for. `*`: an address or a descriptor.
CALLS = '''pipe([-1, -1])
pipe2([*, *], O_CLOEXEC)
pipe2(NULL, 0x0)
dup2(-1, -1)
dup3(-1, 4, 0x0)
splice(-1, 0x0, -1, 0x0, 1, SPLICE_F_MOVE|SPLICE_F_NONBLOCK)
tee(-1, -1, 1, 0x0)
fallocate(-1, FALLOC_FL_KEEP_SIZE|FALLOC_FL_PUNCH_HOLE, 0, 1)
sync_file_range(-1, 0, 1, SYNC_FILE_RANGE_WRITE)
fsetxattr(-1, "user.a", "b", 1, XATTR_CREATE)
faccessat2(-1, "none", R_OK, AT_EACCESS)
unlinkat(-1, "none", 0x0)
fanotify_init(FAN_CLASS_NOTIF|0x40000000, O_RDONLY)
fanotify_mark(-1, FAN_MARK_ADD, FAN_CLOSE_WRITE|FAN_OPEN, AT_FDCWD, "none")
utime("/no/such", [Thu Jan  1 00:00:11 1970, Thu Jan  1 00:00:12 1970])
socket(PF_INET, SOCK_DGRAM|SOCK_CLOEXEC, IPPROTO_UDP)
connect(-1, {AF_INET6, 0:0:0:0:0:0:0:1, 81}, 28)
bind(-1, {AF_INET, 127.0.0.1, 80}, 16)
sendto(-1, "a", 1, MSG_DONTWAIT, {AF_INET, 127.0.0.1, 80}, 16)
setsockopt(-1, SOL_SOCKET, SO_REUSEADDR, *, 4)
getsockopt(-1, SOL_TCP, TCP_NODELAY, 0x0, 0x0)
accept4(-1, 0x0, 0x0, 0x0)
clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, [0.000000001], 0x0)
clock_nanosleep(CLOCK_MONOTONIC, 0x0, [0.000000001], 0x0)
setitimer(ITIMER_PROF, [1.000002,0.000000], 0x0)
timer_settime(-1, 0, [1.000000002,3.000000004], 0x0)
timerfd_create(0xffffffff, TFD_NONBLOCK|TFD_CLOEXEC)
timerfd_settime(-1, TFD_TIMER_ABSTIME, [1.000000002,3.000000004], 0x0)
clock_adjtime(0xffffffff, {0x0, constant=0, esterror=0, freq=0, maxerror=0, offset=0, precision=0, status=0, tick=10000, tolerance=0})
prlimit64(-1, RLIMIT_NOFILE, [5,-1], 0x0)
setrlimit(0x63, [5,-1])
sched_setattr(-1, {size=48, sched_policy=0, sched_flags=1, sched_nice=-3, sched_priority=0, sched_runtime=7, sched_deadline=8, sched_period=9}, 0)
ioprio_set(IOPRIO_WHO_PROCESS, -1, IOPRIO_CLASS_BE|4)
kcmp(-1, -1, KCMP_VM, 0, 0)
membarrier(MEMBARRIER_CMD_QUERY, 0)
mlock2(0x0, 0, MLOCK_ONFAULT)
mbind(0x1, 0, MPOL_BIND|MPOL_F_STATIC_NODES, 0x0, 0, MPOL_MF_MOVE)
rt_sigaction(0x63, {0x1234, SA_RESTART|SA_RESTORER, 0x5678, [SIGINT]}, 0x0, 8)
rt_sigaction(0x63, {SIG_IGN}, 0x0, 8)
rt_sigaction(SIGUSR2, {NULL}, 0x0, 8)
rt_sigprocmask(SIG_UNBLOCK, [SIGUSR1|SIGTERM], 0x0, 8)
rt_sigprocmask(SIG_UNBLOCK, [EMPTY], 0x0, 8)
rt_sigprocmask(0x9, ~[SIGKILL], 0x0, 8)
rt_sigqueueinfo(-1, SIGUSR1, {si_signo=SIGUSR1, si_code=SI_QUEUE, si_pid=1, si_uid=2})
sigaltstack({ss_sp=0x1000, ss_flags=0x0, ss_size=5}, 0x0)
kill(0, SIG_0)
shmget(0, 0, IPC_CREAT|IPC_EXCL|0600)
shmat(-1, 0x0, SHM_RDONLY)
shmctl(-1, SHM_LOCK, 0x0)
semget(IPC_PRIVATE, -1, IPC_CREAT|0640)
semctl(-1, 0, GETPID, 0x0)
msgget(12345, 00)
msgsnd(-1, 0x0, 1, IPC_NOWAIT)
msgctl(-1, IPC_RMID, 0x0)
'''.splitlines()

# Variables of the first such call that are more than one argument (the flow is in the network's byte order, as in SystemTap).
VARIABLES = '''dup2 flags 0; flags_str 0x0
splice flags 3; flags_str SPLICE_F_MOVE|SPLICE_F_NONBLOCK
fallocate mode_str FALLOC_FL_KEEP_SIZE|FALLOC_FL_PUNCH_HOLE
utime actime 11; modtime 12; filename "/no/such"
socket family_str PF_INET; type_str SOCK_DGRAM|SOCK_CLOEXEC; protocol_str IPPROTO_UDP
connect uaddr_af AF_INET6; uaddr_ip 0:0:0:0:0:0:0:1; uaddr_ip_port 81; uaddr_ipv6_flowinfo 83886080; uaddr_ipv6_scope_id 7
bind uaddr_af AF_INET; uaddr_ip 127.0.0.1; uaddr_ip_port 80; uaddr_ipv6_flowinfo ; uaddr_ipv6_scope_id
sendto to_str {AF_INET, 127.0.0.1, 80}; buf "a"
setsockopt optname_str SO_REUSEADDR; level_str SOL_SOCKET
getsockopt optname_str TCP_NODELAY
clock_nanosleep flags_str TIMER_ABSTIME; req_str [0.000000001]; clk_id_str CLOCK_MONOTONIC
setitimer value_str [1.000002,0.000000]
timer_settime value_str [1.000000002,3.000000004]
timerfd_create flags_str TFD_NONBLOCK|TFD_CLOEXEC
prlimit64 new_rlim_str [5,-1]; resource_str RLIMIT_NOFILE
setrlimit rlim_str [5,-1]
kcmp type_str KCMP_VM
membarrier cmd_str MEMBARRIER_CMD_QUERY
rt_sigaction act_str 0x1234, SA_RESTART|SA_RESTORER, 0x5678, [SIGINT]
rt_sigprocmask set_str [SIGUSR1|SIGTERM]
rt_sigqueueinfo sig_name SIGUSR1; siginfo_str {si_signo=SIGUSR1, si_code=SI_QUEUE, si_pid=1, si_uid=2}
kill sig_name SIG_0
shmget shmflg_str IPC_CREAT|IPC_EXCL|0600
shmat shmflg_str SHM_RDONLY
semget key_str IPC_PRIVATE; semflg_str IPC_CREAT|0640
semctl cmdstr GETPID
msgget key_str 12345
msgsnd msgflg_str IPC_NOWAIT
msgctl cmd_str IPC_RMID
'''.splitlines()


def program(ctx):
    return ctx.target('described', ('-O2',), 'gcc', ('-static',))


def seen(ctx, script):
    r = scripted.launch(ctx, 'global on  probe syscall.getppid { on = 1 } ' + script, program(ctx))
    assert r.returncode == 0 and not re.search(r'^(warning|WARNING|ERROR)', r.stderr, re.M), r.script + r.stderr
    return r.script.splitlines()


def test_each_call_as_text(ctx):
    lines = seen(ctx, 'probe syscall.* { if (on && name != "getppid" && name != "exit_group") printf("%s(%s)\\n", name, argstr) }')
    for line, wanted in zip(lines, CALLS):
        assert re.fullmatch(re.escape(wanted).replace(r'\*', '(?:0x)?[0-9a-f]+'), line), (line, wanted)
    assert len(lines) == len(CALLS), lines


test_each_call_as_text.variants = support.PAIR


def test_variables_of_each_call(ctx):
    script, wanted = 'global done ', []
    for line in VARIABLES:
        call, rest = line.split(' ', 1)
        pairs = [p.strip().partition(' ') for p in rest.split(';')]
        script += 'probe syscall.%s { if (on && !done["%s"]++) println("%s "%s) } ' % (
            call, call, call, ''.join(', "%s ", %s, ";"' % (v, v) for v, _, _ in pairs))
        wanted.append('%s %s;' % (call, ';'.join('%s %s' % (v, value) for v, _, value in pairs)))
    lines = seen(ctx, script)
    for line, value in zip(lines, wanted):
        assert line == value, (line, value)
    assert len(lines) == len(wanted), lines


def documented(ctx):
    """Of each system call: can a program of x86-64 make it, its name, its variables."""
    with open(os.path.join(ctx.root, 'tests', 'scripts', 'syscall_variables.txt')) as f:
        for line in f:
            if not line.startswith('#'):
                made, words = line[0] != '-', line.lstrip('- ').split()
                yield (made, *words)


def test_all_that_is_documented(ctx):
    """Each call has the point, and each variable has a type."""
    calls = list(documented(ctx))
    probes = ''.join('probe syscall.%s%s { println(name, argstr%s) }\n' % (call, '' if made else '?', ''.join(', ' + v for v in variables))
                     for made, call, *variables in calls)
    r = ctx.run([ctx.bin('trapless'), '--no-cache', '-p2', '-c', program(ctx), '-e', probes])
    assert r.returncode == 0, r.stderr
    assert len(calls) == 382 and sum(made for made, *_ in calls) > 300, len(calls)
