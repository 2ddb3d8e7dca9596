/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Changing text while threads run through it (docs/patch-protocol.md). A batch
 * is opened once and synced once a step; nearly always there is one round of
 * changes, of at most four steps.
 */
#include "../base/broken.h"
#include "../base/core.h"
#include "../base/mem.h"
#include "../base/race.h"
#include "../detour/detour.h"
#include "change.h"
#include "patch.h"

enum { STOP_TRIES = 60, STOP_PAUSE_US = 200, STORE_TRIES = 100 };

struct batch {
	struct tl_change *c;
	size_t n;
	bool barred; /* by a protection, after all */
	bool guards; /* some change is guarded */
	unsigned last_round;
};

/* --- order -------------------------------------------------------------- */

static void sift(struct tl_change *c, size_t i, size_t n)
{
	for (;;) {
		size_t big = 2 * i + 1;
		struct tl_change t;

		if (big >= n)
			return;
		if (big + 1 < n && c[big + 1].addr > c[big].addr)
			big++;
		if (c[i].addr >= c[big].addr)
			return;
		t = c[i];
		c[i] = c[big];
		c[big] = t;
		i = big;
	}
}

static void sort(struct tl_change *c, size_t n)
{
	size_t i;

	for (i = 1; i < n && c[i - 1].addr < c[i].addr; i++)
		;
	if (i >= n)
		return; /* the usual case: made in order */
	for (i = n / 2; i--;)
		sift(c, i, n);
	while (n > 1) {
		struct tl_change t = c[--n];

		c[n] = c[0];
		c[0] = t;
		sift(c, 0, n);
	}
}

/* --- opening: one range a stretch of text ------------------------------------ */

/* Changes [i, j) lie in one stretch of executable memory, or between two; returns j. */
static size_t group(const struct batch *b, size_t i)
{
	uintptr_t lo, hi;
	size_t j = i + 1;

	if (!tl_os_text_next(b->c[i].addr, &lo, &hi))
		return b->n;
	if (lo > b->c[i].addr)
		hi = lo;
	while (j < b->n && b->c[j].addr < hi)
		j++;
	return j;
}

static void close_up_to(const struct batch *b, size_t end)
{
	for (size_t i = 0, j; i < end; i = j) {
		j = b->c[i].next;
		tl_os_text_close(b->c[i].addr, b->c[j - 1].addr + b->c[j - 1].len);
	}
}

/*
 * What is not executable any more, since the program has protected it, gets nothing new; but what it was comes back,
 * past the protection, while all stand still. 0, or -TL_E_TEXT_RO: nobody can.
 */
static int reach_past(struct tl_change *c)
{
	uint8_t now[sizeof(c->from)];

	if (!c->taken || tl_os_text_peek(c->addr, now, c->len) != c->len)
		return c->taken ? -TL_E_TEXT_RO : -TL_E_NOT_TEXT;
	c->past = true;
	return 0;
}

static int open_group(const struct batch *b, size_t i, size_t j)
{
	int ret = tl_os_text_open(b->c[i].addr, b->c[j - 1].addr + b->c[j - 1].len);

	if (ret != -TL_E_NOT_TEXT)
		return ret;
	for (ret = 0; !ret && i < j; i++)
		ret = reach_past(&b->c[i]);
	return ret;
}

static int open_all(const struct batch *b)
{
	size_t i, j;
	int ret;

	for (i = 0; i < b->n; i = j) {
		b->c[i].next = j = group(b, i);
		ret = open_group(b, i, j);
		if (ret) {
			close_up_to(b, i);
			return ret;
		}
	}
	return 0;
}

static bool is_free(const struct tl_change *c)
{
	const struct tl_plan *last = c->patch ? c->patch->plan : NULL;
	uintptr_t end = last ? last->start + last->held : c->addr + c->len;

	return c->taken ? !tl_os_text_borrowed(c->addr, end)
			: !tl_os_text_reserved(c->addr, c->addr + c->len);
}

/* While the text is open nobody else comes: has somebody, since this was planned? Then it is planned anew. */
static int check_free(const struct batch *b)
{
	for (size_t i = 0; i < b->n; i++)
		if (!is_free(&b->c[i]))
			return -TL_E_BUSY;
	return 0;
}

