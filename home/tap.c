/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Reading module files: untrusted input, every offset and count is checked here. */
#include <string.h>
#include <trapless/error.h>

#include "tap.h"

/* CRC-32 of IEEE 802.3, a byte at a time. */
static uint32_t crc32_of(const uint8_t *p, size_t n)
{
	uint32_t table[256], crc = ~0u, i, bit;

	for (i = 0; i < 256; i++) {
		uint32_t c = i;

		for (bit = 0; bit < 8; bit++)
			c = c & 1 ? 0xedb88320u ^ c >> 1 : c >> 1;
		table[i] = c;
	}
	while (n--)
		crc = table[(crc ^ *p++) & 0xff] ^ crc >> 8;
	return ~crc;
}

static enum tl_tap_fault check_header(const struct tl_tap *m, uint16_t elf)
{
	const struct tl_tap_header *h = m->header;

	if (m->size < sizeof(*h))
		return TL_TAP_NO_MODULE;
	if (h->magic != TL_TAP_MAGIC)
		return __builtin_bswap32(h->magic) == TL_TAP_MAGIC ? TL_TAP_OTHER_ORDER
								   : TL_TAP_NO_MODULE;
	if (h->version != TL_WIRE_VERSION)
		return TL_TAP_OTHER_VERSION;
	if (h->machine != elf || h->word != 8 * sizeof(void *) ||
		h->big_endian != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__))
		return TL_TAP_OTHER_MACHINE;
	if (h->size != m->size)
		return TL_TAP_TRUNCATED;
	if (h->crc != crc32_of(m->file + sizeof(*h), m->size - sizeof(*h)))
		return TL_TAP_BAD_SUM;
	return TL_TAP_GOOD;
}

/* Where each kind of section goes, and how large its elements are. */
static bool section_take(struct tl_tap *m, const struct tl_tap_section *s)
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
	case TL_TAP_PRINTS:
		TAKE(prints, nprints, struct tl_tap_print);
	case TL_TAP_FIELDS:
		TAKE(fields, nfields, struct tl_tap_field);
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

static bool sections_ok(struct tl_tap *m)
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

static bool str_ok(const struct tl_tap *m, uint32_t at)
{
	return at < m->strings_size;
}

/* Its name becomes part of a path. */
static bool file_ok(const struct tl_tap *m, const struct tl_tap_probe *p)
{
	const char *name = str_ok(m, p->func) ? tl_tap_string(m, p->func) : "";

	return *name && *name != '.' && !strchr(name, '/') && strlen(name) <= 100 && p->arg > 0 &&
	       p->arg <= 1 << 20;
}

static bool timer_ok(const struct tl_tap *m, const struct tl_tap_probe *p)
{
	bool own_rate = p->kind == TL_TAP_PROFILE && m->header->flags & TL_TAP_KERNEL;

	return (p->arg > 0 || (own_rate && !p->arg)) && p->addr <= (uint64_t)p->arg;
}

/* Of a kernel's symbol it may be as many bytes as that has. */
static bool watched_ok(const struct tl_tap *m, const struct tl_tap_probe *p)
{
	bool own_size = m->header->flags & TL_TAP_KERNEL && p->image != TL_NONE;

	return (p->arg > 0 || (own_size && !p->arg)) && p->arg <= TL_WATCH_MAX;
}

static bool print_ok(const struct tl_tap *m, const struct tl_tap_print *p)
{
	return str_ok(m, p->format) && str_ok(m, p->script) && p->nfields <= m->nfields &&
	       p->first_field <= m->nfields - p->nfields;
}

static bool probe_ok(const struct tl_tap *m, const struct tl_tap_probe *p)
{
	bool site = tl_tap_stands(p->kind);
	bool timer = p->kind == TL_TAP_TIMER || p->kind == TL_TAP_PROFILE;

	return p->kind >= TL_TAP_BEGIN && p->kind <= TL_TAP_TRACE &&
	       (!tl_tap_is_file(p->kind) || file_ok(m, p)) &&
	       (p->handler == TL_NONE || p->handler < m->code_size) &&
	       (p->on_entry == TL_NONE || p->on_entry < m->code_size) &&
	       (p->condition == TL_NONE || p->condition < m->code_size) &&
	       (!site || p->image < m->nimages) &&
	       (p->kind != TL_TAP_WATCH ||
		       (watched_ok(m, p) && (p->image == TL_NONE || p->image < m->nimages))) &&
	       (p->kind != TL_TAP_TRACE || p->image < m->nimages) &&
	       (p->process == TL_NONE || p->process < m->nimages) && (!timer || timer_ok(m, p)) &&
	       p->nparts <= m->nparts && p->first_part <= m->nparts - p->nparts &&
	       p->call_data <= 2048 && str_ok(m, p->point) && str_ok(m, p->func) &&
	       str_ok(m, p->script) && str_ok(m, p->name) && str_ok(m, p->event);
}

static bool word_ok(const struct tl_tap *m, uint32_t at)
{
	return at % 8 == 0 && m->data_size >= 8 && at <= m->data_size - 8;
}

static bool lines_ok(const struct tl_tap *m)
{
	uint32_t i;

	for (i = 0; i < m->nlines; i++) {
		const struct tl_tap_line *l = &m->lines[i];

		if ((l->file != TL_NONE && !str_ok(m, l->file)) || l->image >= m->nimages)
			return false;
	}
	return true;
}

static bool unwind_ok(const struct tl_tap *m)
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

static bool contents_ok(const struct tl_tap *m)
{
	uint32_t i;

	if (m->code_size % TL_TAP_PAGE || !str_ok(m, m->header->name))
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
	for (i = 0; i < m->nprints; i++) {
		if (!print_ok(m, &m->prints[i]))
			return false;
	}
	for (i = 0; i < m->nfields; i++) {
		if (!str_ok(m, m->fields[i].name) || !str_ok(m, m->fields[i].unit))
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

enum tl_tap_fault tl_tap_check(struct tl_tap *m, const uint8_t *file, size_t size, uint16_t elf)
{
	enum tl_tap_fault fault;

	memset(m, 0, sizeof(*m));
	m->file = file;
	m->size = size;
	m->header = (const void *)file;
	fault = check_header(m, elf);
	if (fault)
		return fault;
	return sections_ok(m) && contents_ok(m) ? TL_TAP_GOOD : TL_TAP_BAD_TABLES;
}

size_t tl_tap_span(const struct tl_tap *m)
{
	return ((size_t)m->code_size + m->data_size + TL_TAP_PAGE - 1) & ~(size_t)(TL_TAP_PAGE - 1);
}

static bool is_abi(const char *name)
{
	return !strncmp(name, TL_TAP_ABI, sizeof(TL_TAP_ABI) - 1);
}

int tl_tap_place(const struct tl_tap *m, uint64_t at, uint8_t *buf, tl_tap_export_fn find,
	void *arg, const char **name)
{
	uint8_t *data = buf + m->code_size;
	bool fits = !m->code_size;
	uint64_t word;
	uint32_t i;

	memset(buf, 0, tl_tap_span(m));
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
		*name = tl_tap_string(m, m->imports[i].name);
		word = find(arg, *name);
		if (!word)
			return is_abi(*name) ? -TL_E_VERSION : -TL_E_NO_SYMBOL;
		fits |= is_abi(*name);
		memcpy(data + m->imports[i].slot, &word, sizeof(word));
	}
	*name = NULL;
	return fits ? 0 : -TL_E_VERSION;
}
