// SPDX-License-Identifier: MIT
// A coroutine that goes on in several places. Prints how often it did; needs -std=c++20, clang -fcoroutines-ts.
#include <coroutine>
#include <cstdio>

struct Numbers {
	struct promise_type {
		long value = 0;

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
		void unhandled_exception() {}
	};
	std::coroutine_handle<promise_type> handle;
};

__attribute__((noinline)) Numbers between(long from, long to)
{
	for (long i = from; i < to; i++) {
		co_yield i; // BODY
		co_yield -i;
	}
}

int main()
{
	long times = 0, sum = 0;

	for (Numbers n = between(3, 8);; times++) {
		n.handle.resume();
		if (n.handle.done()) {
			n.handle.destroy();
			break;
		}
		sum += n.handle.promise().value;
	}
	printf("%ld %ld\n", times + 1, sum);
	return 0;
}
