/* SPDX-License-Identifier: MIT */
/*
 * Putting the agent into the target and taking it out again. All calls are
 * made by the helper thread while it is held; no thread of the program works
 * for us here. No paths: shared memory goes over as descriptors through a
 * socket pair that the helper makes.
 */
#define _GNU_SOURCE
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../../agent/header.h"
#include "../passing.h"
#include "../proc.h"
#include "guardian.h"

#ifndef SYS_pidfd_open
#define SYS_pidfd_open	434
#define SYS_pidfd_getfd 438
#endif

extern const uint8_t tl_agent_elf[], tl_agent_elf_end[];

enum { PAGE = 4096, STACK = 512 * 1024 };

static uint64_t pages(uint64_t size)
{
	return (size + PAGE - 1) & ~(uint64_t)(PAGE - 1);
}

struct layout {
	uint64_t base, image, stack, module, header, strings, symbols, images, options, size;
};

static const Elf64_Ehdr *agent_ehdr(void)
{
	return (const void *)tl_agent_elf;
}

static const Elf64_Phdr *agent_phdr(unsigned i)
{
	return (const Elf64_Phdr *)(tl_agent_elf + agent_ehdr()->e_phoff) + i;
}

static void plan_layout(struct guardian *g, struct layout *l)
{
	const struct module *m = g->mod;
	uint64_t end = 0;
	unsigned i;

	for (i = 0; i < agent_ehdr()->e_phnum; i++) {
		const Elf64_Phdr *p = agent_phdr(i);

		if (p->p_type == PT_LOAD && p->p_vaddr + p->p_memsz > end)
			end = p->p_vaddr + p->p_memsz;
	}
	l->image = pages(end);
	l->stack = l->image + PAGE; /* behind a closed page */
	l->module = l->stack + STACK;
	l->header = l->module + module_span(m);
	l->options = l->header + pages(sizeof(struct tl_agent_module));
	l->strings = l->options + pages(sizeof(struct tl_tap_options));
	l->symbols = l->strings + pages(m->strings_size);
	l->images = l->symbols + pages((uint64_t)m->nsymbols * sizeof(struct tl_tap_symbol) + 1);
	l->size = l->images + pages((uint64_t)m->nimages * sizeof(struct tl_symbol_image) + 1);
}

