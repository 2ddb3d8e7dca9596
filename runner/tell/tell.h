/* SPDX-License-Identifier: MIT */
/*
 * What the runner is told about a target, by its guardian or its attendant:
 * messages on their socket, and states in memory that the three share.
 */
#ifndef TRAPLESS_RUNNER_TELL_H
#define TRAPLESS_RUNNER_TELL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../home/control.h"
#include "../../home/symbols.h"
#include "../base/message.h"
#include "../base/module.h"
#include "board.h"

enum told {
	TOLD_REFUSAL = 1,
	TOLD_RUNG = 2,
	TOLD_TAILS = 4,
	TOLD_GROWN = 8 /* its wildcard's refusals */
};

struct teller {
	int sock; /* to the runner */
	int verbose, explain;
	const struct tl_tap *mod;
	uint32_t nslots; /* of probes[], in use: those of the module, and of copies of its images */
	/* Both the target's to write, too. NULL: not made yet */
	struct tl_ctl *ctl;
	struct tl_ctl_session *probes;
	struct tl_symbol_image *images; /* shared: where the module's images are */
	uint8_t *states; /* shared: enum probe_state by probe */
	const struct tuning *tuning; /* shared: what the user wants */
	struct standing *standing; /* shared: how the probes stand here */
	char *told; /* per slot: enum told */
	/* What the target calls this address. False: it does not know. NULL: files have names, by ctl->images */
	bool (*name)(const struct teller *t, uint64_t addr, char *buf, size_t room);
	int device; /* for name */
	struct backlog *backlog; /* what the runner has not taken yet; NULL: not kept */
};

/* A count in a control block is bounded before use: the target can write it. */
static inline uint32_t ctl_bounded(const uint32_t *n, uint32_t max)
{
	uint32_t v = __atomic_load_n(n, __ATOMIC_RELAXED);

	return v < max ? v : max;
}

/* Whose slot that is. */
static inline uint32_t slot_probe(const struct teller *t, uint32_t slot)
{
	return slot < t->mod->nprobes
		       ? slot
		       : ctl_bounded(&tl_ctl_probe(t->probes, slot)->number, t->mod->nprobes - 1);
}

static inline const struct tl_tap_probe *slot_from(const struct teller *t, uint32_t slot)
{
	return &t->mod->probes[slot_probe(t, slot)];
}

/* say.c. 0, or -1: no memory. */
int teller_init(struct teller *t, const struct tl_tap *mod, const struct board *b,
	struct standing *standing, int sock);
void teller_free(struct teller *t);
void tell(const struct teller *t, uint32_t kind, uint32_t number, const char *text);
void tell_note(const struct teller *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* What the runner says, without waiting. */
enum heard {
	HEARD_NOTHING,
	HEARD_TUNE,
	HEARD_GO_ON,
	HEARD_SAMPLE,
	HEARD_CHILD,
	HEARD_LEAVE,
	HEARD_ITS_END
};
enum heard tell_listen(const struct teller *t, uint32_t *number); /* number: of the message */

/* post.c: what the runner does not take is kept, so that nobody waits for one that is stopped. */
void tell_send(const struct teller *t, const struct message *m);
bool tell_rest(const struct teller *t); /* what was kept; false: not all of it */
/* MSG_DONE, and the socket's end; also where that takes longer than we live. */
void tell_last(const struct teller *t, uint32_t number, const char *text);
struct backlog *backlog_make(void);
void backlog_free(struct backlog *b);

/* standing.c: what the user wants, for the next arming; and what became of it, with MSG_TUNED. */
void take_tuning(const struct teller *t);
void tell_standing(const struct teller *t, const char *why_not);

/* probes.c: after each arming; told once. */
void tell_probes(const struct teller *t);
/* The closing figures; m: what is known besides those of the probes. */
void tell_counts(const struct teller *t, struct message *m);

/* explain.c: of what was armed since the last time, how it is reached. */
void explain(const struct teller *t);
const char *rung_name(uint32_t rung);
/* "libc.so.6+0x1234", "do_exit+0x5": what means something tomorrow, too; false: it has no name. */
bool explain_place(const struct teller *t, uint64_t addr, char *buf, size_t room);

#endif
