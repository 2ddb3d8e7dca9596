// SPDX-License-Identifier: MIT
// A structure whose numbers are in the other byte order, as gcc's scalar_storage_order makes them, beside plain ones;
// given by pointer and by value. Prints members that a script may have changed.
#include <stdint.h>
#include <stdio.h>

enum kind { FIRST = 1, SECOND = 2 };

struct plain {
	int within;
};

__attribute__((scalar_storage_order("big-endian"))) struct swapped {
	uint16_t half;
	int32_t word;
	uint64_t whole;
	int low : 5;
	unsigned high : 11;
	enum kind kind;
	uint16_t halves[3];
	enum kind kinds[2];
	char name[4];
	int8_t byte;
	const char *text;
	struct plain plain;
	short rows[2][2];
	double real;
	int *points;
};

struct few {
	uint32_t a;
	int16_t b;
} __attribute__((scalar_storage_order("big-endian")));

__attribute__((noinline)) void look(struct swapped *s, struct swapped by_value, struct few few)
{
	asm volatile("" : : "r"(s), "r"(&by_value), "r"(few.a) : "memory");
}

int main(void)
{
	struct swapped s = {0x0102, -2, 0x0102030405060708, -3, 1025, SECOND, {1, 2, 3},
		{FIRST, SECOND}, "abc", -5, "text", {7}, {{1, 2}, {-3, 4}}, 2.5};
	int points[2] = {4, 5};
	struct few few = {0x01020304, -6};

	s.points = points;
	look(&s, s, few);
	printf("%d %d %d %d %d %d\n", s.half, s.word, s.low, s.high, s.kind, s.halves[1]);
	return 0;
}
