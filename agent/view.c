/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The session as handlers in the target see it. */
#include "agent.h"
#include "symbols.h"
#include "../runtime/session.h"

struct tl_view tl_agent_view;

static struct tl_symbols symbols;

static struct tl_block *join(struct tl_view *v, struct tl_thread *self)
{
	uint32_t tid = tl_thread_tid(self), pid = tl_agent_pid(tid);

	return pid ? tl_block_claim(v, tid, pid, "") : NULL;
}

/* The name as of the first time that it is asked for. */
static void name(struct tl_view *v, struct tl_block *b)
{
	(void)v;
	tl_agent_comm(b->comm);
}

static int read_memory(struct tl_view *v, void *dst, uint64_t addr, uint32_t size)
{
	(void)v;
	return tl_agent_read(dst, addr, size);
}

static uint32_t symbol(struct tl_view *v, uint64_t addr, char *buf, uint32_t room, uint64_t *offset,
	uint64_t *size)
{
	(void)v;
	return tl_symbol_name(&symbols, addr, buf, room, offset, size);
}

static uint32_t image(struct tl_view *v, uint64_t addr, char *buf, uint32_t room)
{
	(void)v;
	return tl_symbol_image(&symbols, addr, buf, room);
}

static void relax(struct tl_view *v)
{
	(void)v;
	__builtin_ia32_pause();
}

static struct tl_view_ops ops;

int tl_agent_view_init(struct tl_ctl *c)
{
	const struct tl_agent_module *m = (const struct tl_agent_module *)c->env;

	if (tl_view_attach(&tl_agent_view, (void *)c->session, c->session_size,
		    (const struct tl_tap_options *)m->options))
		return -TL_E_VERSION;
	ops.join = join;
	ops.read = read_memory;
	ops.symbol = symbol;
	ops.image = image;
	ops.relax = relax;
	ops.name = name;
	tl_agent_view.ops = &ops;
	tl_agent_view.local_off = offsetof(struct tl_thread, local);
	symbols.strings = (const char *)m->strings;
	symbols.strings_size = m->strings_size;
	symbols.symbols = (const struct tl_tap_symbol *)m->symbols;
	symbols.nsymbols = m->nsymbols;
	symbols.images = (const struct tl_symbol_image *)m->images;
	symbols.nimages = m->nimages;
	tl_agent_view.images = (const uint64_t *)m->images;
	tl_agent_view.image_words = sizeof(struct tl_symbol_image) / sizeof(uint64_t);
	tl_agent_view.nimages = m->nimages;
	return 0;
}
