/* SPDX-License-Identifier: MIT */
/*
 * A/B proof of detours: every case of cases.S runs bare and through a detour
 * from the same random state, with a handler that ruins all it may ruin.
 * Registers, flags, vector and x87 state, red zone, stack and data must be
 * equal, the handler must have seen the right registers, and the number of
 * calls must be right.
 *
 * usage: ab [-r ROWS] [rounds [case]]
 * ROWS: what gen/decoder-tables --cases prints, see rows.c
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>
#include "../../unit.h"
#include "ab.h"

extern const struct test_case __start_ab_tab[], __stop_ab_tab[];
extern uint8_t ab_cases_begin[], ab_cases_end[];
extern uint64_t ab_mark, ab_seen_return, ab_red[2], ab_words[3];
void ab_run(struct state *in, struct state *out);
int ab_pre(struct tl_probe *p, struct tl_regs *regs, struct tl_thread *self);
void ab_post(struct tl_probe *p, struct tl_regs *regs, struct tl_thread *self);
void ab_exit(void);
int ab_check_pre(struct tl_probe *p, struct tl_regs *regs, struct tl_thread *self);
int ab_check_post(struct tl_probe *p, struct tl_regs *regs, struct tl_thread *self);

static uint8_t stack[STACK] __attribute__((aligned(4096)));
static struct tl_thread threads[TL_THREADS] __attribute__((aligned(128)));
static uint8_t big_stack[32768] __attribute__((aligned(64)));
static struct tl_gate gate;
static struct tl_detour_env env;
static uintptr_t detours[2]; /* a near and a far place */

/* What is being tried, for messages. */
static struct {
	const struct test_case *c;
	struct tl_plan plan;
	const char *variant;
	const struct state *in;
	unsigned first, pre, post, slow;
	uintptr_t detour;
	const char *wrong;
	int (*change)(struct tl_regs *regs);
} now;

static unsigned ran[TL_RUNG_TRAP + 1], posts, inverse, cases, instructions;
static unsigned diverted;

/* --- handlers ------------------------------------------------------------------ */

static void complain(const char *what)
{
	if (!now.wrong)
		now.wrong = what;
}

static bool same_regs(const struct tl_regs *g, const uint64_t *r, bool full)
{
	bool light = g->ax == r[0] && g->cx == r[1] && g->dx == r[2] && g->si == r[6] &&
		     g->di == r[7] && g->r8 == r[8] && g->r9 == r[9] && g->r10 == r[10] &&
		     g->r11 == r[11] && g->sp == r[4];

	return light && (!full || (g->bx == r[3] && g->bp == r[5] && g->r12 == r[12] &&
					  g->r13 == r[13] && g->r14 == r[14] && g->r15 == r[15]));
}

static void check_thread(struct tl_thread *self, uint64_t sp)
{
	if (self != &threads[tl_thread_hash(self->key)] || self->guard != sp)
		complain("the thread record or its guard");
}

int ab_check_pre(struct tl_probe *p, struct tl_regs *regs, struct tl_thread *self)
{
	const struct tl_point *pt = &now.plan.points[0];
	uintptr_t here = (uintptr_t)__builtin_frame_address(0);
	bool on_big = here - (uintptr_t)big_stack < sizeof(big_stack);

	check_thread(self, regs->sp);
	if (p->addr != (void *)regs->ip)
		complain("regs->ip");
	if (on_big != !!(pt->flags & TL_PROBE_BIG_STACK))
		complain("the handler's stack");
	/* At the case's first instruction, first time, all registers are known. */
	now.pre++;
	if (regs->ip == (uintptr_t)now.c->start && !now.first++) {
		if (!same_regs(regs, now.in->r, pt->flags & TL_PROBE_REGS))
			complain("the registers that the handler sees");
		if ((regs->flags ^ now.in->flags) & STATUS)
			complain("the flags that the handler sees");
	}
	return now.change ? now.change(regs) : 0;
}

int ab_check_post(struct tl_probe *p, struct tl_regs *regs, struct tl_thread *self)
{
	(void)p;
	check_thread(self, regs->sp);
	/* All cases whose name starts so return to the stub behind their body. No libc here: it uses vectors. */
	if (now.c->name[0] == 'r' && now.c->name[1] == 'e' && now.c->name[2] == 't' &&
		regs->ip - (uintptr_t)now.c->start > (uintptr_t)(now.c->end - now.c->start))
		complain("regs->ip after a return");
	now.post++;
	return 0;
}

