// SPDX-License-Identifier: MIT
// C++ for the debug information reader: scopes, overloads, templates, references, inheritance.
#include <cstdio>
#include <string>

#define NOINLINE __attribute__((noinline))

volatile int sink;

namespace ns {

struct Base {
	int base_value = 5;
	virtual ~Base() {}
};

class Shape : public Base {
public:
	explicit Shape(int n) : size(n) {}
	NOINLINE int get(int add) const;
	NOINLINE int get(double scale) const;
	static int count;
	int size;
	std::string label;
};

int Shape::count = 17;

int Shape::get(int add) const
{
	sink = add;
	return size + add;
}

int Shape::get(double scale) const
{
	sink = (int)scale;
	return (int)(size * scale);
}

namespace inner {
NOINLINE int deep(const Shape &shape, int &out)
{
	out = shape.size;
	return sink = shape.base_value;
}
} // namespace inner

template <typename T> NOINLINE T biggest(T a, T b)
{
	sink = 1;
	return a > b ? a : b;
}

} // namespace ns

namespace {
NOINLINE int hidden(int n)
{
	return sink = n + 1;
}
} // namespace

struct NotTrivial {
	int n;
	explicit NotTrivial(int v) : n(v) {}
	NotTrivial(const NotTrivial &o) : n(o.n + 1) {}
};

NOINLINE NotTrivial make_not_trivial(int v)
{
	return NotTrivial(v);
}

int main()
{
	ns::Shape s(9);
	int out = 0;

	sink = s.get(21) + s.get(2.0);
	sink = ns::inner::deep(s, out);
	sink = ns::biggest<int>(3, 4) + (int)ns::biggest<double>(3.5, 4.5);
	sink = hidden(50) + make_not_trivial(8).n;
	std::printf("size ns::Shape %zu\n", sizeof(ns::Shape));
	return 0;
}
