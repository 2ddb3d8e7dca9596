/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#define _GNU_SOURCE
#include "fake.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

struct fake fake;
_Alignas(4096) uint8_t fake_text[FAKE_TEXT];
_Alignas(4096) uint8_t fake_code[FAKE_CODE];

void fake_reset(void)
{
	memset(&fake, 0, sizeof(fake));
	memset(fake_code, 0, sizeof(fake_code));
	fake.key = 0x1000;
	fake.tid = 1;
}

static void note(enum fake_event what, uintptr_t addr, size_t len)
{
	if (fake.nlog < FAKE_LOG)
		fake.log[fake.nlog++] = (struct fake_log){what, addr, len};
	if (fake.on_event)
		fake.on_event(what);
}

size_t fake_count(enum fake_event what)
{
	size_t n = 0;

	for (size_t i = 0; i < fake.nlog; i++)
		n += fake.log[i].what == what;
	return n;
}

int tl_os_init(void)
{
	fake.up = true;
	return 0;
}

void tl_os_exit(void)
{
	fake.up = false;
}

/* --- memory -------------------------------------------------------------- */

static bool refuse(void)
{
	return ++fake.nallocs == fake.fail_alloc;
}

void *tl_os_alloc(size_t size)
{
	void *mem = refuse() ? NULL : calloc(1, size);

	if (mem) {
		fake.live++;
		fake.live_bytes += size;
	}
	return mem;
}

size_t tl_os_page_size(void)
{
	return fake.page;
}

void tl_os_page_stock(void)
{
}

void *tl_os_page_take(void)
{
	if (fake.pages == fake.pages_max)
		return NULL;
	fake.pages++;
	return tl_os_alloc(fake.page);
}

bool tl_os_page_give(void *page)
{
	(void)page;
	return false;
}

void tl_os_page_free(void *page)
{
	fake.pages--;
	tl_os_free(page, fake.page);
}

void *tl_os_alloc_sparse(size_t size)
{
	return tl_os_alloc(size);
}

void tl_os_free(void *mem, size_t size)
{
	fake.live--;
	fake.live_bytes -= size;
	free(mem);
}

void *tl_os_alloc_wiped(void)
{
	return tl_os_alloc(4096);
}

void tl_os_free_wiped(void *mem)
{
	tl_os_free(mem, 4096);
}

int tl_os_stacks_reserve(size_t count, size_t size, uintptr_t *base, size_t *stride)
{
	void *mem = tl_os_alloc(count * 16);

	(void)size;
	if (!mem)
		return -TL_E_NOMEM;
	*base = (uintptr_t)mem; /* nobody runs on them */
	*stride = 16;
	return 0;
}

void tl_os_stacks_release(uintptr_t base, size_t count, size_t size)
{
	(void)size;
	tl_os_free((void *)base, count * 16);
}

static const struct fake_taken *taken_at(uintptr_t lo, uintptr_t hi)
{
	for (unsigned i = 0; i < FAKE_TAKEN; i++)
		if (fake.taken[i].lo < hi && lo < fake.taken[i].hi)
			return &fake.taken[i];
	return NULL;
}

/* The lowest free place, which is no memory. */
static int reserve_free(uintptr_t lo, uintptr_t hi, size_t size, uintptr_t *at)
{
	const struct fake_taken *t;
	unsigned i = 0;

	lo = lo > fake.free_lo ? lo : fake.free_lo;
	hi = hi < fake.free_hi ? hi : fake.free_hi;
	for (; lo < hi && hi - lo >= size; lo = t->hi) {
		t = taken_at(lo, lo + size);
		if (!t)
			break;
	}
	while (i < FAKE_TAKEN && fake.taken[i].hi)
		i++;
	if (lo >= hi || hi - lo < size || i == FAKE_TAKEN)
		return -TL_E_OUT_OF_REACH;
	fake.taken[i] = (struct fake_taken){lo, lo + size};
	fake.live++;
	*at = lo;
	return 0;
}

