/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* At the agent's ELF entry address: what its loader has to know. */
#ifndef TRAPLESS_AGENT_HEADER_H
#define TRAPLESS_AGENT_HEADER_H

#include <stdint.h>

#define TL_AGENT_MAGIC 0x32746e656761746cull /* "ltagent2" */

struct tl_agent_header {
	uint64_t magic;
	uintptr_t entry; /* void (struct tl_ctl *) */
	uintptr_t call; /* a `syscall`, behind which its thread ends */
	uintptr_t exports; /* struct tl_export[] */
	uintptr_t nexports;
	uintptr_t journal; /* &tl_journal */
	uintptr_t opened; /* &tl_opened */
	uintptr_t gate; /* &tl_core.gate */
	uintptr_t marker; /* a word nobody else uses */
	/* The region that this lies in: the guardian's, for whoever comes after it. */
	uintptr_t base, size;
	/* handler.c */
	uintptr_t ask; /* a breakpoint by which a handler asks who it runs in */
	uintptr_t peek, peek_end; /* loads of the program's memory */
	uintptr_t peek_fault; /* where to go on when there is none */
};

#endif
