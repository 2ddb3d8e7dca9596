/* SPDX-License-Identifier: MIT */
/* The control block, and probes in by way of the agent. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <trapless/error.h>

#include "../../base/proc.h"
#include "../../base/progress.h"
#include "../guardian.h"
#include "../family/sanitizers.h"
#include "../family/sharing.h"
#include "../inject/enter.h"
#include "../inject/helper.h"
#include "../inject/inject.h"
#include "../mend/handlers.h"
#include "../mend/masks.h"
#include "../mend/owntraps.h"
#include "../mend/trapmend.h"
#include "../mend/watch.h"
#include "../trace/images.h"
#include "../trace/maps.h"
#include "../trace/publish.h"
#include "../trace/remote.h"
#include "../trace/say.h"
#include "arm.h"
#include "clients.h"
#include "copies.h"
#include "loader.h"
#include "resolve.h"
#include "watchpoints.h"

int control_create(struct guardian *g)
{
	g->ctl_size = pages(sizeof(struct tl_ctl));
	g->ctl = memory_make(g->ctl_size, &g->ctl_fd);
	if (!g->ctl)
		return guardian_fail(g, "cannot make the control block: %s", strerror(errno));
	g->ctl->magic = TL_CTL_MAGIC;
	g->ctl->version = TL_CTL_VERSION;
	g->ctl->guardian = (uint32_t)getpid();
	be_watched(g);
	g->ctl->target = (uint32_t)g->pid;
	g->ctl->size = g->ctl_size;
	g->ctl->max_maps = proc_max_maps();
	return 0;
}

static void fill_probes(struct client *c)
{
	uint32_t i;

	for (i = 0; i < c->mod->nprobes; i++)
		slot_fill(c, i, i);
}

/* --- arming --------------------------------------------------------------------------- */

/* Places are shared: where one session wants breakpoints for all it gets them. */
static bool jumps_wanted(const struct guardian *g)
{
	const struct client *c;
	bool any = false;

	for (c = g->clients; c; c = c->next) {
		if (c->tell.tuning->unoptimized)
			return false;
		any |= !c->traps_only;
	}
	return any;
}

/* What the agent takes for no text: is it, by its file's headers, and not executable at the moment? */
static void name_protected(struct guardian *g, struct client *c)
{
	const struct tl_ctl_map *now;
	struct tl_ctl_probe *p;
	uint32_t i;

	for (i = 0; i < c->tell.nslots; i++) {
		p = tl_ctl_probe(c->ctl, i);
		if (p->result != -TL_E_NOT_TEXT || !in_files_text(p->addr))
			continue;
		now = map_at(g, p->addr);
		if (now && !(now->prot & PROT_EXEC))
			p->result = -TL_E_PROTECTED;
	}
}

/* While the agent places probes, which may take seconds. */
void progress_tell(struct guardian *g)
{
	const struct tl_ctl_session *s = g->arming->ctl;
	double now = now_ms();

	if (now < g->progress_due || !s->count)
		return;
	g->progress_due = now + PROGRESS_MS;
	tell(&g->arming->tell, MSG_PROGRESS, (uint32_t)(50ull * s->done / s->count), "");
}

/* Where the agent's table of places has had no room. */
static void tell_unplaced(struct guardian *g)
{
	uint32_t n = g->ctl->nunplaced;
	char text[200];

	if (!n || g->unplaced_told)
		return;
	g->unplaced_told = true;
	snprintf(text, sizeof(text),
		"too many probes: a fault of the program in one of %u instructions would be seen "
		"by "
		"it at an address of trapless'; probe fewer at once",
		n);
	tell_all(g, MSG_WARN, 0, text);
}

static int arm_now(struct guardian *g, struct client *c, bool explain)
{
	bool masks_mattered = g->masks_matter;
	double at = now_ms();
	int ret;

	if (!g->action_watched)
		action_learn(g);
	own_traps_arrive(g);
	c->ctl->first = 0;
	c->ctl->count = c->tell.nslots;
	c->ctl->explain = explain || c->tell.explain || c->tell.verbose;
	take_tuning(&c->tell);
	g->ctl->arming.jump = jumps_wanted(g);
	g->ctl->slot = c->slot;
	g->progress_due = at + PROGRESS_FROM_MS;
	g->arming = c;
	ret = helper_command(g, TL_CMD_ARM);
	g->arming = NULL;
	g->masks_matter = masks_mattered; /* or by what stands there now: action_watch() */
	guardian_phase(g, c->ctl->cut_short ? "cut short" : "arm", at);
	name_protected(g, c);
	if (ret >= 0) {
		c->narmed = (uint32_t)ret;
		ret = watch_can_wait(g) ? 0 : action_watch(g);
	}
	if (ret >= 0)
		sanitizers_watch(g);
	tell_probes(&c->tell);
	tell_unplaced(g);
	return ret < 0 ? guardian_fail(g, "arming failed: %s", tl_error_text(ret)) : 0;
}

static int first_steps(struct guardian *g, struct client *c)
{
	double at = now_ms();
	int ret = agent_inject(g, c);

	guardian_phase(g, "inject", at);
	if (ret)
		return ret;
	at = now_ms();
	g->ctl->tid_offset = g->launched ? loader_tid_offset() : 0;
	if (images_read(g))
		return guardian_fail(g, "cannot read the mappings of process %d", g->pid);
	sharing_arrive(g);
	threads_publish(g);
	masks_learn(g);
	g->ctl->lender = g->lender;
	ret = helper_command(g, TL_CMD_INIT);
	guardian_phase(g, "start", at);
	if (ret)
		return guardian_fail(g, "the engine did not start in process %d: %s; %s", g->pid,
			tl_error_text(ret), tl_error_next(ret));
	return 0;
}

