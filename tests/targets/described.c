/* SPDX-License-Identifier: MIT */
/* Makes system calls with flags and structures, behind a first getppid(); none of them changes anything. tests/process/values/test_described.py knows them. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <asm/prctl.h>
#include <elf.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/ioprio.h>
#include <linux/kcmp.h>
#include <linux/keyctl.h>
#include <linux/membarrier.h>
#include <linux/mempolicy.h>
#include <linux/netlink.h>
#include <linux/securebits.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <signal.h>
#include <sys/fanotify.h>
#include <sys/file.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/quota.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/swap.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/timex.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>
#include <utime.h>

struct kernel_sigaction {
	void (*handler)(int);
	unsigned long flags;
	void (*restorer)(void);
	unsigned long mask;
};

static void descriptors(void)
{
	int pair[2] = {-1, -1};

	syscall(SYS_pipe, pair);
	syscall(SYS_pipe2, pair, O_CLOEXEC);
	syscall(SYS_pipe2, NULL, 0);
	syscall(SYS_dup2, -1, -1);
	syscall(SYS_dup3, -1, 4, 0);
	syscall(SYS_splice, -1, NULL, -1, NULL, 1L, 3 /* SPLICE_F_MOVE | SPLICE_F_NONBLOCK */);
	syscall(SYS_tee, -1, -1, 1L, 0);
	syscall(SYS_fallocate, -1, 3 /* FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE */, 0L, 1L);
	syscall(SYS_sync_file_range, -1, 0L, 1L, SYNC_FILE_RANGE_WRITE);
	syscall(SYS_fsetxattr, -1, "user.a", "b", 1L, XATTR_CREATE);
	syscall(SYS_faccessat2, -1, "none", R_OK, AT_EACCESS);
	syscall(SYS_unlinkat, -1, "none", 0);
	syscall(SYS_fanotify_init, FAN_CLASS_NOTIF | 0x40000000, O_RDONLY);
	syscall(SYS_fanotify_mark, -1, FAN_MARK_ADD, FAN_OPEN | FAN_CLOSE_WRITE, AT_FDCWD, "none");
	syscall(SYS_utime, "/no/such", &(struct utimbuf){11, 12});
}

static void sockets(void)
{
	struct sockaddr_in in = {AF_INET, htons(80), {htonl(0x7f000001)}, {0}};
	struct sockaddr_in6 in6 = {AF_INET6, htons(81), htonl(5), {{{[15] = 1}}}, 7};

	syscall(SYS_socket, AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, IPPROTO_UDP);
	syscall(SYS_connect, -1, &in6, sizeof(in6));
	syscall(SYS_bind, -1, &in, sizeof(in));
	syscall(SYS_sendto, -1, "a", 1L, MSG_DONTWAIT, &in, sizeof(in));
	syscall(SYS_setsockopt, -1, SOL_SOCKET, SO_REUSEADDR, &in, 4);
	syscall(SYS_getsockopt, -1, SOL_TCP, TCP_NODELAY, NULL, NULL);
	syscall(SYS_accept4, -1, NULL, NULL, 0);
}

static void clocks(void)
{
	struct timespec nothing = {0, 1};
	struct itimerval val = {{1, 2}, {0, 0}};
	struct itimerspec spec = {{1, 2}, {3, 4}};
	struct timex t = {.modes = 0, .tick = 10000};

	syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, TIMER_ABSTIME, &nothing, NULL);
	syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &nothing, NULL);
	syscall(SYS_setitimer, ITIMER_PROF, &val, NULL);
	syscall(SYS_timer_settime, -1, 0, &spec, NULL);
	syscall(SYS_timerfd_create, -1, TFD_CLOEXEC | TFD_NONBLOCK);
	syscall(SYS_timerfd_settime, -1, TFD_TIMER_ABSTIME, &spec, NULL);
	syscall(SYS_clock_adjtime, -1, &t);
}

