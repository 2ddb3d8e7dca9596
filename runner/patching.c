/* SPDX-License-Identifier: MIT */
/*
 * Is one aligned store of eight bytes seen whole by other processors' fetch?
 * No manual promises it, so besides the vendor check in the engine each
 * session looks for itself, for a millisecond: one thread calls functions
 * while another one turns an instruction of each into another and back. It proves nothing, but an emulator or a processor that
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
#include "machine/machine.h"
#include "patching.h"

enum { TEST_NS = 1000000, CALLS_LEAST = 100 };

static uint32_t choice;
static bool testing, failed;
static pthread_t caller, writer;
static uint8_t *page;
static unsigned nturned;
static volatile bool stop;
static volatile unsigned long ncalls;

static void *call(void *arg)
{
	while (!stop) {
		for (unsigned i = 0; i < nturned; i++) {
			int got = machine_turned_call(page, i);

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
		for (unsigned i = 0; i < nturned; i++) {
			machine_turn(page, i, true);
			machine_turn(page, i, false);
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
	page = mmap(NULL, TURNED_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED)
		return;
	nturned = machine_turned_write(page);
	testing = nturned && !pthread_create(&caller, NULL, call, NULL);
	if (!testing) {
		munmap(page, TURNED_BYTES);
		return;
	}
	if (pthread_create(&writer, NULL, change, NULL))
		change(NULL), writer = caller;
}

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
	munmap(page, TURNED_BYTES);
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
