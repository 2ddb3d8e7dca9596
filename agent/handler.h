/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* A handler's questions to the guardian. */
#ifndef TRAPLESS_AGENT_HANDLER_H
#define TRAPLESS_AGENT_HANDLER_H

#include "agent.h"
#include "machine/machine.h"

struct tl_answer {
	uint64_t answered; /* enum tl_answered; 0: nobody was there */
	uint32_t tid, pid; /* as its own pid namespace has them */
	char comm[16]; /* of a fact: its value */
};

/* From a handler only. */
bool tl_agent_asks(struct tl_answer *a, enum tl_question what);
/* The process of a thread that the guardian has told of; 0: it has not. */
uint32_t tl_agent_pid_known(uint32_t tid);

#endif
