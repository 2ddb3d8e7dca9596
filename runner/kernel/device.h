/* SPDX-License-Identifier: MIT */
#ifndef TRAPLESS_RUNNER_KERNEL_DEVICE_H
#define TRAPLESS_RUNNER_KERNEL_DEVICE_H

#include <stdbool.h>
#include <stddef.h>

/* A descriptor of kmod/device.h's, or -1 with why, and what next. */
int kernel_device(char *why, size_t room);

#endif
