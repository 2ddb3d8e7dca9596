/* SPDX-License-Identifier: MIT */
/* A member that hides one of its base, and one of a virtual base. */
struct point {
	int x, y;
};
struct common {
	int id = 9, f = 8;
};
struct base {
	point f = {1, 2}, g = {3, 4};
};
struct middle : base, virtual common {
};
struct derived : middle {
	int f = 42;
};
__attribute__((noinline)) int look(derived *p)
{
	__asm__ volatile("" : : "r"(p) : "memory");
	return p->f;
}
int main()
{
	derived d;
	return look(&d) != 42;
}
