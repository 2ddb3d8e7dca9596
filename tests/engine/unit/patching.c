/* SPDX-License-Identifier: MIT */
/*
 * Patching while others run: three processors execute the program in between
 * all the engine's steps, and look at the text after every single store.
 */
#include "machine.h"

enum { CPUS = 3 };

static struct cpu cpus[CPUS];
static unsigned long calls[CPUS];
static const char *wrong;
static size_t text_len;

static void finish_call(unsigned n)
{
	struct cpu *c = &cpus[n];

	if (c->r[0] != 8 || c->r[1] != 9 || c->r[2] != UINT32_MAX - 1)
		wrong = "wrong result";
	calls[n]++;
	cpu_init(c, n, 0);
}

/* Every processor does a few instructions, none of them the same number. */
static void others_run(void)
{
	if (fake.stopped)
		return;
	for (unsigned n = 0; n < CPUS; n++)
		for (unsigned i = rnd() % 4; i; i--) {
			step(&cpus[n]);
			if (cpus[n].dead)
				wrong = cpus[n].dead;
			if (cpus[n].thread->pc == HALT)
				finish_call(n);
		}
}

static void after_event(enum fake_event what)
{
	(void)what;
	others_run();
}

static void drain(void)
{
	for (unsigned n = 0; n < CPUS; n++)
		for (unsigned i = 0; i < 1000 && cpus[n].thread->pc != TEXT(0); i++) {
			step(&cpus[n]);
			if (cpus[n].thread->pc == HALT)
				finish_call(n);
		}
}

static void program(void)
{
	world_of_all_kinds();
	text_len = text_end;
	memcpy(before, fake_text, FAKE_TEXT);
	memset(calls, 0, sizeof(calls));
	hits = 0;
	wrong = NULL;
	seed = (uint32_t)unit_seed(1);
	for (unsigned n = 0; n < CPUS; n++)
		cpu_init(&cpus[n], n, 0);
	fake.on_event = after_event;
	fake.on_pause = others_run;
}

static struct tl_probe at(size_t off)
{
	return probe_at(off, text_len, count_hit);
}

static bool clean(void)
{
	drain();
	for (unsigned n = 0; n < CPUS; n++)
		fake.threads[n].used = false;
	tl_engine_exit();
	return !memcmp(before, fake_text, FAKE_TEXT) && !fake.live && !fake.code_used &&
	       !fake.bad_stores;
}

static uint32_t rung_of(struct tl_probe *p)
{
	return p->site->patch->plan->rung;
}

static void single_instructions_under_load(void)
{
	static const struct {
		size_t off;
		unsigned rung;
	} row[] = {{0, TL_RUNG_WHOLE}, {13, TL_RUNG_RETARGET}, {29, TL_RUNG_TRAP}};

	for (unsigned i = 0; i < 3; i++)
		for (unsigned s = 1; s < 40; s++) {
			struct tl_probe p;

			program();
			seed = (uint32_t)unit_seed(s);
			p = at(row[i].off);
			CHECK(tl_probe_register(&p) == 0 && rung_of(&p) == row[i].rung);
			CHECK(tl_probe_unregister(&p) == 0);
			CHECK(!wrong && clean());
		}
}

static void windows_under_load(void)
{
	static const size_t off[] = {6, 8, 18, 20, 22, 30, 32, 35};

	for (unsigned i = 0; i < sizeof(off) / sizeof(off[0]); i++)
		for (unsigned s = 1; s < 40; s++) {
			struct tl_probe p;

			program();
			seed = (uint32_t)unit_seed(s);
			p = at(off[i]);
			CHECK(tl_probe_register(&p) == 0);
			CHECK(tl_probe_unregister(&p) == 0);
			CHECK(!wrong && clean());
		}
}

