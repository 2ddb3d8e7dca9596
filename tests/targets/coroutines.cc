// SPDX-License-Identifier: MIT
// C++20 coroutines that hand over in the middle of probed calls, by turns, some left before their end by an exception.
// Prints what it counted itself; needs -std=c++20.
#include <coroutine>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>

#define PROBED extern "C" __attribute__((noinline, visibility("default")))

static long entered, returned, bodies, destroyed, bad; // bodies: entered to begin and to go on

struct Guard {
	~Guard() { destroyed++; }
};

struct Numbers {
	struct promise_type {
		long value = 0;
		std::exception_ptr thrown;

		Numbers get_return_object()
		{
			return {std::coroutine_handle<promise_type>::from_promise(*this)};
		}
		std::suspend_always initial_suspend() noexcept { return {}; }
		std::suspend_always final_suspend() noexcept { return {}; }
		std::suspend_always yield_value(long n) noexcept
		{
			value = n;
			return {};
		}
		void return_void() {}
		void unhandled_exception() { thrown = std::current_exception(); }
	};
	std::coroutine_handle<promise_type> handle;
};

PROBED long between(long n)
{
	entered++;
	if (n % 10 == 9)
		throw std::runtime_error("nine");
	returned++;
	return n * 2;
}

static Numbers numbers(long from, long n)
{
	Guard g;
	for (long i = 0; i < n; i++)
		co_yield between(from + i);
}

// Goes on in a coroutine that another call has begun.
PROBED long resumed(Numbers *of, long want)
{
	entered++;
	bodies++;
	of->handle.resume();
	if (of->handle.promise().thrown) {
		std::exception_ptr thrown = of->handle.promise().thrown;
		of->handle.promise().thrown = nullptr;
		std::rethrow_exception(thrown);
	}
	if (!of->handle.done() && of->handle.promise().value != want)
		bad++;
	returned++;
	return want;
}

static void by_turns(long round)
{
	Numbers two[] = {numbers(round, 5), numbers(round + 100, 20)};
	bodies += 2;

	for (long i = 0; i < 20; i++) {
		for (long k = 0; k < 2; k++) {
			try {
				if (!two[k].handle.done())
					resumed(&two[k], 2 * (round + 100 * k + i));
			} catch (const std::runtime_error &) {
			}
		}
	}
	for (Numbers &each : two)
		each.handle.destroy(); // some at their first suspension, some at their last
}

int main(int argc, char **argv)
{
	const long rounds = argc > 1 ? atol(argv[1]) : 10;

	for (long n = rounds; n; n--)
		by_turns(n);
	printf("entered %ld returned %ld bodies %ld wrong %ld\n", entered, returned, bodies, bad);
	if (destroyed != 2 * rounds)
		return 1;
	return 16;
}
