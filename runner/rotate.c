/* SPDX-License-Identifier: MIT */
/* -S: output in files of bounded size, FILE.0, FILE.1 ..., of which the latest are kept. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rotate.h"

#define MIB (1ll << 20)

/* Of one of the files. */
static void name_of(const struct rotation *r, unsigned number, char *name, size_t size)
{
	snprintf(name, size, "%s.%u", r->file, number);
}

static FILE *open_file(const struct rotation *r, unsigned number)
{
	char name[4200];

	name_of(r, number, name, sizeof(name));
	return fopen(name, "we");
}

bool rotation_parse(struct rotation *r, const char *file, const char *words)
{
	char *end;

	errno = 0;
	r->file = file;
	r->size = strtoll(words, &end, 10);
	r->keep = *end == ',' ? (unsigned)strtoul(end + 1, &end, 10) : 0;
	return !errno && !*end && r->size > 0 && r->size < INT64_MAX / MIB && strlen(file) < 4096;
}

FILE *rotation_start(struct rotation *r)
{
	r->size *= MIB;
	return open_file(r, r->number);
}

void rotation_next(struct rotation *r, FILE **out)
{
	char old[4200];
	FILE *next = r->size ? open_file(r, r->number + 1) : NULL;

	if (!next)
		return;
	fclose(*out);
	*out = next;
	r->number++;
	if (r->keep && r->number >= r->keep) {
		name_of(r, r->number - r->keep, old, sizeof(old));
		unlink(old);
	}
}

bool rotation_due(const struct rotation *r, FILE *out, size_t more)
{
	return r->size && ftello(out) + (off_t)more >= r->size;
}
