/* SPDX-License-Identifier: MIT */
/* What runner and guardian tell each other over their socket (SOCK_SEQPACKET). */
#ifndef TRAPLESS_RUNNER_BASE_MESSAGE_H
#define TRAPLESS_RUNNER_BASE_MESSAGE_H

#include <stdint.h>

#include <trapless/probe.h>
#include <trapless/regs.h>

enum message_kind {
	/* guardian to runner */
	MSG_READY = 1, /* seized, agent in, probes armed: number = armed probes */
	MSG_FAILED, /* text: why; nothing is left in the target */
	MSG_NOTE, /* text for -v */
	MSG_EXPLAIN, /* a line about a probe */
	MSG_WARN, /* text for the user */
	MSG_TAKEN, /* another session's guardian traces the target: number = its pid, text: as of MSG_FAILED */
	MSG_GONE, /* the target has ended, or runs another program */
	MSG_COUNTS, /* the closing figures */
	MSG_EVENT, /* number = the probe whose handler is to run as if in the thread `who`; text: its name; regs: of a sample */
	MSG_WAITS, /* thread number stands still until MSG_GO_ON: what was told of it before is to be done */
	MSG_TUNED, /* answers MSG_TUNE; text: why not */
	MSG_CHILD, /* process `number` waits, parked at `at`, for a guardian of its own; sent back: taken */
	MSG_PROGRAM, /* as MSG_CHILD; it has just become another program */
	MSG_PROGRESS, /* of a long arming: number = percent */
	MSG_UNSEEN, /* text for the user: none of the script's places is there */
	MSG_DONE, /* the session has left; number != 0: the guardian stays, for memory still in use or other sessions */
	/* runner to guardian */
	MSG_LEAVE, /* disarm, clean up, detach */
	MSG_TUNE, /* make the probes as struct tuning wants them, and tell how they stand */
	MSG_SAMPLE, /* an event of probe `number` for each thread that runs */
	MSG_GO_ON, /* answers MSG_WAITS: number = the thread */
};

/* What became of a probe, in whichever process. */
enum probe_state { PROBE_NEVER_ARMED, PROBE_ARMED, PROBE_REFUSED, PROBE_LEFT_OUT };

/* A thread by our numbers, and by those that it sees itself. */
struct who {
	uint32_t tid, pid, own_tid, own_pid;
};

struct message {
	uint32_t kind, number;
	uint64_t at;
	struct who who;
	struct tl_regs regs;
	uint64_t children, unclean, missed, unpaired, abandoned, tails, crowded, refused, traps,
		replaced, inside, silences;
	uint64_t kinds[TL_MISSED_KINDS]; /* beside `missed`, which is inside another handler */
	char text[768];
};

/* The closing figures of several targets. */
static inline void message_add(struct message *to, const struct message *m)
{
	to->children += m->children;
	to->unclean += m->unclean;
	to->missed += m->missed;
	to->unpaired += m->unpaired;
	to->abandoned += m->abandoned;
	to->tails += m->tails;
	to->crowded += m->crowded;
	to->refused += m->refused;
	to->traps += m->traps;
	to->replaced += m->replaced;
	to->inside += m->inside;
	to->silences += m->silences;
	for (int why = 0; why < TL_MISSED_KINDS; why++)
		to->kinds[why] += m->kinds[why];
}

#endif
