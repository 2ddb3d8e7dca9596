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

/* What the loader puts in front of the module's parts, for the agent to find them. */
struct tl_agent_module {
	uint64_t code, data, strings;
	uint64_t code_size, data_size, strings_size;
	uint64_t options; /* struct tl_tap_options */
	uint64_t symbols, nsymbols; /* struct tl_tap_symbol[], sorted by image and address */
	uint64_t lines, nlines; /* struct tl_tap_line[], likewise */
	uint64_t unwind; /* struct tl_tap_unwind[nimages], or 0 */
	uint64_t rows, frames; /* struct tl_tap_row[], struct tl_tap_frame[] */
	uint64_t images,
		nimages; /* struct tl_symbol_image[]: uint64_t bias, lo, hi of each (0 0 0: not mapped), and more */
};

#endif