/* The agent as it stands at `base`: segments copied, relative relocations done. */
static int agent_image(uint8_t *buf, uint64_t base)
{
	const Elf64_Dyn *dyn = NULL;
	uint64_t rela = 0, size = 0, i;
	unsigned n;

	for (n = 0; n < agent_ehdr()->e_phnum; n++) {
		const Elf64_Phdr *p = agent_phdr(n);

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
	for (i = 0; i < size / sizeof(Elf64_Rela); i++) {
		const Elf64_Rela *r = (const Elf64_Rela *)(buf + rela) + i;
		uint64_t value = base + (uint64_t)r->r_addend;

		if (ELF64_R_TYPE(r->r_info) != R_X86_64_RELATIVE)
			return -1;
		memcpy(buf + r->r_offset, &value, sizeof(value));
	}
	return 0;
}

struct exports {
	const uint8_t *image;
	uint64_t base, table, count, size;
};

static uint64_t find_export(void *arg, const char *name)
{
	const struct exports *e = arg;
	uint64_t pair[2], i;

	for (i = 0; i < e->count; i++) {
		memcpy(pair, e->image + (e->table - e->base) + i * sizeof(pair), sizeof(pair));
		if (!strcmp((const char *)e->image + (pair[0] - e->base), name))
			return pair[1];
	}
	return 0;
}

static int protect(struct guardian *g, uint64_t at, uint64_t size, int prot)
{
	long ret = size ? remote_call(g, g->helper, SYS_mprotect, at, size, (uint64_t)prot, 0, 0, 0)
			: 0;

	return ret ? guardian_fail(g,
			     "process %d may not have new executable memory (%s): a security "
			     "policy "
			     "forbids it",
			     g->pid, strerror((int)-ret))
		   : 0;
}

/* Those that nobody writes: the code (PF_X), or the others (0). */
static int protect_segments(struct guardian *g, uint64_t base, uint32_t code)
{
	unsigned i;

	for (i = 0; i < agent_ehdr()->e_phnum; i++) {
		const Elf64_Phdr *p = agent_phdr(i);
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
	g->agent_entry = h->entry;
	g->ctl->journal = h->journal;
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

static int write_module(struct guardian *g, const struct layout *l, const uint8_t *image)
{
	const struct module *m = g->mod;
	const struct tl_agent_header *h = (const void *)(image + agent_ehdr()->e_entry);
	struct exports e = {image, l->base, h->exports, 0, l->image};
	struct tl_agent_module am = {
		.code = l->base + l->module,
		.code_size = m->code_size,
		.data = l->base + l->module + m->code_size,
		.data_size = m->data_size,
		.strings = l->base + l->strings,
		.strings_size = m->strings_size,
		.options = l->base + l->options,
		.symbols = l->base + l->symbols,
		.nsymbols = m->nsymbols,
		.images = l->base + l->images,
		.nimages = m->nimages,
	};
	uint32_t count;
	uint8_t *buf;
	int ret;

	memcpy(&count, image + (h->nexports - l->base), sizeof(count));
	e.count = count;
	buf = malloc(module_span(m) + 1);
	if (!buf)
		return guardian_fail(g, "out of memory");
	ret = module_place(m, am.code, buf, find_export, &e, g->error, sizeof(g->error));
	if (!ret)
		ret = target_write(g, g->pid, am.code, buf, module_span(m));
	free(buf);
	if (ret || target_write(g, g->pid, l->base + l->header, &am, sizeof(am)) ||
		target_write(g, g->pid, am.options, m->options, sizeof(*m->options)) ||
		target_write(g, g->pid, am.strings, m->strings, m->strings_size) ||
		(m->nsymbols && target_write(g, g->pid, am.symbols, m->symbols,
					m->nsymbols * sizeof(*m->symbols))))
		return g->error[0]
			       ? -1
			       : guardian_fail(g, "cannot write the memory of process %d", g->pid);
	if (protect(g, am.code, m->code_size, PROT_READ | PROT_EXEC) ||
		protect(g, am.data, pages(am.data_size), PROT_READ) ||
		protect(g, l->base + l->options, l->images - l->options, PROT_READ))
		return -1;
	g->module_at = am.code;
	g->strings_at = am.strings;
	g->symbol_images = am.images;
	g->ctl->env = l->base + l->header;
	return 0;
}

/* --- shared memory ---------------------------------------------------------------- */

/* A recvmsg() by the helper, its structures in the helper's own stack. */
static int recv_fds(struct guardian *g, int sock, uint64_t room, int *fds)
{
	struct {
		struct msghdr msg;
		struct iovec iov;
		char byte, pad[15];
		char control[CMSG_SPACE(2 * sizeof(int))];
	} r;
	long ret;

	memset(&r, 0, sizeof(r));
	r.iov.iov_base = (void *)(room + offsetof(__typeof__(r), byte));
	r.iov.iov_len = 1;
	r.msg.msg_iov = (void *)(room + offsetof(__typeof__(r), iov));
	r.msg.msg_iovlen = 1;
	r.msg.msg_control = (void *)(room + offsetof(__typeof__(r), control));
	r.msg.msg_controllen = sizeof(r.control);
	if (target_write(g, g->pid, room, &r, sizeof(r)))
		return -EFAULT;
	ret = remote_call(g, g->helper, SYS_recvmsg, (uint64_t)sock, room,
		MSG_CMSG_CLOEXEC | MSG_DONTWAIT, 0, 0, 0);
	if (ret != 1)
		return ret < 0 ? (int)ret : -EIO;
	target_read(g, g->pid, room, &r, sizeof(r));
	memcpy(fds, r.control + CMSG_LEN(0), 2 * sizeof(int));
	return 0;
}

static void remote_close(struct guardian *g, int fd)
{
	if (fd >= 0)
		remote_call(g, g->helper, SYS_close, (uint64_t)fd, 0, 0, 0, 0, 0);
}

static int take_end(struct guardian *g, int fd)
{
	/* Of a process whose first thread has ended only another thread shows the descriptors. */
	int pidfd = (int)syscall(SYS_pidfd_open, g->helper->tid, O_EXCL /* PIDFD_THREAD */), got,
	    err;

	if (pidfd < 0)
		pidfd = (int)syscall(SYS_pidfd_open, g->pid, 0);

	if (pidfd < 0)
		return -errno;
	got = (int)syscall(SYS_pidfd_getfd, pidfd, fd, 0);
	err = errno;
	close(pidfd);
	return got < 0 ? -err : got;
}

static int map_shared(struct guardian *g, int fd, uint64_t size, uint64_t *at)
{
	long ret = remote_call(g, g->helper, SYS_mmap, 0, size, PROT_READ | PROT_WRITE, MAP_SHARED,
		(uint64_t)fd, 0);

	if (ret < 0 && ret > -4096)
		return (int)ret;
	*at = (uint64_t)ret;
	return 0;
}

static int share_memory(struct guardian *g, uint64_t room)
{
	int pair[2] = {-1, -1}, fds[2] = {-1, -1}, mine = -1;
	long ret;

	ret = remote_call(
		g, g->helper, SYS_socketpair, AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, room, 0, 0);
	if (!ret && target_read(g, g->pid, room, pair, sizeof(pair)) != sizeof(pair))
		ret = -EFAULT;
	if (!ret)
		ret = mine = take_end(g, pair[0]);
	if (ret >= 0)
		ret = pass(mine, NULL, "", 1, (int[]){g->session_fd, g->ctl_fd}, 2);
	if (ret >= 0)
		ret = recv_fds(g, pair[1], room, fds);
	remote_close(g, pair[0]);
	remote_close(g, pair[1]);
	if (ret >= 0) /* from here on others find what we leave */
		ret = map_shared(g, fds[1], g->ctl_size, &g->ctl->self);
	if (ret >= 0)
		ret = map_shared(g, fds[0], g->ctl->session_size, &g->ctl->session);
	remote_close(g, fds[0]);
	remote_close(g, fds[1]);
	if (mine >= 0)
		close(mine);
	return ret < 0 ? guardian_fail(g, "process %d could not be given the session's memory: %s",
				 g->pid, strerror((int)-ret))
		       : 0;
}

/* --- in and out ------------------------------------------------------------------------- */

/* Forgotten first: a child that is born meanwhile may have something of its own there. */
static void unmap(struct guardian *g, uint64_t *at, uint64_t size)
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

/* Needs the helper, held. Leaves it held, and the agent ready for commands. */
int inject(struct guardian *g)
{
	struct layout l;
	uint8_t *image;
	long at;
	int ret;

	plan_layout(g, &l);
	at = remote_call(g, g->helper, SYS_mmap, 0, l.size, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, ~0ull, 0);
	if (at < 0 && at > -4096)
		return guardian_fail(g, "process %d has no memory for the agent: %s", g->pid,
			strerror((int)-at));
	l.base = (uint64_t)at;
	g->ctl->agent = l.base;
	g->ctl->agent_size = l.size;
	g->ctl->fsgsbase = getauxval(AT_HWCAP2) >> 1 & 1;
	g->ctl->shadow_stack = has_shadow_stack(g);
	g->ctl->patching = g->patching;
	g->stack_top = l.base + l.stack + STACK - 64;
	image = calloc(1, l.image);
	if (!image)
		return guardian_fail(g, "out of memory");
	ret = write_agent(g, &l, image);
	if (!ret)
		ret = share_memory(g, l.base + l.stack + STACK / 2);
	if (!ret)
		ret = write_module(g, &l, image);
	free(image);
	g->injected = true;
	return ret;
}

/* An agent whose code is mapped at `code`, of this release: where its region begins; 0: there is none. */
uint64_t agent_region(struct guardian *g, uint64_t code, uint64_t *size)
{
	struct tl_agent_header h;
	unsigned i;

	for (i = 0; i < agent_ehdr()->e_phnum; i++) {
		const Elf64_Phdr *p = agent_phdr(i);
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

/* Give back what is ours in the target; the helper does it and is all that is left. How many pieces stay. */
int eject(struct guardian *g)
{
	struct tl_ctl *c = g->ctl;
	uint32_t i;

	/* Whoever is in any code of ours may use any data of ours: all or nothing. */
	if (quiet(g, 0, ~0ull, NULL))
		return 1;
	births_settle(g);
	for (i = 0; i < ctl_areas(g); i++) {
		struct tl_ctl_area *a = &c->areas[i];
		uint64_t size = a->size;

		if (!size)
			continue;
		if (!g->helper) /* the process ends under our hands */
			return 1;
		a->size = 0;
		unmap(g, &a->lo, size);
	}
	unmap(g, &c->session, c->session_size);
	g->agent_call = 0;
	unmap(g, &c->agent, c->agent_size);
	unmap(g, &c->self, g->ctl_size);
	g->ask = (struct handler_places){0};
	g->injected = false;
	return 0;
}
