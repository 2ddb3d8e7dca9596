/* SPDX-License-Identifier: MIT */
/* Reads a module file through wire.h's structs and prints what it finds. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <trapless/wire.h>

static unsigned char file[1 << 16];

static const void *section(uint32_t kind)
{
	const struct tl_tap_header *h = (const void *)file;
	const struct tl_tap_section *s = (const void *)(h + 1);

	for (unsigned i = 0; i < h->nsections; i++)
		if (s[i].kind == kind)
			return file + s[i].offset;
	fprintf(stderr, "no section %u\n", kind);
	exit(1);
}

_Static_assert(TL_TAP_KERNEL == KERNEL_TAP, "a module for kernels");
_Static_assert(TL_TAP_IMAGE_KERNEL == KERNEL_IMAGE, "an image that is a kernel");
_Static_assert(TL_RAW_MAGIC == RAW && sizeof(struct tl_record) == RECORD, "the raw stream");
_Static_assert(sizeof(struct tl_tap_probe) == PROBE, "a probe");
_Static_assert(TL_REC_SWITCH == SWITCH, "the last kind of a record");
_Static_assert(TL_PROBES_MAX == 1u << 21, "as many as a record tells apart");
_Static_assert(TL_TAP_PROBE_ENTRY == KERNEL_ENTRY, "a probe of a function's entry");

int main(int argc, char **argv)
{
	FILE *in = fopen(argv[argc - 1], "rb");
	size_t n = in ? fread(file, 1, sizeof(file), in) : 0;
	const struct tl_tap_header *h = (const void *)file;
	const char *str = section(TL_TAP_STRINGS);
	const struct tl_tap_image *i = section(TL_TAP_IMAGES);
	const struct tl_tap_probe *p = section(TL_TAP_PROBES);
	const struct tl_tap_print *pr = section(TL_TAP_PRINTS);
	const struct tl_tap_field *f = section(TL_TAP_FIELDS);
	const struct tl_tap_part *part = section(TL_TAP_PARTS);
	const struct tl_tap_import *imp = section(TL_TAP_IMPORTS);
	const struct tl_tap_global *g = section(TL_TAP_GLOBALS);
	const struct tl_tap_options *o = section(TL_TAP_OPTIONS);
	const struct tl_tap_symbol *s = section(TL_TAP_SYMBOLS);
	const struct tl_tap_unwind *u = section(TL_TAP_UNWIND);
	const struct tl_tap_row *row = section(TL_TAP_ROWS);
	const struct tl_tap_frame *fr = section(TL_TAP_FRAMES);

	printf("%d %u %u %u %u %d %s %u %llx\n", h->magic == TL_TAP_MAGIC, h->version, h->machine,
		h->word, h->big_endian, h->size == n, str + h->name, h->flags,
		(unsigned long long)h->build_hash[1]);
	printf("%s %u %02x%02x %u %llu\n", str + i->path, i->flags, i->build_id[0], i->build_id[1],
		i->build_id_len, (unsigned long long)i->file_size);
	printf("%u %u %u %u %llx %lld %u %u %x %x %u %s %s %s %s %s\n", p->kind, p->flags,
		p->process, p->image, (unsigned long long)p->addr, (long long)p->arg, p->first_part,
		p->nparts, p->handler, p->on_entry, p->call_data, str + p->point, str + p->func,
		str + p->script, str + p->name, str + p->event);
	printf("%s %s %u %u %s %s\n", str + pr->format, str + pr->script, pr->first_field,
		pr->nfields, str + f->name, str + f->unit);
	printf("%llx %llx %s %u\n", (unsigned long long)part->addr, (unsigned long long)part->size,
		str + imp->name, imp->slot);
	printf("%s %u %u %u %u %u %u %u %u %u %u %lld %s %u %lld %lld %lld\n", str + g->name,
		g->type, g->sharded, g->nkeys, g->wrap, g->key_types[0], g->key_types[1], g->offset,
		g->size, g->capacity, g->lock, (long long)g->init, str + g->init_string, g->hist,
		(long long)g->hist_low, (long long)g->hist_high, (long long)g->hist_step);
	printf("%u %u %u %u %u %u\n", o->globals_size, o->nlocks, o->max_string, o->max_skipped,
		o->stack, o->uses);
	printf("%llx %llx %u %s\n", (unsigned long long)s->addr, (unsigned long long)s->size,
		s->image, str + s->name);
	printf("%llx %u %u %x %u\n", (unsigned long long)u->base, u->first_row, u->nrows, row->at,
		row->frame);
	printf("%u %u %u %d %x %x %d %d\n", fr->cfa, fr->flags, fr->base, fr->offset, fr->moved,
		fr->by_base, fr->saved[3], fr->saved[16]);
	return 0;
}
