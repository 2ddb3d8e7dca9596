/* SPDX-License-Identifier: MIT */
/* Reading module files: untrusted input, every offset and count is checked here. */
#define _GNU_SOURCE
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <trapless/error.h>

#include "../machine/machine.h"
#include "module.h"
#include "word.h"

enum { PAGE = 4096, MODULE_MAX = 256 << 20 };

static int no(int err, char *why, size_t room, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
static int no(int err, char *why, size_t room, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, room, fmt, ap);
	va_end(ap);
	return -err;
}

static uint32_t crc32_of(const uint8_t *p, size_t n)
{
	static uint32_t table[256];
	uint32_t crc = ~0u, i, bit;

	if (!table[1]) {
		for (i = 0; i < 256; i++) {
			uint32_t c = i;

			for (bit = 0; bit < 8; bit++)
				c = c & 1 ? 0xedb88320u ^ c >> 1 : c >> 1;
			table[i] = c;
		}
	}
	while (n--)
		crc = table[(crc ^ *p++) & 0xff] ^ crc >> 8;
	return ~crc;
}

static int read_whole(struct module *m, const char *path, char *why, size_t room)
{
	struct stat st;
	size_t got = 0;
	ssize_t n;
	int fd = open(path, O_RDONLY | O_CLOEXEC), inherited;

	/* The host hands an unnamed file over: it is not for the program that we start. */
	if (sscanf(path, "/proc/self/fd/%d", &inherited) == 1)
		close(inherited);

	if (fd < 0 || fstat(fd, &st)) {
		int err = errno;

		if (fd >= 0)
			close(fd);
		return no(TL_E_BAD_MODULE, why, room, "cannot read module %s: %s", path,
			strerror(err));
	}
	if (!S_ISREG(st.st_mode) || st.st_size < (off_t)sizeof(*m->header) ||
		st.st_size > MODULE_MAX) {
		close(fd);
		return no(TL_E_BAD_MODULE, why, room,
			"%s is not a trapless module (.tap): compile one with trapless -p4", path);
	}
	m->size = (size_t)st.st_size;
	m->file = malloc(m->size + 1);
	while (m->file && got < m->size && (n = read(fd, m->file + got, m->size - got)) > 0)
		got += (size_t)n;
	close(fd);
	if (got != m->size)
		return no(TL_E_BAD_MODULE, why, room, "cannot read module %s whole", path);
	return 0;
}

static int check_header(struct module *m, const char *path, char *why, size_t room)
{
	const struct tl_tap_header *h = m->header = (const void *)m->file;

	if (h->magic != TL_TAP_MAGIC)
		return no(TL_E_BAD_MODULE, why, room,
			__builtin_bswap32(h->magic) == TL_TAP_MAGIC
				? "module %s was made for another byte order: "
				  "compile with the right -a"
				: "%s is not a trapless module (.tap): compile one with trapless "
				  "-p4",
			path);
	if (h->version != TL_WIRE_VERSION)
		return no(TL_E_VERSION, why, room,
			"module %s has format version %u, this runner reads %u: "
			"compile the script again with the trapless of this release",
			path, h->version, TL_WIRE_VERSION);
	if (h->machine != machine.elf || h->word != WORD_BITS || h->big_endian != WORD_BIG_ENDIAN)
		return no(TL_E_BAD_ARCH, why, room,
			"module %s was made for another architecture (machine %u, %u bit): "
			"compile with -a %s",
			path, h->machine, h->word, machine.option);
	if (h->size != m->size)
		return no(TL_E_BAD_MODULE, why, room,
			"module %s is truncated (%zu bytes of %llu): copy it again, or "
			"compile the script again",
			path, m->size, (unsigned long long)h->size);
	if (h->crc != crc32_of(m->file + sizeof(*h), m->size - sizeof(*h)))
		return no(TL_E_BAD_MODULE, why, room,
			"module %s is damaged (check sum): copy it again, or compile the "
			"script again",
			path);
	return 0;
}

