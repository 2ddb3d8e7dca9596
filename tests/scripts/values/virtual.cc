/* SPDX-License-Identifier: MIT */
/* A base that two others share, and which lies elsewhere in each object. */
struct base {
	int id = 7;
	virtual ~base() {}
};
struct left : virtual base {
	int l = 1;
};
struct right : virtual base {
	int r = 2;
};
struct both : left, right {
	int b = 3;
};
__attribute__((noinline)) int look(left *p, both *q)
{
	__asm__ volatile("" : : "r"(p), "r"(q) : "memory");
	return p->id + q->b;
}
int main()
{
	both x;
	x.id = 9;
	left y;
	y.id = 5;
	return look(&x, &x) + look(&y, &x) == 0;
}
