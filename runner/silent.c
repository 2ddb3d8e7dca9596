/* SPDX-License-Identifier: MIT */
/* Probes that have said nothing, and why: they may have told what was expected, or never stood where it happens. */
#define _GNU_SOURCE
#include "base/message.h"
#include "base/proc.h"
#include "session.h"

enum { A_FEW = 12 };

static bool was_mapped(const struct session *s, uint32_t image)
{
	return image < s->mod->nimages && s->board.images[image].hi;
}

/* The file for want of which a probe stands nowhere; TL_NONE: it does. */
static uint32_t missing_image(const struct session *s, uint32_t probe)
{
	const struct tl_tap_probe *p = &s->mod->probes[probe];

	if (p->kind >= TL_TAP_PROCESS_BEGIN && !(p->flags & TL_TAP_PROBE_OPTIONAL))
		return p->process != TL_NONE && !was_mapped(s, p->process) ? p->process : TL_NONE;
	if ((p->kind != TL_TAP_SITE && p->kind != TL_TAP_RETURN) ||
		p->flags & (TL_TAP_PROBE_NEVER | TL_TAP_PROBE_OPTIONAL) ||
		s->board.states[probe] != PROBE_NEVER_ARMED || s->board.tuning->off[probe])
		return TL_NONE;
	return p->process != TL_NONE && !was_mapped(s, p->process) ? p->process : p->image;
}

/* How many stand nowhere for want of it. */
static uint32_t probes_without(const struct session *s, uint32_t image)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < s->mod->nprobes; i++)
		n += missing_image(s, i) == image;
	return n;
}

/* The first program that is not there, of a script that is about no other one. TL_NONE: one is. */
static uint32_t missing_program(const struct session *s)
{
	uint32_t image, first = TL_NONE;

	for (image = s->mod->nimages; image-- > 0;) {
		if (!(s->mod->images[image].flags & TL_TAP_IMAGE_PROGRAM))
			continue;
		if (was_mapped(s, image))
			return TL_NONE;
		first = probes_without(s, image) ? image : first;
	}
	return first;
}

void warn_of_program(const struct session *s, pid_t pid)
{
	uint32_t image = missing_program(s);
	const char *path;
	char runs[256];

	if (image == TL_NONE || s->no_warnings)
		return;
	path = tl_tap_string(s->mod, s->mod->images[image].path);
	proc_program(pid, runs, sizeof(runs));
	fprintf(stderr,
		"WARNING: process %d runs %s, but the script is about %s, whose probes will not be "
		"hit; next: write `process` without a name for the program of -x, or leave -x "
		"out\n",
		pid, runs, path);
}

/* A probe that stood nowhere has said nothing about the program. */
void tell_never_armed(const struct session *s)
{
	uint32_t n, image;

	for (image = 0; image < s->mod->nimages; image++) {
		const struct tl_tap_image *m = &s->mod->images[image];
		const char *why =
			m->flags & TL_TAP_IMAGE_PROGRAM ? "was not run" : "was not loaded";

		n = probes_without(s, image);
		if (n)
			fprintf(stderr, "trapless-run: never armed: %u probe%s: %s %s\n", n,
				n > 1 ? "s" : "", tl_tap_string(s->mod, m->path),
				was_mapped(s, image) ? "came too late" : why);
	}
}

static bool never_hit(const struct session *s, uint32_t probe)
{
	const struct tl_tap_probe *p = &s->mod->probes[probe];

	return (p->kind == TL_TAP_SITE || p->kind == TL_TAP_RETURN) &&
	       s->board.states[probe] == PROBE_ARMED && !tl_session_hits(&s->view, probe);
}

static const char *why_silent(uint8_t off)
{
	if (off & OFF_BY_USER)
		return "it was disabled";
	return off ? "its condition was false" : "armed, but nobody came by";
}

/* Of those that stood. */
void tell_never_hit(const struct session *s)
{
	uint32_t n = 0;

	if (!(s->mod->options->uses & TL_USES_HITS))
		return;
	for (uint32_t i = 0; i < s->mod->nprobes; i++) {
		if (!never_hit(s, i) || ++n > A_FEW)
			continue;
		fprintf(stderr, "trapless-run: never fired: %s (%s)\n",
			tl_tap_string(s->mod, s->mod->probes[i].point),
			why_silent(s->board.tuning->off[i]));
	}
	if (n > A_FEW)
		fprintf(stderr, "trapless-run: never fired: %u more\n", n - A_FEW);
}