/* Where each kind of section goes, and how large its elements are. */
static bool section_take(struct module *m, const struct tl_tap_section *s)
{
	const void *at = m->file + s->offset;
	uint64_t unit;

#define TAKE(field, n, type)                                                                       \
	m->field = at, m->n = s->count, unit = sizeof(type);                                       \
	break
	switch (s->kind) {
	case TL_TAP_STRINGS:
		TAKE(strings, strings_size, char);
	case TL_TAP_IMAGES:
		TAKE(images, nimages, struct tl_tap_image);
	case TL_TAP_PROBES:
		TAKE(probes, nprobes, struct tl_tap_probe);
	case TL_TAP_PARTS:
		TAKE(parts, nparts, struct tl_tap_part);
	case TL_TAP_CODE:
		TAKE(code, code_size, uint8_t);
	case TL_TAP_DATA:
		TAKE(data, data_size, uint8_t);
	case TL_TAP_RELOCS:
		TAKE(relocs, nrelocs, uint32_t);
	case TL_TAP_IMPORTS:
		TAKE(imports, nimports, struct tl_tap_import);
	case TL_TAP_FORMATS:
		TAKE(formats, nformats, uint32_t);
	case TL_TAP_GLOBALS:
		TAKE(globals, nglobals, struct tl_tap_global);
	case TL_TAP_SYMBOLS:
		TAKE(symbols, nsymbols, struct tl_tap_symbol);
	case TL_TAP_LINES:
		TAKE(lines, nlines, struct tl_tap_line);
	case TL_TAP_WARNINGS:
		TAKE(warnings, nwarnings, uint32_t);
	case TL_TAP_UNWIND:
		TAKE(unwind, nunwind, struct tl_tap_unwind);
	case TL_TAP_ROWS:
		TAKE(rows, nrows, struct tl_tap_row);
	case TL_TAP_FRAMES:
		TAKE(frames, nframes, struct tl_tap_frame);
	case TL_TAP_COMMANDS:
		TAKE(commands, ncommands, uint32_t);
	case TL_TAP_OPTIONS:
		m->options = at;
		unit = sizeof(struct tl_tap_options);
		if (s->count != 1)
			return false;
		break;
	default:
		return true; /* of a later release */
	}
#undef TAKE
	return s->size == unit * s->count;
}

static bool sections_ok(struct module *m)
{
	const struct tl_tap_section *s = (const void *)(m->header + 1);
	uint64_t table = sizeof(*m->header) + (uint64_t)m->header->nsections * sizeof(*s);
	uint32_t seen = 0, i;

	if (table > m->size)
		return false;
	for (i = 0; i < m->header->nsections; i++, s++) {
		if (s->offset % 16 || s->offset < table || s->offset > m->size ||
			s->size > m->size - s->offset)
			return false;
		if (s->kind < 32 && (seen >> s->kind & 1))
			return false;
		if (s->kind < 32)
			seen |= 1u << s->kind;
		if (!section_take(m, s))
			return false;
	}
	return m->strings && m->options && m->strings_size && !m->strings[0] &&
	       !m->strings[m->strings_size - 1];
}

static bool str_ok(const struct module *m, uint32_t at)
{
	return at < m->strings_size;
}

/* Its name becomes part of a path. */
static bool file_ok(const struct module *m, const struct tl_tap_probe *p)
{
	const char *name = str_ok(m, p->func) ? module_string(m, p->func) : "";

	return *name && *name != '.' && !strchr(name, '/') && strlen(name) <= 100 && p->arg > 0 &&
	       p->arg <= 1 << 20;
}

static bool probe_ok(const struct module *m, const struct tl_tap_probe *p)
{
	bool site = p->kind == TL_TAP_SITE || p->kind == TL_TAP_RETURN;
	bool timer = p->kind == TL_TAP_TIMER || p->kind == TL_TAP_PROFILE;

	return p->kind >= TL_TAP_BEGIN && p->kind <= TL_TAP_RESET &&
	       ((p->kind != TL_TAP_FILE_READ && p->kind != TL_TAP_FILE_WRITE) || file_ok(m, p)) &&
	       (p->handler == TL_NONE || p->handler < m->code_size) &&
	       (p->on_entry == TL_NONE || p->on_entry < m->code_size) &&
	       (p->condition == TL_NONE || p->condition < m->code_size) &&
	       (!site || p->image < m->nimages) &&
	       (p->kind != TL_TAP_WATCH ||
		       (p->arg > 0 && p->arg <= TL_WATCH_MAX &&
			       (p->image == TL_NONE || p->image < m->nimages))) &&
	       (p->process == TL_NONE || p->process < m->nimages) &&
	       (!timer || (p->arg > 0 && p->addr <= (uint64_t)p->arg)) && p->nparts <= m->nparts &&
	       p->first_part <= m->nparts - p->nparts && p->call_data <= 2048 &&
	       str_ok(m, p->point) && str_ok(m, p->func) && str_ok(m, p->script) &&
	       str_ok(m, p->name);
}

static bool word_ok(const struct module *m, uint32_t at)
{
	return at % 8 == 0 && m->data_size >= 8 && at <= m->data_size - 8;
}

static bool lines_ok(const struct module *m)
{
	uint32_t i;

	for (i = 0; i < m->nlines; i++) {
		const struct tl_tap_line *l = &m->lines[i];

		if ((l->file != TL_NONE && !str_ok(m, l->file)) || l->image >= m->nimages)
			return false;
	}
	return true;
}

