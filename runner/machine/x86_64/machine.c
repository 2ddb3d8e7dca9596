/* SPDX-License-Identifier: MIT */
/* Constants of x86-64. */
#include <elf.h>
#include <string.h>
#include <sys/auxv.h>

#include "../../../engine/core/detour/thread.h"
#include "x86_64.h"

_Static_assert(TL_THREAD_HASH_MUL == 0x61c88647, "load_key_next multiplies by it");

const struct machine machine = {
	.name = "x86-64",
	.option = "x86_64",
	.narrow = "x32",
	.elf = EM_X86_64,
	.spare_signal = SIGSTKFLT,
	.relative = R_X86_64_RELATIVE,
	.insn_max = 15,
	.red_zone = 128,
	.restorer_max = 9,
	.user_end = 1ull << 47,
	/* way back, flags, link, alternate stack, r8 to rcx, then sp and pc */
	.frame = {.alternate = 8 + 16, .pc = 8 + 40 + 16 * 8},
	.syscall = {SYSCALL_SIZE, {0x0f, 0x05}},
	.breakpoint = {1, {0xcc}},
	.breakpoint_passed = 1,
	.spin = {2, {0xeb, 0xfe}},
	.agent_call = {4, {0x0f, 0x05, 0xb8, 0x3c}}, /* syscall; mov $SYS_exit, %eax */
	.clock = {2, {0x0f, 0x31}}, /* rdtsc */
	/* engine/arch/x86/handler.c, look_up(): mov %fs:0,%rdx, and the first bytes of what it does with that */
	.load_key = {9, {0x64, 0x48, 0x8b, 0x14, 0x25, 0, 0, 0, 0}},
	.load_key_next = {0x48, 0x69, 0xca, 0x47, 0x86, 0xc8, 0x61},
	.load_key_more = 7,
};

uint64_t machine_clock(void)
{
	return __builtin_ia32_rdtsc();
}

void machine_pause(void)
{
	__builtin_ia32_pause();
}

bool machine_sets_thread_pointer(void)
{
	return getauxval(AT_HWCAP2) >> 1 & 1; /* FSGSBASE */
}

bool machine_has_shadow_stack(const char *status)
{
	static const char field[] = "\nx86_Thread_features:";
	const char *features = strstr(status, field);

	if (!features)
		return false;
	features += sizeof(field) - 1;
	return !strncmp(features + strspn(features, " \t"), "shstk", 5);
}
