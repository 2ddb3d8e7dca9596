/* SPDX-License-Identifier: MIT */
/*
 * A flight recorder in the own process: hooks become events of the trace facility, a ring keeps the last ones, and
 * they are told when somebody wants to know: at SIGUSR1, and at the end.
 *
 *     make && ./recorder             4000 jobs
 *     ./recorder 0 & kill -USR1 $!   jobs without end
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <trapless/hook.h>
#include <trapless/hooks.h>
#include <trapless/trace.h>
#include <unistd.h>

TL_HOOK(job, begin, (uint64_t, number), (uint32_t, worker))
TL_HOOK(job, end, (uint64_t, number), (double, result))

enum { WORKERS = 2, LANES = 4, KEPT = 8 };
static uint64_t jobs = 4000, last;

/* --- what is recorded ----------------------------------------------------------- */

static void do_job(uint64_t number, uint32_t worker)
{
	double result = 0;

	tl_hook(job, begin, number, worker);
	for (uint64_t i = 1; i <= number % 1000; i++)
		result += 1.0 / (double)i;
	tl_hook(job, end, number, result);
}

static void *work(void *worker)
{
	static int working = WORKERS;
	uint64_t number;

	while ((number = __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED)) <= jobs)
		do_job(number, (uint32_t)(uintptr_t)worker);
	if (!__atomic_sub_fetch(&working, 1, __ATOMIC_RELAXED))
		kill(getpid(), SIGUSR2);
	return NULL;
}

/* --- the recorder ------------------------------------------------------------------ */

static struct tl_trace_ring *ring;
static struct tl_tracer tracer = {.name = "recorder", .trace = tl_trace_ring_record};

static void must(const char *what, int ret)
{
	if (ret >= 0)
		return;
	fprintf(stderr, "cannot %s: %s; %s\n", what, tl_error_text(ret), tl_error_next(ret));
	exit(2);
}

static void start_recording(void)
{
	const struct tl_trace_ring_config config = {
		.lanes = LANES, .records = KEPT, .payload = 64, .overwrite = true};

	must("make a ring", tl_trace_ring_create(&config, &ring));
	must("make events of job:*", tl_hooks_trace("job:*"));
	tracer.data = ring;
	must("record", tl_tracer_register(&tracer));
	printf("recording; SIGUSR1 tells the last events\n");
	fflush(stdout);
}

static void print_field(const struct tl_trace_field *f, const char *payload)
{
	uint64_t bits = 0;
	double real;

	memcpy(&bits, payload + f->offset, f->size < sizeof(bits) ? f->size : sizeof(bits));
	memcpy(&real, &bits, sizeof(real));
	if (f->kind == TL_TRACE_FLOATING)
		printf(" %s=%.3f", f->name, real);
	else
		printf(" %s=%" PRIu64, f->name, bits);
}

static int print_record(const struct tl_trace_record *r, void *first)
{
	const struct tl_trace_type *type = tl_trace_describe(r->event);
	uint64_t *since = first;

	if (!*since)
		*since = r->time;
	printf("%12" PRIu64 " %8" PRIu32 " %s", r->time - *since, r->thread, type->name);
	for (uint32_t i = 0; i < type->nfields; i++)
		print_field(&type->fields[i], r->payload);
	printf("\n");
	return 0;
}

/* Nothing is recorded meanwhile: who reads more slowly than threads write would never come to the end. */
static void print_last(void)
{
	static size_t read;
	uint64_t first = 0;
	size_t n;

	must("stop recording", tl_tracer_unregister(&tracer));
	printf("%12s %8s event\n", "ticks", "thread");
	n = tl_trace_ring_read(ring, print_record, &first);
	read += n;
	printf("the last %zu events; %" PRIu64 " of %" PRIu64 " were overwritten\n", n,
		tl_trace_ring_lost(ring), tl_trace_ring_lost(ring) + read);
	fflush(stdout);
	must("record", tl_tracer_register(&tracer));
}

/* A signal that is waited for interrupts nothing, so that reading may print. SIGUSR2: all jobs are done. */
static void print_on_signals(const sigset_t *set)
{
	int sig;

	while (!sigwait(set, &sig) && sig == SIGUSR1)
		print_last();
}

int main(int argc, char **argv)
{
	pthread_t workers[WORKERS];
	sigset_t set;

	if (argc > 1)
		jobs = strtoull(argv[1], NULL, 0);
	if (!jobs)
		jobs = UINT64_MAX;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGUSR2);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	start_recording();
	for (uintptr_t i = 0; i < WORKERS; i++)
		if (pthread_create(&workers[i], NULL, work, (void *)i))
			return 2;
	print_on_signals(&set);
	for (int i = 0; i < WORKERS; i++)
		pthread_join(workers[i], NULL);
	print_last();
	tl_tracer_unregister(&tracer);
	tl_hooks_untrace("job:*");
	tl_trace_ring_destroy(ring);
	return 0;
}
