/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Reading and changing the program's text. A range is opened with one mprotect
 * for each mapping in it, always to RWX (other threads run there), and gets
 * back exactly the protection it had.
 */
#include "../../core/mem.h"
#include "process.h"

enum { SIGSET_SIZE = 8, OPEN_FEW = 64 };

/* Engine lock. Text that was changed page by page is many mappings. */
static struct tl_mapping few[OPEN_FEW];
struct tl_opened tl_opened = {.maps = few, .max = OPEN_FEW};

/*
 * rt_sigprocmask with an impossible `how` reads the set and changes nothing:
 * EFAULT when it cannot, EINVAL otherwise. Any seccomp filter that lets a
 * program live allows it, which cannot be said of process_vm_readv.
 */
bool tl_word_readable(uintptr_t addr)
{
	const long no_such_how = 77;

	/* A set at 0 is no set, which the kernel has nothing against. */
	return addr >= TL_PAGE && tl_syscall4(TL_NR_rt_sigprocmask, no_such_how,
					  (long)(addr & ~7ul), 0, SIGSET_SIZE) != -TL_EFAULT;
}

/*
 * Analysis reads the same pages over and over. A page found readable is taken
 * to be so for the next few thousand reads, well under a millisecond, and not beyond
 * the engine lock: mappings come and go.
 */
enum { SEEN_PAGES = 1024, SEEN_FOR = 8192 };

static struct {
	uintptr_t page;
	unsigned when;
} pages_seen[SEEN_PAGES];
static unsigned reads = SEEN_FOR;

void tl_text_forget(void)
{
	reads += SEEN_FOR;
}

static bool page_readable(uintptr_t addr)
{
	uintptr_t page = tl_page_down(addr);
	unsigned i = (page / TL_PAGE) % SEEN_PAGES;

	if (pages_seen[i].page == page && ++reads - pages_seen[i].when < SEEN_FOR)
		return true;
	if (!tl_word_readable(addr))
		return false;
	pages_seen[i].page = page;
	pages_seen[i].when = reads;
	return true;
}

size_t tl_os_text_read(uintptr_t addr, void *buf, size_t len)
{
	uint8_t *to = buf;
	size_t done = 0;

	while (done < len && page_readable(addr + done)) {
		size_t n = TL_PAGE - ((addr + done) & (TL_PAGE - 1));

		n = n < len - done ? n : len - done;
		tl_copy(to + done, (const uint8_t *)(addr + done), n);
		done += n;
	}
	return done;
}

bool tl_os_text_next(uintptr_t addr, uintptr_t *lo, uintptr_t *hi)
{
	struct tl_mapping map;

	for (*lo = addr; tl_home_map(*lo, &map); *lo = map.hi) {
		if (!(map.prot & TL_PROT_EXEC))
			continue;
		if (*lo < map.lo)
			*lo = map.lo;
		*hi = map.hi;
		return true;
	}
	return false;
}

static int protect(uintptr_t lo, uintptr_t hi, int prot)
{
	return tl_syscall3(TL_NR_mprotect, (long)lo, (long)(hi - lo), prot)
		       ? tl_mappings_why(-TL_E_TEXT_RO)
		       : 0;
}

/* Puts back all open pieces that lie in [lo, hi). */
static void restore(uintptr_t lo, uintptr_t hi)
{
	size_t i = 0;

	while (i < tl_opened.n) {
		struct tl_mapping *m = &tl_opened.maps[i];

		if (m->lo < lo || m->hi > hi) {
			i++;
			continue;
		}
		protect(m->lo, m->hi, m->prot);
		*m = tl_opened.maps[--tl_opened.n];
	}
}

static bool room_for_one(void)
{
	struct tl_opened *o = &tl_opened;
	struct tl_mapping *grown, *old = o->maps;
	size_t max = o->max;

	if (o->n < max)
		return true;
	grown = tl_os_alloc(2 * max * sizeof(*grown));
	if (!grown)
		return false;
	for (size_t i = 0; i < o->n; i++)
		grown[i] = old[i];
	o->maps = grown;
	o->max = 2 * max;
	if (old != few)
		tl_os_free(old, max * sizeof(*old));
	return true;
}

/* When nothing is open any more. */
static void forget_many(void)
{
	struct tl_opened many = tl_opened;

	if (many.n || many.maps == few)
		return;
	tl_opened = (struct tl_opened){.maps = few, .max = OPEN_FEW};
	tl_os_free(many.maps, many.max * sizeof(*many.maps));
}

/* On the list first: whoever finds that we have failed puts it back. */
static int open_one(const struct tl_mapping *m)
{
	const int rwx = TL_PROT_READ | TL_PROT_WRITE | TL_PROT_EXEC;
	int ret;

	if (!room_for_one())
		return -TL_E_NOMEM;
	tl_opened.maps[tl_opened.n++] = *m;
	ret = protect(m->lo, m->hi, rwx);
	if (ret)
		tl_opened.n--;
	return ret;
}

int tl_os_text_open(uintptr_t lo, uintptr_t hi)
{
	uintptr_t at;
	int ret = tl_code_seal();

	lo = tl_page_down(lo);
	hi = tl_page_up(hi);
	for (at = lo; !ret && at < hi;) {
		struct tl_mapping m;

		if (!tl_home_map(at, &m) || m.lo > at || !(m.prot & TL_PROT_EXEC)) {
			ret = -TL_E_NOT_TEXT;
			break;
		}
		m.lo = at;
		m.hi = m.hi < hi ? m.hi : hi;
		ret = open_one(&m);
		at = m.hi;
	}
	if (ret)
		restore(lo, hi);
	return ret;
}

void tl_os_text_store(uintptr_t addr, const void *bytes, size_t len)
{
	const uint8_t *from = bytes;
	uint64_t word = 0;
	size_t i;

	tl_code_seal(); /* what we store may lead there */
	if (len <= 8)
		__builtin_memcpy(&word, bytes, len);
	if (len == 8 && !(addr & 7))
		__atomic_store_n((uint64_t *)addr, word, __ATOMIC_RELEASE);
	else if (len == 4 && !(addr & 3))
		__atomic_store_n((uint32_t *)addr, (uint32_t)word, __ATOMIC_RELEASE);
	else if (len == 2 && !(addr & 1))
		__atomic_store_n((uint16_t *)addr, (uint16_t)word, __ATOMIC_RELEASE);
	else
		for (i = 0; i < len; i++)
			__atomic_store_n((uint8_t *)addr + i, from[i], __ATOMIC_RELEASE);
}

/* Who else may patch a process, nobody tells. */
int tl_os_text_reserved(uintptr_t lo, uintptr_t hi)
{
	(void)lo;
	(void)hi;
	return 0;
}

void tl_os_text_close(uintptr_t lo, uintptr_t hi)
{
	restore(tl_page_down(lo), tl_page_up(hi));
	forget_many();
}
