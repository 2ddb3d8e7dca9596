/* SPDX-License-Identifier: MIT */
/*
 * Libraries and position independent programs are mapped where such files
 * usually are, with the room behind a program that its heap would have; the
 * addresses are always the same, so that results are, too. Relative
 * relocations are applied: jump tables may depend on them.
 */
#define _GNU_SOURCE
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../engine/core/image/image.h"
#include "../../engine/os/process/process.h"
#include "../base/sections.h"
#include "../machine/machine.h"
#include "../base/word.h"

enum { PAGE = 4096 };

/* Somewhere in a program's half of the addresses. */
enum { WIDE = sizeof(void *) > 4 };
static const uintptr_t program_base = WIDE ? (uintptr_t)0x562000000000ull : 0x10000000;
static const uintptr_t library_base = WIDE ? (uintptr_t)0x7e0000000000ull : 0x40000000;

static int fail(struct cov_file *f, const char *path, const char *what)
{
	snprintf(f->why, sizeof(f->why), "%s: %s", path, what);
	return -1;
}

static const Elf_Ehdr *header(const struct cov_file *f)
{
	return (const void *)f->bytes;
}

static const Elf_Phdr *segments(const struct cov_file *f)
{
	return (const void *)(f->bytes + header(f)->e_phoff);
}

static bool inside(const struct cov_file *f, uint64_t off, uint64_t len)
{
	return off <= f->size && len <= f->size - off;
}

