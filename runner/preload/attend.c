/* SPDX-License-Identifier: MIT */
/*
 * The attendant: tells the runner what the preloaded agent has done, and the
 * agent when to leave. It speaks the guardian's part on the runner's socket.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <trapless/error.h>
#include <trapless/probe.h>

#include "../guardian/guardian.h"
#include "preload.h"

enum { LOOK_NS = 20000000, PATIENCE_MS = 5000 };

static struct guardian g; /* what the shared parts of the guardian ask for: messages, --explain */
static struct tl_preload *mem;
static const struct tl_symbol_image *images; /* the target may write what leads there, too */
static pid_t command;
static uint32_t rounds;
static bool leave;

/* --- what ended ------------------------------------------------------------------------ */

static bool process_ended(pid_t pid)
{
	char path[64], text[512], *state;
	size_t n;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	f = fopen(path, "re");
	if (!f)
		return true;
	n = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	text[n] = 0;
	state = strrchr(text, ')');
	return !state || state[2] == 'Z' || state[2] == 'X';
}

/* The agent's helper marks its end itself where the kernel has robust futexes; qemu-user has none. */
static bool target_ended(void)
{
	uint32_t helper = __atomic_load_n(&mem->agent, __ATOMIC_ACQUIRE);

	if (helper)
		return tl_futex_owner_dead(helper);
	return process_ended(command);
}

/* --- what the agent did ------------------------------------------------------------------ */

static void tell_refusals(void)
{
	char text[700];
	uint32_t i;

	for (i = 0; i < g.mod->nprobes; i++) {
		const struct tl_ctl_probe *p = guardian_probe(&g, i);
		const struct tl_tap_probe *from = &g.mod->probes[i];

		if (!p->result || p->armed || from->flags & TL_TAP_PROBE_OPTIONAL ||
			g.told[i] & TOLD_REFUSAL)
			continue;
		g.told[i] |= TOLD_REFUSAL;
		snprintf(text, sizeof(text), "%s: probe refused [%s]: %s%s%s",
			module_string(g.mod, from->point), tl_error_name(p->result),
			tl_error_text(p->result), *tl_error_next(p->result) ? "; " : "",
			tl_error_next(p->result));
		guardian_say(&g, MSG_WARN, 1, text);
	}
}

static void note_states(void)
{
	uint32_t i;

	for (i = 0; i < g.mod->nprobes; i++) {
		const struct tl_ctl_probe *p = guardian_probe(&g, i);

		if (p->armed)
			g.shared_state[i] = PROBE_ARMED;
		else if (p->result && g.shared_state[i] != PROBE_ARMED)
			g.shared_state[i] = PROBE_REFUSED;
	}
	for (i = 0; i < g.mod->nimages; i++) {
		struct tl_symbol_image here = images[i];

		here.path = g.mod->images[i].path;
		if (here.hi)
			g.shared_images[i] = here;
	}
}

static void tell_round(void)
{
	note_states();
	tell_refusals();
	explain(&g);
	if (!rounds) {
		guardian_note(&g, "agent preloaded in process %u", mem->claimed);
		guardian_say(&g, MSG_READY, mem->narmed, "");
	}
	if (mem->pending && mem->unwatched)
		guardian_note(&g,
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
		guardian_fail(&g, "the engine did not start in process %u: %s; %s", mem->claimed,
			tl_error_text(mem->error), tl_error_next(mem->error));
		return false;
	case TL_PRELOAD_ARMED:
		if (mem->rounds != rounds)
			tell_round();
		return true;
	default:
		return true;
	}
}

/* --- the end -------------------------------------------------------------------------------- */

/* Returns that nobody has seen. */
static void tell_tails(uint32_t i)
{
	char text[500];

	snprintf(text, sizeof(text),
		"TAIL_CALL: %.300s: calls left by a jump to another function: %llu; next: probe "
		"the return of the function it jumps to",
		module_string(g.mod, g.mod->probes[i].point),
		(unsigned long long)guardian_probe(&g, i)->ntails);
	guardian_say(&g, MSG_WARN, 0, text);
}

static void counts(void)
{
	struct message m = {.kind = MSG_COUNTS};
	uint32_t i;

	for (i = 0; i < g.mod->nprobes; i++) {
		const struct tl_ctl_probe *p = guardian_probe(&g, i);

		m.missed += p->nmissed;
		m.abandoned += p->nabandoned;
		m.tails += p->ntails;
		if (p->ntails)
			tell_tails(i);
		m.refused += p->result != 0;
	}
	while (send(g.sock, &m, sizeof(m), MSG_NOSIGNAL) < 0 && errno == EINTR)
		;
}

static void futex(uint32_t *word, int op, uint32_t value)
{
	struct timespec ts = {0, LOOK_NS};

	syscall(SYS_futex, word, op, value, &ts, NULL, 0);
}

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
		guardian_say(&g, MSG_WARN, 0,
			"the program does not run now: its probes are silent, and taken away when "
			"it goes on");
}

static void finish(bool failed)
{
	if (mem->claimed && !failed)
		take_leave();
	if (mem->rounds) {
		counts();
		if (!mem->counted && mem->narmed)
			guardian_say(&g, MSG_EXPLAIN, 0,
				"trapless-run: hits missed: not known (the program ended without "
				"its exit handlers)");
	}
	if (mem->broken)
		guardian_note(&g, "the engine broke a promise: %.120s", mem->broken_text);
	if (mem->kept)
		guardian_say(&g, MSG_WARN, 0,
			"a thread of the program still stands in probe memory: that memory is "
			"given back when it has left");
	guardian_say(&g, MSG_DONE, 0, g.error);
	shutdown(g.sock, SHUT_RDWR);
}

/* --- life -------------------------------------------------------------------------------------- */

static void hear(void)
{
	struct message m;
	ssize_t n = recv(g.sock, &m, sizeof(m), MSG_DONTWAIT);

	leave |= n == 0 || (n == (ssize_t)sizeof(m) && m.kind == MSG_LEAVE) ||
		 (n < 0 && errno != EAGAIN && errno != EINTR);
}

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

static void settle_in(void)
{
	int sig;

	setsid();
	prctl(PR_SET_NAME, "trapless-attend", 0, 0, 0);
	for (sig = 1; sig < 32; sig++) {
		if (sig != SIGSEGV && sig != SIGBUS && sig != SIGABRT)
			signal(sig, SIG_IGN);
	}
}

int preload_attend(
	struct preload *pl, struct session *s, const struct options *o, int sock, pid_t cmd)
{
	bool failed = false, over = false;

	mem = pl->mem;
	command = cmd;
	g.sock = sock;
	g.mod = s->mod;
	g.ctl = (struct tl_ctl *)((char *)mem + mem->ctl_at);
	images = (const struct tl_symbol_image *)((const char *)mem + mem->images_at);
	g.shared_images = s->images;
	g.shared_state = s->state;
	g.verbose = o->verbose;
	g.explain = o->explain;
	g.told = calloc(s->mod->nprobes + 1, 1);
	if (!g.told)
		return 1;
	settle_in();
	be_known();
	guardian_say(&g, MSG_READY, 0, "");
	while (!failed && !over && !leave) {
		futex(&mem->agent, FUTEX_WAIT, mem->agent);
		over = target_ended(); /* first: what it said before is heard still */
		failed = !look();
		hear();
	}
	if (failed)
		guardian_say(&g, MSG_FAILED, 0, g.error);
	else if (over)
		guardian_say(&g, MSG_GONE, 0, "");
	finish(failed);
	return 0;
}
