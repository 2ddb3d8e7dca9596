// SPDX-License-Identifier: MIT
// Hooks with parameters that only C++ has.
#include "../../include/trapless/hook.h"

namespace ns
{
struct point {
	int x, y;
	point(int a, int b) : x(a), y(b)
	{
	}
	virtual ~point()
	{
	}
};
enum class kind : short { LOW = 3, HIGH };
template <class T> struct box {
	T v;
};
}
typedef ns::box<int> ibox;

TL_HOOK(cxx, types, (const ns::point &, r), (ns::point, v), (ns::point *, p), (ns::kind, k), (int &, n),
	(ns::box<int>, b), (const ibox *, ib), (char16_t, u))

int main()
{
	ns::point a(1, 2), b(3, 4);
	ibox box = {42};
	int n = -7;

	for (int i = 0; i < 2; i++)
		tl_hook(cxx, types, a, b, &b, ns::kind::HIGH, n, box, &box, u'x');
	return n == 5 ? 0 : 1;
}
