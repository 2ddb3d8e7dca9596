/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Arrays of which little is used, where handlers have pages, and where memory is sparse by itself. */
#include "machine.h"
#include "../../../engine/core/base/sparse.h"

enum { N = 1000, STEP = 72, PAGE = 4096, IN_A_PAGE = 32 };

static struct tl_sparse s;
static size_t size;
static void *mem;

static bool begin(size_t page, size_t step)
{
	fake.page = page;
	fake.pages = 0;
	fake.pages_max = ~0u;
	size = tl_sparse_size(step, N);
	mem = tl_os_alloc(size);
	tl_sparse_init(&s, mem, step, N);
	return mem && tl_sparse_at(&s, 0);
}

static void end(void)
{
	tl_sparse_deinit(&s);
	tl_os_free(mem, size);
	CHECK(fake.pages == 0);
}

/* All made, in some order: none is another one, and each knows its number. */
static void fill(void)
{
	for (size_t n = 0; n < N; n++) {
		size_t i = n * 7 % N;
		size_t *element = tl_sparse_make(&s, i);

		CHECK(element && *element == 0 && element == tl_sparse_make(&s, i));
		*element = i;
	}
	for (size_t i = 0; i < N; i++) {
		const size_t *element = tl_sparse_at(&s, i);

		CHECK(element && *element == i && tl_sparse_index(&s, element) == i);
	}
}

static void by_pages(void)
{
	CHECK(begin(PAGE, STEP) && fake.pages == 1 && size == 32 * sizeof(void *));
	CHECK(tl_sparse_at(&s, IN_A_PAGE - 1) && !tl_sparse_at(&s, IN_A_PAGE));
	CHECK(tl_sparse_make(&s, N - 1) && fake.pages == 2);
	fill();
	CHECK(fake.pages == 32);
	end();
}

static void no_page_is_left(void)
{
	CHECK(begin(PAGE, STEP));
	fake.pages_max = 2;
	CHECK(tl_sparse_make(&s, N - 1) && !tl_sparse_make(&s, IN_A_PAGE) &&
		!tl_sparse_at(&s, IN_A_PAGE));
	fake.pages_max = 3;
	CHECK(tl_sparse_make(&s, IN_A_PAGE));
	end();
}

static void larger_than_a_page(void)
{
	CHECK(begin(PAGE, PAGE + 8) && size == (size_t)N * (PAGE + 8) && fake.pages == 0);
	fill();
	end();
}

static void sparse_by_itself(void)
{
	CHECK(begin(0, STEP) && size == (size_t)N * STEP);
	fill();
	CHECK(fake.pages == 0);
	end();
}

int main(void)
{
	RUN(by_pages);
	RUN(no_page_is_left);
	RUN(larger_than_a_page);
	RUN(sparse_by_itself);
	return UNIT_RESULT();
}
