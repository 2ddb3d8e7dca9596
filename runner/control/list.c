/* SPDX-License-Identifier: MIT */
/* The probes of a running session, as it tells them. */
#define _GNU_SOURCE
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <trapless/error.h>

#include "../base/clock.h"
#include "../base/proc.h"
#include "../kernel/kernel.h"
#include "../tell/tell.h"
#include "control.h"

bool probe_is_chosen(const struct tl_tap *mod, uint32_t i, const char *pattern)
{
	char *end;
	unsigned long number = strtoul(pattern, &end, 10);

	if (probe_is_ours(&mod->probes[i]))
		return false;
	if (*pattern && !*end)
		return number == i;
	return !fnmatch(pattern, probe_shown(mod, i), 0) ||
	       !fnmatch(pattern, tl_tap_string(mod, mod->probes[i].point), 0) ||
	       !fnmatch(pattern, tl_tap_string(mod, mod->probes[i].func), 0);
}

/* As the kernel's own list has it; nothing: armed, by a breakpoint. */
static const char *state_of(const struct control *c, uint32_t i, const struct probe_row *row)
{
	const struct tl_tap_probe *p = &c->session->mod->probes[i];

	if (p->flags & TL_TAP_PROBE_NEVER)
		return " [NEVER]";
	if (c->session->board.tuning->off[i])
		return c->session->board.tuning->off[i] & OFF_BY_USER ? " [DISABLED]"
								      : " [CONDITION]";
	if (!tl_tap_stands(p->kind) || !row)
		return "";
	if (!row->addr)
		return c->session->board.states[i] == PROBE_ARMED ? " [GONE]" : " [PENDING]";
	if (row->replaced)
		return " [GONE]";
	if (!row->armed)
		return row->result ? " [REFUSED]" : " [PENDING]";
	return row->rung != TL_RUNG_TRAP ? " [OPTIMIZED]" : "";
}

static void list_place(const struct control *c, uint32_t i, const struct target *t, FILE *to)
{
	const struct probe_row *row = &t->standing->probe[i];
	const bool armed = row->addr && row->armed && !c->session->board.tuning->off[i];

	fprintf(to, " %-8s %-28s", armed ? rung_name(row->rung) : "-",
		row->place[0] ? row->place : "-");
}

/* So many targets have it. */
static int targets_of(const struct control *c, uint32_t i)
{
	return tl_tap_stands(c->session->mod->probes[i].kind) ? *c->ntargets : 0;
}

static void list_counts(const struct control *c, uint32_t i, FILE *to)
{
	const int n = targets_of(c, i);
	uint64_t missed = 0;

	for (int k = 0; k < n; k++)
		missed += c->targets[k].retired ? 0 : c->targets[k].standing->probe[i].missed;
	fprintf(to, "%6u %10llu %7llu", i,
		(unsigned long long)tl_session_hits(&c->session->view, i),
		(unsigned long long)missed);
}

void list_titles_short(FILE *to)
{
	fprintf(to, "%6s %10s %7s %-11s %s\n", "NUMBER", "HITS", "MISSED", "STATE", "PROBE");
}

void list_probe_short(const struct control *c, uint32_t i, FILE *to)
{
	const char *state =
		state_of(c, i, targets_of(c, i) ? &c->targets->standing->probe[i] : NULL);

	list_counts(c, i, to);
	fprintf(to, "%-12s %s\n", *state ? state : " -", probe_shown(c->session->mod, i));
}

static void list_probe(const struct control *c, uint32_t i, FILE *to)
{
	const struct session *s = c->session;
	const int n = targets_of(c, i);
	const struct target *t = c->targets;
	int k;

	list_counts(c, i, to);
	if (n)
		list_place(c, i, t, to);
	else
		fprintf(to, " %-8s %-28s", "-", "-");
	fprintf(to, " %s%s\n", probe_shown(s->mod, i),
		state_of(c, i, n ? &t->standing->probe[i] : NULL));
	for (k = 1; k < n; k++) {
		if (t[k].retired)
			continue;
		fprintf(to, "%25s", "");
		list_place(c, i, &t[k], to);
		fprintf(to, " in process %d%s\n", t[k].pid,
			state_of(c, i, &t[k].standing->probe[i]));
	}
}

static void list_usage(const struct tl_usage *u, FILE *to)
{
	fprintf(to, ": %zu bytes of detours, ", u->detours);
	if (u->mappings_max)
		fprintf(to, "%zu of at most %zu mappings, ", u->mappings, u->mappings_max);
	fprintf(to, "%zu page%s of text changed\n", u->text_pages, u->text_pages == 1 ? "" : "s");
}

static void list_kernel(const struct control *c, FILE *to)
{
	struct utsname u;

	fprintf(to, "  kernel %s", uname(&u) ? "" : u.release);
	list_usage(&c->targets->standing->usage, to);
}

static void list_process(const struct target *t, FILE *to)
{
	char name[32];

	proc_name(t->pid, name, sizeof(name));
	fprintf(to, "  process %d", t->pid);
	if (name[0])
		fprintf(to, " (%s)", name);
	list_usage(&t->standing->usage, to);
}

static void list_processes(const struct control *c, FILE *to)
{
	for (int i = 0; i < *c->ntargets; i++)
		if (!c->targets[i].retired)
			list_process(&c->targets[i], to);
}

static void list_failures(const struct control *c, FILE *to)
{
	for (int i = 0; i < *c->ntargets; i++)
		if (c->targets[i].why_not[0])
			fprintf(to, "session %d: process %d: %s\n", getpid(), c->targets[i].pid,
				c->targets[i].why_not);
}

void list_head(const struct control *c, FILE *to)
{
	const struct tl_tap *mod = c->session->mod;
	bool off = c->session->board.tuning->unoptimized || c->opt->traps_only;

	fprintf(to, "session %d: %s, for %.0f s, optimization %s\n", getpid(),
		tl_tap_string(mod, mod->header->name), (now_ms() - c->since) / 1000,
		off ? "off" : "on");
	if (is_for_kernel(mod))
		list_kernel(c, to);
	else
		list_processes(c, to);
	list_failures(c, to);
}

void list_session(const struct control *c, FILE *to)
{
	const struct tl_tap *mod = c->session->mod;

	list_head(c, to);
	fprintf(to, "%6s %10s %7s %-8s %-28s %s\n", "NUMBER", "HITS", "MISSED", "RUNG", "WHERE",
		"PROBE");
	for (uint32_t i = 0; i < mod->nprobes; i++)
		if (!probe_is_ours(&mod->probes[i]))
			list_probe(c, i, to);
}

/* Of those that were to be enabled, who could not be, and why. */
void list_refused(const struct control *c, FILE *to)
{
	const struct tl_tap *mod = c->session->mod;

	list_failures(c, to);
	for (int k = 0; c->request.kind == REQUEST_ENABLE && k < *c->ntargets; k++) {
		if (c->targets[k].retired)
			continue;
		for (uint32_t i = 0; i < mod->nprobes; i++) {
			const struct probe_row *row = &c->targets[k].standing->probe[i];

			if (row->result && !row->armed &&
				probe_is_chosen(mod, i, c->request.pattern))
				fprintf(to, "%s: probe refused [%s]: %s\n", probe_shown(mod, i),
					tl_error_name(row->result), tl_error_text(row->result));
		}
	}
}
