/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Names that the kernel does not export. The one that finds all others is
 * found by a kprobe that is never armed: registering it looks its name up.
 */
#include "kernel.h"

struct tl_names tl_names;

#define NAME(name) #name, offsetof(struct tl_names, name)

static const struct {
	const char *name;
	size_t at;
	bool here; /* in a kernel built like this one */
} wanted[] = {
	{"_stext", offsetof(struct tl_names, stext), true},
	{"_etext", offsetof(struct tl_names, etext), true},
	{NAME(text_mutex), true},
	{NAME(module_mutex), true},
	{NAME(modules), true},
	{NAME(kallsyms_lookup_size_offset), true},
	{NAME(module_alloc), true},
	{NAME(module_memfree), true},
	{NAME(set_memory_ro), true},
	{NAME(set_memory_x), true},
	{NAME(stop_machine_cpuslocked), true},
	{NAME(within_kprobe_blacklist), true},
	{NAME(get_kprobe), true},
	{NAME(jump_label_lock), IS_ENABLED(CONFIG_JUMP_LABEL)},
	{NAME(jump_label_unlock), IS_ENABLED(CONFIG_JUMP_LABEL)},
	{NAME(jump_label_text_reserved), IS_ENABLED(CONFIG_JUMP_LABEL)},
	{NAME(static_call_text_reserved), IS_ENABLED(CONFIG_HAVE_STATIC_CALL_INLINE)},
	{NAME(ftrace_text_reserved), IS_ENABLED(CONFIG_DYNAMIC_FTRACE)},
	{NAME(alternatives_text_reserved), IS_ENABLED(CONFIG_SMP)},
};

static unsigned long find_lookup(void)
{
	struct kprobe kp = {
		.symbol_name = "kallsyms_lookup_name",
		.flags = KPROBE_FLAG_DISABLED,
	};

	if (register_kprobe(&kp))
		return 0;
	unregister_kprobe(&kp);
	return (unsigned long)kp.addr;
}

int tl_names_find(void)
{
	unsigned long addr = find_lookup();

	if (!addr) {
		pr_err("trapless: this kernel does not tell its names (kprobes, kallsyms)\n");
		return -TL_E_NO_SYMBOL;
	}
	tl_names.kallsyms_lookup_name = (void *)addr;
	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++) {
		if (!wanted[i].here)
			continue;
		addr = tl_names.kallsyms_lookup_name(wanted[i].name);
		if (!addr) {
			pr_err("trapless: this kernel has no %s\n", wanted[i].name);
			return -TL_E_NO_SYMBOL;
		}
		*(unsigned long *)((char *)&tl_names + wanted[i].at) = addr;
	}
	return 0;
}
