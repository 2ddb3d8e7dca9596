/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * What the dynamic loader has loaded, by its own list (struct r_debug, which
 * every loader keeps for debuggers). Read with care: another thread may be
 * loading something right now.
 */
#include <elf.h>

#include "internal.h"
#include "../../engine/os/process/own.h"

enum { HEADERS = 64, OBJECTS_MAX = 4096, RT_CONSISTENT = 0, NT_GO_BUILD_ID = 4 };

struct link {
	uintptr_t bias, name, dynamic, next, prev;
};

struct debug {
	int32_t version;
	uintptr_t first, news;
	int32_t state;
};

/* From version 2 on. */
struct debug_more {
	struct debug debug;
	uintptr_t loader, next; /* next: of another namespace */
};

extern const Elf64_Dyn _DYNAMIC[] __attribute__((visibility("hidden")));

static bool get(uintptr_t at, void *to, size_t n)
{
	return tl_os_text_read(at, to, n) == n;
}

/* Up to where it ends, where it cannot be read, or where there is no more room. */
static void get_text(uintptr_t at, char *to, size_t room)
{
	size_t n = 0;

	while (at && n + 1 < room && get(at + n, &to[n], 1) && to[n])
		n++;
	to[n] = 0;
}

/* --- the auxiliary vector -------------------------------------------------------- */

uint64_t tl_aux(uint64_t type)
{
	uint64_t pair[2], value = 0;
	long fd = tl_syscall3(TL_NR_open, (long)"/proc/self/auxv", TL_O_CLOEXEC, 0);

	while (!tl_syscall_failed(fd) &&
		tl_syscall3(TL_NR_read, fd, (long)pair, sizeof(pair)) == sizeof(pair)) {
		if (pair[0] == type)
			value = pair[1];
	}
	if (!tl_syscall_failed(fd))
		tl_syscall3(TL_NR_close, fd, 0, 0);
	return value;
}

/* --- the loader's notes ------------------------------------------------------------ */

/* Both stay where they are as long as the program lives. */
static uintptr_t program_headers, debug_at;
static uint64_t nprogram_headers;

static uintptr_t debug_in(uintptr_t dynamic)
{
	Elf64_Dyn d;
	unsigned i;

	for (i = 0; dynamic && i < 256; i++, dynamic += sizeof(d)) {
		if (!get(dynamic, &d, sizeof(d)) || d.d_tag == DT_NULL)
			return 0;
		if (d.d_tag == DT_DEBUG)
			return d.d_un.d_ptr;
	}
	return 0;
}

static uintptr_t find_debug(void)
{
	const Elf64_Phdr *ph;
	uintptr_t bias = 0, dynamic = 0;
	uint64_t i;

	if (debug_at)
		return debug_at;
	program_headers = tl_aux(AT_PHDR);
	nprogram_headers = tl_aux(AT_PHNUM);
	ph = (const Elf64_Phdr *)program_headers;
	for (i = 0; ph && i < nprogram_headers; i++) {
		if (ph[i].p_type == PT_PHDR)
			bias = program_headers - ph[i].p_vaddr;
		if (ph[i].p_type == PT_DYNAMIC)
			dynamic = ph[i].p_vaddr;
	}
	debug_at = dynamic ? debug_in(bias + dynamic) : 0;
	return debug_at;
}

uintptr_t tl_loader_news(bool *consistent)
{
	struct debug d;

	if (!find_debug() || !get(debug_at, &d, sizeof(d)))
		return 0;
	*consistent = d.state == RT_CONSISTENT;
	return d.news;
}

static uintptr_t first_link(void)
{
	struct debug d;

	return find_debug() && get(debug_at, &d, sizeof(d)) ? d.first : 0;
}

bool tl_objects_apart(void)
{
	struct debug_more d;

	return find_debug() && get(debug_at, &d, sizeof(d)) && d.debug.version > 1 && d.next;
}

uint64_t tl_objects_stamp(void)
{
	uint64_t stamp = 0;
	uintptr_t at = first_link();
	struct link l;
	unsigned i;

	for (i = 0; at && i < OBJECTS_MAX && get(at, &l, sizeof(l)); i++, at = l.next)
		stamp = (stamp ^ at ^ l.bias) * 0x9e3779b97f4a7c15ull;
	return stamp;
}