static struct tl_thread *enter_slow(struct tl_site *site, uintptr_t sp, uintptr_t key)
{
	struct tl_thread *t;

	(void)site;
	now.slow++;
	if (!key)
		__asm__("mov %%fs:0,%0" : "=r"(key));
	t = &threads[tl_thread_hash(key)];
	t->key = key;
	t->tid = (uint32_t)syscall(SYS_gettid);
	t->stack = (uintptr_t)(big_stack + sizeof(big_stack));
	if (t->guard)
		complain("the guard was left set");
	t->guard = sp;
	return t;
}

/* In the place of all that detours do about records. */
static int hit(struct tl_site *site, struct tl_regs *regs, uint32_t gives)
{
	const struct tl_point *pt = &now.plan.points[0];
	struct tl_thread *t = enter_slow(site, regs->sp, 0);
	struct tl_probe *p = site->current;
	int ret = 0;

	if ((gives & ~TL_HIT_POST) != tl_plan_gives(&now.plan) ||
		(gives & TL_HIT_POST && !pt->post))
		complain("what the detour says that it gives");
	if (gives & TL_HIT_POST)
		p->post(p, regs, t);
	else
		ret = p->pre(p, regs, t);
	t->guard = 0;
	return ret;
}

/* --- random states ------------------------------------------------------------- */

static uint64_t seed;

static uint64_t rnd(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	return seed ^= seed << 17;
}

static void fill(void *mem, size_t n)
{
	for (uint64_t *p = mem; n >= 8; n -= 8)
		*p++ = rnd();
}

struct ab_given ab_given;
uint64_t ab_xmask = 7; /* x87, SSE, AVX: what is loaded, saved and compared */

static void random_state(struct state *s, uint8_t *code)
{
	if (ab_given.state) {
		*s = *ab_given.state;
		return;
	}
	memset(s, 0, sizeof(*s));
	for (int i = 0; i < 16; i++)
		s->r[i] = rnd() & 1 ? rnd() : rnd() & 0xff;
	s->r[1] = rnd() % 7; /* rcx */
	if (strstr(now.c->name, "back") && !s->r[1])
		s->r[1] = 1;
	s->r[3] = (uintptr_t)ab_data; /* rbx */
	s->r[4] = (uintptr_t)stack + STACK / 2 + rnd() % 16 * 8; /* rsp */
	s->r[5] = s->r[4] + 64; /* rbp */
	s->r[6] = (uintptr_t)ab_data + 1024; /* rsi */
	s->r[7] = (uintptr_t)ab_data + 2048; /* rdi */
	s->r[12] = (uintptr_t)ab_words;
	s->flags = 0x202 | (rnd() & STATUS);
	s->target = (uintptr_t)code;
	fill(s->xsave, 512);
	fill(s->xsave + 576, 256);
	memset(s->xsave + 512, 0, 64);
	s->xsave[512] = (uint8_t)ab_xmask; /* XSTATE_BV */
	if (ab_xmask & AB_AVX512)
		fill(s->xsave + AB_AVX512_AT, AB_AVX512_SIZE);
	s->xsave[0] = 0x7f, s->xsave[1] = 3; /* all x87 exceptions masked */
	memset(s->xsave + 2, 0, 22);
	s->xsave[4] = (uint8_t)rnd();
	memcpy(s->xsave + 24, (uint32_t[]){0x1f80, 0xffff}, 8);
	memset(s->xsave + 464, 0, 48);
	for (int i = 0; i < 8; i++)
		memset(s->xsave + 32 + 16 * i + 10, 0, 6);
}

struct world {
	struct state out;
	uint8_t stack[STACK], data[DATA];
	uint64_t mark, seen;
};

static uint64_t memory_seed;

static void run(struct state *in, struct world *w)
{
	uint64_t keep = seed;

	seed = ab_given.state ? ab_given.seed : memory_seed;
	fill(stack, STACK);
	fill(ab_data, DATA);
	seed = keep;
	if (ab_given.image)
		memcpy(ab_data, in->xsave, XSAVE);
	/* popf must not turn on the trap or alignment flag; iretq not at all */
	uint64_t *top = (uint64_t *)in->r[4];
	top[0] &= ~(uint64_t)0x3fff28;
	top[0] &= ~(uint64_t)0x500;
	top[0] |= 0x202;
	if (!strcmp(now.c->name, "pop_rsp"))
		top[0] = in->r[4] + 64;
	/* a function pointer where call_rbx7 finds it */
	memcpy(ab_data + 0xf8, &ab_words[0], 8);
	memcpy(ab_red, (uint64_t[]){top[-1], top[-2]}, 16);
	ab_mark = ab_seen_return = 0;
	memset(&w->out, 0, sizeof(w->out));
	ab_run(in, &w->out);
	memcpy(w->stack, stack, STACK);
	memcpy(w->data, ab_data, DATA);
	w->mark = ab_mark;
	w->seen = ab_seen_return;
}

