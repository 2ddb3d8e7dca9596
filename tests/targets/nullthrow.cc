// SPDX-License-Identifier: MIT
// Throws from a SIGSEGV handler, through the instruction that has faulted (-fnon-call-exceptions). Returns 4.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>

static void handler(int)
{
	sigset_t s;

	sigemptyset(&s);
	sigaddset(&s, SIGSEGV);
	sigprocmask(SIG_UNBLOCK, &s, nullptr);
	throw std::runtime_error("null");
}

extern "C" __attribute__((noinline)) long load(long *p, long n)
{
	return n ? *p + n : 0;
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 10;
	struct sigaction sa {};
	long seen = 0;

	sa.sa_handler = handler;
	sa.sa_flags = SA_NODEFER;
	sigaction(SIGSEGV, &sa, nullptr);
	for (int i = 0; i < rounds; i++) {
		long ok = 1;

		try {
			seen += load(i & 1 ? &ok : nullptr, 1) == 2;
		} catch (const std::exception &) {
			seen++;
		}
	}
	printf("seen %ld\n", seen);
	return 4;
}
