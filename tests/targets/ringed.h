/* SPDX-License-Identifier: MIT */
/* An io_uring, by its system calls alone: the kernel makes threads in the process that serve it. */
#ifndef TESTS_TARGETS_RINGED_H
#define TESTS_TARGETS_RINGED_H

#include <linux/io_uring.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

struct ring {
	int fd;
	int polled; /* a thread of the kernel's looks for what comes in */
	struct io_uring_params is;
	uint32_t size;
	uint8_t *words; /* head, tail and list of both queues */
	struct io_uring_sqe *entries;
};

/* 0, or -1: there is none here. */
static inline int ring_make(struct ring *r, int polled)
{
	const uint32_t entries = 8;

	*r = (struct ring){.polled = polled};
	r->is.flags = polled ? IORING_SETUP_SQPOLL : 0;
	r->is.sq_thread_idle = 60000; /* milliseconds */
	r->fd = (int)syscall(SYS_io_uring_setup, entries, &r->is);
	if (r->fd < 0 || !(r->is.features & IORING_FEAT_SINGLE_MMAP))
		return -1;
	r->size = r->is.cq_off.cqes + r->is.cq_entries * (uint32_t)sizeof(struct io_uring_cqe);
	r->words = mmap(NULL, r->size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, r->fd,
		IORING_OFF_SQ_RING);
	r->entries = mmap(NULL, r->is.sq_entries * sizeof(*r->entries), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_POPULATE, r->fd, IORING_OFF_SQES);
	return r->words == MAP_FAILED || r->entries == MAP_FAILED ? -1 : 0;
}

static inline uint32_t *ring_word(const struct ring *r, uint32_t offset)
{
	return (uint32_t *)(r->words + offset);
}

static inline void ring_end(struct ring *r)
{
	munmap(r->words, r->size);
	munmap(r->entries, r->is.sq_entries * sizeof(*r->entries));
	close(r->fd);
}

/* What does nothing, by a thread of the kernel's; 0 once it is done. */
static inline int ring_turn(struct ring *r)
{
	uint32_t *tail = ring_word(r, r->is.sq_off.tail), *done = ring_word(r, r->is.cq_off.head);
	uint32_t at = *tail & *ring_word(r, r->is.sq_off.ring_mask);

	r->entries[at] = (struct io_uring_sqe){.opcode = IORING_OP_NOP, .flags = IOSQE_ASYNC};
	ring_word(r, r->is.sq_off.array)[at] = at;
	__atomic_store_n(tail, *tail + 1, __ATOMIC_SEQ_CST);
	if (!r->polled || *ring_word(r, r->is.sq_off.flags) & IORING_SQ_NEED_WAKEUP)
		syscall(SYS_io_uring_enter, r->fd, !r->polled, 0,
			r->polled ? IORING_ENTER_SQ_WAKEUP : 0, NULL, 0);
	while (__atomic_load_n(ring_word(r, r->is.cq_off.tail), __ATOMIC_ACQUIRE) == *done)
		if (syscall(SYS_io_uring_enter, r->fd, 0, 1, IORING_ENTER_GETEVENTS, NULL, 0) < 0)
			return -1;
	__atomic_store_n(done, *done + 1, __ATOMIC_RELEASE);
	return 0;
}

#endif
