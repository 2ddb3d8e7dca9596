/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Names and sources of addresses, and the stack that leads to the handler. */
#ifndef TRAPLESS_RUNTIME_SCRIPT_STACK_H
#define TRAPLESS_RUNTIME_SCRIPT_STACK_H

#include "run.h"

/* Frames of a stack that are shown. */
#ifndef TL_MAXBACKTRACE
#define TL_MAXBACKTRACE 32
#endif

void tl_usymname(struct tl_run *run, struct tl_str *dst, uint64_t addr); /* "0x..." when unknown */
void tl_usymdata(struct tl_run *run, struct tl_str *dst, uint64_t addr);
enum tl_source { TL_SOURCE_FILE = 1, TL_SOURCE_LINE = 2 };
/* "file", "line" or both, "file:line"; "0x..." when unknown */
void tl_usymsource(struct tl_run *run, struct tl_str *dst, uint64_t addr, uint32_t parts);
void tl_umodname(struct tl_run *run, struct tl_str *dst, uint64_t addr); /* may fail */
void tl_umodbuildid(struct tl_run *run, struct tl_str *dst, uint64_t addr); /* may fail */
int64_t tl_umodaddr(struct tl_run *run, uint64_t addr); /* may fail */

/*
 * The program's stack: addresses of the callers, the probed place first: "0x.. 0x..". "" where the handler has no
 * registers. In a kernel it begins where the running thread has left its program; a thread of the kernel's own has none.
 */
void tl_ustack_addresses(struct tl_run *run, struct tl_str *dst, int64_t max);
enum tl_shown { TL_SHOWN_FULL, TL_SHOWN_BRIEF, TL_SHOWN_LINES, TL_SHOWN_SIMPLE };
/* What they mean, one a line. */
void tl_ustack_print(struct tl_run *run, enum tl_shown how, int64_t max);
/* The stack of somebody else who stands there, with the other registers as they are here. */
struct tl_from {
	uint64_t pc, sp, fp;
};
void tl_ustack_print_from(
	struct tl_run *run, const struct tl_from *from, enum tl_shown how, int64_t max);
void tl_ustack_text(struct tl_run *run, struct tl_str *dst, enum tl_shown how, int64_t max);
/* The same of the stack that the probe stands on: in a kernel that is the kernel's. */
void tl_kstack_addresses(struct tl_run *run, struct tl_str *dst, int64_t max);
void tl_kstack_print(struct tl_run *run, enum tl_shown how, int64_t max);
void tl_kstack_text(struct tl_run *run, struct tl_str *dst, enum tl_shown how, int64_t max);
/* The same for each word of a list of addresses in hex, behind the word itself. */
void tl_usyms_print(struct tl_run *run, const struct tl_str *list);
void tl_usyms_text(struct tl_run *run, struct tl_str *dst, const struct tl_str *list);

#endif
