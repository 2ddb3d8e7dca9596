/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Where and in whom the handler runs. */
#ifndef TRAPLESS_RUNTIME_SCRIPT_CONTEXT_H
#define TRAPLESS_RUNTIME_SCRIPT_CONTEXT_H

#include "run.h"

struct tl_ids tl_guest_ids(const struct tl_run *run);
static inline int64_t tl_tid(const struct tl_run *run)
{
	return tl_unlikely(*run->view->guests) ? tl_guest_ids(run).tid : run->block->tid;
}
static inline int64_t tl_pid(const struct tl_run *run)
{
	return tl_unlikely(*run->view->guests) ? tl_guest_ids(run).pid : run->block->pid;
}
static inline int64_t tl_target(const struct tl_run *run)
{
	return run->view->session->target_pid;
}
/* The processor that the thread runs on. */
int64_t tl_cpu(void);
/*
 * What changes while a process runs, and only the kernel knows. The home asks
 * each time; in a traced process that costs a breakpoint.
 */
enum tl_fact {
	TL_FACT_PPID,
	TL_FACT_PGRP,
	TL_FACT_SID,
	TL_FACT_UID,
	TL_FACT_EUID,
	TL_FACT_GID,
	TL_FACT_EGID,
	TL_FACT_PARENTS_NAME, /* 16 bytes */
	TL_FACT_NAME, /* 16 bytes */
	TL_FACT_ARGS, /* where its arguments begin and end */
	TL_FACT_VARS, /* where its environment does */
	TL_FACT_SIZE, /* memory in pages: all, resident, shared, text, data */
	TL_FACT_RSS,
	TL_FACT_SHR,
	TL_FACT_TXT,
	TL_FACT_DATA,
	TL_FACT_UTIME, /* ns in user mode and in the kernel: of the thread; of all of them with `of` */
	TL_FACT_STIME,
	TL_FACT_TASK, /* in a kernel: the address of the running task's `struct task_struct`, and of that with the number `of` */
	TL_FACT_LOAD, /* of the machine, in hundredths: of 1 minute and (upper half) of 5; of 15 */
	TL_FACT_HZ, /* in a kernel: its ticks a second */
	TL_FACTS
};
int64_t tl_fact(struct tl_run *run, enum tl_fact what, int64_t of); /* may fail */
void tl_fact_name(
	struct tl_run *run, struct tl_str *dst, enum tl_fact what, int64_t of); /* may fail */
/* Arguments n to m (-1: all) with `delim` between them, a further empty one as "\"\""; may fail. */
void tl_cmdline(
	struct tl_run *run, struct tl_str *dst, int64_t n, int64_t m, const struct tl_str *delim);
/* Of the environment that the program was started with; "": not there. May fail. */
void tl_env_var(struct tl_run *run, struct tl_str *dst, const struct tl_str *name);
/* n 0, 1, 2: of 1, 5, 15 minutes, in hundredths; may fail */
int64_t tl_load_average(struct tl_run *run, int64_t n);
void tl_raise(struct tl_run *run, int64_t sig); /* may fail */
/* Busy for so long, at most TL_DELAY_MAX; may fail. */
#define TL_DELAY_MAX 1000000000ll
void tl_delay(struct tl_run *run, int64_t ns);
void tl_execname(struct tl_run *run, struct tl_str *dst);
void tl_pp(struct tl_run *run, struct tl_str *dst);
void tl_pn(struct tl_run *run, struct tl_str *dst);
void tl_probe_type(struct tl_run *run, struct tl_str *dst);
void tl_module_name(struct tl_run *run, struct tl_str *dst);
void tl_probefunc(struct tl_run *run, struct tl_str *dst);

void tl_thread_indent(struct tl_run *run, struct tl_str *dst, int64_t delta);
int64_t tl_thread_indent_depth(struct tl_run *run, int64_t delta);

#endif
