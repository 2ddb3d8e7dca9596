/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What homes in processes have besides: a control block. Context: as home.h. */
#ifndef TRAPLESS_HOME_PROCESS_H
#define TRAPLESS_HOME_PROCESS_H

#include "control.h"
#include "home.h"

/* As mapped here; NULL: there is no session. The home sets it before it calls anything. */
extern struct tl_ctl *tl_ctl;

/* It names places that the home has to be told of: breakpoints there. What cannot stand is zeroed. */
void tl_ctl_watch(struct tl_ctl *c);
void tl_ctl_unwatch(void);

#endif
