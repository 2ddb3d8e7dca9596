/* SPDX-License-Identifier: MIT */
/* The end of a session: probes out, memory back, the closing figures. */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "../../base/proc.h"
#include "../../machine/calls.h"
#include "../guardian.h"
#include "../family/launch.h"
#include "../family/traceme.h"
#include "../inject/helper.h"
#include "../inject/inject.h"
#include "../mend/owntraps.h"
#include "../mend/signals.h"
#include "../mend/trapsvc.h"
#include "../session/clients.h"
#include "../session/events.h"
#include "../session/join.h"
#include "../session/loader.h"
#include "../session/watchpoints.h"
#include "../trace/loop.h"
#include "../trace/maps.h"
#include "../trace/quiet.h"
#include "../trace/remote.h"
#include "../trace/restart.h"
#include "../trace/say.h"
#include "../trace/seccomp.h"
#include "../trace/stop.h"
#include "journal.h"
#include "leave.h"
#include "listeners.h"

enum { STILL_TOLD = 16, PATIENCE_MS = 900, PAUSE_MS = 20, LONG_PAUSE_MS = 200 };

/* Words of the target, to be added to *into: a session may have thousands of probes, so many are read at a time. */
struct counters {
	struct guardian *g;
	uint64_t at[WORDS_MAX], *into[WORDS_MAX];
	size_t n;
};

static uint64_t word_at(struct guardian *g, uint64_t addr)
{
	uint64_t word = 0;

	return target_read(g, g->pid, addr, &word, sizeof(word)) == sizeof(word) ? word : 0;
}

static void counters_read(struct counters *c)
{
	uint64_t words[WORDS_MAX];
	size_t n = target_read_words(c->g, c->at, words, c->n), i;

	for (i = 0; i < c->n; i++)
		*c->into[i] += i < n ? words[i] : word_at(c->g, c->at[i]);
	c->n = 0;
}

static void counters_add(struct counters *c, uint64_t at, uint64_t *into)
{
	if (!at)
		return;
	if (c->n == WORDS_MAX)
		counters_read(c);
	c->at[c->n] = at;
	c->into[c->n++] = into;
}

static void kinds_add(struct counters *c, struct tl_ctl_probe *p)
{
	unsigned why;

	for (why = 0; why < TL_MISSED_KINDS; why++) {
		uint64_t rest = p->at_rest ? p->at_rest + why * sizeof(uint64_t) : 0;

		p->missed[why] = p->old_kinds[why];
		counters_add(c, p->at_kinds[why], &p->missed[why]);
		counters_add(c, rest, &p->missed[why]);
		counters_add(c, rest, &p->nmissed);
	}
}

static void counts_of(struct guardian *g, struct client *c)
{
	static struct counters all;
	uint32_t i;

	all.g = g;
	for (i = 0; c->ctl && i < c->tell.nslots; i++) {
		struct tl_ctl_probe *p = tl_ctl_probe(c->ctl, i);

		if (!p->armed)
			continue;
		p->nmissed = p->old_missed;
		p->nabandoned = p->old_abandoned;
		p->ntails = p->old_tails;
		p->nunpaired = p->old_unpaired;
		p->ncrowded = p->old_crowded;
		counters_add(&all, p->at_missed, &p->nmissed);
		kinds_add(&all, p);
		counters_add(&all, p->at_abandoned, &p->nabandoned);
		counters_add(&all, p->at_tails, &p->ntails);
		counters_add(&all, p->at_unpaired, &p->nunpaired);
		counters_add(&all, p->at_crowded, &p->ncrowded);
	}
	counters_read(&all);
}

static void counts_at_exit(struct guardian *g)
{
	struct client *c;

	for (c = g->clients; c; c = c->next)
		counts_of(g, c);
}

/* Does the whole process end with this thread? Its memory is still there. */
static bool is_last_act(struct guardian *g, struct thread *t)
{
	struct machine_regs regs;
	unsigned long code = 0;
	struct thread *o;

	if (!g->armed)
		return false;
	ptrace(PTRACE_GETEVENTMSG, t->tid, 0, &code);
	if (WIFSIGNALED((int)code) ||
		(!regs_get(t->tid, &regs) && regs_call(&regs) == SYS_exit_group))
		return true;
	for (o = g->threads; o; o = o->next) {
		if (o != t && o->tgid == g->pid && !o->dead)
			return false;
	}
	return true;
}

void leave_at_exit(struct guardian *g, struct thread *t)
{
	if (t->tgid == g->pid && is_last_act(g, t))
		counts_at_exit(g);
}

