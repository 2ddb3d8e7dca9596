/* SPDX-License-Identifier: MIT */
/*
 * input.char and input.line: bytes and lines of the standard input. Which of the
 * two a probe wants is told by the size that it takes.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "input.h"
#include "terminal.h"

#define NAME "__stdin"

static struct tl_value_text line; /* so far; its room is that of the longest that a probe takes */
static char *copy; /* what a handler sees, and may change */
static bool reading, by_char;

bool input_is(const struct tl_tap *m, uint32_t probe)
{
	const struct tl_tap_probe *p = &m->probes[probe];

	return p->kind == TL_TAP_FILE_WRITE && !(p->flags & TL_TAP_PROBE_NEVER) &&
	       !strcmp(tl_tap_string(m, p->func), NAME);
}

int input_start(struct session *s)
{
	uint32_t i, most = 0;

	for (i = 0; i < s->mod->nprobes; i++) {
		uint32_t room = (uint32_t)s->mod->probes[i].arg;

		if (!input_is(s->mod, i))
			continue;
		most = room > most ? room : most;
		by_char |= room == 1;
	}
	if (!most)
		return 0;
	line.text = malloc(most);
	copy = malloc(most);
	if (!line.text || !copy)
		return -1;
	line.room = most;
	reading = true;
	return 0;
}

int input_fd(void)
{
	if (!reading || !terminal_in_front())
		return -1;
	if (by_char)
		terminal_take();
	return STDIN_FILENO;
}

void input_end(void)
{
	terminal_end();
	free(line.text);
	free(copy);
	line = (struct tl_value_text){0};
	copy = NULL;
	reading = false;
}

/* Those who want bytes get `text` where it is one, those who want lines where it is one. */
static void give(struct session *s, bool bytes, const char *text, uint32_t len)
{
	uint32_t i;

	for (i = 0; i < s->mod->nprobes && !session_wants_exit(s); i++) {
		uint32_t room = (uint32_t)s->mod->probes[i].arg;
		struct tl_value_text value = {.text = copy, .room = room};

		if (!input_is(s->mod, i) || (room == 1) != bytes)
			continue;
		value.len = len < room ? len : room;
		memcpy(copy, text, value.len);
		session_run_value(s, i, &value);
	}
}

static void end_line(struct session *s)
{
	give(s, false, line.text, line.len);
	line.len = 0;
}

static void take(struct session *s, char c)
{
	give(s, true, &c, 1);
	if (line.len < line.room)
		line.text[line.len++] = c;
	if (c == '\n')
		end_line(s);
}

void input_serve(struct session *s)
{
	struct pollfd fd = {.fd = input_fd(), .events = POLLIN};
	char bytes[4096];
	ssize_t n, i;

	if (fd.fd < 0 || poll(&fd, 1, 0) <= 0)
		return;
	n = read(fd.fd, bytes, sizeof(bytes));
	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	for (i = 0; i < n && !session_wants_exit(s); i++)
		take(s, bytes[i]);
	if (n > 0)
		return;
	reading = false;
	if (line.len)
		end_line(s); /* the last one has no end */
}
