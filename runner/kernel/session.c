/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <trapless/error.h>

#include "../../kmod/device.h"
#include "../base/notes.h"
#include "../zone.h"
#include "device.h"

static int fail(struct session *s, const char *what, const char *next)
{
	snprintf(s->why, sizeof(s->why), "%s: %s%s", what, strerror(errno), next);
	return -1;
}

static int refused(struct session *s, const struct tl_device_load *l)
{
	snprintf(s->why, sizeof(s->why),
		"the kernel does not take the module [%s]: %s%s%.60s%s; %s",
		tl_error_name(l->error), tl_error_text(l->error), *l->missing ? " (" : "",
		l->missing, *l->missing ? ")" : "", tl_error_next(l->error));
	return -1;
}

static int load(struct session *s, struct tl_device_load *l)
{
	int64_t offset = 0;

	*l = (struct tl_device_load){.version = TL_DEVICE_VERSION,
		.file = (uintptr_t)s->mod->file,
		.size = s->mod->size};
	zone_now(&offset, l->tz_name);
	l->tz_offset = offset;
	if (ioctl(s->fd, TL_DEVICE_LOAD, l))
		return fail(s, "cannot bring the module into the kernel", "");
	return l->error ? refused(s, l) : 0;
}

/* What the kernel's side does not do yet. */
static int check_kinds(struct session *s)
{
	for (uint32_t i = 0; i < s->mod->nprobes; i++) {
		const struct tl_tap_probe *p = &s->mod->probes[i];

		if (p->kind < TL_TAP_PROCESS_BEGIN || p->kind > TL_TAP_THREAD_END)
			continue;
		snprintf(s->why, sizeof(s->why), "%s: not for kernels yet; leave this probe out",
			tl_tap_string(s->mod, p->point));
		return -1;
	}
	return 0;
}

struct build_id {
	uint8_t at[BUILD_ID_MAX];
	size_t n;
};

static void take_id(void *arg, uint32_t type, const char *name, const uint8_t *desc, size_t n)
{
	struct build_id *id = arg;
	size_t got = note_build_id(id->at, type, name, desc, n);

	if (got)
		id->n = got;
}

/* n 0: it does not tell. */
static struct build_id id_of_kernel(void)
{
	struct build_id id = {.n = 0};
	uint8_t notes[4096];
	int fd = open("/sys/kernel/notes", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, notes, sizeof(notes));

	if (fd >= 0)
		close(fd);
	if (n > 0)
		notes_each(notes, (size_t)n, take_id, &id);
	return id;
}

/* Its offsets of fields and its functions are those of the kernel that it was compiled for. */
static int check_kernel(struct session *s)
{
	const struct build_id here = id_of_kernel();
	struct utsname u;

	for (uint32_t i = 0; here.n && i < s->mod->nimages; i++) {
		const struct tl_tap_image *m = &s->mod->images[i];

		if (!(m->flags & TL_TAP_IMAGE_KERNEL) || !m->build_id_len ||
			strcmp(tl_tap_string(s->mod, m->path), "kernel"))
			continue;
		if (m->build_id_len == here.n && !memcmp(m->build_id, here.at, here.n))
			continue;
		snprintf(s->why, sizeof(s->why),
			"this module was made for another kernel [%s]; next: compile it for this "
			"one (-r %.64s)",
			tl_error_name(-TL_E_BUILD_ID), uname(&u) ? "RELEASE" : u.release);
		return -1;
	}
	return 0;
}

static void live(struct session *s, bool on)
{
	uint32_t number = on;

	ioctl(s->fd, TL_DEVICE_LIVE, &number);
}

static void run_value(const struct session *s, uint32_t probe, struct tl_value_text *text)
{
	struct tl_device_value v = {.probe = probe,
		.len = text->len,
		.room = text->room,
		.text = (uintptr_t)text->text};

	if (!ioctl(s->fd, TL_DEVICE_RUN_VALUE, &v))
		text->len = v.len;
}

static void run(struct session *s, uint32_t probe, struct tl_regs *regs)
{
	(void)regs;
	if (s->value) {
		run_value(s, probe, s->value);
		return;
	}
	ioctl(s->fd, TL_DEVICE_RUN, &probe);
}

/* Whole records, as the device gives them. */
static uint64_t give_out(struct session *s, const uint8_t *at, const uint8_t *end)
{
	uint64_t n;

	for (n = 0; at < end; n++) {
		const struct tl_raw_thread *t = (const void *)at;
		const struct tl_record *r = (const void *)(t + 1);

		const uint32_t size = tl_record_size(r->what);

		drain_record(
			s, t->thread, r, (const uint8_t *)(r + 1), size - (uint32_t)sizeof(*r));
		at = (const uint8_t *)r + size;
	}
	return n;
}

static uint64_t pass(struct session *s, bool final)
{
	static uint8_t buffer[TL_DEVICE_READ] __attribute__((aligned(8)));
	uint32_t number = final;
	ssize_t n;

	ioctl(s->fd, TL_DEVICE_FINAL, &number);
	n = read(s->fd, buffer, sizeof(buffer));
	return n > 0 ? give_out(s, buffer, buffer + n) : 0;
}

static void target(struct session *s, pid_t pid)
{
	uint32_t number = (uint32_t)pid;

	ioctl(s->fd, TL_DEVICE_TARGET, &number);
}

static bool condition(struct session *s, uint32_t probe)
{
	return ioctl(s->fd, TL_DEVICE_CONDITION, &probe) != 0;
}

static void clock_there(struct session *s)
{
	ioctl(s->fd, TL_DEVICE_CLOCK);
}

static bool moved(struct session *s)
{
	return ioctl(s->fd, TL_DEVICE_MOVED) > 0;
}

static const struct session_backend backend = {.live = live,
	.run = run,
	.pass = pass,
	.target = target,
	.condition = condition,
	.clock = clock_there,
	.moved = moved};

int kernel_create(struct session *s, const struct tl_tap *mod)
{
	struct tl_device_load l;
	void *mem;

	s->mod = mod;
	s->backend = &backend;
	if (check_kinds(s) || check_kernel(s))
		return -1;
	s->fd = kernel_device(s->why, sizeof(s->why));
	if (s->fd < 0)
		return -1;
	if (load(s, &l))
		return -1;
	s->size = l.memory;
	s->standing = l.standing;
	mem = mmap(NULL, s->size, PROT_READ, MAP_SHARED, s->fd, 0);
	if (mem == MAP_FAILED)
		return fail(s, "cannot map session memory", "");
	if (tl_view_attach(&s->view, mem, s->size, mod->options) || board_make(&s->board, mod))
		return fail(s, "cannot start the session", "");
	return drain_start(s);
}
