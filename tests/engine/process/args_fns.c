/* SPDX-License-Identifier: MIT */
/* Apart from args.c, so that calls are calls. */
#include "args.h"

long ints(int a, long b, char c, unsigned short d, const char *e, size_t f)
{
	return a + 2 * b + 3 * c + 4 * d + 5 * e[0] + 6 * (long)f;
}

double doubles(float a, double b, double c, double d, double e, double f, double g, float h)
{
	return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h;
}

double both(int a, double b, long c, float d, const char *e, double f)
{
	return a + 2 * b + 3 * (double)c + 4 * d + 5 * e[0] + 6 * f;
}

long twenty(long a1, long a2, long a3, long a4, long a5, long a6, long a7, long a8, long a9,
	long a10, long a11, long a12, long a13, long a14, long a15, long a16, long a17, long a18,
	long a19, long a20)
{
	return a1 + 2 * a2 + 3 * a3 + 4 * a4 + 5 * a5 + 6 * a6 + 7 * a7 + 8 * a8 + 9 * a9 +
	       10 * a10 + 11 * a11 + 12 * a12 + 13 * a13 + 14 * a14 + 15 * a15 + 16 * a16 +
	       17 * a17 + 18 * a18 + 19 * a19 + 20 * a20;
}

double twenty_both(long i1, double d1, long i2, double d2, long i3, double d3, long i4, double d4,
	long i5, double d5, long i6, double d6, long i7, double d7, long i8, double d8, long i9,
	double d9, long i10, double d10)
{
	return (double)(i1 + 2 * i2 + 3 * i3 + 4 * i4 + 5 * i5 + 6 * i6 + 7 * i7 + 8 * i8 + 9 * i9 +
			10 * i10) +
	       d1 / 2 + d2 / 4 + d3 / 8 + d4 / 16 + d5 / 32 + d6 / 64 + d7 / 128 + d8 / 256 +
	       d9 / 512 + d10 / 1024;
}

long double longs(long double a, int b, long double c, double d)
{
	return a * b + c * d;
}

__int128 wide(__int128 a, long b, __int128 c, __int128 d)
{
	return a * b - c * 3 + d * 5;
}

double structs(
	struct pair p, struct point q, struct mixed m, struct small s, struct big b, struct pair r)
{
	long n = p.a + 2 * p.b + 3 * m.n + 4 * s.i + 5 * r.a + 6 * r.b;

	for (int i = 0; i < 5; i++)
		n += (7 + i) * b.v[i];
	return (double)n + q.x / 2 + q.y / 4 + m.d / 8 + s.f / 16;
}

long lined(int a, struct lined l, long b)
{
	if ((uintptr_t)&l % 32)
		return -1;
	return a + 2 * l.v[0] + 3 * l.v[1] + 4 * l.v[2] + 5 * l.v[3] + 6 * b;
}

struct big made(long from, double scale)
{
	struct big b;

	for (int i = 0; i < 5; i++)
		b.v[i] = (long)((double)(from + i) * scale);
	return b;
}

double vsum(int n, const char *kinds, va_list args)
{
	double total = n;

	for (int i = 0; kinds[i]; i++) {
		if (kinds[i] == 'd')
			total += (i + 1) * va_arg(args, double);
		else if (kinds[i] == 'L')
			total += (i + 1) * (double)va_arg(args, long double);
		else
			total += (i + 1) * (double)va_arg(args, long);
	}
	return total;
}

double sum(int n, const char *kinds, ...)
{
	va_list args;
	double total;

	va_start(args, kinds);
	total = vsum(n, kinds, args);
	va_end(args);
	return total;
}

long fact(long n, double unused)
{
	long (*volatile self)(long, double) = fact;

	return n < 2 ? 1 : n * self(n - 1, unused + 1);
}

__m128d v128(__m128d a, int b, __m128d c)
{
	return a + b * c;
}