/* Counts stay exact whatever else is switched around the probe. */
static void counts_are_exact_while_neighbours_come_and_go(void)
{
	static const size_t off[] = {
		0, 6, 8, 10, 13, 18, 20, 22, 24, 25, 28, 29, 30, 31, 32, 35, 37};
	enum { N = sizeof(off) / sizeof(off[0]) };

	for (unsigned s = 1; s < 150; s++) {
		struct tl_probe p[N], keep;
		unsigned counted = 0;
		size_t me = s % N;

		program();
		seed = (uint32_t)unit_seed(s * 7919);
		for (unsigned i = 0; i < N; i++)
			p[i] = at(off[i]);
		keep = at(off[me]);
		keep.data = &counted;
		CHECK(tl_probe_register(&keep) == 0);
		drain();
		counted = 0;
		memset(calls, 0, sizeof(calls));
		for (unsigned i = 0; i < 40; i++) {
			struct tl_probe *q = &p[rnd() % N];

			if (rnd() % 10 == 0)
				CHECK(tl_probes_optimize(rnd() & 1) == 0);
			if (q->state == TL_PROBE_ARMED)
				CHECK(tl_probe_unregister(q) == 0);
			else
				CHECK(tl_probe_register(q) == 0);
			CHECK(!wrong);
		}
		drain();
		CHECK(!wrong);
		CHECK(counted == calls[0] + calls[1] + calls[2] && counted > 0);
		for (unsigned i = 0; i < N; i++)
			if (p[i].state == TL_PROBE_ARMED)
				CHECK(tl_probe_unregister(&p[i]) == 0);
		CHECK(tl_probe_unregister(&keep) == 0);
		CHECK(clean());
	}
}

static void parked(uintptr_t pc, uintptr_t saved)
{
	fake.threads[5] = (struct fake_thread){.used = true, .tid = 105, .pc = pc, .saved = saved};
}

static void nobody_is_left_inside_a_window(void)
{
	for (unsigned in_signal = 0; in_signal < 2; in_signal++)
		for (size_t off = 7; off <= 10; off++) {
			struct tl_probe p;
			uintptr_t now;

			program();
			p = at(6); /* 6 inc, 8 dec, 10 set: one window */
			parked(in_signal ? TEXT(29) : TEXT(off), in_signal ? TEXT(off) : 0);
			if (off == 7 || off == 9) {
				/* In the middle of an instruction: cannot be, so it cannot be moved either. */
				CHECK(tl_probe_register(&p) == 0 && rung_of(&p) == TL_RUNG_TRAP);
				CHECK(p.site->patch->plan->why[TL_RUNG_WINDOW] == -TL_E_BUSY);
			} else {
				CHECK(tl_probe_register(&p) == 0 && rung_of(&p) == TL_RUNG_WINDOW);
				now = in_signal ? fake.threads[5].saved : fake.threads[5].pc;
				CHECK(now - p.site->patch->detour->at <
					p.site->patch->detour->size);
				CHECK(*(uint8_t *)now == before[off]);
			}
			fake.threads[5].used = false;
			CHECK(tl_probe_unregister(&p) == 0 && !wrong && clean());
		}
}

static void two_probes_share_a_window(void)
{
	struct tl_probe p, q, *both[2] = {&p, &q};

	program();
	p = at(20);
	q = at(24); /* dec 2, inc 2, nop 1 */
	CHECK(tl_probes_register(both, 2, NULL) == 0);
	CHECK(rung_of(&p) == TL_RUNG_WINDOW && p.site->patch == q.site->patch);
	CHECK(tl_probe_unregister(&p) == 0);
	CHECK(q.state == TL_PROBE_ARMED && !wrong);
	CHECK(tl_probe_unregister(&q) == 0);
	CHECK(clean());
	program(); /* one after the other */
	p = at(20);
	q = at(24);
	CHECK(tl_probe_register(&p) == 0 && tl_probe_register(&q) == 0);
	CHECK(tl_probes_unregister(both, 2) == 0 && !wrong);
	CHECK(clean());
}

static void a_neighbour_that_leaves_frees_the_window(void)
{
	struct tl_probe p, q;

	program();
	p = at(13); /* call: retargeted, five bytes of its own */
	q = at(10); /* set 3: its window would cover the call */
	CHECK(tl_probe_register(&p) == 0 && tl_probe_register(&q) == 0);
	CHECK(rung_of(&p) == TL_RUNG_RETARGET && rung_of(&q) == TL_RUNG_TRAP);
	CHECK(q.site->patch->plan->why[TL_RUNG_WINDOW] == -TL_E_NEIGHBOUR);
	CHECK(tl_probe_unregister(&p) == 0);
	CHECK(rung_of(&q) == TL_RUNG_WINDOW);
	CHECK(tl_probe_unregister(&q) == 0 && !wrong);
	CHECK(clean());
}

