/* SPDX-License-Identifier: MIT */
/* What is mapped in the target: mappings, ELF images, and which of them the module means. */
#define _GNU_SOURCE
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <trapless/error.h>

#include "../../agent/fill.h"
#include "../../engine/core/image.h"
#include "guardian.h"

/* One mapped ELF file. */
struct mapped {
	uint64_t base; /* of its first mapping */
	uint64_t bias;
	uint64_t lo, hi; /* of its executable mappings */
	uint64_t text_lo,
		text_hi; /* where its headers want them: a program may map parts of itself again */
	uint64_t eh, eh_size;
	uint64_t entry;
	uint64_t inode, dev;
	uint64_t
		unwind_offset; /* file offset of the unwind table, to tell whether it is mapped yet */
	uint8_t build_id[32];
	uint32_t build_id_len;
	bool interp, is_dyn, vdso, whole;
	enum { NOT_ASKED, THERE, NOT_YET } unwind; /* as unwind_mapped() has seen it */
	char path[512];
};

static struct mapped *found;
static size_t nfound, max_found;

static int prot_of(const char *perms)
{
	return (perms[0] == 'r' ? PROT_READ : 0) | (perms[1] == 'w' ? PROT_WRITE : 0) |
	       (perms[2] == 'x' ? PROT_EXEC : 0);
}

struct line {
	uint64_t lo, hi, offset, inode;
	unsigned major, minor;
	char perms[8];
	char path[512];
};

static bool next_line(FILE *f, struct line *l)
{
	char buf[1024], rest[256];
	int at = 0;

	if (!fgets(buf, sizeof(buf), f))
		return false;
	if (sscanf(buf, "%lx-%lx %7s %lx %x:%x %lu %n", &l->lo, &l->hi, l->perms, &l->offset,
		    &l->major, &l->minor, &l->inode, &at) < 7)
		return false;
	while (!strchr(buf, '\n') && fgets(rest, sizeof(rest), f) && !strchr(rest, '\n'))
		; /* a path longer than any of ours */
	snprintf(l->path, sizeof(l->path), "%s", buf + at);
	l->path[strcspn(l->path, "\n")] = 0;
	return true;
}

static FILE *open_maps(struct guardian *g)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/maps", eye_of(g));
	return fopen(path, "re");
}

uint64_t maps_vdso(struct guardian *g, uint64_t *size)
{
	FILE *f = open_maps(g);
	struct line l;
	uint64_t at = 0;

	*size = 0;
	while (f && next_line(f, &l)) {
		if (!strcmp(l.path, "[vdso]")) {
			at = l.lo;
			*size = l.hi - l.lo;
		}
	}
	if (f)
		fclose(f);
	return at;
}

/* The list of mappings into the control block. */
int maps_read(struct guardian *g)
{
	FILE *f = open_maps(g);
	struct line l;
	uint32_t n = 0;

	if (!f)
		return -errno;
	while (n < TL_CTL_MAPS && next_line(f, &l)) {
		if (l.lo >> 47) /* vsyscall */
			continue;
		g->ctl->maps[n].lo = l.lo;
		g->ctl->maps[n].hi = l.hi;
		g->ctl->maps[n++].prot = (uint32_t)prot_of(l.perms);
	}
	fclose(f);
	g->ctl->nmaps = n;
	return 0;
}

/* --- reading an image where it is mapped --------------------------------------- */

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
	m->is_dyn = h.e_type == ET_DYN;
	m->entry = m->bias + h.e_entry;
	m->whole = true;
	for (i = 0; i < n; i++) {
		if (ph[i].p_type == PT_LOAD && (ph[i].p_flags & PF_X)) {
			add_text(m, m->bias + ph[i].p_vaddr, ph[i].p_memsz);
		} else if (ph[i].p_type == PT_GNU_EH_FRAME) {
			m->eh = m->bias + ph[i].p_vaddr;
			m->eh_size = ph[i].p_memsz;
			m->unwind_offset = ph[i].p_offset;
		} else if (ph[i].p_type == PT_NOTE) {
			read_note(g, m, m->bias + ph[i].p_vaddr, ph[i].p_memsz);
		} else if (ph[i].p_type == PT_INTERP) {
			m->interp = true;
		}
	}
}

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

static bool same_file(const struct mapped *m, const struct line *l)
{
	return l->inode && m->inode == l->inode && m->dev == ((uint64_t)l->major << 32 | l->minor);
}

