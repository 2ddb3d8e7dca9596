/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* register(): by name. */
#include "internal.h"

#if defined(__x86_64__)

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

int64_t tl_register(struct tl_run *run, const struct tl_str *name, bool is_signed)
{
	const void *at;
	uint32_t size;
	uint64_t v = 0;

	if (!run->regs) {
		tl_run_error(run, "cannot access CPU registers in this context");
		return 0;
	}
	at = find_sized(run->regs, name->b, &size);
	if (!at) {
		tl_run_error(run, "unknown register: %s", name->b);
		return 0;
	}
	memcpy(&v, at, size);
	return tl_extend(v, size, is_signed);
}

#else

int64_t tl_register(struct tl_run *run, const struct tl_str *name, bool is_signed)
{
	(void)is_signed;
	tl_run_error(run, "unknown register: %s", name->b);
	return 0;
}

#endif