int tl_os_code_reserve(uintptr_t lo, uintptr_t hi, size_t size, uintptr_t *at)
{
	size_t room = fake.code_reach ? fake.code_reach : FAKE_CODE;

	if (refuse())
		return -TL_E_OUT_OF_REACH;
	if (fake.free_hi)
		return reserve_free(lo, hi, size, at);
	if (fake.code_used + size > room)
		return -TL_E_OUT_OF_REACH;
	*at = (uintptr_t)fake_code + fake.code_used;
	if (*at < lo || *at + size > hi)
		return -TL_E_OUT_OF_REACH;
	fake.code_used += size;
	fake.live++;
	return 0;
}

bool tl_os_code_at_will(void)
{
	return true;
}

int tl_os_code_write(uintptr_t at, const void *bytes, size_t len)
{
	if (refuse())
		return -TL_E_NOMEM;
	if (!fake.free_hi)
		memcpy((void *)at, bytes, len);
	note(FAKE_CODE_WRITE, at, len);
	return 0;
}

void tl_os_code_mappings(size_t *n, size_t *max)
{
	*n = *max = 0;
}

void tl_os_code_release(uintptr_t at, size_t size)
{
	fake.live--;
	if (!fake.free_hi) {
		fake.code_used -= size;
		return;
	}
	for (unsigned i = 0; i < FAKE_TAKEN; i++)
		if (fake.taken[i].lo == at)
			fake.taken[i] = (struct fake_taken){0};
}

/* --- text ---------------------------------------------------------------- */

void tl_os_resched(void)
{
}

/* Never a fault, as with all environments; but for emulators that do not have the call. */
static size_t read_memory(uintptr_t addr, void *buf, size_t len)
{
	struct iovec to = {buf, len}, from = {(void *)addr, len};
	ssize_t n = process_vm_readv(getpid(), &to, 1, &from, 1, 0);

	if (n >= 0 || errno != ENOSYS)
		return n < 0 ? 0 : (size_t)n;
	memcpy(buf, (const void *)addr, len);
	return len;
}

size_t tl_os_text_read(uintptr_t addr, void *buf, size_t len)
{
	uintptr_t off = addr - (uintptr_t)fake_text;

	if (fake.read_anything)
		return read_memory(addr, buf, len);
	if (off >= FAKE_TEXT)
		return 0;
	if (len > FAKE_TEXT - off)
		len = FAKE_TEXT - off;
	memcpy(buf, (const void *)addr, len);
	return len;
}

bool tl_os_text_next(uintptr_t addr, uintptr_t *lo, uintptr_t *hi)
{
	*lo = addr;
	*hi = UINTPTR_MAX;
	return true;
}

int tl_os_text_reserved(uintptr_t lo, uintptr_t hi)
{
	return lo < fake.reserved_hi && hi > fake.reserved_lo ? -TL_E_RESERVED : 0;
}

bool tl_os_text_borrowed(uintptr_t lo, uintptr_t hi)
{
	return fake.borrowed >= lo && fake.borrowed < hi;
}

unsigned tl_os_entry_bytes(uintptr_t addr)
{
	(void)addr;
	return 0;
}

int tl_os_text_jumps_by(uintptr_t addr)
{
	(void)addr;
	return -1;
}

bool tl_os_text_returns(uintptr_t addr)
{
	(void)addr;
	return false;
}

int tl_os_text_entries(uintptr_t lo, uintptr_t hi, void (*fn)(void *arg, uintptr_t at), void *arg)
{
	if (fake.entry >= lo && fake.entry < hi)
		fn(arg, fake.entry);
	return 0;
}

void tl_os_functions(uintptr_t lo, uintptr_t hi,
	void (*fn)(void *arg, uintptr_t start, uintptr_t end), void *arg)
{
	for (const uintptr_t *f = fake.functions; f[0] && f[1]; f++)
		if (f[0] >= lo && f[1] <= hi)
			fn(arg, f[0], f[1]);
}

