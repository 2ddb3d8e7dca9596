/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Who is running? The thread pointer says it fast, but the C library gives a
 * dead thread's block to the next one: so the thread id inside that block is
 * compared too. Where it lies there is found out, since every libc differs.
 */
#include "process.h"

enum { TCB_SCAN = 0x600 }; /* glibc has it at 0x2d0, musl at 0x30 */

enum { SS_ONSTACK = 1, SIG_NONE = 0 };

static uint32_t tid_offset; /* 0: not known, ask the kernel */
bool tl_fsgsbase, tl_shadow_stack;

bool tl_os_shadow_stack(void)
{
	return tl_shadow_stack;
}

bool tl_shadow_status(void)
{
	const long shstk_status = 0x5005;
	uint64_t on = 0;

	return !tl_syscall3(TL_NR_arch_prctl, shstk_status, (long)&on, 0) && on & 1;
}

static uintptr_t fs_base(void)
{
	uintptr_t base = 0;

	if (tl_fsgsbase)
		__asm__ volatile("rdfsbase %0" : "=r"(base));
	else
		tl_syscall3(TL_NR_arch_prctl, TL_ARCH_GET_FS, (long)&base, 0);
	return base;
}

static bool fs_self(uintptr_t base)
{
	return base && !(base & 7) && tl_word_readable(base) && *(uintptr_t *)base == base;
}

static uint32_t tcb_tid(uintptr_t key, uint32_t offset)
{
	return __atomic_load_n((uint32_t *)(key + offset), __ATOMIC_RELAXED);
}

/*
 * Looks through the calling thread's block for its own id. A wrong find (a
 * number that happens to be equal) shows when the next thread asks for its id.
 */
void tl_tcb_init(void)
{
	uint32_t tid = tl_gettid(), off;
	uintptr_t base = fs_base();

	tid_offset = 0;
	if (!fs_self(base))
		return;
	for (off = 8; off < TCB_SCAN; off += 4) {
		if (!((base + off) & 7) && !tl_word_readable(base + off))
			return;
		if (tcb_tid(base, off) == tid) {
			tid_offset = off;
			return;
		}
	}
}

uintptr_t tl_os_thread_key(bool early)
{
	uintptr_t key;

	if (early)
		return fs_base();
	__asm__ volatile("mov %%fs:0, %0" : "=r"(key));
	return key;
}

void tl_tcb_forget(void)
{
	__atomic_store_n(&tid_offset, 0, __ATOMIC_RELAXED);
}

uint32_t tl_os_thread_id(uintptr_t key)
{
	uint32_t tid = tl_gettid();
	uint32_t off = __atomic_load_n(&tid_offset, __ATOMIC_RELAXED);

	if (off && key && (!fs_self(key) || tcb_tid(key, off) != tid))
		tl_tcb_forget();
	return tid;
}

bool tl_os_thread_same(uintptr_t key, uint32_t tid)
{
	uint32_t off = __atomic_load_n(&tid_offset, __ATOMIC_RELAXED);

	return (off && key ? tcb_tid(key, off) : tl_gettid()) == tid;
}

void tl_os_thread_layout(int32_t *offset, bool *fast_key)
{
	*offset = (int32_t)__atomic_load_n(&tid_offset, __ATOMIC_RELAXED);
	*fast_key = tl_fsgsbase;
}

bool tl_os_thread_key_percpu(int32_t *at)
{
	(void)at;
	return false;
}

bool tl_os_vectors(void)
{
	return true;
}

bool tl_os_thread_alive(uint32_t tid)
{
	long pid = tl_syscall3(TL_NR_getpid, 0, 0, 0);

	return tl_syscall3(TL_NR_tgkill, pid, (long)tid, SIG_NONE) != -TL_ESRCH;
}

bool tl_os_on_signal_stack(void)
{
	struct {
		void *sp;
		int flags;
		size_t size;
	} ss = {0, 0, 0};

	return !tl_syscall3(TL_NR_sigaltstack, 0, (long)&ss, 0) && (ss.flags & SS_ONSTACK);
}
