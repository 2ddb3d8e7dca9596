// SPDX-License-Identifier: MIT
// Values of libstdc++'s types: texts, containers, smart pointers; and a few that are garbage.
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

enum Colour { RED, GREEN = 5, ALSO_GREEN = 5, BLUE = -1 };
enum class Kind : unsigned char { Small = 1, Large = 200 };

struct Numbers {
	Colour colour, odd;
	Kind kind;
	Colour bits : 4;
	bool yes, no;
	double d, tenth;
	float f, third;
	char c;
	int row[3];
	int table[2][2];
	int many[10];
};

struct Point {
	int x, y;
};

struct Texts {
	std::string little, large, empty;
	std::string_view view;
};

struct Rows {
	std::vector<int> none, few, many;
	std::vector<std::string> words;
	std::vector<Point> points;
	std::vector<std::vector<int>> nested;
	std::array<double, 2> fixed;
};

struct Node {
	int value;
	std::shared_ptr<Node> next;
};

struct Maybes {
	std::optional<int> one, none;
	std::optional<std::string> text;
	std::unique_ptr<Point> owned, empty;
	std::shared_ptr<int> shared;
	std::shared_ptr<Node> ring;
};

struct Garbage {
	std::vector<int> backwards, wild, huge;
	std::string endless, nowhere;
	int after;
};

#define PROBED __attribute__((noinline))

PROBED void numbers(Numbers *p)
{
	asm volatile("" : : "r"(p) : "memory");
}

PROBED void texts(Texts *p)
{
	asm volatile("" : : "r"(p) : "memory");
}

PROBED void rows(const Rows &p)
{
	asm volatile("" : : "r"(&p) : "memory");
}

PROBED void maybes(Maybes *p)
{
	asm volatile("" : : "r"(p) : "memory");
}

PROBED void garbage(Garbage *p)
{
	asm volatile("" : : "r"(p) : "memory");
}

PROBED void whole(const std::string &s, std::vector<int> *p, bool b, Colour c)
{
	asm volatile("" : : "r"(&s), "r"(p), "r"(b), "r"(c) : "memory");
}

static void spoil(void *at, uintptr_t a, uintptr_t b)
{
	uintptr_t words[] = {a, b};

	memcpy(at, words, sizeof(words));
}

int main()
{
	Numbers n = {GREEN, (Colour)7, Kind::Large, BLUE, true, false, -2.5, 0.1, 1.5f, 1.0f / 3, 'c', {1, 2, 3},
		{{1, 2}, {3, 4}}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}};
	Texts t = {"a\"b\n", std::string(300, 'x'), "", std::string_view("viewed", 4)};
	Rows r = {{}, {1, -2, 3}, std::vector<int>(1000, 7), {"one", "two"}, {{1, 2}, {3, 4}}, {{1}, {}, {2, 3}}, {0.5, 2}};
	Maybes m = {5, {}, "text", std::make_unique<Point>(Point{1, 2}), nullptr, std::make_shared<int>(9),
		std::make_shared<Node>(Node{1, nullptr})};
	alignas(Garbage) static char room[sizeof(Garbage)];
	Garbage *g = (Garbage *)room;
	static int some[4] = {1, 2, 3, 4};

	m.ring->next = m.ring;
	spoil(&g->backwards, (uintptr_t)(some + 4), (uintptr_t)some);
	spoil(&g->wild, 8, 4096);
	spoil(&g->huge, (uintptr_t)some, (uintptr_t)some + (1ull << 60));
	spoil(&g->endless, (uintptr_t) "endless", 1ull << 60);
	spoil(&g->nowhere, 16, 5);
	g->after = 77;
	numbers(&n);
	texts(&t);
	rows(r);
	maybes(&m);
	garbage(g);
	whole(t.little, &r.few, true, BLUE);
	m.ring->next = nullptr;
	return 0;
}
