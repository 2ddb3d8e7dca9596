/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Names that the kernel does not export. The one that finds all others is
 * found by a kprobe that is never armed: registering it looks its name up.
 */
#include "kernel.h"
#include "machine.h"

struct tl_names tl_names;

#define NAME(name)	 #name, offsetof(struct tl_names, name)
#define HAS_THUNKS	 (IS_ENABLED(CONFIG_RETPOLINE) || IS_ENABLED(CONFIG_MITIGATION_RETPOLINE))
#define HAS_RETURN_THUNK (IS_ENABLED(CONFIG_RETHUNK) || IS_ENABLED(CONFIG_MITIGATION_RETHUNK))

static const struct {
	const char *name;
	size_t at;
	bool here; /* in a kernel built like this one */
	const char * or ; /* what newer ones call it */
} wanted[] = {
	{"_stext", offsetof(struct tl_names, stext), true},
	{"_etext", offsetof(struct tl_names, etext), true},
	{NAME(text_mutex), true},
	{NAME(module_mutex), true},
	{NAME(modules), true},
	{NAME(die_chain), true},
	{NAME(notify_die), true},
	{NAME(kallsyms_lookup_size_offset), true},
#ifdef TL_EXECMEM
	{NAME(execmem_alloc), true},
	{NAME(execmem_free), true},
#else
	{NAME(module_alloc), true},
	{NAME(module_memfree), true},
#endif
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 2, 0)
	{NAME(kallsyms_on_each_match_symbol), true},
#else
	{NAME(kallsyms_on_each_symbol), true},
#endif
	{NAME(set_memory_ro), true},
	{NAME(set_memory_x), true},
	{NAME(stop_machine_cpuslocked), true},
	{NAME(lookup_symbol_name), true},
	{NAME(kallsyms_lookup), true},
	{NAME(stack_trace_save_regs), true},
	{NAME(arch_within_kprobe_blacklist), true},
	{NAME(kprobe_mutex), true},
	{NAME(kprobe_blacklist), true},
	{NAME(kprobe_table), true},
	{"memcpy", offsetof(struct tl_names, copy), true},
	{"memmove", offsetof(struct tl_names, move), true},
	{"memset", offsetof(struct tl_names, set), true},
	{"__start___ex_table", offsetof(struct tl_names, faults), true},
	{"__stop___ex_table", offsetof(struct tl_names, faults_end), true},
	{"__start___jump_table", offsetof(struct tl_names, labels), IS_ENABLED(CONFIG_JUMP_LABEL)},
	{"__stop___jump_table", offsetof(struct tl_names, labels_end),
		IS_ENABLED(CONFIG_JUMP_LABEL)},
	{"__start_static_call_sites", offsetof(struct tl_names, static_calls),
		IS_ENABLED(CONFIG_HAVE_STATIC_CALL_INLINE)},
	{"__stop_static_call_sites", offsetof(struct tl_names, static_calls_end),
		IS_ENABLED(CONFIG_HAVE_STATIC_CALL_INLINE)},
	{"__indirect_thunk_start", offsetof(struct tl_names, thunks), HAS_THUNKS,
		"__x86_indirect_thunk_array"},
	{"__indirect_thunk_end", offsetof(struct tl_names, thunks_end), HAS_THUNKS,
		"__x86_return_thunk"},
	{"__x86_indirect_thunk_array", offsetof(struct tl_names, retpolines), HAS_THUNKS},
	{"x86_return_thunk", offsetof(struct tl_names, return_thunk), HAS_RETURN_THUNK},
	{NAME(search_exception_tables), true},
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
	unsigned long addr;

	if (tl_machine_checks_branches()) {
		pr_err("trapless: this processor checks where indirect branches land, which is not "
		       "built yet: start the kernel with ibt=off\n");
		return -TL_E_NO_SYMBOL;
	}
	addr = find_lookup();
	if (!addr) {
		pr_err("trapless: this kernel does not tell its names (kprobes, kallsyms)\n");
		return -TL_E_NO_SYMBOL;
	}
	tl_names.kallsyms_lookup_name = (void *)addr;
	/* A kprobe's place may lie behind a landing pad. */
	tl_names.kallsyms_lookup_name =
		(void *)tl_names.kallsyms_lookup_name("kallsyms_lookup_name");
	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++) {
		if (!wanted[i].here)
			continue;
		addr = tl_names.kallsyms_lookup_name(wanted[i].name);
		if (!addr && wanted[i].or)
			addr = tl_names.kallsyms_lookup_name(wanted[i].or);
		if (!addr) {
			pr_err("trapless: this kernel has no %s\n", wanted[i].name);
			return -TL_E_NO_SYMBOL;
		}
		*(unsigned long *)((char *)&tl_names + wanted[i].at) = addr;
	}
	return 0;
}
