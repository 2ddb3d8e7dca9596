/* SPDX-License-Identifier: MIT */
#include "session.h"

static void tell(const struct session *s, FILE *to, uint32_t probe)
{
	struct tl_time t = tl_session_times(&s->view, s->mod->nprobes, probe);
	const struct tl_tap_probe *p = &s->mod->probes[probe];

	/* Globals are shown by a probe of ours, which has no place. */
	if (!t.runs || !*tl_tap_string(s->mod, p->script))
		return;
	fprintf(to, "%s, (%s), hits: %llu, cycles: %llumin/%lluavg/%llumax, index: %u\n",
		tl_tap_string(s->mod, p->point), tl_tap_string(s->mod, p->script),
		(unsigned long long)t.runs, (unsigned long long)t.least,
		(unsigned long long)(t.sum / t.runs), (unsigned long long)t.most, probe);
}

/* Behind the script's output; no text among records. */
void tell_times(const struct session *s)
{
	FILE *to = !s->raw ? s->out : stderr;
	uint32_t i;

	if (!(s->mod->options->uses & TL_USES_TIMES))
		return;
	fprintf(to, "----- probe hit report:\n");
	for (i = 0; i < s->mod->nprobes; i++)
		tell(s, to, i);
	fflush(to);
}
