/* SPDX-License-Identifier: MIT */
/*
 * The attendant: tells the runner what the preloaded agent has done, and the
 * agent when to leave. It speaks the guardian's part on the runner's socket.
 */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <trapless/error.h>

#include "../base/clock.h"
#include "../base/proc.h"
#include "../tell/tell.h"
#include "../transport/attendant.h"
#include "preload.h"

enum { LOOK_NS = 20000000, PATIENCE_MS = 5000 };

static struct teller to_runner;
static struct tl_preload *mem;
static const struct tl_symbol_image *images; /* the target may write what leads there, too */
static pid_t command;
static uint32_t rounds;
static char error[512]; /* why the session cannot go on */

/* --- what ended ------------------------------------------------------------------------ */

/* The agent's helper marks its end itself where the kernel has robust futexes; qemu-user has none. */
static bool target_ended(void)
{
	uint32_t helper = __atomic_load_n(&mem->agent, __ATOMIC_ACQUIRE);

	if (helper)
		return tl_futex_owner_dead(helper);
	return proc_ended(command);
}

/* --- what the agent did ------------------------------------------------------------------ */

static void note_images(void)
{
	uint32_t i;

	for (i = 0; i < to_runner.mod->nimages; i++) {
		struct tl_symbol_image here = images[i];

		here.path = to_runner.mod->images[i].path;
		here.image = i;
		if (here.hi)
			to_runner.images[i] = here;
	}
}

static void tell_round(void)
{
	note_images();
	tell_probes(&to_runner);
	if (!rounds) {
		tell_note(&to_runner, "agent preloaded in process %u", mem->claimed);
		tell(&to_runner, MSG_READY, mem->narmed, "");
	}
	if (mem->pending && mem->unwatched)
		tell_note(&to_runner,
			"objects that are loaded later will not be noticed (the loader's own "
			"function cannot be probed [%s])",
			tl_error_name(mem->unwatched));
	rounds = mem->rounds;
}

/* false: the session cannot go on. */
static bool look(void)
{
	switch (__atomic_load_n(&mem->state, __ATOMIC_ACQUIRE)) {
	case TL_PRELOAD_FAILED:
		snprintf(error, sizeof(error), "the engine did not start in process %u: %s; %s",
			mem->claimed, tl_error_text(mem->error), tl_error_next(mem->error));
		return false;
	case TL_PRELOAD_ARMED:
		if (mem->rounds != rounds)
			tell_round();
		return true;
	default:
		return true;
	}
}

/* --- what the user wants ----------------------------------------------------------------------- */

static void futex(uint32_t *word, int op, uint32_t value)
{
	struct timespec ts = {0, LOOK_NS};

	syscall(SYS_futex, word, op, value, &ts, NULL, 0);
}

static bool tuning;

static void tune(void)
{
	tuning = true;
	take_tuning(&to_runner);
	if (__atomic_load_n(&mem->state, __ATOMIC_ACQUIRE) != TL_PRELOAD_ARMED)
		return;
	to_runner.ctl->arming.jump = !mem->traps_only && !to_runner.tuning->unoptimized;
	to_runner.probes->explain = 1;
	__atomic_fetch_add(&mem->tune, 1, __ATOMIC_SEQ_CST);
}

/* When it is done, or there is nobody to do it. */
static void tell_tuned(void)
{
	uint32_t want = __atomic_load_n(&mem->tune, __ATOMIC_RELAXED);

	if (!tuning)
		return;
	if (want != __atomic_load_n(&mem->tuned, __ATOMIC_ACQUIRE) && !target_ended()) {
		futex(&mem->runner, FUTEX_WAKE, 1);
		return;
	}
	tuning = false;
	tell_standing(&to_runner, "");
}

/* --- the end -------------------------------------------------------------------------------- */

/* Until the agent has left, or there is none. */
static void take_leave(void)
{
	double end = now_ms() + PATIENCE_MS;

	__atomic_store_n(&mem->leave, 1, __ATOMIC_SEQ_CST);
	while (!target_ended() && now_ms() < end) {
		if (__atomic_load_n(&mem->state, __ATOMIC_ACQUIRE) == TL_PRELOAD_LEFT)
			return;
		futex(&mem->runner, FUTEX_WAKE, 1);
		futex(&mem->agent, FUTEX_WAIT, mem->agent);
	}
	if (now_ms() >= end)
		tell(&to_runner, MSG_WARN, 0,
			"the program does not run now: its probes are silent, and taken away when "
			"it goes on");
}

static void finish(bool failed)
{
	struct message m = {0};

	if (mem->claimed && !failed)
		take_leave();
	if (mem->rounds) {
		tell_counts(&to_runner, &m);
		if (!mem->counted && mem->narmed)
			tell(&to_runner, MSG_EXPLAIN, 0,
				"trapless-run: hits missed: not known (the program ended without "
				"its exit handlers)");
	}
	if (mem->passed_over)
		tell(&to_runner, MSG_WARN, 0,
			"the program has libraries in link namespaces of their own (dlmopen), or "
			"one under "
			"several names: with --preload such copies are not probed, and hits there "
			"not "
			"counted; next: leave --preload out");
	if (mem->broken)
		tell_note(&to_runner, "the engine broke a promise: %.120s", mem->broken_text);
	if (mem->kept)
		tell(&to_runner, MSG_WARN, 0,
			"a thread of the program still stands in probe memory: that memory is "
			"given back when it has left");
	tell_last(&to_runner, 0, error);
}

/* --- life -------------------------------------------------------------------------------------- */

/* From now on the kernel tells the agent when we are gone. */
static void be_known(void)
{
	static struct robust_list entry;
	static struct robust_list_head list;

	list.list.next = &entry;
	entry.next = &list.list;
	list.futex_offset = (long)((uintptr_t)&mem->runner - (uintptr_t)&entry);
	syscall(SYS_set_robust_list, &list, sizeof(list));
	mem->runner = (uint32_t)syscall(SYS_gettid) | FUTEX_WAITERS;
}

int preload_attend(struct preload *pl, struct session *s, const struct options *o, int sock,
	pid_t cmd, struct standing *standing)
{
	bool failed = false, over = false, leave = false;
	enum heard word;
	uint32_t number;

	mem = pl->mem;
	command = cmd;
	images = (const struct tl_symbol_image *)((const char *)mem + mem->images_at);
	if (teller_init(&to_runner, s->mod, &s->board, standing, sock))
		return 1;
	to_runner.verbose = o->verbose;
	to_runner.explain = o->explain;
	to_runner.ctl = (struct tl_ctl *)((char *)mem + mem->ctl_at);
	to_runner.probes = (struct tl_ctl_session *)((char *)mem + mem->probes_at);
	attendant_begin();
	be_known();
	tell(&to_runner, MSG_READY, 0, "");
	while (!failed && !over && !leave) {
		futex(&mem->agent, FUTEX_WAIT, mem->agent);
		over = target_ended(); /* first: what it said before is heard still */
		failed = !look();
		word = tell_listen(&to_runner, &number);
		if (word == HEARD_TUNE)
			tune();
		tell_tuned();
		leave = word == HEARD_LEAVE || word == HEARD_ITS_END;
	}
	if (failed)
		tell(&to_runner, MSG_FAILED, 0, error);
	else if (over)
		tell(&to_runner, MSG_GONE, 0, "");
	finish(failed);
	return 0;
}
