/* SPDX-License-Identifier: MIT */
/* timer.s, timer.ms, timer.profile ...: one timerfd, set to whichever probe is due next. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "session.h"

static int fd = -1;
static uint64_t *due; /* CLOCK_MONOTONIC ns by probe number; 0: no timer, or switched off */

static void set_next(const struct session *s)
{
	struct itimerspec it;
	uint64_t next = 0;
	uint32_t i;

	for (i = 0; i < s->mod->nprobes; i++) {
		if (due[i] && (!next || due[i] < next))
			next = due[i];
	}
	memset(&it, 0, sizeof(it));
	it.it_value.tv_sec = (time_t)(next / 1000000000u);
	it.it_value.tv_nsec = (long)(next % 1000000000u);
	timerfd_settime(fd, TFD_TIMER_ABSTIME, &it, NULL);
}

static bool is_timer(const struct session *s, uint32_t i)
{
	const struct tl_tap_probe *p = &s->mod->probes[i];

	return (p->kind == TL_TAP_TIMER || (p->kind == TL_TAP_PROFILE && s->sample)) &&
	       !(p->flags & TL_TAP_PROBE_NEVER);
}

/* A period, with its share of chance. */
static uint64_t period(const struct tl_tap_probe *p)
{
	uint64_t more = 0;

	if (p->addr && getrandom(&more, sizeof(more), 0) != sizeof(more))
		more = p->addr;
	return (uint64_t)p->arg - p->addr + more % (2 * p->addr + 1);
}

int timers_start(struct session *s)
{
	uint64_t now = now_ns();
	uint32_t i, n = 0;

	due = calloc(s->mod->nprobes + 1, sizeof(*due));
	for (i = 0; due && i < s->mod->nprobes; i++) {
		if (!is_timer(s, i))
			continue;
		due[i] = session_may_run(s, i) ? now + period(&s->mod->probes[i]) : 0;
		n++;
	}
	if (!n)
		return -1;
	fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	set_next(s);
	return fd;
}

/* One that is switched on begins anew. */
void timers_tune(struct session *s)
{
	uint64_t now = now_ns();
	uint32_t i;

	for (i = 0; fd >= 0 && i < s->mod->nprobes; i++) {
		if (!is_timer(s, i) || session_may_run(s, i) == (due[i] != 0))
			continue;
		due[i] = due[i] ? 0 : now + period(&s->mod->probes[i]);
	}
	if (fd >= 0)
		set_next(s);
}

/* Run what is due. A timer that was late does not run twice for it. */
void timers_run(struct session *s)
{
	uint64_t count, now = now_ns();
	uint32_t i;

	if (read(fd, &count, sizeof(count)) != sizeof(count))
		return;
	for (i = 0; i < s->mod->nprobes; i++) {
		uint64_t next;

		if (!due[i] || due[i] > now)
			continue;
		if (s->mod->probes[i].kind == TL_TAP_TIMER)
			session_run_one(s, i, NULL);
		else if (session_may_run(s, i))
			s->sample(i);
		next = period(&s->mod->probes[i]);
		due[i] = due[i] + next > now ? due[i] + next : now + next;
	}
	set_next(s);
}
