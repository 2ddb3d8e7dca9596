/* SPDX-License-Identifier: MIT */
#include <linux/compiler.h>

#include "twins.h"

static noinline long twin(long x)
{
	barrier();
	return x + 1;
}

long twins_first(long x)
{
	return 3 * twin(x);
}
