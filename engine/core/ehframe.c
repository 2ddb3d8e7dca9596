/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * .eh_frame_hdr, .eh_frame and the exception tables behind it. The tables are
 * the target's and may be damaged: every read goes through a cursor that
 * cannot fault, every length is bounded, a cursor that failed yields zeros.
 */
#include "ehframe.h"

enum {
	ENC_ABS = 0x00,
	ENC_ULEB = 0x01,
	ENC_U2 = 0x02,
	ENC_U4 = 0x03,
	ENC_U8 = 0x04,
	ENC_SLEB = 0x09,
	ENC_S2 = 0x0a,
	ENC_S4 = 0x0b,
	ENC_S8 = 0x0c,
	ENC_PCREL = 0x10,
	ENC_DATAREL = 0x30,
	ENC_INDIRECT = 0x80,
	ENC_OMIT = 0xff,
	HDR_TABLE = ENC_DATAREL | ENC_S4,
	HDR_FIXED = 12, /* version, three encodings, frame pointer, count */
	PADS_MAX = 65536,
};

struct cursor {
	uintptr_t at, end; /* end: exclusive */
	uintptr_t buf_at;
	size_t buf_len;
	bool bad;
	uint8_t buf[128];
};

static void cursor_init(struct cursor *c, uintptr_t at, uintptr_t end)
{
	c->at = at;
	c->end = end < at ? UINTPTR_MAX : end;
	c->buf_len = 0;
	c->bad = false;
}

static uint8_t byte(struct cursor *c)
{
	if (c->bad || c->at >= c->end) {
		c->bad = true;
		return 0;
	}
	if (!c->buf_len || c->at < c->buf_at || c->at - c->buf_at >= c->buf_len) {
		c->buf_at = c->at;
		c->buf_len = tl_os_text_read(c->at, c->buf, sizeof(c->buf));
		if (!c->buf_len) {
			c->bad = true;
			return 0;
		}
	}
	return c->buf[c->at++ - c->buf_at];
}

/* An integer of n bytes in the machine's own order. */
static uint64_t fixed(struct cursor *c, unsigned n)
{
	uint64_t v = 0;
	unsigned i;

	for (i = 0; i < n; i++) {
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
		v = v << 8 | byte(c);
#else
		v |= (uint64_t)byte(c) << (8 * i);
#endif
	}
	return v;
}

static uint64_t leb(struct cursor *c, bool is_signed)
{
	uint64_t v = 0;
	unsigned shift = 0;
	uint8_t b;

	do {
		b = byte(c);
		if (shift < 64)
			v |= (uint64_t)(b & 0x7f) << shift;
		shift += 7;
	} while ((b & 0x80) && !c->bad && shift < 70);
	if (is_signed && shift < 64 && (b & 0x40))
		v |= ~(uint64_t)0 << shift;
	return v;
}

/* The plain value of an encoded pointer: no base added. */
static uint64_t value(struct cursor *c, uint8_t enc)
{
	switch (enc & 0x0f) {
	case ENC_ABS:
		return fixed(c, sizeof(uintptr_t));
	case ENC_ULEB:
		return leb(c, false);
	case ENC_U2:
		return fixed(c, 2);
	case ENC_U4:
		return fixed(c, 4);
	case ENC_U8:
	case ENC_S8:
		return fixed(c, 8);
	case ENC_SLEB:
		return leb(c, true);
	case ENC_S2:
		return (uint64_t)(int64_t)(int16_t)fixed(c, 2);
	case ENC_S4:
		return (uint64_t)(int64_t)(int32_t)fixed(c, 4);
	}
	c->bad = true;
	return 0;
}

/* 0 stays 0: it means "none" in every table. */
static uintptr_t pointer(struct cursor *c, uint8_t enc, uintptr_t data)
{
	uintptr_t here = c->at, v = (uintptr_t)value(c, enc);

	if (!v)
		return 0;
	switch (enc & 0x70) {
	case 0:
		break;
	case ENC_PCREL:
		v += here;
		break;
	case ENC_DATAREL:
		v += data;
		break;
	default:
		c->bad = true;
	}
	return v; /* ENC_INDIRECT: only personality pointers use it, and we skip those */
}

/* --- the search table ---------------------------------------------------- */

size_t tl_eh_count(const struct tl_image *img)
{
	struct cursor c;
	uint64_t n;
	uint8_t frame_enc, count_enc, table_enc;

	if (!img->eh_frame_hdr || img->eh_frame_hdr_size < HDR_FIXED)
		return 0;
	cursor_init(&c, img->eh_frame_hdr, img->eh_frame_hdr + img->eh_frame_hdr_size);
	if (byte(&c) != 1)
		return 0;
	frame_enc = byte(&c);
	count_enc = byte(&c);
	table_enc = byte(&c);
	/* Every linker writes these; anything else has no table of fixed rows. */
	if (table_enc != HDR_TABLE || (frame_enc & 0x0f) != ENC_S4 || count_enc != ENC_U4)
		return 0;
	value(&c, frame_enc);
	n = value(&c, count_enc);
	if (c.bad || n > (img->eh_frame_hdr_size - HDR_FIXED) / 8)
		return 0;
	return (size_t)n;
}

static bool row(const struct tl_image *img, size_t i, uintptr_t *start, uintptr_t *fde)
{
	int32_t v[2];

	if (tl_os_text_read(img->eh_frame_hdr + HDR_FIXED + 8 * i, v, sizeof(v)) != sizeof(v))
		return false;
	*start = img->eh_frame_hdr + (uintptr_t)(intptr_t)v[0];
	*fde = img->eh_frame_hdr + (uintptr_t)(intptr_t)v[1];
	return true;
}