static void a_thread_inside_an_old_detour_keeps_the_window_away(void)
{
	struct tl_probe p;
	uintptr_t old;

	program();
	CHECK(tl_engine_init() == 0 && tl_probes_optimize(false) == 0);
	p = at(6);
	CHECK(tl_probe_register(&p) == 0 && rung_of(&p) == TL_RUNG_TRAP);
	old = p.site->patch->detour->at;
	parked(old + 9, 0); /* it would come back to 8, in the middle of the window */
	CHECK(tl_probes_optimize(true) == 0 && rung_of(&p) == TL_RUNG_TRAP);
	CHECK(fake.threads[5].pc == old + 9 && !wrong);
	fake.threads[5].used = false;
	CHECK(tl_probes_optimize(false) == 0 && tl_probes_optimize(true) == 0);
	CHECK(rung_of(&p) == TL_RUNG_WINDOW);
	CHECK(tl_probe_unregister(&p) == 0 && !wrong);
	CHECK(clean());
}

/* Two retired ones: asked for both at once, or for the chunk and then for each. */
static void one_of_two_is_kept(bool blind, unsigned questions)
{
	struct tl_probe p, q, *both[2] = {&p, &q};
	uintptr_t old;
	size_t live;

	program();
	fake.blind = blind;
	p = at(0);
	q = at(20);
	CHECK(tl_probes_register(both, 2, NULL) == 0);
	old = p.site->patch->detour->at;
	parked(0, 0);
	fake.threads[5].holds = old + 3; /* a return address on its stack */
	CHECK(tl_probes_unregister(both, 2) == 0);
	fake.nlog = 0;
	tl_os_lock();
	live = tl_detour_poll(true);
	tl_os_unlock();
	CHECK(live == 1 && fake_count(FAKE_QUIET) == questions);
	drain();
	for (unsigned n = 0; n < CPUS; n++)
		fake.threads[n].used = false;
	tl_engine_exit();
	CHECK(fake.code_used && fake.up); /* stays until it has left */
	fake.threads[5].used = false;
	CHECK(clean());
}

static void a_detour_in_use_is_kept(void)
{
	one_of_two_is_kept(false, 1);
	if (unit_why)
		return;
	one_of_two_is_kept(true, 1 + 1 + 2); /* a look is tried first */
}

/* --- the order of steps ----------------------------------------------------- */

static size_t first(enum fake_event what, size_t from)
{
	while (from < fake.nlog && fake.log[from].what != what)
		from++;
	return from;
}

static void quiet_world(void)
{
	program();
	for (unsigned n = 0; n < CPUS; n++)
		fake.threads[n].used = false;
	fake.on_event = NULL;
	fake.on_pause = NULL;
}

static void a_batch_opens_once_and_syncs_once(void)
{
	struct tl_probe p, q, *both[2] = {&p, &q};

	quiet_world();
	p = at(0);
	q = at(28); /* a breakpoint: followed by ret, too short */
	CHECK(tl_probes_register(both, 2, NULL) == 0);
	CHECK(rung_of(&p) == TL_RUNG_WHOLE && rung_of(&q) == TL_RUNG_TRAP);
	CHECK(fake_count(FAKE_OPEN) == 1 && fake_count(FAKE_CLOSE) == 1);
	CHECK(fake_count(FAKE_SYNC_CORES) == 1 && fake_count(FAKE_STOP) == 0);
	/* Detours and the breakpoint's way are there before the first byte changes. */
	CHECK(first(FAKE_TRAP_ADD, 0) < first(FAKE_STORE, 0));
	CHECK(first(FAKE_STORE, 0) < first(FAKE_SYNC_CORES, 0));
	CHECK(first(FAKE_CODE_WRITE, first(FAKE_STORE, 0)) == fake.nlog);
	fake.nlog = 0;
	CHECK(tl_probes_unregister(both, 2) == 0);
	/* The breakpoint's way goes only after the byte is gone everywhere. */
	CHECK(first(FAKE_SYNC_CORES, 0) < first(FAKE_TRAP_REMOVE, 0));
	CHECK(first(FAKE_TRAP_REMOVE, 0) < fake.nlog);
	CHECK(clean());
}

