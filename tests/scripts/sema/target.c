/* SPDX-License-Identifier: MIT */
/* What the scripts of this folder are about. */
#include <stdlib.h>

struct point {
	int x;
	unsigned small : 3;
	struct point *next;
	const char *name;
	long numbers[4];
};

/* A mark, as <sys/sdt.h> sets it. */
#define MARK(name, args, ...)                                                                      \
	__asm__ volatile("990: nop\n.pushsection .note.stapsdt,\"\",\"note\"\n"                    \
			 ".balign 4\n.4byte 8, 994f-993f, 3\n.asciz \"stapsdt\"\n"                 \
			 "993: .8byte 990b, 0, 0\n.asciz \"targets\", \"" name "\", \"" args       \
			 "\"\n994: .balign 4\n.popsection\n"                                       \
			 :                                                                         \
			 : __VA_ARGS__)

__attribute__((noinline)) int visit(struct point *p, int depth)
{
	MARK("visited", "8@%0 8f@%%xmm0", "r"(p));
	return p->x + depth + (p->name ? p->name[0] : 0) + (int)p->numbers[depth & 3] + p->small;
}

int main(int argc, char **argv)
{
	struct point *p = calloc(1, sizeof(*p));

	p->name = argv[0];
	return visit(p, argc) & 1;
}

#include "../../../include/trapless/hook.h"

struct pair {
	long a, b;
};

TL_HOOK(wire, hooked, (struct point *, at), (unsigned short, count), (struct pair, both),
	(const char *, text), (struct nowhere *, lost), (double, real))

void hook_places(struct point *p, struct pair both)
{
	tl_hook(wire, hooked, p, 3, both, "t", 0, 1.5);
}
