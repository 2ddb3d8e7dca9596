/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Where probes are refused before an instruction is even looked at. */
#include "../../os/os.h"
#include "../base/core.h"
#include "refuse.h"
#include "reserved.h"

int tl_images_ask(void)
{
	if (tl_core.images_asked)
		return 0;
	tl_core.images_asked = true;
	return tl_os_images_update();
}

int tl_refuse_addr(uintptr_t addr, const struct tl_image **out)
{
	const struct tl_image *img = tl_image_find(addr);
	int ret;

	if (!img) {
		ret = tl_images_ask();
		if (ret < 0)
			return ret;
		img = tl_image_find(addr);
	}
	if (!img)
		return -TL_E_NOT_TEXT;
	ret = tl_text_claimed(addr, addr + 1);
	if (ret)
		return ret;
	if (img->flags & TL_IMAGE_SELF)
		return -TL_E_SELF;
	if (img->flags & TL_IMAGE_VDSO)
		return -TL_E_VDSO;
	*out = img;
	return 0;
}

int tl_refuse_entry(uintptr_t addr, const struct tl_image **out)
{
	return tl_refuse_addr(addr + tl_os_entry_bytes(addr), out);
}
