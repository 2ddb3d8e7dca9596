/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Reading the traced program's memory. Nothing here can fault it. */
#include "internal.h"

#define PAGE	    4096u
#define CHUNK	    256u
#define FIRST	    64u /* most strings are shorter */
#define EFAULT_TEXT (-14)

/*
 * The page that the stack pointer is in is there, above it: the thread stands
 * on it. Spares a system call for most locals and stack arguments.
 */
static bool on_stack_page(const struct tl_run *run, uint64_t addr, uint32_t size)
{
	uint64_t sp;

	if (!run->regs || run->view->outside)
		return false;
	sp = TL_REGS_SP(run->regs);
	return addr >= sp && addr - sp < PAGE && size <= PAGE &&
	       addr + size - 1 <= (sp | (PAGE - 1));
}

int tl_read(struct tl_run *run, void *dst, uint64_t addr, uint32_t size)
{
	const struct tl_view_ops *ops = run->view->ops;

	if (!size)
		return 0;
	if (addr + size - 1 < addr || addr + size - 1 > UINTPTR_MAX)
		return -1;
	if (on_stack_page(run, addr, size)) {
		memcpy(dst, (const void *)(uintptr_t)addr, size);
		return 0;
	}
	return ops && ops->read ? ops->read(run->view, dst, addr, size) : -1;
}

bool tl_user_read(struct tl_run *run, void *dst, uint64_t addr, uint32_t size)
{
	if (run->error)
		return false;
	if (!tl_read(run, dst, addr, size))
		return true;
	tl_run_error(run, "read fault [man error::fault] at %p", addr);
	return false;
}

int64_t tl_load(struct tl_run *run, uint64_t addr, uint32_t size, bool is_signed)
{
	uint8_t b1;
	uint16_t b2;
	uint32_t b4;
	int64_t b8;

	switch (size) {
	case 1:
		if (!tl_user_read(run, &b1, addr, 1))
			return 0;
		return is_signed ? (int8_t)b1 : (int64_t)b1;
	case 2:
		if (!tl_user_read(run, &b2, addr, 2))
			return 0;
		return is_signed ? (int16_t)b2 : (int64_t)b2;
	case 4:
		if (!tl_user_read(run, &b4, addr, 4))
			return 0;
		return is_signed ? (int32_t)b4 : (int64_t)b4;
	case 8:
		return tl_user_read(run, &b8, addr, 8) ? b8 : 0;
	}
	tl_run_error(run, "cannot load %d bytes", (int64_t)size);
	return 0;
}

int64_t tl_load_or_0(struct tl_run *run, uint64_t addr, uint32_t size, bool is_signed)
{
	int64_t v;

	if (run->error)
		return 0;
	v = tl_load(run, addr, size, is_signed);
	run->error = NULL;
	return v;
}

void tl_store_bytes(struct tl_run *run, uint64_t addr, const void *src, int64_t n)
{
	const struct tl_view_ops *ops = run->view->ops;
	uint64_t last = addr + (uint64_t)n - 1;

	if (run->error || n <= 0)
		return;
	if (last < addr || last > UINTPTR_MAX || n > UINT32_MAX || !ops || !ops->write ||
		ops->write(run->view, addr, src, (uint32_t)n))
		tl_run_error(run, "write fault [man error::fault] at %p", addr);
}

void tl_store(struct tl_run *run, uint64_t addr, uint32_t size, int64_t value)
{
	uint8_t v1 = (uint8_t)value;
	uint16_t v2 = (uint16_t)value;
	uint32_t v4 = (uint32_t)value;
	const void *src = &value;

	if (run->error)
		return;
	/* By its size, for either byte order. */
	if (size < 8)
		src = size == 1	  ? (const void *)&v1
		      : size == 2 ? (const void *)&v2
				  : (const void *)&v4;
	tl_store_bytes(run, addr, src, size);
}

/* In pieces that do not cross pages: what lies behind the NUL may not exist. */
int tl_read_string(struct tl_run *run, struct tl_str *dst, uint64_t addr, uint32_t max)
{
	uint32_t n = 0, piece, i;

	dst->len = 0;
	dst->b[0] = 0;
	while (n < max) {
		piece = PAGE - ((uint32_t)(addr + n) & (PAGE - 1));
		if (piece > (n ? CHUNK : FIRST))
			piece = n ? CHUNK : FIRST;
		if (piece > max - n)
			piece = max - n;
		if (tl_read(run, dst->b + n, addr + n, piece)) {
			dst->b[0] = 0;
			return -1;
		}
		for (i = n; i < n + piece; i++)
			if (!dst->b[i]) {
				dst->len = i;
				return 0;
			}
		n += piece;
	}
	dst->len = n;
	dst->b[n] = 0;
	return 0;
}

/* A string as long as MAXSTRINGLEN allows goes on in memory unless a NUL follows. */
static void count_cut(struct tl_run *run, const struct tl_str *dst, uint64_t addr)
{
	char next;

	if (dst->len == tl_max_len(run) && !tl_read(run, &next, addr + dst->len, 1) && next)
		run->block->truncated++;
}

static void string_fault(struct tl_run *run, uint64_t addr)
{
	tl_run_error(run, "user string copy fault %d at %p [man error::fault]",
		(int64_t)EFAULT_TEXT, addr);
}

void tl_user_string(struct tl_run *run, struct tl_str *dst, uint64_t addr)
{
	if (run->error || tl_read_string(run, dst, addr, tl_max_len(run))) {
		tl_str_put(run, dst, "", 0);
		string_fault(run, addr);
		return;
	}
	count_cut(run, dst, addr);
}

void tl_user_string_n(struct tl_run *run, struct tl_str *dst, uint64_t addr, int64_t n)
{
	uint32_t max = n < 0 ? 0 : n > tl_max_len(run) ? tl_max_len(run) : (uint32_t)n;

	if (run->error || tl_read_string(run, dst, addr, max)) {
		tl_str_put(run, dst, "", 0);
		string_fault(run, addr);
		return;
	}
	if (n > tl_max_len(run))
		count_cut(run, dst, addr);
}

void tl_user_string2(
	struct tl_run *run, struct tl_str *dst, uint64_t addr, const struct tl_str *other)
{
	if (tl_read_string(run, dst, addr, tl_max_len(run)))
		tl_str_set(run, dst, other);
	else
		count_cut(run, dst, addr);
}

void tl_mem_bytes(struct tl_run *run, struct tl_str *dst, uint64_t addr, int64_t n)
{
	uint32_t size = n < 1 ? 1 : n > tl_max_len(run) ? tl_max_len(run) : (uint32_t)n;

	tl_str_put(run, dst, "", 0);
	if (!tl_user_read(run, dst->b, addr, size)) {
		dst->b[0] = 0;
		return;
	}
	dst->b[size] = 0;
	dst->len = size;
	if (n > tl_max_len(run))
		run->block->truncated++;
}