/* Every file that has an executable mapping, whose first page is mapped too. */
static int find_mapped(struct guardian *g)
{
	FILE *f = open_maps(g);
	struct mapped *m = NULL;
	struct line l;

	nfound = 0;
	if (!f)
		return -errno;
	while (next_line(f, &l)) {
		bool vdso = !strcmp(l.path, "[vdso]");

		if (!vdso && (!l.inode || l.path[0] != '/' || !strncmp(l.path, "/memfd:", 7)))
			continue;
		if (vdso || (l.offset == 0 && !(m && same_file(m, &l) && l.lo == m->hi))) {
			m = mapped_new();
			if (!m)
				break;
			m->base = l.lo;
			m->inode = l.inode;
			m->dev = (uint64_t)l.major << 32 | l.minor;
			m->vdso = vdso;
			snprintf(m->path, sizeof(m->path), "%s", l.path);
			read_headers(g, m);
		}
		if (!m || !(vdso || same_file(m, &l)) || !strchr(l.perms, 'x') ||
			l.hi <= m->text_lo || l.lo >= m->text_hi)
			continue;
		m->lo = m->lo ? m->lo : l.lo;
		m->hi = l.hi;
	}
	fclose(f);
	return 0;
}

/* Is the unwind table really there? The loader maps a file in steps. */
static bool look_for_unwind(struct guardian *g, const struct mapped *m)
{
	FILE *f = open_maps(g);
	struct line l;
	bool ok = false;

	while (f && next_line(f, &l)) {
		if (m->eh >= l.lo && m->eh < l.hi)
			ok = l.inode == m->inode && l.offset + (m->eh - l.lo) == m->unwind_offset;
	}
	if (f)
		fclose(f);
	return ok;
}

