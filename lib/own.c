/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * libtrapless: what ties the engine to the program that links it. The only
 * file of it that asks the C library anything, and never from a handler.
 */
#define _GNU_SOURCE
#include <elf.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>

#include "../engine/core/internal.h"
#include "../engine/os/process/own.h"

/* All our code, wherever it was linked into: the partial link of libtrapless collects it in one section. */
extern const char __start_tl_text[] __attribute__((weak, visibility("hidden")));
extern const char __stop_tl_text[] __attribute__((weak, visibility("hidden")));

int tl_home_init(void)
{
	const unsigned long fsgsbase = 2;

	tl_fsgsbase = getauxval(AT_HWCAP2) & fsgsbase;
	return 0;
}

void tl_home_exit(void)
{
	tl_own_trap_exit();
}

/* --- images ------------------------------------------------------------------ */

enum { IMAGES = 1024 };

struct update {
	uintptr_t seen[IMAGES]; /* lowest addresses */
	size_t n;
	int ret;
};

static struct update updates[2]; /* of this time and of last time; engine lock */
static struct update *latest = &updates[0];

static void set_name(struct tl_image *img, const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	size_t i;

	if (!*name)
		name = "main program";
	for (i = 0; name[i] && i + 1 < sizeof(img->name); i++)
		img->name[i] = name[i];
}

static int add_segment(struct update *u, struct tl_image *img, const ElfW(Phdr) * ph)
{
	uintptr_t vdso = getauxval(AT_SYSINFO_EHDR);

	img->lo = img->bias + ph->p_vaddr;
	img->hi = img->lo + ph->p_memsz;
	if (vdso && img->lo <= vdso && vdso < img->hi)
		img->flags |= TL_IMAGE_VDSO;
	if (u->n == IMAGES)
		return -TL_E_LIMIT;
	u->seen[u->n++] = img->lo;
	return tl_image_add(img);
}

static int add_object(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct update *u = arg;
	struct tl_image img;
	unsigned i;

	(void)size;
	memset(&img, 0, sizeof(img));
	img.bias = info->dlpi_addr;
	set_name(&img, info->dlpi_name ? info->dlpi_name : "");
	for (i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];

		if (ph->p_type == PT_GNU_EH_FRAME) {
			img.eh_frame_hdr = img.bias + ph->p_vaddr;
			img.eh_frame_hdr_size = ph->p_memsz;
		}
	}
	for (i = 0; i < info->dlpi_phnum && !u->ret; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];

		if (ph->p_type == PT_LOAD && (ph->p_flags & PF_X))
			u->ret = add_segment(u, &img, ph);
	}
	return u->ret;
}

static bool seen_in(const struct update *u, uintptr_t lo)
{
	size_t i;

	for (i = 0; i < u->n; i++) {
		if (u->seen[i] == lo)
			return true;
	}
	return false;
}

static unsigned long long nclosed; /* as the loader counts them, at the last update */

static int count_closed(struct dl_phdr_info *info, size_t size, void *arg)
{
	if (size >= offsetof(struct dl_phdr_info, dlpi_subs) + sizeof(info->dlpi_subs))
		*(unsigned long long *)arg = info->dlpi_subs;
	return 1; /* it is the same in every row */
}

bool tl_os_images_stale(void)
{
	unsigned long long now = 0;

	dl_iterate_phdr(count_closed, &now);
	return now != nclosed;
}

/* Reads the list anew; what was closed since is forgotten. */
int tl_os_images_update(void)
{
	struct update *last = latest, *u = &updates[last == &updates[0]];
	size_t i;

	u->n = 0;
	u->ret = 0;
	dl_iterate_phdr(count_closed, &nclosed);
	dl_iterate_phdr(add_object, u);
	for (i = 0; i < last->n; i++) {
		if (!seen_in(u, last->seen[i]))
			tl_image_remove(last->seen[i]);
	}
	latest = u;
	tl_blacklist_add((uintptr_t)__start_tl_text, (uintptr_t)__stop_tl_text, -TL_E_SELF);
	return u->ret;
}
