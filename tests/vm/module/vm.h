/* SPDX-License-Identifier: MIT */
/* What the test modules' files share. */
#ifndef TRAPLESS_TESTS_VM_H
#define TRAPLESS_TESTS_VM_H

#include <linux/kprobes.h>
#include <asm/linkage.h>
#include <trapless/probe.h>

/* NULL: it passed; or why not. */
typedef const char *test_fn(void);

#define STR2(x) #x
#define STR(x)	STR2(x)
#define CHECK(cond)                                                                                \
	do {                                                                                       \
		if (!(cond))                                                                       \
			return "line " STR(__LINE__) ": " #cond;                                   \
	} while (0)

static inline void say(const char *name, const char *why)
{
	if (why)
		pr_info("not ok %s: %s\n", name, why);
	else
		pr_info("ok %s\n", name);
}

/* Of a table of tests: the name, and the function. */
#define TEST(fn) #fn, fn
struct test {
	const char *name;
	test_fn *fn;
};

static inline void run_all(const struct test *tests, size_t n)
{
	for (size_t i = 0; i < n; i++)
		say(tests[i].name, tests[i].fn());
}

/* Functions to be probed, in assembler: FUNCTION name ... END name, which returns. */
#define VM_FUNCTIONS(text)                                                                         \
	asm(".macro FUNCTION name\n\t.balign 16\n\t.type \\name, @function\n\\name:\n.endm\n"      \
	    ".macro END name\n\t" ASM_RET "\n\t.size \\name, . - \\name\n.endm\n"                  \
	    ".text\n" text ".purgem FUNCTION\n.purgem END\n")

/* A function that the kernel does not export, by its name; NULL: it has none. A kprobe that is never armed finds the one that tells. */
static inline void *find(const char *name)
{
	struct kprobe kp = {.symbol_name = "kallsyms_lookup_name", .flags = KPROBE_FLAG_DISABLED};

	if (register_kprobe(&kp))
		return NULL;
	unregister_kprobe(&kp);
	return (void *)((unsigned long (*)(const char *))(void *)kp.addr)(name);
}

static inline int is_of_probe(const struct tl_probe_info *info, void *arg)
{
	struct tl_probe_info *wanted = arg;

	if (info->probe != wanted->probe)
		return 0;
	*wanted = *info;
	return 1;
}

static inline struct tl_probe_info info_of_probe(struct tl_probe *p)
{
	struct tl_probe_info info = {.probe = p};

	tl_probes_list(is_of_probe, &info);
	return info;
}

/* Bytes of ENDBR at a function's entry, or of what the kernel has put there. */
static inline size_t pad_of(const void *func)
{
	static const u8 endbr[] = {0xf3, 0x0f, 0x1e, 0xfa}, sealed[] = {0x66, 0x0f, 0x1f, 0x00};

	return memcmp(func, endbr, sizeof(endbr)) && memcmp(func, sealed, sizeof(sealed))
		       ? 0
		       : sizeof(endbr);
}

/* The first place behind a function's entry that nobody else changes: behind ENDBR and the call of ftrace. */
static inline size_t behind_entry(const void *func)
{
	static const u8 nop5[] = {0x0f, 0x1f, 0x44, 0, 0};
	const u8 *p = func;
	size_t n = pad_of(func);

	return memcmp(p + n, nop5, sizeof(nop5)) && p[n] != 0xe8 ? n : n + sizeof(nop5);
}

#endif
