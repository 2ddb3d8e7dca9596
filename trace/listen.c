/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Who listens: one tracer, and callbacks. Lists are changed by one store each; whoever stands in one goes on by what he has seen,
 * and is waited for before its memory is the caller's again.
 */
#include "home.h"
#include "trace.h"

static struct tl_tracer *tracer; /* under the lock */

static bool wants(const struct tl_tracer *t, uint32_t event)
{
	if (!t->events)
		return true;
	for (size_t i = 0; i < t->nevents; i++)
		if (t->events[i] == event)
			return true;
	return false;
}

/* What is seen of an event says whether anybody listens. The lock is held. 0, or -TL_E_: its home cannot raise it. */
static int settle(uint32_t event)
{
	const struct tl_trace_entry *e = &tl_trace_entries[event];
	uint8_t wanted = e->tracer || e->first;
	int ret;

	if (wanted == tl_trace_wanted[event])
		return 0;
	TL_STORE(&tl_trace_wanted[event], wanted);
	ret = tl_trace_home_want(event, wanted);
	if (ret)
		TL_STORE(&tl_trace_wanted[event], 0);
	return ret;
}

/* --- the tracer ----------------------------------------------------------------------- */

static void take_off(void)
{
	for (uint32_t i = 0; i < TL_TRACE_EVENTS; i++)
		if (tl_trace_entries[i].tracer) {
			TL_STORE(&tl_trace_entries[i].tracer, NULL);
			settle(i);
		}
	tracer = NULL;
}

/* In part where it fails. */
static int put_on(struct tl_tracer *t)
{
	int ret = 0;

	tracer = t;
	for (uint32_t i = 0; i < TL_TRACE_EVENTS && !ret; i++)
		if (tl_trace_entry_of(i) && wants(t, i)) {
			TL_STORE(&tl_trace_entries[i].tracer, t);
			ret = settle(i);
		}
	return ret;
}

static int check(const struct tl_tracer *t)
{
	if (!t || !t->trace)
		return -TL_E_INVAL;
	if (tracer)
		return tracer == t ? -TL_E_STATE : -TL_E_TRACER;
	for (size_t i = 0; t->events && i < t->nevents; i++)
		if (!tl_trace_entry_of(t->events[i]))
			return -TL_E_NO_EVENT;
	return 0;
}

int tl_tracer_register(struct tl_tracer *t)
{
	int ret = tl_trace_home_outside();
	bool failed = false;

	if (ret)
		return ret;
	tl_trace_home_lock();
	ret = check(t);
	if (!ret) {
		ret = put_on(t);
		failed = ret;
		if (failed)
			take_off();
	}
	tl_trace_home_unlock();
	if (failed)
		tl_trace_home_wait();
	return ret;
}

int tl_tracer_unregister(struct tl_tracer *t)
{
	int ret = tl_trace_home_outside();

	if (ret)
		return ret;
	tl_trace_home_lock();
	if (t && tracer == t)
		take_off();
	else
		ret = -TL_E_STATE;
	tl_trace_home_unlock();
	if (!ret)
		tl_trace_home_wait();
	return ret;
}

const char *tl_tracer_name(void)
{
	const char *name = NULL;

	if (tl_trace_home_outside())
		return NULL;
	tl_trace_home_lock();
	if (tracer)
		name = tracer->name ? tracer->name : "";
	tl_trace_home_unlock();
	return name;
}

int tl_trace_declared(uint32_t event)
{
	int ret;

	if (!tracer || !wants(tracer, event))
		return 0;
	TL_STORE(&tl_trace_entries[event].tracer, tracer);
	ret = settle(event);
	if (ret)
		TL_STORE(&tl_trace_entries[event].tracer, NULL);
	return ret;
}

void tl_trace_withdrawn(uint32_t event)
{
	TL_STORE(&tl_trace_entries[event].tracer, NULL);
	settle(event);
}

/* --- callbacks ------------------------------------------------------------------------ */

/* The word that leads to it; the last one, which leads to nobody, where it is in no list. */
static struct tl_trace_callback **link_to(uint32_t event, const struct tl_trace_callback *cb)
{
	struct tl_trace_callback **link = &tl_trace_entries[event].first;

	while (*link && *link != cb)
		link = &(*link)->next;
	return link;
}

static void unlink_locked(struct tl_trace_callback *cb)
{
	struct tl_trace_callback **link = link_to(cb->event, cb);

	TL_STORE(link, cb->next);
	cb->added = false;
}

static int add_locked(struct tl_trace_callback *cb)
{
	int ret;

	if (!tl_trace_entry_of(cb->event))
		return -TL_E_NO_EVENT;
	if (cb->added)
		return -TL_E_STATE;
	cb->next = NULL;
	TL_STORE(link_to(cb->event, cb), cb);
	cb->added = true;
	ret = settle(cb->event);
	if (ret)
		unlink_locked(cb);
	return ret;
}

int tl_trace_callback_add(struct tl_trace_callback *cb)
{
	int ret = tl_trace_home_outside();

	if (ret)
		return ret;
	if (!cb || !cb->fn)
		return -TL_E_INVAL;
	tl_trace_home_lock();
	ret = add_locked(cb);
	tl_trace_home_unlock();
	if (ret)
		tl_trace_home_wait(); /* it may have been called until its event was refused */
	return ret;
}

static int remove_locked(struct tl_trace_callback *cb)
{
	if (!cb->added)
		return -TL_E_STATE;
	unlink_locked(cb);
	settle(cb->event);
	return 0;
}

int tl_trace_callback_remove(struct tl_trace_callback *cb)
{
	int ret = tl_trace_home_outside();

	if (ret)
		return ret;
	if (!cb)
		return -TL_E_INVAL;
	tl_trace_home_lock();
	ret = remove_locked(cb);
	tl_trace_home_unlock();
	if (!ret)
		tl_trace_home_wait();
	return ret;
}
