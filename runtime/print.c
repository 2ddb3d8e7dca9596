/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What handlers print: records with arguments; text is made by the reader. */
#include "internal.h"

static uint32_t arg_size(const struct tl_value *a)
{
	return a->s ? (4 + a->s->len + 7) & ~7u : 8;
}

void tl_printf(struct tl_run *run, uint16_t format, const struct tl_value *args, uint32_t n)
{
	uint32_t i, size = 0, len;
	struct tl_slot s;
	uint8_t *p;

	for (i = 0; i < n; i++)
		size += arg_size(&args[i]);
	if (!tl_ring_begin(run, &s, TL_REC_PRINTF, format, size))
		return;
	p = s.data;
	for (i = 0; i < n; i++) {
		if (!args[i].s) {
			*(int64_t *)p = args[i].l;
			p += 8;
			continue;
		}
		len = args[i].s->len;
		*(uint64_t *)(p + ((4 + len + 7) & ~7u) - 8) = 0; /* padding */
		*(uint32_t *)p = len;
		memcpy(p + 4, args[i].s->b, len);
		p += (4 + len + 7) & ~7u;
	}
	tl_ring_end(run, &s);
}

void tl_printf_longs(struct tl_run *run, uint16_t format, const int64_t *args, uint32_t n)
{
	struct tl_slot s;
	uint32_t i;

	if (!tl_ring_begin(run, &s, TL_REC_PRINTF, format, 8 * n))
		return;
	for (i = 0; i < n; i++)
		((int64_t *)s.data)[i] = args[i];
	tl_ring_end(run, &s);
}

void tl_print_str(struct tl_run *run, const struct tl_str *s)
{
	tl_ring_text(run, TL_REC_TEXT, 0, s->b, s->len);
}

void tl_warn(struct tl_run *run, const struct tl_str *msg)
{
	tl_ring_text(run, TL_REC_WARN, 0, msg->b, msg->len);
}

void tl_error(struct tl_run *run, const struct tl_str *msg)
{
	tl_run_error(run, "%s", msg->b);
}

void tl_command(struct tl_run *run, uint16_t command)
{
	struct tl_slot s;

	if (tl_ring_begin(run, &s, TL_REC_COMMAND, command, 0))
		tl_ring_end(run, &s);
}

/* In one piece, or not at all. */
void tl_command_text(struct tl_run *run, const struct tl_str *text)
{
	const struct tl_view_ops *ops = run->view->ops;
	struct tl_slot s;
	int number;

	if (run->error)
		return;
	if (ops && ops->command) {
		number = ops->command(run->view, text);
		if (number >= 0)
			tl_command(run, (uint16_t)number);
		return;
	}
	if (!tl_ring_begin(run, &s, TL_REC_COMMAND_TEXT, 0, text->len))
		return;
	memcpy(s.data, text->b, text->len);
	tl_ring_end(run, &s);
}

void tl_switch_file(struct tl_run *run)
{
	struct tl_slot s;

	if (tl_ring_begin(run, &s, TL_REC_SWITCH, 0, 0))
		tl_ring_end(run, &s);
}

/* --- $value ------------------------------------------------------------------------------- */

static struct tl_value_text *value_of(struct tl_run *run)
{
	const struct tl_view_ops *ops = run->view->ops;
	struct tl_value_text *v = ops && ops->value ? ops->value(run->view) : NULL;

	if (!v)
		tl_run_error(run, "$value is of no file here");
	return v;
}

void tl_value_get(struct tl_run *run, struct tl_str *dst)
{
	struct tl_value_text *v = value_of(run);

	tl_str_put(run, dst, v ? v->text : "", v ? v->len : 0);
}

void tl_value_add(struct tl_run *run, const struct tl_str *text)
{
	struct tl_value_text *v = value_of(run);
	uint32_t n = text->len;

	if (!v)
		return;
	if (n > v->room - v->len) {
		n = v->room - v->len;
		run->block->truncated++;
	}
	memcpy(v->text + v->len, text->b, n);
	v->len += n;
}

void tl_value_set(struct tl_run *run, const struct tl_str *text)
{
	struct tl_value_text *v = value_of(run);

	if (v) {
		v->len = 0;
		tl_value_add(run, text);
	}
}

/* No catch ends it. */
void tl_abort(struct tl_run *run)
{
	tl_exit(run);
	run->error = tl_aborted;
}

/* No other handler begins; this one goes on. */
void tl_exit(struct tl_run *run)
{
	struct tl_session *s = run->view->session;

	__atomic_store_n(&s->live, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&s->exit_requested, 1, __ATOMIC_RELEASE);
}

/* Text collected into a string, cut and counted at its end. */
struct collect {
	struct tl_run *run;
	struct tl_str *dst;
	bool cut;
};

static int collect(void *arg, const char *text, size_t n)
{
	struct collect *c = arg;
	uint32_t room = tl_max_len(c->run) - c->dst->len;

	if (n > room) {
		c->cut = true;
		n = room;
	}
	memcpy(c->dst->b + c->dst->len, text, n);
	c->dst->len += (uint32_t)n;
	return c->cut;
}

void tl_sprintf(struct tl_run *run, struct tl_str *dst, const char *fmt,
	const struct tl_value *args, uint32_t n)
{
	struct collect c = {run, dst, false};

	dst->len = 0;
	tl_format_values(fmt, args, n, collect, &c);
	dst->b[dst->len] = 0;
	dst->len = tl_cstr_len(dst->b); /* %c of 0 and %b end a script's string */
	if (c.cut)
		run->block->truncated++;
}

/* A histogram goes out in lines: collect some before each record. */
struct lines {
	struct tl_run *run;
	uint32_t n;
	char text[256];
};

static void lines_flush(struct lines *l, unsigned more)
{
	struct tl_slot s;
	uint32_t n = l->n;

	l->n = 0;
	if (!n || !tl_ring_begin(l->run, &s, TL_REC_TEXT, more, n))
		return;
	memcpy(s.data, l->text, n);
	tl_ring_end(l->run, &s);
}

static int lines_add(void *arg, const char *text, size_t n)
{
	struct lines *l = arg;

	if (n > sizeof(l->text) - l->n)
		lines_flush(l, TL_TEXT_MORE);
	memcpy(l->text + l->n, text, n); /* pieces are at most 50 bytes */
	l->n += (uint32_t)n;
	return 0;
}

void tl_hist_print(struct tl_run *run, const struct tl_stat *s, const struct tl_hist *h)
{
	struct lines l;

	if (!s || !s->count) {
		tl_run_error(run, "empty aggregate");
		return;
	}
	l.run = run;
	l.n = 0;
	tl_hist_text(s, h, lines_add, &l);
	lines_flush(&l, 0);
}
