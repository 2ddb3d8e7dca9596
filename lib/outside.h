/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* May the caller take locks, and wait for others? Who may not has interrupted, or is, one of those that he would wait for. */
#ifndef TRAPLESS_LIB_OUTSIDE_H
#define TRAPLESS_LIB_OUTSIDE_H

#include <stdbool.h>

struct tl_lock;
/*
 * May the caller take this lock, and wait? 0, -TL_E_IN_CALLBACK: it is inside (readers.h), or a probe's handler; -TL_E_IN_SIGNAL,
 * also where it has interrupted the lock's owner. Any context.
 */
int tl_outside(const struct tl_lock *wanted);
/*
 * Does a signal handler run in the calling thread? Its stack tells, as far as the unwind tables of those that are on it
 * lead: of code without any it is not seen, but on an alternate stack. Any context.
 */
bool tl_in_signal_handler(void);

#endif
