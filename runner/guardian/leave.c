/* SPDX-License-Identifier: MIT */
/* The end of a session: probes out, memory back, the closing figures. */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "../proc.h"
#include "guardian.h"

static uint64_t word_at(struct guardian *g, uint64_t addr)
{
	uint64_t word = 0;

	return addr && target_read(g, g->pid, addr, &word, sizeof(word)) == sizeof(word) ? word : 0;
}

void counts_at_exit(struct guardian *g)
{
	uint32_t i;

	for (i = 0; i < g->mod->nprobes; i++) {
		struct tl_ctl_probe *p = guardian_probe(g, i);

		if (!p->armed)
			continue;
		p->nmissed = word_at(g, p->at_missed[0]) + word_at(g, p->at_missed[1]);
		p->nabandoned = word_at(g, p->at_abandoned);
		p->ntails = word_at(g, p->at_tails);
	}
}

static void counts(struct guardian *g)
{
	struct message m = {
		.children = g->children, .unclean = g->children_unclean, .traps = g->traps};

	tell_counts(&g->tell, &m);
}

static void name_blocker(struct guardian *g)
{
	char text[256], name[32];
	struct thread *who = NULL;
	uint32_t i;

	for (i = 0; i < ctl_areas(g) && !who; i++) {
		if (g->ctl->areas[i].size)
			quiet(g, g->ctl->areas[i].lo, g->ctl->areas[i].lo + g->ctl->areas[i].size,
				&who);
	}
	if (!who)
		quiet(g, g->ctl->agent, g->ctl->agent + g->ctl->agent_size, &who);
	if (!who)
		return;
	proc_name(who->tid, name, sizeof(name));
	snprintf(text, sizeof(text),
		"thread %d (%s) of process %d still stands in probe memory: that memory is "
		"given back when it has left",
		who->tid, name, g->pid);
	tell(&g->tell, MSG_WARN, 0, text);
}

/* One try at giving everything back. 0: nothing of ours is left. */
static int leave_once(struct guardian *g)
{
	int kept;

	if (!helper_start(g, NULL))
		return g->gone || g->execed ? 0 : 1;
	maps_read(g);
	quiet_forget(g);
	kept = eject(g);
	helper_end(g);
	return g->gone || g->execed ? 0 : kept;
}

static void leave_by_force(struct guardian *g)
{
	/* The agent has failed: the text is what counts. Its memory stays, unused. */
	if (!stop_all(g)) {
		journal_restore(g, g->pid, g->mem);
		resume_all(g, false);
	}
	helper_end(g);
}

void session_leave(struct guardian *g)
{
	double end;
	int kept = 0;

	if (g->session && g->orphaned)
		__atomic_store_n(&g->session->live, 0, __ATOMIC_SEQ_CST);
	g->leaving = true;
	if (g->injected && !g->gone && !g->execed && !g->crashed && helper_start(g, NULL)) {
		double at = now_ms();

		g->ctl->result = 0;
		if (helper_command(g, TL_CMD_DISARM) >= 0 || !g->crashed) {
			guardian_phase(g, "disarm", at);
			lender_release(g);
			counts(g);
			g->one_look = true; /* from here nothing leads to our memory any more */
			helper_command(g, TL_CMD_EXIT);
			maps_read(g);
			kept = g->crashed || g->gone || g->execed ? 0 : eject(g);
		}
		if (!g->crashed)
			helper_end(g);
		guardian_phase(g, "detach", at);
	} else if (g->injected) {
		counts(g);
	}
	if (g->crashed && !g->gone)
		leave_by_force(g);
	lender_release(g); /* where disarming has failed */
	for (end = now_ms() + 900; kept && !g->gone && !g->execed && now_ms() < end;
		kept = leave_once(g)) {
		struct timespec ts = {0, 20000000};

		while (pump(g, false))
			;
		nanosleep(&ts, NULL);
	}
	if (kept && !g->gone && !g->execed)
		name_blocker(g);
	if (g->ctl && g->ctl->env) /* something may have been armed */
		traps_settle(g);
	tell(&g->tell, MSG_DONE, (uint32_t)kept, g->error);
	shutdown(g->tell.sock, SHUT_RDWR);
	while (kept && !g->gone && !g->execed) { /* wait behind for those who still stand there */
		struct timespec ts = {0, 200000000};

		while (pump(g, false))
			;
		nanosleep(&ts, NULL);
		kept = leave_once(g);
	}
}
