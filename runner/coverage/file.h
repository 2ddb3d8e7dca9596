/* SPDX-License-Identifier: MIT */
/* An ELF file mapped as the kernel and the loader would, without being run. */
#ifndef TRAPLESS_RUNNER_COVERAGE_FILE_H
#define TRAPLESS_RUNNER_COVERAGE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cov_range {
	uintptr_t start, end; /* addresses in this process */
};

struct cov_file {
	const uint8_t *bytes; /* the file itself */
	size_t size;
	uintptr_t bias; /* address of ELF vaddr 0 */
	uintptr_t eh_frame_hdr;
	size_t eh_frame_hdr_size;
	uint32_t image_flags; /* enum tl_image_flag */
	struct cov_range *text; /* executable bytes, each range once */
	size_t ntext;
	struct cov_range *plt;
	size_t nplt;
	char why[256]; /* after a failure */
};

/* 0, or -1 with `why`. What was mapped stays until the process ends. */
int cov_file_open(struct cov_file *f, const char *path);

#endif
