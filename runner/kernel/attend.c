/* SPDX-License-Identifier: MIT */
/* Has the kernel arm and disarm the session's probes, and tells the runner how they stand. */
#define _GNU_SOURCE
#include "kernel.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../../home/tap.h"
#include "../../kmod/device.h"
#include "../options.h"
#include "../tell/tell.h"
#include "../transport/attendant.h"

/* As the kernel has them. */
static int look(const struct session *s, const struct teller *t)
{
	uint64_t to = (uintptr_t)t->probes, usage = (uintptr_t)&t->ctl->arming.usage;

	return ioctl(s->fd, TL_DEVICE_STANDING, &to) || ioctl(s->fd, TL_DEVICE_USAGE, &usage) ? -1
											      : 0;
}

static bool name(const struct teller *t, uint64_t addr, char *buf, size_t room)
{
	struct tl_device_name n = {.addr = addr};

	if (ioctl(t->device, TL_DEVICE_NAME, &n) || !n.text[0])
		return false;
	snprintf(buf, room, "%s", n.text);
	return true;
}

static bool make_teller(struct teller *t, const struct session *s, const struct options *o,
	struct standing *standing, int sock)
{
	uint64_t each = tl_ctl_session_size(1, 1) - tl_ctl_session_size(0, 0);

	if (teller_init(t, s->mod, &s->board, standing, sock))
		return false;
	t->verbose = o->verbose;
	t->explain = o->explain;
	t->name = name;
	t->device = s->fd;
	/* most of it is never touched */
	t->ctl = mmap(NULL, sizeof(*t->ctl), PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	t->probes = calloc(1, s->standing);
	/* as many as the kernel has: a name may belong to several functions */
	t->nslots = (uint32_t)((s->standing - tl_ctl_session_size(0, 0)) / each);
	free(t->told);
	t->told = calloc(t->nslots + 1, 1);
	return t->ctl != MAP_FAILED && t->probes && t->told;
}

/* What is not there, and yet refused by nobody. */
static bool is_waiting(const struct tl_ctl_probe *p)
{
	bool there = p->kind == TL_TAP_TRACE ? p->armed : p->addr != 0;

	return !there && !p->result && !p->off;
}

/* Of one that is not loaded. */
static uint32_t waiting_for(const struct teller *t, uint32_t image)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < t->nslots; i++) {
		const struct tl_ctl_probe *p = tl_ctl_probe(t->probes, i);

		n += slot_from(t, i)->image == image && is_waiting(p) &&
		     (tl_tap_stands(p->kind) || p->kind == TL_TAP_TRACE);
	}
	return n;
}

static void tell_waiting(const struct teller *t)
{
	char text[200];

	for (uint32_t i = 0; i < t->mod->nimages; i++) {
		uint32_t n = waiting_for(t, i);

		if (!n)
			continue;
		snprintf(text, sizeof(text),
			"module %.80s is not loaded: %u probe%s of it wait%s until it is "
			"(modprobe)",
			tl_tap_string(t->mod, t->mod->images[i].path), n, n > 1 ? "s" : "",
			n > 1 ? "" : "s");
		tell(t, MSG_WARN, 0, text);
	}
}

/* As the user and the conditions want it now. How many stand, or -1 with errno. */
static int have_armed(const struct session *s, const struct teller *t, const struct options *o)
{
	struct tl_device_want want = {.off = (uintptr_t)t->tuning->off,
		.jump = !o->traps_only && !t->tuning->unoptimized};
	int n = ioctl(s->fd, TL_DEVICE_WANT, &want);

	n = n ? n : ioctl(s->fd, TL_DEVICE_ARM);
	return n < 0 || look(s, t) ? -1 : n;
}

static void tell_failed(const struct teller *t, int error)
{
	char text[200] = "8 sessions are in this kernel already, which is the most";

	if (error != EBUSY)
		snprintf(text, sizeof(text), "the kernel could not arm the probes: %s",
			strerror(error));
	tell(t, MSG_FAILED, 0, text);
}

static int arm(const struct session *s, const struct teller *t, const struct options *o)
{
	int n = have_armed(s, t, o);

	if (n < 0) {
		tell_failed(t, errno);
		return -1;
	}
	tell_probes(t);
	tell_waiting(t);
	tell(t, MSG_READY, (uint32_t)n, "");
	return 0;
}

static void tune(const struct session *s, const struct teller *t, const struct options *o)
{
	tell_standing(t, have_armed(s, t, o) < 0 ? "the kernel could not switch the probes" : "");
}

/* By image; NULL: there is no memory, and nothing will be told. */
static uint32_t *count_waiting(const struct teller *t)
{
	uint32_t *waiting = calloc(t->mod->nimages + 1, sizeof(*waiting));

	for (uint32_t i = 0; waiting && i < t->mod->nimages; i++)
		waiting[i] = waiting_for(t, i);
	return waiting;
}

/* Of modules that are there now; some of their probes may have been refused, which is told aside. */
static void tell_come(const struct teller *t, const uint32_t *waited)
{
	char text[200];

	for (uint32_t i = 0; waited && i < t->mod->nimages; i++) {
		if (waiting_for(t, i) >= waited[i])
			continue;
		snprintf(text, sizeof(text), "trapless-run: probes of module %.80s are armed",
			tl_tap_string(t->mod, t->mod->images[i].path));
		tell(t, MSG_EXPLAIN, 0, text);
	}
}

/* A module has come. False: there is no sense in trying again. */
static bool arm_again(const struct session *s, const struct teller *t, const struct options *o)
{
	uint32_t *waited = count_waiting(t);
	const bool armed = have_armed(s, t, o) >= 0;

	if (armed) {
		tell_probes(t);
		tell_come(t, waited);
	} else {
		tell(t, MSG_WARN, 0,
			"the kernel could not arm the probes of a module that has come");
	}
	free(waited);
	return armed;
}

static void leave(const struct session *s, struct teller *t)
{
	struct message m = {0};

	if (!ioctl(s->fd, TL_DEVICE_DISARM) && !look(s, t))
		tell_counts(t, &m);
	tell_last(t, 0, "");
}

/* Readable once it has ended; -1 with ESRCH: it has. */
static int end_of(pid_t pid)
{
	return pid ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
}

int kernel_attend(
	struct session *s, const struct options *o, int sock, struct standing *standing, pid_t pid)
{
	enum { RUNNER, PROCESS, MODULES, ALL };
	struct pollfd p[ALL] = {[RUNNER] = {.fd = sock, .events = POLLIN},
		[PROCESS] = {.fd = end_of(pid), .events = POLLIN},
		[MODULES] = {.fd = s->fd, .events = POLLPRI}};
	bool gone = pid && p[PROCESS].fd < 0 && errno == ESRCH;
	struct teller t;
	enum heard word = HEARD_NOTHING;
	uint32_t number;

	if (!make_teller(&t, s, o, standing, sock))
		return 1;
	attendant_begin();
	if (arm(s, &t, o)) {
		tell_last(&t, 0, "");
		return 0;
	}
	while (!gone && word != HEARD_LEAVE && word != HEARD_ITS_END) {
		poll(p, ALL, -1);
		gone = p[PROCESS].revents != 0;
		if (p[MODULES].revents && !arm_again(s, &t, o))
			p[MODULES].fd = -1;
		word = tell_listen(&t, &number);
		if (word == HEARD_TUNE)
			tune(s, &t, o);
	}
	if (gone)
		tell(&t, MSG_GONE, 0, "");
	leave(s, &t);
	return 0;
}
