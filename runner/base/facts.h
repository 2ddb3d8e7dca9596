/* SPDX-License-Identifier: MIT */
/* Facts that handlers ask for. */
#ifndef TRAPLESS_RUNNER_BASE_FACTS_H
#define TRAPLESS_RUNNER_BASE_FACTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "../../runtime/script.h"

/* Of a process; times of its thread tid unless that is 0. Addresses are told of one's own only (tid not 0). */
bool proc_fact(pid_t pid, pid_t tid, enum tl_fact what, uint64_t value[2]);

#endif
