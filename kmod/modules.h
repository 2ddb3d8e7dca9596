/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef TRAPLESS_KMOD_MODULES_H
#define TRAPLESS_KMOD_MODULES_H

#include <linux/poll.h>

int modules_start(void); /* 0 or -errno */
void modules_stop(void); /* there is no session any more */

unsigned modules_come(void); /* how many, so far */
void modules_wait(struct file *file, poll_table *table); /* of poll(2): until another one does */

#endif