/* --- comparing ------------------------------------------------------------------ */

static const char *compare(const struct world *a, const struct world *b, const struct state *in)
{
	static const char *const names[16] = {"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi",
		"rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15"};
	/* What was below the red zone at any time is nobody's. */
	uint64_t sp = a->out.r[4] > in->r[4] ? a->out.r[4] : in->r[4];
	size_t low = sp - RED - (uintptr_t)stack;

	for (int i = 0; i < 16; i++)
		if (a->out.r[i] != b->out.r[i])
			return names[i];
	if (a->out.flags != b->out.flags)
		return "flags";
	if (a->mark != b->mark)
		return "where it went";
	if (a->seen != b->seen)
		return "the return address the callee sees";
	if (memcmp(a->data, b->data, DATA))
		return "data";
	if (low < STACK && memcmp(a->stack + low, b->stack + low, STACK - low))
		return "stack or red zone";
	/* FOP, FIP, FDP (6-23) name the place of the last x87 instruction. */
	if (memcmp(a->out.xsave, b->out.xsave, 6) ||
		memcmp(a->out.xsave + 24, b->out.xsave + 24, 488))
		return "x87 or xmm";
	if (ab_xmask & AB_AVX512 &&
		memcmp(a->out.xsave + AB_AVX512_AT, b->out.xsave + AB_AVX512_AT, AB_AVX512_SIZE))
		return "AVX-512 state";
	return memcmp(a->out.xsave + 576, b->out.xsave + 576, 256) ? "ymm" : NULL;
}

static void report(const char *what)
{
	printf("# %s at +%zu, rung %u, %s: %s differs\n", now.c->name,
		(size_t)(now.plan.points[0].addr - (uintptr_t)now.c->start), now.plan.rung,
		now.variant, what);
	unit_why = "see above";
}

/* --- plans ------------------------------------------------------------------------ */

struct walked {
	struct tl_code code;
	uint8_t text[512], boundary[64], target[64];
};

static int walk(struct walked *w, const struct test_case *c)
{
	memset(w, 0, sizeof(*w));
	w->code.start = (uintptr_t)c->start;
	w->code.size = (size_t)(c->end - c->start);
	w->code.text = w->text;
	w->code.boundary = w->boundary;
	w->code.target = w->target;
	w->code.known = w->code.size + 16; /* what every case has behind it */
	memcpy(w->text, c->start, w->code.known);
	return tl_arch_code_walk(&w->code);
}

static bool nobody(void *arg, uintptr_t lo, uintptr_t hi)
{
	(void)arg, (void)lo, (void)hi;
	return false;
}

static const struct tl_ground ground = {.claimed = nobody};

/* A displaced boundary leads to the detour, and from there back to itself. */
static void check_inverse(uintptr_t at, int size)
{
	struct tl_insn i;

	for (unsigned off = 0; off < now.plan.len;) {
		uintptr_t text = now.plan.start + off,
			  there = tl_arch_ip_to_detour(&now.plan, &env, at, text);

		if (now.plan.rung == TL_RUNG_RETARGET) {
			if (there != text)
				complain("ip_to_detour of a retargeted call");
			return;
		}
		if (!tl_insn_decode(&i, now.plan.orig + off, now.plan.len - off, TL_INSN_64)) {
			complain("decoding");
			return;
		}
		if (there - at >= (uintptr_t)size ||
			tl_arch_ip_to_text(&now.plan, &env, at, there) != text)
			complain("ip_to_text(ip_to_detour())");
		inverse++;
		if (tl_insn_ends_block(&i) && text >= now.plan.points[now.plan.npoints - 1].addr)
			return;
		off += i.len;
	}
}

static struct tl_site sites[TL_POINTS_MAX];
static struct tl_probe probes[TL_POINTS_MAX];

static void set_point(unsigned n, uintptr_t addr, uint32_t flags, bool post)
{
	probes[n] = (struct tl_probe){.addr = (void *)addr, .pre = ab_pre, .post = ab_post};
	sites[n].current = &probes[n];
	now.plan.points[n] =
		(struct tl_point){.addr = addr, .site = &sites[n], .flags = flags, .post = post};
}

