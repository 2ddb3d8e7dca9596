/* SPDX-License-Identifier: MIT */
/*
 * Processors of the toy machine, run by hand: each step executes one
 * instruction out of the text or a detour, and HIT does what a real detour
 * does. Their program counters are those of the fake threads, so the engine
 * can stop and move them.
 */
#ifndef TRAPLESS_TESTS_MACHINE_H
#define TRAPLESS_TESTS_MACHINE_H

#include "../../unit.h"
#include "../../../engine/arch/fake/toy.h"
#include "../../../engine/core/base/arena.h"
#include "../../../engine/core/base/broken.h"
#include "../../../engine/core/base/core.h"
#include "../../../engine/core/detour/detour.h"
#include "../../../engine/core/detour/site.h"
#include "../../../engine/core/detour/threads.h"
#include "../../../engine/core/image/dynsym.h"
#include "../../../engine/core/image/ehframe.h"
#include "../../../engine/core/probe/gone.h"
#include "../../../engine/core/probe/probe.h"
#include "../../../engine/core/ret/ret.h"
#include "../../../engine/core/text/journal.h"
#include "../../../engine/core/text/patch.h"
#include "../../../engine/os/fake/fake.h"
#include <stdlib.h>
#include <string.h>

#define TEXT(off) ((uintptr_t)fake_text + (off))
#define HALT	  ((uintptr_t)1)
#define STACK	  64

struct cpu {
	struct fake_thread *thread; /* its pc is there */
	uint32_t r[3];
	uintptr_t stack[STACK];
	unsigned sp;
	uintptr_t key;
	const char *dead;
	bool spun;
};

static size_t text_end;

static void emit(const uint8_t *bytes, size_t n)
{
	memcpy(fake_text + text_end, bytes, n);
	text_end += n;
}

#define E(...)                                                                                     \
	do {                                                                                       \
		const uint8_t bytes_[] = {__VA_ARGS__};                                            \
		emit(bytes_, sizeof(bytes_));                                                      \
	} while (0)

static inline void emit_rel32(uint8_t op, size_t target)
{
	uint32_t rel = (uint32_t)(target - (text_end + 5));

	E(op, (uint8_t)rel, (uint8_t)(rel >> 8), (uint8_t)(rel >> 16), (uint8_t)(rel >> 24));
}

static inline void set_regs(struct tl_regs *to, const struct cpu *c, uintptr_t ip)
{
	memset(to, 0, sizeof(*to));
#if defined(__x86_64__)
	to->ax = c->r[0];
	to->cx = c->r[1];
	to->dx = c->r[2];
#else
	for (unsigned i = 0; i < 3; i++)
		to->gpr[i] = c->r[i];
#endif
	to->ip = ip;
	to->sp = (uintptr_t)&c->stack[c->sp];
}

static inline void get_regs(struct cpu *c, const struct tl_regs *from)
{
#if defined(__x86_64__)
	c->r[0] = (uint32_t)from->ax;
	c->r[1] = (uint32_t)from->cx;
	c->r[2] = (uint32_t)from->dx;
#else
	for (unsigned i = 0; i < 3; i++)
		c->r[i] = (uint32_t)from->gpr[i];
#endif
}

/* What the ports' entry code does. Returns the address to go on at, 0: the next instruction. */
static inline uintptr_t hit(struct cpu *c, uintptr_t operand, bool post)
{
	struct tl_site *site = (struct tl_site *)(operand & ~(uintptr_t)TL_PROBE_ASKS);
	uintptr_t key = fake.key, sp = (uintptr_t)&c->stack[c->sp], go = 0;
	uint32_t tid = fake.tid;
	struct tl_thread *t = &tl_core.env.threads[tl_thread_hash(c->key)];
	struct tl_probe *cur;
	struct tl_regs regs;

	if (!tl_core.env.gate->open)
		return 0;
	fake.key = c->key;
	fake.tid = c->thread->tid;
	if (t->key != c->key || t->guard || t->tid != fake.tid)
		t = tl_core.env.enter_slow(site, sp, c->key);
	if (t) {
		t->guard = sp;
		t->gives = operand & TL_PROBE_ASKS;
		cur = site->current;
		set_regs(&regs, c, site->addr);
		if (post)
			cur->post(cur, &regs, t);
		else if (cur->pre(cur, &regs, t))
			go = TL_REGS_IP(&regs);
		get_regs(c, &regs);
		t->gives = 0;
		t->guard = 0;
	}
	fake.key = key;
	fake.tid = tid;
	return go;
}

