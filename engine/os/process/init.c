/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Bringing the process home up and down. */
#include "process.h"

static bool up;

/* Of a home that cannot tell: then every patch is looked at before it is taken away, and that has to do. */
__attribute__((weak)) bool tl_os_images_stale(void)
{
	return false;
}

/* Of a home without a thread to spare. */
__attribute__((weak)) bool tl_os_later(void)
{
	return false;
}

int tl_os_init(void)
{
	int ret;

	if (up)
		return 0;
	ret = tl_home_init();
	if (ret)
		return ret;
	ret = tl_sync_init();
	if (ret) {
		tl_home_exit();
		return ret;
	}
	tl_tcb_init();
	up = true;
	return 0;
}

void tl_os_exit(void)
{
	if (!up)
		return;
	tl_home_exit();
	up = false;
}
