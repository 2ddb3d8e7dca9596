/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Where probes are refused before an instruction is even looked at. */
#include "internal.h"

struct range {
	struct tl_node node;
	uintptr_t hi;
	int why;
};

static struct tl_index ranges; /* do not overlap */
static struct tl_slab slab = {.size = sizeof(struct range)};

#define RANGE(n) ((struct range *)(void *)((uint8_t *)(n)-offsetof(struct range, node)))

int tl_blacklist_add(uintptr_t lo, uintptr_t hi, int why)
{
	struct range *r;

	TL_ASSERT_HELD();
	if (lo >= hi || tl_index_find(&ranges, lo))
		return -TL_E_INVAL;
	r = tl_slab_get(&slab);
	if (!r)
		return -TL_E_NOMEM;
	r->hi = hi;
	r->why = why;
	tl_index_insert(&ranges, &r->node, lo);
	return 0;
}

void tl_blacklist_deinit(void)
{
	ranges.root = NULL;
	tl_slab_deinit(&slab);
}

int tl_refuse_addr(uintptr_t addr, const struct tl_image **out)
{
	const struct tl_image *img = tl_image_find(addr);
	struct tl_node *n = tl_index_floor(&ranges, addr);

	if (n && addr < RANGE(n)->hi)
		return RANGE(n)->why;
	if (!img) {
		int ret = tl_os_images_update();

		if (ret < 0)
			return ret;
		img = tl_image_find(addr);
	}
	if (!img)
		return -TL_E_NOT_TEXT;
	if (img->flags & TL_IMAGE_SELF)
		return -TL_E_SELF;
	if (img->flags & TL_IMAGE_VDSO)
		return -TL_E_VDSO;
	*out = img;
	return tl_os_text_reserved(addr, addr + 1);
}
