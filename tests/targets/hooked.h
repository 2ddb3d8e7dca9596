// SPDX-License-Identifier: MIT
// Hooks with parameters of every kind. TL_HOOK_FORM says how their places are switched.
#ifndef HOOKED_H
#define HOOKED_H

#include "../../include/trapless/hook.h"
#include <stdint.h>

struct pair {
	long a, b;
};
struct node {
	int value;
	const char *name;
	const struct node *next;
};
enum color { RED = 2, GREEN = 7 };
typedef const struct node *link;

TL_HOOK(kinds, whole, (signed char, c), (unsigned char, u), (short, s), (unsigned short, w),
	(int, i), (uint32_t, v), (long, l), (unsigned long long, q))
TL_HOOK(kinds, others, (const char *, text), (struct pair, pr), (const struct node *, n),
	(double, d), (float, f), (enum color, e), (bool, b), (link, last))
// In two files.
TL_HOOK(net, packet_in, (uint32_t, len), (const void *, data))

#ifdef __cplusplus
extern "C" {
#endif
void places(void);
void other_places(void);
#ifdef __cplusplus
}
#endif

#endif
