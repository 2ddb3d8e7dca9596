/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Inside the agent. */
#ifndef TRAPLESS_AGENT_AGENT_H
#define TRAPLESS_AGENT_AGENT_H

#include "../engine/core/base/core.h"
#include "../engine/core/base/slab.h"
#include "../engine/core/detour/detour.h"
#include "../engine/core/detour/site.h"
#include "../engine/core/detour/threads.h"
#include "../engine/core/image/image.h"
#include "../engine/core/image/unpaired.h"
#include "../engine/core/probe/gone.h"
#include "../engine/core/probe/probe.h"
#include "../engine/core/ret/ret.h"
#include "../engine/core/text/journal.h"
#include "../engine/os/os.h"
#include "../home/process.h"
#include "header.h"

/* Ask the guardian; only from the helper. Returns svc_ret. */
int64_t tl_agent_ask(enum tl_service what, uint64_t a, uint64_t b);

#ifdef TL_TEST
void tl_agent_test_begin(void); /* of an agent with race points */
#else
static inline void tl_agent_test_begin(void)
{
}
#endif

/* Is there a guardian still? handler.c */
bool tl_agent_guarded(void);

/* places.c */
extern const struct tl_detour_watch tl_agent_places;

#endif
