/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The kernel allows a program so many mappings (vm.max_map_count), and says
 * ENOMEM when there are more. It is the program that would meet the limit
 * after us: at most a quarter of them are ours, and some are always left.
 */
#include "process.h"

enum {
	SPARE = 2048, /* what opening text and detours splits for a moment, and the program's own next ones */
	STEP = 64, /* counting is not cheap */
};

static size_t others, ours, max; /* when they were last counted */
static bool fresh; /* that was since the engine's lock was taken */

void tl_mappings_forget(void)
{
	fresh = false;
}

static void count(void)
{
	size_t n;

	ours = tl_code_mappings();
	tl_home_mappings(&n, &max);
	others = n > ours ? n - ours : 0;
	fresh = true;
}

int tl_mappings_room(size_t more)
{
	size_t now = tl_code_mappings(), want = now + more;

	if (!max || (!now && !fresh) || now > ours + STEP || others + want + SPARE > max)
		count();
	return want > max / 4 || others + want + SPARE > max ? -TL_E_MAPPINGS : 0;
}

int tl_mappings_why(int otherwise)
{
	count();
	return others + ours + SPARE > max ? -TL_E_MAPPINGS : otherwise;
}

void tl_os_code_mappings(size_t *n, size_t *most)
{
	if (!max)
		count();
	*n = tl_code_mappings();
	*most = max / 4;
}
