/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Reading and changing kernel text. Between open and close we hold the lock
 * that the kernel's own patching takes, so that neither side's read and write
 * of a word loses the other's; and the processors and the kprobes, since that
 * lock is taken inside of theirs everywhere else.
 */
#include <linux/cpu.h>
#include <linux/uaccess.h>
#include "kernel.h"

enum { OPEN_MAX = 64 };

static struct tl_alias opened[OPEN_MAX]; /* engine lock */
static unsigned nopened;

bool tl_text_is_open(void)
{
	return nopened != 0;
}

size_t tl_os_text_read(uintptr_t addr, void *buf, size_t len)
{
	size_t done = 0;

	while (done < len) {
		size_t n = min(len - done, (size_t)(PAGE_SIZE - offset_in_page(addr + done)));

		if (copy_from_kernel_nofault((char *)buf + done, (void *)(addr + done), n))
			break;
		done += n;
	}
	return done;
}

void tl_os_resched(void)
{
	cond_resched();
}

/* In the order of the kernel's own. From here on no kprobe comes, not even one that has copied its instruction already. */
static int lock_text(void)
{
	int ret;

	if (tl_faults_lost())
		return -TL_E_NOMEM;
	tl_faults_prepare();
	mutex_lock(tl_names.kprobe_mutex);
	ret = tl_kprobes_read();
	if (ret) {
		mutex_unlock(tl_names.kprobe_mutex);
		return ret;
	}
	cpus_read_lock();
	mutex_lock(tl_names.text_mutex);
	return 0;
}

static void unlock_text(void)
{
	mutex_unlock(tl_names.text_mutex);
	cpus_read_unlock();
	mutex_unlock(tl_names.kprobe_mutex);
}

int tl_os_text_open(uintptr_t lo, uintptr_t hi)
{
	int ret = 0;

	if (nopened == OPEN_MAX)
		return -TL_E_LIMIT;
	if (!nopened)
		ret = lock_text();
	if (ret)
		return ret;
	ret = tl_alias_open(&opened[nopened], lo, hi);
	if (!ret)
		nopened++;
	else if (!nopened)
		unlock_text();
	return ret;
}

static void *writable(uintptr_t addr)
{
	void *to = NULL;

	for (unsigned i = 0; i < nopened && !to; i++)
		to = tl_alias_at(&opened[i], addr);
	return to;
}

/* In one piece. */
#define STORE(type, to, from)                                                                      \
	do {                                                                                       \
		type word;                                                                         \
                                                                                                   \
		memcpy(&word, from, sizeof(word));                                                 \
		WRITE_ONCE(*(type *)(to), word);                                                   \
	} while (0)

int tl_os_text_store(uintptr_t addr, const void *bytes, size_t len)
{
	const uint8_t *from = bytes;
	uint8_t *to = writable(addr);

	if (WARN_ON_ONCE(!to))
		return -TL_E_TEXT_RO;
	if (len == sizeof(long) && !(addr & (sizeof(long) - 1)))
		STORE(unsigned long, to, from);
	else if (len == 4 && !(addr & 3))
		STORE(uint32_t, to, from);
	else if (len == 2 && !(addr & 1))
		STORE(uint16_t, to, from);
	else
		for (size_t i = 0; i < len; i++)
			WRITE_ONCE(to[i], from[i]);
	return 0;
}

int tl_os_text_again(uintptr_t lo, uintptr_t hi)
{
	(void)lo;
	(void)hi;
	return -TL_E_TEXT_RO;
}

/* A kernel's text that is there can be read and executed. */
int tl_os_text_peek(uintptr_t addr, void *buf, size_t len)
{
	return (int)tl_os_text_read(addr, buf, len);
}

int tl_os_text_poke(uintptr_t addr, const void *bytes, size_t len)
{
	(void)addr;
	(void)bytes;
	(void)len;
	return -TL_E_TEXT_RO;
}

void tl_os_text_close(uintptr_t lo, uintptr_t hi)
{
	lo &= PAGE_MASK;
	hi = PAGE_ALIGN(hi);
	for (unsigned i = 0; i < nopened; i++) {
		if (opened[i].lo != lo || opened[i].hi != hi)
			continue;
		tl_alias_close(&opened[i]);
		opened[i] = opened[--nopened];
		if (!nopened)
			unlock_text();
		return;
	}
}
