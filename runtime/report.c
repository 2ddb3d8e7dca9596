/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What becomes of a run-time error: it is caught, or told. */
#include "internal.h"

void tl_run_catch(struct tl_run *run, struct tl_str *msg)
{
	if (run->error == tl_aborted)
		return;
	if (msg)
		tl_str_set_c(run, msg, run->error ? run->error : "");
	run->error = NULL;
}

/* "message near place" as one record, without a buffer for it. */
static void error_record(struct tl_run *run)
{
	uint32_t n = tl_cstr_len(run->error), np = run->place ? tl_cstr_len(run->place) : 0;
	uint32_t all = np ? n + 6 + np : n;
	struct tl_slot s;

	if (!tl_ring_begin(run, &s, TL_REC_ERROR, 0, all))
		return;
	memcpy(s.data, run->error, n);
	if (np) {
		memcpy(s.data + n, " near ", 6);
		memcpy(s.data + 6 + n, run->place, np);
	}
	tl_ring_end(run, &s);
}

/* The error ends this handler, and the session when it is one too many. */
__attribute__((cold)) void tl_run_report(struct tl_run *run)
{
	struct tl_session *s = run->view->session;

	if (run->error == tl_aborted)
		return;
	error_record(run);
	run->block->errors++;
	if (__atomic_add_fetch(&s->errors, 1, __ATOMIC_RELAXED) > run->view->max_errors)
		tl_exit(run);
}
