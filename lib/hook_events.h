/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef TRAPLESS_LIB_HOOK_EVENTS_H
#define TRAPLESS_LIB_HOOK_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

/* Somebody wants this event now, or nobody any more: its hooks are listened to, or not. 0, also of other events, or -TL_E_. */
int hook_event_want(uint32_t event, bool wanted);

#endif