void client_counts(const struct guardian *g, const struct client *c)
{
	struct message m = {.children = g->children - c->before.children,
		.unclean = g->children_unclean - c->before.unclean,
		.traps = g->traps - c->before.traps,
		.silences = g->silences - c->before.silences,
		.inside = c->inside};

	if (c->ctl && !c->told)
		tell_counts(&c->tell, &m);
}

static void counts(const struct guardian *g)
{
	const struct client *c;

	for (c = g->clients; c; c = c->next)
		client_counts(g, c);
}

static void name_blocker(struct guardian *g)
{
	char text[256], name[32];
	struct thread *who = NULL;

	quiet_in(g, 0, ~0ull, &who);
	if (!g->restored) {
		snprintf(text, sizeof(text),
			"the threads of process %d could not be stopped: its probes stay in, "
			"silent, until they can be",
			g->pid);
		tell_all(g, MSG_WARN, 0, text);
		return;
	}
	if (!who)
		return;
	proc_name(who->tid, name, sizeof(name));
	snprintf(text, sizeof(text),
		"thread %d (%s) of process %d still stands in probe memory: that memory is "
		"given back when it has left",
		who->tid, name, g->pid);
	tell_all(g, MSG_WARN, 0, text);
}

/*
 * Whatever the agent has not taken out of the text, because it failed, could not be asked or could not have everyone
 * stopped: by its journal. Before that nothing of ours may go, and nobody here may go away.
 */
static bool text_restored(struct guardian *g)
{
	bool ok;

	listeners_leave(g);
	if (watchpoints_leave(g))
		return false;
	if (!journal_holds(g, g->pid))
		return true;
	maps_read(g);
	if (stop_all(g))
		return false;
	ok = !journal_restore(g, g->pid, g->mem);
	resume_all(g, false);
	return ok;
}

/*
 * Nothing leads into our code any more. Who is still in it goes on in the text, where the agent knows the same place
 * there; asleep in a call, it makes that again. Then all is given back, or nothing: how much is left.
 */
static int clear_out(struct guardian *g)
{
	maps_read(g);
	if (quiet_in(g, 0, ~0ull, NULL)) {
		stop_inside(g);
		if (g->ctl->npcs && g->agent_entry)
			helper_command(g, TL_CMD_LEAD_OUT);
		resume_all(g, !g->crashed && !target_ended(g));
		quiet_forget(g);
	}
	return g->crashed || target_ended(g) ? 1 : agent_eject(g);
}

/* One try at giving everything back. 0: nothing of ours is left. */
static int leave_once(struct guardian *g)
{
	int kept = 1;

	if (!g->restored)
		g->restored = text_restored(g);
	if (!g->restored || g->crashed || (!helper_start(g, NULL) && !calls_barred(g)))
		return !target_ended(g) && !(g->restored && g->crashed);
	quiet_forget(g);
	g->one_look = true; /* nothing leads to our memory any more */
	if (!g->helper) { /* all can only stay, once nobody needs us there */
		maps_read(g);
		return quiet_in(g, 0, ~0ull, NULL) && !target_ended(g);
	}
	kept = clear_out(g);
	helper_end(g);
	return target_ended(g) ? 0 : kept;
}

/* The agent takes its probes away and counts. */
void client_disarm(struct guardian *g, struct client *c)
{
	if (!c->entered)
		return;
	g->ctl->slot = c->slot;
	helper_command(g, TL_CMD_DISARM);
	c->entered = g->ctl->arming.sessions[c->slot] != 0;
}

void client_silence(struct client *c)
{
	if (c->session && c->orphaned)
		__atomic_store_n(&c->session->live, 0, __ATOMIC_SEQ_CST);
}

static void disarm(struct guardian *g)
{
	double at = now_ms();
	struct client *c;

	watchpoints_leave(g); /* while what they do to the program's signals is still known */
	for (c = g->clients; c && !g->crashed; c = c->next)
		client_disarm(g, c);
	if (g->crashed)
		return;
	guardian_phase(g, "disarm", at);
	lender_release(g);
	g->one_look = !journal_holds(g, g->pid); /* nothing leads to our memory any more */
	if (g->agent_entry)
		helper_command(g, TL_CMD_EXIT);
	g->restored = !g->crashed && !watchpoints_leave(g) && !journal_holds(g, g->pid);
}

