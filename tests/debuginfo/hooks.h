/* SPDX-License-Identifier: MIT */
#include "../../include/trapless/hook.h"
#include <stdint.h>

struct packet {
	int x;
};
struct pair {
	long a, b;
};

TL_HOOK(demo, tick, (long, i), (const char *, word))
