/* SPDX-License-Identifier: MIT */
/* ELF images, read where they are mapped in the target: it may have changed its files since. */
#define _GNU_SOURCE
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "../../engine/core/image.h"
#include "guardian.h"
#include "images.h"

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

static void read_note(struct guardian *g, struct mapped *m, uint64_t at, uint64_t size)
{
	uint8_t buf[4096];
	size_t n = target_read(g, g->pid, at, buf, size < sizeof(buf) ? size : sizeof(buf)), i = 0;

	while (i + sizeof(Elf64_Nhdr) <= n) {
		Elf64_Nhdr h;
		size_t name = i + sizeof(h), desc;

		memcpy(&h, buf + i, sizeof(h));
		if (h.n_namesz > n || h.n_descsz > n)
			return;
		desc = name + ((h.n_namesz + 3) & ~3u);
		if (h.n_type == NT_GNU_BUILD_ID && h.n_namesz == 4 && name + 4 <= n &&
			!memcmp(buf + name, "GNU", 4) && desc + h.n_descsz <= n &&
			h.n_descsz <= sizeof(m->build_id)) {
			memcpy(m->build_id, buf + desc, h.n_descsz);
			m->build_id_len = h.n_descsz;
			return;
		}
		i = desc + ((h.n_descsz + 3) & ~3u);
	}
}

static void add_text(struct mapped *m, uint64_t lo, uint64_t size)
{
	if (!m->text_hi || lo < m->text_lo)
		m->text_lo = lo;
	if (lo + size > m->text_hi)
		m->text_hi = lo + size;
}

static void read_headers(struct guardian *g, struct mapped *m)
{
	Elf64_Ehdr h;
	Elf64_Phdr ph[64];
	uint64_t first = ~0ull;
	unsigned i, n;

	if (target_read(g, g->pid, m->base, &h, sizeof(h)) != sizeof(h) ||
		memcmp(h.e_ident, ELFMAG, SELFMAG) || h.e_ident[EI_CLASS] != ELFCLASS64 ||
		h.e_phentsize != sizeof(*ph))
		return;
	n = h.e_phnum < 64 ? h.e_phnum : 64;
	if (target_read(g, g->pid, m->base + h.e_phoff, ph, n * sizeof(*ph)) != n * sizeof(*ph))
		return;
	for (i = 0; i < n; i++) {
		if (ph[i].p_type == PT_LOAD && first == ~0ull)
			first = ph[i].p_vaddr - ph[i].p_offset;
	}
	if (first == ~0ull)
		return;
	m->bias = m->base - first;
	m->whole = true;
	for (i = 0; i < n; i++) {
		if (ph[i].p_type == PT_LOAD && (ph[i].p_flags & PF_X)) {
			add_text(m, m->bias + ph[i].p_vaddr, ph[i].p_memsz);
		} else if (ph[i].p_type == PT_GNU_EH_FRAME) {
			m->eh = m->bias + ph[i].p_vaddr;
			m->eh_size = ph[i].p_memsz;
			m->eh_offset = ph[i].p_offset;
		} else if (ph[i].p_type == PT_NOTE) {
			read_note(g, m, m->bias + ph[i].p_vaddr, ph[i].p_memsz);
		} else if (ph[i].p_type == PT_INTERP) {
			m->interp = true;
		}
	}
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
	m->inode = l->inode;
	m->dev = l->dev;
	m->vdso = vdso;
	m->loader = is_loader(l->path);
	snprintf(m->path, sizeof(m->path), "%s", l->path);
	read_headers(g, m);
	return m;
}

/* Is its unwind table really there? */
static bool unwind_mapped(const struct mapped *m)
{
	const struct mapping *l;
	bool there = !m->eh;
	size_t n;

	for (l = mappings(&n); n; n--, l++) {
		if (m->eh >= l->lo && m->eh < l->hi)
			there = l->inode == m->inode && l->offset + (m->eh - l->lo) == m->eh_offset;
	}
	return there;
}

/* Every file that has an executable mapping, whose first page is mapped too. */
int images_find(struct guardian *g)
{
	const struct mapping *l;
	struct mapped *m = NULL;
	size_t n;

	nfound = 0;
	if (maps_read(g))
		return -1;
	for (l = mappings(&n); n; n--, l++) {
		bool vdso = !strcmp(l->path, "[vdso]");

		if (!vdso && (!l->inode || l->path[0] != '/' || !strncmp(l->path, "/memfd:", 7)))
			continue;
		if (vdso || (l->offset == 0 && !(m && same_file(m, l) && l->lo == m->hi))) {
			m = add(g, l, vdso);
			if (!m)
				return -1;
		}
		if (!m || !(vdso || same_file(m, l)) || !(l->prot & PROT_EXEC) ||
			l->hi <= m->text_lo || l->lo >= m->text_hi)
			continue;
		m->lo = m->lo ? m->lo : l->lo;
		m->hi = l->hi;
	}
	for (m = found; m < found + nfound; m++)
		m->eh_there = unwind_mapped(m);
	return 0;
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
		if (m->loader || (m->program && !m->interp))
			c->flags |= TL_IMAGE_EARLY;
		snprintf(c->name, sizeof(c->name), "%.59s", base_name(m->path));
		n++;
	}
	g->ctl->nimages = n;
	return 0;
}
