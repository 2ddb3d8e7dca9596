/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * printf as SystemTap has it. One formatter for sprintf() in handlers, for
 * PRINTF records in the runner, and for the host.
 *
 *   %[-+ #0]*[width|*][.precision|.*][h|l|L]*conversion
 *   d i u x X o   64-bit numbers          p   %#x
 *   s text        c one character (%#c escapes unprintable ones)
 *   C one character by its number in Unicode, as UTF-8 (likewise)
 *   m M           memory as it is / as hex digits (arguments are the bytes)
 *   b             binary, 1 2 4 8 bytes in this machine's order     %%
 */
#include "internal.h"

#define WIDTH_MAX 8192

enum { LEFT = 1, PLUS = 2, SPACE = 4, SPECIAL = 8, ZERO = 16 };

struct spec {
	unsigned flags;
	int32_t width, precision; /* -1: none */
	bool width_arg, precision_arg;
	char conversion; /* 0: the format ends inside */
};

struct sink {
	tl_text_fn fn;
	void *arg;
	int stop;
};

static void put(struct sink *o, const char *s, size_t n)
{
	if (n && !o->stop)
		o->stop = o->fn(o->arg, s, n);
}

static void fill(struct sink *o, char c, int64_t n)
{
	char buf[32];

	if (n <= 0)
		return;
	memset(buf, c, sizeof(buf));
	for (; n > (int64_t)sizeof(buf); n -= (int64_t)sizeof(buf))
		put(o, buf, sizeof(buf));
	put(o, buf, (size_t)n);
}

/* --- parsing ----------------------------------------------------------------------- */

static int32_t clamp(int64_t v)
{
	return v < 0 ? 0 : v > WIDTH_MAX ? WIDTH_MAX : (int32_t)v;
}

static const char *parse_number(const char *p, int32_t *v)
{
	int32_t n = 0;

	for (; *p >= '0' && *p <= '9'; p++)
		n = clamp((int64_t)n * 10 + (*p - '0'));
	*v = n;
	return p;
}

static unsigned flag_of(char c)
{
	switch (c) {
	case '-':
		return LEFT;
	case '+':
		return PLUS;
	case ' ':
		return SPACE;
	case '#':
		return SPECIAL;
	case '0':
		return ZERO;
	}
	return 0;
}

/* p is behind the '%'; returns what follows the conversion. */
static const char *parse(const char *p, struct spec *s)
{
	unsigned flag;

	s->flags = 0;
	s->width = s->precision = -1;
	s->width_arg = s->precision_arg = false;
	while ((flag = flag_of(*p)) != 0) {
		s->flags |= flag;
		p++;
	}
	if (*p >= '0' && *p <= '9')
		p = parse_number(p, &s->width);
	else if (*p == '*')
		s->width_arg = true, p++;
	if (*p == '.') {
		p++;
		s->precision = 0;
		if (*p >= '0' && *p <= '9')
			p = parse_number(p, &s->precision);
		else if (*p == '*')
			s->precision_arg = true, p++;
	}
	while (*p == 'h' || *p == 'l' || *p == 'L')
		p++;
	s->conversion = *p;
	return *p ? p + 1 : p;
}

static char kind_of(char conversion)
{
	switch (conversion) {
	case 'd':
	case 'i':
	case 'u':
	case 'x':
	case 'X':
	case 'o':
	case 'p':
	case 'c':
	case 'C':
	case 'b':
		return 'd';
	case 's':
		return 's';
	case 'm':
	case 'M':
		return 'm';
	}
	return 0;
}

int tl_format_kinds(const char *fmt, char *kinds, uint32_t max, uint32_t *bad)
{
	const char *p = fmt, *at;
	struct spec s;
	uint32_t n = 0, i, k;
	char add[3];

	while (*p) {
		if (*p++ != '%')
			continue;
		at = p - 1;
		p = parse(p, &s);
		k = 0;
		if (s.width_arg)
			add[k++] = '*';
		if (s.precision_arg)
			add[k++] = '*';
		if (kind_of(s.conversion))
			add[k++] = kind_of(s.conversion);
		else if (s.conversion != '%') {
			*bad = (uint32_t)(at - fmt);
			return -1;
		}
		for (i = 0; i < k; i++, n++)
			if (n < max)
				kinds[n] = add[i];
	}
	return (int)n;
}

/* --- conversions ---------------------------------------------------------------------- */

static uint32_t digits_of(char *buf, uint64_t v, unsigned base, bool large)
{
	const char *digits = large ? "0123456789ABCDEF" : "0123456789abcdef";
	char tmp[24];
	uint32_t n = 0, len = 0;
	uint64_t rem;

	do {
		if (base == 10) {
			v = tl_udiv(v, 10, &rem);
		} else {
			rem = v & (base - 1);
			v >>= base == 16 ? 4 : 3;
		}
		tmp[n++] = digits[rem];
	} while (v);
	while (n)
		buf[len++] = tmp[--n];
	return len;
}

static void number(struct sink *o, const struct spec *s, int64_t value)
{
	bool is_signed = s->conversion == 'd' || s->conversion == 'i', large = s->conversion == 'X';
	bool special = (s->flags & SPECIAL) || s->conversion == 'p';
	unsigned base = s->conversion == 'o' ? 8 : is_signed || s->conversion == 'u' ? 10 : 16;
	bool zero = (s->flags & ZERO) && !(s->flags & LEFT);
	uint64_t v = (uint64_t)value;
	char prefix[3], digits[24];
	uint32_t nprefix = 0, n;
	int64_t zeros, pad;

	if (is_signed && value < 0) {
		prefix[nprefix++] = '-';
		v = 0 - v;
	} else if (is_signed && s->flags & (PLUS | SPACE)) {
		prefix[nprefix++] = s->flags & PLUS ? '+' : ' ';
	}
	if (special && base != 10)
		prefix[nprefix++] = '0';
	if (special && base == 16)
		prefix[nprefix++] = large ? 'X' : 'x';
	n = digits_of(digits, v, base, large);
	zeros = s->precision > (int64_t)n ? s->precision - (int64_t)n : 0;
	pad = s->width - (int64_t)nprefix - zeros - n;
	if (!zero && !(s->flags & LEFT))
		fill(o, ' ', pad);
	put(o, prefix, nprefix);
	fill(o, '0', zero && pad > 0 ? zeros + pad : zeros);
	put(o, digits, n);
	if (s->flags & LEFT)
		fill(o, ' ', pad);
}

/* A character that %#c writes as an escape: the escape, and its length. */
static uint32_t escape(char *buf, unsigned char c)
{
	static const char from[] = "\a\b\f\n\r\t\v'\\", to[] = "abfnrtv'\\";
	uint32_t i;

	for (i = 0; from[i]; i++)
		if ((unsigned char)from[i] == c) {
			buf[1] = to[i];
			return 2;
		}
	buf[1] = (char)('0' + (c >> 6));
	buf[2] = (char)('0' + (c >> 3 & 7));
	buf[3] = (char)('0' + (c & 7));
	return 4;
}

static void padded(struct sink *o, const struct spec *s, const char *text, uint32_t n)
{
	if (!(s->flags & LEFT))
		fill(o, ' ', s->width - (int64_t)n);
	put(o, text, n);
	if (s->flags & LEFT)
		fill(o, ' ', s->width - (int64_t)n);
}

static void character(struct sink *o, const struct spec *s, int64_t value)
{
	char buf[4] = "\\";
	unsigned char c = (unsigned char)value;
	uint32_t n = 1;

	if (s->flags & SPECIAL && (c < 0x20 || c >= 0x7f || c == '\'' || c == '\\'))
		n = escape(buf, c);
	else
		buf[0] = (char)c;
	padded(o, s, buf, n);
}

/* Returns its length. */
static uint32_t utf8(char *buf, uint32_t c)
{
	uint32_t more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3, i;

	buf[0] = (char)((0xff00 >> (more + 1) & 0xff) | c >> 6 * more);
	for (i = 1; i <= more; i++)
		buf[i] = (char)(0x80 | (c >> 6 * (more - i) & 0x3f));
	return more + 1;
}

/* No character has such a number: halves of UTF-16's pairs, and what is too large. */
static bool is_no_character(uint32_t c)
{
	return c > 0x10ffff || c - 0xd800 < 0x800;
}

static void wide_character(struct sink *o, const struct spec *s, int64_t value)
{
	char buf[16] = "\\u{";
	uint32_t c = (uint32_t)value, n;

	if (c < 0x80)
		return character(o, s, value);
	if (!is_no_character(c) && !(s->flags & SPECIAL && c < 0xa0))
		return padded(o, s, buf, utf8(buf, c));
	n = 3 + digits_of(buf + 3, c, 16, false);
	buf[n++] = '}';
	padded(o, s, buf, n);
}

static void text(struct sink *o, const struct spec *s, const struct tl_fmt_arg *a)
{
	uint32_t len = a->s ? a->len : 0;

	if (s->precision >= 0 && len > (uint32_t)s->precision)
		len = (uint32_t)s->precision;
	if (!(s->flags & LEFT))
		fill(o, ' ', s->width - (int64_t)len);
	put(o, a->s, len);
	if (s->flags & LEFT)
		fill(o, ' ', s->width - (int64_t)len);
	if (s->flags & ZERO) /* documented: a NUL behind the text */
		put(o, "", 1);
}

static void memory(struct sink *o, const struct spec *s, const struct tl_fmt_arg *a)
{
	uint32_t len = a->s ? a->len : 0, want = s->precision > 0 ? (uint32_t)s->precision : 1, i,
		 shown;
	char hex[2];

	if (len > want)
		len = want;
	shown = s->conversion == 'M' ? 2 * len : len;
	if (!(s->flags & LEFT))
		fill(o, ' ', s->width - (int64_t)shown);
	if (s->conversion == 'm')
		put(o, a->s, len);
	for (i = 0; s->conversion == 'M' && i < len; i++) {
		hex[0] = "0123456789abcdef"[(unsigned char)a->s[i] >> 4];
		hex[1] = "0123456789abcdef"[a->s[i] & 15];
		put(o, hex, 2);
	}
	if (s->flags & LEFT)
		fill(o, ' ', s->width - (int64_t)shown);
	if (s->flags & ZERO)
		put(o, "", 1);
}

static int32_t binary_size(int32_t n)
{
	return n == 1 || n == 2 || n == 4 || n == 8 ? n : -1;
}

static void binary(struct sink *o, const struct spec *s, int64_t value)
{
	int32_t size = binary_size(s->precision), width = s->width;
	uint16_t v16 = (uint16_t)value;
	uint32_t v32 = (uint32_t)value;
	uint8_t v8 = (uint8_t)value;
	char buf[8];

	if (size < 0)
		size = width < 0 || binary_size(width) < 0 ? 8 : width;
	if (!(s->flags & LEFT))
		fill(o, 0, width - (int64_t)size);
	if (size == 1)
		memcpy(buf, &v8, 1);
	else if (size == 2)
		memcpy(buf, &v16, 2);
	else if (size == 4)
		memcpy(buf, &v32, 4);
	else
		memcpy(buf, &value, 8);
	put(o, buf, (size_t)size);
	if (s->flags & LEFT)
		fill(o, 0, width - (int64_t)size);
}

static void convert(struct sink *o, const struct spec *s, const struct tl_fmt_arg *a)
{
	switch (s->conversion) {
	case 's':
		text(o, s, a);
		break;
	case 'm':
	case 'M':
		memory(o, s, a);
		break;
	case 'c':
		character(o, s, a->l);
		break;
	case 'C':
		wide_character(o, s, a->l);
		break;
	case 'b':
		binary(o, s, a->l);
		break;
	default:
		number(o, s, a->l);
	}
}

/* Where arguments come from: one of the two. */
struct source {
	const struct tl_fmt_arg *args;
	const struct tl_value *values;
	uint32_t n, i;
};

/* The coming argument; a number 0 and empty text when they have run out. */
static struct tl_fmt_arg next_arg(struct source *s)
{
	struct tl_fmt_arg a = {0, "", 0};
	const struct tl_value *v;

	if (s->i >= s->n)
		return a;
	if (s->args)
		return s->args[s->i++];
	v = &s->values[s->i++];
	a.l = v->l;
	a.s = v->s ? v->s->b : NULL;
	a.len = v->s ? v->s->len : 0;
	return a;
}

/* Width and precision that are arguments. */
static void take_stars(struct spec *s, struct source *from)
{
	if (s->width_arg)
		s->width = clamp((int32_t)next_arg(from).l); /* a negative one is none */
	if (s->precision_arg)
		s->precision = clamp((int32_t)next_arg(from).l);
}

static int format(const char *fmt, struct source *from, tl_text_fn out, void *arg)
{
	struct sink o = {out, arg, 0};
	const char *start;
	struct tl_fmt_arg a;
	struct spec s;

	while (*fmt && !o.stop) {
		for (start = fmt; *fmt && *fmt != '%'; fmt++)
			;
		put(&o, start, (size_t)(fmt - start));
		if (!*fmt)
			break;
		fmt = parse(fmt + 1, &s);
		take_stars(&s, from);
		if (kind_of(s.conversion)) {
			a = next_arg(from);
			convert(&o, &s, &a);
		} else {
			put(&o, "%", 1);
			if (s.conversion != '%')
				put(&o, &s.conversion, s.conversion != 0);
		}
	}
	return o.stop;
}

int tl_format(const char *fmt, const struct tl_fmt_arg *args, uint32_t n, tl_text_fn out, void *arg)
{
	struct source from = {args, NULL, args ? n : 0, 0};

	return format(fmt, &from, out, arg);
}

int tl_format_values(
	const char *fmt, const struct tl_value *values, uint32_t n, tl_text_fn out, void *arg)
{
	struct source from = {NULL, values, n, 0};

	return format(fmt, &from, out, arg);
}

int tl_format_args(const uint8_t *payload, uint32_t size, const char *fmt, struct tl_fmt_arg *args,
	uint32_t max)
{
	char kinds[TL_FMT_ARGS_MAX];
	uint32_t bad, at = 0, len;
	int i, n = tl_format_kinds(fmt, kinds, TL_FMT_ARGS_MAX, &bad);

	if (n < 0 || (uint32_t)n > max || n > TL_FMT_ARGS_MAX)
		return -1;
	for (i = 0; i < n; i++) {
		args[i] = (struct tl_fmt_arg){0, NULL, 0};
		if (at > size || size - at < 8)
			return -1;
		if (kinds[i] == 'd' || kinds[i] == '*') {
			args[i].l = (int64_t)tl_get64(payload + at);
			at += 8;
			continue;
		}
		len = tl_get32(payload + at);
		if (len > size - at - 4)
			return -1;
		args[i].s = (const char *)payload + at + 4;
		args[i].len = len;
		at += (4 + len + 7) & ~7u;
	}
	return n;
}
