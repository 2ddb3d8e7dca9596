/* SPDX-License-Identifier: MIT */
/*
 * Putting the agent into the target and taking it out again. All calls are
 * made by the helper thread while it is held; no thread of the program works
 * for us here.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../../agent/header.h"
#include "../../base/joining.h"
#include "../../base/proc.h"
#include "../../machine/calls.h"
#include "../../base/word.h"
#include "../guardian.h"
#include "../family/children.h"
#include "../trace/quiet.h"
#include "../trace/remote.h"
#include "../trace/seize.h"
#include "areas.h"
#include "enter.h"
#include "foothold.h"
#include "inject.h"
#include "share.h"

extern const uint8_t tl_agent_elf[], tl_agent_elf_end[];

uint64_t agent_checksum(void)
{
	uint64_t sum = 0xcbf29ce484222325ull; /* FNV-1a */
	const uint8_t *p;

	for (p = tl_agent_elf; p < tl_agent_elf_end; p++)
		sum = (sum ^ *p) * 0x100000001b3ull;
	return sum;
}

struct layout {
	uint64_t base, image, stack, size;
};

static const ElfW(Ehdr) * agent_ehdr(void)
{
	return (const void *)tl_agent_elf;
}

static const ElfW(Phdr) * agent_phdr(unsigned i)
{
	return (const ElfW(Phdr) *)(tl_agent_elf + agent_ehdr()->e_phoff) + i;
}

static void plan_layout(struct layout *l)
{
	uint64_t end = 0;
	unsigned i;

	for (i = 0; i < agent_ehdr()->e_phnum; i++) {
		const ElfW(Phdr) *p = agent_phdr(i);

		if (p->p_type == PT_LOAD && p->p_vaddr + p->p_memsz > end)
			end = p->p_vaddr + p->p_memsz;
	}
	l->image = pages(end);
	l->stack = l->image + PAGE; /* behind a closed page */
	l->size = l->stack + HELPER_STACK;
}

/* The agent as it stands at `base`: segments copied, relative relocations done. */
static int agent_image(uint8_t *buf, uint64_t base)
{
	const ElfW(Dyn) *dyn = NULL;
	uint64_t rela = 0, size = 0, i;
	unsigned n;

	for (n = 0; n < agent_ehdr()->e_phnum; n++) {
		const ElfW(Phdr) *p = agent_phdr(n);

		if (p->p_type == PT_LOAD)
			memcpy(buf + p->p_vaddr, tl_agent_elf + p->p_offset, p->p_filesz);
		if (p->p_type == PT_DYNAMIC)
			dyn = (const void *)(tl_agent_elf + p->p_offset);
	}
	for (; dyn && dyn->d_tag != DT_NULL; dyn++) {
		if (dyn->d_tag == DT_RELA)
			rela = dyn->d_un.d_ptr;
		else if (dyn->d_tag == DT_RELASZ)
			size = dyn->d_un.d_val;
	}
	for (i = 0; i < size / sizeof(ElfW(Rela)); i++) {
		const ElfW(Rela) *r = (const ElfW(Rela) *)(buf + rela) + i;
		uint64_t value = base + (uint64_t)r->r_addend;

		if (WORD_R_TYPE(r->r_info) != machine.relative)
			return -1;
		memcpy(buf + r->r_offset, &value, sizeof(value));
	}
	return 0;
}

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

int protect(struct guardian *g, uint64_t at, uint64_t size, int prot)
{
	long ret = size ? remote_call(g, g->helper, SYS_mprotect, at, size, (uint64_t)prot, 0, 0, 0)
			: 0;

	if (ret == -ESRCH)
		return guardian_fail(g, "process %d has ended", g->pid);
	if (!ret)
		return 0;
	return guardian_fail(g,
		"process %d may not have new executable memory (%s): its service's settings "
		"(MemoryDenyWriteExecute=), a security policy, or it itself (PR_SET_MDWE) forbid "
		"it: lift the rule, or start the program with -c, to be there before it does so",
		g->pid, strerror((int)-ret));
}

