/* SPDX-License-Identifier: MIT */
/*
 * ktext keep FILE    the kernel's text, as it is now, into a file
 * ktext same FILE    `same` or `differs`
 */
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct text {
	unsigned long lo, hi;
	unsigned char *copy;
};

static int find_bounds(struct text *t)
{
	FILE *f = fopen("/proc/kallsyms", "r");
	unsigned long addr;
	char name[256];

	t->lo = t->hi = 0;
	while (f && (!t->lo || !t->hi) && fscanf(f, "%lx %*c %255s%*[^\n]", &addr, name) == 2) {
		if (!strcmp(name, "_stext"))
			t->lo = addr;
		if (!strcmp(name, "_etext"))
			t->hi = addr;
	}
	if (f)
		fclose(f);
	return t->lo && t->hi > t->lo;
}

/* /proc/kcore is a core file of the kernel, in which the text is at its own addresses. */
static int read_text(struct text *t)
{
	int fd = open("/proc/kcore", O_RDONLY);
	size_t size = t->hi - t->lo;
	int ok = 0;
	Elf64_Ehdr eh;
	Elf64_Phdr ph;

	t->copy = malloc(size);
	if (fd < 0 || !t->copy || pread(fd, &eh, sizeof(eh), 0) != sizeof(eh))
		return 0;
	for (int i = 0; i < eh.e_phnum && !ok; i++) {
		off_t at = (off_t)(eh.e_phoff + (size_t)i * sizeof(ph));

		if (pread(fd, &ph, sizeof(ph), at) != sizeof(ph))
			break;
		if (ph.p_type != PT_LOAD || t->lo < ph.p_vaddr || t->hi > ph.p_vaddr + ph.p_memsz)
			continue;
		at = (off_t)(ph.p_offset + (t->lo - ph.p_vaddr));
		ok = pread(fd, t->copy, size, at) == (ssize_t)size;
	}
	close(fd);
	return ok;
}

static int keep(const char *path, const struct text *t)
{
	FILE *f = fopen(path, "w");

	return f && fwrite(t->copy, 1, t->hi - t->lo, f) == t->hi - t->lo && !fclose(f) ? 0 : 1;
}

static int same(const char *path, const struct text *t)
{
	size_t size = t->hi - t->lo;
	unsigned char *before = malloc(size);
	FILE *f = fopen(path, "r");

	if (!f || !before || fread(before, 1, size, f) != size)
		return 1;
	puts(memcmp(before, t->copy, size) ? "differs" : "same");
	return 0;
}

int main(int argc, char **argv)
{
	struct text t;

	if (argc != 3 || !find_bounds(&t) || !read_text(&t)) {
		fputs("ktext: the kernel's text cannot be read\n", stderr);
		return 1;
	}
	return strcmp(argv[1], "keep") ? same(argv[2], &t) : keep(argv[2], &t);
}
