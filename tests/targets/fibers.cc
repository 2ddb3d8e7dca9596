// SPDX-License-Identifier: MIT
// Fibers on one thread that hand over amid probed calls, some of which are left by throw, some by longjmp. Their stacks
// lie side by side, and far apart. Prints what it counted itself; the status is 17.
//	fibers SEED [MEGABYTES]	between every fourth stack and the next; -DFIBERS=N for other than 12
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <sys/mman.h>
#include <ucontext.h>

#define PROBED extern "C" __attribute__((noinline, visibility("default")))

#ifndef FIBERS
#define FIBERS 12
#endif
enum { ROUNDS = 720 / FIBERS, STACK = 64 << 10 };

static ucontext_t scheduler, fibers[FIBERS];
static jmp_buf out[FIBERS];
static bool done[FIBERS];
static int now, left_by_throw, left_by_jump;
static long calls, returned, bad;

static void hand_over()
{
	swapcontext(&fibers[now], &scheduler);
}

PROBED long leaf(long id, long k)
{
	calls++;
	hand_over();
	if (k % 5 == 2) {
		left_by_throw++;
		throw k;
	}
	if (k % 7 == 3) {
		left_by_jump++;
		longjmp(out[id], 1);
	}
	returned++;
	return id * 1000 + k;
}

// Goes on in itself by a jump, so that calls of both wait at one place.
PROBED long round_about(long id, long k);

PROBED long half_way(long id, long k)
{
	calls++;
	hand_over();
	if (k % 4 != 3)
		return round_about(id, k + 1);
	returned += 1 + k % 4;
	return id;
}

PROBED long round_about(long id, long k)
{
	hand_over();
	return half_way(id, k);
}

static void leaves(long id, long k)
{
	try {
		if (!setjmp(out[id]))
			bad += leaf(id, k) != id * 1000 + k;
	} catch (long thrown) {
		bad += thrown != k;
	}
}

static void body(int id)
{
	for (long k = 0; k < ROUNDS; k++) {
		leaves(id, k);
		if (k % 3 == id % 3)
			leaves(id, k + 1);
		bad += round_about(id, k & ~3) != id;
	}
	done[id] = true;
	hand_over();
}

int main(int argc, char **argv)
{
	unsigned seed = argc > 1 ? atoi(argv[1]) : 1;
	const long apart = (argc > 2 ? atol(argv[2]) : 0) << 20, all = FIBERS * (STACK + apart);
	char *at = (char *)mmap(
		nullptr, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int left = FIBERS;

	for (int i = 0; i < FIBERS; i++, at += STACK + (i % 4 ? 0 : apart)) {
		getcontext(&fibers[i]);
		fibers[i].uc_stack.ss_sp = at;
		fibers[i].uc_stack.ss_size = STACK;
		makecontext(&fibers[i], (void (*)())body, 1, i);
	}
	while (left) {
		seed = seed * 1103515245 + 12345;
		now = (seed >> 16) % FIBERS;
		if (done[now])
			continue;
		swapcontext(&scheduler, &fibers[now]);
		left -= done[now];
	}
	printf("calls %ld returned %ld left %d bad %ld\n", calls, returned,
		left_by_throw + left_by_jump, bad);
	return 17;
}
