/* SPDX-License-Identifier: MIT */
/* Frames of signals, as the kernel writes them. */
#include <limits.h>
#include <string.h>

#include "x86_64.h"

/* From where the handler returns to. */
struct frame {
	uint64_t way_back, flags, link;
	stack_t alternate;
	uint64_t general[15];
	uint64_t sp, pc, eflags, segments;
};

_Static_assert(offsetof(struct frame, pc) == 8 + 40 + 16 * 8, "as machine.frame.pc");

bool machine_is_restorer(const uint8_t *code)
{
	/* mov $15, %rax (or %eax); syscall */
	static const uint8_t glibc[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
	static const uint8_t other[] = {0xb8, 0x0f, 0, 0, 0, 0x0f, 0x05};

	return !memcmp(code, glibc, sizeof(glibc)) || !memcmp(code, other, sizeof(other));
}

/* Flags and segments follow it. */
bool frame_pc_is(const uint64_t *at, const uint64_t *end)
{
	const uint64_t always = 1 << 1, never = ~0x3f7fd7ull;

	return at + 2 >= end ||
	       ((at[1] & always) && !(at[1] & never) && (uint16_t)at[2] == CODE_64);
}

/* No other segment's number than this, with any privilege, is one of 64-bit code. */
bool frame_read(const struct machine_memory *m, uint64_t frame, struct signal_frame *f)
{
	struct {
		uint64_t sp, pc, flags, segments;
	} found;

	if (m->read(m, frame + offsetof(struct frame, sp), &found, sizeof(found)) !=
			sizeof(found) ||
		((uint16_t)found.segments | 3) != CODE_64)
		return false;
	f->sp = found.sp;
	f->pc = found.pc;
	f->sure = frame_pc_is(&found.pc, &found.pc + 3);
	return true;
}

bool frame_alternate(const struct machine_memory *m, uint64_t frame, stack_t *alternate)
{
	const uint64_t flags = 0xff, segments = 0x002b000000000033;
	const int autodisarm = INT_MIN;
	struct frame f;

	if (m->read(m, frame, &f, sizeof(f)) != sizeof(f) || f.flags & ~flags ||
		f.segments != segments || !frame_pc_is(&f.pc, &f.pc + 3) ||
		f.alternate.ss_flags & ~(SS_ONSTACK | SS_DISABLE | autodisarm))
		return false;
	*alternate = f.alternate;
	return true;
}

uint64_t frame_returning(const struct machine_regs *r)
{
	return regs_sp(r) - sizeof(uint64_t);
}
