/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Numbers and flags by name. A list is text: "HEX NAME|HEX NAME|...", which
 * needs no addresses that a loader would have to mend.
 */
#include "internal.h"

struct entry {
	uint64_t value;
	const char *name;
	uint32_t len;
};

/* The entry at p; returns where the next one stands, NULL: there is none. */
static const char *entry(const char *p, struct entry *e)
{
	if (!*p)
		return NULL;
	for (e->value = 0; *p != ' '; p++)
		e->value = e->value << 4 | (uint64_t)(*p <= '9' ? *p - '0' : *p - 'a' + 10);
	e->name = ++p;
	while (*p && *p != '|')
		p++;
	e->len = (uint32_t)(p - e->name);
	return *p ? p + 1 : p;
}

bool tl_name_str(struct tl_run *run, struct tl_str *dst, uint64_t value, const char *list)
{
	struct entry e;

	while ((list = entry(list, &e))) {
		if (e.value == value) {
			tl_str_put(run, dst, e.name, e.len);
			return true;
		}
	}
	tl_str_put(run, dst, "", 0);
	return false;
}

int64_t tl_name_value(const struct tl_str *name, const char *list)
{
	struct entry e;

	while ((list = entry(list, &e))) {
		if (e.len == name->len && !memcmp(e.name, name->b, e.len))
			return (int64_t)e.value;
	}
	return -1;
}

static void add(struct tl_run *run, struct tl_str *dst, const char *s, uint32_t n)
{
	uint32_t at = dst->len, bar = at ? 1 : 0;

	if (n + bar > tl_max_len(run) - at) {
		run->block->truncated++;
		return;
	}
	dst->b[at] = '|';
	memcpy(dst->b + at + bar, s, n);
	dst->len = at + bar + n;
	dst->b[dst->len] = 0;
}

/* An entry of several bits stands for all of them at once, and comes before its parts. */
void tl_flags_str(struct tl_run *run, struct tl_str *dst, uint64_t flags, const char *list)
{
	uint64_t all = flags;
	struct entry e;
	char rest[24];

	tl_str_put(run, dst, "", 0);
	while ((list = entry(list, &e))) {
		if ((e.value && (flags & e.value) == e.value) || (!e.value && !all)) {
			add(run, dst, e.name, e.len);
			flags &= ~e.value;
		}
	}
	if (flags)
		add(run, dst, rest, tl_text_hex(rest, flags));
}
