/* SPDX-License-Identifier: MIT */
/* The process home without an engine above it: what lib/own.c answers in libtrapless. */
#include "../../../engine/os/process/own.h"

int tl_home_init(void)
{
	return 0;
}

void tl_home_exit(void)
{
	tl_own_trap_exit();
}

uintptr_t tl_own_guard(uintptr_t key)
{
	(void)key;
	return 0;
}

int tl_os_images_update(void)
{
	return 0;
}
