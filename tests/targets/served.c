// SPDX-License-Identifier: MIT
// Pages that a thread of the program serves (userfaultfd), each looked at once: served ROUNDS. Prints how many it served
// and looked at; 77 where the kernel refuses.
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef UFFD_USER_MODE_ONLY
#define UFFD_USER_MODE_ONLY 1
#endif
#define PAGE 4096

struct page {
	long number;
	char name[16];
};

static int faults;
static char *pages;
static long served, looked;

__attribute__((noinline)) static long serve(long number)
{
	served++;
	asm volatile("" ::: "memory");
	return number;
}

__attribute__((noinline)) static void look(struct page *page)
{
	asm volatile("" : : "r"(page) : "memory");
	looked++;
}

static void *server(void *unused)
{
	_Alignas(PAGE) static char room[PAGE];
	struct page *page = (void *)room;
	struct uffd_msg m;

	(void)unused;
	while (read(faults, &m, sizeof(m)) == sizeof(m)) {
		unsigned long at = m.arg.pagefault.address & ~(unsigned long)(PAGE - 1);
		struct uffdio_copy copy = {at, (unsigned long)room, PAGE, 0, 0};

		page->number = serve((at - (unsigned long)pages) / PAGE);
		strcpy(page->name, "served");
		ioctl(faults, UFFDIO_COPY, &copy);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	long i, rounds = argc > 1 ? atol(argv[1]) : 20;
	struct uffdio_api api = {.api = UFFD_API};
	struct uffdio_register range;
	pthread_t t;

	faults = (int)syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY);
	if (faults < 0 || ioctl(faults, UFFDIO_API, &api)) {
		perror("userfaultfd");
		return 77;
	}
	pages = mmap(
		NULL, rounds * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memset(&range, 0, sizeof(range));
	range.range.start = (unsigned long)pages;
	range.range.len = (unsigned long)rounds * PAGE;
	range.mode = UFFDIO_REGISTER_MODE_MISSING;
	if (ioctl(faults, UFFDIO_REGISTER, &range) || pthread_create(&t, NULL, server, NULL))
		return 77;
	for (i = 0; i < rounds; i++)
		look((struct page *)(pages + i * PAGE));
	printf("%ld %ld\n", served, looked);
	return 0;
}
