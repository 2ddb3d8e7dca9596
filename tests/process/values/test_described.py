# SPDX-License-Identifier: MIT
"""What arguments of system calls mean: flags by name, what they point to, all the variables that SystemTap documents."""
import os
import re

import scripted

# What tests/targets/described.c asks for. `*`: an address or a descriptor.
CALLS = r'''pipe([-1, -1])
pipe2([*, *], O_CLOEXEC)
pipe2(NULL, 0x0)
dup2(-1, -1)
dup3(-1, 4, 0x0)
splice(-1, 0x0, -1, 0x0, 1, SPLICE_F_MOVE|SPLICE_F_NONBLOCK)
tee(-1, -1, 1, 0x0)
fallocate(-1, FALLOC_FL_KEEP_SIZE|FALLOC_FL_PUNCH_HOLE, 0x0, 1)
sync_file_range(-1, 0, 1, SYNC_FILE_RANGE_WRITE)
fsetxattr(-1, "user.a", "b", 1, XATTR_CREATE)
faccessat2(-1, "none", R_OK, AT_EACCESS)
unlinkat(-1, "none", 0x0)
fanotify_init(FAN_CLASS_NOTIF|0x40000000, O_RDONLY)
fanotify_mark(-1, FAN_MARK_ADD, FAN_CLOSE_WRITE|FAN_OPEN, AT_FDCWD, "none")
utime("/no/such", [Thu Jan  1 00:00:11 1970, Thu Jan  1 00:00:12 1970])
socket(PF_INET, SOCK_DGRAM|SOCK_CLOEXEC, IPPROTO_UDP)
connect(-1, {AF_INET6, 0000:0000:0000:0000:0000:0000:0000:0001, 81}, 28)
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
mbind(0x1, 0, MPOL_F_STATIC_NODES|MPOL_BIND, 0x0, 0, MPOL_MF_MOVE)
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
utimes("/no/such", [1.000002][3.000004])
utimes("/no/such", 0xffffffffffffffff)
futimesat(AT_FDCWD, "/no/such", NULL)
utimensat(AT_FDCWD, "/no/such", [UTIME_NOW][6.000000007], 0x0)
utimensat(-1, 0x0, [1.000000002][UTIME_OMIT], 0x42)
mknod("/no/such", S_IFCHR|0600, 1)
mknodat(-1, "none", 037777777777, 4294967295)
preadv(-1, 0x0, 1, 0xff)
pwritev2(-1, 0x0, 1, 0xffffffffffffffff, 0x0)
copy_file_range(-1, 0x0, -1, 0x0, 1, 0x3)
fsetxattr(-1, "user.b", "a\x01\xff", 3, 0x0)
fsetxattr(-1, "user.c", "text", 5, 0x0)
fsetxattr(-1, "user.d", 0x0, 18446744073709551615, 0x0)
flock(-1, LOCK_EX|LOCK_NB)
memfd_secret(O_CLOEXEC|0x100000)
swapon(0x0, SWAP_FLAG_PREFER|3)
write(-1, "an exact line of forty-five characters to 45.", 45)
write(-1, "an exact line of forty-five characters to 45,"..., 59)
quotactl(Q_QUOTAON|USRQUOTA, "/no/such", QFMT_VFS_V0, "/no/file")
quotactl(Q_SETQUOTA|GRPQUOTA, "/no/such", 7, {dqb_bhardlimit=1, dqb_bsoftlimit=2, dqb_curspace=3, dqb_ihardlimit=4, dqb_isoftlimit=5, ...})
quotactl(Q_GETINFO|USRQUOTA, 0x0, 0, 0xffffffffffffffff)
quotactl(Q_SYNC|USRQUOTA, "/no/such", -1, 0x0)
sysfs(1, "no such kind")
sysfs(2, 9999, 0x0)
sysfs(99, 0x1, 0x0)
file_getattr(-100, AT_FDCWD, *, "/no/such", 0x0, 24, 0)
execve("/no/such", ["prog", "an arg"], ["A=1", "B=2", "C=3"])
execveat(-1, "none", [], [], 0x0)
execve("/no/such", [0xffffffffffffffff], [0xffffffffffffffff])
setns(-1, 0x0)
clone(CLONE_FS|CLONE_NEWNS, 0x1, 0x0, 0x0)
clone(CLONE_THREAD|SIGCHLD, 0x1, 0x0, 0x0)
set_mempolicy(0xffffffff, 0x0, 0)
ioprio_set(-1, 2147483647, 0x7ffff|8191)
ioperm(0xfffff, 0x1, 0x1)
getrlimit(RLIM_INFINITY, 0x0)
io_destroy(5)
io_cancel(18446744073709551615, 0x1, 0x2)
arch_prctl(ARCH_GET_FS, 0)
arch_prctl(-1, 18446744073709551615)
socket(PF_LOCAL, SOCK_STREAM, -1)
socket(PF_INET, 0x4b, -1)
socket(0xffffffff, SOCK_CLOEXEC|SOCK_NONBLOCK|0xfff7f7ff, 0)
connect(-1, {AF_UNIX, "/no/such"}, 110)
connect(-1, {AF_UNIX, "\000none"}, 7)
bind(-1, {unknown sockaddr with salen=1}, 1)
bind(-1, {unknown sockaddr with sa=47, salen=16}, 16)
bind(-1, {AF_NETLINK, pid=7, groups=00000011}, 12)
bind(-1, {...}, 16)
futex(0x0, FUTEX_WAIT, 1, [0.000000009])
futex(0x0, FUTEX_WAKE_PRIVATE, 1)
futex(0x0, FUTEX_REQUEUE, 1, 2, 0x3)
futex(0x0, FUTEX_CMP_REQUEUE, 1, 18446744073709551615, 0x3, -4)
futex(0x0, FUTEX_WAKE_OP, 1, 2, 0x3, {FUTEX_OP_ADD, -1, FUTEX_OP_CMP_LT, 7})
futex(0x0, FUTEX_WAIT_BITSET|FUTEX_CLOCK_REALTIME, 1, NULL, 0xbeef)
futex(0x0, FUTEX_WAKE_BITSET, 1, 0xffffffff)
futex(0x0, FUTEX_WAIT_REQUEUE_PI, 1, [0.000000009], 0x3)
futex(0x0, 0xffffffff, 1)
prctl(PR_CAPBSET_READ, CAP_SETGID)
prctl(PR_GET_DUMPABLE)
prctl(PR_SET_PDEATHSIG, 0x63)
prctl(PR_GET_PDEATHSIG, 0x0)
prctl(PR_SET_DUMPABLE, 77)
prctl(PR_SET_SECUREBITS, SECBIT_KEEP_CAPS|0x1000)
prctl(PR_MCE_KILL, PR_MCE_KILL_CLEAR)
prctl(PR_MCE_KILL, PR_MCE_KILL_SET, PR_MCE_KILL_EARLY)
prctl(PR_SET_MM, PR_SET_MM_BRK, 0x0)
prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY)
prctl(PR_SET_SECCOMP, 0x63, 0x0)
prctl(PR_CAP_AMBIENT, 0x63, 0x1, 0x0, 0x0)
prctl(0xffffffff, 0xffffffffffffffff, 0x1, 0x2, 0x3)
ptrace(PTRACE_CONT, 2147483647, 0x0, SIGINT)
ptrace(PTRACE_PEEKDATA, 2147483647, 0x1234, [0x5678])
ptrace(PTRACE_POKEUSR, 2147483647, 0x1234, 0xffffffffffffffff)
ptrace(PTRACE_GETREGSET, 2147483647, NT_PRSTATUS, [{0x1000, 8}])
ptrace(PTRACE_SETOPTIONS, 2147483647, 0x0, PTRACE_O_TRACEEXEC|PTRACE_O_EXITKILL)
ptrace(PTRACE_SEIZE, 2147483647, 0x0, 0x0)
ptrace(PTRACE_GET_THREAD_AREA, 2147483647, -1, 0x0)
ptrace(PTRACE_ARCH_PRCTL, 2147483647, 0x0, ARCH_GET_GS)
ptrace(0x9999, 2147483647, 0x1, 0x2)
keyctl(KEYCTL_GET_KEYRING_ID, KEY_SPEC_SESSION_KEYRING, 0)
keyctl(KEYCTL_UPDATE, 2147483647, "data", 4)
keyctl(KEYCTL_CHOWN, 2147483647, -1, 3)
keyctl(KEYCTL_SETPERM, 2147483647, KEY_POS_VIEW|KEY_USR_WRITE)
keyctl(KEYCTL_SEARCH, 2147483647, "user", "name", 0)
keyctl(KEYCTL_READ, KEY_SPEC_USER_KEYRING, 0x0, 0)
keyctl(KEYCTL_NEGATE, 2147483647, 30, -1)
keyctl(KEYCTL_SET_REQKEY_KEYRING, KEY_REQKEY_DEFL_NO_CHANGE)
keyctl(-1, -1, 2, 3, 4)
'''.splitlines()

