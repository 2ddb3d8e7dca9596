/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* x86-64, System V ABI. */
#include "../internal.h"

/* --- calls ---------------------------------------------------------------------------- */

/* At entry the return address lies at the stack pointer, the seventh argument above it. */
uint64_t tl_machine_stack_arg(const struct tl_regs *r, uint64_t n)
{
	return r->sp + 8 + 8 * (n - TL_REG_ARGS);
}

bool tl_machine_caller(struct tl_run *run, uint64_t *v)
{
	return tl_user_read(run, v, run->regs->sp, 8);
}

/* --- registers by name ------------------------------------------------------------------ */

#define R(name, field)                                                                             \
	{                                                                                          \
		name, offsetof(struct tl_regs, field)                                              \
	}

/* Without the letter that tells the width. */
static const struct {
	char name[6];
	uint8_t at;
} registers[] = {
	R("ax", ax),
	R("bx", bx),
	R("cx", cx),
	R("dx", dx),
	R("si", si),
	R("di", di),
	R("bp", bp),
	R("sp", sp),
	R("ip", ip),
	R("flags", flags),
	R("8", r8),
	R("9", r9),
	R("10", r10),
	R("11", r11),
	R("12", r12),
	R("13", r13),
	R("14", r14),
	R("15", r15),
};

static bool is(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	return *a == *b;
}

static const void *find(const struct tl_regs *r, const char *name)
{
	uint32_t i;

	for (i = 0; i < sizeof(registers) / sizeof(registers[0]); i++)
		if (is(registers[i].name, name))
			return (const char *)r + registers[i].at;
	return NULL;
}

/* "rax" 8, "eax" 4, "ax" 2, "al" 1 byte. */
static const void *find_sized(const struct tl_regs *r, const char *name, uint32_t *size)
{
	char low[3] = {name[0], 'x', 0};
	bool digit = name[0] && name[1] >= '0' && name[1] <= '9';

	*size = 8;
	if (name[0] == 'r')
		return find(r, name + 1);
	*size = 4;
	if (name[0] == 'e')
		return digit ? NULL : find(r, name + 1);
	*size = 1;
	if (name[0] >= 'a' && name[0] <= 'd' && name[1] == 'l' && !name[2])
		return find(r, low);
	*size = 2;
	return name[0] >= '0' && name[0] <= '9' ? NULL : find(r, name);
}

bool tl_machine_register(const struct tl_regs *r, const char *name, uint64_t *value, uint32_t *size)
{
	const void *at = find_sized(r, name, size);

	*value = 0;
	if (at)
		memcpy(value, at, *size);
	return at != NULL;
}

/* --- the thread ----------------------------------------------------------------------------- */

/* Of its control block, the same in glibc and musl. */
#define VECTOR_AT 8
/* glibc: itself again, then a flag; musl: the threads before and behind it (none yet, or itself where it is alone). */
#define SELF_AT 16
#define FLAG_AT 24

struct tl_tls_vector tl_machine_tls(struct tl_run *run, uint64_t tp)
{
	struct tl_tls_vector v;

	v.glibc = (uint64_t)tl_load(run, tp + SELF_AT, 8, false) == tp &&
		  (uint32_t)tl_load(run, tp + FLAG_AT, 8, false) <= 1;
	v.at = (uint64_t)tl_load(run, tp + VECTOR_AT, 8, false);
	return v;
}

/* The kernel keeps it in a segment's limit, for its vDSO; no system call. */
int64_t tl_cpu(void)
{
	uint32_t v, there;

	__asm__("xor %1, %1\n\tlsl %2, %0\n\tsetz %b1" : "=&r"(v), "=&q"(there) : "r"(0x7b) : "cc");
	return there ? v & 0xfff : 0;
}

/* --- what compiled modules know of us ----------------------------------------------------------- */

/* Does one of these fail? Then it is time for tl_runtime_abi_15. */
#define IS(what, n) _Static_assert(what == n, "modules know another layout: raise tl_runtime_abi_")
IS(sizeof(struct tl_value), 16);
IS(sizeof(struct tl_view), 200);
IS(offsetof(struct tl_view, local_off), 8);
IS(offsetof(struct tl_view, on), 16);
IS(offsetof(struct tl_view, guests), 24);
IS(offsetof(struct tl_view, images), 176);
IS(sizeof(struct tl_env), 88);
IS(sizeof(struct tl_run), 360);
IS(offsetof(struct tl_run, call), 48);
IS(offsetof(struct tl_run, budget), 68);
IS(sizeof(struct tl_stat), 64);
IS(sizeof(struct tl_hist), 32);
IS(sizeof(struct tl_map), 160);
IS(sizeof(struct tl_iter), 48);
IS(sizeof(struct tl_session), 280);
IS(sizeof(struct tl_block), 128);
IS(sizeof(struct tl_lock), 64);
IS(sizeof(struct tl_regs), 144);
IS(sizeof(struct tl_ret_call), 40);
IS(offsetof(struct tl_probe, data), 24);