/* --- one store ------------------------------------------------------------------ */

enum step { HEAD, TAIL, FINISH };

/* Does what was there before this step? What is written at once has a head only. */
static bool stands(const struct tl_change *c, enum step step)
{
	uint8_t want[sizeof(c->from)], now[sizeof(c->from)];
	size_t head = step == HEAD ? 0 : c->step.spin_len;

	tl_copy(want, step == FINISH ? c->to : c->from, c->len);
	tl_copy(want, c->step.spin, head);
	return tl_os_text_read(c->addr, now, c->len) == c->len && tl_equal(now, want, c->len);
}

/* One store of the aligned word at `at`, with those of the bytes for [addr, addr + len) that lie in it. */
static int store_word(uintptr_t at, uintptr_t addr, const uint8_t *bytes, size_t len)
{
	uint8_t word[TL_WORD_MAX];

	if (tl_os_text_read(at, word, tl_arch_word) != tl_arch_word)
		return -TL_E_TEXT_RO;
	for (size_t i = 0; i < len; i++)
		if (addr + i >= at && addr + i < at + tl_arch_word)
			word[addr + i - at] = bytes[i];
	return tl_os_text_store(at, word, tl_arch_word);
}

/* Part of a change: `len` bytes at `addr`, by a store of the word at `word`, 0: of their own. */
static void store(const struct tl_change *c, enum step step, uintptr_t word, uintptr_t addr,
	const uint8_t *bytes, size_t len)
{
	for (unsigned i = 0; i < STORE_TRIES; i++) {
		if (!(word ? store_word(word, addr, bytes, len)
			   : tl_os_text_store(addr, bytes, len)))
			return;
		/* Protected once more, or unmapped: what is there instead is not ours to write. */
		if (tl_os_text_again(c->addr, c->addr + c->len) || !stands(c, step))
			return;
	}
	tl_os_text_poke(addr, bytes, len);
}

/* The head of a stepwise change: one store, where it is not aligned that of its word. */
static void store_head(const struct tl_change *c, enum step step, const uint8_t *bytes)
{
	bool aligned = !(c->addr & (c->step.spin_len - 1));

	store(c, step, aligned ? 0 : c->addr & ~(uintptr_t)(tl_arch_word - 1), c->addr, bytes,
		c->step.spin_len);
}

static void store_step(const struct tl_change *c, enum step step)
{
	size_t head = c->step.spin_len;

	if (step == HEAD)
		store_head(c, step, c->step.spin);
	else if (step == TAIL)
		store(c, step, 0, c->addr + head, c->to + head, c->len - head);
	else
		store_head(c, step, c->to);
}

/* --- everyone stopped --------------------------------------------------------- */

/* The change at or below pc, or NULL. */
static struct tl_change *change_below(const struct batch *b, uintptr_t pc)
{
	size_t lo = 0, hi = b->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (b->c[mid].addr <= pc)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo ? &b->c[lo - 1] : NULL;
}

static uintptr_t move_pc(void *arg, uintptr_t pc, bool saved)
{
	struct tl_change *c = change_below(arg, pc);
	const struct tl_plan *plan;
	uintptr_t to;

	(void)saved;
	if (!c || !c->window)
		return pc;
	plan = c->patch->plan;
	/* At the start the new jump does the right thing; behind the changed bytes nothing changes. */
	if (pc <= plan->start || pc >= plan->start + plan->changed)
		return pc;
	to = tl_arch_ip_to_detour(plan, &tl_core.env, c->patch->detour->at, pc);
	c->blocked |= !to;
	return to;
}

static void note_stuck(void *arg, uintptr_t pc)
{
	struct tl_change *c = change_below(arg, pc);

	if (c)
		c->blocked = true;
}

/* All that are written past a protection, or none. */
static bool poke_all(const struct batch *b)
{
	size_t i;

	for (i = 0; i < b->n; i++) {
		const struct tl_change *c = &b->c[i];

		if (c->past && tl_os_text_poke(c->addr, c->to, c->len))
			break;
	}
	if (i == b->n)
		return true;
	while (i--)
		if (b->c[i].past)
			tl_os_text_poke(b->c[i].addr, b->c[i].from, b->c[i].len);
	return false;
}

