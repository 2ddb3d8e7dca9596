/* SPDX-License-Identifier: MIT */
/* Memory whose content a script reads with the library's functions. */
#include <stdint.h>
#include <uchar.h>

struct memory {
	int8_t c;
	int16_t s;
	int32_t i;
	int64_t l;
	const char *text;
	const char16_t *wide2;
	const char32_t *wide4;
	const char16_t *broken;
	unsigned char bytes[6];
	unsigned char ip6[16];
};

__attribute__((noinline)) long look(struct memory *m, long a, long b)
{
	__asm__ volatile("" ::"r"(m) : "memory");
	return a + b;
}

int main(void)
{
	static const char16_t broken[] = {u'a', 0xd800, u'b', 0};
	struct memory m = {-2, -3, -4, -5, "say \"hi\"\n", u"h\u00e9\u20ac\U0001f600",
		U"h\u00e9\u20ac\U0001f600", broken, {'a', 0, 'b', 7, 0xff, '"'},
		{0x20, 1, 0xd, 0xb8, [15] = 1}};

	return look(&m, -7, 0x123456789) == 0;
}
