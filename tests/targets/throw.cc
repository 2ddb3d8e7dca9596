// SPDX-License-Identifier: MIT
// Leaves frames in every way: exceptions (caught, rethrown, nested, in destructors' sight), longjmp, tail calls, deep
// recursion, on several threads. Prints what it saw, then how often each function was entered and came back.
#include <atomic>
#include <setjmp.h>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#define PROBED extern "C" __attribute__((noinline, visibility("default")))
static std::atomic<long> destroyed, caught, rethrown, jumped, entered, returned;
static thread_local sigjmp_buf env;

struct Guard {
	~Guard() { destroyed++; }
};

PROBED long thrower(long n)
{
	entered++;
	if (n % 2)
		throw std::runtime_error("odd " + std::to_string(n));
	returned++;
	return n / 2;
}

PROBED long middle(long n)
{
	Guard g;
	entered++;
	long r = thrower(n) + 1;
	returned++;
	return r;
}

PROBED long rethrower(long n)
{
	entered++;
	long r = 0;
	try {
		r = middle(n);
	} catch (const std::runtime_error &e) {
		rethrown++;
		if (n % 4 == 3)
			throw;
		r = -(long)std::string(e.what()).size();
	}
	returned++;
	return r;
}

PROBED long jumper(long n)
{
	entered++;
	if (n % 3 == 0)
		siglongjmp(env, 5);
	returned++;
	return n;
}

PROBED long over_jumper(long n)
{
	entered++;
	long r = jumper(n) + 1;
	__asm__ volatile("" ::: "memory");
	returned++;
	return r;
}

PROBED long last(long n)
{
	__asm__ volatile("" ::: "memory");
	return n * 2 + 1;
}

PROBED long tail(long n)
{
	__asm__ volatile("" ::: "memory");
	return last(n + 1);
}

PROBED long recurse(long n)
{
	if (n == 0)
		return 0;
	long r = recurse(n - 1) + n;
	__asm__ volatile("" ::: "memory");
	return r;
}

static long one(long i)
{
	long sum = 0;
	try {
		sum += rethrower(i);
	} catch (const std::exception &e) {
		caught++;
		sum += (long)std::string(e.what()).size();
	}
	if (sigsetjmp(env, 0) == 0)
		sum += over_jumper(i);
	else
		jumped++;
	sum += tail(i);
	if (i % 50 == 0)
		sum += recurse(200);
	return sum;
}

static void run(long rounds, long *out)
{
	long sum = 0;
	for (long i = 1; i <= rounds; i++)
		sum += one(i);
	*out = sum;
}

int main(int argc, char **argv)
{
	int threads = argc > 1 ? atoi(argv[1]) : 1;
	long rounds = argc > 2 ? atol(argv[2]) : 100, phases = argc > 3 ? atol(argv[3]) : 1;
	std::vector<long> sums(threads);
	long total = 0;

	printf("ready\n");
	fflush(stdout);
	for (long p = 0; p < phases; p++) {
		std::vector<std::thread> t;
		if (argc > 3)
			getchar();
		for (int k = 0; k < threads; k++)
			t.emplace_back(run, rounds, &sums[k]);
		for (int k = 0; k < threads; k++) {
			t[k].join();
			total += sums[k];
		}
		if (argc > 3) {
			printf("phase %ld\n", p);
			fflush(stdout);
		}
	}
	printf("sum %ld destroyed %ld caught %ld rethrown %ld jumped %ld\n", total, destroyed.load(), caught.load(),
		rethrown.load(), jumped.load());
	printf("entered %ld returned %ld\n", entered.load(), returned.load());
	return 11;
}
