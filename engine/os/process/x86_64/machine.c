/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* x86-64: the thread pointer is the base of fs, at which its own address lies. */
#include "../process.h"

enum { HWCAP2_FSGSBASE = 2, ARCH_GET_FS = 0x1003, ARCH_SHSTK_STATUS = 0x5005 };

bool tl_fsgsbase, tl_shadow_stack;

bool tl_os_shadow_stack(void)
{
	return tl_shadow_stack;
}

bool tl_shadow_status(void)
{
	uint64_t on = 0;

	return !tl_syscall3(TL_NR_arch_prctl, ARCH_SHSTK_STATUS, (long)&on, 0) && on & 1;
}

void tl_machine_init(unsigned long hwcap2)
{
	tl_fsgsbase = hwcap2 & HWCAP2_FSGSBASE;
	tl_shadow_stack = tl_shadow_status();
}

uintptr_t tl_machine_thread_early(void)
{
	uintptr_t base = 0;

	if (tl_fsgsbase)
		__asm__ volatile("rdfsbase %0" : "=r"(base));
	else
		tl_syscall3(TL_NR_arch_prctl, ARCH_GET_FS, (long)&base, 0);
	return base;
}

bool tl_machine_fast_key(void)
{
	return tl_fsgsbase;
}

bool tl_machine_is_thread(uintptr_t key)
{
	return key && !(key & 7) && tl_word_readable(key) && *(uintptr_t *)key == key;
}