static bool unwind_ok(const struct module *m)
{
	uint32_t i;

	if (m->nunwind && m->nunwind != m->nimages)
		return false;
	for (i = 0; i < m->nunwind; i++) {
		if (m->unwind[i].nrows > m->nrows ||
			m->unwind[i].first_row > m->nrows - m->unwind[i].nrows)
			return false;
	}
	for (i = 0; i < m->nrows; i++) {
		if (m->rows[i].frame != TL_NONE && m->rows[i].frame >= m->nframes)
			return false;
	}
	for (i = 0; i < m->nframes; i++) {
		if (m->frames[i].cfa >= TL_FRAME_REGS || m->frames[i].base >= TL_FRAME_REGS)
			return false;
	}
	return true;
}

static bool contents_ok(const struct module *m)
{
	uint32_t i;

	if (m->code_size % PAGE || !str_ok(m, m->header->name))
		return false;
	if (m->options->uses & TL_USES_HITS &&
		(uint64_t)m->nprobes * sizeof(uint64_t) > m->options->shard_size)
		return false;
	if (m->options->uses & TL_USES_TIMES &&
		(uint64_t)m->nprobes * (sizeof(uint64_t) + sizeof(struct tl_time)) >
			m->options->shard_size)
		return false;
	for (i = 0; i < m->nimages; i++) {
		if (!str_ok(m, m->images[i].path) ||
			m->images[i].build_id_len > sizeof(m->images[i].build_id))
			return false;
	}
	for (i = 0; i < m->nprobes; i++) {
		if (!probe_ok(m, &m->probes[i]))
			return false;
	}
	for (i = 0; i < m->nrelocs; i++) {
		if (!word_ok(m, m->relocs[i]))
			return false;
	}
	for (i = 0; i < m->nimports; i++) {
		if (!word_ok(m, m->imports[i].slot) || !str_ok(m, m->imports[i].name))
			return false;
	}
	for (i = 0; i < m->nformats; i++) {
		if (!str_ok(m, m->formats[i]))
			return false;
	}
	for (i = 0; i < m->ncommands; i++) {
		if (!str_ok(m, m->commands[i]))
			return false;
	}
	for (i = 0; i < m->nwarnings; i++) {
		if (!str_ok(m, m->warnings[i]))
			return false;
	}
	for (i = 0; i < m->nglobals; i++) {
		if (!str_ok(m, m->globals[i].name) || !str_ok(m, m->globals[i].init_string))
			return false;
	}
	for (i = 0; i < m->nsymbols; i++) {
		if (!str_ok(m, m->symbols[i].name) || m->symbols[i].image >= m->nimages)
			return false;
	}
	return lines_ok(m) && unwind_ok(m);
}

int module_load(struct module *m, const char *path, char *why, size_t room)
{
	int ret;

	memset(m, 0, sizeof(*m));
	ret = read_whole(m, path, why, room);
	if (!ret)
		ret = check_header(m, path, why, room);
	if (!ret && (!sections_ok(m) || !contents_ok(m)))
		ret = no(TL_E_BAD_MODULE, why, room,
			"module %s is damaged (its tables contradict each other): "
			"compile the script again",
			path);
	if (ret)
		module_unload(m);
	return ret;
}

void module_unload(struct module *m)
{
	free(m->file);
	memset(m, 0, sizeof(*m));
}

size_t module_span(const struct module *m)
{
	return ((size_t)m->code_size + m->data_size + PAGE - 1) & ~(size_t)(PAGE - 1);
}

int module_place(const struct module *m, uint64_t at, uint8_t *buf, module_export_fn find,
	void *arg, char *why, size_t room)
{
	uint8_t *data = buf + m->code_size;
	bool fits = !m->code_size;
	uint64_t word;
	uint32_t i;

	memset(buf, 0, module_span(m));
	if (m->code_size)
		memcpy(buf, m->code, m->code_size);
	if (m->data_size)
		memcpy(data, m->data, m->data_size);
	for (i = 0; i < m->nrelocs; i++) {
		memcpy(&word, data + m->relocs[i], sizeof(word));
		word += at;
		memcpy(data + m->relocs[i], &word, sizeof(word));
	}
	for (i = 0; i < m->nimports; i++) {
		const char *name = module_string(m, m->imports[i].name);

		word = find(arg, name);
		if (!word && !strncmp(name, "tl_runtime_abi_", 15))
			return no(TL_E_VERSION, why, room,
				"[VERSION] the module was made for another release (runtime %s): "
				"compile the script again with the trapless of this release",
				name + 15);
		if (!word)
			return no(TL_E_NO_SYMBOL, why, room,
				"the module needs the runtime function %s, which this "
				"release does not have: compile the script again with the same "
				"release",
				name);
		fits |= !strncmp(name, "tl_runtime_abi_", 15);
		memcpy(data + m->imports[i].slot, &word, sizeof(word));
	}
	if (!fits)
		return no(TL_E_VERSION, why, room,
			"[VERSION] the module does not tell which runtime it was made for: "
			"compile the script again with the trapless of this release");
	return 0;
}