/*
 * What interrupts those that stand still runs text as well. Behind each sync none of it runs on that began before: so
 * nobody is inside of a window when its tail is written, and whoever comes meets a breakpoint that leads on.
 */
static void step_guarded(const struct batch *b, unsigned round, enum step step)
{
	for (size_t i = 0; i < b->n; i++) {
		const struct tl_change *c = &b->c[i];

		if (c->guarded && c->round == round && !(step == HEAD && c->headed))
			store_step(c, step);
	}
	if (b->guards)
		tl_os_stop_sync();
}

static void write_round_stopped(const struct batch *b, unsigned round)
{
	step_guarded(b, round, HEAD);
	step_guarded(b, round, TAIL);
	step_guarded(b, round, FINISH);
	for (size_t i = 0; i < b->n; i++) {
		const struct tl_change *c = &b->c[i];

		if (c->how != TL_PATCH_STOP || c->past || c->round != round)
			continue;
		if (!c->guarded)
			store(c, HEAD, 0, c->addr, c->to, c->len);
		tl_race_point(RP_STOPPED);
	}
}

static void write_stopped(void *arg)
{
	struct batch *b = arg;

	b->barred = !poke_all(b);
	for (unsigned round = 0; !b->barred && round <= b->last_round; round++)
		write_round_stopped(b, round);
}

static int stop_and_write(struct batch *b)
{
	const struct tl_os_stop stop = {
		.pc = move_pc, .stuck = note_stuck, .done = write_stopped, .arg = b};
	int ret = -TL_E_BUSY;

	for (unsigned i = 0; i < STOP_TRIES && ret == -TL_E_BUSY; i++) {
		if (i)
			tl_os_pause(STOP_PAUSE_US);
		for (size_t k = 0; k < b->n; k++)
			b->c[k].blocked = false;
		ret = tl_os_stop_all(&stop);
	}
	return !ret && b->barred ? -TL_E_TEXT_RO : ret;
}

/* --- the rounds ------------------------------------------------------------------ */

static void sync(void)
{
	TL_ASSERT(tl_os_sync_cores() == 0); /* tl_os_init() has seen that it works */
}

static bool stepwise(const struct tl_change *c)
{
	return c->how == TL_PATCH_SPIN || c->how == TL_PATCH_BYPASS;
}

static void do_step(const struct batch *b, unsigned round, enum step step)
{
	for (size_t i = 0; i < b->n; i++) {
		if (stepwise(&b->c[i]) && b->c[i].round == round)
			store_step(&b->c[i], step);
	}
	tl_race_point(step == HEAD ? RP_SPIN_HEAD : step == TAIL ? RP_SPIN_TAIL : RP_TEXT_DONE);
}

/* All changes of one round. The last sync is left to the caller. */
static void write_round(const struct batch *b, unsigned round)
{
	bool steps = false;

	for (size_t i = 0; i < b->n; i++)
		steps |= stepwise(&b->c[i]) && b->c[i].round == round;
	if (steps) {
		do_step(b, round, HEAD);
		sync();
		do_step(b, round, TAIL);
		sync();
		do_step(b, round, FINISH);
	}
	for (size_t i = 0; i < b->n; i++) {
		const struct tl_change *c = &b->c[i];

		if (c->how == TL_PATCH_ATOMIC && c->round == round)
			store(c, HEAD, c->step.word, c->addr, c->to, c->len);
	}
}

/* Where a thread goes on that hits a passing breakpoint; 0: nowhere (a changed call runs where it stands). */
static uintptr_t bypass_to(const struct tl_change *c)
{
	const struct tl_patch *p = c->patch;
	uintptr_t to;

	if (!p || p->plan->start != c->addr || p->plan->rung == TL_RUNG_TRAP)
		return 0;
	to = tl_arch_ip_to_detour(p->plan, &tl_core.env, p->detour->at, c->addr);
	return to == c->addr ? 0 : to;
}