# Variables of the first such call that are more than one argument (the flow is in the network's byte order, as in SystemTap).
VARIABLES = '''dup2 flags 0; flags_str 0x0
splice flags 3; flags_str SPLICE_F_MOVE|SPLICE_F_NONBLOCK
fallocate mode_str FALLOC_FL_KEEP_SIZE|FALLOC_FL_PUNCH_HOLE
utime actime 11; modtime 12; filename "/no/such"
socket family_str PF_INET; type_str SOCK_DGRAM|SOCK_CLOEXEC; protocol_str IPPROTO_UDP
connect uaddr_af AF_INET6; uaddr_ip 0000:0000:0000:0000:0000:0000:0000:0001; uaddr_ip_port 81; uaddr_ipv6_flowinfo 83886080; uaddr_ipv6_scope_id 7
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
    r = scripted.launch(ctx, 'global on  probe syscall.getppid { on = 1 } ' + script, program(ctx), timeout=300)  # gcc: handlers of all calls
    assert r.returncode == 0 and not re.search(r'^(warning|WARNING|ERROR)', r.stderr, re.M), r.script + r.stderr
    return r.script.splitlines()


def test_each_call_as_text(ctx):
    lines = seen(ctx, 'probe syscall.* { if (on && name != "getppid" && name != "exit_group") printf("%s(%s)\\n", name, argstr) }')
    for line, wanted in zip(lines, CALLS):
        assert scripted.as_expected(line, wanted), (line, wanted)
    assert len(lines) == len(CALLS), lines


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
