/* SPDX-License-Identifier: MIT */
/* The module's images among those that are mapped, and its probes in them. All read maps and images anew. */
#ifndef TRAPLESS_RUNNER_GUARDIAN_SESSION_RESOLVE_H
#define TRAPLESS_RUNNER_GUARDIAN_SESSION_RESOLVE_H

#include "../guardian.h"

int probes_resolve(struct guardian *g, struct client *c, bool final);
bool images_match(struct guardian *g, const struct client *c);
/* False: not mapped */
bool image_bias(struct guardian *g, const struct client *c, uint32_t image, uint64_t *bias);
/* When they were read last */
bool image_is_there(struct guardian *g, const struct client *c, uint32_t image);

#endif
