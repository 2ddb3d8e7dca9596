// SPDX-License-Identifier: MIT
// A module of a kernel, without BTF.
int sample_open(int flags)
{
	return flags + 1;
}

int two_words(int flags)
{
	return flags + 2;
}

__attribute__((section(".init.text"))) int sample_init(void)
{
	return 0;
}
