/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Sessions as handlers in the target see them. */
#include "home.h"
#include "symbols.h"
#include "unwind.h"
#include "view.h"
#include "../engine/core/detour/threads.h"
#include "../engine/core/base/mem.h"
#include "../runtime/machine/machine.h"
#include "../runtime/session.h"

_Static_assert((int)TL_CTL_SESSIONS <= TL_LOCALS, "each has a slot of its own in struct tl_thread");

static struct tl_view views[TL_CTL_SESSIONS];
static struct tl_symbols symbols[TL_CTL_SESSIONS]; /* views[].home */
static struct tl_unwind unwind[TL_CTL_SESSIONS];

static struct tl_block *join(struct tl_view *v, struct tl_thread *self)
{
	uint32_t tid = tl_thread_tid(self), pid = tl_home_pid(tid);

	struct tl_block *b = pid ? tl_block_claim(v, tid, pid, "") : NULL;

	if (b) {
		b->processor = tl_home_processor();
		if (v->session->wants_names)
			tl_home_comm(b->comm);
	}
	return b;
}

/* The name as of the first time that it is asked for. */
static void name(struct tl_view *v, struct tl_block *b)
{
	(void)v;
	tl_home_comm(b->comm);
}

static void ids(struct tl_view *v, struct tl_ids *who)
{
	(void)v;
	tl_home_ids(who);
}

static int read_memory(struct tl_view *v, void *dst, uint64_t addr, uint32_t size)
{
	(void)v;
	return tl_home_read(dst, addr, size);
}

static int write_memory(struct tl_view *v, uint64_t addr, const void *src, uint32_t size)
{
	(void)v;
	return tl_home_write(addr, src, size);
}

static uint32_t symbol(struct tl_view *v, uint64_t addr, char *buf, uint32_t room, uint64_t *offset,
	uint64_t *size)
{
	return tl_symbol_name(v->home, addr, buf, room, offset, size);
}

static uint32_t image(struct tl_view *v, uint64_t addr, char *buf, uint32_t room)
{
	return tl_symbol_image(v->home, addr, buf, room);
}

static bool fact(struct tl_view *v, uint32_t what, int64_t of, uint64_t value[2])
{
	(void)v;
	return tl_home_fact(what, of, value);
}

static bool raise(struct tl_view *v, int64_t sig)
{
	(void)v;
	return tl_home_raise(sig);
}

static uint32_t line(struct tl_view *v, uint64_t addr, char *buf, uint32_t room, uint32_t *number)
{
	return tl_symbol_line(v->home, addr, buf, room, number);
}

static const struct tl_tap_frame *frame(struct tl_view *v, uint64_t addr)
{
	return tl_unwind_frame(&unwind[v - views], addr);
}

static bool caller(struct tl_view *v, const struct tl_from *from, uint32_t n, uint64_t *pc)
{
	(void)v;
	return tl_home_caller(from, n, pc);
}

static uint64_t original(struct tl_view *v, uint64_t pc)
{
	(void)v;
	return tl_home_original(pc);
}

static int left(struct tl_view *v, struct tl_from *at)
{
	(void)v;
	return tl_home_left(at);
}

static bool of_program(struct tl_view *v, uint64_t pc)
{
	(void)v;
	return tl_home_of_program(pc);
}

static void relax(struct tl_view *v)
{
	(void)v;
	tl_pause();
}

static struct tl_view_ops ops = {
	.join = join,
	.read = read_memory,
	.write = write_memory,
	.symbol = symbol,
	.image = image,
	.line = line,
	.frame = frame,
	.caller = caller,
	.original = original,
	.relax = relax,
	.name = name,
	.fact = fact,
	.indent = tl_home_indent,
	.raise = raise,
	.ids = ids,
	.left = left,
	.of_program = of_program,
};

/* What the home has loaded. */
static const void *at(uint64_t addr)
{
	return (const void *)(uintptr_t)addr;
}

static void fill_symbols(struct tl_symbols *s, const struct tl_home_module *m)
{
	s->strings = at(m->strings);
	s->strings_size = m->strings_size;
	s->symbols = at(m->symbols);
	s->nsymbols = m->nsymbols;
	s->lines = at(m->lines);
	s->nlines = m->nlines;
	s->images = at(m->images);
	s->nrows = tl_symbol_rows(m->nimages);
}

static void fill_unwind(struct tl_unwind *u, const struct tl_home_module *m)
{
	u->of_image = at(m->unwind);
	u->rows = at(m->rows);
	u->frames = at(m->frames);
	u->images = at(m->images);
	u->nrows = m->unwind ? tl_symbol_rows(m->nimages) : 0;
}

const struct tl_view_ops *tl_ctl_view_ops(void)
{
	return &ops;
}

struct tl_view *tl_ctl_view(const struct tl_ctl_session *s)
{
	return &views[s->slot % TL_CTL_SESSIONS];
}

void tl_ctl_env(struct tl_env *env, struct tl_view *v, const struct tl_ctl_probe *p)
{
	tl_env_fill(env, v, p->number);
	env->kind = p->kind;
	env->image = p->image;
	env->bias = p->bias;
	env->at_syscall = p->at_syscall;
	env->point = at(p->point);
	env->func = at(p->func);
	env->name = at(p->name);
}

int tl_ctl_view_init(const struct tl_ctl_session *s)
{
	const struct tl_home_module *m = at(s->module);
	struct tl_view *v = tl_ctl_view(s);

	if (v->home)
		return 0;
	if (tl_view_attach(v, (void *)(uintptr_t)s->memory, s->memory_size, at(m->options)))
		return -TL_E_VERSION;
	fill_symbols(&symbols[v - views], m);
	fill_unwind(&unwind[v - views], m);
	v->ops = &ops;
	v->guests = tl_home_guests();
	v->outside = tl_home_wild_stacks();
	v->home = &symbols[v - views];
	v->local_off = offsetof(struct tl_thread, local[0]) +
		       (uint32_t)((v - views) * (long)sizeof(void *));
	v->images = at(m->images);
	v->image_words = sizeof(struct tl_symbol_image) / sizeof(uint64_t);
	v->nimages = tl_symbol_rows(m->nimages);
	return 0;
}

void tl_ctl_view_forget(const struct tl_ctl_session *s)
{
	struct tl_view *v = tl_ctl_view(s);

	v->home = NULL;
	tl_threads_forget((unsigned)(v - views));
}
