/* SPDX-License-Identifier: MIT */
/*
 * What the guardian reads of a target: ELF headers and notes where its images
 * are mapped, the loader's list, and the control block that the target can
 * write. The input is all of that memory; the mappings are the fuzzer's own.
 */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "../../runner/base/slots.h"
#include "fuzz.h"
#include "../../runner/guardian/guardian.h"
#include "../../runner/guardian/session/loader.h"
#include "../../runner/guardian/session/resolve.h"
#include "../../runner/guardian/trace/loop.h"
#include "../../runner/guardian/trace/remote.h"
#include "../../runner/guardian/trace/say.h"
#include "../../runner/guardian/trace/threads.h"

enum { PROBES = 3, IMAGES = 2, CHUNK = 64 };

static struct guardian g;
static struct client client;
static struct tl_tap mod;
static struct tl_tap_header header;
static struct tl_tap_probe probes[PROBES];
static struct tl_tap_part parts[PROBES];
static struct tl_tap_image images[IMAGES];
static struct tl_symbol_image shared[IMAGES + TL_IMAGE_COPIES];
static char told[PROBES * (SLOT_COPIES + 1)];
static uint8_t states[PROBES];
static const uint8_t *memory;
static size_t memory_size;

/* --- what the guardian's other files would do ------------------------------------- */

/* The same bytes wherever one looks, from a place that depends on the address. */
size_t target_read(struct guardian *unused, pid_t pid, uint64_t addr, void *buf, size_t len)
{
	size_t i;

	(void)unused, (void)pid;
	if (!memory_size || addr >> 47)
		return 0;
	for (i = 0; i < len; i++)
		((uint8_t *)buf)[i] = memory[((addr & 0xfff) + i) % memory_size];
	return len;
}

int target_write(struct guardian *unused, pid_t pid, uint64_t addr, const void *buf, size_t len)
{
	(void)unused, (void)pid, (void)addr;
	readable(buf, len);
	return 0;
}

pid_t eye_of(struct guardian *unused)
{
	(void)unused;
	return getpid();
}

int guardian_fail(struct guardian *unused, const char *fmt, ...)
{
	(void)unused, (void)fmt;
	return -1;
}

/* Nobody runs there. */
void loop_while(struct guardian *unused, bool (*comes)(const struct guardian *), int ms)
{
	(void)unused, (void)comes, (void)ms;
}

void thread_release(struct guardian *unused, struct thread *t)
{
	(void)unused, (void)t;
}

void tell(const struct teller *unused, uint32_t kind, uint32_t number, const char *text)
{
	(void)unused, (void)kind, (void)number;
	must(strlen(text) < sizeof(((struct message *)0)->text));
}

void tell_send(const struct teller *unused, const struct message *m)
{
	(void)unused;
	must(m->kind == MSG_COUNTS);
}

/* --- one input --------------------------------------------------------------------- */

static void module_of(struct input *in)
{
	uint32_t i;

	for (i = 0; i < PROBES; i++) {
		probes[i] = (struct tl_tap_probe){.kind = i ? TL_TAP_SITE : TL_TAP_RETURN,
			.process = TL_NONE,
			.image = i % IMAGES,
			.addr = i * 16,
			.first_part = i,
			.nparts = 1};
		parts[i] = (struct tl_tap_part){i * 16, 16};
	}
	for (i = 0; i < IMAGES; i++) {
		images[i].build_id_len = (uint32_t)take_number(in, 1) % 33;
		images[i].flags = i ? 0 : TL_TAP_IMAGE_PROGRAM;
	}
	mod = (struct tl_tap){.header = &header,
		.strings = "",
		.strings_size = 1,
		.images = images,
		.probes = probes,
		.parts = parts,
		.nimages = IMAGES,
		.nprobes = PROBES,
		.nparts = PROBES};
}

/* Pieces of the control blocks as the target would like them: header, tables' starts, probes. */
static void scribble(struct input *in)
{
	const size_t head = offsetof(struct tl_ctl, images) + sizeof(struct tl_ctl_image),
		     all = head + client.ctl_size;

	for (int n = 0; n < 8; n++) {
		size_t off = take_number(in, 2) % all, len = take_number(in, 1) % CHUNK;
		size_t end = off < head ? head : all;
		uint8_t *at =
			off < head ? (uint8_t *)g.ctl + off : (uint8_t *)client.ctl + (off - head);

		take(in, at, len < end - off ? len : end - off);
	}
}

static void once(void)
{
	if (g.ctl)
		return;
	g.ctl = calloc(1, sizeof(*g.ctl));
	client.ctl_size = tl_ctl_session_size(probe_slots(&mod), part_slots(&mod));
	client.ctl = calloc(1, client.ctl_size);
	must(g.ctl && client.ctl);
	client.mod = &mod;
	client.tell = (struct teller){.mod = &mod,
		.ctl = g.ctl,
		.probes = client.ctl,
		.told = told,
		.images = shared,
		.states = states,
		.verbose = 1};
	g.pid = getpid();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {data, size};
	struct message counts = {0};

	module_of(&in);
	once();
	memset(tl_ctl_probe(client.ctl, 0), 0, probe_slots(&mod) * sizeof(struct tl_ctl_probe));
	memset(told, 0, sizeof(told));
	free(client.slots);
	client.slots = NULL;
	client.tell.nslots = PROBES;
	client.tell.explain = (int)take_number(&in, 1) & 1;
	scribble(&in);
	memory = in.at;
	memory_size = in.left;
	probes_resolve(&g, &client, false);
	scribble(&in);
	probes_resolve(&g, &client, true);
	scribble(&in);
	tell_probes(&client.tell);
	tell_counts(&client.tell, &counts);
	images_match(&g, &client);
	loader_state(&g);
	return 0;
}
