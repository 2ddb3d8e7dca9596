/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The environment that the runner prepared, before the program looks at it.
 * What is ours goes; an LD_PRELOAD that the user had comes back. The array
 * shrinks by two words: some programs look for the auxiliary vector behind its
 * end, so an entry to be ignored fills the gap.
 */
#include "internal.h"

enum { AT_IGNORE = 1, FREED = 2 };

static size_t length(const char *s)
{
	size_t n = 0;

	while (s[n])
		n++;
	return n;
}

/* The value when `var` sets `name`, else NULL. */
static char *value_of(char *var, const char *name)
{
	while (*name && *var == *name)
		var++, name++;
	return !*name && *var == '=' ? var + 1 : NULL;
}

static int number(const char *s)
{
	int n = 0;

	if (!*s)
		return -1;
	for (; *s >= '0' && *s <= '9' && n < 1 << 20; s++)
		n = n * 10 + (*s - '0');
	return *s ? -1 : n;
}

bool tl_env_find(struct tl_preload_env *e, char **vars)
{
	char **v, *value;

	e->vars = vars;
	e->fd = -1;
	for (v = vars; v && *v; v++) {
		value = value_of(*v, TL_PRELOAD_VARIABLE);
		if (value)
			e->fd = number(value);
	}
	return e->fd >= 0;
}

/* LD_PRELOAD=OURS:THEIRS becomes LD_PRELOAD=THEIRS, where it stands. */
static void give_back(char *value)
{
	size_t skip = 0, i, n = length(value);

	while (value[skip] && value[skip] != ':')
		skip++;
	skip += value[skip] == ':';
	for (i = 0; i + skip <= n; i++)
		value[i] = value[i + skip];
}

void tl_env_clean(const struct tl_preload_env *e)
{
	char **from, **to = e->vars;
	bool keep = false;
	size_t freed;

	for (from = e->vars; *from; from++)
		keep |= value_of(*from, TL_PRELOAD_USER) != NULL;
	for (from = e->vars; *from; from++) {
		char *preload = value_of(*from, "LD_PRELOAD");

		if (value_of(*from, TL_PRELOAD_VARIABLE) || value_of(*from, TL_PRELOAD_USER) ||
			(preload && !keep))
			continue;
		if (preload)
			give_back(preload);
		*to++ = *from;
	}
	freed = (size_t)(from - to);
	*to = NULL;
	if (freed == FREED) { /* words: NULL, then the pair, then the vector itself */
		to[1] = (char *)AT_IGNORE;
		to[2] = NULL;
	}
}
