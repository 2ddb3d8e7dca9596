/* SPDX-License-Identifier: MIT */
/* Hooks with parameters of every kind, two of them in both files. */
#include "hooks.h"

TL_HOOK(net, packet_in, (const struct packet *, p), (uint32_t, len), (unsigned char, c),
	(double, d))
TL_HOOK_VERDICT(sec, may_open, int, 0, (const char *, path), (int, flags))
TL_HOOK(kind, by_value, (struct pair, pr), (float, fl), (short, n))

void other(long i);

int main(int argc, char **argv)
{
	struct packet p = {argc};
	struct pair pr = {1, 2};

	tl_hook(net, packet_in, &p, argc, 'c', 1.5);
	tl_hook(kind, by_value, pr, 2.5f, -3);
	tl_hook(demo, tick, argc, argv[0]);
	other(argc);
	return tl_verdict(sec, may_open, argv[0], argc);
}
