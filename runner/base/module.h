/* SPDX-License-Identifier: MIT */
/* A module file in memory, checked. Nothing in it is trusted before module_load() has said yes. */
#ifndef TRAPLESS_RUNNER_BASE_MODULE_H
#define TRAPLESS_RUNNER_BASE_MODULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <trapless/wire.h>

struct module {
	uint8_t *file;
	size_t size;
	const struct tl_tap_header *header;
	const char *strings;
	const struct tl_tap_image *images;
	const struct tl_tap_probe *probes;
	const struct tl_tap_part *parts;
	const uint8_t *code, *data;
	const uint32_t *relocs, *formats, *warnings, *commands;
	const struct tl_tap_import *imports;
	const struct tl_tap_global *globals;
	const struct tl_tap_options *options;
	const struct tl_tap_symbol *symbols;
	const struct tl_tap_line *lines;
	const struct tl_tap_unwind *unwind;
	const struct tl_tap_row *rows;
	const struct tl_tap_frame *frames;
	uint32_t strings_size, nimages, nprobes, nparts, code_size, data_size, nrelocs, nformats,
		nwarnings;
	uint32_t nimports, nglobals, nsymbols, nunwind, nrows, nframes, ncommands, nlines;
};

/* 0, or -TL_E_ with the reason in `why` (room bytes). */
int module_load(struct module *m, const char *path, char *why, size_t room);
void module_unload(struct module *m);

static inline const char *module_string(const struct module *m, uint32_t at)
{
	return m->strings + at; /* offsets were checked at load */
}

/* Bytes that CODE and DATA take, DATA behind CODE, whole pages. */
size_t module_span(const struct module *m);
/* Where a function of the runtime lies, 0: there is none of that name. */
typedef uint64_t (*module_export_fn)(void *arg, const char *name);
/* CODE and DATA as they are to stand at `at`, into buf (module_span() bytes). 0 or -TL_E_NO_SYMBOL. */
int module_place(const struct module *m, uint64_t at, uint8_t *buf, module_export_fn find,
	void *arg, char *why, size_t room);

#endif
