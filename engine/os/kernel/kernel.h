/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Inside the kernel home: the engine as a module of a stock Linux kernel. Only
 * these files know both os.h and the kernel's headers; the core sees nothing
 * of the kernel but its basic types (kmod/include).
 */
#ifndef TRAPLESS_ENGINE_OS_KERNEL_H
#define TRAPLESS_ENGINE_OS_KERNEL_H

#include <linux/ftrace.h>
#include <linux/jump_label.h>
#include <linux/kprobes.h>
#include <linux/memory.h>
#include <linux/module.h>
#include <linux/moduleloader.h>
#include <linux/mutex.h>
#include <linux/set_memory.h>
#include <linux/static_call.h>
#include <linux/stop_machine.h>
#include <asm/alternative.h>

#include "../os.h"

/*
 * names.c: what the kernel has but does not export, found by name once. Those
 * of a feature that this kernel is built without stay NULL.
 */
struct tl_names {
	const char *stext, *etext;
	struct mutex *text_mutex, *module_mutex;
	struct list_head *modules;
	unsigned long (*kallsyms_lookup_name)(const char *name);
	int (*kallsyms_lookup_size_offset)(unsigned long, unsigned long *, unsigned long *);
	typeof(module_alloc) *module_alloc;
	typeof(module_memfree) *module_memfree;
	typeof(set_memory_ro) *set_memory_ro;
	typeof(set_memory_x) *set_memory_x;
	typeof(stop_machine_cpuslocked) *stop_machine_cpuslocked;
	typeof(within_kprobe_blacklist) *within_kprobe_blacklist;
	typeof(get_kprobe) *get_kprobe;
	void (*jump_label_lock)(void);
	void (*jump_label_unlock)(void);
	int (*jump_label_text_reserved)(void *start, void *end);
	int (*static_call_text_reserved)(void *start, void *end);
	int (*ftrace_text_reserved)(const void *start, const void *end);
	int (*alternatives_text_reserved)(void *start, void *end);
};
extern struct tl_names tl_names;
int tl_names_find(void); /* 0, or -TL_E_NO_SYMBOL: the kernel log says which */

/* alias.c: a second, writable mapping of text, for as long as it is open. Sleeps. 0, -TL_E_NOT_TEXT, -TL_E_NOMEM. */
struct tl_alias {
	uintptr_t lo, hi; /* page bounds; hi 0: not open */
	void *map;
};
int tl_alias_open(struct tl_alias *a, uintptr_t lo, uintptr_t hi);
void *tl_alias_at(const struct tl_alias *a, uintptr_t addr); /* NULL: not in it */
void tl_alias_close(struct tl_alias *a);

/* text.c: are we between open and close, holding the processors and the kernel's text lock? */
bool tl_text_is_open(void);

/* entry.c: how many bytes at a function's entry are not its own: ENDBR, ftrace's call. */
unsigned tl_os_entry_bytes(uintptr_t addr);

/* reserved.c, images.c, trap.c: called once by tl_os_init() and tl_os_exit(). */
void tl_reserved_init(void);
int tl_images_watch(void);
void tl_images_unwatch(void);
int tl_trap_init(void);
void tl_trap_exit(void);

#endif
