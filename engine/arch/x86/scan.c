/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Jumps between functions and jump tables, found without decoding. */
#include "x86.h"

enum { CHUNK = 512, TABLE_MAX = 1 << 20 };

const size_t tl_arch_near = 256;

/* What a byte may be the start of. */
enum { E9 = 1, TWO, LEA, INDEXED, MOV_IMM };
static const uint8_t starts[256] = {
	[0xe9] = E9, /* jmp rel32 */
	[0x0f] = TWO, /* jcc rel32 */
	[0x8d] = LEA,
	[0x8b] = INDEXED, /* mov table(,i,8),r */
	[0xff] = INDEXED, /* jmp *table(,i,8) */
	[0xb8] = MOV_IMM,
	[0xb9] = MOV_IMM,
	[0xba] = MOV_IMM,
	[0xbb] = MOV_IMM,
	[0xbc] = MOV_IMM,
	[0xbd] = MOV_IMM,
	[0xbe] = MOV_IMM,
	[0xbf] = MOV_IMM,
};

static uint32_t get32(const uint8_t *p)
{
	uint32_t v;

	__builtin_memcpy(&v, p, sizeof(v));
	return v;
}

static uintptr_t target(const uint8_t *rel, uintptr_t next)
{
	return next + (uintptr_t)(intptr_t)(int32_t)get32(rel);
}

/* mod 0, a scaled index by 8 and no base: disp32 is the table's address. */
static bool is_indexed(const uint8_t *p)
{
	return (p[1] & 0xc7) == 0x04 && (p[2] & 0xc7) == 0xc5;
}

/*
 * jmp rel32 and jcc rel32; their prefixes do not change where they lead. For
 * tables: lea disp(%rip), operands indexed by 8, and in programs that are
 * linked low also immediates.
 */
void tl_arch_wide_jumps(const uint8_t *text, size_t size, uintptr_t addr,
	void (*fn)(void *arg, uintptr_t target), void (*table)(void *arg, uintptr_t base),
	void *arg)
{
	bool low = addr < (1ul << 31);

	for (size_t i = 0; i < size; i++) {
		const uint8_t *p = text + i;
		uint8_t kind = starts[*p];

		if (!kind)
			continue;
		if (kind == E9)
			fn(arg, target(p + 1, addr + i + 5));
		else if (kind == TWO && (p[1] & 0xf0) == 0x80)
			fn(arg, target(p + 2, addr + i + 6));
		else if (kind == LEA && (p[1] & 0xc7) == 0x05)
			table(arg, target(p + 2, addr + i + 6));
		else if (kind == INDEXED && is_indexed(p))
			table(arg, target(p + 3, 0));
		else if (kind == MOV_IMM && low)
			table(arg, get32(p + 1));
	}
}

/* call rel32 and jmp rel32, which differ in one bit. */
void tl_arch_wide_calls(const uint8_t *text, size_t size, uintptr_t addr,
	void (*fn)(void *arg, uintptr_t from, uintptr_t target), void *arg)
{
	for (size_t i = 0; i < size; i++)
		if ((text[i] & 0xfe) == 0xe8)
			fn(arg, addr + i, target(text + i + 1, addr + i + 5));
}

/* mov $number,%eax, and at most a few others, then syscall. */
int64_t tl_arch_syscall_number(const uint8_t *text, size_t size)
{
	enum { LOAD = 0xb8, LOAD_LEN = 5, CALL_LEN = 2, NEAR = 16, NUMBERS = 1024 };
	size_t at = size - CALL_LEN, off;
	struct tl_insn i;

	if (size < CALL_LEN + LOAD_LEN || text[at] != 0x0f || text[at + 1] != 0x05)
		return -1;
	for (size_t back = LOAD_LEN; back <= at && back <= NEAR; back++) {
		const uint8_t *p = text + at - back;

		if (*p != LOAD || get32(p + 1) >= NUMBERS)
			continue;
		for (off = LOAD_LEN; off < back && x86_decode(&i, p + off, back - off);
			off += i.len)
			if (i.flow != TL_FLOW_NEXT)
				break;
		if (off == back)
			return get32(p + 1);
	}
	return -1;
}

/* One form: offsets of 4 bytes from the base, or addresses of 8. */
static size_t read_table(uintptr_t base, size_t size, bool offsets, uintptr_t lo, uintptr_t hi,
	size_t (*read)(uintptr_t addr, void *buf, size_t len),
	void (*fn)(void *arg, uintptr_t target), void *arg)
{
	size_t width = offsets ? 4 : 8, n = 0, got;
	uint8_t buf[CHUNK];

	for (size_t at = 0; at < size; at += got) {
		size_t want = fn ? CHUNK : width; /* only the first is asked about */

		got = read(base + at, buf, want) & ~(width - 1);
		for (size_t k = 0; k < got && at + k < size; k += width) {
			uint64_t v = get32(buf + k);
			uintptr_t to = base + (uintptr_t)(intptr_t)(int32_t)v;

			if (!offsets)
				to = v | (uint64_t)get32(buf + k + 4) << 32;
			if (to < lo || to >= hi)
				return n;
			if (fn)
				fn(arg, to);
			n++;
		}
		if (got < want)
			break;
	}
	return n;
}

size_t tl_arch_table_targets(uintptr_t base, size_t size, uintptr_t lo, uintptr_t hi,
	size_t (*read)(uintptr_t addr, void *buf, size_t len),
	void (*fn)(void *arg, uintptr_t target), void *arg)
{
	if (size > TABLE_MAX)
		size = TABLE_MAX;
	return read_table(base, size, true, lo, hi, read, fn, arg) +
	       read_table(base, size, false, lo, hi, read, fn, arg);
}
