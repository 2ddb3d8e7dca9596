// SPDX-License-Identifier: MIT
// Threads that have left a call by throw or longjmp and do not come by again, asleep or running, beside some that are
// still inside of one. With a line on stdin they begin, with a second one they end.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <setjmp.h>
#include <stdexcept>
#include <thread>
#include <unistd.h>
#include <vector>

#define PROBED extern "C" __attribute__((noinline, visibility("default")))
static std::atomic<int> in_place, over;
static int go[2];

static void sleep_on()
{
	char c;

	in_place++;
	while (read(go[0], &c, 1) < 0)
		;
}

static void run_on()
{
	in_place++;
	while (!over)
		;
}

PROBED long thrower(long n)
{
	if (n)
		throw std::runtime_error("left");
	return n;
}

PROBED long outer(long n)
{
	return thrower(n) + 1;
}

PROBED long jumper(jmp_buf env)
{
	longjmp(env, 1);
	return 0;
}

PROBED long waiter(long n)
{
	sleep_on();
	return n + 1;
}

static void leave_by_throw()
{
	outer(0);
	try {
		outer(1);
	} catch (const std::runtime_error &) {
	}
}

static void leave_by_jump()
{
	jmp_buf env;

	if (!setjmp(env))
		jumper(env);
}

static void one(int k)
{
	switch (k % 4) {
	case 0: // two calls
		leave_by_throw();
		return sleep_on();
	case 1: // one
		leave_by_jump();
		return sleep_on();
	case 2: // one
		leave_by_jump();
		return run_on();
	case 3: // none
		waiter(k);
	}
}

int main(int argc, char **argv)
{
	int threads = argc > 1 ? atoi(argv[1]) : 4;
	std::vector<std::thread> t;

	if (pipe(go))
		return 1;
	printf("ready\n");
	fflush(stdout);
	getchar();
	for (int k = 0; k < threads; k++)
		t.emplace_back(one, k);
	while (in_place < threads)
		usleep(1000);
	printf("in place\n");
	fflush(stdout);
	getchar();
	over = 1;
	close(go[1]);
	for (std::thread &one : t)
		one.join();
	printf("over\n");
	return 11;
}
