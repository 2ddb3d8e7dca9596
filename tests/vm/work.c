/* SPDX-License-Identifier: MIT */
/*
 * work N       opens a file N times
 * work narrow N     does so as a 32-bit program would, and asks with socketcall for nothing, N times
 * work spin    does so, and counts between the times, until it is killed
 * work wild    opens one where there is none, with a stack pointer that leads nowhere
 * work threads N   opens one in each of N threads, which are all there until the last has done so
 * work signals         asks for signals and sends itself one, and hands a byte through a socket, by vectors
 * work gettimeofday MS RUNS     calls it for so many milliseconds, and says for each run how often, and ns a call
 * work getppid MS RUNS          the same
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

/* What nobody can read lies behind the stack pointer, and there its path is said to be. */
static long open_wildly(void)
{
	const unsigned long nowhere = 1ul << 63;
	long ret = SYS_openat;

	__asm__ volatile("xchg %%rsp, %1\n\tsyscall\n\txchg %%rsp, %1"
			 : "+a"(ret)
			 : "b"(nowhere), "D"((long)AT_FDCWD), "S"(nowhere + 8), "d"(O_RDONLY)
			 : "rcx", "r11", "memory");
	return ret;
}

static bool opens(void)
{
	int fd = (int)syscall(SYS_openat, AT_FDCWD, "/init", O_RDONLY);

	return fd >= 0 && !close(fd);
}

/* As 32-bit programs number them; what is pointed to has to lie low, as it does in a program that is linked for its place. */
static long call_narrow(long number, long a, long b, long c)
{
	__asm__ volatile("int $0x80"
			 : "+a"(number)
			 : "b"(a), "c"(b), "d"(c)
			 : "r8", "r9", "r10", "r11", "memory");
	return number;
}

static int open_narrow(int n)
{
	enum { CLOSE = 6, SOCKETCALL = 102, OPENAT = 295 };
	static const char path[] = "/init";
	long fd;

	for (; n > 0; n--) {
		fd = call_narrow(OPENAT, AT_FDCWD, (long)path, O_RDONLY);
		if ((int)fd < 0 || (int)call_narrow(CLOSE, fd, 0, 0) ||
			(int)call_narrow(SOCKETCALL, 0, 0, 0) >= 0)
			return 1;
	}
	return 0;
}

static int spin(void)
{
	enum { STEPS = 1000 };

	while (opens())
		for (volatile int n = 0; n < STEPS; n++)
			;
	return 1;
}

static pthread_barrier_t all_there;

static void *open_one(void *unused)
{
	const bool ok = opens();

	pthread_barrier_wait(&all_there);
	return ok ? unused : NULL;
}

static int threads(unsigned n)
{
	pthread_t *t = calloc(n, sizeof(*t));
	pthread_attr_t attr;
	void *ok;
	int bad = 0;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 1 << 14);
	pthread_barrier_init(&all_there, NULL, n);
	for (unsigned i = 0; i < n; i++)
		if (pthread_create(&t[i], &attr, open_one, t))
			return perror("work threads"), 1;
	for (unsigned i = 0; i < n; i++)
		bad |= pthread_join(t[i], &ok) || !ok;
	return bad;
}

static void caught(int signal)
{
	(void)signal;
}

static int signals(void)
{
	struct sigaction action = {.sa_handler = caught};
	char byte = 0;
	struct iovec v = {&byte, 1};
	sigset_t set;
	int ends[2];

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	if (sigaction(SIGUSR1, &action, NULL) || sigprocmask(SIG_BLOCK, &set, NULL) ||
		kill(getpid(), SIGUSR1) || socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		return 1;
	return writev(ends[0], &v, 1) != 1 || readv(ends[1], &v, 1) != 1;
}

static long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000 + t.tv_nsec;
}

static int call_for(long number, long ns)
{
	enum { BETWEEN_LOOKS = 100 };
	long begin = now(), took = 0, calls = 0;
	struct timeval t;

	for (; took < ns; took = now() - begin, calls += BETWEEN_LOOKS)
		for (int i = 0; i < BETWEEN_LOOKS; i++)
			if (syscall(number, &t, NULL) < 0)
				return 1;
	printf("%ld %ld\n", calls, took / calls);
	return 0;
}

static int call_runs(long number, long ms, int runs)
{
	int bad = 0;

	while (runs-- > 0)
		bad |= call_for(number, ms * 1000000);
	return bad;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "0";

	if (!strcmp(what, "wild"))
		return open_wildly() >= 0;
	if (argc > 2 && !strcmp(what, "narrow"))
		return open_narrow(atoi(argv[2]));
	if (!strcmp(what, "spin"))
		return spin();
	if (!strcmp(what, "signals"))
		return signals();
	if (argc > 2 && !strcmp(what, "threads"))
		return threads((unsigned)atoi(argv[2]));
	if (argc > 3 && !strcmp(what, "gettimeofday"))
		return call_runs(SYS_gettimeofday, atol(argv[2]), atoi(argv[3]));
	if (argc > 3 && !strcmp(what, "getppid"))
		return call_runs(SYS_getppid, atol(argv[2]), atoi(argv[3]));
	for (int n = atoi(what); n; n--)
		if (!opens())
			return 1;
	return 0;
}
