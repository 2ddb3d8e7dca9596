/* SPDX-License-Identifier: MIT */
/*
 * The raw stream: records as they are, behind the module that they belong to
 * (include/trapless/wire.h, docs/events.md).
 */
#ifndef TRAPLESS_RUNNER_RAW_H
#define TRAPLESS_RUNNER_RAW_H

#include "../runtime/session.h"

struct session;
struct raw_stream; /* NULL: records go out as text */

/* From here on records go to `fd`. 0, or an errno. */
int raw_start(struct session *s, int fd);
/* 0, or an errno. */
int raw_write(const struct raw_stream *stream, const void *p, size_t n);
void raw_record(struct session *s, uint32_t ring, const struct tl_record *r, const uint8_t *payload,
	uint32_t size);
/* What rings have lost since this was asked last. */
void raw_losses(struct session *s);
void raw_end(struct session *s);

/* What handlers print here is of this thread from now on. Nothing where no raw stream is written. */
void raw_act(struct session *s);

#endif
