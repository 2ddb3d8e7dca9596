/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Own process: text, and past its protection, by the file of our own memory, which no protection holds for. */
#include "../../core/base/mem.h"
#include "own.h"

enum { O_RDWR = 2, O_CLOEXEC = 02000000 };

/* From where a number of the program's leads, which may be a sanitizer's own memory: it cannot check that. */
__attribute__((no_sanitize("address"))) static uintptr_t word_from(
	const volatile uint8_t *from, size_t n)
{
	const size_t at = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? sizeof(uintptr_t) - n : 0;
	uintptr_t word = 0;

	for (size_t i = 0; i < n; i++)
		((uint8_t *)&word)[at + i] = from[i];
	return word;
}

int tl_home_copy(uintptr_t to, uintptr_t from, size_t n)
{
	uintptr_t word;

	if (n > sizeof(word) || n & (n - 1) || to & (n - 1)) {
		tl_copy((void *)to, (const void *)from, n);
		return 0;
	}
	word = word_from((const volatile uint8_t *)from, n);
	if (n == sizeof(word))
		__atomic_store_n((uintptr_t *)to, word, __ATOMIC_RELEASE);
	else if (n == 4)
		__atomic_store_n((uint32_t *)to, (uint32_t)word, __ATOMIC_RELEASE);
	else if (n == 2)
		__atomic_store_n((uint16_t *)to, (uint16_t)word, __ATOMIC_RELEASE);
	else
		__atomic_store_n((uint8_t *)to, (uint8_t)word, __ATOMIC_RELEASE);
	return 0;
}

static long mem_open(void)
{
	return tl_syscall3(TL_NR_open, (long)"/proc/self/mem", O_RDWR | O_CLOEXEC, 0);
}

/* Nothing was copied from there: nothing is there, or the kernel keeps us out. */
static int nothing_at(uintptr_t addr)
{
	struct tl_mapping m;

	return tl_home_map(addr, &m) && m.lo > addr ? 0 : -TL_E_TEXT_RO;
}

int tl_os_text_peek(uintptr_t addr, void *buf, size_t len)
{
	long fd = mem_open(), n = -1;

	if (!tl_syscall_failed(fd)) {
		n = tl_syscall4(TL_NR_pread64, fd, (long)buf, (long)len, (long)addr);
		tl_syscall3(TL_NR_close, fd, 0, 0);
	}
	return n > 0 ? (int)n : nothing_at(addr);
}

int tl_os_text_poke(uintptr_t addr, const void *bytes, size_t len)
{
	long fd = mem_open(), n;

	if (tl_syscall_failed(fd))
		return -TL_E_TEXT_RO;
	n = tl_syscall4(TL_NR_pwrite64, fd, (long)bytes, (long)len, (long)addr);
	tl_syscall3(TL_NR_close, fd, 0, 0);
	return n == (long)len ? 0 : -TL_E_TEXT_RO;
}
