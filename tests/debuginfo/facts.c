/* SPDX-License-Identifier: MIT
 * What the debug information reader is asked about: each function is called once with known
 * values, and main prints sizes and offsets as the compiler sees them.
 */
#include <stddef.h>
#include <stdio.h>

#ifdef __clang__
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noinline, noclone))
#endif

enum color { RED, GREEN = 5, BLUE = -7 };
enum big { SMALL, HUGE_ONE = 200 };
typedef unsigned long word;

struct point {
	int x, y;
};

struct node {
	struct node *next;
	const char *name;
	struct point at;
	union {
		int number;
		char letters[8];
	};
	struct {
		short low;
		short high;
	};
	unsigned flag : 3;
	int level : 7;
	unsigned long wide : 40;
	struct point grid[3][2];
	enum color color;
	word w;
	int (*call)(int, ...);
	struct opaque *hidden;
	volatile const char tail[];
};

struct pair {
	long first, second;
};

struct mixed {
	double d;
	long l;
};

struct large {
	long v[4];
};

int global_number = 42;
static long file_number = 43;
__thread int thread_number = 44;
extern int other_number;
struct opaque *hidden_one;
volatile int sink;

NOINLINE int ints(int a, long b, char c, unsigned short d, void *e, int f, int g, int h)
{
	sink = a + (int)b + c + d + (e != NULL) + f + g + h;
	return sink;
}

NOINLINE double floats(float f, double d, int i)
{
	sink = i;
	return f + d;
}

NOINLINE long node_sum(struct node *n, struct point p)
{
	sink = p.x;
	return n->at.x + n->at.y + p.y + n->level;
}

NOINLINE struct pair make_pair(long a, long b)
{
	struct pair p = {a, b};

	sink++;
	return p;
}

NOINLINE struct mixed make_mixed(double d, long l)
{
	struct mixed m = {d, l};

	sink++;
	return m;
}

NOINLINE struct large make_large(long seed)
{
	struct large l = {{seed, seed + 1, seed + 2, seed + 3}};

	sink++;
	return l;
}

NOINLINE void nothing(void)
{
	static int calls;

	calls++;
	file_number += calls;
	thread_number += other_number;
	sink++;
}

static inline __attribute__((always_inline)) int twice(int value)
{
	int doubled = value * 2;

	sink = doubled; /* LINE twice */
	return doubled;
}

NOINLINE int uses_twice(int start)
{
	int one = twice(start);
	int two = twice(start + 100);

	return one + two;
}

NOINLINE int loop(int n)
{
	int sum = 0;

	for (int i = 0; i < n; i++)
		sum += sink + i; /* LINE loop */
	return sum; /* LINE loop_end */
}

__attribute__((cold, noinline)) static void complain(int why)
{
	fprintf(stderr, "complaint %d\n", why);
}

NOINLINE int cold_part(int n)
{
	if (__builtin_expect(n > 1000, 0)) {
		complain(n);
		sink = 7;
		complain(n + 1);
		return -1;
	}
	return n + sink;
}

static int resolved_target(int n)
{
	return n + 1;
}

__attribute__((used)) static int (*resolve(void))(int)
{
	return resolved_target;
}

int indirect(int n) __attribute__((ifunc("resolve")));

static int only_here(int n)
{
	return n * 3 + sink;
}

#define OFF(m)	printf("offset node." #m " %zu\n", offsetof(struct node, m))
#define ADDR(f) printf("addr " #f " %p\n", (void *)(f))

int main(int argc, char **argv)
{
	static struct node n = {.name = "me", .at = {3, 4}, .level = -5, .flag = 6};
	struct point p = {30, 40};
	double d;

	n.wide = 0x123456789a;
	n.number = argc;
	ints(11, -22, 'c', 44, &n, 66, -77, 88);
	d = floats(1.5f, 2.25, 33);
	node_sum(&n, p);
	sink += (int)make_pair(1001, 1002).second;
	sink += (int)make_mixed(6.5, 1004).l;
	sink += (int)make_large(2000).v[2];
	nothing();
	uses_twice(500);
	loop(5);
	cold_part(12);
	sink += indirect(3) + only_here(4) + (argv[0] == NULL) + (int)d;

	printf("size node %zu\n", sizeof(struct node));
	OFF(name);
	OFF(at.y);
	OFF(number);
	OFF(letters);
	OFF(high);
	OFF(grid);
	OFF(color);
	OFF(w);
	OFF(call);
	OFF(tail);
	ADDR(main);
	ADDR(ints);
	ADDR(floats);
	ADDR(loop);
	ADDR(only_here);
	ADDR(&global_number);
	ADDR(&file_number);
	ADDR(&other_number);
	return 0;
}
