/* SPDX-License-Identifier: MIT */
/* Makes system calls with flags and structures, behind a first getppid(); none of them changes anything. tests/process/test_described.py knows them. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/ioprio.h>
#include <linux/kcmp.h>
#include <linux/membarrier.h>
#include <linux/mempolicy.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <signal.h>
#include <sys/fanotify.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/timex.h>
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

int main(void)
{
	syscall(SYS_getppid);
	descriptors();
	sockets();
	clocks();
	limits();
	signals();
	queues();
	return 0;
}
