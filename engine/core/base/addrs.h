/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Lists of addresses. */
#ifndef TRAPLESS_ENGINE_CORE_BASE_ADDRS_H
#define TRAPLESS_ENGINE_CORE_BASE_ADDRS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tl_addrs {
	uintptr_t *at;
	size_t n, max;
};
bool tl_addrs_add(struct tl_addrs *l, uintptr_t addr); /* false: no memory */
void tl_addrs_sort(struct tl_addrs *l); /* each once */
void tl_addrs_deinit(struct tl_addrs *l);

#endif
