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

/* Of a command that has run none of the module's programs nothing is looked at. TL_NONE: something was. */
static uint32_t program_not_run(const struct session *s)
{
	uint32_t program = TL_NONE;

	for (uint32_t i = s->mod->nimages; i-- > 0;) {
		if (was_mapped(s, i))
			return TL_NONE;
		if (s->mod->images[i].flags & TL_TAP_IMAGE_PROGRAM)
			program = i;
	}
	return program;
}

/* The file for want of which a probe stands nowhere; TL_NONE: it does. */
static uint32_t missing_image(const struct session *s, uint32_t probe)
{
	const struct tl_tap_probe *p = &s->mod->probes[probe];
	uint32_t program = p->process;

	if (p->kind >= TL_TAP_PROCESS_BEGIN && !(p->flags & TL_TAP_PROBE_OPTIONAL))
		return p->process != TL_NONE && !was_mapped(s, p->process) ? p->process : TL_NONE;
	if (!tl_tap_stands(p->kind) || p->flags & (TL_TAP_PROBE_NEVER | TL_TAP_PROBE_OPTIONAL) ||
		s->board.states[probe] != PROBE_NEVER_ARMED || s->board.tuning->off[probe])
		return TL_NONE;
	if (program == TL_NONE)
		program = program_not_run(s);
	return program != TL_NONE && !was_mapped(s, program) ? program : p->image;
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

static const char *why_missing(const struct session *s, uint32_t image)
{
	if (was_mapped(s, image))
		return " came too late";
	if (!(s->mod->images[image].flags & TL_TAP_IMAGE_PROGRAM))
		return " was not loaded";
	if (s->mod->header->flags & TL_TAP_ANY_PROCESS)
		return ", for which the module was made, was not run";
	return " was not run";
}

/* A probe that stood nowhere has said nothing about the program. */
void tell_never_armed(const struct session *s)
{
	for (uint32_t image = 0; image < s->mod->nimages; image++) {
		uint32_t n = probes_without(s, image);

		if (n)
			fprintf(stderr, "trapless-run: never armed: %u probe%s: %s%s\n", n,
				n > 1 ? "s" : "", tl_tap_string(s->mod, s->mod->images[image].path),
				why_missing(s, image));
	}
}

static bool stands(const struct session *s, uint32_t probe)
{
	const struct tl_tap_probe *p = &s->mod->probes[probe];

	return tl_tap_stands(p->kind) && s->board.states[probe] == PROBE_ARMED;
}

static bool never_hit(const struct session *s, uint32_t probe)
{
	return stands(s, probe) && !tl_session_hits(&s->view, probe);
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
		fprintf(stderr, "trapless-run: never fired: %s (%s)\n", probe_shown(s->mod, i),
			why_silent(s->board.tuning->off[i]));
	}
	if (n > A_FEW)
		fprintf(stderr, "trapless-run: never fired: %u more\n", n - A_FEW);
}

/* What happens to a process is told by its tracer, and not counted. */
static bool is_event(const struct session *s, uint32_t probe)
{
	uint32_t kind = s->mod->probes[probe].kind;

	return kind >= TL_TAP_PROCESS_BEGIN && kind <= TL_TAP_WATCH;
}

void tell_none_hit(const struct session *s)
{
	bool any = false;

	if (!(s->mod->options->uses & TL_USES_HITS))
		return;
	for (uint32_t i = 0; i < s->mod->nprobes; i++) {
		if (is_event(s, i) || (stands(s, i) && !never_hit(s, i)))
			return;
		any |= stands(s, i);
	}
	if (any)
		fprintf(stderr, "trapless-run: no probe was hit (-v names them)\n");
}
