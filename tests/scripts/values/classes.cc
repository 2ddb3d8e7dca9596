/* SPDX-License-Identifier: MIT */
#include <cstdio>
namespace shop
{
struct item {
	int price;
	item *next;
};
class cart
{
      public:
	int n = 3;
	item first{7, nullptr};
	__attribute__((noinline)) int total(const item &extra, int k);
};
__attribute__((noinline)) int cart::total(const item &extra, int k)
{
	int s = n + extra.price * k;
	__asm__ volatile("" : "+r"(s) : "r"(this), "r"(&extra) : "memory");
	return s + first.price;
}
__attribute__((noinline)) int free_one(int &r, item *&p, bool on)
{
	__asm__ volatile("" : : "r"(&r), "r"(&p), "r"((int)on) : "memory");
	r++;
	return r + p->price;
}
} // namespace shop
template <class T> __attribute__((noinline)) T twice(T x)
{
	__asm__ volatile("" : "+r"(x));
	return x + x;
}
int main()
{
	shop::cart c;
	shop::item e{11, &c.first};
	int r = 41;
	shop::item *p = &e;
	int s = 0;
	for (int i = 0; i < 2; i++)
		s += c.total(e, -2) + shop::free_one(r, p, true) + twice<short>(-4) +
		     (int)twice<unsigned long>(5);
	printf("%d\n", s);
}
