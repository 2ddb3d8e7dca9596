/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Inside the kernel home: the engine as a module of a stock Linux kernel. Only
 * these files know both os.h and the kernel's headers; the core sees nothing
 * of the kernel but its basic types (kmod/include).
 */
#ifndef TRAPLESS_ENGINE_OS_KERNEL_H
#define TRAPLESS_ENGINE_OS_KERNEL_H

#include <linux/extable.h>
#include <linux/ftrace.h>
#include <linux/jump_label.h>
#include <linux/kprobes.h>
#include <linux/memory.h>
#include <linux/module.h>
#include <linux/moduleloader.h>
#include <linux/mutex.h>
#include <linux/notifier.h>
#include <linux/set_memory.h>
#include <linux/static_call.h>
#include <linux/stop_machine.h>
#include <linux/version.h>
#include <asm/alternative.h>

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 10, 0)
#define TL_EXECMEM /* modules' memory is had by another name */
#include <linux/execmem.h>
#endif

#include "../../arch/arch.h"
#include "../os.h"

/*
 * names.c: what the kernel has but does not export, found by name once. Those
 * of a feature that this kernel is built without stay NULL.
 */
struct tl_names {
	const char *stext, *etext;
	struct mutex *text_mutex, *module_mutex;
	struct list_head *modules;
	struct atomic_notifier_head *die_chain;
	const void *notify_die;
	unsigned long (*kallsyms_lookup_name)(const char *name);
	int (*kallsyms_lookup_size_offset)(unsigned long, unsigned long *, unsigned long *);
	/* each address that a name has; in older kernels, which do not sort them: each name */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 2, 0)
	int (*kallsyms_on_each_match_symbol)(
		int (*fn)(void *, unsigned long), const char *name, void *arg);
#else
	int (*kallsyms_on_each_symbol)(
		int (*fn)(void *, const char *, struct module *, unsigned long), void *arg);
#endif
	int (*lookup_symbol_name)(unsigned long addr, char *name);
	const char *(*kallsyms_lookup)(unsigned long addr, unsigned long *size,
		unsigned long *offset, char **module, char *name);
	unsigned int (*stack_trace_save_regs)(
		struct pt_regs *regs, unsigned long *store, unsigned int size, unsigned int skip);
#ifdef TL_EXECMEM
	typeof(execmem_alloc) *execmem_alloc;
	typeof(execmem_free) *execmem_free;
#else
	typeof(module_alloc) *module_alloc;
	typeof(module_memfree) *module_memfree;
#endif
	typeof(set_memory_ro) *set_memory_ro;
	typeof(set_memory_x) *set_memory_x;
	typeof(stop_machine_cpuslocked) *stop_machine_cpuslocked;
	typeof(arch_within_kprobe_blacklist) *arch_within_kprobe_blacklist;
	struct mutex *kprobe_mutex;
	struct list_head *kprobe_blacklist;
	struct hlist_head *kprobe_table;
	const struct jump_entry *labels, *labels_end;
	const struct static_call_site *static_calls, *static_calls_end;
	const struct exception_table_entry *faults, *faults_end;
	const void *copy, *move, *set; /* memcpy and the like */
	const void *thunks, *thunks_end;
	const void *retpolines; /* those of them that jump by a register */
	const uintptr_t *return_thunk; /* the one that this processor takes */
	typeof(search_exception_tables) *search_exception_tables;
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
/* And what comes behind, as far as there is any: up to so many bytes. */
int tl_alias_open_most(struct tl_alias *a, uintptr_t lo, uintptr_t hi, size_t most);
void *tl_alias_at(const struct tl_alias *a, uintptr_t addr); /* NULL: not in it */
void tl_alias_close(struct tl_alias *a);

/* text.c: are we between open and close, holding the processors and the kernel's text lock? */
bool tl_text_is_open(void);

/* marks.c: what the kernel's own tables and lists say of its text. Engine lock held. */
enum tl_mark {
	TL_MARK_NEVER, /* may not be interrupted by a probe */
	TL_MARK_CHANGED, /* jump labels and static calls */
	TL_MARK_FAULTS, /* instructions that have an entry in an exception table */
	TL_MARK_ENTRY, /* control arrives there from jump labels and faults */
	TL_MARK_NAME, /* hashes of the names of what kprobes refuse */
	TL_MARK_KPROBE,
	TL_MARKS
};
/* Bytes: to be looked at of an instruction, and of an optimized kprobe. */
enum { TL_LABEL_MAX = 8, TL_KPROBE_MAX = 19, TL_KPROBE_BITS = 6 /* of the hash of its address */ };
int tl_marks_read(void); /* unless it is known; sleeps. 0 or -TL_E_NOMEM */
int tl_kprobes_read(void); /* TL_MARK_KPROBE alone, as they are now; the same */
void tl_marks_look_again(void); /* any context: a module has come or gone */
bool tl_marked(enum tl_mark kind, uintptr_t lo, uintptr_t hi);
bool tl_marked_name(const char *name, size_t len);
bool tl_marked_smp_lock(uintptr_t lo, uintptr_t hi);
void tl_marks_each(enum tl_mark kind, uintptr_t lo, uintptr_t hi,
	void (*fn)(void *arg, uintptr_t at), void *arg);
int tl_marks_check(void); /* 0, or -TL_E_NO_SYMBOL: they cannot be read in this kernel */
void tl_marks_exit(void);

/*
 * kprobes.c: does the kernel ask, from `asker`, whether a kprobe may become a jump, and is the branch at `addr` one that
 * a detour runs? Any context.
 */
bool tl_kprobe_fears(uintptr_t asker, uintptr_t addr);
/* The detour of this plan runs its instructions from now on (by is 1), or no more (-1). */
void tl_kprobes_note(const struct tl_plan *plan, int by);
bool tl_kprobes_noted(void); /* any that branches */
void tl_kprobes_init(void);

/* reserved.c: an operation begins, which sees the kprobes that there are now. */
void tl_reserved_begin(void);

/* faults.c: is the kernel led from a copy that faults to the original? Sleeps. */
bool tl_faults_followed(void);
/* Before text is opened, and when an operation ends: so it is led while a detour needs it. Sleep. */
void tl_faults_prepare(void);
void tl_faults_settle(void);
/* Had there been no memory to note some copy? Then what was planned last must not come into the text. */
bool tl_faults_lost(void);
void tl_faults_init(void);
void tl_faults_exit(void);

/* code.c: memory for code, in reach of all text; writable, until it is made read-only, and given back so or so. NULL: none. */
void *tl_text_alloc(size_t size);
void tl_text_free(void *mem);
/* An operation ends. */
void tl_code_seal(void);

/* images.c, trap.c: called once by tl_os_init() and tl_os_exit(). */
int tl_images_watch(void);
void tl_images_unwatch(void);
int tl_trap_init(void);
void tl_trap_exit(void);

#endif
