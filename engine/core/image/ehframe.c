/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * .eh_frame_hdr, .eh_frame and the exception tables behind it. Without the first,
 * which only a linker that was asked for it writes (gcc -static does not ask),
 * .eh_frame is read from end to end once, and sorted. The tables are
 * the target's and may be damaged: every read goes through a cursor that
 * cannot fault, every length is bounded, a cursor that failed yields zeros.
 */
#include "../../os/os.h"
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
	ROWS_AT_ONCE = 64,
	FUNC_ALIGN = 16,
};

struct cursor {
	uintptr_t at, end; /* end: exclusive */
	uintptr_t buf_at;
	size_t buf_len;
	bool bad;
	uint8_t buf[128];
};

static void cursor_move(struct cursor *c, uintptr_t at, uintptr_t end)
{
	c->at = at;
	c->end = end < at ? UINTPTR_MAX : end;
	c->bad = false;
}

static void cursor_init(struct cursor *c, uintptr_t at, uintptr_t end)
{
	c->buf_len = 0;
	cursor_move(c, at, end);
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

/* Of which none is to be fetched. */
static bool at_hand(const struct cursor *c, unsigned n)
{
	return !c->bad && c->buf_len >= n && c->at - c->buf_at <= c->buf_len - n &&
	       c->end - c->at >= n;
}

/* An integer of n bytes in the machine's own order. */
static uint64_t fixed(struct cursor *c, unsigned n)
{
	uint64_t v = 0;
	unsigned i;

	if (n == 4 && at_hand(c, n)) {
		uint32_t word;

		__builtin_memcpy(&word, c->buf + (c->at - c->buf_at), sizeof(word));
		c->at += n;
		return word;
	}
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

/* 0: it cannot be used. */
static size_t count_rows(const struct tl_image *img)
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

/* --- one entry -------------------------------------------------------------- */

struct cie {
	uintptr_t at;
	uint8_t ptr_enc, lsda_enc;
	bool sized; /* 'z': entries have an augmentation length */
	bool signal; /* 'S': signal frames */
};

/* Opens the entry at addr: leaves the cursor, which may have read there before, behind the length, bounded by it. */
static void open_entry(struct cursor *c, uintptr_t addr)
{
	uint64_t len;

	cursor_move(c, addr, addr + 12);
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
	struct cursor c = {.buf_len = 0};
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
	cie->signal = false;
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
		else if (aug[i] == 'S')
			cie->signal = true;
		else if (aug[i] != 'B')
			return false;
	}
	return !c.bad;
}

/* What the entry read before has left: the bytes behind it, and its common part, nearly always the same one. */
struct reader {
	struct cursor c;
	struct cie cie;
};

static void reader_init(struct reader *r)
{
	r->c.buf_len = 0;
	r->cie.at = 0;
}

static int read_fde(
	const struct tl_image *img, uintptr_t addr, struct reader *r, struct tl_eh_entry *e)
{
	struct cursor *c = &r->c;
	struct cie *cie = &r->cie;
	uintptr_t here, back;

	open_entry(c, addr);
	here = c->at;
	back = (uintptr_t)fixed(c, 4);
	if (c->bad || !back || back >= here) /* at 0 there is none: cie->at */
		return -TL_E_NOT_PROVEN;
	if (cie->at != here - back && !read_cie(here - back, cie)) {
		cie->at = 0;
		return -TL_E_NOT_PROVEN;
	}
	cie->at = here - back;
	e->part.start = pointer(c, cie->ptr_enc, img->eh_frame_hdr);
	e->part.size = (size_t)value(c, cie->ptr_enc);
	/* The C library's __restore_rt: for unwinders that look one byte back, its entry begins one too early. */
	if (cie->signal && e->part.start % FUNC_ALIGN == FUNC_ALIGN - 1 && e->part.size) {
		e->part.start++;
		e->part.size--;
	}
	e->lsda = 0;
	if (cie->sized && leb(c, false) && cie->lsda_enc != ENC_OMIT)
		e->lsda = pointer(c, cie->lsda_enc, img->eh_frame_hdr);
	if (c->bad || !e->part.size || e->part.start + e->part.size < e->part.start)
		return -TL_E_NOT_PROVEN;
	return 0;
}

/* A row of the search table: where the function starts, and where its entry is. */
struct row {
	int32_t start, fde;
};

static size_t read_rows(const struct tl_image *img, size_t i, struct row *rows, size_t n)
{
	uintptr_t at = img->eh_frame_hdr + HDR_FIXED + i * sizeof(*rows);

	return tl_os_text_read(at, rows, n * sizeof(*rows)) / sizeof(*rows);
}

static uintptr_t from_header(const struct tl_image *img, int32_t offset)
{
	return img->eh_frame_hdr + (uintptr_t)(intptr_t)offset;
}

int tl_eh_entry(const struct tl_eh_table *t, size_t i, struct tl_eh_entry *e)
{
	struct reader r;

	reader_init(&r);
	if (i >= t->n)
		return -TL_E_NOT_PROVEN;
	return read_fde(t->img, from_header(t->img, t->row[i].fde), &r, e);
}

/* --- the whole table, read once ------------------------------------------------- */

static struct tl_eh_row row_of(const struct tl_image *img, const struct row *from, struct reader *r)
{
	struct tl_eh_row row = {.start = from->start, .fde = from->fde};
	struct tl_eh_entry e;
	uintptr_t early; /* by so much */

	if (read_fde(img, from_header(img, from->fde), r, &e) || e.part.size > INT32_MAX)
		return row;
	early = e.part.start - from_header(img, from->start);
	if (early > r->cie.signal)
		return row;
	row.start += (int32_t)early;
	row.size_pads = (uint32_t)e.part.size * 2 + (e.lsda != 0);
	return row;
}

static int table_alloc(struct tl_eh_table *t, size_t n)
{
	t->row = n ? tl_os_alloc(n * sizeof(*t->row)) : NULL;
	t->n = t->row ? n : 0;
	return n && !t->row ? -TL_E_NOMEM : 0;
}

static int load_rows(struct tl_eh_table *t)
{
	size_t n = 0, got;
	struct row rows[ROWS_AT_ONCE];
	struct reader r;
	int ret = table_alloc(t, count_rows(t->img));

	reader_init(&r);
	for (; n < t->n; n += got) {
		got = read_rows(t->img, n, rows, t->n - n < ROWS_AT_ONCE ? t->n - n : ROWS_AT_ONCE);
		if (!got) /* the rest is not proven */
			break;
		for (size_t i = 0; i < got; i++)
			t->row[n + i] = row_of(t->img, &rows[i], &r);
	}
	return ret;
}

/* --- .eh_frame alone: every entry, in whatever order ------------------------------ */

static bool row_at(
	const struct tl_image *img, uintptr_t at, struct reader *r, struct tl_eh_row *row)
{
	uintptr_t base = img->eh_frame_hdr;
	struct tl_eh_entry e;
	intptr_t start;

	if (read_fde(img, at, r, &e) || e.part.start < img->lo || e.part.start >= img->hi ||
		e.part.size > INT32_MAX)
		return false;
	start = (intptr_t)(e.part.start - base);
	*row = (struct tl_eh_row){
		(int32_t)start, (uint32_t)e.part.size * 2 + (e.lsda != 0), (int32_t)(at - base)};
	return row->start == start && (uintptr_t)row->fde == at - base;
}

/* How many rows there are; with `into`, which has room for so many, those of the first `max`. */
static size_t scan(const struct tl_image *img, struct tl_eh_row *into, size_t max)
{
	uintptr_t at = img->eh_frame_hdr, end = at + img->eh_frame_hdr_size;
	struct tl_eh_row row;
	struct reader r;
	size_t n = 0;

	reader_init(&r);
	while (at < end && n < max) {
		open_entry(&r.c, at);
		if (r.c.bad) /* the last one, of length 0, or damaged */
			break;
		uintptr_t behind = r.c.end;

		if (row_at(img, at, &r, &row)) {
			if (into)
				into[n] = row;
			n++;
		}
		at = behind;
	}
	return n;
}

/* Shell's sort: they come nearly in order. */
static void sort_rows(struct tl_eh_row *row, size_t n)
{
	for (size_t gap = n / 2; gap; gap /= 2)
		for (size_t i = gap; i < n; i++) {
			struct tl_eh_row moved = row[i];
			size_t k = i;

			for (; k >= gap && row[k - gap].start > moved.start; k -= gap)
				row[k] = row[k - gap];
			row[k] = moved;
		}
}

static int load_frames(struct tl_eh_table *t)
{
	int ret = table_alloc(t, scan(t->img, NULL, t->img->eh_frame_hdr_size));

	if (!t->n)
		return ret;
	sort_rows(t->row, scan(t->img, t->row, t->n));
	return 0;
}

/* --- no table: whoever has mapped the image lists its functions -------------------- */

struct listing {
	struct tl_eh_table *t;
	size_t n;
};

static void take(void *arg, uintptr_t start, uintptr_t end)
{
	struct listing *l = arg;

	if (l->n < l->t->n)
		l->t->row[l->n] = (struct tl_eh_row){
			.start = (int32_t)(intptr_t)(start - l->t->img->eh_frame_hdr),
			.size_pads = (uint32_t)(end - start) * 2};
	l->n++;
}

static int load_listed(struct tl_eh_table *t)
{
	struct listing l = {.t = t};
	int ret;

	tl_os_functions(t->img->lo, t->img->hi, take, &l);
	ret = table_alloc(t, l.n);
	l.n = 0;
	if (t->n)
		tl_os_functions(t->img->lo, t->img->hi, take, &l);
	for (; l.n < t->n;) /* some have gone */
		take(&l, t->img->hi, t->img->hi);
	return ret;
}

int tl_eh_load(struct tl_eh_table *t, const struct tl_image *img)
{
	*t = (struct tl_eh_table){.img = img};
	if (img->flags & TL_IMAGE_LISTED)
		return load_listed(t);
	return img->flags & TL_IMAGE_BARE_FRAMES ? load_frames(t) : load_rows(t);
}

void tl_eh_unload(struct tl_eh_table *t)
{
	if (t->row)
		tl_os_free(t->row, t->n * sizeof(*t->row));
	*t = (struct tl_eh_table){0};
}

/* Do so many rows start at or below it, and no more? */
static bool is_upto(const struct tl_eh_table *t, size_t n, intptr_t off)
{
	return (!n || t->row[n - 1].start <= off) && (n == t->n || t->row[n].start > off);
}

size_t tl_eh_upto(struct tl_eh_table *t, uintptr_t addr)
{
	intptr_t off = (intptr_t)(addr - t->img->eh_frame_hdr);
	size_t lo = 0, hi = t->n;

	for (size_t n = t->last ? t->last - 1 : 0; n <= t->n && n < t->last + 3; n++)
		if (is_upto(t, n, off))
			return t->last = n;
	while (lo < hi) { /* lo: rows that start at or below addr */
		size_t mid = lo + (hi - lo) / 2;

		if (t->row[mid].start <= off)
			lo = mid + 1;
		else
			hi = mid;
	}
	return t->last = lo;
}

void tl_pad_add(void *arg, uintptr_t pad)
{
	struct tl_pad_list *l = arg;
	size_t i;

	if (pad < l->lo || pad >= l->hi)
		return;
	for (i = l->n; i && l->pads[i - 1] >= pad; i--)
		if (l->pads[i - 1] == pad)
			return;
	if (l->n == l->max) {
		l->full = true;
		return;
	}
	for (size_t k = l->n++; k > i; k--)
		l->pads[k] = l->pads[k - 1];
	l->pads[i] = pad;
}

static int add_pads(const struct tl_eh_table *t, size_t i, struct tl_pad_list *list)
{
	struct tl_eh_entry e;
	int ret = tl_eh_has_pads(t, i) ? tl_eh_entry(t, i, &e) : 0;

	if (!ret && tl_eh_has_pads(t, i))
		ret = tl_eh_pads(&e, tl_pad_add, list);
	return list->full ? -TL_E_LIMIT : ret;
}

int tl_eh_function(struct tl_eh_table *t, uintptr_t addr, struct tl_func_part *part,
	uintptr_t *pads, size_t max, size_t *npads, uintptr_t *next)
{
	size_t n = t->n ? tl_eh_upto(t, addr) : 0;
	uintptr_t start = n ? tl_eh_start(t, n - 1) : 0;
	struct tl_pad_list list = {.pads = pads, .max = max, .lo = start};
	int ret;

	*npads = 0;
	*next = 0;
	if (!n || addr - start >= tl_eh_size(t, n - 1))
		return -TL_E_NOT_PROVEN;
	*part = (struct tl_func_part){start, tl_eh_size(t, n - 1)};
	*next = tl_eh_start(t, n);
	list.hi = start + part->size;
	ret = add_pads(t, n - 1, &list);
	*npads = list.n;
	return ret;
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