static inline void step(struct cpu *c)
{
	uintptr_t pc = c->thread->pc, next, go;
	const uint8_t *i = (const uint8_t *)pc;

	if (c->dead || pc == HALT)
		return;
	if (pc - (uintptr_t)fake_text >= FAKE_TEXT && pc - (uintptr_t)fake_code >= FAKE_CODE) {
		c->dead = "left the text";
		return;
	}
	next = pc + toy_len(i[0]);
	switch (i[0]) {
	case TOY_NOP:
	case TOY_FIXED:
		break;
	case TOY_INC:
		c->r[i[1] % 3]++;
		break;
	case TOY_DEC:
		c->r[i[1] % 3]--;
		break;
	case TOY_SET:
		c->r[i[1] % 3] = i[2];
		break;
	case TOY_ADDI:
		c->r[i[1] % 3] += (uint32_t)toy_rel(i + 1);
		break;
	case TOY_SHORT:
		c->spun |= i[1] == 0xfe;
		/* fall through */
	case TOY_JMP:
		next += (uintptr_t)(intptr_t)toy_rel(i);
		break;
	case TOY_JNZ:
		if (c->r[0])
			next += (uintptr_t)(intptr_t)toy_rel(i);
		break;
	case TOY_CALL:
		c->stack[--c->sp] = next;
		next += (uintptr_t)(intptr_t)toy_rel(i);
		break;
	case TOY_RET:
		next = c->stack[c->sp++];
		break;
	case TOY_TRAP:
		next = fake_trap_target(pc);
		if (!next)
			c->dead = "breakpoint without a detour";
		break;
	case TOY_HIT:
	case TOY_POST:
		go = hit(c, (uintptr_t)toy_word(i + 1), i[0] == TOY_POST);
		next = go ? go : next;
		break;
	case TOY_GO:
		next = (uintptr_t)toy_word(i + 1);
		break;
	case TOY_GONZ:
		if (c->r[0])
			next = (uintptr_t)toy_word(i + 1);
		break;
	case TOY_PUSH:
		c->stack[--c->sp] = (uintptr_t)toy_word(i + 1);
		break;
	default:
		c->dead = "torn instruction";
	}
	c->thread->pc = next;
}

/* Ready to run from offset `entry`; returns to HALT. */
static inline void cpu_init(struct cpu *c, unsigned n, size_t entry)
{
	memset(c, 0, sizeof(*c));
	c->thread = &fake.threads[n];
	*c->thread = (struct fake_thread){.used = true, .tid = 100 + n, .pc = TEXT(entry)};
	c->key = 0x7000 + 0x40 * n;
	c->sp = STACK - 1;
	c->stack[c->sp] = HALT;
}

/* Runs to the end; false when it dies, spins or does not end. */
static inline bool run(struct cpu *c)
{
	for (unsigned i = 0; i < 100000 && c->thread->pc != HALT; i++)
		step(c);
	return !c->dead && c->thread->pc == HALT;
}

/* One image over the whole fake text; bounds come with the probes. */
static inline int whole_text(void)
{
	struct tl_image img = {
		.bias = TEXT(0), .lo = TEXT(0), .hi = TEXT(FAKE_TEXT), .name = "toy"};

	return tl_image_add(&img);
}

static inline void world(void)
{
	fake_reset();
	fake.images = whole_text;
	memset(fake_text, TOY_NOP, FAKE_TEXT);
	text_end = 0;
}

/*
 * A program in which every rung has its place:
 * 0 addi r0,7 | 6 inc r1 | 8 dec r2 | 10 set r1,8 | 13 call 30 | 18 inc r0 | 20 dec r2 | 22 inc r1 | 24 nop
 * 25 short 28 | 27 fixed | 28 nop | 29 ret | 30 nop | 31 nop | 32 set r2,0 | 35 dec r2 | 37 ret
 */
static inline void world_of_all_kinds(void)
{
	world();
	E(TOY_ADDI, 0, 7, 0, 0, 0, TOY_INC, 1, TOY_DEC, 2, TOY_SET, 1, 8);
	emit_rel32(TOY_CALL, 30);
	E(TOY_INC, 0, TOY_DEC, 2, TOY_INC, 1, TOY_NOP, TOY_SHORT, 1, TOY_FIXED, TOY_NOP, TOY_RET);
	E(TOY_NOP, TOY_NOP, TOY_SET, 2, 0, TOY_DEC, 2, TOY_RET);
}

static inline struct tl_probe probe_at(size_t off, size_t size, tl_pre_fn pre)
{
	return (struct tl_probe){.addr = (void *)TEXT(off),
		.pre = pre,
		.func_start = TEXT(0),
		.func_size = (uint32_t)size};
}

static uint32_t seed;

static inline uint32_t rnd(void)
{
	seed = seed * 1664525u + 1013904223u;
	return seed >> 8;
}

static unsigned hits;

static inline int count_hit(struct tl_probe *p, struct tl_regs *regs, struct tl_thread *self)
{
	(void)regs;
	(void)self;
	if (p->data)
		++*(unsigned *)p->data;
	hits++;
	return 0;
}

static uint8_t before[FAKE_TEXT];

/* 0: addi r0,7 (6)  6: inc r1 (2)  8: dec r2 (2)  10: set r1,9 (3)  13: ret */
static inline void five_instructions(void)
{
	world();
	E(TOY_ADDI, 0, 7, 0, 0, 0, TOY_INC, 1, TOY_DEC, 2, TOY_SET, 1, 9, TOY_RET);
	memcpy(before, fake_text, FAKE_TEXT);
	hits = 0;
}

/* At the end of a test: the text is as it was, and nothing of ours is left. */
static inline bool left_clean(void)
{
	memset(fake.threads, 0, sizeof(fake.threads));
	tl_engine_exit();
	return !memcmp(before, fake_text, FAKE_TEXT) && !fake.live && !fake.code_used && !fake.up &&
	       !fake.bad_stores;
}

#endif