static void limits(void)
{
	struct rlimit limit = {5, RLIM_INFINITY};
	struct sched_attr {
		unsigned size, policy;
		unsigned long flags;
		int nice;
		unsigned priority;
		unsigned long runtime, deadline, period;
	} attr = {48, 0, 1, -3, 0, 7, 8, 9};

	syscall(SYS_prlimit64, -1, RLIMIT_NOFILE, &limit, NULL);
	syscall(SYS_setrlimit, 99, &limit);
	syscall(SYS_sched_setattr, -1, &attr, 0);
	syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, -1, IOPRIO_CLASS_BE << IOPRIO_CLASS_SHIFT | 4);
	syscall(SYS_kcmp, -1, -1, KCMP_VM, 0L, 0L);
	syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0);
	syscall(SYS_mlock2, 0L, 0L, 1 /* MLOCK_ONFAULT */);
	syscall(SYS_mbind, 1L, 0L, MPOL_BIND | MPOL_F_STATIC_NODES, NULL, 0L, MPOL_MF_MOVE);
}

static void signals(void)
{
	struct kernel_sigaction sa = {(void (*)(int))0x1234, SA_RESTART | 0x04000000,
		(void (*)(void))0x5678, 1ul << (SIGINT - 1)};
	struct kernel_sigaction ignore = {SIG_IGN, 0, NULL, 0};
	unsigned long set = 1ul << (SIGUSR1 - 1) | 1ul << (SIGTERM - 1), none = 0,
		      most = ~(1ul << (SIGKILL - 1));
	siginfo_t info = {.si_signo = SIGUSR1, .si_code = SI_QUEUE};

	info.si_pid = 1;
	info.si_uid = 2;
	syscall(SYS_rt_sigaction, 99, &sa, NULL, 8L);
	syscall(SYS_rt_sigaction, 99, &ignore, NULL, 8L);
	syscall(SYS_rt_sigaction, SIGUSR2, NULL, NULL, 8L);
	syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, &set, NULL, 8L);
	syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, &none, NULL, 8L);
	syscall(SYS_rt_sigprocmask, 9, &most, NULL, 8L);
	syscall(SYS_rt_sigqueueinfo, -1, SIGUSR1, &info);
	syscall(SYS_sigaltstack, &(stack_t){(void *)0x1000, 0, 5}, NULL);
	syscall(SYS_kill, 0, 0);
}

static void queues(void)
{
	syscall(SYS_shmget, IPC_PRIVATE, 0L, IPC_CREAT | IPC_EXCL | 0600);
	syscall(SYS_shmat, -1, NULL, SHM_RDONLY);
	syscall(SYS_shmctl, -1, SHM_LOCK, NULL);
	syscall(SYS_semget, IPC_PRIVATE, -1, IPC_CREAT | 0640);
	syscall(SYS_semctl, -1, 0, GETPID, NULL);
	syscall(SYS_msgget, 12345, 0);
	syscall(SYS_msgsnd, -1, NULL, 1L, IPC_NOWAIT);
	syscall(SYS_msgctl, -1, IPC_RMID, NULL);
}

/* Nothing is there, nor was ever such a process. */
#define NOWHERE ((void *)-1L)
#define NOBODY	0x7fffffff

static void files(void)
{
	struct timeval tv[2] = {{1, 2}, {3, 4}};
	struct timespec ts[2] = {{5, UTIME_NOW}, {6, 7}}, omit[2] = {{1, 2}, {0, UTIME_OMIT}};

	syscall(SYS_utimes, "/no/such", tv);
	syscall(SYS_utimes, "/no/such", NOWHERE);
	syscall(SYS_futimesat, AT_FDCWD, "/no/such", NULL);
	syscall(SYS_utimensat, AT_FDCWD, "/no/such", ts, 0);
	syscall(SYS_utimensat, -1, NULL, omit, 0x42);
	syscall(SYS_mknod, "/no/such", S_IFCHR | 0600, 1);
	syscall(SYS_mknodat, -1, "none", -1, -1);
	syscall(SYS_preadv, -1, NULL, 1, 255L, 0L);
	syscall(SYS_pwritev2, -1, NULL, 1, -1L, 0L, 0);
	syscall(SYS_copy_file_range, -1, NULL, -1, NULL, 1L, 3);
	syscall(SYS_fsetxattr, -1, "user.b", "a\x01\xff", 3L, 0);
	syscall(SYS_fsetxattr, -1, "user.c", "text", 5L, 0);
	syscall(SYS_fsetxattr, -1, "user.d", NULL, -1L, 0);
	syscall(SYS_flock, -1, LOCK_EX | LOCK_NB);
	syscall(SYS_memfd_secret, 1 << 20 | O_CLOEXEC);
	syscall(SYS_swapon, NULL, SWAP_FLAG_PREFER | 3);
	syscall(SYS_write, -1, "an exact line of forty-five characters to 45.", 45L);
	syscall(SYS_write, -1, "an exact line of forty-five characters to 45, and some more", 59L);
	syscall(SYS_quotactl, QCMD(Q_QUOTAON, USRQUOTA), "/no/such", QFMT_VFS_V0, "/no/file");
	syscall(SYS_quotactl, QCMD(Q_SETQUOTA, GRPQUOTA), "/no/such", 7,
		&(struct dqblk){1, 2, 3, 4, 5});
	syscall(SYS_quotactl, QCMD(Q_GETINFO, USRQUOTA), NULL, 0, NOWHERE);
	syscall(SYS_quotactl, QCMD(Q_SYNC, USRQUOTA), "/no/such", -1, NULL);
	syscall(SYS_sysfs, 1, "no such kind");
	syscall(SYS_sysfs, 2, 9999L, NULL);
	syscall(SYS_sysfs, 99, 1L, NULL);
	syscall(468, AT_FDCWD, "/no/such", NULL, 24L, 0);
}

