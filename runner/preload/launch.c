/* SPDX-License-Identifier: MIT */
/* What a program needs that is to load the agent by itself: files, memory, environment. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "../patching.h"
#include "../../home/control.h"
#include "../../home/symbols.h"
#include "preload.h"

extern const uint8_t tl_preload_elf[], tl_preload_elf_end[];

enum { PAGE = 4096, FD_FROM = 100 };

static int fail(const char *what)
{
	fprintf(stderr, "trapless-run: %s: %s\n", what, strerror(errno));
	return -1;
}

/* Numbers that shells and programs do not reckon with, as far as there are such. */
static int move_up(int fd)
{
	struct rlimit lim;
	int up = -1;

	if (fd < 0)
		return fd;
	if (!getrlimit(RLIMIT_NOFILE, &lim))
		up = fcntl(fd, F_DUPFD_CLOEXEC, lim.rlim_cur > FD_FROM + 16 ? FD_FROM : 0);
	if (up < 0)
		return fd;
	close(fd);
	return up;
}

static int write_whole(int fd, const uint8_t *from, size_t size)
{
	while (size) {
		ssize_t n = write(fd, from, size);

		if (n <= 0)
			return -1;
		from += n;
		size -= (size_t)n;
	}
	return 0;
}

/* May such a file be executed? A policy may forbid it (vm.memfd_noexec). */
static bool executable(int fd)
{
	void *at = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);

	if (at == MAP_FAILED)
		return false;
	munmap(at, PAGE);
	return true;
}

static int agent_file(struct preload *pl)
{
	pl->agent_fd = move_up(memfd_create("trapless-agent", MFD_CLOEXEC));
	if (pl->agent_fd < 0 || write_whole(pl->agent_fd, tl_preload_elf,
					(size_t)(tl_preload_elf_end - tl_preload_elf)))
		return fail("cannot make a file for the agent");
	if (!executable(pl->agent_fd))
		return fail("a security policy forbids to execute files in memory, which "
			    "--preload needs");
	return 0;
}

/* --- the memory -------------------------------------------------------------------- */

static uint64_t pages(uint64_t size)
{
	return (size + PAGE - 1) & ~(uint64_t)(PAGE - 1);
}

static void plan(struct tl_preload *p, const struct session *s)
{
	const struct tl_tap *m = s->mod;

	p->magic = TL_PRELOAD_MAGIC;
	p->version = TL_CTL_VERSION;
	p->session_size = s->size;
	p->ctl_at = pages(sizeof(*p));
	p->probes_at = p->ctl_at + pages(sizeof(struct tl_ctl));
	p->images_at = p->probes_at + pages(tl_ctl_session_size(m->nprobes, m->nparts));
	p->module_at =
		p->images_at + pages(tl_symbol_rows(m->nimages) * sizeof(struct tl_symbol_image));
	p->module_size = m->size;
	p->size = p->module_at + pages(m->size);
}

static struct tl_preload_table table(const struct tl_tap *m, const void *at, uint64_t count)
{
	return (struct tl_preload_table){at ? (uint64_t)((const uint8_t *)at - m->file) : 0, count};
}

static void describe_module(struct tl_preload *p, const struct tl_tap *m)
{
	p->module = (struct tl_preload_module){
		.strings = table(m, m->strings, m->strings_size),
		.images = table(m, m->images, m->nimages),
		.probes = table(m, m->probes, m->nprobes),
		.parts = table(m, m->parts, m->nparts),
		.code = table(m, m->code, m->code_size),
		.data = table(m, m->data, m->data_size),
		.relocs = table(m, m->relocs, m->nrelocs),
		.imports = table(m, m->imports, m->nimports),
		.options = table(m, m->options, 1),
		.symbols = table(m, m->symbols, m->nsymbols),
		.lines = table(m, m->lines, m->nlines),
		.unwind = table(m, m->unwind, m->nunwind),
		.rows = table(m, m->rows, m->nrows),
		.frames = table(m, m->frames, m->nframes),
	};
}

static void fill(struct tl_preload *p, const struct session *s, const struct options *o)
{
	struct tl_ctl *c = (struct tl_ctl *)((char *)p + p->ctl_at);
	struct tl_ctl_session *probes = (struct tl_ctl_session *)((char *)p + p->probes_at);
	struct tl_symbol_image *images = (struct tl_symbol_image *)((char *)p + p->images_at);
	const struct tl_tap *m = s->mod;
	uint32_t i;

	p->traps_only = (uint32_t)o->traps_only;
	c->magic = TL_CTL_MAGIC;
	c->version = TL_CTL_VERSION;
	c->size = sizeof(*c);
	c->arming.jump = !o->traps_only;
	c->arming.patching = patching_chosen();
	probes->memory_size = p->session_size;
	probes->nprobes = m->nprobes;
	probes->nparts = m->nparts;
	probes->explain = o->explain || o->verbose;
	for (i = 0; i < m->nimages; i++)
		images[i] = (struct tl_symbol_image){.path = m->images[i].path, .image = i};
	memcpy((char *)p + p->module_at, m->file, m->size);
}

static int memory(struct preload *pl, struct session *s, const struct options *o)
{
	struct tl_preload head;

	memset(&head, 0, sizeof(head));
	plan(&head, s);
	describe_module(&head, s->mod);
	head.agent_fd = pl->agent_fd;
	head.session_fd = s->fd = move_up(s->fd);
	pl->fd = move_up(memfd_create("trapless", MFD_CLOEXEC));
	if (pl->fd < 0 || ftruncate(pl->fd, (off_t)head.size))
		return fail("cannot make the control block");
	pl->mem = mmap(NULL, head.size, PROT_READ | PROT_WRITE, MAP_SHARED, pl->fd, 0);
	if (pl->mem == MAP_FAILED)
		return fail("cannot map the control block");
	*pl->mem = head;
	fill(pl->mem, s, o);
	return 0;
}

int preload_prepare(struct preload *pl, struct session *s, const struct options *o)
{
	char why[512];

	if (preload_check(s->mod, o, why, sizeof(why))) {
		fprintf(stderr, "trapless-run: %s\n", why);
		return -1;
	}
	return agent_file(pl) || memory(pl, s, o) ? -1 : 0;
}

/* --- in the child --------------------------------------------------------------------- */

static int keep(int fd)
{
	return fcntl(fd, F_SETFD, 0);
}

int preload_enter(const struct preload *pl)
{
	const char *theirs = getenv("LD_PRELOAD");
	char number[16], *value;

	if (theirs && !*theirs)
		theirs = NULL;
	snprintf(number, sizeof(number), "%d", pl->fd);
	if (asprintf(&value, "/proc/self/fd/%d%s%s", pl->agent_fd, theirs ? ":" : "",
		    theirs ? theirs : "") < 0)
		return -1;
	if (setenv("LD_PRELOAD", value, 1) || setenv(TL_PRELOAD_VARIABLE, number, 1) ||
		(theirs && setenv(TL_PRELOAD_USER, "1", 1)))
		return -1;
	return keep(pl->agent_fd) || keep(pl->fd) || keep(pl->mem->session_fd) ? -1 : 0;
}
