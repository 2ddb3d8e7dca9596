/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "agent.h"
#include "machine/machine.h"
#include "../engine/os/process/process.h"
#include "../runtime/session.h"

static uint64_t marker;

__attribute__((used)) struct tl_agent_header tl_agent_header = {
	.magic = TL_AGENT_MAGIC,
	.entry = (uintptr_t)tl_agent_entry,
	.call = (uintptr_t)tl_agent_call,
	.exports = (uintptr_t)tl_exports,
	.nexports = (uintptr_t)&tl_nexports,
	.journal = (uintptr_t)&tl_journal,
	.opened = (uintptr_t)&tl_opened,
	.gate = (uintptr_t)&tl_core.gate,
	.marker = (uintptr_t)&marker,
	.ask = (uintptr_t)tl_ask_at,
	.peek = (uintptr_t)tl_peek,
	.peek_end = (uintptr_t)tl_peek_end,
	.peek_fault = (uintptr_t)tl_peek_fault,
};
