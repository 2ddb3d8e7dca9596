// SPDX-License-Identifier: MIT
// Pointers and references that an inlined copy does not need: what they point to is in registers.
#include <cstdio>
struct pair {
	int a, b;
};
__attribute__((noinline)) int keep(int n)
{
	__asm__ volatile("" : "+r"(n));
	return n;
}
static inline __attribute__((always_inline)) int both(const pair *p)
{
	int s = keep(1);
	return s + keep(p->a) + keep(p->b); // BOTH
}
static inline __attribute__((always_inline)) int all(const int *q, const int *const *r, const int &t)
{
	int s = keep(2);
	return s + keep(*q) + **r + t; // ALL
}
__attribute__((noinline)) int outer(int x)
{
	pair p;
	int k = x * 3;
	const int *kp = &k;

	p.a = keep(x);
	p.b = keep(x + 1);
	return both(&p) + keep(x) + all(&k, &kp, k) + keep(k);
}
int main()
{
	std::printf("%d\n", outer(6));
	return 0;
}
