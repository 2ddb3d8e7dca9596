/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "../base/clock.h"
#include "../input.h"
#include "monitor.h"
#include "screen.h"

#define KEYS                                                                                       \
	" q quit  p pause  r resume  t switch a probe  c clear globals  s sort  j k scroll  x "    \
	"hide"

enum sort { BY_NUMBER, BY_HITS, SORTS };
enum { NOT_TYPED = -1 };

static struct {
	struct control *control;
	double every, next; /* ms */
	bool screen, keys, hidden, ends;
	enum sort sort;
	int number; /* of a probe, behind `t` */
	int first; /* line that is shown */
	uint32_t *order; /* probes, then the globals' */
	uint32_t nprobes, nshown, reset; /* reset: a probe, or TL_NONE */
	char *globals; /* as they were last */
	uint64_t stood; /* a sum over the targets, when they were asked last */
} at;

/* Keys are those of who reads the standard input: the program's, a handler's, or ours. */
static bool has_keys(const struct control *c)
{
	const struct tl_tap *mod = c->session->mod;

	for (uint32_t i = 0; i < mod->nprobes; i++)
		if (input_is(mod, i))
			return false;
	return !c->opt->command;
}

static void sort_out_probes(const struct tl_tap *mod)
{
	at.order = calloc(mod->nprobes + 1, sizeof(*at.order));
	at.reset = TL_NONE;
	for (uint32_t i = 0; at.order && i < mod->nprobes; i++) {
		if (!probe_is_ours(&mod->probes[i]))
			at.order[at.nprobes++] = i;
		if (mod->probes[i].kind == TL_TAP_RESET)
			at.reset = i;
	}
	for (uint32_t i = 0; at.order && i < mod->nprobes; i++)
		if (mod->probes[i].kind == TL_TAP_SHOW)
			at.order[at.nprobes + at.nshown++] = i;
}

void monitor_start(struct control *c)
{
	at.control = c;
	at.every = 1000.0 * options_seconds(c->opt->monitor);
	at.next = now_ms();
	at.number = NOT_TYPED;
	at.keys = has_keys(c);
	sort_out_probes(c->session->mod);
	at.screen = screen_start(&c->session->out, at.keys);
}

void monitor_end(void)
{
	if (at.screen)
		screen_end(&at.control->session->out);
	free(at.order);
	free(at.globals);
	at.order = NULL;
	at.globals = NULL;
}

int monitor_fd(void)
{
	return at.screen ? screen_fd() : -1;
}

/* --- what is shown ------------------------------------------------------------------ */

static int more_hits(const void *a, const void *b)
{
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	const struct tl_view *v = &at.control->session->view;
	const uint64_t n = tl_session_hits(v, x), m = tl_session_hits(v, y);

	return n != m ? (n < m) - (n > m) : (x > y) - (x < y);
}

static int smaller_number(const void *a, const void *b)
{
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static void run_shown(struct session *s, uint32_t i)
{
	session_run_one(s, at.order[at.nprobes + i], NULL);
}

/* By their handlers, which run here. Where a text of ours waits to be printed they are those of before. */
static void look_at_globals(void)
{
	char *text = NULL;
	size_t n = 0;
	FILE *to = open_memstream(&text, &n);
	bool done;

	if (!to)
		return;
	done = drain_aside(at.control->session, run_shown, at.nshown, to);
	fclose(to);
	if (!done) {
		free(text);
		return;
	}
	free(at.globals);
	at.globals = text;
}

static char *status(void)
{
	const struct control *c = at.control;
	struct tl_totals totals;
	char *text = NULL;
	size_t n = 0;
	FILE *to = open_memstream(&text, &n);

	if (!to)
		return NULL;
	tl_session_totals(&c->session->view, &totals);
	list_head(c, to);
	fprintf(to, "  errors %llu, skipped %llu, records lost %llu; %.1f MiB of memory\n",
		(unsigned long long)c->session->errors, (unsigned long long)totals.skipped,
		(unsigned long long)totals.lost, (double)c->session->size / (1 << 20));
	qsort(at.order, at.nprobes, sizeof(*at.order),
		at.sort == BY_HITS ? more_hits : smaller_number);
	list_titles_short(to);
	for (uint32_t i = 0; i < at.nprobes; i++)
		list_probe_short(c, at.order[i], to);
	if (at.globals && at.globals[0])
		fprintf(to, "GLOBALS\n%s", at.globals);
	fclose(to);
	return text;
}

static const char *last_line(void)
{
	static char prompt[64];

	if (at.number != NOT_TYPED) {
		snprintf(prompt, sizeof(prompt), " probe to switch (then Enter): %.0d", at.number);
		return prompt;
	}
	return at.keys ? KEYS : " Ctrl-C ends the session";
}

static void show(void)
{
	char *text;

	if (!at.order)
		return;
	look_at_globals();
	text = status();
	if (at.screen)
		screen_draw(at.hidden ? NULL : text, at.first, last_line());
	else if (text)
		fprintf(stderr, "%s\n", text);
	free(text);
}

/* --- keys --------------------------------------------------------------------------- */

static bool is_off(uint32_t probe)
{
	return at.control->session->board.tuning->off[probe] & OFF_BY_USER;
}

static void ask_targets(void)
{
	for (int i = 0; i < *at.control->ntargets; i++)
		target_tune(&at.control->targets[i]);
}

/* Where their probes stand: a thread of theirs is borrowed for the answer, so that is asked only after a change. */
static bool stand_otherwise(void)
{
	const uint64_t before = at.stood;

	at.stood = 0;
	for (int i = 0; i < *at.control->ntargets; i++) {
		const struct target *t = &at.control->targets[i];

		at.stood += ((uint64_t)t->armed << 16) + (t->ready ? 0x100 : 0) + 1;
	}
	return at.stood != before;
}

static void switch_to(const char *pattern, bool off)
{
	if (control_switch(at.control, pattern, off).switched)
		ask_targets();
}

static void type_number(int key)
{
	char pattern[16];

	if (key >= '0' && key <= '9' && at.number < 100000000) {
		at.number = at.number * 10 + key - '0';
		return;
	}
	if (key == '\n' && (uint32_t)at.number < at.control->session->mod->nprobes) {
		snprintf(pattern, sizeof(pattern), "%d", at.number);
		switch_to(pattern, !is_off((uint32_t)at.number));
	}
	at.number = NOT_TYPED;
}

static void take(int key)
{
	if (at.number != NOT_TYPED) {
		type_number(key);
		return;
	}
	switch (key) {
	case 'q':
		at.ends = true;
		break;
	case 'p':
	case 'r':
		switch_to("*", key == 'p');
		break;
	case 'c':
		if (at.reset != TL_NONE)
			session_run_one(at.control->session, at.reset, NULL);
		break;
	case 't':
		at.number = 0;
		break;
	case 's':
		at.sort = (at.sort + 1) % SORTS;
		break;
	case 'x':
		at.hidden = !at.hidden;
		break;
	case 'j':
	case KEY_DOWN:
		at.first++;
		break;
	case 'k':
	case KEY_UP:
		at.first -= at.first > 0;
		break;
	}
}

bool monitor_serve(bool busy)
{
	int key = busy || !at.screen ? -1 : screen_key();

	if (key >= 0) {
		take(key);
		at.next = 0; /* shown at once, or when the targets have answered */
		return !at.ends;
	}
	if (busy || now_ms() < at.next)
		return true;
	if (stand_otherwise()) {
		ask_targets();
		return true;
	}
	show();
	at.next = now_ms() + at.every;
	return true;
}
