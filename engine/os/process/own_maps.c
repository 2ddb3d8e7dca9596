/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Own process: mappings, threads and their state, read from our own /proc. */
#include "kernels.h"
#include "own.h"

enum { O_RDONLY = 0, O_DIRECTORY = 0200000, O_CLOEXEC = 02000000, FIRST_KEPT = 1024 };
enum { STAT_NAME = 2, STAT_STATE = 3 };

struct reader {
	long fd;
	char buf[4096];
	size_t at, len;
};

static bool reader_open(struct reader *r, const char *path)
{
	r->fd = tl_syscall3(TL_NR_open, (long)path, O_RDONLY | O_CLOEXEC, 0);
	r->at = r->len = 0;
	return !tl_syscall_failed(r->fd);
}

static void reader_close(struct reader *r)
{
	tl_syscall3(TL_NR_close, r->fd, 0, 0);
}

/* Next character, -1 at the end. */
static int next(struct reader *r)
{
	if (r->at == r->len) {
		long n;

		do {
			n = tl_syscall3(TL_NR_read, r->fd, (long)r->buf, sizeof(r->buf));
		} while (n == -TL_EINTR);
		if (n <= 0)
			return -1;
		r->at = 0;
		r->len = (size_t)n;
	}
	return (unsigned char)r->buf[r->at++];
}

static int digit(int c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return -1;
}

/* A hexadecimal number, and the character behind it. */
static uintptr_t hex(struct reader *r, int *after)
{
	uintptr_t v = 0;
	int c;

	while (digit(c = next(r)) >= 0)
		v = v * 16 + (uintptr_t)digit(c);
	*after = c;
	return v;
}

static bool next_map(struct reader *r, struct tl_mapping *m)
{
	int c;

	m->lo = hex(r, &c);
	if (c != '-')
		return false;
	m->hi = hex(r, &c);
	m->prot = next(r) == 'r' ? TL_PROT_READ : 0;
	m->prot |= next(r) == 'w' ? TL_PROT_WRITE : 0;
	m->prot |= next(r) == 'x' ? TL_PROT_EXEC : 0;
	while (c != '\n' && c != -1)
		c = next(r);
	return true;
}

int tl_own_maps(int (*fn)(void *arg, const struct tl_mapping *map), void *arg)
{
	struct reader r;
	struct tl_mapping m;
	int ret = 0;

	if (!reader_open(&r, "/proc/self/maps"))
		return -TL_E_BUSY;
	while (!ret && next_map(&r, &m))
		ret = fn(arg, &m);
	reader_close(&r);
	return ret;
}

/* From a slash on; c: that of this place. */
static bool begins_with(struct reader *r, const char *file, int *c)
{
	for (; *file && *c == *file; file++)
		*c = next(r);
	return !*file;
}

bool tl_own_mapped(const char *file)
{
	bool found = false;
	struct reader r;
	int c;

	if (!reader_open(&r, "/proc/self/maps"))
		return false;
	for (c = next(&r); c != -1 && !found; c = next(&r)) {
		while (c != '/' && c != '\n' && c != -1)
			c = next(&r);
		found = c == '/' && begins_with(&r, file, &c);
		while (c != '\n' && c != -1)
			c = next(&r);
	}
	reader_close(&r);
	return found;
}

struct wanted {
	uintptr_t addr;
	struct tl_mapping *map;
};

static int first_above(void *arg, const struct tl_mapping *map)
{
	struct wanted *w = arg;

	if (w->addr >= map->hi)
		return 0;
	*w->map = *map;
	return 1;
}

bool tl_own_map(uintptr_t addr, struct tl_mapping *map)
{
	struct wanted w = {addr, map};

	return tl_own_maps(first_above, &w) == 1;
}

/* --- all at one moment ------------------------------------------------------ */

static struct tl_mapping *kept;
static size_t nkept, max_kept;

static int keep(void *arg, const struct tl_mapping *map)
{
	(void)arg;
	if (nkept == max_kept)
		return -TL_E_LIMIT;
	kept[nkept++] = *map;
	return 0;
}

static int more_room(void)
{
	size_t want = max_kept ? 2 * max_kept : FIRST_KEPT;
	struct tl_mapping *fresh = tl_os_alloc(want * sizeof(*fresh));

	if (!fresh)
		return -TL_E_NOMEM;
	if (kept)
		tl_os_free(kept, max_kept * sizeof(*kept));
	kept = fresh;
	max_kept = want;
	return 0;
}

int tl_own_maps_keep(void)
{
	int ret = -TL_E_LIMIT;

	while (ret == -TL_E_LIMIT) {
		nkept = 0;
		ret = tl_own_maps(keep, NULL);
		if (ret == -TL_E_LIMIT && more_room())
			ret = -TL_E_NOMEM;
	}
	return ret;
}

bool tl_own_kept_map(uintptr_t addr, struct tl_mapping *map)
{
	size_t lo = 0, hi = nkept;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (kept[mid].hi <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo == nkept)
		return false;
	*map = kept[lo];
	return true;
}

/* --- how many ---------------------------------------------------------------- */

static int count_one(void *arg, const struct tl_mapping *map)
{
	(void)map;
	++*(size_t *)arg;
	return 0;
}

