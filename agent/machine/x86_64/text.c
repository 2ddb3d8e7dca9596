/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "../machine.h"
#include "../../../engine/insn/x86/insn.h"
#include "../../../engine/os/os.h"

bool tl_machine_is_syscall(const uint8_t *text, size_t len)
{
	return len == 2 && text[0] == 0x0f && text[1] == 0x05;
}

enum { LOCK = 0xf0 };

/*
 * A SIGTRAP with the program counter a byte behind is the breakpoint's, unless
 * an instruction ends there, or is one with a lock prefix, which libc jumps over.
 */
bool tl_machine_trap_is_sure(uintptr_t addr)
{
	uint8_t at[TL_INSN_MAX];
	size_t n = tl_os_text_read(addr, at, sizeof(at));
	struct tl_insn insn;

	return n && *at != LOCK && tl_insn_decode(&insn, at, n, TL_INSN_64) > 1;
}
