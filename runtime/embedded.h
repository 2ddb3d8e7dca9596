/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * What embedded C of a script (-g) stands on: it runs inside the traced program,
 * where no library is, so the usual functions on strings are here. docs/embedded-c.md
 * says what such C may do. Included by modules that hold some.
 */
#ifndef TRAPLESS_RUNTIME_EMBEDDED_H
#define TRAPLESS_RUNTIME_EMBEDDED_H

#include <stdarg.h>

#include "script.h"

/* What would only show when it runs, in the traced program, is told with the script's line. */
#pragma GCC diagnostic error "-Wimplicit-function-declaration"
#pragma GCC diagnostic error "-Wint-conversion"
#pragma GCC diagnostic error "-Wincompatible-pointer-types"

#define MAXSTRINGLEN TL_MAXSTRING
#define likely(x)    tl_likely(x)
#define unlikely(x)  tl_unlikely(x)

#define STAP_EMBEDDED static inline __attribute__((unused))

void *memcpy(void *dst, const void *src, size_t n);
void *memmove(void *dst, const void *src, size_t n);
void *memset(void *dst, int c, size_t n);
int memcmp(const void *a, const void *b, size_t n);

STAP_EMBEDDED size_t strnlen(const char *s, size_t max)
{
	size_t n = 0;

	/* without the asm gcc makes a call of strlen() of it, which is this again */
	for (; n < max && s[n]; n++)
		__asm__ volatile("");
	return n;
}

STAP_EMBEDDED size_t strlen(const char *s)
{
	return strnlen(s, SIZE_MAX);
}

STAP_EMBEDDED int strncmp(const char *a, const char *b, size_t n)
{
	for (; n && *a && *a == *b; n--, a++, b++)
		;
	return n ? (unsigned char)*a - (unsigned char)*b : 0;
}

STAP_EMBEDDED int strcmp(const char *a, const char *b)
{
	return strncmp(a, b, SIZE_MAX);
}

STAP_EMBEDDED char *strchr(const char *s, int c)
{
	for (; *s != (char)c; s++)
		if (!*s)
			return NULL;
	return (char *)(uintptr_t)s;
}

STAP_EMBEDDED char *strrchr(const char *s, int c)
{
	char *found = NULL;

	while ((s = strchr(s, c)) != NULL) {
		found = (char *)(uintptr_t)s;
		if (!*s++)
			break;
	}
	return found;
}

STAP_EMBEDDED char *strstr(const char *s, const char *part)
{
	size_t n = strlen(part);

	for (; strncmp(s, part, n); s++)
		if (!*s)
			return NULL;
	return (char *)(uintptr_t)s;
}

/* Like those of BSD: always a NUL at the end; what the whole text would have taken. */
STAP_EMBEDDED size_t strlcpy(char *dst, const char *src, size_t size)
{
	size_t n = strlen(src), fits = n < size ? n : size - 1;

	if (size) {
		memmove(dst, src, fits);
		dst[fits] = 0;
	}
	return n;
}

STAP_EMBEDDED size_t strlcat(char *dst, const char *src, size_t size)
{
	size_t n = strnlen(dst, size);

	return n + strlcpy(dst + n, src, size - n);
}

/* --- snprintf: d i u x X o c s p %, with - 0 width .precision and l ll z h ---------- */

struct stap_out {
	char *to;
	size_t room, n;
};

STAP_EMBEDDED void stap_put(struct stap_out *o, char c)
{
	if (o->n + 1 < o->room)
		o->to[o->n] = c;
	o->n++;
}

struct stap_spec {
	bool left, zero, wide;
	int width, precision; /* -1: none */
};

STAP_EMBEDDED void stap_put_text(
	struct stap_out *o, const struct stap_spec *f, const char *s, int n, char pad)
{
	int i;

	for (i = n; !f->left && i < f->width; i++)
		stap_put(o, pad);
	for (i = 0; i < n; i++)
		stap_put(o, s[i]);
	for (i = n; f->left && i < f->width; i++)
		stap_put(o, ' ');
}

STAP_EMBEDDED void stap_put_number(
	struct stap_out *o, struct stap_spec *f, uint64_t v, unsigned base, bool minus, bool upper)
{
	char buf[32];
	int at = sizeof(buf);

