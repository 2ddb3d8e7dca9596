/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Semaphores of static marks: 16-bit counts, in the program's data, of those who listen. A program that finds one at 0
 * may leave out the work for the mark's arguments. Each probe that is in counts once, as with other tracers.
 */
#ifndef TRAPLESS_HOME_LISTEN_H
#define TRAPLESS_HOME_LISTEN_H

#include "arm.h"

/*
 * The probe is in. Nothing where its mark has no semaphore, or none that can be written. -TL_E_ where it is a hook's, and its
 * places cannot be switched on. Context: the helper.
 */
int tl_listen(struct tl_ctl_probe *p);
/* It is out, or `gone` along with its library. */
void tl_unlisten(struct tl_ctl_probe *p, int gone);

#endif
