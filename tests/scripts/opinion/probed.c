/* SPDX-License-Identifier: MIT */
/* What the generated scripts of probing.py probe. */
#include <stdlib.h>
#include <string.h>

#define MARK(name, args, ...)                                                                      \
	__asm__ volatile("990: nop\n.pushsection .note.stapsdt,\"\",\"note\"\n"                    \
			 ".balign 4\n.4byte 8, 994f-993f, 3\n.asciz \"stapsdt\"\n"                 \
			 "993: .8byte 990b, 0, 0\n.asciz \"probed\", \"" name "\", \"" args        \
			 "\"\n994: .balign 4\n.popsection\n"                                       \
			 :                                                                         \
			 : __VA_ARGS__)

enum color { RED, GREEN = 5, BLUE };

union word {
	int number;
	char bytes[4];
};

struct inner {
	short s;
	unsigned bit : 3;
};

struct item {
	int n;
	unsigned long big;
	char *name;
	char text[16];
	struct item *next;
	struct inner in;
	struct inner many[3];
	enum color color;
	union word word;
	double real;
	struct {
		int hidden;
	};
	int (*call)(int);
};

typedef struct item item_t;

int counter = 3;
static long hidden_counter;
struct item first = {.n = 1, .name = "first"};
const char *table[4];

static int twice(int x)
{
	hidden_counter += x;
	return 2 * x;
}

static inline __attribute__((always_inline)) int inlined(int a, struct item *at)
{
	int sum = a + at->n;

	return sum * 2;
}

int take(int n, item_t *it, const char *s, enum color c)
{
	int local = n + (int)strlen(s);
	long wide[3] = {n, local, (long)c};

	MARK("taken", "-4@%0 8@%1", "r"(n), "r"(it));
	it->n = local + (int)wide[1];
again:
	if (it->n > 1000) {
		it->n /= 2;
		goto again;
	}
	return twice(local) + inlined(n, it);
}

struct inner give(unsigned char small, double real, struct item whole, void *raw)
{
	MARK("given", "1@%0", "r"((long)small));
	whole.in.s = (short)(real + small + (raw != NULL));
	return whole.in;
}

void nothing(void)
{
	counter++;
}

int main(int argc, char **argv)
{
	struct item it = first;
	void *p = malloc(16);

	it.call = twice;
	it.real = give((unsigned char)argc, 1.5, it, p).s;
	nothing();
	free(p);
	return take(argc, &it, argv[0], RED) == 77777;
}
