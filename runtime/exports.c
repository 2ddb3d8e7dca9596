/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The functions that a loaded module may call, by name. */
#include <stddef.h>
#include <trapless/probe.h>
#include <trapless/regs.h>

#include "internal.h"

void tl_runtime_abi_13(void)
{
}

#if defined(__x86_64__)
/* What compiled modules know of us. Does one of these fail? Then it is time for tl_runtime_abi_14. */
#define IS(what, n) _Static_assert(what == n, "modules know another layout: raise tl_runtime_abi_")
IS(sizeof(struct tl_value), 16);
IS(sizeof(struct tl_view), 200);
IS(offsetof(struct tl_view, local_off), 8);
IS(offsetof(struct tl_view, on), 16);
IS(offsetof(struct tl_view, guests), 24);
IS(offsetof(struct tl_view, images), 176);
IS(sizeof(struct tl_env), 88);
IS(sizeof(struct tl_run), 360);
IS(offsetof(struct tl_run, call), 48);
IS(offsetof(struct tl_run, budget), 68);
IS(sizeof(struct tl_stat), 64);
IS(sizeof(struct tl_hist), 32);
IS(sizeof(struct tl_map), 160);
IS(sizeof(struct tl_iter), 48);
IS(sizeof(struct tl_session), 280);
IS(sizeof(struct tl_block), 128);
IS(sizeof(struct tl_lock), 64);
IS(sizeof(struct tl_regs), 144);
IS(sizeof(struct tl_ret_call), 40);
IS(offsetof(struct tl_probe, data), 24);
#endif

const struct tl_export tl_exports[] = {
#define TL_EXPORT(name) {#name, (void *)(uintptr_t)name},
#include "exports.def"
#undef TL_EXPORT
};
const unsigned tl_nexports = sizeof(tl_exports) / sizeof(tl_exports[0]);
