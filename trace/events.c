/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Which events there are: the standard ones, and those that are declared. */
#include "home.h"
#include "trace.h"

/* --- the standard ones ---------------------------------------------------------------- */

#define KIND(type) ((type)-1 < (type)1 ? TL_TRACE_SIGNED : TL_TRACE_UNSIGNED)
#define TL_TRACE_ARRAY(event, type, name, n)                                                       \
	{#name, offsetof(struct tl_trace_##event, name), sizeof(type), n, KIND(type)},
#define TL_TRACE_FIELD(event, type, name) TL_TRACE_ARRAY(event, type, name, 1)

#define TL_TRACE_EVENT(NUMBER, name, text, fields)                                                 \
	static const struct tl_trace_field name##_fields[] = {fields};
#include <trapless/trace_events.def>
#undef TL_TRACE_EVENT

#undef TL_TRACE_FIELD
#undef TL_TRACE_ARRAY
#define TL_TRACE_FIELD(event, type, name)
#define TL_TRACE_ARRAY(event, type, name, n)

static const struct tl_trace_type standard[TL_TRACE_STANDARD] = {
#define TL_TRACE_EVENT(NUMBER, name, text, fields)                                                 \
	{#name, text, name##_fields, sizeof(name##_fields) / sizeof(name##_fields[0]),             \
		sizeof(struct tl_trace_##name)},
#include <trapless/trace_events.def>
#undef TL_TRACE_EVENT
};

struct tl_trace_entry tl_trace_entries[TL_TRACE_EVENTS] = {
#define TL_TRACE_EVENT(NUMBER, name, text, fields)                                                 \
	[TL_TRACE_##NUMBER] = {.type = &standard[TL_TRACE_##NUMBER]},
#include <trapless/trace_events.def>
#undef TL_TRACE_EVENT
};

const struct tl_trace_type *tl_trace_describe(uint32_t event)
{
	const struct tl_trace_entry *e = tl_trace_entry_of(event);

	return e ? TL_LOAD(&e->type) : NULL;
}

static bool is_same(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	return *a == *b;
}

/* The lock is held. */
static int find(const char *name)
{
	for (uint32_t i = 0; i < TL_TRACE_EVENTS; i++)
		if (tl_trace_entries[i].type && is_same(tl_trace_entries[i].type->name, name))
			return (int)i;
	return -TL_E_NO_EVENT;
}

int tl_trace_find(const char *name)
{
	int ret = name ? tl_trace_home_outside() : -TL_E_INVAL;

	if (ret)
		return ret;
	tl_trace_home_lock();
	ret = find(name);
	tl_trace_home_unlock();
	return ret;
}

/* --- one's own ------------------------------------------------------------------------ */

static bool field_fits(const struct tl_trace_type *type, const struct tl_trace_field *f)
{
	return f->name && f->size && f->count && f->kind <= TL_TRACE_FLOATING &&
	       f->offset <= type->size && (uint64_t)f->size * f->count <= type->size - f->offset;
}

static bool is_valid(const struct tl_trace_type *type)
{
	if (!type || !type->name || !*type->name || !type->size || type->size > TL_TRACE_PAYLOAD ||
		(type->nfields && !type->fields))
		return false;
	for (uint32_t i = 0; i < type->nfields; i++)
		if (!field_fits(type, &type->fields[i]))
			return false;
	return true;
}

/* Numbers go round: one that was withdrawn is another's as late as can be. */
static int take_number(void)
{
	enum { OWN = TL_TRACE_EVENTS - TL_TRACE_OWN };
	static uint32_t latest = OWN - 1;

	for (uint32_t i = 1; i <= OWN; i++) {
		uint32_t n = (latest + i) % OWN;

		if (!tl_trace_entries[TL_TRACE_OWN + n].type) {
			latest = n;
			return TL_TRACE_OWN + (int)n;
		}
	}
	return -TL_E_LIMIT;
}

static int declare_locked(const struct tl_trace_type *type)
{
	int event, ret;

	if (find(type->name) >= 0)
		return -TL_E_INVAL;
	event = take_number();
	if (event < 0)
		return event;
	TL_STORE(&tl_trace_entries[event].type, type);
	ret = tl_trace_declared((uint32_t)event);
	if (!ret)
		return event;
	TL_STORE(&tl_trace_entries[event].type, NULL);
	return ret;
}

int tl_trace_declare(const struct tl_trace_type *type)
{
	int ret = tl_trace_home_outside();

	if (ret)
		return ret;
	if (!is_valid(type))
		return -TL_E_INVAL;
	tl_trace_home_lock();
	ret = declare_locked(type);
	tl_trace_home_unlock();
	if (ret < 0)
		tl_trace_home_wait();
	return ret;
}

static int withdraw_locked(uint32_t event)
{
	struct tl_trace_entry *e = tl_trace_entry_of(event);

	if (!e || event < TL_TRACE_OWN)
		return -TL_E_NO_EVENT;
	if (e->first)
		return -TL_E_STATE;
	tl_trace_withdrawn(event);
	TL_STORE(&e->type, NULL);
	return 0;
}

int tl_trace_withdraw(uint32_t event)
{
	int ret = tl_trace_home_outside();

	if (ret)
		return ret;
	tl_trace_home_lock();
	ret = withdraw_locked(event);
	tl_trace_home_unlock();
	if (!ret)
		tl_trace_home_wait();
	return ret;
}