/* Objects with probes may come later, or go: be told of them. true: the agent has to act. */
static bool watch_loader(struct guardian *g, const struct client *c, bool final)
{
	if (!final || !client_watches_loader(c) || g->ctl->dl_state)
		return false;
	g->ctl->dl_state = loader_state(g);
	return g->ctl->dl_state != 0;
}

static int arm_first(struct guardian *g, struct client *c, bool final)
{
	int ret = client_enter(g, c);

	if (ret)
		return ret;
	fill_probes(c);
	if (probes_resolve(g, c, final) < 0)
		return -1;
	if (watch_loader(g, c, final)) { /* before anything is done that it could take away */
		helper_command(g, TL_CMD_WATCH);
		if (probes_resolve(g, c, final) < 0)
			return -1;
	}
	return arm_now(g, c, false);
}

/* Two engines in one process would each take the other's patches for the program's code. */
static int refuse_engine(struct guardian *g)
{
	const struct mapped *m = image_with_engine(g);

	g->refused = m;
	return m ? guardian_fail(g,
			   "process %d probes itself (libtrapless is in %s), and one "
			   "process cannot be probed from both sides: let it go on with its own "
			   "probes alone, or have it leave them (tl_engine_exit)",
			   g->pid, base_name(m->path))
		 : 0;
}

static int look_at_images(struct guardian *g)
{
	if (images_find(g))
		return guardian_fail(g, "cannot read the mappings of process %d", g->pid);
	return refuse_engine(g);
}

int session_arm(struct guardian *g, struct client *c, struct thread *from, bool final)
{
	double at = now_ms();
	int ret = 0;
	bool first;

	first = !g->injected;
	if (first && look_at_images(g))
		return -1;
	if (!(first ? helper_arrive(g, from) : helper_start(g, from)))
		return guardian_fail(g, "process %d has ended", g->pid);
	guardian_phase(g, "borrow", at);
	if (first)
		ret = first_steps(g, c);
	/* It may have begun as we came: it looks for our memory, as we for its word. */
	if (first && !ret)
		ret = refuse_engine(g);
	if (!ret)
		ret = arm_first(g, c, final);
	if (!ret)
		g->armed = true;
	helper_end(g);
	return ret;
}

static int more_of(
	struct guardian *g, struct client *c, struct thread *from, bool final, bool stale)
{
	int ret = probes_resolve(g, c, final);

	/* The loader has filled in by now what tail calls and linkage tables lead to. */
	if (ret < 0 ||
		!(ret || watch_loader(g, c, final) || action_wanted(g) || sanitizers_wanted(g) ||
			stale || (final && g->ctl->arming.at_wanting)))
		return ret;
	if (!g->helper && !helper_start(g, from))
		return -1;
	return arm_now(g, c, false);
}

/* One that leaves may have been disarmed already, and wait only for its memory to be out of use. */
static bool is_served(const struct client *c)
{
	return c->entered && !c->leave;
}

/* More has been mapped: arm what is there now. */
int session_more(struct guardian *g, struct thread *from, bool final)
{
	bool stale = g->ctl->images_stale; /* until the first one is armed anew */
	struct client *c;
	int ret = 0;

	for (c = g->clients; c && !ret; c = c->next)
		ret = is_served(c) ? more_of(g, c, from, final, stale) : 0;
	helper_end(g);
	watchpoints_look(g);
	return ret;
}

/* Handlers in some threads have no stacks of ours. */
static bool is_crowded(const struct guardian *g)
{
	return g->ctl->arming.room && g->nthreads > g->ctl->arming.room;
}

bool follow_may_be_due(const struct guardian *g)
{
	return g->armed && !g->gone &&
	       (g->ctl->arming.at_wanting || g->ctl->arming.later || is_crowded(g));
}

/* Calls have left by a jump to a function that can be watched from now on. */
static bool is_wanted(struct guardian *g)
{
	uint32_t wanting = 0;

	return g->ctl->arming.at_wanting &&
	       target_read(g, g->pid, g->ctl->arming.at_wanting, &wanting, sizeof(wanting)) ==
		       sizeof(wanting) &&
	       wanting;
}

void session_follow(struct guardian *g)
{
	static double last;

	if (!follow_may_be_due(g) || now_ms() - last < FOLLOW_MS)
		return;
	last = now_ms();
	if (!(g->ctl->arming.later || is_crowded(g) || is_wanted(g)) || !helper_start(g, NULL))
		return;
	helper_command(g, TL_CMD_FOLLOW);
	helper_end(g);
}

static void tune(struct guardian *g, struct client *c)
{
	c->tune = false;
	if (g->armed && is_served(c) && !target_ended(g)) {
		if (!helper_start(g, NULL)) {
			tell_standing(&c->tell, "its threads could not be borrowed: try again");
			return;
		}
		arm_now(g, c, true);
		helper_end(g);
	}
	tell_standing(&c->tell, g->error);
	g->error[0] = 0; /* the session goes on */
}

void session_tune(struct guardian *g)
{
	struct client *c;

	for (c = g->clients; c; c = c->next)
		if (c->tune)
			tune(g, c);
}
