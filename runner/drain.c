/* SPDX-License-Identifier: MIT */
/* From rings to text, or to the raw stream, in order of time. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "raw.h"
#include "session.h"

enum { PASSES_MAX = 64, SETTLE_US = 100, READY_MAX = 1 << 18 };

int drain_start(struct session *s)
{
	s->reader.view = &s->view;
	s->reader.cursor = calloc(s->view.nblocks, sizeof(*s->reader.cursor));
	s->reader.buffer = malloc(s->view.chunk_size);
	s->ready = malloc(READY_MAX);
	if (s->reader.cursor && s->reader.buffer && s->ready)
		return 0;
	snprintf(s->why, sizeof(s->why), "out of memory");
	return -1;
}

/* why: an errno; the first one is told. */
static void lost_output(struct session *s, int why)
{
	if (!s->unwritten)
		s->unwritten = why;
}

static void write_ready(struct session *s)
{
	if (s->raw)
		lost_output(s, raw_write(s->raw, s->ready, s->nready));
	else if (fwrite(s->ready, 1, s->nready, s->out) < s->nready)
		lost_output(s, errno);
	s->nready = 0;
}

/* A call for each record or piece of text would take longer than all else. */
int drain_put(void *arg, const char *text, size_t n)
{
	struct session *s = arg;

	while (n > READY_MAX - s->nready) {
		size_t part = READY_MAX - s->nready;

		memcpy(s->ready + s->nready, text, part);
		s->nready = READY_MAX;
		text += part;
		n -= part;
		write_ready(s);
	}
	memcpy(s->ready + s->nready, text, n);
	s->nready += n;
	return 0;
}

/* Output that nobody gets is no reason to go on. */
void drain_write(struct session *s)
{
	write_ready(s);
	if (fflush(s->out))
		lost_output(s, errno);
}

static void turn_over(struct session *s)
{
	drain_write(s);
	rotation_next(&s->rotation, &s->out);
}

static void put_printf(
	struct session *s, const struct tl_record *r, const uint8_t *payload, uint32_t size)
{
	struct tl_fmt_arg args[TL_FMT_ARGS_MAX];
	const uint32_t print = tl_record_id(r->what);
	const char *fmt;
	int n;

	if (print >= s->mod->nprints) {
		s->damaged++;
		return;
	}
	fmt = tl_tap_string(s->mod, s->mod->prints[print].format);
	n = tl_format_args(payload, size, fmt, args, TL_FMT_ARGS_MAX);
	if (n < 0)
		s->damaged++;
	else
		tl_format(fmt, args, (uint32_t)n, drain_put, s);
}

static void put_command(
	struct session *s, const struct tl_record *r, const uint8_t *payload, uint32_t size)
{
	const char *text;
	uint32_t n;

	if (tl_record_kind(r->what) == TL_REC_COMMAND) {
		command_start(s, tl_record_id(r->what));
		return;
	}
	text = tl_record_text(payload, size, &n);
	command_start_text(s, text, n);
}

/* Behind what was printed before. */
static void tell(struct session *s, const char *what, const uint8_t *payload, uint32_t size)
{
	uint32_t n;
	const char *text = tl_record_text(payload, size, &n);

	if (!s->raw)
		drain_write(s);
	fprintf(stderr, "%s: %.*s\n", what, (int)n, text);
}

/* What is not for the output alone. */
static void act_on(
	struct session *s, const struct tl_record *r, const uint8_t *payload, uint32_t size)
{
	switch (tl_record_kind(r->what)) {
	case TL_REC_ERROR:
		if (s->mod->options->max_errors == TL_NONE)
			break;
		s->errors++;
		tell(s, "ERROR", payload, size);
		break;
	case TL_REC_WARN:
		if (!s->no_warnings)
			tell(s, "WARNING", payload, size);
		break;
	case TL_REC_COMMAND:
	case TL_REC_COMMAND_TEXT:
		if (!s->raw)
			drain_write(s);
		put_command(s, r, payload, size);
	}
}

static void put_text(
	struct session *s, const struct tl_record *r, const uint8_t *payload, uint32_t size)
{
	const char *text;
	uint32_t n;

	if (rotation_due(&s->rotation, s->out, s->nready))
		turn_over(s);
	switch (tl_record_kind(r->what)) {
	case TL_REC_SWITCH:
		turn_over(s);
		break;
	case TL_REC_PRINTF:
		put_printf(s, r, payload, size);
		break;
	case TL_REC_TEXT:
		text = tl_record_text(payload, size, &n);
		drain_put(s, text, n);
		break;
	case TL_REC_ERROR:
	case TL_REC_WARN:
	case TL_REC_THREAD:
	case TL_REC_COMMAND:
	case TL_REC_COMMAND_TEXT:
		break;
	default:
		s->damaged++;
	}
}

int drain_record(
	void *arg, uint32_t block, const struct tl_record *r, const uint8_t *payload, uint32_t size)
{
	struct session *s = arg;

	if (s->raw)
		raw_record(s, block, r, payload, size);
	else
		put_text(s, r, payload, size);
	act_on(s, r, payload, size);
	return 0;
}

static uint32_t own_block(const struct session *s)
{
	uint32_t i = 0;

	while (i < s->view.nblocks && tl_block_at(&s->view, i) != s->view.own)
		i++;
	return i;
}

bool drain_aside(
	struct session *s, void (*run)(struct session *s, uint32_t i), uint32_t n, FILE *to)
{
	const struct rotation rotation = s->rotation;
	const uint32_t own = own_block(s);
	FILE *out = s->out;

	if (own == s->view.nblocks)
		return false;
	for (int tries = 0; tl_reader_waits(&s->reader, own); tries++) {
		if (tries == PASSES_MAX)
			return false;
		usleep(SETTLE_US);
		drain(s, false);
	}
	write_ready(s);
	s->out = to;
	s->rotation = (struct rotation){0};
	for (uint32_t i = 0; i < n; i++) {
		run(s, i);
		tl_reader_block(&s->reader, own, drain_record, s);
	}
	write_ready(s);
	s->out = out;
	s->rotation = rotation;
	return true;
}

/* What is there now; a target that never stops writing does not keep us for long. */
uint64_t drain(struct session *s, bool final)
{
	uint64_t all = 0, n;
	int passes = 0;

	do {
		n = s->backend->pass(s, final);
		all += n;
	} while (n && !final && ++passes < PASSES_MAX);
	if (s->raw)
		raw_losses(s);
	drain_write(s);
	commands_reap();
	return all;
}
