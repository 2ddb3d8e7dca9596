/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * A module file in memory. It is untrusted input, also for a kernel: nothing in
 * it is used before tl_tap_check() has said yes; from then on every offset and
 * count in it is good. Context: any; the file stays the caller's.
 */
#ifndef TRAPLESS_HOME_TAP_H
#define TRAPLESS_HOME_TAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <trapless/wire.h>

#define TL_TAP_ABI                                                                                 \
	"tl_runtime_abi_" /* and which: the function that says what runtime a module was made for */

enum { TL_TAP_MAX = 256 << 20, TL_TAP_PAGE = 4096 };

struct tl_tap {
	const uint8_t *file;
	size_t size;
	const struct tl_tap_header *header;
	const char *strings;
	const struct tl_tap_image *images;
	const struct tl_tap_probe *probes;
	const struct tl_tap_part *parts;
	const uint8_t *code, *data;
	const uint32_t *relocs, *warnings, *commands;
	const struct tl_tap_print *prints;
	const struct tl_tap_field *fields;
	const struct tl_tap_import *imports;
	const struct tl_tap_global *globals;
	const struct tl_tap_options *options;
	const struct tl_tap_symbol *symbols;
	const struct tl_tap_line *lines;
	const struct tl_tap_unwind *unwind;
	const struct tl_tap_row *rows;
	const struct tl_tap_frame *frames;
	uint32_t strings_size, nimages, nprobes, nparts, code_size, data_size, nrelocs, nprints,
		nfields, nwarnings;
	uint32_t nimports, nglobals, nsymbols, nunwind, nrows, nframes, ncommands, nlines;
};

/* What is wrong with it. */
enum tl_tap_fault {
	TL_TAP_GOOD,
	TL_TAP_NO_MODULE, /* something else */
	TL_TAP_OTHER_ORDER, /* of bytes */
	TL_TAP_OTHER_VERSION, /* of the format */
	TL_TAP_OTHER_MACHINE,
	TL_TAP_TRUNCATED,
	TL_TAP_BAD_SUM,
	TL_TAP_BAD_TABLES, /* they contradict each other */
};

/* Is `size` bytes at `file` a module for machine `elf` (e_machine)? Fills m; the header even where it is not good. */
enum tl_tap_fault tl_tap_check(struct tl_tap *m, const uint8_t *file, size_t size, uint16_t elf);

static inline const char *tl_tap_string(const struct tl_tap *m, uint32_t at)
{
	return m->strings + at;
}

/* Probes of this kind stand at a place in the text. */
static inline bool tl_tap_stands(uint32_t kind)
{
	return kind == TL_TAP_SITE || kind == TL_TAP_RETURN;
}

/* They are a file's. */
static inline bool tl_tap_is_file(uint32_t kind)
{
	return kind == TL_TAP_FILE_READ || kind == TL_TAP_FILE_WRITE;
}

/* Bytes that CODE and DATA take, DATA behind CODE, whole pages. */
size_t tl_tap_span(const struct tl_tap *m);
/* Where a function of the runtime lies, 0: there is none of that name. */
typedef uint64_t (*tl_tap_export_fn)(void *arg, const char *name);
/*
 * CODE and DATA as they are to stand at `at`, into buf (tl_tap_span() bytes). 0; -TL_E_NO_SYMBOL or -TL_E_VERSION, and
 * *name is the function that is missing: NULL where the module does not tell which runtime it was made for.
 */
int tl_tap_place(const struct tl_tap *m, uint64_t at, uint8_t *buf, tl_tap_export_fn find,
	void *arg, const char **name);

#endif