int tl_os_text_open(uintptr_t lo, uintptr_t hi)
{
	if (fake.fail_text)
		return -TL_E_TEXT_RO;
	fake.text_open = true;
	note(FAKE_OPEN, lo, hi - lo);
	return 0;
}

/* What one store of the machine does is seen at once; everything else byte for byte. */
int tl_os_text_store(uintptr_t addr, const void *bytes, size_t len)
{
	const uint8_t *from = bytes;
	uint8_t *to = (uint8_t *)addr;
	bool whole = (len == 1 || len == 2 || len == 4 || len == 8) && !(addr & (len - 1));
	enum fake_event what = fake.stopped ? FAKE_STOPPED_STORE : FAKE_STORE;

	fake.bad_stores += !fake.text_open;
	if (whole) {
		memcpy(to, from, len);
		note(what, addr, len);
		return 0;
	}
	for (size_t i = 0; i < len; i++) {
		to[i] = from[i];
		note(what, addr + i, 1);
	}
	return 0;
}

int tl_os_text_again(uintptr_t lo, uintptr_t hi)
{
	(void)lo;
	(void)hi;
	return -TL_E_TEXT_RO;
}

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
	fake.text_open = false;
	note(FAKE_CLOSE, lo, hi - lo);
}

int tl_os_sync_cores(void)
{
	note(FAKE_SYNC_CORES, 0, 0);
	return 0;
}

int tl_os_sync_memory(void)
{
	note(FAKE_SYNC_MEMORY, 0, 0);
	return fake.fail_sync ? -TL_E_SYNC : 0;
}

/* --- threads ------------------------------------------------------------- */

/* Where a thread is to go on, 0: it cannot. */
static uintptr_t go_on_at(const struct tl_os_stop *stop, uintptr_t pc, bool saved)
{
	uintptr_t to = stop->pc(stop->arg, pc, saved);

	if (!fake.no_move || to == pc)
		return to;
	stop->stuck(stop->arg, pc);
	return 0;
}

int tl_os_stop_all(const struct tl_os_stop *stop)
{
	uintptr_t pc[FAKE_THREADS], saved[FAKE_THREADS];

	note(FAKE_STOP, 0, 0);
	if (fake.no_stop)
		return -TL_E_BUSY;
	for (unsigned i = 0; i < FAKE_THREADS; i++) {
		const struct fake_thread *t = &fake.threads[i];

		pc[i] = t->used && t->pc ? go_on_at(stop, t->pc, false) : 1;
		saved[i] = t->used && t->saved ? go_on_at(stop, t->saved, true) : 1;
		if (!pc[i] || !saved[i])
			return -TL_E_BUSY;
	}
	fake.stopped = true;
	stop->done(stop->arg);
	fake.stopped = false;
	for (unsigned i = 0; i < FAKE_THREADS; i++) {
		if (fake.threads[i].used && fake.threads[i].pc)
			fake.threads[i].pc = pc[i];
		if (fake.threads[i].used && fake.threads[i].saved)
			fake.threads[i].saved = saved[i];
	}
	return 0;
}

bool tl_os_stop_sync(void)
{
	if (fake.interrupted && fake.stopped)
		note(FAKE_STOP_SYNC, 0, 0);
	return fake.interrupted;
}

int tl_os_seen(uintptr_t lo, uintptr_t hi, void (*see)(void *arg, uintptr_t addr), void *arg)
{
	note(FAKE_QUIET, lo, hi - lo);
	if (fake.blind)
		return -TL_E_LIMIT;
	for (unsigned i = 0; i < FAKE_THREADS; i++) {
		const struct fake_thread *t = &fake.threads[i];
		const uintptr_t held[] = {t->pc, t->saved, t->holds};

		for (unsigned n = 0; t->used && n < sizeof(held) / sizeof(held[0]); n++)
			if (held[n] >= lo && held[n] < hi)
				see(arg, held[n]);
	}
	return 0;
}

int tl_os_quiet(uintptr_t lo, uintptr_t hi)
{
	bool blind = fake.blind;
	int ret;

	fake.blind = false;
	ret = tl_os_quiet_by_seen(lo, hi);
	fake.blind = blind;
	return ret;
}

