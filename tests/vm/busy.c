/* SPDX-License-Identifier: MIT */
/*
 * Work of every kind, for scripts to see.
 *
 * busy             every kind once, each in a process of its own, which is called busy, too
 * busy KIND ...    these kinds, in this process
 * busy killed      kills itself
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/futex.h>
#include <linux/netlink.h>
#include <linux/userfaultfd.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#define FOLDER "/disk/" /* on a disk, with a file system */
#define RAW    "/dev/nullb1" /* a disk without one */

enum { SECTOR = 512, BLOCK = 4096, SOON_MS = 5, HUGE = 2 << 20 };

static void die(const char *what)
{
	fprintf(stderr, "busy: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* At least zero, or this is the end. */
static long must(const char *what, long result)
{
	if (result < 0)
		die(what);
	return result;
}

/* It is in memory when the kernel is given it: handlers wait for no page. */
static const char *there(const char *text)
{
	for (const volatile char *c = text; *c; c++)
		;
	return text;
}

static void wait_for(pid_t pid)
{
	must("wait4", syscall(SYS_wait4, pid, NULL, 0, NULL));
}

static void files(void)
{
	char text[BLOCK] = "text";
	int fd = (int)must("open", open(there(FOLDER "new"), O_CREAT | O_RDWR, 0600));
	int old = (int)must("open", open(there(FOLDER "watched"), O_RDWR));

	for (int i = 0; i < 4; i++)
		must("write", write(fd, text, sizeof(text)));
	must("fsync", fsync(fd));
	must("seek", lseek(fd, 0, SEEK_SET));
	must("read", read(fd, text, sizeof(text)));
	must("write", write(old, text, 1));
	must("chmod", fchmod(old, 0640));
	must("rename", rename(FOLDER "new", FOLDER "newer"));
	must("unlink", unlink(FOLDER "newer"));
	close(old);
	close(fd);
}

static bool sleeps_in_kernel(pid_t pid)
{
	char path[32], text[256] = "";
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	fd = (int)must("open", open(path, O_RDONLY));
	must("read", read(fd, text, sizeof(text) - 1));
	close(fd);
	return strstr(text, ") D ") != NULL;
}

/* When the page is missed: somebody wants the pipe that its writer has locked, and only then it comes. */
static void bring_page(int fault, int from, void *page)
{
	static char block[BLOCK] __attribute__((aligned(BLOCK)));
	struct uffdio_copy copy = {.dst = (uintptr_t)page, .src = (uintptr_t)block, .len = BLOCK};
	struct pollfd p = {.fd = fault, .events = POLLIN};
	pid_t rival;

	must("poll", poll(&p, 1, -1));
	rival = (pid_t)must("fork", fork());
	if (!rival)
		_exit(read(from, block, sizeof(block)) < 0);
	while (!sleeps_in_kernel(rival))
		sched_yield();
	must("copy", ioctl(fault, UFFDIO_COPY, &copy));
	wait_for(rival);
}

/* One writes a page to a pipe that is not there yet, and waits for it with the pipe's lock; the other waits for the lock. */
static void rivals(void)
{
	struct uffdio_api api = {.api = UFFD_API};
	struct uffdio_register where = {.mode = UFFDIO_REGISTER_MODE_MISSING};
	int ends[2], fault = (int)must("userfaultfd", syscall(SYS_userfaultfd, O_NONBLOCK));
	void *page = mmap(NULL, BLOCK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pid_t pid;

	where.range = (struct uffdio_range){(uintptr_t)page, BLOCK};
	must("pipe", pipe(ends));
	must("api", ioctl(fault, UFFDIO_API, &api));
	must("register", ioctl(fault, UFFDIO_REGISTER, &where));
	pid = (pid_t)must("fork", fork());
	if (!pid) {
		bring_page(fault, ends[0], page);
		_exit(0);
	}
	must("write", write(ends[1], page, BLOCK));
	wait_for(pid);
	munmap(page, BLOCK);
	close(ends[0]);
	close(ends[1]);
	close(fault);
}

/* By the calls of old, which libraries use no more. */
static void opens(void)
{
	int fd = (int)must(
		"open", syscall(SYS_open, there("/tmp/busy.tar.gz"), O_CREAT | O_RDWR, 0600));

	must("write", syscall(SYS_write, fd, "some", 4));
	close(fd);
	syscall(SYS_open, there("/tmp/nothing"), O_RDONLY);
	open(there("/tmp/nothing"), O_RDONLY);
}

static void sectors(void)
{
	static char block[BLOCK] __attribute__((aligned(BLOCK)));
	int fd = (int)must(RAW, open(RAW, O_RDWR | O_DIRECT));

	must("write", pwrite(fd, block, sizeof(block), 0));
	must("read", pread(fd, block, sizeof(block), 100 * BLOCK));
	close(fd);
}

static void aio(void)
{
	enum { N = 8 };
	static char blocks[N][BLOCK] __attribute__((aligned(BLOCK)));
	struct iocb cb[N] = {0}, *all[N];
	struct io_event done[N];
	aio_context_t context = 0;
	int fd = (int)must(RAW, open(RAW, O_RDWR | O_DIRECT));

	must("io_setup", syscall(SYS_io_setup, N, &context));
	for (int i = 0; i < N; i++) {
		cb[i] = (struct iocb){.aio_lio_opcode = IOCB_CMD_PREAD,
			.aio_fildes = (uint32_t)fd,
			.aio_buf = (uintptr_t)blocks[i],
			.aio_nbytes = BLOCK,
			.aio_offset = i * BLOCK * 8};
		all[i] = &cb[i];
	}
	must("io_submit", syscall(SYS_io_submit, context, N, all));
	must("io_getevents", syscall(SYS_io_getevents, context, N, N, done, NULL));
	must("io_destroy", syscall(SYS_io_destroy, context));
	close(fd);
}

static void programs(void)
{
	pid_t pid = (pid_t)must("fork", fork());

	if (!pid) {
		execl(there("/bin/busybox"), "true", "of", "busy", NULL);
		_exit(1);
	}
	wait_for(pid);
}

static void signals(void)
{
	pid_t pid = (pid_t)must("fork", fork());

	if (!pid) {
		signal(SIGUSR1, SIG_IGN);
		pause();
		_exit(0);
	}
	must("kill", kill(pid, SIGUSR1));
	must("kill", kill(pid, SIGKILL));
	wait_for(pid);
}

static void traced(void)
{
	pid_t pid = (pid_t)must("fork", fork());

	if (!pid)
		_exit(ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0);
	wait_for(pid);
}

/* As a program that has lost its way; the kernel's log is told nothing, as it would be of a fault. */
static void crashes(void)
{
	pid_t pid = (pid_t)must("fork", fork());

	if (!pid)
		abort();
	wait_for(pid);
}

static void killed(void)
{
	kill(getpid(), SIGKILL);
}

static struct sockaddr_in address(const char *ip, int port)
{
	return (struct sockaddr_in){.sin_family = AF_INET,
		.sin_port = htons((uint16_t)port),
		.sin_addr.s_addr = inet_addr(ip)};
}

static int socket_at(int kind, struct sockaddr_in *a)
{
	socklen_t size = sizeof(*a);
	int fd = (int)must("socket", socket(AF_INET, kind, 0));

	must("bind", bind(fd, (void *)a, size));
	must("getsockname", getsockname(fd, (void *)a, &size));
	return fd;
}

/* More than fits anywhere is sent, and what waits for it comes late. */
static void send_much(const struct sockaddr_in *to)
{
	static char much[4 << 20];
	int fd = (int)must("socket", socket(AF_INET, SOCK_STREAM, 0));

	must("connect", connect(fd, (const void *)to, sizeof(*to)));
	for (size_t sent = 0; sent < sizeof(much);)
		sent += (size_t)must("sendto", send(fd, much + sent, sizeof(much) - sent, 0));
	close(fd);
}

static void streams(void)
{
	struct sockaddr_in a = address("127.0.0.1", 0);
	int fd = socket_at(SOCK_STREAM, &a), from;
	static char some[1 << 16];
	pid_t pid;

	must("listen", listen(fd, 1));
	pid = (pid_t)must("fork", fork());
	if (!pid) {
		send_much(&a);
		_exit(0);
	}
	from = (int)must("accept", accept(fd, NULL, NULL));
	usleep(SOON_MS * 1000);
	while (must("recv", recv(from, some, sizeof(some), 0)) > 0)
		;
	close(from);
	close(fd);
	wait_for(pid);
}

/* A connection that was silent for longer than an answer is waited for begins slowly once more. */
static void idle(void)
{
	enum { SILENT_US = 600000 };
	struct sockaddr_in a = address("127.0.0.1", 0);
	int to = socket_at(SOCK_STREAM, &a), fd;

	must("listen", listen(to, 1));
	fd = (int)must("socket", socket(AF_INET, SOCK_STREAM, 0));
	must("connect", connect(fd, (void *)&a, sizeof(a)));
	for (int i = 0; i < 2; i++) {
		must("send", send(fd, "hello", 5, 0));
		usleep(SILENT_US * !i);
	}
	close(fd);
	close(to);
}

/* Who asks for a connection there asks again and again. That takes a second, for which nobody waits. */
static void unanswered(void)
{
	struct sockaddr_in out = address("10.9.9.9", 9);
	int fd = (int)must("socket", socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0));

	if (must("fork", fork()))
		return;
	if (!connect(fd, (void *)&out, sizeof(out)) || errno != EINPROGRESS)
		die("connect");
	usleep(1500000);
	_exit(0);
}

static void datagrams(void)
{
	struct sockaddr_in a = address("127.0.0.1", 0), out = address("10.9.9.9", 9);
	struct sockaddr_in nobody = address("127.0.0.1", 9);
	int fd = socket_at(SOCK_DGRAM, &a), back = socket(AF_INET, SOCK_DGRAM, 0);
	char text[8];

	must("sendto", sendto(back, "hello", 5, 0, (void *)&a, sizeof(a)));
	must("recv", recv(fd, text, sizeof(text), 0));
	must("sendto", sendto(back, "hello", 5, 0, (void *)&out, sizeof(out)));
	must("sendto", sendto(back, "hello", 5, 0, (void *)&nobody, sizeof(nobody)));
	close(fd);
	close(back);
}

/* What a network device can be told. */
static void device(void)
{
	struct ifreq r = {.ifr_name = "dummy0"};
	int fd = (int)must("socket", socket(AF_INET, SOCK_DGRAM, 0));

	r.ifr_mtu = 1400;
	must("mtu", ioctl(fd, SIOCSIFMTU, &r));
	r.ifr_mtu = 1500;
	must("mtu", ioctl(fd, SIOCSIFMTU, &r));
	must("flags", ioctl(fd, SIOCGIFFLAGS, &r));
	r.ifr_flags ^= IFF_PROMISC;
	must("flags", ioctl(fd, SIOCSIFFLAGS, &r));
	r.ifr_flags ^= IFF_PROMISC;
	must("flags", ioctl(fd, SIOCSIFFLAGS, &r));
	close(fd);
}

static long futex(uint32_t *word, int op, uint32_t value, const struct timespec *time)
{
	return syscall(SYS_futex, word, op, value, time, NULL, 0);
}

static void futexes(void)
{
	const struct timespec soon = {.tv_nsec = SOON_MS * 1000000};
	uint32_t *word =
		mmap(NULL, BLOCK, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t pid = (pid_t)must("fork", fork());

	if (!pid) {
		while (!__atomic_load_n(word, __ATOMIC_ACQUIRE))
			futex(word, FUTEX_WAIT, 0, NULL);
		_exit(0);
	}
	futex(word, FUTEX_WAIT, 0, &soon);
	__atomic_store_n(word, 1, __ATOMIC_RELEASE);
	futex(word, FUTEX_WAKE, 1, NULL);
	wait_for(pid);
}

static void semaphores(void)
{
	int id = (int)must("semget", semget(IPC_PRIVATE, 2, 0600));
	struct sembuf up = {.sem_num = 1, .sem_op = 1};

	must("semop", syscall(SYS_semop, id, &up, 1));
	must("semctl", semctl(id, 0, IPC_RMID));
}

static void sleeps(void)
{
	struct timespec soon = {.tv_nsec = SOON_MS * 1000000}, longer = {.tv_nsec = 200000000};
	struct timeval once = {.tv_usec = SOON_MS * 1000};
	struct epoll_event event;
	int fd = epoll_create1(0);

	must("nanosleep", syscall(SYS_nanosleep, &soon, NULL));
	must("nanosleep", syscall(SYS_nanosleep, &longer, NULL));
	must("clock_nanosleep", clock_nanosleep(CLOCK_MONOTONIC, 0, &soon, NULL));
	must("poll", syscall(SYS_poll, NULL, 0, SOON_MS));
	must("select", syscall(SYS_select, 0, NULL, NULL, NULL, &once));
	must("epoll_wait", syscall(SYS_epoll_wait, fd, &event, 1, SOON_MS));
	close(fd);
}

static char *room(size_t size, int flags)
{
	char *p = mmap(
		NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);

	return p == MAP_FAILED ? (die("mmap"), NULL) : p;
}

static void memory(void)
{
	char *huge = room(3 * HUGE, 0);

	huge += -(uintptr_t)huge % HUGE;
	must("madvise", madvise(huge, HUGE, MADV_HUGEPAGE));
	*huge = 1;
	/* a system that has so much is not known */
	mmap(NULL, 1ul << 45, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

/* Small pages become a huge one. */
static void collapse(void)
{
	enum { COLLAPSE = 25 }; /* MADV_COLLAPSE of 6.1; older headers have none */
	char *small = room(3 * HUGE, 0);

	small += -(uintptr_t)small % HUGE;
	must("madvise", madvise(small, HUGE, MADV_NOHUGEPAGE));
	memset(small, 1, HUGE);
	must("madvise", madvise(small, HUGE, MADV_HUGEPAGE));
	madvise(small, HUGE, COLLAPSE);
}

/* A huge page is written to that a parent has, too. */
static void copy_huge(void)
{
	char *p = room(HUGE, MAP_HUGETLB);
	pid_t pid;

	*p = 1;
	pid = (pid_t)must("fork", fork());
	if (!pid) {
		*p = 2;
		_exit(0);
	}
	wait_for(pid);
}

static void processors(void)
{
	for (int cpu = 0; cpu < 2; cpu++) {
		cpu_set_t set;

		CPU_ZERO(&set);
		CPU_SET(cpu, &set);
		must("sched_setaffinity", sched_setaffinity(0, sizeof(set), &set));
		usleep(1000);
	}
}

/* A line of the audit trail, which needs no audit to be on. */
static void audit(void)
{
	enum { USER_AVC = 1107 };
	struct {
		struct nlmsghdr head;
		char text[16];
	} message = {{.nlmsg_len = sizeof(message),
			     .nlmsg_type = USER_AVC,
			     .nlmsg_flags = NLM_F_REQUEST},
		"busy was here"};
	struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
	int fd = (int)must("socket", socket(AF_NETLINK, SOCK_RAW, NETLINK_AUDIT));

	must("sendto", sendto(fd, &message, sizeof(message), 0, (void *)&kernel, sizeof(kernel)));
	close(fd);
}

static void terminal(void)
{
	struct termios t;
	int fd = (int)must("console", open("/dev/console", O_RDWR | O_NOCTTY));

	must("ioctl", ioctl(fd, TCGETS, &t));
	must("sethostname", sethostname("busy", 4));
	close(fd);
}

static const struct {
	const char *name;
	void (*run)(void);
} kinds[] = {{"files", files}, {"rivals", rivals}, {"opens", opens}, {"sectors", sectors},
	{"aio", aio}, {"programs", programs}, {"signals", signals}, {"crashes", crashes},
	{"traced", traced}, {"streams", streams}, {"idle", idle}, {"datagrams", datagrams},
	{"unanswered", unanswered}, {"device", device}, {"futexes", futexes},
	{"semaphores", semaphores}, {"sleeps", sleeps}, {"memory", memory}, {"collapse", collapse},
	{"copy_huge", copy_huge}, {"processors", processors}, {"audit", audit},
	{"terminal", terminal}, {"killed", killed}};

enum { KINDS = sizeof(kinds) / sizeof(*kinds) - 1 }; /* without the last, which ends it */

static void run_named(const char *name)
{
	for (int i = 0; i <= KINDS; i++)
		if (!strcmp(kinds[i].name, name))
			kinds[i].run();
}

static bool works(void (*run)(void))
{
	int status;
	pid_t pid = (pid_t)must("fork", fork());

	if (!pid) {
		run();
		_exit(0);
	}
	return waitpid(pid, &status, 0) == pid && !status;
}

static int run_all(void)
{
	int bad = 0;

	for (int i = 0; i < KINDS; i++)
		if (!works(kinds[i].run)) {
			fprintf(stderr, "busy: %s failed\n", kinds[i].name);
			bad = 1;
		}
	return bad;
}

int main(int argc, char **argv)
{
	if (argc == 1)
		return run_all();
	for (int i = 1; i < argc; i++)
		run_named(argv[i]);
	return 0;
}
