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

struct bounds {
	unsigned long lo, hi;
};

struct text {
	struct bounds at;
	unsigned char *copy;
};

static int find_bounds(struct bounds *t)
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
	size_t size = t->at.hi - t->at.lo;
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
		if (ph.p_type != PT_LOAD || t->at.lo < ph.p_vaddr ||
			t->at.hi > ph.p_vaddr + ph.p_memsz)
			continue;
		at = (off_t)(ph.p_offset + (t->at.lo - ph.p_vaddr));
		ok = pread(fd, t->copy, size, at) == (ssize_t)size;
	}
	close(fd);
	return ok;
}

/* The file has the bounds, too: to look for them takes longest. */
static int keep(const char *path)
{
	struct text t;
	FILE *f = fopen(path, "w");

	if (!f || !find_bounds(&t.at) || !read_text(&t))
		return 0;
	return fwrite(&t.at, sizeof(t.at), 1, f) == 1 &&
	       fwrite(t.copy, t.at.hi - t.at.lo, 1, f) == 1 && !fclose(f);
}

static int same(const char *path)
{
	struct text now;
	unsigned char *before;
	FILE *f = fopen(path, "r");
	size_t size;

	if (!f || fread(&now.at, sizeof(now.at), 1, f) != 1)
		return 0;
	size = now.at.hi - now.at.lo;
	before = malloc(size);
	if (!before || fread(before, size, 1, f) != 1 || !read_text(&now))
		return 0;
	puts(memcmp(before, now.copy, size) ? "differs" : "same");
	return 1;
}

int main(int argc, char **argv)
{
	if (argc == 3 && (strcmp(argv[1], "keep") ? same(argv[2]) : keep(argv[2])))
		return 0;
	fputs("ktext: the kernel's text cannot be read\n", stderr);
	return 1;
}