/* --- one object ------------------------------------------------------------------------ */

static void read_notes(struct tl_object *o, uintptr_t at, size_t size)
{
	uint8_t buf[1024];
	size_t n = tl_os_text_read(at, buf, size < sizeof(buf) ? size : sizeof(buf)), i = 0;

	while (i + sizeof(Elf64_Nhdr) <= n) {
		const Elf64_Nhdr *h = (const Elf64_Nhdr *)(buf + i);
		size_t name = i + sizeof(*h), desc = name + ((h->n_namesz + 3ul) & ~3ul);

		if (h->n_namesz > n || h->n_descsz > n || desc + h->n_descsz > n)
			return;
		if (h->n_type == NT_GNU_BUILD_ID && h->n_namesz == 4 &&
			tl_equal(buf + name, "GNU", 4) && h->n_descsz <= sizeof(o->build_id)) {
			tl_copy(o->build_id, buf + desc, h->n_descsz);
			o->build_id_len = h->n_descsz;
		}
		if (h->n_type == NT_GO_BUILD_ID && h->n_namesz == 4 &&
			tl_equal(buf + name, "Go\0", 4))
			o->flags |= TL_IMAGE_SMALL_STACKS;
		i = desc + ((h->n_descsz + 3ul) & ~3ul);
	}
}

static void take_header(struct tl_object *o, const Elf64_Phdr *ph)
{
	uintptr_t at = o->bias + ph->p_vaddr;

	switch (ph->p_type) {
	case PT_LOAD:
		if (!o->lo)
			o->lo = tl_page_down(at);
		if (at + ph->p_memsz > o->end)
			o->end = at + ph->p_memsz;
		if (!(ph->p_flags & PF_X))
			break;
		if (!o->text)
			o->text = at;
		o->hi = at + ph->p_memsz;
		break;
	case PT_GNU_EH_FRAME:
		o->eh_frame_hdr = at;
		o->eh_frame_hdr_size = ph->p_memsz;
		break;
	case PT_NOTE:
		read_notes(o, at, ph->p_memsz);
		break;
	default:
		break;
	}
}

static bool read_headers(struct tl_object *o, uintptr_t headers, uint64_t n)
{
	Elf64_Phdr ph;
	uint64_t i;

	for (i = 0; i < n && i < HEADERS; i++) {
		if (!get(headers + i * sizeof(ph), &ph, sizeof(ph)))
			return false;
		take_header(o, &ph);
	}
	return o->text != 0;
}

/* The loader does not name the program. */
static void program_path(char *buf, size_t room)
{
	long n = tl_syscall3(TL_NR_readlink, (long)"/proc/self/exe", (long)buf, (long)room - 1);

	buf[n > 0 ? n : 0] = 0;
}

static bool describe(struct tl_object *o, const struct link *l, bool program)
{
	uintptr_t vdso = tl_aux(AT_SYSINFO_EHDR);
	Elf64_Ehdr h;

	tl_fill(o, 0, sizeof(*o));
	o->bias = l->bias;
	if (program) {
		if (!read_headers(o, program_headers, nprogram_headers))
			return false;
		program_path(o->path, sizeof(o->path));
	} else {
		if (!get(l->bias, &h, sizeof(h)) || !tl_equal(h.e_ident, ELFMAG, SELFMAG) ||
			h.e_phentsize != sizeof(Elf64_Phdr) ||
			!read_headers(o, l->bias + h.e_phoff, h.e_phnum))
			return false;
		get_text(l->name, o->path, sizeof(o->path));
	}
	if (vdso && vdso - o->lo < o->hi - o->lo)
		o->flags |= TL_IMAGE_VDSO;
	if (l->dynamic == (uintptr_t)_DYNAMIC)
		o->flags |= TL_IMAGE_SELF;
	return true;
}

int tl_objects(int (*fn)(void *arg, const struct tl_object *o), void *arg)
{
	static struct tl_object o; /* one reader at a time: the program's start, then the helper */
	uintptr_t at = first_link();
	struct link l;
	int ret = 0;
	unsigned i;

	for (i = 0; at && !ret && i < OBJECTS_MAX && get(at, &l, sizeof(l)); i++, at = l.next) {
		if (describe(&o, &l, i == 0))
			ret = fn(arg, &o);
	}
	return ret;
}
