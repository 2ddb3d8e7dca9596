/* SPDX-License-Identifier: MIT */
/* Values that optimised code has in some lines of a function only. */
static volatile int out;

__attribute__((noinline)) int seed(int n)
{
	__asm__ volatile("" : "+r"(n));
	return n + 7;
}

__attribute__((noinline)) void sink(int n)
{
	out = n;
	__asm__ volatile("" ::: "memory");
}

__attribute__((noinline)) int work(int n)
{
	int never = n * 3;
	sink(n);
	int later = seed(3);
	sink(later + n);
	sink(5);
	seed(1); /* LINE last */
	return out;
}

int main(int argc, char **argv)
{
	return work(argc + 20) & 0;
}
