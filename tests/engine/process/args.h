/* SPDX-License-Identifier: MIT */
/* Functions for argument probes: each tells by its result whether it got what it was given. */
#ifndef TRAPLESS_TESTS_ARGS_H
#define TRAPLESS_TESTS_ARGS_H

#include <emmintrin.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

struct pair {
	long a, b;
};
struct point {
	double x, y;
};
struct mixed {
	long n;
	double d;
};
struct small {
	float f;
	int i;
};
struct big {
	long v[5];
};
struct lined {
	_Alignas(32) long v[4];
};

long ints(int a, long b, char c, unsigned short d, const char *e, size_t f);
double doubles(float a, double b, double c, double d, double e, double f, double g, float h);
double both(int a, double b, long c, float d, const char *e, double f);
long twenty(long a1, long a2, long a3, long a4, long a5, long a6, long a7, long a8, long a9,
	long a10, long a11, long a12, long a13, long a14, long a15, long a16, long a17, long a18,
	long a19, long a20);
double twenty_both(long i1, double d1, long i2, double d2, long i3, double d3, long i4, double d4,
	long i5, double d5, long i6, double d6, long i7, double d7, long i8, double d8, long i9,
	double d9, long i10, double d10);
long double longs(long double a, int b, long double c, double d);
__int128 wide(__int128 a, long b, __int128 c, __int128 d);
double structs(
	struct pair p, struct point q, struct mixed m, struct small s, struct big b, struct pair r);
long lined(int a, struct lined l, long b);
struct big made(long from, double scale);
double sum(int n, const char *kinds, ...);
double vsum(int n, const char *kinds, va_list args);
long fact(long n, double unused);
__m128d v128(__m128d a, int b, __m128d c);

/* args_wide.c: 0, or which step went wrong */
int args_wide_32(void);
int args_wide_64(void);

/* args.S: as twenty_both(), with an entry for each rung */
typedef __typeof__(twenty_both) twenty_both_fn;
twenty_both_fn at_whole, at_short, at_pushes, at_jump, at_call;

/* args.S */
struct regs_seen {
	uint64_t ax, cx, dx, bx, sp, bp, si, di, r8, r9, r10, r11, r12, r13, r14, r15, flags;
};
/* Loads *in and the state at `area`, calls regs_target() or what `in->ax` ... was told to be. */
void regs_call(const struct regs_seen *in, const void *area);
void regs_target(void); /* stores to regs_seen, and the state to regs_state */
void regs_handler(void); /* stores to regs_got and regs_got_state, and spoils everything */
void regs_save(void *area);
extern struct regs_seen regs_seen, regs_got;
extern uint8_t regs_state[], regs_got_state[];
extern uint64_t regs_mask;
extern int regs_level; /* 0 SSE, 1 AVX, 2 AVX-512 */
#define REGS_STATE 4096

#endif