/* Asked for every probe: one look an image, until the mappings are read anew. */
static bool unwind_mapped(struct guardian *g, const struct mapped *m)
{
	struct mapped *known = &found[m - found];

	if (known->unwind == NOT_ASKED)
		known->unwind = !m->eh || look_for_unwind(g, m) ? THERE : NOT_YET;
	return known->unwind == THERE;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool is_loader(const struct mapped *m)
{
	const char *name = base_name(m->path);

	return !strncmp(name, "ld-linux", 8) || !strncmp(name, "ld-musl", 7) ||
	       !strncmp(name, "ld-2.", 5) || !strncmp(name, "ld.so", 5);
}

int images_read(struct guardian *g)
{
	struct stat st;
	char exe[64];
	uint32_t n = 0;
	size_t i;

	if (find_mapped(g))
		return -1;
	snprintf(exe, sizeof(exe), "/proc/%d/exe", eye_of(g));
	if (stat(exe, &st))
		st.st_ino = 0;
	for (i = 0; i < nfound && n < TL_CTL_IMAGES; i++) {
		struct mapped *m = &found[i];
		struct tl_ctl_image *c = &g->ctl->images[n];

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
		if (is_loader(m) || (m->inode == st.st_ino && !m->interp))
			c->flags |= TL_IMAGE_EARLY;
		snprintf(c->name, sizeof(c->name), "%.59s", base_name(m->path));
		n++;
	}
	g->ctl->nimages = n;
	return 0;
}

/* --- the module's images ----------------------------------------------------------- */

static uint64_t file_size(struct guardian *g, const struct mapped *m)
{
	char path[128];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d/map_files/%lx-%lx", eye_of(g), m->lo, m->hi);
	if (stat(path, &st) == 0 && st.st_ino == m->inode)
		return (uint64_t)st.st_size;
	snprintf(path, sizeof(path), "/proc/%d/root", eye_of(g));
	if (strlen(m->path) < sizeof(path) - 40) {
		snprintf(path + strlen(path), sizeof(path) - strlen(path), "%.80s", m->path);
		if (stat(path, &st) == 0 && st.st_ino == m->inode)
			return (uint64_t)st.st_size;
	}
	return 0;
}

enum match { MATCH_NO, MATCH_OTHER, MATCH_YES }; /* OTHER: same name, another build */

static enum match match_one(
	struct guardian *g, const struct tl_tap_image *want, const struct mapped *m)
{
	bool same_name = !strcmp(base_name(module_string(g->mod, want->path)), base_name(m->path));

	if (m->vdso || !m->whole || !m->hi)
		return MATCH_NO;
	if (want->build_id_len) {
		if (m->build_id_len == want->build_id_len &&
			!memcmp(m->build_id, want->build_id, want->build_id_len))
			return MATCH_YES;
		return same_name ? MATCH_OTHER : MATCH_NO;
	}
	if (!same_name)
		return MATCH_NO;
	return !want->file_size || file_size(g, m) == want->file_size ? MATCH_YES : MATCH_OTHER;
}

static const struct mapped *match_image(struct guardian *g, uint32_t image, bool *other)
{
	size_t i;

	*other = false;
	for (i = 0; i < nfound; i++) {
		enum match how = match_one(g, &g->mod->images[image], &found[i]);

		if (how == MATCH_YES)
			return &found[i];
		*other |= how == MATCH_OTHER;
	}
	return NULL;
}

/* Is this program one that the module has probes for? */
bool images_match(struct guardian *g)
{
	bool other, programs = false;
	uint32_t i;

	if (find_mapped(g))
		return false;
	for (i = 0; i < g->mod->nimages; i++) {
		if (!(g->mod->images[i].flags & TL_TAP_IMAGE_PROGRAM))
			continue;
		programs = true;
		if (match_image(g, i, &other) || other)
			return true;
	}
	return !programs;
}

static int describe_images(struct guardian *g)
{
	struct tl_symbol_image out;
	uint32_t i;
	bool other;

	for (i = 0; i < g->mod->nimages; i++) {
		const struct mapped *m = match_image(g, i, &other);

		memset(&out, 0, sizeof(out));
		out.path = g->mod->images[i].path;
		if (m) {
			out.bias = m->bias;
			out.lo = m->base;
			out.hi = m->hi;
		}
		if (target_write(g, g->pid, g->symbol_images + i * sizeof(out), &out, sizeof(out)))
			return -1;
		if (m)
			g->tell.images[i] = out;
	}
	return 0;
}

/*
 * Addresses for all probes whose image is mapped now. final: what is missing
 * is refused. Returns how many became known, or -1.
 */
int probes_resolve(struct guardian *g, bool final)
{
	struct tl_ctl_probe *p = guardian_probe(g, 0);
	uint32_t i, news = 0;
	bool other = false;

	if (maps_read(g) || images_read(g) || describe_images(g))
		return guardian_fail(g, "cannot read the mappings of process %d", g->pid);
	g->pending = 0;
	for (i = 0; i < g->mod->nprobes; i++, p++) {
		const struct tl_tap_probe *from = &g->mod->probes[i];
		const struct mapped *m, *program = NULL;

		if ((from->kind != TL_TAP_SITE && from->kind != TL_TAP_RETURN) || p->addr ||
			p->result || (from->flags & TL_TAP_PROBE_NEVER))
			continue;
		if (from->process != TL_NONE &&
			!(program = match_image(g, from->process, &other))) {
			p->result = other ? -TL_E_BUILD_ID : 0;
			if (!other && !final)
				g->pending++;
			continue;
		}
		m = from->process == from->image ? program : match_image(g, from->image, &other);
		if (!m || !unwind_mapped(g, m)) {
			if (!m && other)
				p->result = -TL_E_BUILD_ID;
			else
				g->pending++;
			continue;
		}
		tl_ctl_place(p, guardian_part(g, 0), from, g->mod->parts, m->bias);
		news++;
	}
	return (int)news;
}

/* Where the libc that this loader brings keeps a thread's id. 0: not known. */
uint32_t loader_tid_offset(struct guardian *g)
{
	size_t i;

	(void)g;
	for (i = 0; i < nfound; i++) {
		if (!is_loader(&found[i]))
			continue;
		return strncmp(base_name(found[i].path), "ld-musl", 7) ? 0x2d0 : 0x30;
	}
	return 0;
}

/* A word of the auxiliary vector; 0: not there. */
static uint64_t aux(struct guardian *g, uint64_t type)
{
	char path[64];
	uint64_t pair[2], value = 0;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/auxv", eye_of(g));
	fd = open(path, O_RDONLY | O_CLOEXEC);
	while (fd >= 0 && read(fd, pair, sizeof(pair)) == sizeof(pair)) {
		if (pair[0] == type)
			value = pair[1];
	}
	if (fd >= 0)
		close(fd);
	return value;
}

/* Where the program itself begins, once the loader has done its work. 0: static, or unknown. */
uint64_t program_entry(struct guardian *g)
{
	return aux(g, AT_ENTRY);
}

/* The program's dynamic section; 0: it has none. */
static uint64_t dynamic_section(struct guardian *g)
{
	uint64_t at = aux(g, AT_PHDR), n = aux(g, AT_PHNUM), bias = 0, i;
	Elf64_Phdr ph[64];

	n = n < 64 ? n : 64;
	if (!at || target_read(g, g->pid, at, ph, n * sizeof(*ph)) != n * sizeof(*ph))
		return 0;
	for (i = 0; i < n; i++) {
		if (ph[i].p_type == PT_PHDR)
			bias = at - ph[i].p_vaddr;
	}
	for (i = 0; i < n; i++) {
		if (ph[i].p_type == PT_DYNAMIC)
			return bias + ph[i].p_vaddr;
	}
	return 0;
}

/* The function that the loader calls when it has mapped something, for debuggers (r_brk). 0: none. */
uint64_t loader_state(struct guardian *g)
{
	uint64_t at = dynamic_section(g), debug[3];
	Elf64_Dyn d;
	int i;

	for (i = 0; at && i < 256; i++, at += sizeof(d)) {
		if (target_read(g, g->pid, at, &d, sizeof(d)) != sizeof(d) || d.d_tag == DT_NULL)
			return 0;
		if (d.d_tag == DT_DEBUG)
			return d.d_un.d_ptr && target_read(g, g->pid, d.d_un.d_ptr, debug,
						       sizeof(debug)) == sizeof(debug)
				       ? debug[2]
				       : 0;
	}
	return 0;
}
