/* SPDX-License-Identifier: MIT */
/*
 * Where an image is mapped more than once each of its probes has a slot of the control block for each copy: its
 * own, and others behind those of the module. Slots of the control block.
 */
#ifndef TRAPLESS_RUNNER_GUARDIAN_SESSION_COPIES_H
#define TRAPLESS_RUNNER_GUARDIAN_SESSION_COPIES_H

#include "../guardian.h"

uint32_t slot_next(const struct client *c, uint32_t slot); /* of the same probe; 0: none */
uint32_t slot_add(struct client *c, uint32_t probe); /* 0: there is no room */
void slot_fill(struct client *c, uint32_t slot, uint32_t probe);
void slot_place(struct client *c, uint32_t slot, uint32_t probe, uint64_t bias);

#endif