static bool passing(const struct tl_change *c)
{
	return c->how == TL_PATCH_BYPASS || (c->guarded && !c->headed);
}

/* Whoever hits a passing breakpoint goes on in the detour, which is alive before and after. */
static int bypass_traps(const struct batch *b, bool add)
{
	for (size_t i = 0; i < b->n; i++) {
		const struct tl_change *c = &b->c[i];
		int ret;

		if (!passing(c))
			continue;
		if (!add) {
			tl_os_trap_remove(c->addr);
			continue;
		}
		ret = tl_os_trap_add(c->addr, bypass_to(c));
		if (ret) {
			while (i--)
				if (passing(&b->c[i]))
					tl_os_trap_remove(b->c[i].addr);
			return ret;
		}
	}
	return 0;
}

static void choose(struct tl_change *c)
{
	c->step.spin_len = 0;
	c->how = TL_PATCH_STOP;
	if (c->window || c->tangled || c->past || tl_core.stop_always)
		return;
	c->how = (uint8_t)tl_arch_patch_how(c->addr, c->from, c->to, c->len, c->one_insn, &c->step);
	if (c->how == TL_PATCH_SPIN && !tl_os_spin_ok())
		c->how = TL_PATCH_BYPASS;
	if (c->how != TL_PATCH_BYPASS)
		return;
	if (tl_os_trap_may_kill() || c->trapped || !bypass_to(c))
		c->how = TL_PATCH_STOP;
	else
		c->step.spin_len = tl_arch_trap_insn(c->step.spin);
}

/* Chooses for all. True: everyone must be stopped for some. */
static bool choose_all(struct batch *b)
{
	bool stops = false, more = true;
	struct tl_change *c = b->c;
	size_t n = b->n;

	for (size_t i = 0; i < n; i++) {
		choose(&c[i]);
		stops |= c[i].how == TL_PATCH_STOP;
		if (c[i].round > b->last_round)
			b->last_round = c[i].round;
	}
	while (stops &&
		more) { /* what is written with all stopped comes first, and so must those it is ordered with */
		more = false;
		for (size_t i = 0; i + 1 < n; i++)
			if (c[i].linked &&
				(c[i].how == TL_PATCH_STOP) != (c[i + 1].how == TL_PATCH_STOP)) {
				c[i].how = c[i + 1].how = TL_PATCH_STOP;
				more = true;
			}
	}
	return stops;
}

/* Not where a detour would come back to what another change has yet to write. */
static bool can_guard(const struct tl_change *c)
{
	return c->how == TL_PATCH_STOP && !c->past && !c->tangled && (c->headed || bypass_to(c));
}

static void choose_guards(struct batch *b)
{
	for (size_t i = 0; i < b->n; i++) {
		struct tl_change *c = &b->c[i];

		if (!can_guard(c))
			continue;
		c->step.spin_len = tl_arch_trap_insn(c->step.spin);
		c->guarded = c->len > c->step.spin_len;
		b->guards |= c->guarded;
	}
}

int tl_text_apply(struct tl_change *changes, size_t n)
{
	struct batch b = {.c = changes, .n = n};
	bool stops;
	int ret;

	TL_ASSERT_HELD();
	if (!n)
		return 0;
	sort(changes, n);
	ret = open_all(&b);
	if (ret)
		return ret;
	stops = choose_all(&b);
	if (stops && tl_os_stop_sync())
		choose_guards(&b);
	tl_race_point(RP_TEXT_OPEN);
	ret = check_free(&b);
	if (!ret)
		ret = bypass_traps(&b, true);
	if (ret)
		goto close;
	if (stops)
		ret = stop_and_write(&b);
	if (ret)
		goto untrap;
	for (unsigned round = 0; round <= b.last_round; round++) {
		if (round)
			sync();
		write_round(&b, round);
	}
	close_up_to(&b, n);
	sync();
	bypass_traps(&b, false);
	tl_race_point(RP_TEXT_DONE);
	return 0;
untrap:
	bypass_traps(&b, false);
close:
	close_up_to(&b, n);
	return ret;
}
