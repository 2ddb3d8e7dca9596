/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* A module's probes as the engine's. */
#include "home.h"
#include "listen.h"
#include "view.h"
#include "../engine/core/base/broken.h"
#include "../engine/core/detour/site.h"
#include "../engine/core/detour/threads.h"
#include "../engine/core/image/unpaired.h"
#include "../engine/core/probe/gone.h"
#include "../engine/core/probe/probe.h"
#include "../engine/core/ret/ret.h"
#include "../engine/core/text/patch.h"
#include "../runtime/machine/machine.h"
#include "../runtime/session.h"

/* One probe of the module in this process. Lives until disarm. */
struct armed {
	union {
		struct tl_probe site;
		struct tl_retprobe ret;
	};
	struct tl_env env;
	struct armed *next;
	uint32_t index; /* in the control block */
	const struct tl_probe *entry; /* of a return probe */
	bool is_return, live;
	bool out; /* taken away; some handler may still run */
};

/*
 * So many at once: the session may end between two pieces of a long arming. A return is many probes. But for a piece
 * all threads may have to be stopped, which takes as long as some probes for each of them.
 */
enum { PIECE = 512, PIECE_RETURNS = 64, FOR_A_THREAD = 4 };

static struct tl_slab slab = {.size = sizeof(struct armed)};
static struct armed *lists[TL_CTL_SESSIONS];

static struct armed **list_of(const struct tl_ctl_session *s)
{
	return &lists[s->slot % TL_CTL_SESSIONS];
}

static const struct tl_func_part *ctl_parts(struct tl_ctl_session *s)
{
	return tl_ctl_parts(s, (uint32_t)s->nprobes);
}

/* A handler in the target is a number from the control block until here. */
static void *code_at(uint64_t addr)
{
	return (void *)(uintptr_t)addr;
}

static void fill_site(struct tl_ctl_session *s, const struct tl_ctl_probe *p, struct armed *a)
{
	const struct tl_func_part *part = ctl_parts(s) + p->first_part;
	uint32_t i;

	a->site.addr = code_at(p->addr);
	a->site.pre = (tl_pre_fn)code_at(p->handler);
	a->site.data = &a->env;
	a->site.flags = p->flags;
	for (i = 0; i < p->nparts; i++) {
		if (p->addr - part[i].start < part[i].size) {
			a->site.func_start = part[i].start;
			a->site.func_size = (uint32_t)part[i].size;
		}
	}
}

static void fill_return(struct tl_ctl_session *s, const struct tl_ctl_probe *p, struct armed *a)
{
	a->is_return = true;
	a->ret.entry = code_at(p->addr);
	a->ret.on_entry = (tl_ret_entry_fn)code_at(p->on_entry);
	a->ret.on_return = (tl_ret_fn)code_at(p->handler);
	a->ret.data = &a->env;
	a->ret.data_size = p->call_data;
	a->ret.flags = p->flags;
	if (p->nparts) {
		a->ret.parts = ctl_parts(s) + p->first_part;
		a->ret.nparts = p->nparts;
	}
}

static struct armed *prepare(struct tl_ctl_session *s, uint32_t index)
{
	struct tl_ctl_probe *p = tl_ctl_probe(s, index);
	struct armed *a = tl_slab_get(&slab);

	if (!a)
		return NULL;
	a->index = index;
	tl_ctl_env(&a->env, tl_ctl_view(s), p);
	if (p->kind == TL_TAP_RETURN)
		fill_return(s, p, a);
	else
		fill_site(s, p, a);
	a->next = *list_of(s);
	*list_of(s) = a;
	return a;
}

static void report_one(struct tl_ctl_probe *p, const struct armed *a)
{
	struct tl_probe_info info;
	int i;

	tl_probe_describe(a->is_return ? a->entry : &a->site, &info);
	p->rung = info.rung;
	p->detour = info.detour;
	p->detour_size = info.detour_size;
	p->patch = info.patch;
	p->patch_len = info.patch_len;
	p->nmissed = p->old_missed + (a->is_return ? a->ret.nmissed : info.nmissed);
	for (i = 0; i <= TL_RUNG_TRAP; i++)
		p->why[i] = info.why[i];
}