static void one_stop_serves_all_windows(void)
{
	struct tl_probe p, q, *both[2] = {&p, &q};

	quiet_world();
	p = at(6);
	q = at(20);
	CHECK(tl_probes_register(both, 2, NULL) == 0);
	CHECK(rung_of(&p) == TL_RUNG_WINDOW && rung_of(&q) == TL_RUNG_WINDOW);
	CHECK(fake_count(FAKE_STOP) == 1 && fake_count(FAKE_STORE) == 0);
	CHECK(tl_probes_unregister(both, 2) == 0);
	CHECK(fake_count(FAKE_STOP) == 1); /* nobody can stand inside a window that is armed */
	CHECK(clean());
}

/* Room for a jump at off, and nothing else. */
/* No byte of it is one of a jump's displacement: all have to be written. */
static void one_long_instruction(size_t off)
{
	world();
	text_end = off;
	E(TOY_ADDI, 0, 0x55, 0x55, 0x55, 0x55, TOY_RET);
	text_len = text_end;
	memcpy(before, fake_text, FAKE_TEXT);
}

/* A jump over two words, behind an even address: self-jump, sync, tail, sync, head, sync. */
static void spinning_syncs_between_its_steps(void)
{
	struct tl_probe p;
	size_t i = 0, stores = 0, syncs = 0;

	one_long_instruction(6);
	p = at(6);
	CHECK(tl_probe_register(&p) == 0 && rung_of(&p) == TL_RUNG_WHOLE);
	CHECK(fake_count(FAKE_SYNC_CORES) == 3);
	for (i = first(FAKE_OPEN, 0); i < fake.nlog; i++) {
		if (fake.log[i].what == FAKE_SYNC_CORES)
			syncs++;
		if (fake.log[i].what != FAKE_STORE)
			continue;
		stores++;
		if (fake.log[i].addr == TEXT(6))
			CHECK(fake.log[i].len == 2 && (syncs == 0 || syncs == 2));
		else
			CHECK(syncs == 1);
	}
	CHECK(stores == 5);
	CHECK(tl_probe_unregister(&p) == 0);
	CHECK(clean());
}

/* The same jump where nobody may be held in a self-jump: a passing breakpoint first. */
static void without_spinning_a_breakpoint_passes(void)
{
	struct tl_probe p;

	one_long_instruction(6);
	fake.no_spin = true;
	p = at(6);
	CHECK(tl_probe_register(&p) == 0 && rung_of(&p) == TL_RUNG_WHOLE);
	CHECK(fake_count(FAKE_TRAP_ADD) == 1 && fake_count(FAKE_STOP) == 0);
	CHECK(fake.log[first(FAKE_STORE, 0)].addr == TEXT(6) &&
		fake.log[first(FAKE_STORE, 0)].len == 1);
	CHECK(tl_probe_unregister(&p) == 0);
	CHECK(clean());
}

static struct {
	uint8_t text[5];
	uintptr_t leads_to; /* where a breakpoint at its start does */
	unsigned syncs; /* so far */
} seen[16];
static unsigned nseen, nsyncs;

static void look(enum fake_event what)
{
	nsyncs += what == FAKE_STOP_SYNC;
	if (what != FAKE_STOPPED_STORE || nseen == 16)
		return;
	memcpy(seen[nseen].text, (void *)TEXT(6), 5);
	seen[nseen].leads_to = fake_trap_target(TEXT(6));
	seen[nseen++].syncs = nsyncs;
}

/* After each store: what was there, what will be, or a breakpoint that leads on; the tail only when nobody is inside. */
static bool whole_when_seen(const uint8_t *from, const uint8_t *to)
{
	for (unsigned i = 0; i < nseen; i++) {
		const uint8_t *now = seen[i].text;

		if (memcmp(now + 1, from + 1, 4) && !seen[i].syncs)
			return false;
		if (now[0] == TOY_TRAP ? !seen[i].leads_to
				       : memcmp(now, from, 5) && memcmp(now, to, 5))
			return false;
	}
	return nseen >= 2;
}

