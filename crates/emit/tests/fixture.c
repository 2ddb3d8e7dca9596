/* SPDX-License-Identifier: MIT */
/* Every kind of reference that generated code makes; see link.rs. */
extern long imported(const char *text, long n);
void *memcpy(void *to, const void *from, unsigned long n);

static const char *const names[] = {"zero", "one", "two"};
static const long (*const unused_table[1])(void) = {0};

struct big {
	char bytes[600];
};

__attribute__((noinline)) long twice(long n)
{
	return 2 * n;
}

long h_names(long n)
{
	return imported(names[n % 3], twice(n));
}

long h_copy(struct big *to, const struct big *from)
{
	*to = *from;
	return (long)unused_table[0] + to->bytes[599];
}

long h_address(long n)
{
	long (*volatile f)(long) = twice;

	return f(n) + 1;
}
