/* SPDX-License-Identifier: MIT */
/*
 * Drives a fuzzer where there is no libFuzzer: replays the files it is given,
 * then changes them, by a generator that draws the same for the same seed.
 *
 *     FUZZER -runs=N -seed=N -max_total_time=N -artifact_prefix=PREFIX FILE_OR_FOLDER...
 *
 * The words are libFuzzer's. What an input ended with is left in PREFIXcrash.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "fuzz.h"
#include <sanitizer/common_interface_defs.h>

enum { INPUT_MAX = 1 << 14, CORPUS_MAX = 4096 };

struct file {
	uint8_t *bytes;
	size_t size;
};

static struct file corpus[CORPUS_MAX];
static size_t ncorpus;
static uint8_t input[INPUT_MAX];
static size_t input_size;
static char crash[512] = "crash";
static uint64_t state;
static int report = 2; /* what is tested has no say there */

static uint32_t draw(uint32_t below)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)(state >> 20) % (below ? below : 1);
}

static void keep_input(int sig)
{
	int fd = open(crash, O_CREAT | O_TRUNC | O_WRONLY, 0644);

	if (fd < 0 || write(fd, input, input_size) != (ssize_t)input_size)
		_exit(77);
	dprintf(report, "Test unit written to %s\n", crash);
	signal(sig, SIG_DFL);
	raise(sig);
}

static void add_file(const char *path)
{
	FILE *f = fopen(path, "rb");
	struct file *to = &corpus[ncorpus];

	if (!f || ncorpus == CORPUS_MAX) {
		fprintf(stderr, "cannot take %s\n", path);
		exit(2);
	}
	to->bytes = malloc(INPUT_MAX);
	to->size = to->bytes ? fread(to->bytes, 1, INPUT_MAX, f) : 0;
	ncorpus += to->bytes != NULL;
	fclose(f);
}

static void add(const char *path)
{
	DIR *d = opendir(path);
	struct dirent *e;
	char name[1024];

	if (!d) {
		add_file(path);
		return;
	}
	while ((e = readdir(d))) {
		if (e->d_name[0] == '.')
			continue;
		snprintf(name, sizeof(name), "%s/%s", path, e->d_name);
		add_file(name);
	}
	closedir(d);
}

static void run(void)
{
	uint8_t *exact = malloc(input_size + !input_size); /* so that reads behind it are seen */

	must(exact != NULL);
	memcpy(exact, input, input_size);
	LLVMFuzzerTestOneInput(exact, input_size);
	free(exact);
}

static void cross(void)
{
	const struct file *from = &corpus[draw((uint32_t)ncorpus)];
	size_t at = draw((uint32_t)input_size + 1), n = draw((uint32_t)from->size + 1),
	       off = draw((uint32_t)(from->size - n) + 1);

	n = n < INPUT_MAX - at ? n : INPUT_MAX - at;
	if (!n)
		return;
	memcpy(input + at, from->bytes + off, n);
	input_size = at + n > input_size ? at + n : input_size;
}

static void change(void)
{
	static const uint64_t odd[] = {0, 1, 7, 8, 0x7f, 0x80, 0xff, 0x7fff, 0xffff, 0x7fffffff,
		0x80000000, 0xffffffff, 0x7fffffffffffffff, 0x8000000000000000, ~0ull};
	size_t at = draw((uint32_t)input_size), n = 1u << draw(4);

	switch (draw(8)) {
	case 0:
		input[at] ^= (uint8_t)(1u << draw(8));
		break;
	case 1:
		memcpy(input + at, &odd[draw(sizeof(odd) / sizeof(*odd))],
			n < INPUT_MAX - at ? n : INPUT_MAX - at);
		break;
	case 2:
		input_size = 1 + at;
		break;
	case 3:
		cross();
		break;
	case 4:
		n = n < input_size - at ? n : input_size - at;
		memmove(input + at, input + at + n, input_size - at - n);
		input_size -= n;
		break;
	case 5:
		input[at] += (uint8_t)(draw(33) - 16);
		break;
	default:
		input[at] = (uint8_t)draw(256);
	}
}

static void mutate(void)
{
	uint32_t changes = 1 + draw(12);

	input_size = 0;
	if (ncorpus && draw(8)) {
		const struct file *from = &corpus[draw((uint32_t)ncorpus)];

		memcpy(input, from->bytes, input_size = from->size);
	}
	if (!input_size)
		for (input_size = 1 + draw(512), changes += (uint32_t)input_size; changes > 12;
			changes--)
			input[draw((uint32_t)input_size)] = (uint8_t)draw(256);
	while (changes-- && input_size)
		change();
}

static void replay(void)
{
	for (size_t i = 0; i < ncorpus; i++) {
		memcpy(input, corpus[i].bytes, input_size = corpus[i].size);
		run();
	}
}

int main(int argc, char **argv)
{
	unsigned long runs = ~0ul, seed = 1, seconds = 0, n = 0;
	time_t end;

	for (int i = 1; i < argc; i++) {
		if (argv[i][0] != '-')
			add(argv[i]);
		else if (sscanf(argv[i], "-artifact_prefix=%500s", crash) == 1)
			strcat(crash, "crash");
		else if (sscanf(argv[i], "-runs=%lu", &runs) + sscanf(argv[i], "-seed=%lu", &seed) +
				 sscanf(argv[i], "-max_total_time=%lu", &seconds) <=
			 -3)
			return 2;
	}
	signal(SIGABRT, keep_input);
	signal(SIGSEGV, keep_input);
	signal(SIGALRM, keep_input);
	report = dup(2);
	__sanitizer_set_report_fd((void *)(intptr_t)report);
	if (!freopen("/dev/null", "w", stderr))
		return 2;
	state = seed * 0x9e3779b97f4a7c15ull | 1;
	replay();
	end = time(NULL) + (time_t)seconds;
	for (; n < runs && !(seconds && time(NULL) >= end); n++) {
		alarm(250); /* against hanging: an input takes less than a second */
		mutate();
		run();
	}
	dprintf(report, "%lu runs\n", n);
	return 0;
}
