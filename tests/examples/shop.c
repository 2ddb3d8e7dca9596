/* SPDX-License-Identifier: MIT */
/*
 * A shop with several tills, for the examples: it knows its own counts.
 *
 *   shop TILLS SALES     every till sells that often, then the counts are printed
 *   shop TILLS 0         sells until SIGTERM, about a thousand times a second
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { GOODS = 3, LEAK_EVERY = 10, TILLS = 8, KEPT = 777 };

struct item {
	const char *name;
	int price;
};

static const struct item goods[GOODS] = {{"apple", 3}, {"bread", 5}, {"cheese", 8}};
static volatile sig_atomic_t closing;
static unsigned long limit, sold[TILLS], kept[TILLS];
static void *shelf[TILLS];

__attribute__((noinline)) int same(const char *a, const char *b)
{
	__asm__ volatile("");
	return !strcmp(a, b);
}

__attribute__((noinline)) int price_of(const char *name, int pieces)
{
	int i;

	for (i = 0; i < GOODS; i++) {
		if (same(goods[i].name, name))
			return goods[i].price * pieces;
	}
	return -1;
}

__attribute__((noinline)) int sell(int till, unsigned long n)
{
	char *receipt = malloc(100);
	int sum = price_of(goods[n % GOODS].name, (int)(n % 7) + 1);

	sprintf(receipt, "till %d: %d", till, sum);
	free(receipt);
	if (n % LEAK_EVERY == 0) {
		void **paper = malloc(KEPT);

		*paper = shelf[till];
		shelf[till] = paper;
		kept[till]++;
	}
	return sum;
}

static void *till_main(void *arg)
{
	int till = (int)(long)arg;

	while (!closing && (!limit || sold[till] < limit)) {
		sell(till, sold[till]);
		sold[till]++;
		if (!limit)
			usleep(1000);
	}
	return NULL;
}

static void on_term(int sig)
{
	(void)sig;
	closing = 1;
}

int main(int argc, char **argv)
{
	int tills = argc > 1 ? atoi(argv[1]) : 1, i;
	unsigned long sales = 0, papers = 0;
	pthread_t t[TILLS];

	limit = argc > 2 ? strtoul(argv[2], NULL, 10) : 100;
	signal(SIGTERM, on_term);
	printf("ready\n");
	fflush(stdout);
	for (i = 0; i < tills && i < TILLS; i++)
		pthread_create(&t[i], NULL, till_main, (void *)(long)i);
	for (i = 0; i < tills && i < TILLS; i++) {
		pthread_join(t[i], NULL);
		sales += sold[i];
		papers += kept[i];
	}
	printf("sold %lu kept %lu\n", sales, papers);
	return 0;
}
