/* SPDX-License-Identifier: MIT */
/*
 * Does my code survive when malloc fails? And does it leak then?
 *
 * The program puts probes on its own C library: one on malloc() that makes the
 * n-th call of a test return NULL, and one on free(). It runs the code under
 * test with n = 1, 2, 3 ... until no call is left to fail, and compares the
 * number of blocks taken and given back. Nothing is relinked or wrapped, and
 * calls that libraries make count too.
 *
 *     make && ./faults
 *
 * `list_add()` below has two bugs; the program finds both.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <trapless/probe.h>

/* --- the code under test ---------------------------------------------------- */

struct list {
	char *text;
	struct list *next;
};

static void list_free(struct list *l)
{
	while (l) {
		struct list *next = l->next;

		free(l->text);
		free(l);
		l = next;
	}
}

static struct list *list_add(struct list *l, const char *text)
{
	struct list *head = malloc(sizeof(*head));

	if (!head)
		return NULL; /* bug 1: the caller loses l */
	head->text = malloc(strlen(text) + 1);
	if (!head->text) {
		list_free(l);
		return NULL; /* bug 2: head is lost */
	}
	strcpy(head->text, text);
	head->next = l;
	return head;
}

static int under_test(void)
{
	const char *const words[] = {"jump", "pun", "window"};
	struct list *l = NULL;

	for (int i = 0; i < 3; i++) {
		l = list_add(l, words[i]);
		if (!l)
			return -1;
	}
	list_free(l);
	return 0;
}

/* --- the probes ---------------------------------------------------------------- */

/* Handlers touch no vector registers and call no library. */
#define HANDLER __attribute__((target("general-regs-only")))

static struct {
	long calls, fail_at, given, taken;
} mem;

/* At the entry of malloc: either let it run, or return NULL to its caller in its place. */
static int HANDLER at_malloc(struct tl_probe *p, struct tl_regs *regs, struct tl_thread *self)
{
	(void)p;
	(void)self;
	if (++mem.calls != mem.fail_at) {
		mem.given++;
		return 0;
	}
	regs->ax = 0;
	regs->ip = *(uint64_t *)regs->sp;
	regs->sp += 8;
	return 1; /* go on at regs->ip */
}

static int HANDLER at_free(struct tl_probe *p, struct tl_regs *regs, struct tl_thread *self)
{
	(void)p;
	(void)self;
	mem.taken += regs->di != 0;
	return 0;
}

int main(void)
{
	/* A changed stack pointer needs TL_PROBE_REGS. */
	struct tl_probe at_m = {.addr = (void *)malloc,
		.pre = at_malloc,
		.flags = TL_PROBE_REGS | TL_PROBE_DISABLED};
	struct tl_probe at_f = {.addr = (void *)free, .pre = at_free, .flags = TL_PROBE_DISABLED};
	struct tl_probe *both[] = {&at_m, &at_f};
	size_t which = 0;
	int ret = tl_probes_register(both, 2, &which), leaks = 0;

	if (ret) {
		fprintf(stderr, "cannot probe %s: %s; %s\n", which ? "free" : "malloc",
			tl_error_text(ret), tl_error_next(ret));
		return 2;
	}
	for (long n = 1;; n++) {
		int result;

		memset(&mem, 0, sizeof(mem));
		mem.fail_at = n;
		tl_probe_enable(&at_m);
		tl_probe_enable(&at_f);
		result = under_test();
		tl_probe_disable(&at_m);
		tl_probe_disable(&at_f);
		if (mem.calls < n)
			break; /* there was no n-th call */
		printf("malloc call %ld fails: result %d, %ld block(s) lost\n", n, result,
			mem.given - mem.taken);
		leaks += mem.given != mem.taken;
	}
	tl_probes_unregister(both, 2);
	printf("%d of the failures leak\n", leaks);
	return 0;
}
