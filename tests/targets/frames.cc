// SPDX-License-Identifier: MIT
// Stacks that end or switch in unusual ways, with probed functions on them: rethrow, noexcept, forced unwind
// (pthread_exit, pthread_cancel), swapcontext, signal handlers, programs that walk their own stack, vfork and clone.
// Prints what it counted itself; the probed functions count their entries and returns.
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <execinfo.h>
#include <pthread.h>
#include <sched.h>
#include <stdexcept>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

#define PROBED extern "C" __attribute__((noinline, visibility("default")))

static std::atomic<long> entered, returned, destroyed, bad;

struct Guard {
	~Guard() { destroyed++; }
};

PROBED long thrower(long n)
{
	entered++;
	if (n % 2)
		throw std::runtime_error("odd");
	returned++;
	return n * 2;
}

// Rethrows, also through a frame that has something to destroy.
PROBED long rethrower(long n)
{
	Guard g;
	entered++;
	long r;
	try {
		r = thrower(n);
	} catch (...) {
		if (n % 4 == 1)
			throw;
		r = -n;
	}
	returned++;
	return r;
}

// Nothing leaves it: what is thrown inside is caught inside.
PROBED long quiet(long n) noexcept
{
	entered++;
	long r = 0;
	try {
		r = rethrower(n);
	} catch (const std::exception &) {
		r = 7;
	}
	returned++;
	return r;
}

PROBED long sleeper(long n)
{
	Guard g;
	entered++;
	if (n == 1)
		pthread_exit(nullptr); // forced unwind
	while (n == 2)
		pause(); // until cancelled
	returned++;
	return n;
}

static void *thread(void *arg)
{
	Guard g;
	sleeper((long)arg);
	return nullptr;
}

static void threads()
{
	for (long how = 0; how < 3; how++) {
		pthread_t t;

		pthread_create(&t, nullptr, thread, (void *)how);
		if (how == 2) {
			usleep(1000);
			pthread_cancel(t);
		}
		pthread_join(t, nullptr);
	}
}

// Two coroutines that hand over to each other in the middle of probed calls.
static ucontext_t back, co[2];
static long co_sum[2];

PROBED long yielder(long who, long n)
{
	entered++;
	swapcontext(&co[who], n < 20 ? &co[!who] : &back);
	co_sum[who] += n;
	returned++;
	return n;
}

static void body(int who)
{
	for (long n = 0;; n++)
		if (yielder(who, n) != n)
			bad++;
}

static void coroutines()
{
	static char stack[2][65536];

	for (int i = 0; i < 2; i++) {
		getcontext(&co[i]);
		co[i].uc_stack.ss_sp = stack[i];
		co[i].uc_stack.ss_size = sizeof(stack[i]);
		co[i].uc_link = &back;
		makecontext(&co[i], (void (*)())body, 1, i);
	}
	swapcontext(&back, &co[0]);
}

PROBED long in_handler(long n)
{
	entered++;
	returned++;
	return n + 1;
}

static void handler(int sig)
{
	if (in_handler(sig) != sig + 1)
		bad++;
}

// A signal arrives in the middle of a probed call, on the same stack and on another one.
PROBED long interrupted(long n)
{
	entered++;
	raise(n % 2 ? SIGUSR1 : SIGUSR2);
	returned++;
	return n;
}

static void signals()
{
	static char stack[65536];
	stack_t alt = {};
	struct sigaction sa = {};

	alt.ss_sp = stack;
	alt.ss_size = sizeof(stack);
	sigaltstack(&alt, nullptr);
	sa.sa_handler = handler;
	sigaction(SIGUSR1, &sa, nullptr);
	sa.sa_flags = SA_ONSTACK;
	sigaction(SIGUSR2, &sa, nullptr);
	for (long n = 0; n < 20; n++)
		if (interrupted(n) != n)
			bad++;
}

static _Unwind_Reason_Code count_frame(struct _Unwind_Context *, void *arg)
{
	++*(int *)arg;
	return _URC_NO_REASON;
}

// The stack as the program sees it must be the same with and without probes.
PROBED long walker(long depth)
{
	long r = 0;

	entered++;
	if (depth) {
		r = walker(depth - 1);
	} else {
		void *pc[64];
		int frames = 0, n = backtrace(pc, 64);

		_Unwind_Backtrace(count_frame, &frames);
		for (int i = 1; i < 8 && i < n; i++)
			r += pc[i] == pc[1]; // the recursion's own return address
		r += 100 * n + 10000 * frames;
	}
	returned++;
	return r;
}

PROBED long in_child(long n)
{
	__asm__ volatile("");
	return n;
}

static int clone_main(void *)
{
	_exit(in_child(3) == 3 ? 9 : 1);
}

static void children()
{
	static char stack[65536];
	int status;
	pid_t pid = vfork();

	if (!pid)
		_exit(in_child(3) == 3 ? 9 : 1);
	bad += waitpid(pid, &status, 0) != pid || WEXITSTATUS(status) != 9;
	pid = clone(clone_main, stack + sizeof(stack), SIGCHLD, nullptr);
	bad += waitpid(pid, &status, 0) != pid || WEXITSTATUS(status) != 9;
	if (in_child(4) != 4)
		bad++;
}

int main(int argc, char **argv)
{
	long rounds = argc > 1 ? atol(argv[1]) : 10, sum = 0, walked = 0;
	void *warm[4];

	backtrace(warm, 4); // loads libgcc_s
	for (long i = 0; i < rounds; i++) {
		sum += quiet(i);
		threads();
		coroutines();
		signals();
		walked += walker(10);
	}
	children();
	printf("sum %ld destroyed %ld co %ld %ld walked %ld bad %ld\n", sum, destroyed.load(), co_sum[0], co_sum[1],
		walked, bad.load());
	printf("entered %ld returned %ld\n", entered.load(), returned.load());
	return 12;
}
