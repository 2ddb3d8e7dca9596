/* SPDX-License-Identifier: MIT */
/* ELF images, read where they are mapped in the target: it may have changed its files since. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../../engine/core/image/image.h"
#include "../../base/notes.h"
#include "../../base/sections.h"
#include "../../base/word.h"
#include "../guardian.h"
#include "images.h"
#include "maps.h"
#include "remote.h"
#include "threads.h"

enum { NT_GO_BUILD_ID = 4 };

static struct mapped *found;
static size_t nfound, max_found;

const struct mapped *images_found(size_t *n)
{
	*n = nfound;
	return found;
}

const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool is_loader(const char *path)
{
	const char *name = base_name(path);

	return !strncmp(name, "ld-linux", 8) || !strncmp(name, "ld-musl", 7) ||
	       !strncmp(name, "ld-2.", 5) || !strncmp(name, "ld.so", 5);
}

/* --- one image --------------------------------------------------------------------------- */

/* What their toolchains write into files. */
struct notes {
	struct mapped *of;
	const uint8_t *bytes;
	uint64_t at; /* where they lie */
};
enum { NOTES_MAX = 64 << 20 };

/* Where libtrapless has its word. */
static uint64_t engine_word(const struct notes *notes, const uint8_t *desc, size_t n)
{
	int32_t far;

	if (n < sizeof(far))
		return 0;
	memcpy(&far, desc, sizeof(far));
	return notes->at + (uint64_t)(desc - notes->bytes) + (uint64_t)(int64_t)far;
}

static void take_note(void *arg, uint32_t type, const char *name, const uint8_t *desc, size_t n)
{
	const struct notes *notes = arg;
	struct mapped *m = notes->of;
	size_t got = note_build_id(m->build_id, type, name, desc, n);

	if (got)
		m->build_id_len = (uint32_t)got;
	if (type == NT_GO_BUILD_ID && !strcmp(name, "Go"))
		m->go = true;
	if (type == TL_NOTE_ENGINE && !strcmp(name, TL_NOTE_NAME))
		m->engine = engine_word(notes, desc, n);
}

/* Where a file has tables of static hooks they are long. */
static void read_notes(struct guardian *g, struct mapped *m, uint64_t at, uint64_t size)
{
	uint8_t *buf = malloc(size < NOTES_MAX ? size : NOTES_MAX);
	struct notes notes = {m, buf, at};

	if (!buf)
		return;
	notes_each(buf, target_read(g, g->pid, at, buf, size < NOTES_MAX ? size : NOTES_MAX),
		take_note, &notes);
	free(buf);
}

static void add_text(struct mapped *m, uint64_t lo, uint64_t size)
{
	if (!m->text_hi || lo < m->text_lo)
		m->text_lo = lo;
	if (lo + size > m->text_hi)
		m->text_hi = lo + size;
}

static void add_segment(struct mapped *m, const Elf_Phdr *ph)
{
	const uint32_t max = sizeof(m->segments) / sizeof(*m->segments);
	uint64_t at = m->bias + ph->p_vaddr, end = at + ph->p_memsz;

	if (end > m->end)
		m->end = end;
	if (ph->p_filesz && m->nsegments < max)
		m->segments[m->nsegments++] = (struct segment){
			at - at % PAGE, ph->p_offset - ph->p_offset % PAGE, ph->p_flags & PF_X};
	if (ph->p_memsz > ph->p_filesz) {
		m->clear_lo = at + ph->p_filesz;
		m->clear_hi = end;
	}
}

static void read_headers(struct guardian *g, struct mapped *m)
{
	Elf_Ehdr h;
	Elf_Phdr ph[64];
	uint64_t first = ~0ull;
	unsigned i, n;

	if (target_read(g, g->pid, m->base, &h, sizeof(h)) != sizeof(h) ||
		!word_is_elf(h.e_ident) || !word_is_ours(h.e_ident) || h.e_phentsize != sizeof(*ph))
		return;
	n = h.e_phnum < 64 ? h.e_phnum : 64;
	if (target_read(g, g->pid, m->base + h.e_phoff, ph, n * sizeof(*ph)) != n * sizeof(*ph))
		return;
	for (i = 0; i < n; i++) {
		if (ph[i].p_type == PT_LOAD && first == ~0ull && ph[i].p_offset < PAGE)
			first = ph[i].p_vaddr - ph[i].p_offset;
	}
	if (first == ~0ull)
		return;
	m->bias = m->base - first;
	m->whole = true;
	for (i = 0; i < n; i++) {
		if (ph[i].p_type == PT_LOAD)
			add_segment(m, &ph[i]);
		if (ph[i].p_type == PT_LOAD && (ph[i].p_flags & PF_X)) {
			if (!m->text_hi)
				m->text_shift = m->bias + ph[i].p_vaddr - ph[i].p_offset;
			add_text(m, m->bias + ph[i].p_vaddr, ph[i].p_memsz);
		} else if (ph[i].p_type == PT_GNU_EH_FRAME) {
			m->eh = m->bias + ph[i].p_vaddr;
			m->eh_size = ph[i].p_memsz;
			m->eh_offset = ph[i].p_offset;
		} else if (ph[i].p_type == PT_NOTE) {
			read_notes(g, m, m->bias + ph[i].p_vaddr, ph[i].p_memsz);
		} else if (ph[i].p_type == PT_INTERP) {
			m->interp = true;
		}
	}
}

