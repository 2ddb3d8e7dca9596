/* SPDX-License-Identifier: MIT */
/* One function of three names: the debug information says the last, which sorts behind the first. */
__attribute__((noinline)) int work_under(int n)
{
	__asm__ volatile("" : "+r"(n));
	return n + 1;
}

int a_work(int n) __attribute__((alias("work_under")));
int b_work(int n) __attribute__((alias("work_under")));

int main(void)
{
	return a_work(1) + b_work(2) - 5;
}