/* Of a return probe its entry: exits, and functions that are watched for tail calls, are told with it. */
static void report_all(struct tl_ctl_session *s)
{
	tl_os_lock();
	for (const struct armed *a = *list_of(s); a; a = a->next)
		if (a->live && (!a->is_return || a->entry))
			report_one(tl_ctl_probe(s, a->index), a);
	tl_os_unlock();
}

/* Is there a way out that TL_CMD_FOLLOW may find later? */
static bool tell_exits(struct tl_ctl_probe *p, struct armed *a)
{
	struct tl_retprobe_info info;

	if (tl_retprobe_describe(&a->ret, &info))
		return false;
	a->entry = info.entry;
	p->nexits = info.nexits;
	p->ntrapped = info.ntrapped;
	p->nfollowed = info.nfollowed;
	p->tail = info.tail;
	p->tail_to = info.tail_to;
	p->tail_why = info.tail_why;
	return info.tail || info.ncomputed;
}

/* Probes of one kind, for one call of the engine. */
struct batch {
	struct armed **list;
	union {
		struct tl_probe **sites;
		struct tl_retprobe **returns;
	};
	int *results;
	size_t n, bytes;
	uint32_t threads;
};

static int batch_init(struct batch *b, size_t max)
{
	b->n = 0;
	b->bytes = max * (sizeof(*b->list) + sizeof(*b->sites) + sizeof(*b->results));
	b->list = tl_os_alloc(b->bytes);
	if (!b->list)
		return -TL_E_NOMEM;
	b->sites = (struct tl_probe **)(void *)(b->list + max);
	b->results = (int *)(void *)(b->sites + max);
	return 0;
}

static void batch_deinit(struct batch *b)
{
	tl_os_free(b->list, b->bytes);
}

static void batch_add(struct batch *b, struct armed *a)
{
	if (a->is_return)
		b->returns[b->n] = &a->ret;
	else
		b->sites[b->n] = &a->site;
	b->list[b->n++] = a;
}

/* Each for itself: one that is refused leaves the others alone. */
static void arm_batch(struct tl_ctl_session *s, struct batch *b, bool returns)
{
	if (returns)
		tl_retprobes_register(b->returns, b->n, b->results);
	else
		tl_probes_register_each(b->sites, b->n, b->results);
	for (size_t i = 0; i < b->n; i++) {
		struct tl_ctl_probe *p = tl_ctl_probe(s, b->list[i]->index);

		p->result = b->results[i];
		b->list[i]->live = !b->results[i];
	}
}

static void tell_exits_of(struct tl_arming *all, struct tl_ctl_session *s)
{
	for (struct armed *a = *list_of(s); a; a = a->next)
		if (a->is_return && a->live && tell_exits(tl_ctl_probe(s, a->index), a))
			all->at_wanting = (uintptr_t)&tl_ret_wanting;
}

int tl_ctl_follow(struct tl_arming *all)
{
	int ret = tl_retprobe_follow();

	all->room = tl_threads_more(all->nthreads);
	all->later = tl_optimizer_run() != 0;
	all->at_wanting = 0;
	for (unsigned i = 0; i < TL_CTL_SESSIONS; i++)
		if (all->sessions[i])
			tell_exits_of(all, code_at(all->sessions[i]));
	return ret;
}

/* For a program that exits with probes in place: nobody can ask the engine then. */
static void where_counts(struct tl_ctl_probe *p, const struct armed *a)
{
	const uint64_t *missed = a->is_return ? a->ret.missed : a->site.missed;

	for (unsigned why = 0; why < TL_MISSED_KINDS; why++)
		p->at_kinds[why] = (uintptr_t)&missed[why];
	p->at_missed = (uintptr_t)(a->is_return ? &a->ret.nmissed : &a->site.nmissed);
	p->at_rest = a->is_return || !a->site.site ? 0 : (uintptr_t)a->site.site->missed;
	p->at_abandoned = a->is_return ? (uintptr_t)&a->ret.nabandoned : 0;
	p->at_tails = a->is_return ? (uintptr_t)&a->ret.ntails : 0;
	p->at_unpaired = a->is_return ? (uintptr_t)&a->ret.nunpaired : 0;
	p->at_crowded = a->is_return ? (uintptr_t)&a->ret.ncrowded : 0;
}