/*
 * Without a search table (gcc -static) only the file tells where .eh_frame is. The program's own cannot be
 * changed while it runs, and can be opened whatever its name means by now.
 */
static void find_frames(struct guardian *g, struct mapped *m)
{
	const Elf_Shdr *s;
	struct stat st;
	uint8_t *file;
	char exe[64];
	int fd;

	snprintf(exe, sizeof(exe), "/proc/%d/exe", eye_of(g));
	fd = open(exe, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	file = fstat(fd, &st) || st.st_ino != m->inode
		       ? MAP_FAILED
		       : mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (file == MAP_FAILED)
		return;
	s = elf_loaded_section(file, (size_t)st.st_size, ".eh_frame");
	if (s) {
		m->eh = m->bias + s->sh_addr;
		m->eh_size = s->sh_size;
		m->eh_offset = s->sh_offset;
		m->bare_frames = true;
	}
	munmap(file, (size_t)st.st_size);
}

/* --- all of them ------------------------------------------------------------------------- */

static struct mapped *mapped_new(void)
{
	if (nfound == max_found) {
		size_t more = max_found ? max_found * 2 : 64;
		void *p = realloc(found, more * sizeof(*found));

		if (!p)
			return NULL;
		found = p;
		max_found = more;
	}
	memset(&found[nfound], 0, sizeof(*found));
	return &found[nfound++];
}

static bool same_file(const struct mapped *m, const struct mapping *l)
{
	return l->inode && m->inode == l->inode && m->dev == l->dev;
}

static struct mapped *add(struct guardian *g, const struct mapping *l, bool vdso)
{
	struct mapped *m = mapped_new();

	if (!m)
		return NULL;
	m->base = l->lo;
	m->hidden = !g->armed;
	m->inode = l->inode;
	m->dev = l->dev;
	m->vdso = vdso;
	m->loader = is_loader(l->path);
	snprintf(m->path, sizeof(m->path), "%s", l->path);
	read_headers(g, m);
	if (m->whole && !m->eh && !m->vdso)
		find_frames(g, m);
	return m;
}

static const struct mapping *mapping_of(uint64_t addr)
{
	size_t n, lo = 0, hi;
	const struct mapping *l = mappings(&n);

	for (hi = n; lo < hi;) { /* the first one that ends above addr */
		size_t mid = lo + (hi - lo) / 2;

		if (l[mid].hi > addr)
			hi = mid;
		else
			lo = mid + 1;
	}
	return lo < n && l[lo].lo <= addr ? &l[lo] : NULL;
}

/* Is this place of its file really there? */
static bool is_there(const struct mapped *m, uint64_t addr, uint64_t offset)
{
	const struct mapping *l = mapping_of(addr);

	return l && l->inode == m->inode && l->offset + (addr - l->lo) == offset;
}

bool image_is_whole(const struct mapped *m)
{
	uint32_t i;

	for (i = 0; i < m->nsegments; i++)
		if (!is_there(m, m->segments[i].at, m->segments[i].offset))
			return false;
	return true;
}

bool image_is_ready(const struct mapped *m, uint64_t addr, bool cleared)
{
	const struct mapping *l = mapping_of(addr);
	const int rw = PROT_READ | PROT_WRITE;

	return l && (l->prot & rw) == rw &&
	       (cleared || addr - m->clear_lo >= m->clear_hi - m->clear_lo);
}

/*
 * What was text when it was last looked at stays text while its file is mapped there, once there may be probes in it:
 * a program may protect it. A file that is just being loaded looks the same.
 */
static struct was_text {
	uint64_t base, inode, dev, lo, hi;
} * texts;
static size_t ntexts;

static int keep_texts(const struct guardian *g)
{
	struct was_text *t;
	size_t i;

	if (!g->injected)
		return 0;
	t = realloc(texts, (nfound + 1) * sizeof(*t));
	if (!t)
		return -1;
	texts = t;
	ntexts = nfound;
	for (i = 0; i < nfound; i++)
		t[i] = (struct was_text){
			found[i].base, found[i].inode, found[i].dev, found[i].lo, found[i].hi};
	return 0;
}

static const struct was_text *text_of(const struct mapped *m)
{
	size_t i;

	for (i = 0; i < ntexts; i++)
		if (texts[i].base == m->base && texts[i].inode == m->inode &&
			texts[i].dev == m->dev)
			return &texts[i];
	return NULL;
}

/*
 * So much of a mapping in its file's text is executable, or was. A loader first maps the whole of a file as its first
 * segment, which may be the text: what is behind that is not, and cannot even be read where the file ends.
 */
static void add_executable(struct mapped *m, const struct mapping *l)
{
	uint64_t lo = l->lo, hi = l->hi < pages(m->text_hi) ? l->hi : pages(m->text_hi);
	const struct was_text *t;

	if (!(l->prot & PROT_EXEC)) {
		t = text_of(m);
		if (!t)
			return;
		lo = lo > t->lo ? lo : t->lo;
		hi = hi < t->hi ? hi : t->hi;
	}
	if (lo >= hi)
		return;
	m->hidden &= !(l->prot & PROT_EXEC);
	m->lo = m->lo ? m->lo : lo;
	m->hi = hi;
}

static bool was_executable(const struct mapped *m, const struct mapping *l)
{
	const struct was_text *t = text_of(m);

	return t && l->lo < t->hi && l->hi > t->lo;
}

/*
 * Does an image begin here? Segments that share the file's first page (lld and mold lay small programs out so) all map
 * it; a program may also have mapped that page alone, right below the image.
 */
static bool is_first(const struct mapped *m, const struct mapping *l)
{
	bool text;
	uint32_t i;

	if (l->offset || !m || !same_file(m, l))
		return l->offset == 0;
	text = l->prot & PROT_EXEC || was_executable(m, l);
	for (i = 0; i < m->nsegments; i++)
		if (!m->segments[i].offset && m->segments[i].at == l->lo &&
			m->segments[i].text == text)
			return false;
	return true;
}

/* Every file that has an executable mapping, whose first page is mapped too. */
int images_find(struct guardian *g)
{
	const struct mapping *l;
	struct mapped *m = NULL;
	size_t n;

	if (keep_texts(g) || maps_read(g))
		return -1;
	nfound = 0;
	for (l = mappings(&n); n; n--, l++) {
		bool vdso = !strcmp(l->path, "[vdso]");

		if (!vdso && (!l->inode || l->path[0] != '/' || !strncmp(l->path, "/memfd:", 7)))
			continue;
		if (vdso || is_first(m, l)) {
			m = add(g, l, vdso);
			if (!m)
				return -1;
		}
		if (m && (vdso || same_file(m, l)) && l->hi > m->text_lo && l->lo < m->text_hi)
			add_executable(m, l);
	}
	for (m = found; m < found + nfound; m++)
		m->eh_there = !m->eh || is_there(m, m->eh, m->eh_offset);
	return 0;
}

bool in_files_text(uint64_t addr)
{
	size_t i;

	for (i = 0; i < nfound && addr - found[i].text_lo >= found[i].text_hi - found[i].text_lo;
		i++)
		;
	return i < nfound;
}

const struct mapped *image_with_engine(struct guardian *g)
{
	for (size_t i = 0; i < nfound; i++) {
		uint32_t used = 0;

		if (found[i].engine &&
			target_read(g, g->pid, found[i].engine, &used, sizeof(used)) && used)
			return &found[i];
	}
	return NULL;
}

/* What the agent wants to know of them. */
int images_read(struct guardian *g)
{
	struct stat st;
	char exe[64];
	uint32_t n = 0;
	size_t i;

	if (images_find(g))
		return -1;
	snprintf(exe, sizeof(exe), "/proc/%d/exe", eye_of(g));
	if (stat(exe, &st))
		st.st_ino = 0;
	for (i = 0; i < nfound && n < TL_CTL_IMAGES; i++) {
		struct mapped *m = &found[i];
		struct tl_ctl_image *c = &g->ctl->images[n];

		m->program = m->inode == st.st_ino;
		if (!m->whole || !m->hi)
			continue;
		memset(c, 0, sizeof(*c));
		c->bias = m->bias;
		c->lo = m->lo;
		c->hi = m->hi;
		c->eh_frame_hdr = m->eh;
		c->eh_frame_hdr_size = m->eh_size;
		if (m->vdso)
			c->flags |= TL_IMAGE_VDSO;
		if (m->bare_frames)
			c->flags |= TL_IMAGE_BARE_FRAMES;
		if (m->loader || (m->program && !m->interp))
			c->flags |= TL_IMAGE_EARLY;
		if (m->go)
			c->flags |= TL_IMAGE_SMALL_STACKS;
		if (m->go && !m->eh) /* and no C in it */
			c->flags |= TL_IMAGE_NO_RED_ZONE;
		snprintf(c->name, sizeof(c->name), "%.59s", base_name(m->path));
		n++;
	}
	g->ctl->nimages = n;
	return 0;
}