uintptr_t tl_eh_start(const struct tl_image *img, size_t i)
{
	uintptr_t start, fde;

	return i < tl_eh_count(img) && row(img, i, &start, &fde) ? start : 0;
}

/* --- one entry -------------------------------------------------------------- */

struct cie {
	uint8_t ptr_enc, lsda_enc;
	bool sized; /* 'z': entries have an augmentation length */
};

/* Opens the entry at addr: leaves the cursor behind the length, bounded by it. */
static void open_entry(struct cursor *c, uintptr_t addr)
{
	uint64_t len;

	cursor_init(c, addr, addr + 12);
	len = fixed(c, 4);
	if (len == 0xffffffff)
		len = fixed(c, 8);
	if (c->bad || !len || len > UINTPTR_MAX - c->at || len > 0x1000000)
		c->bad = true;
	else
		c->end = c->at + (uintptr_t)len;
}

static bool read_cie(uintptr_t addr, struct cie *cie)
{
	struct cursor c;
	char aug[8];
	uint8_t version;
	unsigned i;

	open_entry(&c, addr);
	if (fixed(&c, 4) != 0)
		return false;
	version = byte(&c);
	for (i = 0; i < sizeof(aug); i++)
		if (!(aug[i] = (char)byte(&c)))
			break;
	if (c.bad || i == sizeof(aug) || (version != 1 && version != 3))
		return false;
	leb(&c, false);
	leb(&c, true);
	if (version == 1)
		byte(&c);
	else
		leb(&c, false);
	cie->ptr_enc = ENC_ABS;
	cie->lsda_enc = ENC_OMIT;
	cie->sized = aug[0] == 'z';
	if (!cie->sized)
		return !c.bad && !aug[0];
	leb(&c, false);
	for (i = 1; aug[i]; i++) {
		if (aug[i] == 'R')
			cie->ptr_enc = byte(&c);
		else if (aug[i] == 'L')
			cie->lsda_enc = byte(&c);
		else if (aug[i] == 'P')
			value(&c, byte(&c));
		else if (aug[i] != 'S' && aug[i] != 'B')
			return false;
	}
	return !c.bad;
}

static int read_fde(const struct tl_image *img, uintptr_t addr, struct tl_eh_entry *e)
{
	struct cursor c;
	struct cie cie;
	uintptr_t here, back;

	open_entry(&c, addr);
	here = c.at;
	back = (uintptr_t)fixed(&c, 4);
	if (c.bad || !back || back > here || !read_cie(here - back, &cie))
		return -TL_E_NOT_PROVEN;
	e->part.start = pointer(&c, cie.ptr_enc, img->eh_frame_hdr);
	e->part.size = (size_t)value(&c, cie.ptr_enc);
	e->lsda = 0;
	e->lsda_enc = cie.lsda_enc;
	if (cie.sized && leb(&c, false) && cie.lsda_enc != ENC_OMIT)
		e->lsda = pointer(&c, cie.lsda_enc, img->eh_frame_hdr);
	if (c.bad || !e->part.size || e->part.start + e->part.size < e->part.start)
		return -TL_E_NOT_PROVEN;
	return 0;
}

int tl_eh_entry(const struct tl_image *img, size_t i, struct tl_eh_entry *e)
{
	uintptr_t start, fde, next_fde;

	e->index = i;
	if (i >= tl_eh_count(img) || !row(img, i, &start, &fde))
		return -TL_E_NOT_PROVEN;
	if (i + 1 >= tl_eh_count(img) || !row(img, i + 1, &e->next, &next_fde))
		e->next = 0;
	return read_fde(img, fde, e);
}

size_t tl_eh_upto(const struct tl_image *img, uintptr_t addr)
{
	size_t lo = 0, hi = tl_eh_count(img);
	uintptr_t start, fde;

	while (lo < hi) { /* lo: rows that start at or below addr */
		size_t mid = lo + (hi - lo) / 2;

		if (!row(img, mid, &start, &fde))
			return 0;
		if (start <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

int tl_eh_find(const struct tl_image *img, uintptr_t addr, struct tl_eh_entry *e)
{
	size_t n = tl_eh_upto(img, addr);

	if (!n || tl_eh_entry(img, n - 1, e) || addr < e->part.start ||
		addr - e->part.start >= e->part.size)
		return -TL_E_NOT_PROVEN;
	return 0;
}

/* --- exception tables ---------------------------------------------------------- */

int tl_eh_pads(const struct tl_eh_entry *e, void (*fn)(void *arg, uintptr_t pad), void *arg)
{
	struct cursor c;
	uintptr_t base = e->part.start;
	uint8_t enc;
	uint64_t len;
	unsigned n;

	if (!e->lsda)
		return 0;
	cursor_init(&c, e->lsda, UINTPTR_MAX);
	enc = byte(&c);
	if (enc != ENC_OMIT)
		base = pointer(&c, enc, 0);
	if (byte(&c) != ENC_OMIT)
		leb(&c, false);
	enc = byte(&c);
	len = leb(&c, false);
	if (c.bad || len > UINTPTR_MAX - c.at)
		return -TL_E_NOT_PROVEN;
	c.end = c.at + (uintptr_t)len;
	for (n = 0; c.at < c.end && n < PADS_MAX; n++) {
		uintptr_t pad;

		value(&c, enc);
		value(&c, enc);
		pad = (uintptr_t)value(&c, enc);
		leb(&c, false);
		if (c.bad)
			return -TL_E_NOT_PROVEN;
		if (pad)
			fn(arg, base + pad);
	}
	return 0;
}
