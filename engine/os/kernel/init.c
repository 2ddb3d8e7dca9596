/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Bringing the kernel home up and down. */
#include "contexts.h"
#include "kernel.h"
#include "pages.h"

int tl_os_init(void)
{
	int ret = tl_names_find();

	if (ret)
		return ret;
	ret = tl_marks_check();
	if (ret)
		return ret;
	ret = tl_contexts_init();
	if (ret)
		return ret;
	tl_faults_init();
	ret = tl_images_watch();
	if (ret)
		goto contexts;
	ret = tl_trap_init();
	if (!ret)
		return 0;
	tl_images_unwatch();
contexts:
	tl_contexts_exit();
	return ret;
}

/* Not yet: a work queue's item would have to be waited for with the engine lock held. */
bool tl_os_later(void)
{
	return false;
}

void tl_os_exit(void)
{
	tl_trap_exit();
	tl_images_unwatch();
	tl_faults_exit();
	tl_marks_exit();
	tl_contexts_exit();
	tl_pages_exit();
}