/* How long each was held, for who wants to know. */
static void tell_still(const struct guardian *g)
{
	const struct thread *t;
	unsigned n = 0;

	for (t = clients_verbose(g) ? g->threads : NULL; t && n < STILL_TOLD; t = t->next) {
		if (!thread_is_theirs(t))
			continue;
		n++;
		note_all(g, "%-10s %8.3f ms at most, %.3f ms in all: thread %d", "still",
			(double)t->still_longest / 1e6, (double)t->still / 1e6, t->tid);
	}
}

/* How much is left. */
static int leave(struct guardian *g)
{
	double at = now_ms();
	int kept = 1;

	if (!g->crashed && helper_start(g, NULL)) {
		disarm(g);
		if (g->restored && !target_ended(g))
			kept = clear_out(g);
		helper_end(g);
		guardian_phase(g, "detach", at);
		tell_still(g);
	} else if (!g->crashed) {
		counts_at_exit(g);
	}
	lender_release(g); /* where disarming has failed */
	loader_go(g);
	counts(g);
	return kept;
}

/* A program that has set itself a filter after we came. */
static void tell_what_stays(struct guardian *g)
{
	char text[700];

	snprintf(text, sizeof(text),
		"the text of process %d is what it was, but our memory stays there, unused: %s",
		g->pid, g->error);
	tell_all(g, MSG_WARN, 0, text);
}

/* Tries again, and serves who is on the way. */
static int leave_soon(struct guardian *g)
{
	double end = now_ms() + PATIENCE_MS;
	int kept = 1, ms;

	for (ms = PAUSE_MS; kept && !target_ended(g) && now_ms() < end; ms *= 2) {
		loop_for(g, ms);
		own_traps_deliver(g);
		traceme_serve(g);
		kept = leave_once(g);
		loader_go(g);
	}
	return kept;
}

static void last_words(struct guardian *g, int kept)
{
	struct client *c;

	for (c = g->clients; c; c = c->next)
		if (!c->told)
			tell_last(&c->tell, (uint32_t)kept, g->error);
}

/* true: another session has come, and is armed. */
static bool let_in(struct guardian *g)
{
	g->leaving = g->inside_only = g->one_look = g->restored = false;
	quiet_forget(g);
	g->knocked = true;
	door_answer(g);
	if (!clients_leave(g))
		return true;
	last_words(g, 1); /* it has failed */
	g->leaving = g->inside_only = g->restored = true;
	return false;
}

/* Behind the last session, for those who still stand there. true: there is another one. */
static bool stay_behind(struct guardian *g)
{
	bool open = g->restored && !g->crashed;
	int kept = 1;

	g->door_tried = !open;
	door_open(g);
	while (kept && !target_ended(g)) {
		loop_for(g, LONG_PAUSE_MS);
		own_traps_deliver(g);
		traceme_serve(g);
		if (open && let_in(g))
			return true;
		kept = leave_once(g);
		loader_go(g);
	}
	door_close(g);
	return false;
}

/*
 * A thread that we let go of as it stops at the entry of a call finds a signal pending that is none: the call, issued
 * again so that the program notices nothing, would end at once.
 */
static void calls_settle(struct guardian *g)
{
	loop_while(g, again_coming, 1000);
}

bool session_leave(struct guardian *g)
{
	struct client *c;
	bool late, failed = g->crashed;
	int kept = 0;

	for (c = g->clients; c; c = c->next)
		client_silence(c);
	events_go_on(g);
	door_close(g);
	g->leaving = true;
	traceme_settle(g);
	launch_leave(g);
	if (g->injected && target_ended(g))
		counts(g);
	else if (g->injected)
		kept = leave(g);
	if (kept)
		kept = leave_soon(g);
	g->inside_only = true;
	if (kept && !target_ended(g))
		kept = leave_once(g);
	loader_go(g);
	if (g->crashed && !failed)
		tell_all(g, MSG_FAILED, 0, g->error);
	if (kept && !target_ended(g))
		name_blocker(g);
	else if (g->injected && !target_ended(g) && g->restored && !g->crashed)
		tell_what_stays(g);
	if (g->agent_entry && clients_verbose(g))
		note_all(g, "%-10s %8llu KiB read", "stacks",
			(unsigned long long)g->stacks_read >> 10);
	late = kept && !g->restored;
	if (g->agent_entry) /* something may have been armed */
		traps_settle(g);
	last_words(g, kept);
	if (kept && stay_behind(g))
		return true;
	if (late)
		traps_settle(g);
	while (signals_kept(g) && !target_ended(g))
		loop_for(g, PAUSE_MS);
	calls_settle(g);
	g->settled = true;
	own_traps_deliver(g); /* what we have seen and kept goes with us */
	return false;
}
