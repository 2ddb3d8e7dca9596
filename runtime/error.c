/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Run-time errors: how they are raised. */
#include "internal.h"
#include <stdarg.h>

struct text {
	char *b;
	uint32_t n, room;
};

static void text_add(struct text *t, const char *s, uint32_t n)
{
	while (n-- && t->n + 1 < t->room)
		t->b[t->n++] = *s++;
	t->b[t->n] = 0;
}

static void text_format(struct text *t, const char *fmt, va_list args)
{
	char buf[24];
	const char *s;

	for (; *fmt; fmt++) {
		if (*fmt != '%' || !fmt[1]) {
			text_add(t, fmt, 1);
			continue;
		}
		switch (*++fmt) {
		case 's':
			s = va_arg(args, const char *);
			text_add(t, s, tl_cstr_len(s));
			break;
		case 'd':
			text_add(t, buf, tl_text_dec(buf, va_arg(args, int64_t)));
			break;
		case 'p':
			text_add(t, buf, tl_text_hex(buf, va_arg(args, uint64_t)));
			break;
		default:
			text_add(t, fmt, 1);
		}
	}
}

__attribute__((cold)) void tl_run_error(struct tl_run *run, const char *fmt, ...)
{
	struct text t = {run->text, 0, sizeof(run->text)};
	va_list args;

	if (run->error)
		return;
	va_start(args, fmt);
	text_format(&t, fmt, args);
	va_end(args);
	if (t.n + 1 == t.room)
		run->block->truncated++;
	run->error = run->text;
}

void tl_run_spent(struct tl_run *run)
{
	tl_run_error(run, "MAXACTION exceeded");
}
void tl_run_nested(struct tl_run *run)
{
	tl_run_error(run, "MAXNESTING exceeded");
}
void tl_run_div0(struct tl_run *run)
{
	tl_run_error(run, "division by 0");
}

const char tl_aborted[] = "aborted";
