/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Where a function's own instructions begin. */
#include <linux/string.h>
#include "kernel.h"
#include "machine.h"

unsigned tl_os_entry_bytes(uintptr_t addr)
{
	uint8_t text[ENDBR_LEN] = {0};
	unsigned n;

	tl_os_text_read(addr, text, sizeof(text));
	n = tl_machine_endbr(text);
	if (tl_names.ftrace_text_reserved &&
		tl_names.ftrace_text_reserved((void *)(addr + n), (void *)(addr + n)))
		n += FTRACE_LEN;
	return n;
}
