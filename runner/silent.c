/* SPDX-License-Identifier: MIT */
/* Probes that have said nothing, and why: they may have told what was expected, or never stood where it happens. */
#define _GNU_SOURCE
#include "message.h"
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

	if ((p->kind != TL_TAP_SITE && p->kind != TL_TAP_RETURN) ||
		p->flags & (TL_TAP_PROBE_NEVER | TL_TAP_PROBE_OPTIONAL) ||
		s->board.states[probe] != PROBE_NEVER_ARMED)
		return TL_NONE;
	return p->process != TL_NONE && !was_mapped(s, p->process) ? p->process : p->image;
}

/* A probe that stood nowhere has said nothing about the program. */
void tell_never_armed(const struct session *s)
{
	uint32_t i, n, image;

	for (image = 0; image < s->mod->nimages; image++) {
		const struct tl_tap_image *m = &s->mod->images[image];
		const char *why =
			m->flags & TL_TAP_IMAGE_PROGRAM ? "was not run" : "was not loaded";

		for (i = n = 0; i < s->mod->nprobes; i++)
			n += missing_image(s, i) == image;
		if (n)
			fprintf(stderr, "trapless-run: never armed: %u probe%s: %s %s\n", n,
				n > 1 ? "s" : "", module_string(s->mod, m->path),
				was_mapped(s, image) ? "came too late" : why);
	}
}

static bool never_hit(const struct session *s, uint32_t probe)
{
	const struct tl_tap_probe *p = &s->mod->probes[probe];

	return (p->kind == TL_TAP_SITE || p->kind == TL_TAP_RETURN) &&
	       s->board.states[probe] == PROBE_ARMED && !tl_session_hits(&s->view, probe);
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
			module_string(s->mod, s->mod->probes[i].point),
			s->board.tuning->off[i] ? "it was disabled" : "armed, but nobody came by");
	}
	if (n > A_FEW)
		fprintf(stderr, "trapless-run: never fired: %u more\n", n - A_FEW);
}
