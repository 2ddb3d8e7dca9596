/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* At the agent's ELF entry address: what its loader has to know. */
#ifndef TRAPLESS_AGENT_HEADER_H
#define TRAPLESS_AGENT_HEADER_H

#include <stdint.h>

#define TL_AGENT_MAGIC 0x32746e656761746cull /* "ltagent2" */

struct tl_agent_header {
	uint64_t magic;
	uint64_t entry; /* void (struct tl_ctl *) */
	uint64_t call; /* a `syscall`, behind which its thread ends */
	uint64_t exports; /* struct tl_export[] */
	uint64_t nexports;
	uint64_t journal; /* &tl_journal */
	uint64_t opened; /* &tl_opened */
	uint64_t gate; /* &tl_core.gate */
	uint64_t marker; /* a word nobody else uses */
	uint64_t base,
		size; /* the region that this lies in: the guardian's, for whoever comes after it */
	/* handler.c */
	uint64_t ask; /* a breakpoint by which a handler asks who it runs in */
	uint64_t peek, peek_end; /* loads of the program's memory */
	uint64_t peek_fault; /* where to go on when there is none */
};

#endif
