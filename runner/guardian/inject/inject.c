/* SPDX-License-Identifier: MIT */
/*
 * Putting the agent into the target and taking it out again. All calls are
 * made by the helper thread while it is held; no thread of the program works
 * for us here.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "../../../agent/header.h"
#include "../../base/proc.h"
#include "../../base/word.h"
#include "../guardian.h"
#include "../trace/births.h"
#include "../trace/quiet.h"
#include "../trace/remote.h"
#include "../trace/say.h"
#include "../trace/threads.h"
#include "image.h"
#include "inject.h"
#include "room.h"
#include "share.h"
#include "unmap.h"

static const struct tl_agent_header *header_in(const uint8_t *image)
{
	return (const void *)(image + agent_ehdr()->e_entry);
}

static uint8_t *standing; /* the agent as it stands in the target */

uint64_t agent_export(void *unused, const char *name)
{
	const struct tl_agent_header *h = header_in(standing);
	uint64_t pair[2];
	uint32_t count, i;

	(void)unused;
	memcpy(&count, standing + (h->nexports - h->base), sizeof(count));
	for (i = 0; i < count; i++) {
		memcpy(pair, standing + (h->exports - h->base) + i * sizeof(pair), sizeof(pair));
		if (!strcmp((const char *)standing + (pair[0] - h->base), name))
			return pair[1];
	}
	return 0;
}

/* Those that nobody writes: the code (PF_X), or the others (0). */
static int protect_segments(struct guardian *g, uint64_t base, uint32_t code)
{
	unsigned i;

	for (i = 0; i < agent_ehdr()->e_phnum; i++) {
		const Elf_Phdr *p = agent_phdr(i);
		int prot = PROT_READ | (code ? PROT_EXEC : 0);
		uint64_t lo = p->p_vaddr & ~(uint64_t)(PAGE - 1);

		if (p->p_type == PT_LOAD && !(p->p_flags & PF_W) && (p->p_flags & PF_X) == code &&
			room_protect(g, base + lo, pages(p->p_vaddr + p->p_memsz) - lo, prot))
			return -1;
	}
	return 0;
}

static int write_agent(struct guardian *g, const struct agent_layout *l, uint8_t *buf)
{
	struct tl_agent_header *h = (void *)(buf + agent_ehdr()->e_entry);

	if (agent_image(buf, l->base) || h->magic != TL_AGENT_MAGIC)
		return guardian_fail(g, "the agent inside trapless-run is damaged: build it again");
	h->base = l->base;
	h->size = l->size;
	g->ctl->journal = h->journal;
	g->ctl->opened = h->opened;
	g->ctl->gate = h->gate;
	g->ctl->marker = h->marker;
	g->ask = (struct handler_places){h->ask, h->peek, h->peek_end, h->peek_fault};
	if (target_write(g, g->pid, l->base, buf, l->image))
		return guardian_fail(g, "cannot write the memory of process %d", g->pid);
	if (protect_segments(g, l->base, PF_X)) /* first: the helper is to stand on it */
		return -1;
	g->agent_call = h->call;
	if (protect_segments(g, l->base, 0))
		return -1;
	return room_protect(g, l->base + l->image, PAGE, PROT_NONE);
}

static bool has_shadow_stack(struct guardian *g)
{
	char status[PROC_TEXT];

	return proc_read_of(eye_of(g), "status", status, sizeof(status)) > 0 &&
	       machine_has_shadow_stack(status);
}

/* Needs the helper, held, and the agent's room. Leaves it held, and the agent ready for commands. */
int agent_inject(struct guardian *g, struct client *c)
{
	const struct piece pieces[] = {{g->ctl_fd, g->ctl_size, &g->ctl->self, false},
		{c->ctl_fd, c->ctl_size, &c->self, true},
		{c->memory_fd, c->memory_size, &c->memory, true}};
	struct agent_layout l;
	int ret;

	agent_plan(&l);
	l.base = g->ctl->agent;
	g->ctl->fsgsbase = machine_sets_thread_pointer();
	g->ctl->shadow_stack = has_shadow_stack(g);
	g->ctl->arming.patching = g->patching;
	standing = calloc(1, l.image);
	if (!standing)
		return guardian_fail(g, "out of memory");
	ret = write_agent(g, &l, standing);
	if (!ret)
		ret = share_memory(g, pieces, PIECES_MAX);
	if (!ret)
		g->agent_entry = header_in(standing)->entry;
	return ret;
}

/* An agent whose code is mapped at `code`, of this release: where its region begins; 0: there is none. */
uint64_t agent_region(struct guardian *g, uint64_t code, uint64_t *size)
{
	struct tl_agent_header h;
	unsigned i;

	for (i = 0; i < agent_ehdr()->e_phnum; i++) {
		const Elf_Phdr *p = agent_phdr(i);
		uint64_t base = code - (p->p_vaddr & ~(uint64_t)(PAGE - 1));

		if (p->p_type != PT_LOAD || !(p->p_flags & PF_X) ||
			target_read(g, g->pid, base + agent_ehdr()->e_entry, &h, sizeof(h)) !=
				sizeof(h) ||
			h.magic != TL_AGENT_MAGIC || h.base != base)
			continue;
		*size = h.size;
		return base;
	}
	return 0;
}

/* The helper makes its calls there from now on, and ends behind them, whoever is killed. */
void agent_calls(struct guardian *g, uint64_t code)
{
	const struct machine_insn *begin = &machine.agent_call;
	uint8_t now[INSN_BYTES];
	struct tl_agent_header h;
	uint64_t size;

	if (agent_region(g, code, &size) != g->ctl->agent || size != g->ctl->agent_size ||
		target_read(g, g->pid, g->ctl->agent + agent_ehdr()->e_entry, &h, sizeof(h)) !=
			sizeof(h) ||
		target_read(g, g->pid, h.call, now, begin->size) != begin->size ||
		memcmp(now, begin->bytes, begin->size) != 0)
		return;
	g->agent_call = h.call;
	g->stack_top = g->ctl->agent + size - 64;
}

/* Give back what is ours in the target; the helper does it and is all that is left. How many pieces stay. */
int agent_eject(struct guardian *g)
{
	struct tl_ctl *c = g->ctl;
	const struct client *client;

	/* Whoever is in any code of ours may use any data of ours: all or nothing. */
	if (quiet_in(g, 0, ~0ull, NULL))
		return 1;
	births_settle(g);
	for (client = g->clients; client && g->helper; client = client->next)
		client_flatten(g, client);
	if (areas_unmap(g, NULL))
		return 1;
	g->agent_call = 0;
	room_unmap(g, &c->agent, c->agent_size);
	room_unmap(g, &c->self, g->ctl_size);
	g->ask = (struct handler_places){0};
	g->injected = false;
	return 0;
}