/* A window, and one in place of a breakpoint. */
static void who_interrupts_the_stopped_meets_whole_text(void)
{
	for (unsigned trapped = 0; trapped < 2; trapped++) {
		uint8_t from[5], to[5];
		struct tl_probe p;

		quiet_world();
		fake.interrupted = true;
		nseen = nsyncs = 0;
		p = at(6);
		if (trapped) {
			CHECK(tl_probe_register(&p) == 0);
			CHECK(tl_probes_optimize(false) == 0 && rung_of(&p) == TL_RUNG_TRAP);
			nseen = nsyncs = 0;
		}
		memcpy(from, (void *)TEXT(6), 5);
		fake.on_event = look;
		CHECK((trapped ? tl_probes_optimize(true) : tl_probe_register(&p)) == 0);
		fake.on_event = NULL;
		memcpy(to, (void *)TEXT(6), 5);
		CHECK(rung_of(&p) == TL_RUNG_WINDOW && whole_when_seen(from, to));
		CHECK(nsyncs == 3 && !fake_trap_target(TEXT(6)));
		CHECK(tl_probe_unregister(&p) == 0);
		CHECK(clean());
	}
}

static void bypass_only_where_nobody_dies_of_it(void)
{
	for (unsigned deadly = 0; deadly < 2; deadly++) {
		struct tl_probe p;

		one_long_instruction(5);
		fake.trap_may_kill = deadly;
		p = at(5);
		CHECK(tl_probe_register(&p) == 0 && rung_of(&p) == TL_RUNG_WHOLE);
		CHECK(fake_count(FAKE_STOP) == deadly);
		CHECK(fake_count(FAKE_TRAP_ADD) == !deadly &&
			fake_count(FAKE_TRAP_REMOVE) == !deadly);
		CHECK(!fake_trap_target(TEXT(5)));
		CHECK(tl_probe_unregister(&p) == 0);
		CHECK(clean());
	}
}

static void rungs_can_be_forbidden(void)
{
	struct tl_probe p;

	quiet_world();
	p = at(0);
	p.flags = TL_PROBE_NO_JUMP;
	CHECK(tl_probe_register(&p) == 0 && rung_of(&p) == TL_RUNG_TRAP);
	CHECK(tl_probe_unregister(&p) == 0);
	p = at(29);
	p.flags = TL_PROBE_NO_TRAP;
	CHECK(tl_probe_register(&p) == -TL_E_TOO_SHORT);
	p = at(29);
	fake.trap_forbidden = true;
	CHECK(tl_probe_register(&p) == -TL_E_TRAP_FORBIDDEN);
	p = at(0);
	CHECK(tl_probe_register(&p) == 0);
	CHECK(tl_probes_optimize(false) == -TL_E_TRAP_FORBIDDEN && rung_of(&p) == TL_RUNG_WHOLE);
	CHECK(tl_probe_unregister(&p) == 0);
	CHECK(clean());
}

/* A thread that blocks every signal, say: a window cannot come, but it can go. */
static void where_nobody_can_be_stopped_there_are_no_windows(void)
{
	struct tl_probe p;

	quiet_world();
	fake.no_stop = true;
	p = at(6);
	CHECK(tl_probe_register(&p) == 0 && rung_of(&p) == TL_RUNG_TRAP);
	CHECK(tl_probe_unregister(&p) == 0);
	p.flags = TL_PROBE_NO_TRAP;
	CHECK(tl_probe_register(&p) < 0);
	fake.no_stop = false;
	CHECK(tl_probe_register(&p) == 0 && rung_of(&p) == TL_RUNG_WINDOW);
	fake.no_stop = true;
	CHECK(tl_probe_unregister(&p) == 0);
	CHECK(clean());
}

/* As in a kernel. */
static void who_cannot_be_moved_costs_one_window(void)
{
	struct tl_probe p, q, *both[] = {&p, &q};

	quiet_world();
	fake.no_move = true;
	fake.threads[1] = (struct fake_thread){.used = true, .tid = 2, .pc = TEXT(8)};
	p = at(6);
	q = at(18);
	CHECK(tl_probes_register(both, 2, NULL) == 0);
	CHECK(rung_of(&p) == TL_RUNG_TRAP && rung_of(&q) == TL_RUNG_WINDOW);
	CHECK(fake.threads[1].pc == TEXT(8));
	CHECK(tl_probes_unregister(both, 2) == 0);
	fake.threads[1].used = false;
	CHECK(clean());
}

