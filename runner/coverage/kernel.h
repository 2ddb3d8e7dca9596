/* SPDX-License-Identifier: MIT */
/* The same of the kernel that runs, which trapless.ko is asked for: kmod/device.h, TL_DEVICE_FORESEE. */
#ifndef TRAPLESS_RUNNER_COVERAGE_KERNEL_H
#define TRAPLESS_RUNNER_COVERAGE_KERNEL_H

#include "count.h"

struct cov_kernel {
	char module[64]; /* "": the kernel itself */
	/* by cov_kernel_count(): */
	unsigned long functions, bytes; /* of them; what is ftrace's at entries is left out */
	unsigned long unread[TL_E_COUNT]; /* functions that could not be, by -TL_E_ */
	char why[256]; /* after a failure */
};

/* `kernel`, `module("NAME")`? */
bool cov_kernel_is(struct cov_kernel *k, const char *what);
/* job: file and symbols are of no use; in counts `once` is of each function by itself. 0, or -1 with k->why. */
int cov_kernel_count(struct cov_kernel *k, const struct cov_job *job, struct cov_counts *counts);

#endif