static void programs(void)
{
	char *argv[] = {"prog", "an arg", NULL}, *envp[] = {"A=1", "B=2", "C=3", NULL};

	syscall(SYS_execve, "/no/such", argv, envp);
	syscall(SYS_execveat, -1, "none", NULL, NULL, 0);
	syscall(SYS_execve, "/no/such", NOWHERE, NOWHERE);
	syscall(SYS_setns, -1, 0);
	syscall(SYS_clone, CLONE_FS | CLONE_NEWNS, 1L, NULL, NULL, 0L);
	syscall(SYS_clone, CLONE_THREAD | SIGCHLD, 1L, NULL, NULL, 0L);
	syscall(SYS_set_mempolicy, -1, NULL, 0L);
	syscall(SYS_ioprio_set, -1, NOBODY, -1);
	syscall(SYS_ioperm, 0xfffffL, 1L, 1);
	syscall(SYS_getrlimit, -1, NULL);
	syscall(SYS_io_destroy, 5L);
	syscall(SYS_io_cancel, -1L, 1L, 2L);
	syscall(SYS_arch_prctl, ARCH_GET_FS, NULL);
	syscall(SYS_arch_prctl, -1, -1L);
}

static void unix_sockets(void)
{
	struct sockaddr_un un = {AF_UNIX, "/no/such"}, hidden = {AF_UNIX, "\0none"};

	syscall(SYS_socket, PF_LOCAL, SOCK_STREAM, -1);
	syscall(SYS_socket, PF_INET, 75, -1);
	syscall(SYS_socket, -1, -1, 0);
	syscall(SYS_connect, -1, &un, sizeof(un));
	syscall(SYS_connect, -1, &hidden, 7);
	syscall(SYS_bind, -1, &un, 1);
	syscall(SYS_bind, -1, &(struct sockaddr){47}, 16);
	syscall(SYS_bind, -1, &(struct sockaddr_nl){AF_NETLINK, 0, 7, 0x11}, 12);
	syscall(SYS_bind, -1, NOWHERE, 16);
}

static void futexes(void)
{
	struct timespec ts = {0, 9};

	syscall(SYS_futex, NULL, FUTEX_WAIT, 1, &ts, NULL, 0);
	syscall(SYS_futex, NULL, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, 1, &ts, NULL, 0);
	syscall(SYS_futex, NULL, FUTEX_REQUEUE, 1, 2L, 3L, 4);
	syscall(SYS_futex, NULL, FUTEX_CMP_REQUEUE, 1, -1L, 3L, -4);
	syscall(SYS_futex, NULL, FUTEX_WAKE_OP, 1, 2L, 3L,
		FUTEX_OP(FUTEX_OP_ADD, -1, FUTEX_OP_CMP_LT, 7));
	syscall(SYS_futex, NULL, FUTEX_WAIT_BITSET | FUTEX_CLOCK_REALTIME, 1, NULL, NULL, 0xbeef);
	syscall(SYS_futex, NULL, FUTEX_WAKE_BITSET, 1, NULL, NULL, -1);
	syscall(SYS_futex, NULL, FUTEX_WAIT_REQUEUE_PI, 1, &ts, 3L, 0);
	syscall(SYS_futex, NULL, -1, 1, NULL, NULL, 0);
}

