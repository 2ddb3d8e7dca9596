/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The functions that a loaded module may call, by name. */
#include "internal.h"

void tl_runtime_abi_14(void)
{
}

const struct tl_export tl_exports[] = {
#define TL_EXPORT(name) {#name, (void *)(uintptr_t)name},
#include "exports.def"
#undef TL_EXPORT
};
const unsigned tl_nexports = sizeof(tl_exports) / sizeof(tl_exports[0]);

bool tl_same(const char *a, const char *b)
{
	while (*a && *a == *b)
		a++, b++;
	return *a == *b;
}

uint64_t tl_export_find(const char *name)
{
	for (unsigned i = 0; i < tl_nexports; i++)
		if (tl_same(tl_exports[i].name, name))
			return (uintptr_t)tl_exports[i].addr;
	return 0;
}
