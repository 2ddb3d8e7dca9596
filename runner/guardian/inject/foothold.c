/* SPDX-License-Identifier: MIT */
/*
 * How a thread that makes a call for us finds its way when we are killed
 * meanwhile: behind the call it returns, by words that lie ready below its
 * stack, to another call that puts all back as it was (rt_sigreturn), or, in
 * the helper, ends it (exit). All code is the program's own: see
 * machine/machine.h, "the way home".
 */
#define _GNU_SOURCE
#include <string.h>

#include "../../machine/calls.h"
#include "../guardian.h"
#include "../trace/images.h"
#include "../trace/maps.h"
#include "../trace/remote.h"
#include "foothold.h"

enum { LOOK_BYTES = 16 << 20 }; /* of the program's text, at most */

static uint64_t find_lead(struct guardian *g, const struct mapping *m, uint64_t *left)
{
	static uint8_t code[65536];
	uint64_t at;
	size_t n;

	for (at = m->lo; at < m->hi && *left; at += n) {
		const uint8_t *p;

		n = m->hi - at < sizeof(code) ? m->hi - at : sizeof(code);
		if (target_read(g, g->pid, at, code, n) != n)
			break;
		*left -= n < *left ? n : *left;
		p = home_find_lead(code, n);
		if (p)
			return at + (uint64_t)(p - code);
	}
	return 0;
}

/* Those of libraries, which most programs have in memory anyhow, come before the program's own, which may be large. */
static void find_code(struct guardian *g)
{
	uint64_t left = LOOK_BYTES;
	const struct mapping *m;
	size_t n, i;

	g->lead = 0;
	if (maps_read(g))
		return;
	m = mappings(&n);
	for (i = n; i-- && left && !g->lead;)
		if (is_text(&m[i]))
			g->lead = find_lead(g, &m[i], &left);
}

/* The program may have changed it since. */
static bool code_stands(struct guardian *g, int *pops)
{
	uint8_t call[INSN_BYTES + HOME_CODE], lead[LEAD_SIZE];
	const struct machine_insn *insn = &machine.syscall;
	size_t n = target_read(g, g->pid, g->syscall_insn, call, insn->size + HOME_CODE);

	*pops = n > insn->size && !memcmp(call, insn->bytes, insn->size)
			? home_returns(call + insn->size, n - insn->size)
			: -1;
	return *pops >= 0 && g->lead &&
	       target_read(g, g->pid, g->lead, lead, sizeof(lead)) == sizeof(lead) &&
	       home_find_lead(lead, sizeof(lead)) == lead;
}

static bool code_found(struct guardian *g, int *pops)
{
	if (code_stands(g, pops))
		return true;
	if (*pops < 0 && remote_find_syscall(g))
		return false;
	find_code(g);
	return code_stands(g, pops);
}

/* By which a thread behind its call makes that one. Bytes. */
static size_t lead_on(const struct guardian *g, uint64_t words[LEAD_WORDS], int pops, long nr)
{
	return sizeof(*words) * home_words(words, pops, g->lead, g->syscall_insn, nr);
}

/* Goroutines have small stacks: what lies below may be anybody's. */
static bool is_of_go(struct guardian *g)
{
	const struct mapped *m;
	size_t n;

	m = images_found(&n);
	if (!n && !images_find(g))
		m = images_found(&n);
	while (n && !m->go)
		m++, n--;
	return n;
}

bool foothold_lay(struct guardian *g, struct thread *t, const struct machine_regs *home,
	uint64_t mask, struct foothold *f)
{
	uint64_t end = (regs_sp(home) - machine.red_zone - sizeof(f->put)) & ~63ull;
	uint64_t words[LEAD_WORDS];
	uint8_t frame[HOME_FRAME_MAX];
	struct machine_regs stands = *home;
	size_t n, at = FOOTHOLD_WORDS;
	int pops;

	memset(f, 0, sizeof(*f));
	if (is_of_go(g) || !code_found(g, &pops) ||
		target_read(g, t->tgid, end, f->kept, sizeof(f->kept)) != sizeof(f->kept))
		return false;
	memcpy(f->put, f->kept, sizeof(f->put));
	if (!home_float(t->tid, f->put + FOOTHOLD_FLOAT, sizeof(f->put) - FOOTHOLD_FLOAT))
		return false;
	f->helper_sp = end;
	n = lead_on(g, words, pops, SYS_exit);
	memcpy(f->put, words, n);
	f->sp = end + at;
	n = lead_on(g, words, pops, SYS_rt_sigreturn);
	memcpy(f->put + at, words, n);
	at += n;
	n = home_frame(frame, home, mask, end + FOOTHOLD_FLOAT);
	memcpy(f->put + at, frame, n);
	if (target_write(g, t->tgid, end, f->put, sizeof(f->put)))
		return false;
	f->at = end;
	t->calls_sp = f->sp;
	regs_pc_set(&stands, g->syscall_insn + machine.syscall.size);
	regs_sp_set(&stands, f->sp);
	regs_call_forget(&stands);
	regs_set(t->tid, &stands);
	return true;
}

void foothold_lift(struct guardian *g, struct thread *t, struct foothold *f)
{
	t->calls_sp = 0;
	if (f->at)
		target_write(g, t->tgid, f->at, f->kept, sizeof(f->kept));
	f->at = 0;
}

void foothold_of_helper(struct guardian *g, struct thread *t, uint64_t at)
{
	uint64_t words[LEAD_WORDS];
	size_t n;
	int pops;

	t->calls_sp = 0;
	if (!code_stands(g, &pops))
		return;
	n = lead_on(g, words, pops, SYS_exit);
	if (!target_write(g, g->pid, at, words, n))
		t->calls_sp = at;
}
