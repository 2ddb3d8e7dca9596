/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "board.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../session.h"

void *memory_open(size_t size, int fd)
{
	struct stat st;
	void *at;

	errno = EINVAL;
	if (fstat(fd, &st) || (uint64_t)st.st_size < size)
		return NULL;
	at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	return at == MAP_FAILED ? NULL : at;
}

void *memory_make(size_t size, int *fd)
{
	*fd = memfd_create("trapless", MFD_CLOEXEC);
	return *fd < 0 || ftruncate(*fd, (off_t)size) ? NULL : memory_open(size, *fd);
}

/* One behind the other, the largest words first. */
static size_t images_size(const struct tl_tap *mod)
{
	return tl_symbol_rows(mod->nimages) * sizeof(struct tl_symbol_image);
}

static size_t board_size(const struct tl_tap *mod)
{
	return images_size(mod) + mod->nprobes + sizeof(struct tuning) +
	       mod->nprobes * sizeof(uint8_t);
}

static int lay_out(struct board *b, const struct tl_tap *mod, void *at)
{
	b->images = at;
	b->states = (uint8_t *)at + images_size(mod);
	b->tuning = (struct tuning *)(b->states + mod->nprobes);
	return at ? 0 : -1;
}

int board_make(struct board *b, const struct tl_tap *mod)
{
	return lay_out(b, mod, memory_make(board_size(mod), &b->fd));
}

int board_open(struct board *b, const struct tl_tap *mod, int fd)
{
	b->fd = fd;
	return lay_out(b, mod, memory_open(board_size(mod), fd));
}

void board_close(struct board *b, const struct tl_tap *mod)
{
	if (b->images)
		munmap(b->images, board_size(mod));
	close(b->fd);
}

static size_t standing_size(const struct tl_tap *mod)
{
	return sizeof(struct standing) + mod->nprobes * sizeof(struct probe_row);
}

struct standing *standing_make(const struct tl_tap *mod, int *fd)
{
	return memory_make(standing_size(mod), fd);
}

struct standing *standing_open(const struct tl_tap *mod, int fd)
{
	return memory_open(standing_size(mod), fd);
}

void standing_close(struct standing *st, const struct tl_tap *mod)
{
	munmap(st, standing_size(mod));
}