static void check_hits(const struct state *in)
{
	bool loops = strstr(now.c->name, "back") != NULL;

	if (!gate.open && (now.pre || now.post))
		complain("the number of calls behind a closed gate");
	if (gate.open && now.plan.npoints == 1 && now.plan.points[0].addr == in->target &&
		(loops ? !now.pre : now.pre != 1))
		complain("the number of calls");
	if (now.plan.points[0].post && now.post != now.pre)
		complain("the number of calls of the post handler");
}

/* What the trap service does. */
static void sigtrap(int sig, siginfo_t *si, void *uc)
{
	greg_t *ip = &((ucontext_t *)uc)->uc_mcontext.gregs[REG_RIP];

	(void)sig, (void)si;
	if ((uintptr_t)*ip - 1 != now.plan.start || now.plan.rung != TL_RUNG_TRAP) {
		printf("not ok every_case_every_rung: stray trap in %s\n", now.c->name);
		_exit(1);
	}
	*ip = (greg_t)now.detour;
}

/* --- room for detours that lie where the text's bytes want them ------------------------ */

enum { CHAIN = 3 }; /* neighbours that are moved, one for the other's sake */

static struct room {
	uintptr_t page, at;
} rooms[1 + CHAIN]; /* ours, and theirs */

static void leave_room(struct room *r)
{
	if (r->page)
		munmap((void *)r->page, 3 * 4096);
	r->page = 0;
}