static bool cut_short(const struct tl_ctl_session *s)
{
	return TL_RELAXED(&s->cut_short);
}

static uint32_t piece(uint32_t threads, bool returns)
{
	return (returns ? PIECE_RETURNS : PIECE) + FOR_A_THREAD * threads;
}

static void arm_kind(struct tl_ctl_session *s, struct batch *b, bool returns)
{
	b->n = 0;
	for (uint32_t i = s->first; i < s->first + s->count && !cut_short(s); i++) {
		struct tl_ctl_probe *p = tl_ctl_probe(s, i);
		struct armed *a;

		if (p->armed || p->off || p->replaced || !p->addr ||
			(p->kind == TL_TAP_RETURN) != returns)
			continue;
		p->result = 0;
		p->reason = returns ? tl_ret_forbidden_name(code_at(p->func)) : TL_PAIRED;
		if (p->reason)
			p->result = -TL_E_RET_BLACKLIST;
		else if ((a = prepare(s, i)))
			batch_add(b, a);
		else
			p->result = -TL_E_NOMEM;
		if (b->n == piece(b->threads, returns)) {
			arm_batch(s, b, returns);
			b->n = 0;
			s->done = i - s->first + (returns ? 0 : s->count);
		}
	}
	if (!cut_short(s))
		arm_batch(s, b, returns);
}

/* --- taking away ------------------------------------------------------------- */

/* It may be armed again: its library was closed, and comes back. */
static void add_counts(struct tl_ctl_probe *p, const struct armed *a)
{
	const uint64_t *missed = a->is_return ? a->ret.missed : a->site.missed;

	for (unsigned why = 0; why < TL_MISSED_KINDS; why++)
		p->missed[why] = p->old_kinds[why] += missed[why];
	p->nmissed = p->old_missed += a->is_return ? a->ret.nmissed : a->site.nmissed;
	p->nabandoned = p->old_abandoned += a->is_return ? a->ret.nabandoned : 0;
	p->ntails = p->old_tails += a->is_return ? a->ret.ntails : 0;
	p->nunpaired = p->old_unpaired += a->is_return ? a->ret.nunpaired : 0;
	p->ncrowded = p->old_crowded += a->is_return ? a->ret.ncrowded : 0;
}

/* Has its library been closed? */
static bool is_gone(const struct armed *a)
{
	const struct tl_probe *p = a->is_return ? a->entry : &a->site;

	return p && p->state == TL_PROBE_GONE;
}

static bool is_replaced(const struct armed *a)
{
	const struct tl_probe *p = a->is_return ? a->entry : &a->site;

	return is_gone(a) && p->reserved & TL_PROBE_REPLACED;
}

/* Gone, or not wanted any more. */
static bool is_out(struct tl_ctl_session *s, const struct armed *a)
{
	return is_gone(a) || tl_ctl_probe(s, a->index)->off;
}

/* Nobody uses any more what was taken away. */
static bool settled(void)
{
	bool yes;

	tl_os_lock();
	yes = tl_threads_settled();
	tl_os_unlock();
	return yes;
}

static int disarm_kind(struct tl_ctl_session *s, struct batch *b, bool returns, bool everything)
{
	int ret;

	b->n = 0;
	for (struct armed *a = *list_of(s); a; a = a->next) {
		if (!a->live || a->is_return != returns || !(everything || is_out(s, a)))
			continue;
		tl_unlisten(tl_ctl_probe(s, a->index), is_gone(a));
		tl_ctl_probe(s, a->index)->replaced |= is_replaced(a);
		batch_add(b, a);
	}
	ret = returns ? tl_retprobes_unregister(b->returns, b->n)
		      : tl_probes_unregister(b->sites, b->n);
	for (size_t i = 0; i < b->n; i++) {
		struct tl_ctl_probe *p = tl_ctl_probe(s, b->list[i]->index);

		b->list[i]->live = false;
		b->list[i]->out = true;
		p->armed = p->rung = 0;
		add_counts(p, b->list[i]);
	}
	return ret;
}

static void forget_dead(struct tl_ctl_session *s)
{
	struct armed *a, **link = list_of(s);
	bool all = settled();

	while ((a = *link)) {
		if (a->live || (a->out && !all)) {
			link = &a->next;
			continue;
		}
		*link = a->next;
		tl_slab_put(&slab, a);
	}
}

