/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* register(): by name. */
#include "internal.h"

int64_t tl_register(struct tl_run *run, const struct tl_str *name, bool is_signed)
{
	uint32_t size;
	uint64_t v;

	if (!run->regs) {
		tl_run_error(run, "cannot access CPU registers in this context");
		return 0;
	}
	if (!tl_machine_register(run->regs, name->b, &v, &size)) {
		tl_run_error(run, "unknown register: %s", name->b);
		return 0;
	}
	return tl_extend(v, size, is_signed);
}