static void options(void)
{
	syscall(SYS_prctl, PR_CAPBSET_READ, 6L, 0L, 0L, 0L);
	syscall(SYS_prctl, PR_GET_DUMPABLE, 0L, 0L, 0L, 0L);
	syscall(SYS_prctl, PR_SET_PDEATHSIG, 99L, 0L, 0L, 0L);
	syscall(SYS_prctl, PR_GET_PDEATHSIG, NULL, 0L, 0L, 0L);
	syscall(SYS_prctl, PR_SET_DUMPABLE, 77L, 0L, 0L, 0L);
	syscall(SYS_prctl, PR_SET_SECUREBITS, SECBIT_KEEP_CAPS | 0x1000L, 0L, 0L, 0L);
	syscall(SYS_prctl, PR_MCE_KILL, PR_MCE_KILL_CLEAR, 5L, 0L, 0L);
	syscall(SYS_prctl, PR_MCE_KILL, PR_MCE_KILL_SET, PR_MCE_KILL_EARLY, 5L, 0L);
	syscall(SYS_prctl, PR_SET_MM, PR_SET_MM_BRK, 0L, 5L, 0L);
	syscall(SYS_prctl, PR_SET_PTRACER, -1L, 0L, 0L, 0L);
	syscall(SYS_prctl, PR_SET_SECCOMP, 99L, 0L, 0L, 0L);
	syscall(SYS_prctl, PR_CAP_AMBIENT, 99L, 1L, 0L, 0L);
	syscall(SYS_prctl, -1, -1L, 1L, 2L, 3L);
}

static void tracing(void)
{
	struct iovec regs = {(void *)0x1000, 8};

	syscall(SYS_ptrace, PTRACE_CONT, NOBODY, 0L, SIGINT);
	syscall(SYS_ptrace, PTRACE_PEEKDATA, NOBODY, 0x1234L, 0x5678L);
	syscall(SYS_ptrace, PTRACE_POKEUSER, NOBODY, 0x1234L, -1L);
	syscall(SYS_ptrace, PTRACE_GETREGSET, NOBODY, NT_PRSTATUS, &regs);
	syscall(SYS_ptrace, PTRACE_SETOPTIONS, NOBODY, 0L, PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL);
	syscall(SYS_ptrace, PTRACE_SEIZE, NOBODY, 0L, 0L);
	syscall(SYS_ptrace, PTRACE_GET_THREAD_AREA, NOBODY, -1L, NULL);
	syscall(SYS_ptrace, PTRACE_ARCH_PRCTL, NOBODY, NULL, ARCH_GET_GS);
	syscall(SYS_ptrace, 0x9999L, NOBODY, 1L, 2L);
}

static void keys(void)
{
	syscall(SYS_keyctl, KEYCTL_GET_KEYRING_ID, KEY_SPEC_SESSION_KEYRING, 0);
	syscall(SYS_keyctl, KEYCTL_UPDATE, NOBODY, "data", 4L);
	syscall(SYS_keyctl, KEYCTL_CHOWN, NOBODY, -1L, 3L);
	syscall(SYS_keyctl, KEYCTL_SETPERM, NOBODY, 0x01040000L);
	syscall(SYS_keyctl, KEYCTL_SEARCH, NOBODY, "user", "name", 0L);
	syscall(SYS_keyctl, KEYCTL_READ, KEY_SPEC_USER_KEYRING, NULL, 0L);
	syscall(SYS_keyctl, KEYCTL_NEGATE, NOBODY, 30L, KEY_SPEC_THREAD_KEYRING);
	syscall(SYS_keyctl, KEYCTL_SET_REQKEY_KEYRING, KEY_REQKEY_DEFL_NO_CHANGE);
	syscall(SYS_keyctl, -1, -1L, 2L, 3L, 4L);
}

int main(void)
{
	syscall(SYS_getppid);
	descriptors();
	sockets();
	clocks();
	limits();
	signals();
	queues();
	files();
	programs();
	unix_sockets();
	futexes();
	options();
	tracing();
	keys();
	return 0;
}
