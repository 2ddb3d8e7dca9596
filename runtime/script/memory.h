/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The traced program's memory. A failing read is the run-time error "read fault [man error::fault] at ADDR". */
#ifndef TRAPLESS_RUNTIME_SCRIPT_MEMORY_H
#define TRAPLESS_RUNTIME_SCRIPT_MEMORY_H

#include "run.h"

int64_t tl_load(struct tl_run *run, uint64_t addr, uint32_t size,
	bool is_signed); /* 1, 2, 4, 8 bytes; may fail */
/* The same, 0 instead of the error. */
int64_t tl_load_or_0(struct tl_run *run, uint64_t addr, uint32_t size, bool is_signed);
/* The low 1, 2, 4 or 8 bytes; "write fault [man error::fault] at ADDR". */
void tl_store(struct tl_run *run, uint64_t addr, uint32_t size, int64_t value); /* may fail */
void tl_store_bytes(struct tl_run *run, uint64_t addr, const void *src, int64_t n); /* may fail */
bool tl_user_read(struct tl_run *run, void *dst, uint64_t addr, uint32_t size); /* may fail */
void tl_user_string(struct tl_run *run, struct tl_str *dst, uint64_t addr); /* may fail */
void tl_user_string_n(
	struct tl_run *run, struct tl_str *dst, uint64_t addr, int64_t n); /* may fail */
/* user_string2(): the other text instead of the error. */
void tl_user_string2(
	struct tl_run *run, struct tl_str *dst, uint64_t addr, const struct tl_str *other);
/* user_string_quoted(): in quotes, with C escapes; "<unknown>" address form on a fault. */
void tl_user_string_quoted(struct tl_run *run, struct tl_str *dst, uint64_t addr);
/* inlen bytes, NULs too, in at most len (0: "") bytes of text; the address on a fault, or an error. */
void tl_user_buffer_quoted(
	struct tl_run *run, struct tl_str *dst, uint64_t addr, int64_t inlen, int64_t len);
void tl_user_buffer_quoted_error(
	struct tl_run *run, struct tl_str *dst, uint64_t addr, int64_t inlen, int64_t len);
/* UTF-16 (unit 2) and UTF-32 (4) as UTF-8; may fail. */
void tl_user_string_wide(struct tl_run *run, struct tl_str *dst, uint64_t addr, uint32_t unit);
void tl_mem_bytes(
	struct tl_run *run, struct tl_str *dst, uint64_t addr, int64_t n); /* for %m %M; may fail */

/*
 * Where `vaddr` of image number n lies in this process; may fail (not mapped). Of several copies of the image it is the
 * one that the probe stands in.
 */
static inline uint64_t tl_image_addr(struct tl_run *run, uint32_t n, uint64_t vaddr)
{
	const struct tl_view *v = run->view;
	const uint64_t *image = v->images ? v->images + (size_t)n * v->image_words : NULL;

	if (run->env->image == n)
		return run->env->bias + vaddr;
	if (tl_likely(image && n < v->nimages && image[1] < image[2]))
		return image[0] + vaddr;
	tl_run_error(run, "image %d is not mapped in this process", (int64_t)n);
	return 0;
}

/* What a library's loader writes into a word for thread-local variables. */
enum tl_tls_way {
	TL_TLS_OFFSET, /* how far from the thread pointer one is (TPOFF64) */
	TL_TLS_DESCRIPTOR, /* in the second of two words the same, or where module and offset are (TLSDESC) */
	TL_TLS_MODULE, /* the module's number (DTPMOD64) */
};
/*
 * Where the calling thread has the variable `offset` of such a library, by the word at `slot`, which is for the variable
 * `slot_of`. May fail: "thread-local storage of LIBRARY is not allocated in this thread yet".
 */
uint64_t tl_tls_addr(struct tl_run *run, uint64_t tp, enum tl_tls_way way, uint64_t slot,
	uint64_t slot_of, uint64_t offset, const char *library);

#endif