/* All of them, or those that are out. */
static int disarm(struct tl_ctl_session *s, bool everything)
{
	struct batch b;
	size_t max = 0;
	int ret;

	for (struct armed *a = *list_of(s); a; a = a->next)
		max++;
	if (!max)
		return 0;
	if (batch_init(&b, max))
		return -TL_E_NOMEM;
	disarm_kind(s, &b, true, everything);
	ret = disarm_kind(s, &b, false, everything);
	batch_deinit(&b);
	forget_dead(s);
	return ret;
}

/* --- commands ---------------------------------------------------------------- */

/* The bytes up to the end of the instruction. */
static uint32_t unseen_call(const struct tl_ctl_probe *p)
{
	uint8_t text[32];
	uintptr_t from = p->addr + TL_SYSCALL_SIZE - sizeof(text);

	if (!p->at_syscall || p->result != -TL_E_NOT_PROVEN ||
		tl_os_text_read(from, text, sizeof(text)) != sizeof(text))
		return 0;
	return (uint32_t)(tl_arch_syscall_number(text, sizeof(text)) + 1);
}

static void tell_reason(struct tl_ctl_probe *p)
{
	tl_os_lock();
	p->reason = p->result == -TL_E_RET_BLACKLIST ? tl_ret_forbidden(p->addr) : TL_PAIRED;
	p->unseen = unseen_call(p);
	tl_os_unlock();
}

/* A hook whose places cannot be switched is refused, and its probe comes out again. */
static void listen(struct tl_ctl_session *s, struct armed *a)
{
	struct tl_ctl_probe *p = tl_ctl_probe(s, a->index);

	p->result = tl_listen(p);
	if (!p->result)
		return;
	if (a->is_return)
		tl_retprobe_unregister(&a->ret);
	else
		tl_probe_unregister(&a->site);
	a->live = false;
	a->out = true;
}

/* Semaphores may be there later than the probes. */
static void listen_all(struct tl_ctl_session *s)
{
	for (struct armed *a = *list_of(s); a; a = a->next)
		if (a->live)
			listen(s, a);
}

/* How many are in. */
static int tell_armed(struct tl_ctl_session *s)
{
	int n = 0;

	for (struct armed *a = *list_of(s); a; a = a->next) {
		if (a->out)
			continue;
		tl_ctl_probe(s, a->index)->armed = a->live;
		if (a->live)
			where_counts(tl_ctl_probe(s, a->index), a);
		else
			tell_reason(tl_ctl_probe(s, a->index));
		n += a->live;
	}
	return n;
}

int tl_ctl_arm(struct tl_arming *all, struct tl_ctl_session *s)
{
	struct batch b;
	uint32_t most;
	int ret;

	if (!s->count)
		return 0;
	ret = tl_ctl_view_init(s);
	if (ret)
		return ret;
	tl_probes_patching((enum tl_patching)all->patching);
	tl_probes_optimize(all->jump != 0);
	if (s->explain)
		tl_text_look();
	disarm(s, false);
	b.threads = all->nthreads;
	s->done = 0;
	most = piece(b.threads, false);
	if (batch_init(&b, s->count < most ? s->count : most))
		return -TL_E_NOMEM;
	tl_threads_more(all->nthreads);
	arm_kind(s, &b, true);
	arm_kind(s, &b, false);
	batch_deinit(&b);
	listen_all(s);
	if (!cut_short(s))
		tl_ctl_follow(all); /* what came with a library may be what a tail call leads to */
	if (s->explain) {
		report_all(s);
		tl_probes_usage(&all->usage);
	}
	return tell_armed(s);
}

/* It is known no more, unless some of its handlers may still be called. */
int tl_ctl_disarm(struct tl_arming *all, struct tl_ctl_session *s)
{
	int ret;

	tl_text_look();
	ret = disarm(s, true);
	if (*list_of(s))
		return ret ? ret : -TL_E_BUSY;
	tl_ctl_view_forget(s);
	all->sessions[s->slot % TL_CTL_SESSIONS] = 0;
	if (!tl_ctl_any_session(all))
		tl_slab_deinit(&slab);
	return ret;
}
