/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef TRAPLESS_KMOD_FORESEE_H
#define TRAPLESS_KMOD_FORESEE_H

#include "device.h"

/* TL_DEVICE_FORESEE. 0 or -errno; sleeps. */
int foresee(struct tl_device_foresee *of);

#endif
