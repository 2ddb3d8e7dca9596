/* SPDX-License-Identifier: MIT */
#ifndef TRAPLESS_RUNNER_ZONE_H
#define TRAPLESS_RUNNER_ZONE_H

#include <stdint.h>

/* Local time now: seconds east of UTC, and the zone's name, cut at 8. As they were where they cannot be told. */
void zone_now(int64_t *offset, char name[8]);

#endif
