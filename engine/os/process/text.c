/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Reading and changing the program's text. A range is opened with one mprotect
 * for each mapping in it, always to RWX (other threads run there), and gets
 * back exactly the protection it had.
 */
#include "../../core/base/mem.h"
#include "process.h"

enum { SIGSET_SIZE = 8, OPEN_FEW = 64, RWX = TL_PROT_READ | TL_PROT_WRITE | TL_PROT_EXEC };

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

void tl_os_resched(void)
{
}

size_t tl_os_text_read(uintptr_t addr, void *buf, size_t len)
{
	uint8_t *to = buf;
	size_t done = 0;

	while (done < len && page_readable(addr + done)) {
		size_t n = TL_PAGE - ((addr + done) & (TL_PAGE - 1));

		n = n < len - done ? n : len - done;
		if (tl_home_copy((uintptr_t)to + done, addr + done, n)) {
			tl_text_forget();
			break;
		}
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

static bool set(uintptr_t lo, uintptr_t hi, int prot)
{
	return !tl_syscall3(TL_NR_mprotect, (long)lo, (long)(hi - lo), prot);
}

static bool looked; /* at the mappings, while text was open */

static void look(void)
{
	size_t n, max;

	tl_home_mappings(&n, &max);
	looked = true;
}

/* Where a part has been unmapped meanwhile, what is still open of it. */
static void put_back(const struct tl_mapping *m)
{
	struct tl_mapping now;

	if (set(m->lo, m->hi, m->prot))
		return;
	look();
	for (uintptr_t at = m->lo; tl_home_map(at, &now) && now.lo < m->hi; at = now.hi)
		if (now.prot == RWX)
			set(at > now.lo ? at : now.lo, m->hi < now.hi ? m->hi : now.hi, m->prot);
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
		put_back(m);
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

/* Nothing may be open any more: what it was like then is not to be taken for the program's own. */
static void all_closed(void)
{
	struct tl_opened many = tl_opened;

	if (many.n)
		return;
	if (looked)
		look();
	looked = false;
	if (many.maps == few)
		return;
	tl_opened = (struct tl_opened){.maps = few, .max = OPEN_FEW};
	tl_os_free(many.maps, many.max * sizeof(*many.maps));
}

static bool is_text(uintptr_t addr)
{
	struct tl_mapping m;

	return tl_home_map(addr, &m) && m.lo <= addr && m.prot & TL_PROT_EXEC;
}

/* On the list first: whoever finds that we have failed puts it back. */
static int open_one(const struct tl_mapping *m)
{
	int ret;

	if (!room_for_one())
		return -TL_E_NOMEM;
	tl_opened.maps[tl_opened.n++] = *m;
	if (set(m->lo, m->hi, RWX))
		return 0;
	ret = tl_mappings_why(-TL_E_TEXT_RO);
	look();
	put_back(m); /* a part may have been opened */
	tl_opened.n--;
	return ret == -TL_E_TEXT_RO && !is_text(m->lo) ? -TL_E_NOT_TEXT : ret;
}

int tl_os_text_open(uintptr_t lo, uintptr_t hi)
{
	uintptr_t at;
	int ret = tl_code_seal();

	lo = tl_page_down(lo);
	hi = tl_page_up(hi);
	for (at = lo; !ret && at < hi;) {
		struct tl_mapping m;

		if (!is_text(at) || !tl_home_map(at, &m)) {
			ret = -TL_E_NOT_TEXT;
			break;
		}
		m.lo = at;
		m.hi = m.hi < hi ? m.hi : hi;
		ret = open_one(&m);
		at = m.hi;
	}
	if (ret) {
		restore(lo, hi);
		all_closed();
	}
	return ret;
}

int tl_os_text_store(uintptr_t addr, const void *bytes, size_t len)
{
	tl_code_seal(); /* what we store may lead there */
	return tl_home_copy(addr, (uintptr_t)bytes, len) ? -TL_E_TEXT_RO : 0;
}

int tl_os_text_again(uintptr_t lo, uintptr_t hi)
{
	return set(tl_page_down(lo), tl_page_up(hi), RWX) ? 0 : -TL_E_TEXT_RO;
}

/* Who else may patch a process, nobody tells. */
int tl_os_text_reserved(uintptr_t lo, uintptr_t hi)
{
	(void)lo;
	(void)hi;
	return 0;
}

bool tl_os_text_borrowed(uintptr_t lo, uintptr_t hi)
{
	(void)lo;
	(void)hi;
	return false;
}

/* All that is there is the function's. */
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
	(void)lo;
	(void)hi;
	(void)fn;
	(void)arg;
	return 0;
}

/* Images have tables of their own. */
void tl_os_functions(uintptr_t lo, uintptr_t hi,
	void (*fn)(void *arg, uintptr_t start, uintptr_t end), void *arg)
{
	(void)lo;
	(void)hi;
	(void)fn;
	(void)arg;
}

void tl_os_text_close(uintptr_t lo, uintptr_t hi)
{
	restore(tl_page_down(lo), tl_page_up(hi));
	all_closed();
}