/* Where nobody can tell, the kernel's own default. */
void tl_home_mappings(size_t *n, size_t *max)
{
	struct reader r;
	int c;

	*n = *max = 0;
	tl_own_maps(count_one, n);
	if (reader_open(&r, "/proc/sys/vm/max_map_count")) {
		while ((c = next(&r)) >= '0' && c <= '9')
			*max = *max * 10 + (size_t)(c - '0');
		reader_close(&r);
	}
	if (!*max)
		*max = 65530;
}

static char *put_number(char *to, uint32_t v)
{
	char digits[10];
	int n = 0;

	do
		digits[n++] = (char)('0' + v % 10);
	while (v /= 10);
	while (n)
		*to++ = digits[--n];
	return to;
}

static char *put_text(char *to, const char *text)
{
	while (*text)
		*to++ = *text++;
	*to = 0;
	return to;
}

static bool open_task(struct reader *r, uint32_t tid, const char *file)
{
	char path[48], *end = put_text(path, "/proc/self/task/");

	put_text(put_number(end, tid), file);
	return reader_open(r, path);
}

/* Calls under which another process uses our memory; decimal digits read as hexadecimal ones. */
static bool lends_memory(uintptr_t nr)
{
	return nr == 0x56 || nr == 0x58 || nr == 0x435; /* clone, vfork, clone3 */
}

/* The file says `running`, or `NUMBER ARGS... SP PC`; -1 SP PC when the thread sleeps outside a call. */
bool tl_own_asleep(uint32_t tid, struct tl_own_sleep *s)
{
	struct reader r;
	uintptr_t nr;
	int c;

	if (!open_task(&r, tid, "/syscall"))
		return false;
	*s = (struct tl_own_sleep){0, 0};
	nr = hex(&r, &c);
	if (c != ' ' || lends_memory(nr))
		c = -1;
	while (c != '\n' && c != -1) {
		uintptr_t v = hex(&r, &c);

		if (c == 'x') /* that was the prefix */
			v = hex(&r, &c);
		s->sp = s->pc;
		s->pc = v;
	}
	reader_close(&r);
	return s->sp && s->pc;
}

/* `TID (NAME) STATE ...`: a name may hold anything, so the last parenthesis counts. A field; a letter as its code. 0: none. */
static uint64_t stat_field(uint32_t tid, unsigned field)
{
	uint64_t value = 0;
	struct reader r;
	unsigned at = 0;
	int c;

	if (!open_task(&r, tid, "/stat"))
		return 0;
	while ((c = next(&r)) != -1) {
		if (c == ')') {
			at = STAT_NAME;
			value = 0;
		} else if (c == ' ') {
			at++;
		} else if (at == field) {
			value = c >= '0' && c <= '9' ? value * 10 + (uint64_t)(c - '0')
						     : (uint64_t)c;
		}
	}
	reader_close(&r);
	return value;
}

bool tl_own_zombie(uint32_t tid)
{
	uint64_t state = stat_field(tid, STAT_STATE);

	return !state || state == 'Z' || state == 'X';
}

/* Few threads block all signals: most are known by the first question. */
static bool is_kernels(uint32_t tid)
{
	uint64_t blocked = stat_field(tid, TL_STAT_BLOCKED);

	return tl_is_kernels(~0ull, blocked) &&
	       tl_is_kernels(stat_field(tid, TL_STAT_FLAGS), blocked);
}

/* The number behind a label of the status file, at the start of a line, as if it were hexadecimal; 0: none. */
static uint64_t status_number(uint32_t tid, const char *label)
{
	const char *want = label;
	struct reader r;
	uint64_t number = 0;
	bool skip = false; /* the rest of this line */
	int c;

	if (!open_task(&r, tid, "/status"))
		return 0;
	while (*want && (c = next(&r)) != -1) {
		if (c == '\n') {
			want = label;
			skip = false;
		} else if (!skip && c == *want) {
			want++;
		} else {
			skip = true;
			want = label;
		}
	}
	if (!*want)
		number = hex(&r, &c);
	reader_close(&r);
	return number;
}

uint64_t tl_own_sleeps(uint32_t tid)
{
	return status_number(tid, "voluntary_ctxt_switches:\t");
}

bool tl_own_blocks(uint32_t tid, int sig)
{
	return status_number(tid, "SigBlk:\t") >> (sig - 1) & 1;
}

struct dirent64 {
	uint64_t ino;
	int64_t off;
	uint16_t len;
	uint8_t type;
	char name[];
};

static uint32_t number(const char *s)
{
	uint32_t v = 0;

	for (; *s >= '0' && *s <= '9'; s++)
		v = v * 10 + (uint32_t)(*s - '0');
	return *s ? 0 : v;
}

int tl_own_threads(int (*fn)(void *arg, uint32_t tid), void *arg)
{
	_Alignas(8) char buf[2048];
	long fd = tl_syscall3(
		TL_NR_open, (long)"/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	long n, at;
	int ret = 0;

	if (tl_syscall_failed(fd))
		return -TL_E_BUSY;
	while (!ret && (n = tl_syscall3(TL_NR_getdents64, fd, (long)buf, sizeof(buf))) > 0) {
		for (at = 0; !ret && at < n;) {
			struct dirent64 *d = (struct dirent64 *)(buf + at);
			uint32_t tid = number(d->name);

			at += d->len;
			if (tid && !is_kernels(tid))
				ret = fn(arg, tid);
		}
	}
	tl_syscall3(TL_NR_close, fd, 0, 0);
	return ret;
}