static int read_file(struct cov_file *f, const char *path, int *fd)
{
	struct stat st;

	*fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe is not waited for */
	if (*fd < 0 || fstat(*fd, &st))
		return fail(f, path, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return fail(f, path, "not a regular file");
	f->size = (size_t)st.st_size;
	if (f->size < sizeof(Elf_Ehdr))
		return fail(f, path, "not an ELF file");
	f->bytes = mmap(NULL, f->size, PROT_READ, MAP_PRIVATE, *fd, 0);
	return f->bytes == MAP_FAILED ? fail(f, path, strerror(errno)) : 0;
}

static int check(struct cov_file *f, const char *path)
{
	const Elf_Ehdr *e = header(f);
	const Elf_Phdr *p;
	char what[64];

	if (!word_is_elf(e->e_ident))
		return fail(f, path, "not an ELF file");
	if (!word_is_ours(e->e_ident) || e->e_machine != machine.elf) {
		snprintf(what, sizeof(what), "not an %s file", machine.name);
		return fail(f, path, what);
	}
	if (e->e_type != ET_DYN && e->e_type != ET_EXEC)
		return fail(f, path, "neither a program nor a shared library");
	if (e->e_phentsize != sizeof(Elf_Phdr) ||
		!inside(f, e->e_phoff, e->e_phnum * sizeof(Elf_Phdr)))
		return fail(f, path, "damaged: program headers outside the file");
	p = segments(f);
	for (unsigned i = 0; i < e->e_phnum; i++)
		if (!inside(f, p[i].p_offset, p[i].p_filesz) || p[i].p_filesz > p[i].p_memsz ||
			p[i].p_vaddr + p[i].p_memsz < p[i].p_vaddr || (uint64_t)p[i].p_memsz >> 40)
			return fail(f, path, "damaged: a segment lies outside the file");
	return 0;
}

/* --- mapping ----------------------------------------------------------------- */

/* All of it as one hole, so that the segments' places are ours. */
static int reserve(struct cov_file *f, const char *path)
{
	const Elf_Phdr *p = segments(f);
	uintptr_t lo = UINTPTR_MAX, hi = 0, base = library_base;
	size_t size;
	void *at;

	for (unsigned i = 0; i < header(f)->e_phnum; i++) {
		if (p[i].p_type == PT_INTERP)
			base = program_base;
		if (p[i].p_type != PT_LOAD)
			continue;
		lo = p[i].p_vaddr < lo ? p[i].p_vaddr : lo;
		hi = p[i].p_vaddr + p[i].p_memsz > hi ? p[i].p_vaddr + p[i].p_memsz : hi;
	}
	if (lo >= hi)
		return fail(f, path, "has no segment to load");
	lo &= ~(uintptr_t)(PAGE - 1);
	if (header(f)->e_type == ET_EXEC)
		base = lo;
	size = hi - lo + (base == library_base ? 0 : TL_HEAP_ROOM);
	at = mmap((void *)base, size, PROT_NONE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
	if (at != (void *)base)
		return fail(f, path, "its address range is not free in this process");
	f->bias = base - lo;
	return 0;
}

static int map_segment(struct cov_file *f, const Elf_Phdr *p, int fd)
{
	uintptr_t at = f->bias + p->p_vaddr, slip = at & (PAGE - 1);
	size_t file = p->p_filesz + slip, all = p->p_memsz + slip;

	if ((p->p_offset & (PAGE - 1)) != slip)
		return -1;
	if (mmap((void *)(at - slip), all, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
		return -1;
	if (p->p_filesz &&
		mmap((void *)(at - slip), file, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, fd,
			(off_t)(p->p_offset - slip)) == MAP_FAILED)
		return -1;
	/* Behind the file's bytes comes zeroed memory, where there is any. */
	if (p->p_flags & PF_W)
		memset((void *)(at + p->p_filesz), 0,
			(p->p_memsz > p->p_filesz ? PAGE - (file & (PAGE - 1)) : 0) & (PAGE - 1));
	return 0;
}

/* --- relocations ----------------------------------------------------------------- */

static bool mapped(const struct cov_file *f, uint64_t vaddr, size_t len)
{
	const Elf_Phdr *p = segments(f);

	for (unsigned i = 0; i < header(f)->e_phnum; i++)
		if (p[i].p_type == PT_LOAD && vaddr >= p[i].p_vaddr &&
			vaddr - p[i].p_vaddr <= p[i].p_memsz &&
			len <= p[i].p_memsz - (vaddr - p[i].p_vaddr))
			return true;
	return false;
}

static void add_bias(const struct cov_file *f, uint64_t vaddr, bool is_addend, uint64_t addend)
{
	uint64_t v;

	if (!mapped(f, vaddr, sizeof(v)))
		return;
	memcpy(&v, (void *)(uintptr_t)(f->bias + vaddr), sizeof(v));
	v = (is_addend ? addend : v) + f->bias;
	memcpy((void *)(uintptr_t)(f->bias + vaddr), &v, sizeof(v));
}

static void apply_rela(const struct cov_file *f, uint64_t vaddr, uint64_t size)
{
	const Elf_Rela *r = (const void *)(uintptr_t)(f->bias + vaddr);

	if (!mapped(f, vaddr, size))
		return;
	for (; size >= sizeof(*r); size -= sizeof(*r), r++)
		if (WORD_R_TYPE(r->r_info) == machine.relative)
			add_bias(f, r->r_offset, true, (uint64_t)r->r_addend);
}

/* An address, or a bitmap of the 63 words behind the last one. */
static void apply_relr(const struct cov_file *f, uint64_t vaddr, uint64_t size)
{
	const uint64_t *r = (const void *)(uintptr_t)(f->bias + vaddr);
	uint64_t next = 0;

	if (!mapped(f, vaddr, size))
		return;
	for (; size >= sizeof(*r); size -= sizeof(*r), r++) {
		if (!(*r & 1)) {
			add_bias(f, *r, false, 0);
			next = *r + 8;
			continue;
		}
		for (unsigned i = 0; i < 63; i++)
			if (*r >> (i + 1) & 1)
				add_bias(f, next + 8 * i, false, 0);
		next += 63 * 8;
	}
}

static void relocate(const struct cov_file *f)
{
	enum { RELRSZ = 35, RELR = 36, TAGS = 37 };
	const Elf_Phdr *p = segments(f);
	uint64_t tag[TAGS] = {0};

	for (unsigned i = 0; i < header(f)->e_phnum; i++) {
		const Elf_Dyn *d = (const void *)(uintptr_t)(f->bias + p[i].p_vaddr);

		if (p[i].p_type != PT_DYNAMIC || !mapped(f, p[i].p_vaddr, p[i].p_memsz))
			continue;
		for (uint64_t n = p[i].p_memsz / sizeof(*d); n-- && d->d_tag; d++)
			if (d->d_tag > 0 && d->d_tag < TAGS)
				tag[d->d_tag] = d->d_un.d_val;
	}
	if (!f->bias)
		return;
	apply_rela(f, tag[DT_RELA], tag[DT_RELASZ]);
	apply_relr(f, tag[RELR], tag[RELRSZ]);
}

/* --- what lies where ---------------------------------------------------------------- */

static bool add_range(struct cov_range **list, size_t *n, uintptr_t start, size_t size)
{
	struct cov_range *grown = realloc(*list, (*n + 1) * sizeof(*grown));

	if (!grown)
		return false;
	*list = grown;
	grown[(*n)++] = (struct cov_range){start, start + size};
	return true;
}

/* Stripped of its section headers, a file has no PLT that we know: unwind tables name it as a function. */
static void find_plt(struct cov_file *f)
{
	const Elf_Shdr *s;
	const char *name;

	for (unsigned i = 0; (s = elf_section(f->bytes, f->size, i, &name)); i++)
		if ((s->sh_flags & SHF_EXECINSTR) &&
			(!strcmp(name, ".plt") || !strncmp(name, ".plt.", 5) ||
				!strcmp(name, ".iplt")))
			add_range(&f->plt, &f->nplt, f->bias + s->sh_addr, s->sh_size);
}

/* Without a search table the section itself serves. */
static void find_frames(struct cov_file *f)
{
	const Elf_Shdr *s = elf_loaded_section(f->bytes, f->size, ".eh_frame");

	if (f->eh_frame_hdr || !s || !mapped(f, s->sh_addr, s->sh_size))
		return;
	f->eh_frame_hdr = f->bias + s->sh_addr;
	f->eh_frame_hdr_size = s->sh_size;
	f->image_flags = TL_IMAGE_BARE_FRAMES;
}

/* As the guardian tells it of what is mapped. */
static void find_go(struct cov_file *f)
{
	if (!elf_loaded_section(f->bytes, f->size, ".note.go.buildid"))
		return;
	f->image_flags |= TL_IMAGE_SMALL_STACKS;
	if (!f->eh_frame_hdr)
		f->image_flags |= TL_IMAGE_NO_RED_ZONE;
}

static int find_text(struct cov_file *f)
{
	const Elf_Phdr *p = segments(f);

	for (unsigned i = 0; i < header(f)->e_phnum; i++) {
		if (p[i].p_type == PT_GNU_EH_FRAME && mapped(f, p[i].p_vaddr, p[i].p_memsz)) {
			f->eh_frame_hdr = f->bias + p[i].p_vaddr;
			f->eh_frame_hdr_size = p[i].p_memsz;
		}
		if (p[i].p_type == PT_LOAD && (p[i].p_flags & PF_X) && p[i].p_filesz &&
			!add_range(&f->text, &f->ntext, f->bias + p[i].p_vaddr, p[i].p_filesz))
			return -1;
	}
	return 0;
}

static void protect(const struct cov_file *f)
{
	const Elf_Phdr *p = segments(f);

	for (unsigned i = 0; i < header(f)->e_phnum; i++) {
		uintptr_t at = f->bias + p[i].p_vaddr, slip = at & (PAGE - 1);
		int prot = p[i].p_flags & PF_W ? PROT_READ | PROT_WRITE : PROT_READ;

		if (p[i].p_type == PT_LOAD) /* nothing of it is ever run */
			mprotect((void *)(at - slip), p[i].p_memsz + slip, prot);
	}
}

int cov_file_open(struct cov_file *f, const char *path)
{
	int fd, ret;

	memset(f, 0, sizeof(*f));
	ret = read_file(f, path, &fd);
	if (!ret)
		ret = check(f, path);
	if (!ret)
		ret = reserve(f, path);
	for (unsigned i = 0; !ret && i < header(f)->e_phnum; i++)
		if (segments(f)[i].p_type == PT_LOAD && map_segment(f, &segments(f)[i], fd))
			ret = fail(f, path, "a segment cannot be mapped");
	if (fd >= 0)
		close(fd);
	if (ret)
		return ret;
	relocate(f);
	if (find_text(f))
		return fail(f, path, "out of memory");
	if (!f->ntext)
		return fail(f, path, "has no executable segment");
	find_plt(f);
	find_frames(f);
	find_go(f);
	protect(f);
	return 0;
}
