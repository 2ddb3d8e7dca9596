/* SPDX-License-Identifier: MIT */
#include <linux/compiler.h>

#include "twins.h"

static noinline long twin(long x)
{
	barrier();
	return x + 2;
}

long twins_second(long x)
{
	return 5 * twin(x);
}
