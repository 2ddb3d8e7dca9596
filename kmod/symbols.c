/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Names and stacks in a kernel, as it knows them itself: home/symbols.h without a module's own tables. Context: any. */
#include <linux/kallsyms.h>
#include <linux/string.h>

#include "../engine/os/kernel/kernel.h"
#include "../engine/os/kernel/machine.h"
#include "../home/home.h"
#include "../home/symbols.h"
#include "../runtime/script.h"
#include "script.h"

static uint32_t put(char *buf, uint32_t room, const char *text)
{
	ssize_t n = strscpy(buf, text, room);

	return n < 0 ? room - 1 : (uint32_t)n;
}

const struct tl_symbol_image *tl_symbol_image_at(
	const struct tl_symbol_image *images, uint64_t n, uint64_t addr)
{
	return NULL;
}

uint32_t tl_symbol_name(const struct tl_symbols *s, uint64_t addr, char *buf, uint32_t room,
	uint64_t *offset, uint64_t *size)
{
	unsigned long off, len;
	char name[KSYM_NAME_LEN];
	char *module;

	if (!tl_names.kallsyms_lookup(addr, &len, &off, &module, name))
		return 0;
	*offset = off;
	*size = len;
	return put(buf, room, name);
}

uint32_t tl_symbol_image(const struct tl_symbols *s, uint64_t addr, char *buf, uint32_t room)
{
	unsigned long off, len;
	char name[KSYM_NAME_LEN];
	char *module = NULL;

	if (!tl_names.kallsyms_lookup(addr, &len, &off, &module, name))
		return 0;
	return put(buf, room, module ? module : "kernel");
}

void script_name(uint64_t addr, char *text, size_t room)
{
	unsigned long off, len;
	char name[KSYM_NAME_LEN];
	char *module = NULL;

	memset(text, 0, room);
	if (tl_names.kallsyms_lookup(addr, &len, &off, &module, name))
		snprintf(text, room, "%s%s%s+0x%lx", module ? module : "", module ? ":" : "", name,
			off);
}

uint32_t tl_symbol_line(
	const struct tl_symbols *s, uint64_t addr, char *buf, uint32_t room, uint32_t *line)
{
	return 0;
}

/* The kernel's unwinder begins with registers of any of its stacks, and so at the probed place, not in our detour. */
bool tl_home_caller(const struct tl_from *from, uint32_t n, uint64_t *pc)
{
	unsigned long found[TL_MAXBACKTRACE];
	struct pt_regs regs;

	if (tl_home_of_program(from->pc))
		return n == 0;
	n += script_is_listener(from->pc);
	if (n >= TL_MAXBACKTRACE)
		return false;
	tl_machine_standing(&regs, from->pc, from->sp, from->fp);
	if (tl_names.stack_trace_save_regs(&regs, found, n + 1, 0) <= n)
		return n == 0;
	*pc = found[n];
	return true;
}
