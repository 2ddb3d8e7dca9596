/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The code around a probed instruction, kept: it is the same in nearly all
 * detours of one shape, but for a few addresses and for the distance between
 * what stands before the instruction and what lies behind the way back.
 */
#include "x86.h"

enum { SHAPES = 64, CODE_MAX = 1024 };

/* GATE_LESS_1: the gate, where one more byte of the instruction lies behind its displacement. */
enum { GATE, GATE_LESS_1, THREADS, ENTER_SLOW, HIT, WAY, SITE, IP, NAMES };
_Static_assert(NAMES <= X86_NAMES_MAX, "room for all");

struct x86_template {
	bool made;
	struct tl_detour_env env; /* it was made for */
	uintptr_t names[X86_NAMES_MAX];
	struct x86_refs refs;
	size_t size;
	uint8_t code[CODE_MAX];
};

static struct x86_template templates[SHAPES]; /* engine lock */

static unsigned number_of(const struct x86_shape *s)
{
	return s->full | s->big << 1 | s->df << 2 | s->early << 3 | s->shadow_stack << 4 |
	       s->no_red_zone << 5;
}

static void name(struct x86_template *t, const struct tl_detour_env *env, const struct tl_point *p)
{
	t->names[GATE] = (uintptr_t)env->gate;
	t->names[GATE_LESS_1] = (uintptr_t)env->gate - 1;
	t->names[THREADS] = (uintptr_t)env->threads;
	t->names[ENTER_SLOW] = (uintptr_t)env->enter_slow;
	t->names[HIT] = (uintptr_t)env->hit;
	t->names[WAY] = (uintptr_t)x86_way;
	t->names[SITE] = (uintptr_t)p->site;
	t->names[IP] = p->addr;
}

static bool made_for(const struct x86_template *t, const struct tl_detour_env *env)
{
	return t->made && t->env.tid_offset == env->tid_offset &&
	       t->env.fast_key == env->fast_key && t->env.hit == env->hit &&
	       !t->env.enter_slow == !env->enter_slow;
}

/* From there, are all addresses named as they were? */
static bool holds(const struct x86_template *t, const struct x86_emit *e)
{
	for (unsigned i = 0; i < t->refs.n; i++) {
		unsigned name = t->refs.ref[i].name;

		if (x86_form(e, t->names[name == GATE_LESS_1 ? GATE : name]) != t->refs.ref[i].form)
			return false;
	}
	return true;
}

static bool make(struct x86_template *t, const struct x86_emit *e, const struct x86_shape *shape,
	const struct tl_detour_env *env, const struct tl_point *p)
{
	struct x86_emit made = {
		.buf = t->code, .at = e->at, .max = sizeof(t->code), .refs = &t->refs};
	struct x86_call call = {.point = p, .ip = p->addr};
	struct x86_shape s = *shape;

	t->env = *env;
	t->refs = (struct x86_refs){.names = t->names};
	x86_handler(&made, &s, env, &call);
	t->refs.split = made.n;
	x86_handler_tails(&made, &s, env, &call, 1);
	t->size = made.n;
	return t->made = !made.err;
}

struct x86_template *x86_template_for(const struct x86_emit *e, const struct x86_shape *s,
	const struct tl_detour_env *env, const struct tl_point *p)
{
	struct x86_template *t = &templates[number_of(s)];

	if (e->longest)
		return NULL;
	name(t, env, p);
	return (made_for(t, env) && holds(t, e)) || make(t, e, s, env, p) ? t : NULL;
}

/* Its bytes [from, to), the addresses filled in. */
static void paste(const struct x86_template *t, struct x86_emit *e, size_t from, size_t to)
{
	size_t moved = e->n - from;

	x86_bytes(e, t->code + from, to - from);
	for (unsigned i = 0; i < t->refs.n; i++) {
		size_t at = t->refs.ref[i].at;
		uintptr_t address = t->names[t->refs.ref[i].name];

		if (at < from || at >= to)
			continue;
		if (t->refs.ref[i].form == X86_REL32)
			x86_put_at(e, moved + at, address - (e->at + moved + at + 4), 4);
		else
			x86_put_at(
				e, moved + at, address, t->refs.ref[i].form == X86_ABS32 ? 4 : 8);
	}
}

void x86_template_head(const struct x86_template *t, struct x86_emit *e)
{
	paste(t, e, 0, t->refs.split);
}

void x86_template_tail(const struct x86_template *t, struct x86_emit *e, size_t head)
{
	size_t split = t->refs.split, tail = e->n;
	uint32_t apart = (uint32_t)(tail - (head + split)), rel;

	paste(t, e, split, t->size);
	for (unsigned i = 0; i < t->refs.ncross; i++) {
		size_t at = t->refs.cross[i];
		bool forth = at < split;

		__builtin_memcpy(&rel, t->code + at, sizeof(rel));
		x86_put_at(e, at + (forth ? head : tail - split), forth ? rel + apart : rel - apart,
			4);
	}
}
