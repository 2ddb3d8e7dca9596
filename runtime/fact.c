/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What the kernel knows of the process: asked of the home each time. */
#include "internal.h"

#define AREA_MAX (1u << 20) /* of arguments or variables that are looked through */
#define PIECE	 64u

static bool ask(struct tl_run *run, enum tl_fact what, int64_t of, uint64_t value[2])
{
	const struct tl_view_ops *ops = run->view->ops;

	if (run->error)
		return false;
	if (ops && ops->fact && ops->fact(run->view, what, of, value))
		return true;
	if (of)
		tl_run_error(run, "nothing is told of process %d", of);
	else
		tl_run_error(run, "nobody tells this of the traced process here: ask in one of its "
				  "own probes, not in begin, end or a timer");
	return false;
}

int64_t tl_fact(struct tl_run *run, enum tl_fact what, int64_t of)
{
	uint64_t value[2];

	return ask(run, what, of, value) ? (int64_t)value[0] : 0;
}

void tl_fact_name(struct tl_run *run, struct tl_str *dst, enum tl_fact what, int64_t of)
{
	uint64_t value[3] = {0, 0, 0};

	tl_str_put(run, dst, "", 0);
	if (ask(run, what, of, value))
		tl_str_set_c(run, dst, (const char *)value);
}

int64_t tl_load_average(struct tl_run *run, int64_t n)
{
	uint64_t value[2];

	if (n < 0 || n > 2) {
		tl_run_error(run, "Invalid loadavg index %d specified.", n);
		return 0;
	}
	if (!ask(run, TL_FACT_LOAD, 0, value))
		return 0;
	return n == 2 ? (int64_t)value[1] : n ? (int64_t)(value[0] >> 32) : (uint32_t)value[0];
}

void tl_raise(struct tl_run *run, int64_t sig)
{
	const struct tl_view_ops *ops = run->view->ops;

	if (run->error)
		return;
	if (!ops || !ops->raise)
		tl_run_error(run, "raise(): nobody sends signals here");
	else if (!ops->raise(run->view, sig))
		tl_run_error(run, "raise(): signal %d cannot be sent", sig);
}

/* Text of the program, piece by piece. */
struct area {
	struct tl_run *run;
	uint64_t at, end;
	uint32_t next, there;
	char piece[PIECE];
};

static bool open_area(struct area *a, struct tl_run *run, enum tl_fact what)
{
	uint64_t ends[2];

	if (!ask(run, what, 0, ends))
		return false;
	a->run = run;
	a->at = ends[0];
	a->end = ends[1] - ends[0] > AREA_MAX ? ends[0] + AREA_MAX : ends[1];
	a->next = a->there = 0;
	return ends[0] < ends[1];
}

/* The next byte, -1 at the end. */
static int next(struct area *a)
{
	if (a->next == a->there) {
		uint64_t left = a->end - a->at;
		uint32_t n = left < PIECE ? (uint32_t)left : PIECE;

		if (!n || tl_read(a->run, a->piece, a->at, n))
			return -1;
		a->at += n;
		a->next = 0;
		a->there = n;
	}
	return (unsigned char)a->piece[a->next++];
}

void tl_cmdline(
	struct tl_run *run, struct tl_str *dst, int64_t n, int64_t m, const struct tl_str *delim)
{
	struct area a;
	int64_t number = 0;
	bool begun = false, fits = true;
	int c;

	tl_str_put(run, dst, "", 0);
	if (!open_area(&a, run, TL_FACT_ARGS))
		return;
	while (fits && (m < 0 || number <= m) && (c = next(&a)) >= 0) {
		if (number >= n) {
			char byte = (char)c;

			if (!begun && number > n)
				fits = tl_str_add(run, dst, delim->b, delim->len);
			if (c && fits)
				fits = tl_str_add(run, dst, &byte, 1);
			else if (!begun && number > n && fits)
				fits = tl_str_add(run, dst, "\"\"", 2);
		}
		begun = c != 0;
		number += !c;
	}
}

void tl_env_var(struct tl_run *run, struct tl_str *dst, const struct tl_str *name)
{
	struct area a;
	uint32_t same = 0; /* bytes of the name and `=`; UINT32_MAX: another one */
	bool fits = true;
	int c;

	tl_str_put(run, dst, "", 0);
	if (!open_area(&a, run, TL_FACT_VARS))
		return;
	while (fits && (c = next(&a)) >= 0) {
		char byte = (char)c;

		if (same == name->len + 1 && !c)
			return;
		if (same == name->len + 1)
			fits = tl_str_add(run, dst, &byte, 1);
		else if (!c)
			same = 0;
		else if (same != UINT32_MAX)
			same = byte == (same < name->len ? name->b[same] : '=') ? same + 1
										: UINT32_MAX;
	}
}
