/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* A module as it is loaded. */
#ifndef TRAPLESS_HOME_MODULE_H
#define TRAPLESS_HOME_MODULE_H

#include <stdint.h>

/* Where the parts of the module are that a session runs: addresses in the target. */
struct tl_home_module {
	uint64_t code, data, strings;
	uint64_t code_size, data_size, strings_size;
	uint64_t options; /* struct tl_tap_options */
	uint64_t symbols, nsymbols; /* struct tl_tap_symbol[], sorted by image and address */
	uint64_t lines, nlines; /* struct tl_tap_line[], likewise */
	uint64_t unwind; /* struct tl_tap_unwind[nimages], or 0 */
	uint64_t rows, frames; /* struct tl_tap_row[], struct tl_tap_frame[] */
	uint64_t images,
		nimages; /* struct tl_symbol_image[]: uint64_t bias, lo, hi of each (0 0 0: not mapped), and more */
};

#endif
