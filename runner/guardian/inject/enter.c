/* SPDX-License-Identifier: MIT */
/* A session's part of the target: its module, made to fit the agent, and its memory. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include <trapless/error.h>

#include "../../../home/module.h"
#include "../guardian.h"
#include "../trace/remote.h"
#include "../trace/say.h"
#include "enter.h"
#include "helper.h"
#include "inject.h"
#include "room.h"
#include "share.h"

/* One region, in this order; the module's code and data are at its start. */
struct layout {
	uint64_t header, options, strings, symbols, lines, unwind, rows, frames, images, size;
};

static struct layout plan(const struct tl_tap *m)
{
	struct layout l = {.header = tl_tap_span(m)};

	l.options = l.header + pages(sizeof(struct tl_home_module));
	l.strings = l.options + pages(sizeof(struct tl_tap_options));
	l.symbols = l.strings + pages(m->strings_size);
	l.lines = l.symbols + pages((uint64_t)m->nsymbols * sizeof(struct tl_tap_symbol) + 1);
	l.unwind = l.lines + pages((uint64_t)m->nlines * sizeof(struct tl_tap_line));
	l.rows = l.unwind + pages((uint64_t)m->nunwind * sizeof(struct tl_tap_unwind));
	l.frames = l.rows + pages((uint64_t)m->nrows * sizeof(struct tl_tap_row));
	l.images = l.frames + pages((uint64_t)m->nframes * sizeof(struct tl_tap_frame));
	l.size = l.images + pages(tl_symbol_rows(m->nimages) * sizeof(struct tl_symbol_image));
	return l;
}

static struct tl_home_module describe(const struct client *c, const struct layout *l)
{
	const struct tl_tap *m = c->mod;

	return (struct tl_home_module){
		.code = c->module_at,
		.code_size = m->code_size,
		.data = c->module_at + m->code_size,
		.data_size = m->data_size,
		.strings = c->module_at + l->strings,
		.strings_size = m->strings_size,
		.options = c->module_at + l->options,
		.symbols = c->module_at + l->symbols,
		.nsymbols = m->nsymbols,
		.lines = c->module_at + l->lines,
		.nlines = m->nlines,
		.unwind = m->nunwind ? c->module_at + l->unwind : 0,
		.rows = c->module_at + l->rows,
		.frames = c->module_at + l->frames,
		.images = c->module_at + l->images,
		.nimages = m->nimages,
	};
}

static int write_code(struct guardian *g, const struct client *c)
{
	uint8_t *buf = malloc(tl_tap_span(c->mod) + 1);
	int ret;

	if (!buf)
		return guardian_fail(g, "out of memory");
	ret = module_place(
		c->mod, c->module_at, buf, agent_export, NULL, g->error, sizeof(g->error));
	if (!ret && target_write(g, g->pid, c->module_at, buf, tl_tap_span(c->mod)))
		ret = guardian_fail(g, "cannot write the memory of process %d", g->pid);
	free(buf);
	return ret ? -1 : 0;
}

struct table {
	uint64_t at;
	const void *from;
	uint64_t size;
};

static int write_tables(struct guardian *g, const struct client *c, const struct layout *l)
{
	const struct tl_tap *m = c->mod;
	const struct tl_home_module am = describe(c, l);
	const struct table tables[] = {
		{c->module_at + l->header, &am, sizeof(am)},
		{am.options, m->options, sizeof(*m->options)},
		{am.strings, m->strings, m->strings_size},
		{am.symbols, m->symbols, m->nsymbols * sizeof(*m->symbols)},
		{am.lines, m->lines, m->nlines * sizeof(*m->lines)},
		{am.unwind, m->unwind, m->nunwind * sizeof(*m->unwind)},
		{am.rows, m->rows, m->nrows * sizeof(*m->rows)},
		{am.frames, m->frames, m->nframes * sizeof(*m->frames)},
	};
	const struct table *t;

	for (t = tables; t < tables + sizeof(tables) / sizeof(*tables); t++) {
		if (t->size && target_write(g, g->pid, t->at, t->from, t->size))
			return guardian_fail(g, "cannot write the memory of process %d", g->pid);
	}
	if (room_protect(g, am.code, am.code_size, PROT_READ | PROT_EXEC) ||
		room_protect(g, am.data, pages(am.data_size), PROT_READ))
		return -1;
	return room_protect(g, am.options, l->images - l->options, PROT_READ);
}

static int make_room(struct guardian *g, struct client *c, uint64_t size)
{
	int ret;

	g->ctl->module_size = size;
	ret = helper_command(g, TL_CMD_ENTER);
	if (ret)
		return guardian_fail(g, "process %d has no memory for the module: %s%s", g->pid,
			tl_error_text(ret), limit_next(ret == -TL_E_NOMEM ? -ENOMEM : 0));
	c->module_at = g->ctl->module_at;
	c->module_size = size;
	return 0;
}

int client_enter(struct guardian *g, struct client *c)
{
	const struct piece pieces[] = {{c->ctl_fd, c->ctl_size, &c->self, true},
		{c->memory_fd, c->memory_size, &c->memory, true}};
	const struct layout l = plan(c->mod);

	if (!c->self && share_memory(g, pieces, 2)) /* the first one's came with the agent */
		return -1;
	if (make_room(g, c, l.size) || write_code(g, c) || write_tables(g, c, &l))
		return -1;
	c->strings_at = c->module_at + l.strings;
	c->symbol_images = c->module_at + l.images;
	c->ctl->module = c->module_at + l.header;
	c->ctl->memory = c->memory;
	g->ctl->arming.sessions[c->slot] = c->self;
	c->entered = true;
	return 0;
}
