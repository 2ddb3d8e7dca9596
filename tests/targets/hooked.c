// SPDX-License-Identifier: MIT
// Hooks, whose places are passed once for each line read, or once. LIBRARY: without main(); MAIN: nothing else.
#include "hooked.h"
#include <stdio.h>

#ifndef MAIN
TL_HOOK_VERDICT(sec, may_open, int, 0, (const char *, path), (int, flags))

void places(void)
{
	struct node last, first;
	struct pair pr = {-1, 1L << 40};

	last.value = -9, last.name = "last", last.next = 0;
	first.value = 5, first.name = "first", first.next = &last;
	tl_hook(kinds, whole, -5, 250, -300, 65000, -70000, 4000000000u, -5000000000,
		18000000000000000000ull);
	tl_hook(kinds, others, "a \"text\"", pr, &first, 1.5, -0.25f, GREEN, true, &last);
	for (unsigned i = 1; i <= 10; i++)
		tl_hook(net, packet_in, i, &pr);
	if (tl_verdict(sec, may_open, "/etc/motd", 3))
		printf("denied\n");
	other_places();
}
#endif

#ifndef LIBRARY
int main(int argc, char **argv)
{
	(void)argv;
	do {
		places();
		printf("on %d\n", tl_hook_enabled(net, packet_in));
		fflush(stdout);
	} while (argc > 1 && getchar() != -1);
	return 0;
}
#endif
