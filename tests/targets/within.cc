// SPDX-License-Identifier: MIT
// Functions inside functions: lambdas, members of classes that a function has for itself, and those in inner blocks.
// Prints the sum of what they were called with.
#include <cstdio>
#include <cstdlib>

#define PROBED __attribute__((noinline))

static inline long scaled(long value, long by)
{
	return value * by;
}

static PROBED long outer(long rounds)
{
	long sum = 0;
	auto add = [&sum](long x, int k) PROBED {
		sum += x * k; // LAMBDA
		asm volatile("" ::: "memory");
		return sum;
	};
	struct Local {
		long base;
		PROBED long member(long y) const
		{
			asm volatile("" ::: "memory");
			return base + y; // MEMBER
		}
		static PROBED long shared(long w)
		{
			asm volatile("" ::: "memory");
			return w + 1;
		}
	};
	Local local{100};
	for (long i = 0; i < rounds; i++) {
		struct Deep {
			PROBED long innermost(long z)
			{
				auto last = [](long v) PROBED {
					asm volatile("" ::: "memory");
					return v + 3; // LAST
				};
				return last(z) + last(z);
			}
		};
		add(i, 2);
		sum += local.member(i) + Local::shared(i) + Deep().innermost(i);
		asm volatile("" : "+r"(sum));
		sum += scaled(sum & 7, i);
	}
	return sum;
}

int main(int argc, char **argv)
{
	printf("%ld\n", outer(argc > 1 ? atol(argv[1]) : 10));
	return 0;
}