/* Somewhere in the 4 GiB that a jump reaches, at every 16 MiB. */
static bool find_room(struct room *r, const struct tl_plan *plan)
{
	for (uintptr_t want = 0; want < 1ull << 32; want += 1 << 24) {
		uint32_t rel = ((uint32_t)want & ~plan->fit.mask) | plan->fit.match;
		uintptr_t at = plan->fit.from + (uintptr_t)(intptr_t)(int32_t)rel;
		void *page = (void *)(at & ~4095ul);

		if (at < plan->reach_lo + 65536 || at > plan->reach_hi - 3 * 4096)
			continue;
		r->page = (uintptr_t)mmap(page, 3 * 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
		r->at = at;
		if (r->page == (uintptr_t)page)
			return true;
		if (r->page != (uintptr_t)MAP_FAILED)
			munmap((void *)r->page, 3 * 4096);
		r->page = 0;
	}
	return false;
}

static struct tl_plan moved[CHAIN];
static unsigned nmoved;

static void leave_rooms(void)
{
	for (unsigned n = 0; n <= CHAIN; n++)
		leave_room(&rooms[n]);
	nmoved = 0;
}

static bool find_rooms(const struct tl_code *code)
{
	const struct tl_plan *p = &now.plan;

	if (!p->fit.mask)
		return true;
	if (!find_room(&rooms[0], p))
		return false;
	for (nmoved = 0; p->moved; p = &moved[nmoved++])
		if (tl_arch_plan_moved(p, rooms[nmoved].at, code, &moved[nmoved]) ||
			!find_room(&rooms[nmoved + 1], &moved[nmoved]))
			return false;
	return true;
}

/* A neighbour's jump. */
static void move_away(const struct tl_plan *p, uintptr_t at)
{
	uint8_t buf[TL_DETOUR_MAX], bytes[TL_PATCH_MAX];
	int size = tl_arch_detour_build(p, &env, at, buf);

	if (size < 0 || (size_t)size > tl_arch_detour_bound(p)) {
		complain("the neighbour's detour");
		return;
	}
	memcpy((void *)at, buf, (size_t)size);
	tl_arch_patch_bytes(p, at, bytes);
	memcpy((void *)p->start, bytes, p->changed);
}

static void move_neighbours(bool away)
{
	for (unsigned n = nmoved; n--;)
		if (away)
			move_away(&moved[n], rooms[n + 1].at);
		else
			memcpy((void *)moved[n].start, moved[n].orig, moved[n].changed);
}

/* Build at `at`, run from the same states as bare, compare. */
static void run_patched(struct state *in, const struct world *bare, uintptr_t at)
{
	static struct world w;
	uint8_t buf[TL_DETOUR_MAX], bytes[TL_PATCH_MAX];
	int size = tl_arch_detour_build(&now.plan, &env, at, buf);
	const char *diff;

	if (size < 0 || (size_t)size > tl_arch_detour_bound(&now.plan)) {
		report(size < 0 ? "tl_arch_detour_build()" : "tl_arch_detour_bound()");
		return;
	}
	memcpy((void *)at, buf, (size_t)size);
	check_inverse(at, size);
	tl_arch_patch_bytes(&now.plan, at, bytes);
	move_neighbours(true);
	memcpy((void *)now.plan.start, bytes, now.plan.changed);
	now.in = in;
	now.detour = at;
	now.first = now.pre = now.post = 0;
	run(in, &w);
	memcpy((void *)now.plan.start, now.plan.orig, now.plan.changed);
	move_neighbours(false);
	diff = ab_given.varies ? NULL : compare(bare, &w, in);
	check_hits(in);
	if (diff || now.wrong)
		report(diff ? diff : now.wrong);
	now.wrong = NULL;
	ran[now.plan.rung]++;
	posts += now.post;
}

struct variant {
	const char *name;
	uint32_t flags;
	bool post, early, fast_key, closed, forget, context;
};

static const struct variant variants[] = {
	{.name = "light"},
	{.name = "full", .flags = TL_PROBE_REGS},
	{.name = "big stack", .flags = TL_PROBE_BIG_STACK},
	{.name = "full, big stack, slow path",
		.flags = TL_PROBE_REGS | TL_PROBE_BIG_STACK,
		.forget = true},
	{.name = "post", .post = true},
	{.name = "full post", .post = true, .flags = TL_PROBE_REGS},
	{.name = "early", .early = true},
	{.name = "early, rdfsbase", .early = true, .fast_key = true},
	{.name = "slow path", .forget = true},
	{.name = "closed gate", .closed = true},
	{.name = "by context", .context = true},
	{.name = "by context, full post", .context = true, .post = true, .flags = TL_PROBE_REGS},
	{.name = "by context, closed gate", .context = true, .closed = true},
};

static void prepare(const struct variant *v)
{
	now.variant = v->name;
	env.fast_key = v->fast_key;
	env.hit = v->context ? hit : NULL;
	gate.open = !v->closed;
	now.plan.early = v->early;
	if (v->forget)
		memset(threads, 0, sizeof(threads));
}

enum { FORMS = 3 }; /* candidates of one rung that are tried for each variant */

static void try_plan(const struct variant *v, unsigned rounds)
{
	static struct world bare;
	static struct state in;

	for (unsigned n = 0; n < rounds && !unit_why; n++) {
		uintptr_t at = now.plan.fit.mask ? rooms[0].at : detours[n & 1] + rnd() % 512;

		random_state(&in, now.c->start);
		memory_seed = rnd() | 1;
		run(&in, &bare);
		prepare(v);
		run_patched(&in, &bare, at);
	}
}

static void try_rung(
	struct walked *w, uintptr_t addr, unsigned rung, const struct variant *v, unsigned rounds)
{
	unsigned tries = 0;
	int ret;

	memset(&now.plan, 0, sizeof(now.plan));
	now.plan.npoints = 1;
	set_point(0, addr, v->flags, v->post);
	ret = tl_arch_plan(&now.plan, &w->code, 1u << rung, &ground);
	while (!ret) {
		bool fits = find_rooms(&w->code);

		if (fits)
			try_plan(v, now.plan.fit.mask ? 1 : rounds);
		leave_rooms();
		if (unit_why || (fits && ++tries == FORMS))
			return;
		ret = tl_arch_plan_next(&now.plan, &w->code, 1u << rung, &ground);
	}
}

static unsigned rounds = 6;
static const char *only;

static bool wanted(const struct test_case *c)
{
	return !only || !strcmp(only, c->name);
}

static void every_case_every_rung(void)
{
	static struct walked w;

	for (const struct test_case *c = __start_ab_tab; c < __stop_ab_tab; c++) {
		if (!wanted(c))
			continue;
		now.c = c;
		if (walk(&w, c)) {
			printf("# %s does not decode\n", c->name);
			unit_why = "see above";
			return;
		}
		cases++;
		for (uint8_t *a = c->start; a < c->body_end; a++) {
			if (tl_arch_can_probe(&w.code, (uintptr_t)a))
				continue;
			instructions++;
			for (unsigned rung = TL_RUNG_RETARGET; rung <= TL_RUNG_TRAP; rung++)
				for (size_t v = 0; v < sizeof(variants) / sizeof(variants[0]); v++)
					try_rung(&w, (uintptr_t)a, rung, &variants[v], rounds);
		}
	}
}

/* All instructions of the body that fit into one window, each with its own point. */
static void several_points_per_window(void)
{
	static struct walked w;
	static struct world bare;
	static struct state in;
	unsigned most = 0;

	for (const struct test_case *c = __start_ab_tab; c < __stop_ab_tab; c++) {
		if (!wanted(c))
			continue;
		now.c = c;
		walk(&w, c);
		memset(&now.plan, 0, sizeof(now.plan));
		for (uint8_t *a = c->start; a < c->body_end && now.plan.npoints < 3; a++)
			if (!tl_arch_can_probe(&w.code, (uintptr_t)a))
				set_point(now.plan.npoints++, (uintptr_t)a, 0, false);
		while (now.plan.npoints > 1 &&
			tl_arch_plan(&now.plan, &w.code, 1u << TL_RUNG_WINDOW, &ground))
			now.plan.npoints--;
		if (now.plan.npoints < 2)
			continue;
		most = now.plan.npoints > most ? now.plan.npoints : most;
		for (unsigned n = 0; n < rounds && !unit_why; n++) {
			random_state(&in, c->start);
			memory_seed = rnd() | 1;
			run(&in, &bare);
			prepare(&variants[0]);
			run_patched(&in, &bare, detours[n & 1] + rnd() % 512);
		}
	}
	CHECK(only || most >= 3);
}

/* --- handlers that change things --------------------------------------------------- */

static int64_t sp_by;

static int change_registers(struct tl_regs *g)
{
	g->ax ^= 0x1111, g->cx ^= 0x2222, g->dx ^= 0x3333, g->si += 8, g->di += 16, g->r8 ^= 0x44;
	g->r9 ^= 0x55, g->r10 ^= 0x66, g->r11 ^= 0x77, g->flags ^= STATUS;
	if (now.plan.points[0].flags & TL_PROBE_REGS)
		g->bx ^= 0x88, g->bp ^= 0x99, g->r12 ^= 0xaa, g->r13 ^= 0xbb, g->r14 ^= 0xcc,
			g->r15 ^= 0xdd;
	return 0;
}

static int change_and_divert(struct tl_regs *g)
{
	change_registers(g);
	g->ip = (uintptr_t)ab_exit;
	g->sp += (uint64_t)sp_by;
	return 1;
}

static int move_sp(struct tl_regs *g)
{
	g->sp += (uint64_t)sp_by;
	return 0;
}

static void expect_changed(uint64_t *r, bool full)
{
	static const uint64_t x[16] = {0x1111, 0x2222, 0x3333, 0x88, 0, 0x99, 0, 0, 0x44, 0x55,
		0x66, 0x77, 0xaa, 0xbb, 0xcc, 0xdd};

	for (int i = 0; i < 16; i++)
		if (full || !(i == 3 || i == 5 || i >= 12))
			r[i] ^= x[i];
	r[6] += 8;
	r[7] += 16;
}

/* Run the case's first instruction with a handler that changes; `want` is the expected end. */
static void run_change(uint32_t flags, unsigned rung, int (*fn)(struct tl_regs *))
{
	static struct walked w;
	static struct world got;
	static struct state in;
	uint8_t buf[TL_DETOUR_MAX], bytes[TL_PATCH_MAX];
	uint64_t want[16];
	uintptr_t at;
	int size;

	walk(&w, now.c);
	memset(&now.plan, 0, sizeof(now.plan));
	now.plan.npoints = 1;
	set_point(0, (uintptr_t)now.c->start, flags, false);
	if (tl_arch_plan(&now.plan, &w.code, 1u << rung, &ground))
		return;
	if (!find_rooms(&w.code))
		goto leave;
	at = now.plan.fit.mask ? rooms[0].at : detours[0];
	prepare(&variants[0]);
	random_state(&in, now.c->start);
	memory_seed = rnd() | 1;
	size = tl_arch_detour_build(&now.plan, &env, at, buf);
	CHECK(size > 0);
	memcpy((void *)at, buf, (size_t)size);
	tl_arch_patch_bytes(&now.plan, at, bytes);
	move_neighbours(true);
	memcpy((void *)now.plan.start, bytes, now.plan.changed);
	memcpy(want, in.r, sizeof(want));
	now.in = &in;
	now.detour = at;
	now.first = now.pre = 0;
	now.change = fn;
	run(&in, &got);
	now.change = NULL;
	memcpy((void *)now.plan.start, now.plan.orig, now.plan.changed);
	move_neighbours(false);
	if (fn != move_sp) {
		expect_changed(want, flags & TL_PROBE_REGS);
		CHECK(((got.out.flags ^ in.flags) & STATUS) == STATUS);
	}
	want[4] += (uint64_t)(flags & TL_PROBE_REGS ? sp_by : 0);
	CHECK(!memcmp(want, got.out.r, sizeof(want)));
	CHECK(!now.wrong);
	diverted++;
leave:
	leave_room(&rooms[0]);
	leave_room(&rooms[1]);
	nmoved = 0;
}

static const struct test_case *named(const char *name)
{
	for (const struct test_case *c = __start_ab_tab; c < __stop_ab_tab; c++)
		if (!strcmp(c->name, name))
			return c;
	return NULL;
}

/* Whatever the instruction is, diverting before it leaves it undone, a retargeted call's push included. */
static void handlers_divert(void)
{
	static const int64_t moves[] = {0, 8, -8, 64, -64, 144, -144, 400, -400, 1024, -1024};
	static const char *const on[] = {
		"call", "call_rip", "call_r12", "mov_imm32", "push_r", "rip_load", "jmp_far"};

	for (size_t i = 0; i < sizeof(on) / sizeof(on[0]); i++)
		for (size_t m = 0; m < sizeof(moves) / sizeof(moves[0]); m++)
			for (unsigned rung = TL_RUNG_RETARGET; rung <= TL_RUNG_TRAP; rung++) {
				now.c = named(on[i]);
				sp_by = moves[m];
				run_change(TL_PROBE_REGS, rung, change_and_divert);
				sp_by = 0;
				run_change(0, rung, change_and_divert);
				if (unit_why)
					return;
			}
	CHECK(diverted > 300);
}

static void handlers_change_registers(void)
{
	static const char *const on[] = {"nop1", "nop5", "endbr"};

	sp_by = 0;
	for (size_t i = 0; i < sizeof(on) / sizeof(on[0]); i++)
		for (unsigned rung = TL_RUNG_RETARGET; rung <= TL_RUNG_TRAP; rung++) {
			now.c = named(on[i]);
			run_change(0, rung, change_registers);
			run_change(TL_PROBE_REGS, rung, change_registers);
			if (unit_why)
				return;
		}
}

static void handlers_move_the_stack_pointer(void)
{
	static const int64_t moves[] = {8, -8, 136, -136, 272, -272, 800, -800};
	static const char *const on[] = {"nop1", "nop5", "mov_rr", "call"};

	for (size_t i = 0; i < sizeof(on) / sizeof(on[0]); i++)
		for (size_t m = 0; m < sizeof(moves) / sizeof(moves[0]); m++)
			for (unsigned rung = TL_RUNG_RETARGET; rung <= TL_RUNG_TRAP; rung++) {
				now.c = named(on[i]);
				sp_by = moves[m];
				if (strcmp(on[i], "mov_rr"))
					run_change(TL_PROBE_REGS, rung, move_sp);
				if (unit_why)
					return;
			}
	sp_by = 0;
}

/* --- what is refused ---------------------------------------------------------------- */

static int probe_bytes(const char *bytes, size_t n)
{
	struct walked w = {0};

	w.code = (struct tl_code){.start = 0x400000,
		.size = n,
		.text = w.text,
		.boundary = w.boundary,
		.target = w.target};
	memcpy(w.text, bytes, n);
	tl_arch_code_walk(&w.code);
	return tl_arch_can_probe(&w.code, 0x400000);
}

#define REFUSED(why, bytes)                                                                        \
	CHECK(probe_bytes(bytes "\x90\x90\x90\x90", sizeof(bytes) + 3) == -TL_E_##why)

static void refusals(void)
{
	REFUSED(NO_RELOCATE, "\xcc"); /* int3 */
	REFUSED(NO_RELOCATE, "\xcd\x80"); /* int $0x80 */
	REFUSED(NO_RELOCATE, "\x0f\x0b"); /* ud2 */
	REFUSED(NO_RELOCATE, "\xf4"); /* hlt */
	REFUSED(NO_RELOCATE, "\x48\xcf"); /* iretq */
	REFUSED(NO_RELOCATE, "\xcb"); /* lret */
	REFUSED(NO_RELOCATE, "\xec"); /* in */
	REFUSED(NO_RELOCATE, "\xfa"); /* cli */
	REFUSED(NO_RELOCATE, "\xff\x18"); /* lcall */
	REFUSED(NO_RELOCATE, "\xc7\xf8\0\0\0\0"); /* xbegin */
	REFUSED(NO_RELOCATE, "\xff\xd4"); /* call *%rsp */
	REFUSED(NO_RELOCATE, "\xff\x54\x24\xf8"); /* call *-8(%rsp) */
	CHECK(probe_bytes("\x06", 1) == -TL_E_NOT_BOUNDARY); /* not an instruction in 64-bit mode */
}

/* --- for rows.c ------------------------------------------------------------------------ */

void ab_random(struct state *s, const struct test_case *c)
{
	now.c = c;
	random_state(s, c->start);
}

const char *ab_bare_twice(struct state *s)
{
	static struct world a, b;

	run(s, &a);
	if (ab_fault)
		return NULL;
	run(s, &b);
	return compare(&a, &b, s);
}

bool ab_refused(const struct test_case *c)
{
	static struct walked w;

	return walk(&w, c) || tl_arch_can_probe(&w.code, (uintptr_t)c->start);
}

unsigned ab_try_rungs(const struct test_case *c)
{
	static const struct variant *const few[] = {&variants[0], &variants[1], &variants[4]};
	static struct walked w;
	unsigned before = 0, after = 0;

	now.c = c;
	walk(&w, c);
	for (unsigned r = 0; r <= TL_RUNG_TRAP; r++)
		before += ran[r];
	for (unsigned rung = TL_RUNG_RETARGET; rung <= TL_RUNG_TRAP; rung++)
		for (size_t v = 0; v < sizeof(few) / sizeof(few[0]) && !unit_why; v++)
			try_rung(&w, (uintptr_t)c->start, rung, few[v], 1);
	for (unsigned r = 0; r <= TL_RUNG_TRAP; r++)
		after += ran[r];
	return after - before;
}

void ab_each_case(void (*fn)(const struct tl_insn *i))
{
	static struct walked w;
	struct tl_insn i;

	for (const struct test_case *c = __start_ab_tab; c < __stop_ab_tab; c++) {
		walk(&w, c);
		for (uint8_t *a = c->start; a < c->body_end; a++)
			if (!tl_arch_can_probe(&w.code, (uintptr_t)a) &&
				tl_insn_decode(&i, a, (size_t)(c->end - a), TL_INSN_64))
				fn(&i);
	}
}

static void every_row(void)
{
	unit_why = ab_rows();
}

/* ----------------------------------------------------------------------------------- */

static void *place(uintptr_t at)
{
	void *p = mmap((void *)at, 16384, PROT_READ | PROT_WRITE | PROT_EXEC,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	if (p != (void *)at)
		perror("mmap"), exit(2);
	return p;
}

static int32_t find_tid(void)
{
	uint32_t *tcb, tid = (uint32_t)syscall(SYS_gettid);

	__asm__("mov %%fs:0,%0" : "=r"(tcb));
	for (int i = 0; i < 0x400; i++)
		if (tcb[i] == tid)
			return 4 * i;
	return 0;
}

static void set_up(void)
{
	uintptr_t lo = (uintptr_t)ab_cases_begin & ~4095ul,
		  hi = ((uintptr_t)ab_cases_end + 4095) & ~4095ul;
	struct sigaction sa = {.sa_sigaction = sigtrap, .sa_flags = SA_SIGINFO};

	sigaction(SIGTRAP, &sa, NULL);
	mprotect((void *)lo, hi - lo, PROT_READ | PROT_WRITE | PROT_EXEC);
	detours[0] = (uintptr_t)place(0x10000000);
	detours[1] = (uintptr_t)place(0x7f000000);
	env = (struct tl_detour_env){.gate = &gate,
		.threads = threads,
		.enter_slow = enter_slow,
		.tid_offset = find_tid()};
}

int main(int argc, char **argv)
{
	if (argc > 2 && !strcmp(argv[1], "-r")) {
		ab_rows_file = argv[2];
		argc -= 2, argv += 2;
	}
	if (argc > 1)
		rounds = (unsigned)atoi(argv[1]);
	if (argc > 2)
		only = argv[2];
	seed = unit_seed(88172645463325252ul);
	alarm(1700); /* a displaced loop that never ends is a finding, not a wait */
	set_up();
	RUN(every_case_every_rung);
	RUN(several_points_per_window);
	if (!only) {
		RUN(handlers_change_registers);
		RUN(handlers_divert);
		RUN(handlers_move_the_stack_pointer);
		RUN(refusals);
		alarm(1700);
		if (ab_rows_file)
			RUN(every_row);
	}
	printf("# %u cases, %u instructions; runs: retarget %u, whole %u, pun %u, evict %u, window "
	       "%u, trap %u; %u post, %u inverse\n",
		cases, instructions, ran[TL_RUNG_RETARGET], ran[TL_RUNG_WHOLE], ran[TL_RUNG_PUN],
		ran[TL_RUNG_EVICT], ran[TL_RUNG_WINDOW], ran[TL_RUNG_TRAP], posts, inverse);
	return UNIT_RESULT();
}