/* Text of other modifiers is neither probed nor covered by a window. */
static void reserved_text_is_left_alone(void)
{
	struct tl_probe p;

	quiet_world();
	p = at(6);
	CHECK(tl_probe_register(&p) == 0 && rung_of(&p) == TL_RUNG_WINDOW);
	CHECK(tl_probe_unregister(&p) == 0);
	fake.reserved_lo = TEXT(8);
	fake.reserved_hi = TEXT(9);
	CHECK(tl_probe_register(&p) == 0 && rung_of(&p) == TL_RUNG_TRAP);
	CHECK(tl_probe_unregister(&p) == 0);
	fake.reserved_lo = TEXT(6);
	CHECK(tl_probe_register(&p) == -TL_E_RESERVED);
	CHECK(clean());
}

/* Somebody's breakpoint that came after our jump will put back its first byte: so all of it has to stay till then. */
static void a_jump_stays_while_others_have_a_breakpoint_on_it(void)
{
	struct tl_probe p, q, *both[2] = {&p, &q};
	uint8_t first;

	quiet_world();
	p = at(0);
	q = at(6);
	CHECK(tl_probes_register(both, 2, NULL) == 0);
	fake.borrowed = TEXT(0);
	first = fake_text[0];
	fake_text[0] = 0xcc;
	CHECK(tl_probes_unregister(both, 2) == 0);
	CHECK(fake_text[0] == 0xcc && memcmp(fake_text + 1, before + 1, 4));
	CHECK(!memcmp(fake_text + 6, before + 6, FAKE_TEXT - 6));
	CHECK(!tl_probes_sweep() && tl_probes_borrowed() == TEXT(0) && !tl_engine_exit());
	/* What is there serves whoever comes; nothing else can be made of it. */
	CHECK(tl_probe_register(&p) == 0 && tl_probe_disable(&p) == 0 && tl_probe_enable(&p) == 0);
	q = at(0);
	q.flags = TL_PROBE_NO_JUMP;
	CHECK(tl_probe_register(&q) == -TL_E_RESERVED);
	CHECK(tl_probe_unregister(&p) == 0 && fake_text[0] == 0xcc);
	fake_text[0] = first;
	fake.borrowed = 0;
	CHECK(tl_probes_sweep() && !tl_probes_borrowed());
	CHECK(clean());
}

static uintptr_t newcomer;

static void others_come_first(enum fake_event what)
{
	fake.borrowed = what == FAKE_OPEN ? newcomer : fake.borrowed;
}

/* Nobody stood there when this was planned. */
static void a_breakpoint_of_others_that_comes_meanwhile_is_seen(void)
{
	struct tl_probe p;

	quiet_world();
	p = at(0);
	CHECK(tl_probe_register(&p) == 0);
	newcomer = TEXT(0);
	fake.on_event = others_come_first;
	CHECK(tl_probe_unregister(&p) == 0);
	CHECK(memcmp(fake_text, before, 5) && !tl_probes_sweep());
	newcomer = fake.borrowed = 0;
	CHECK(tl_probes_sweep());
	CHECK(clean());
}

struct shown {
	struct tl_plan plan;
	struct tl_patch patch;
};

/* A patch as the planner leaves it: its own bytes, and with `shares` one more that its neighbour must leave alone. */
static struct tl_patch *shown(struct shown *s, uintptr_t start, const uint8_t *bytes, uint8_t len,
	bool shares, bool pulled)
{
	memset(s, 0, sizeof(*s));
	s->plan.start = start;
	s->plan.len = s->plan.changed = len;
	s->plan.held = (uint8_t)(len + shares);
	s->plan.rung = TL_RUNG_PUN;
	s->plan.fit.mask = shares ? 0xff000000 : 0;
	memcpy(s->plan.orig, before + (start - TEXT(0)), len);
	s->patch.plan = &s->plan;
	s->patch.detour = (void *)s; /* told apart by where it is, and nothing else */
	memcpy(s->patch.bytes, bytes, len);
	s->patch.pulled = pulled;
	return &s->patch;
}

