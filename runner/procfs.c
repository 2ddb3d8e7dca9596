/* SPDX-License-Identifier: MIT */
/*
 * procfs("name").read and .write: named pipes in the session's folder. Who reads
 * one waits in open() until we open it for writing, which we try again and
 * again; whoever comes later gets a pipe of his own, as each gets one text.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "input.h"
#include "procfs.h"

struct file {
	const char *name;
	uint32_t read_room, write_room; /* of the longest text that a probe takes; 0: none is */
	mode_t mode;
	int in; /* what is being written to us comes from here; -1: nothing */
};

static struct file *files;
static uint32_t nfiles;
static char folder[108];

static void path_of(const struct file *f, const char *ending, char *path, size_t size)
{
	snprintf(path, size, "%s/%s%s", folder, f->name, ending);
}

/* One without anybody in it takes the place of the one before. */
static int renew(const struct file *f)
{
	char path[256], made[256];

	path_of(f, "", path, sizeof(path));
	snprintf(made, sizeof(made), "%s/.new", folder);
	unlink(made);
	return mkfifo(made, f->mode) || chmod(made, f->mode) || rename(made, path) ? -1 : 0;
}

static struct file *file_of(const char *name)
{
	uint32_t i;

	for (i = 0; i < nfiles && strcmp(files[i].name, name); i++)
		;
	if (i == nfiles)
		files[nfiles++] = (struct file){.name = name, .in = -1, .mode = 0600};
	return &files[i];
}

static void take(const struct session *s, uint32_t i)
{
	const struct tl_tap_probe *p = &s->mod->probes[i];
	uint32_t *most;
	struct file *f;

	if (!tl_tap_is_file(p->kind) || p->flags & TL_TAP_PROBE_NEVER || input_is(s->mod, i))
		return;
	f = file_of(tl_tap_string(s->mod, p->func));
	f->mode &= ~(mode_t)p->addr;
	most = p->kind == TL_TAP_FILE_READ ? &f->read_room : &f->write_room;
	*most = (uint32_t)p->arg > *most ? (uint32_t)p->arg : *most;
}

int procfs_start(struct session *s, const char *dir)
{
	uint32_t i;

	files = calloc(s->mod->nprobes + 1, sizeof(*files));
	for (i = 0; files && i < s->mod->nprobes; i++)
		take(s, i);
	if (!nfiles)
		return 0;
	if ((size_t)snprintf(folder, sizeof(folder), "%s/procfs", dir) >= sizeof(folder) ||
		(mkdir(folder, 0700) && errno != EEXIST)) /* left by an earlier one of our number */
		return -1;
	for (i = 0; i < nfiles; i++) {
		if (renew(&files[i]))
			return -1;
		if (!s->no_warnings)
			fprintf(stderr, "trapless-run: file %s/%s\n", folder, files[i].name);
	}
	return 0;
}

void procfs_end(void)
{
	char path[256];
	uint32_t i;

	for (i = 0; i < nfiles; i++) {
		path_of(&files[i], "", path, sizeof(path));
		unlink(path);
	}
	if (nfiles)
		rmdir(folder);
	nfiles = 0;
}

/* Room for what handlers make, or get. */
static bool hold(struct tl_value_text *text, uint32_t room)
{
	text->room = room;
	text->text = malloc(room);
	return text->text;
}

/* All of the file, in order: one goes on with the text that the one before has left. */
static void run(struct session *s, const struct file *f, uint32_t kind, struct tl_value_text *text)
{
	uint32_t i;

	for (i = 0; i < s->mod->nprobes; i++) {
		const struct tl_tap_probe *p = &s->mod->probes[i];

		if (p->kind == kind && !(p->flags & TL_TAP_PROBE_NEVER) &&
			!strcmp(tl_tap_string(s->mod, p->func), f->name))
			session_run_value(s, i, text);
	}
}

static void be_read(struct session *s, struct file *f)
{
	struct tl_value_text text = {0};
	char path[256];
	int fd;

	path_of(f, "", path, sizeof(path));
	fd = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return; /* nobody waits */
	renew(f); /* before there is a text: who comes when this reader has left would get the rest of it */
	if (hold(&text, f->read_room)) {
		run(s, f, TL_TAP_FILE_READ, &text);
		if (text.len > 1 << 16)
			fcntl(fd, F_SETPIPE_SZ, (int)text.len);
		if (write(fd, text.text, text.len) < 0 && errno != EPIPE)
			s->lost++;
	}
	free(text.text);
	close(fd);
}

static void be_written(struct session *s, struct file *f)
{
	char path[256];
	struct tl_value_text text = {0};
	ssize_t n = -1;

	path_of(f, "", path, sizeof(path));
	if (f->in < 0)
		f->in = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (f->in < 0)
		return;
	while (hold(&text, f->write_room) && (n = read(f->in, text.text, text.room)) > 0) {
		text.len = (uint32_t)n;
		run(s, f, TL_TAP_FILE_WRITE, &text);
		free(text.text);
		text.text = NULL;
	}
	free(text.text);
	/* one that is only written to stays open: who comes between looking and closing would be sent away */
	if (!f->read_room || (n < 0 && errno == EAGAIN))
		return;
	close(f->in);
	f->in = -1;
}

void procfs_serve(struct session *s)
{
	uint32_t i;

	for (i = 0; i < nfiles; i++) {
		if (files[i].read_room && files[i].in < 0)
			be_read(s, &files[i]);
		if (files[i].write_room)
			be_written(s, &files[i]);
	}
}

void procfs_take_rest(struct session *s)
{
	uint32_t i;

	for (i = 0; i < nfiles; i++) {
		if (files[i].write_room)
			be_written(s, &files[i]);
	}
}
