/* SPDX-License-Identifier: MIT */
/*
 * Module files. Magic, sizes and the check sum are made right, so that damage
 * gets past the first look; what is accepted must be whole: every name ends,
 * every word lies inside, the session it describes can be made.
 */
#define _GNU_SOURCE
#include <elf.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../home/symbols.h"
#include "../../runner/base/module.h"
#include "../../runtime/session.h"
#include "fuzz.h"

enum { FILE_MAX = 1 << 20, MEMORY_MAX = 1 << 22 };

static uint32_t crc32_of(const uint8_t *p, size_t n)
{
	uint32_t crc = ~0u;

	while (n--) {
		crc ^= *p++;
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
	}
	return ~crc;
}

/* What a damaged file would be refused for at once. */
static void repair(uint8_t *file, size_t size)
{
	struct tl_tap_header h;

	memcpy(&h, file, sizeof(h));
	h.magic = TL_TAP_MAGIC;
	h.version = TL_WIRE_VERSION;
	h.machine = EM_X86_64;
	h.word = 64;
	h.big_endian = 0;
	h.size = size;
	h.crc = crc32_of(file + sizeof(h), size - sizeof(h));
	memcpy(file, &h, sizeof(h));
}

static uint64_t any_function(void *arg, const char *name)
{
	(void)arg;
	return strlen(name) % 7 ? (uint64_t)(uintptr_t)name : 0;
}

static void names(const struct tl_tap *m)
{
	size_t n = 0;
	uint32_t i;

	for (i = 0; i < m->nprobes; i++) {
		n += strlen(tl_tap_string(m, m->probes[i].point));
		n += strlen(tl_tap_string(m, m->probes[i].func));
		n += strlen(tl_tap_string(m, m->probes[i].script));
		for (uint32_t k = 0; k < m->probes[i].nparts; k++)
			n += m->parts[m->probes[i].first_part + k].size != 0;
	}
	for (i = 0; i < m->nimages; i++)
		n += strlen(tl_tap_string(m, m->images[i].path));
	for (i = 0; i < m->nprints; i++) {
		n += strlen(tl_tap_string(m, m->prints[i].format));
		for (uint32_t k = 0; k < m->prints[i].nfields; k++)
			n += strlen(tl_tap_string(m, m->fields[m->prints[i].first_field + k].name));
	}
	for (i = 0; i < m->nwarnings; i++)
		n += strlen(tl_tap_string(m, m->warnings[i]));
	n += strlen(tl_tap_string(m, m->header->name));
	must(n <= SIZE_MAX / 2);
}

static void symbols(const struct tl_tap *m)
{
	struct tl_symbol_image *images = calloc(m->nimages + 1, sizeof(*images));
	struct tl_symbols s = {m->strings, m->strings_size, m->symbols, m->nsymbols, m->lines,
		m->nlines, images, m->nimages};
	uint64_t offset, size, addr;
	char name[24];
	uint32_t i;

	for (i = 0; i < m->nimages; i++)
		images[i] = (struct tl_symbol_image){.bias = i * 0x1000,
			.lo = i * 0x1000,
			.hi = (i + 1) * 0x1000,
			.path = m->images[i].path,
			.image = i};
	for (addr = 0; addr < 0x4000; addr += 0x1ff) {
		must(tl_symbol_name(&s, addr, name, sizeof(name), &offset, &size) < sizeof(name));
		must(tl_symbol_image(&s, addr, name, sizeof(name)) < sizeof(name));
	}
	free(images);
}

static void place(const struct tl_tap *m)
{
	uint8_t *buf;
	char why[512];

	if (tl_tap_span(m) > MEMORY_MAX)
		return;
	buf = malloc(tl_tap_span(m) + !tl_tap_span(m));
	must(buf != NULL);
	module_place(m, 0x10000, buf, any_function, NULL, why, sizeof(why));
	free(buf);
}

static void session(const struct tl_tap *m)
{
	struct tl_session layout;
	struct tl_view v;
	void *mem;

	if (tl_session_layout(m->options, 4, &layout) || layout.size > MEMORY_MAX)
		return;
	mem = aligned_alloc(4096, (layout.size + 4095) & ~4095ull);
	must(mem != NULL);
	memset(mem, 0, layout.size);
	tl_session_init(mem, &layout);
	must(!tl_view_attach(&v, mem, layout.size, m->options));
	tl_session_globals(&v, m->globals, m->nglobals, m->strings, m->strings_size);
	free(mem);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct tl_tap m;
	char path[64], why[512];
	uint8_t *file;
	int fd, ret;

	if (size < sizeof(struct tl_tap_header) || size > FILE_MAX)
		return 0;
	file = malloc(size);
	must(file != NULL);
	memcpy(file, data, size);
	if (size % 16 != 15) /* else it stays as it is */
		repair(file, size);
	fd = memfd_create("fuzz", 0);
	must(fd >= 0 && write(fd, file, size) == (ssize_t)size);
	free(file);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	ret = module_load(&m, path, why, sizeof(why)); /* closes fd */
	if (ret) {
		must(why[0] && !m.file);
		return 0;
	}
	names(&m);
	symbols(&m);
	place(&m);
	session(&m);
	module_unload(&m);
	return 0;
}