/* Planned anew: a jump, with the same bytes of its own but another detour, and the byte behind it. */
static void plan_anew(struct shown *s, bool shares)
{
	static const uint8_t jump[] = {TOY_JMP, 1, 2, 3}, was[] = {4}, is[] = {5};
	struct tl_batch b = {0};

	quiet_world();
	memcpy(fake_text, jump, sizeof(jump));
	memcpy(fake_text + sizeof(jump), was, sizeof(was));
	b.old = shown(&s[0], TEXT(sizeof(jump)), was, 1, false, true);
	b.old->next = shown(&s[1], TEXT(0), jump, sizeof(jump), shares, true);
	b.fresh = shown(&s[2], TEXT(sizeof(jump)), is, 1, false, false);
	b.fresh->next = shown(&s[3], TEXT(0), jump, sizeof(jump), shares, false);
	tl_os_lock();
	CHECK(tl_patches_write(&b) == 0);
	tl_os_unlock();
	CHECK(!memcmp(fake_text, jump, sizeof(jump)) && fake_text[sizeof(jump)] == is[0]);
}

/* The shared byte may not change while the old jump stands, nor may the new one stand before it has. */
static void a_jump_with_the_same_bytes_is_ordered_with_its_neighbour(void)
{
	static struct shown s[4];

	plan_anew(s, true);
	CHECK(s[1].patch.change && s[1].patch.change == s[3].patch.change);
	CHECK(fake_count(FAKE_STOP) == 1 && fake_count(FAKE_STORE) == 0);
}

static void a_jump_that_shares_no_byte_stays(void)
{
	static struct shown s[4];

	plan_anew(s, false);
	CHECK(!s[1].patch.change && !s[3].patch.change);
	CHECK(fake_count(FAKE_STOP) == 0 && fake_count(FAKE_STORE) == 1);
}

static void the_journal_holds_the_original_bytes(void)
{
	struct tl_probe p;
	unsigned n = 0;

	quiet_world();
	p = at(0);
	CHECK(tl_probe_register(&p) == 0 && tl_journal && tl_journal->magic == TL_JOURNAL_MAGIC);
	for (uint32_t i = 0; i < tl_journal->max; i++)
		if (tl_journal->entry[i].len) {
			n++;
			CHECK(tl_journal->entry[i].addr == TEXT(0) &&
				tl_journal->entry[i].len == 5);
			CHECK(!memcmp(tl_journal->entry[i].orig, before, 5));
			CHECK(!memcmp(tl_journal->entry[i].ours, (void *)TEXT(0), 5));
		}
	CHECK(n == 1);
	CHECK(tl_probe_unregister(&p) == 0);
	for (uint32_t i = 0; i < tl_journal->max; i++)
		CHECK(!tl_journal->entry[i].len);
	CHECK(clean());
}

int main(void)
{
	RUN(single_instructions_under_load);
	RUN(windows_under_load);
	RUN(counts_are_exact_while_neighbours_come_and_go);
	RUN(nobody_is_left_inside_a_window);
	RUN(two_probes_share_a_window);
	RUN(a_neighbour_that_leaves_frees_the_window);
	RUN(a_thread_inside_an_old_detour_keeps_the_window_away);
	RUN(a_detour_in_use_is_kept);
	RUN(a_batch_opens_once_and_syncs_once);
	RUN(one_stop_serves_all_windows);
	RUN(spinning_syncs_between_its_steps);
	RUN(without_spinning_a_breakpoint_passes);
	RUN(who_interrupts_the_stopped_meets_whole_text);
	RUN(bypass_only_where_nobody_dies_of_it);
	RUN(rungs_can_be_forbidden);
	RUN(where_nobody_can_be_stopped_there_are_no_windows);
	RUN(who_cannot_be_moved_costs_one_window);
	RUN(reserved_text_is_left_alone);
	RUN(a_jump_stays_while_others_have_a_breakpoint_on_it);
	RUN(a_breakpoint_of_others_that_comes_meanwhile_is_seen);
	RUN(a_jump_with_the_same_bytes_is_ordered_with_its_neighbour);
	RUN(a_jump_that_shares_no_byte_stays);
	RUN(the_journal_holds_the_original_bytes);
	return UNIT_RESULT();
}
