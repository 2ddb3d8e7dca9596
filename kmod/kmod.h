/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef TRAPLESS_KMOD_KMOD_H
#define TRAPLESS_KMOD_KMOD_H

struct tracepoint;

int device_start(void); /* 0 or -errno */
void device_stop(void); /* no file is open any more: each holds the module */
int traces_start(void); /* 0 or -errno */
void traces_stop(void); /* no file is open any more */
int samples_start(void); /* the same */
void samples_stop(void); /* the same */
void events_stop(void); /* no module that listens is there any more */
void script_stop(void); /* the same: what goes on in the background ends */

/* traces.c: of the kernel itself; NULL: it has none of that name. Sleeps. */
struct tracepoint *kernel_tracepoint(const char *name);

#endif
