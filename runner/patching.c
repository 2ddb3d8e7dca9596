/* SPDX-License-Identifier: MIT */
/*
 * Is one aligned store of eight bytes seen whole by other processors' fetch?
 * No manual promises it, so besides the vendor check in the engine each
 * session looks for itself, for a millisecond: one thread calls a function
 * while another one turns its first five bytes from one instruction into
 * another and back. It proves nothing, but an emulator or a processor that
 * does it otherwise shows at once.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <trapless/probe.h>
#include "base/clock.h"
#include "patching.h"

enum {
	TEST_NS = 1000000,
	SIZE = 4096,
	OTHER = 2048,
	STUBS = 3072,
	PLACES = 4,
	ENTRY = 64,
	CALLS_LEAST = 100
};

static uint32_t choice;
static bool testing, failed;
static pthread_t caller, writer;
static uint8_t *page;
static volatile bool stop;
static volatile unsigned long ncalls;

#if defined(__x86_64__)
/* mov $1,%eax; ret or jmp to mov $2,%eax; ret, at several places of a word. */
static void turn(unsigned place, bool jump)
{
	uint8_t *at = page + place * ENTRY, w[8];
	int32_t arg = jump ? (int32_t)((page + OTHER) - (at + place + 5)) : 1;
	uint64_t word;

	memcpy(w, at, 8);
	w[place] = jump ? 0xe9 : 0xb8;
	memcpy(w + place + 1, &arg, 4);
	memcpy(&word, w, 8);
	__atomic_store_n((uint64_t *)(void *)at, word, __ATOMIC_RELEASE);
}

static void write_functions(void)
{
	memset(page, 0xc3, SIZE);
	memcpy(page + OTHER, "\xb8\x02\x00\x00\x00\xc3", 6);
	for (unsigned i = 0; i < PLACES; i++) {
		uint8_t *stub = page + STUBS + i * 16;
		int32_t rel = (int32_t)(page + i * ENTRY + i - (stub + 7));

		turn(i, false);
		memcpy(stub, "\x31\xc0\xe9",
			3); /* xor %eax,%eax; jmp: whoever sets nothing returns 0 */
		memcpy(stub + 3, &rel, 4);
	}
}

static void *call(void *arg)
{
	while (!stop) {
		for (unsigned i = 0; i < PLACES; i++) {
			int got = ((int (*)(void))(uintptr_t)(page + STUBS + i * 16))();

			failed |= got != 1 && got != 2;
		}
		ncalls++;
	}
	return arg;
}

static void *change(void *arg)
{
	uint64_t end = now_ns() + TEST_NS, late = end + 20 * TEST_NS, now = 0;

	while (now < end || (ncalls < CALLS_LEAST && now < late)) {
		for (unsigned i = 0; i < PLACES; i++) {
			turn(i, true);
			turn(i, false);
		}
		now = now_ns();
	}
	stop = true;
	return arg;
}

/* Where there is nobody to see half a store, or memory may not be so, the vendor check stands alone. */
static void start_test(void)
{
	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		return;
	page = mmap(
		NULL, SIZE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED)
		return;
	write_functions();
	if (pthread_create(&caller, NULL, call, NULL))
		return;
	testing = true;
	if (pthread_create(&writer, NULL, change, NULL))
		change(NULL), writer = caller;
}
#else
static void start_test(void)
{
}
#endif

int patching_start(const char *how)
{
	static const char *const words[] = {"auto", "store", "spin", "stop"};

	for (choice = 0; how && choice < 4 && strcmp(how, words[choice]); choice++)
		;
	if (choice == 4) {
		fprintf(stderr,
			"trapless-run: --patching: `%s' is none of auto, store, spin, stop\n", how);
		return -1;
	}
	if (choice == TL_PATCHING_AUTO)
		start_test();
	return 0;
}

void patching_end(bool verbose)
{
	if (!testing)
		return;
	if (!pthread_equal(writer, caller))
		pthread_join(writer, NULL);
	pthread_join(caller, NULL);
	munmap(page, SIZE);
	if (!failed)
		return;
	choice = TL_PATCHING_SPIN;
	if (verbose)
		fprintf(stderr, "trapless-run: this machine shows half a store of code: patching "
				"is `spin'\n");
}

uint32_t patching_chosen(void)
{
	return choice;
}
