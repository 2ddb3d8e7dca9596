/* SPDX-License-Identifier: MIT */
/* The control block, and probes in by way of the agent. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <trapless/error.h>

#include "../../agent/fill.h"
#include "../proc.h"
#include "guardian.h"

int control_create(struct guardian *g)
{
	size_t probes = sizeof(struct tl_ctl), parts;

	parts = probes + g->mod->nprobes * sizeof(struct tl_ctl_probe);
	g->ctl_size = (parts + g->mod->nparts * sizeof(struct tl_ctl_part) + 4095) & ~4095ull;
	g->ctl_fd = memfd_create("trapless", MFD_CLOEXEC);
	if (g->ctl_fd < 0 || ftruncate(g->ctl_fd, (off_t)g->ctl_size))
		return guardian_fail(g, "cannot make the control block: %s", strerror(errno));
	g->ctl = mmap(NULL, g->ctl_size, PROT_READ | PROT_WRITE, MAP_SHARED, g->ctl_fd, 0);
	if (g->ctl == MAP_FAILED) {
		g->ctl = NULL;
		return guardian_fail(g, "cannot map the control block: %s", strerror(errno));
	}
	g->ctl->magic = TL_CTL_MAGIC;
	g->ctl->version = TL_CTL_VERSION;
	g->ctl->guardian = (uint32_t)getpid();
	be_watched(g);
	g->ctl->target = (uint32_t)g->pid;
	g->ctl->size = g->ctl_size;
	g->ctl->session_size = g->session_size;
	g->ctl->max_maps = proc_max_maps();
	g->ctl->probes_off = probes;
	g->ctl->nprobes = g->mod->nprobes;
	g->ctl->parts_off = parts;
	g->ctl->nparts = g->mod->nparts;
	g->tell.ctl = g->ctl;
	return 0;
}

static void fill_probes(struct guardian *g)
{
	const struct tl_ctl_module m = {g->module_at, g->strings_at, g->traps_only};
	uint32_t i;

	for (i = 0; i < g->mod->nprobes; i++)
		tl_ctl_fill(guardian_probe(g, i), i, &g->mod->probes[i], &m);
}

/* --- arming --------------------------------------------------------------------------- */

static int arm_now(struct guardian *g, bool explain)
{
	double at = now_ms();
	int ret;

	action_learn(g);
	g->ctl->first = 0;
	g->ctl->count = g->mod->nprobes;
	g->ctl->explain = explain || g->tell.explain || g->tell.verbose;
	take_tuning(&g->tell, !g->traps_only);
	ret = helper_command(g, TL_CMD_ARM);
	guardian_phase(g, g->ctl->cut_short ? "cut short" : "arm", at);
	if (ret >= 0) {
		g->narmed = (uint32_t)ret;
		ret = action_watch(g);
	}
	tell_probes(&g->tell);
	return ret < 0 ? guardian_fail(g, "arming failed: %s", tl_error_text(ret)) : 0;
}

static int first_steps(struct guardian *g)
{
	double at = now_ms();
	int ret = inject(g);

	guardian_phase(g, "inject", at);
	if (ret)
		return ret;
	fill_probes(g);
	at = now_ms();
	g->ctl->tid_offset = g->launched ? loader_tid_offset() : 0;
	if (images_read(g))
		return guardian_fail(g, "cannot read the mappings of process %d", g->pid);
	threads_publish(g);
	g->ctl->lender = g->lender;
	ret = helper_command(g, TL_CMD_INIT);
	guardian_phase(g, "start", at);
	if (ret)
		return guardian_fail(g, "the engine did not start in process %d: %s; %s", g->pid,
			tl_error_text(ret), tl_error_next(ret));
	return 0;
}

/* Objects with probes may come later, or go: be told of them. true: the agent has to act. */
static bool watch_loader(struct guardian *g, bool final)
{
	if (!final || !(g->pending || g->closable) || g->ctl->dl_state)
		return false;
	g->ctl->dl_state = loader_state(g);
	return g->ctl->dl_state != 0;
}

int session_arm(struct guardian *g, struct thread *from, bool final)
{
	double at = now_ms();
	int ret;

	if (!helper_start(g, from))
		return guardian_fail(g, "process %d has ended", g->pid);
	guardian_phase(g, "borrow", at);
	ret = first_steps(g);
	if (!ret)
		ret = probes_resolve(g, final) < 0 ? -1 : 0;
	if (!ret) {
		watch_loader(g, final);
		ret = arm_now(g, false);
	}
	if (!ret)
		g->armed = true;
	helper_end(g);
	return ret;
}

/* More has been mapped: arm what is there now. */
int session_more(struct guardian *g, struct thread *from, bool final)
{
	int ret = probes_resolve(g, final);

	if (ret < 0 || !(ret || watch_loader(g, final) || action_wanted(g) || g->ctl->images_stale))
		return ret;
	if (!helper_start(g, from))
		return -1;
	ret = arm_now(g, false);
	helper_end(g);
	return ret;
}

bool follow_may_be_due(struct guardian *g)
{
	return g->armed && !g->gone && (g->ctl->at_wanting || g->ctl->later);
}

/* Calls have left by a jump to a function that can be watched from now on. */
static bool is_wanted(struct guardian *g)
{
	uint32_t wanting = 0;

	return g->ctl->at_wanting &&
	       target_read(g, g->pid, g->ctl->at_wanting, &wanting, sizeof(wanting)) ==
		       sizeof(wanting) &&
	       wanting;
}

void session_follow(struct guardian *g)
{
	static double last;

	if (!follow_may_be_due(g) || now_ms() - last < FOLLOW_MS)
		return;
	last = now_ms();
	if (!(g->ctl->later || is_wanted(g)) || !helper_start(g, NULL))
		return;
	helper_command(g, TL_CMD_FOLLOW);
	helper_end(g);
}

void session_tune(struct guardian *g)
{
	g->tune = false;
	if (g->armed && !target_ended(g)) {
		if (!helper_start(g, NULL)) {
			tell_standing(&g->tell, "its threads could not be borrowed: try again");
			return;
		}
		arm_now(g, true);
		helper_end(g);
	}
	tell_standing(&g->tell, g->error);
	g->error[0] = 0; /* the session goes on */
}
