/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Probes of sessions, as who wants them and who arms them see them both. Each
 * session has a block of its own, behind whose head lie its probes and the
 * parts of functions that they refer to; struct tl_arming is what all sessions
 * of a home have in common.
 */
#ifndef TRAPLESS_HOME_ARM_H
#define TRAPLESS_HOME_ARM_H

#include <stdint.h>
#include <trapless/probe.h>

enum {
	TL_CTL_SESSIONS = 8, /* as many as struct tl_thread has slots */
	TL_CTL_RUNGS = 8,
};

struct tl_arming {
	uint64_t sessions[TL_CTL_SESSIONS]; /* struct tl_ctl_session, where it is armed; 0: none */
	/* Nonzero there: a call has left to where tl_ctl_follow() may find more; 0: never */
	uint64_t at_wanting;
	uint32_t jump; /* 0: traps only */
	uint32_t patching; /* enum tl_patching */
	uint32_t later; /* probes may stand better: tl_ctl_follow() */
	uint32_t nthreads, room; /* threads now; with more than that: tl_ctl_follow(). 0: never */
	uint32_t reserved;
	struct tl_usage usage; /* of a session that explains */
};

struct tl_ctl_probe {
	/* what is wanted: from who knows where the module and its images are */
	uint64_t addr, handler, on_entry; /* addresses in the target; 0: none */
	uint64_t semaphore; /* there, of a mark; 0: it has none, or not yet */
	uint64_t bias; /* of the copy of its image that it stands in */
	uint64_t point, func, name; /* strings in the target */
	uint32_t number, kind; /* index in PROBES, enum tl_tap_probe_kind */
	uint32_t image; /* index in IMAGES, or TL_NONE */
	uint32_t flags; /* enum tl_probe_flag */
	uint32_t call_data;
	uint32_t at_syscall; /* TL_TAP_PROBE_SYSCALL */
	uint32_t first_part, nparts; /* parts[] behind the probes */
	/* what has come of it */
	int32_t result; /* 0 or -TL_E_ */
	uint32_t rung;
	uint64_t detour, patch;
	uint32_t patch_len, armed;
	int32_t why[TL_CTL_RUNGS];
	uint32_t nexits, ntrapped; /* of a return probe: its exits, those on the trap rung */
	uint64_t nmissed, nabandoned, ntails;
	uint64_t nunpaired, ncrowded; /* of nmissed, of ntails */
	uint64_t missed[TL_MISSED_KINDS]; /* of nmissed */
	/* of these: until its library was closed */
	uint64_t old_missed, old_abandoned, old_tails, old_unpaired, old_crowded;
	uint64_t old_kinds[TL_MISSED_KINDS], at_kinds[TL_MISSED_KINDS];
	/* of its place: of nmissed and of missed[], not added to them yet; one behind the other */
	uint64_t at_rest;
	uint64_t at_missed, at_abandoned, at_tails, at_unpaired,
		at_crowded; /* where these stand in the target: read when it exits; 0: none */
	uint64_t tail,
		tail_to; /* a jump to a function whose exits are not watched; 0: none is known */
	int32_t tail_why;
	uint32_t nfollowed; /* functions that are watched because of such jumps */
	uint32_t reason; /* enum tl_unpaired, for a result of -TL_E_RET_BLACKLIST */
	uint64_t listening; /* the semaphore that it counts in; 0: none. See listen.h */
	uint32_t off; /* the user wants it away */
	uint32_t detour_size;
	uint32_t replaced; /* the program has written over its text: it stays away */
	/* 1 + the number of a system call that is made there, if anything is code there: that is not proven */
	uint32_t unseen;
};

struct tl_ctl_session {
	uint32_t slot; /* in the control block, and of struct tl_thread's locals */
	uint32_t first, count; /* ARM */
	uint32_t explain; /* ARM: tell rungs and reasons, too */
	uint32_t cut_short; /* ARM: the session ends, what is not in yet is left out */
	/* ARM: so many of `count` have been looked at, twice as many in all: returns, then the others */
	uint32_t done;
	uint64_t module; /* struct tl_home_module in the target */
	uint64_t memory, memory_size; /* struct tl_session there */
	uint64_t nprobes, nparts;
	/* probes[nprobes], parts[nparts] follow: of the module's, and then room for those of further copies of its images */
};

static inline int tl_ctl_any_session(const struct tl_arming *all)
{
	unsigned i;

	for (i = 0; i < TL_CTL_SESSIONS && !all->sessions[i]; i++)
		;
	return i < TL_CTL_SESSIONS;
}

static inline uint64_t tl_ctl_session_size(uint64_t nprobes, uint64_t nparts)
{
	return sizeof(struct tl_ctl_session) + nprobes * sizeof(struct tl_ctl_probe) +
	       nparts * sizeof(struct tl_func_part);
}

static inline struct tl_ctl_probe *tl_ctl_probe(struct tl_ctl_session *s, uint32_t i)
{
	return (struct tl_ctl_probe *)(s + 1) + i;
}

static inline struct tl_func_part *tl_ctl_parts(struct tl_ctl_session *s, uint32_t nprobes)
{
	return (struct tl_func_part *)tl_ctl_probe(s, nprobes);
}

#endif
