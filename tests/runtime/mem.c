/* SPDX-License-Identifier: MIT */
/* The freestanding memcpy and its kin, under other names, against plain loops. */
#define memcpy	own_memcpy
#define memmove own_memmove
#define memset	own_memset
#define memcmp	own_memcmp
#define TL_OWN_MEMORY
#include "../../runtime/mem.c"
#undef memcpy
#undef memmove
#undef memset
#undef memcmp

#include "../unit.h"
#include "cycles.h"

static unsigned char a[200], b[200];

static void fill_both(void)
{
	unsigned i;

	for (i = 0; i < sizeof(a); i++)
		a[i] = b[i] = (unsigned char)(i * 7 + 3);
}

static int same(void)
{
	unsigned i;

	for (i = 0; i < sizeof(a); i++)
		if (a[i] != b[i])
			return 0;
	return 1;
}

static void copies_at_every_distance(void)
{
	unsigned from, to, n, i;
	unsigned char tmp[64];

	for (from = 60; from < 80; from++)
		for (to = 50; to < 90; to++)
			for (n = 0; n < 40; n++) {
				fill_both();
				own_memmove(a + to, a + from, n);
				for (i = 0; i < n; i++)
					tmp[i] = b[from + i];
				for (i = 0; i < n; i++)
					b[to + i] = tmp[i];
				CHECK(same());
			}
	for (n = 0; n < 60; n++) {
		fill_both();
		own_memcpy(a + 1, a + 100 + n % 9, n);
		for (i = 0; i < n; i++)
			b[1 + i] = b[100 + n % 9 + i];
		CHECK(same());
	}
}

static void fills(void)
{
	unsigned n, i;

	for (n = 0; n < 60; n++) {
		fill_both();
		own_memset(a + n % 9, 0x1a5, n);
		for (i = 0; i < n; i++)
			b[n % 9 + i] = 0xa5;
		CHECK(same());
	}
}

static void compares(void)
{
	unsigned n, i;

	fill_both();
	for (n = 0; n < 40; n++) {
		CHECK(own_memcmp(a + 3, b + 3, n) == 0);
		for (i = 0; i < n; i++) {
			b[3 + i] = (unsigned char)(a[3 + i] + 128);
			CHECK((own_memcmp(a + 3, b + 3, n) < 0) == (a[3 + i] < b[3 + i]));
			CHECK(own_memcmp(a + 3, b + 3, n) != 0);
			b[3 + i] = a[3 + i];
		}
	}
}

int main(void)
{
	RUN(copies_at_every_distance);
	RUN(fills);
	RUN(compares);
	return UNIT_RESULT();
}
