/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What a handler prints, and what it asks of the runner. */
#ifndef TRAPLESS_RUNTIME_SCRIPT_OUTPUT_H
#define TRAPLESS_RUNTIME_SCRIPT_OUTPUT_H

#include "run.h"

/*
 * print(), println(), printd() ... are formats too ("%d", "%s\n"): the compiler
 * numbers every format in FORMATS and passes arguments only. An argument of
 * %m and %M is a string made by tl_mem_bytes().
 */
void tl_printf(struct tl_run *run, uint16_t format, const struct tl_value *args, uint32_t n);
/* Numbers only: the quick one. */
void tl_printf_longs(struct tl_run *run, uint16_t format, const int64_t *args, uint32_t n);
void tl_print_str(struct tl_run *run, const struct tl_str *s); /* print() of any text */
void tl_warn(struct tl_run *run, const struct tl_str *msg);
void tl_error(struct tl_run *run, const struct tl_str *msg); /* error(): fails */
/* -t: a run of the handler that began then (tl_cycles_now()) is over; TIMES begins at `times` of a shard area. */
void tl_time_add(struct tl_run *run, uint32_t times, int64_t began);
void tl_command(struct tl_run *run, uint16_t command); /* system(): a number of COMMANDS */
void tl_command_text(struct tl_run *run, const struct tl_str *text); /* one made at run time */
void tl_switch_file(struct tl_run *run); /* what follows is for the next output file (-S) */
/* $value of a file's .read and .write: in the runner only, of any length; may fail. */
void tl_value_get(struct tl_run *run, struct tl_str *dst);
void tl_value_set(struct tl_run *run, const struct tl_str *text);
void tl_value_add(struct tl_run *run, const struct tl_str *text);
void tl_exit(struct tl_run *run);
void tl_abort(struct tl_run *run); /* fails */

#endif
