/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdint.h>
enum color { RED, GREEN = 5, BLUE = -2 };
typedef unsigned char byte;
struct inner {
	int16_t a;
	const char *name;
};
struct node {
	int value;
	struct node *next;
	struct inner in;
	unsigned f3 : 3;
	int s5 : 5;
	unsigned f10 : 10;
	byte bytes[4];
	enum color color;
	long table[2][3];
	union {
		int i;
		unsigned char c[4];
	} u;
};
int counter = 41;
static const char *label = "lab";
struct node global_node;
__attribute__((noinline)) long work(int n, unsigned char c, short s, struct node *p,
	const char *text, enum color col, byte b, long long big)
{
	long sum = n + c + s;
	struct node *q = p;
	__asm__ volatile("" : "+r"(sum) : : "memory");
	while (q) {
		sum += q->value;
		q = q->next;
	}
	counter++;
	__asm__ volatile("" : "+r"(sum) : "r"(text), "r"(col), "r"(b), "r"(big) : "memory");
	return sum + (label != 0);
}
__attribute__((noinline)) unsigned char narrow(int x)
{
	__asm__ volatile("" : "+r"(x));
	return (unsigned char)x;
}
int main(void)
{
	struct node two = {2, 0, {-2, "in2"}, 1, 1, 1, {1, 2, 3, 4}, RED, {{0}}, {0}};
	struct node one = {1, &two, {-7, "in1"}, 5, -3, 777, {9, 8, 7, 250}, BLUE,
		{{1, 2, 3}, {4, 5, -6}}, {0x01020304}};
	global_node = one;
	long r = 0;
	for (int i = 0; i < 3; i++)
		r += work(-5, 200, -300, &one, "hello", GREEN, 255, -1234567890123LL) +
		     narrow(513 + i);
	printf("%ld\n", r);
	return 0;
}