/* Those that nobody writes: the code (PF_X), or the others (0). */
static int protect_segments(struct guardian *g, uint64_t base, uint32_t code)
{
	unsigned i;

	for (i = 0; i < agent_ehdr()->e_phnum; i++) {
		const ElfW(Phdr) *p = agent_phdr(i);
		int prot = PROT_READ | (code ? PROT_EXEC : 0);
		uint64_t lo = p->p_vaddr & ~(uint64_t)(PAGE - 1);

		if (p->p_type == PT_LOAD && !(p->p_flags & PF_W) && (p->p_flags & PF_X) == code &&
			protect(g, base + lo, pages(p->p_vaddr + p->p_memsz) - lo, prot))
			return -1;
	}
	return 0;
}

static int write_agent(struct guardian *g, const struct layout *l, uint8_t *buf)
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
	return protect(g, l->base + l->image, PAGE, PROT_NONE);
}

/* --- in and out ------------------------------------------------------------------------- */

/* Forgotten first: a child that is born meanwhile may have something of its own there. */
void unmap(struct guardian *g, uint64_t *at, uint64_t size)
{
	uint64_t lo = *at;

	*at = 0;
	if (lo && g->helper)
		remote_call(g, g->helper, SYS_munmap, lo, size, 0, 0, 0, 0);
}

static bool has_shadow_stack(struct guardian *g)
{
	char status[PROC_TEXT];
	const char *features;

	if (proc_read_of(eye_of(g), "status", status, sizeof(status)) <= 0)
		return false;
	features = proc_field(status, "x86_Thread_features");
	return features && !strncmp(features + strspn(features, " \t"), "shstk", 5);
}

int agent_room(struct guardian *g)
{
	struct layout l;
	long at;

	plan_layout(&l);
	at = remote_call(g, g->helper, SYS_mmap, 0, l.size, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, ~0ull, 0);
	if (at < 0 && at > -4096)
		return guardian_fail(g, "process %d has no memory for the agent: %s%s", g->pid,
			strerror((int)-at), limit_next(at));
	g->injected = true;
	g->agent_entry = 0; /* until it can be asked: before that, calls alone give all back */
	g->ctl->agent = (uint64_t)at;
	g->ctl->agent_size = l.size;
	g->stack_top = (uint64_t)at + l.size - 64;
	foothold_of_helper(g, g->helper, g->stack_top - PAGE);
	return 0;
}

/* Needs the helper, held, and the agent's room. Leaves it held, and the agent ready for commands. */
int inject(struct guardian *g, struct client *c)
{
	const struct piece pieces[] = {{g->ctl_fd, g->ctl_size, &g->ctl->self, false},
		{c->ctl_fd, c->ctl_size, &c->self, true},
		{c->memory_fd, c->memory_size, &c->memory, true}};
	struct layout l;
	int ret;

	plan_layout(&l);
	l.base = g->ctl->agent;
	g->ctl->fsgsbase = getauxval(AT_HWCAP2) >> 1 & 1;
	g->ctl->shadow_stack = has_shadow_stack(g);
	g->ctl->patching = g->patching;
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
		const ElfW(Phdr) *p = agent_phdr(i);
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
	const uint8_t begin[] = {0x0f, 0x05, 0xb8, 0x3c}; /* tl_agent_call */
	uint8_t now[sizeof(begin)];
	struct tl_agent_header h;
	uint64_t size;

	if (agent_region(g, code, &size) != g->ctl->agent || size != g->ctl->agent_size ||
		target_read(g, g->pid, g->ctl->agent + agent_ehdr()->e_entry, &h, sizeof(h)) !=
			sizeof(h) ||
		target_read(g, g->pid, h.call, now, sizeof(now)) != sizeof(now) ||
		memcmp(now, begin, sizeof(begin)) != 0)
		return;
	g->agent_call = h.call;
	g->stack_top = g->ctl->agent + size - 64;
}

/* Give back what is ours in the target; the helper does it and is all that is left. How many pieces stay. */
int eject(struct guardian *g)
{
	struct tl_ctl *c = g->ctl;
	const struct client *client;

	/* Whoever is in any code of ours may use any data of ours: all or nothing. */
	if (quiet(g, 0, ~0ull, NULL))
		return 1;
	births_settle(g);
	for (client = g->clients; client && g->helper; client = client->next)
		client_flatten(g, client);
	if (areas_unmap(g, NULL))
		return 1;
	g->agent_call = 0;
	unmap(g, &c->agent, c->agent_size);
	unmap(g, &c->self, g->ctl_size);
	g->ask = (struct handler_places){0};
	g->injected = false;
	return 0;
}