	do {
		unsigned digit = (unsigned)(base == 16 ? v & 15 : base == 8 ? v & 7 : v % 10);

		buf[--at] = (char)(digit < 10 ? '0' + digit : (upper ? 'A' : 'a') + digit - 10);
		v = base == 16 ? v >> 4 : base == 8 ? v >> 3 : v / 10;
	} while (v);
	while (f->precision > (int)sizeof(buf) - at && at > 1)
		buf[--at] = '0';
	if (minus && f->zero && !f->left) {
		stap_put(o, '-');
		f->width--;
	} else if (minus) {
		buf[--at] = '-';
	}
	stap_put_text(o, f, buf + at, (int)sizeof(buf) - at, f->zero && !f->left ? '0' : ' ');
}

STAP_EMBEDDED const char *stap_number(const char *s, int *n, va_list *args)
{
	if (*s == '*') {
		*n = va_arg(*args, int);
		return s + 1;
	}
	for (*n = 0; *s >= '0' && *s <= '9'; s++)
		if (*n < 10000)
			*n = *n * 10 + (*s - '0');
	return s;
}

/* Flags, width, precision, size. */
STAP_EMBEDDED const char *stap_spec(const char *s, struct stap_spec *f, va_list *args)
{
	*f = (struct stap_spec){.precision = -1};
	for (; *s == '-' || *s == '0' || *s == ' ' || *s == '+' || *s == '#'; s++) {
		f->left |= *s == '-';
		f->zero |= *s == '0';
	}
	s = stap_number(s, &f->width, args);
	if (*s == '.')
		s = stap_number(s + 1, &f->precision, args);
	for (; *s == 'l' || *s == 'z' || *s == 'h'; s++)
		f->wide |= *s != 'h';
	return s;
}

STAP_EMBEDDED int vsnprintf(char *to, size_t room, const char *s, va_list given)
{
	struct stap_out o = {to, room, 0};
	struct stap_spec f;
	va_list args;

	va_copy(args, given);
	for (; *s; s++) {
		if (*s != '%') {
			stap_put(&o, *s);
			continue;
		}
		s = stap_spec(s + 1, &f, &args);
		if (*s == 'd' || *s == 'i') {
			int64_t v = f.wide ? va_arg(args, long long) : va_arg(args, int);

			stap_put_number(
				&o, &f, v < 0 ? 0 - (uint64_t)v : (uint64_t)v, 10, v < 0, false);
		} else if (*s == 'u' || *s == 'x' || *s == 'X' || *s == 'o') {
			uint64_t v = f.wide ? va_arg(args, unsigned long long)
					    : va_arg(args, unsigned int);

			stap_put_number(&o, &f, v,
				*s == 'u'   ? 10
				: *s == 'o' ? 8
					    : 16,
				false, *s == 'X');
		} else if (*s == 'p') {
			stap_put(&o, '0');
			stap_put(&o, 'x');
			stap_put_number(&o, &f, (uintptr_t)va_arg(args, void *), 16, false, false);
		} else if (*s == 's') {
			const char *text = va_arg(args, const char *);
			size_t max = f.precision < 0 ? MAXSTRINGLEN : (size_t)f.precision;

			text = text ? text : "(null)";
			stap_put_text(&o, &f, text, (int)strnlen(text, max), ' ');
		} else if (*s == 'c') {
			char c = (char)va_arg(args, int);

			stap_put_text(&o, &f, &c, 1, ' ');
		} else if (*s) {
			stap_put(&o, *s);
		} else {
			break;
		}
	}
	va_end(args);
	if (room)
		to[o.n < room ? o.n : room - 1] = 0;
	return (int)o.n;
}

__attribute__((unused, format(printf, 3, 4))) static int snprintf(
	char *to, size_t room, const char *format, ...)
{
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(to, room, format, args);
	va_end(args);
	return n;
}

/* --- the script's side ---------------------------------------------------------------- */

/* The length of a result that C has written; `s` is in its room, or a text elsewhere. */
STAP_EMBEDDED void stap_text_end(struct tl_run *run, struct tl_str *text, const char *s)
{
	if (s != text->b)
		tl_str_set_c(run, text, s);
	else
		text->len = (uint32_t)strnlen(s, MAXSTRINGLEN - 1);
	text->b[text->len] = 0;
}

__attribute__((unused, format(printf, 2, 3))) static void stap_print(
	struct tl_run *run, const char *format, ...)
{
	TL_STRING(text);
	va_list args;

	va_start(args, format);
	vsnprintf(text->b, MAXSTRINGLEN, format, args);
	va_end(args);
	stap_text_end(run, text, text->b);
	tl_print_str(run, text);
}

__attribute__((unused, format(printf, 2, 3))) static void stap_error(
	struct tl_run *run, const char *format, ...)
{
	char text[TL_ERROR_ROOM];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	tl_run_error(run, "%s", text);
}

#define STAP_PRINTF(...) stap_print(run, __VA_ARGS__)

#endif
