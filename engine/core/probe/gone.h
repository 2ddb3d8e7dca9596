/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Text that was unmapped, and the probes in it. */
#ifndef TRAPLESS_ENGINE_CORE_PROBE_GONE_H
#define TRAPLESS_ENGINE_CORE_PROBE_GONE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <trapless/probe.h>

struct tl_patch;

#define TL_PROBE_UNMAPPED 2 /* bit of tl_probe.reserved: gone by itself */
#define TL_PROBE_REPLACED 4 /* ... since something else stands there now */

/* Do its bytes stand in the text, of the image that it was made for? */
bool tl_patch_stands(const struct tl_patch *p);
/* Does somebody's breakpoint stand on it? He came after us, so our bytes have to be there until he has gone. */
bool tl_patch_borrowed(const struct tl_patch *p);
/* Probes that are gone by themselves and not unregistered yet; for the listing. */
extern struct tl_probe *tl_gone;
void tl_gone_deinit(void);
/* Those of n that are gone by themselves are their caller's affair again: they are not listed any more. */
void tl_gone_forget(struct tl_probe **probes, size_t n);
/* Forgets probes and patches whose text is gone. No batch may be under way, or only an empty one. */
void tl_drop_gone(void);
/* The same where nothing is known to have changed. Takes the engine lock. */
void tl_text_look(void);
/* At the start of every operation: looks whether images are gone. 0 or -TL_E_. */
int tl_images_refresh(void);

#endif
