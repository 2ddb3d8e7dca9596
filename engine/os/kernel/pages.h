/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The stock of pages for handlers: see tl_os_page_take(). */
#ifndef TRAPLESS_ENGINE_OS_KERNEL_PAGES_H
#define TRAPLESS_ENGINE_OS_KERNEL_PAGES_H

void tl_pages_exit(void); /* no handler runs any more: all of them go, the used ones too */

#endif