int tl_os_stacks(void (*see)(void *arg, const struct tl_os_stack *s), void *arg)
{
	for (unsigned i = 0; i < FAKE_THREADS; i++) {
		const struct tl_os_stack *s = &fake.threads[i].stack;

		if (fake.threads[i].used && s->hi)
			see(arg, s);
	}
	note(FAKE_STACKS, 0, 0);
	return 0;
}

bool tl_os_trap_may_kill(void)
{
	return fake.trap_may_kill;
}

bool tl_os_shadow_stack(void)
{
	return false;
}

bool tl_os_spin_ok(void)
{
	return !fake.no_spin;
}

int tl_os_trap_allowed(void)
{
	return fake.trap_forbidden ? -TL_E_TRAP_FORBIDDEN : 0;
}

static unsigned trap_slot(uintptr_t addr)
{
	unsigned i;

	for (i = 0; i < FAKE_TRAPS && fake.trap_addr[i] != addr; i++)
		;
	return i;
}

int tl_os_trap_add(uintptr_t addr, uintptr_t detour)
{
	unsigned i = trap_slot(addr);

	if (i == FAKE_TRAPS) {
		if (refuse())
			return -TL_E_NOMEM;
		i = trap_slot(0);
	}
	if (i == FAKE_TRAPS)
		return -TL_E_NOMEM;
	fake.trap_addr[i] = addr;
	fake.trap_to[i] = detour;
	note(FAKE_TRAP_ADD, addr, 0);
	return 0;
}

void tl_os_trap_remove(uintptr_t addr)
{
	unsigned i = trap_slot(addr);

	note(FAKE_TRAP_REMOVE, addr, 0);
	if (i < FAKE_TRAPS)
		fake.trap_addr[i] = fake.trap_to[i] = 0;
}

uintptr_t fake_trap_target(uintptr_t addr)
{
	unsigned i = trap_slot(addr);

	return i < FAKE_TRAPS ? fake.trap_to[i] : 0;
}

void tl_os_lock(void)
{
	if (fake.locked)
		abort();
	fake.locked = true;
}

void tl_os_unlock(void)
{
	if (!fake.locked)
		abort();
	fake.locked = false;
}

bool tl_os_lock_held(void)
{
	return fake.locked;
}

void tl_os_pause(unsigned microseconds)
{
	(void)microseconds;
	fake.pauses++;
	if (fake.on_pause)
		fake.on_pause();
}

uintptr_t tl_os_thread_key(bool early)
{
	(void)early;
	return fake.key;
}

uint32_t tl_os_thread_id(uintptr_t key)
{
	(void)key;
	return fake.tid;
}

bool tl_os_thread_same(uintptr_t key, uint32_t tid)
{
	return key == fake.key && tid == fake.tid;
}

void tl_os_thread_layout(int32_t *tid_offset, bool *fast_key)
{
	*tid_offset = 1; /* the toy machine always looks */
	*fast_key = false;
}

struct tl_thread *tl_os_contexts(
	unsigned *n, int (**hit)(struct tl_site *site, struct tl_regs *regs, uint32_t gives))
{
	*n = 0;
	*hit = NULL;
	return NULL;
}

struct tl_thread *tl_os_context(void)
{
	return NULL;
}

bool tl_os_vectors(void)
{
	return true;
}

bool tl_os_thread_alive(uint32_t tid)
{
	for (unsigned i = 0; i < FAKE_THREADS; i++)
		if (fake.threads[i].used && fake.threads[i].tid == tid)
			return true;
	return tid == fake.tid;
}

bool tl_os_on_signal_stack(void)
{
	return fake.on_signal_stack;
}

int tl_os_images_update(void)
{
	return fake.images ? fake.images() : 0;
}

bool tl_os_later(void)
{
	fake.nlater++;
	return fake.has_later;
}

bool tl_os_images_stale(void)
{
	return fake.images_stale;
}
