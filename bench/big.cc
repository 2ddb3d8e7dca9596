// SPDX-License-Identifier: MIT
// One part of a program with much debug information, for bench/start: g++ -g -DUNIT=n.
#include <algorithm>
#include <cstdio>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <regex>
#include <set>
#include <string>
#include <unistd.h>
#include <unordered_map>
#include <vector>

#define JOIN2(a, b) a##b
#define JOIN(a, b)  JOIN2(a, b)

namespace JOIN(part, UNIT)
{
struct item {
	int number;
	std::string text;
	std::vector<item> inner;
};

static std::map<std::string, item> by_text;
static std::unordered_map<int, std::shared_ptr<item>> by_number;

long sum(const std::set<int> &all)
{
	long n = 0;

	for (int i : all)
		n += i;
	return n;
}

bool matches(const std::string &text)
{
	static const std::regex word("[a-z]+[0-9]*");

	return std::regex_match(text, word);
}

void keep(int n, const std::string &text)
{
	std::deque<std::function<int(int)>> todo;
	std::vector<item> sorted;

	by_text[text] = item{n, text, {}};
	by_number[n] = std::make_shared<item>(by_text[text]);
	todo.push_back([n](int x) { return x + n; });
	for (auto &i : by_text)
		sorted.push_back(i.second);
	std::sort(sorted.begin(), sorted.end(),
		[](const item &a, const item &b) { return a.number < b.number; });
}
} // namespace JOIN(part, UNIT)

#if UNIT == 0
extern "C" __attribute__((noinline)) long plain(long n)
{
	__asm__ volatile("" : "+r"(n));
	return n + 1;
}

int main()
{
	part0::keep(1, "one");
	std::puts("ready");
	std::fflush(stdout);
	for (;;) {
		plain(1);
		usleep(1000);
	}
}
#endif
