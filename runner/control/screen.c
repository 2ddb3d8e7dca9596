/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../terminal.h"
#include "screen.h"

enum { KEPT = 1 << 17, ERROR_LINE = 200 };

/* The second screen, which leaves the first one as it was. */
#define ENTER	       "\033[?1049h"
#define LEAVE	       "\033[?1049l"
#define HOME	       "\033[H"
#define REST_OF_LINE   "\033[K"
#define REST_OF_SCREEN "\033[J"
#define REVERSED       "\033[7m"
#define PLAIN	       "\033[m"

static struct {
	bool keys;
	FILE *out; /* where it went before */
	char text[KEPT]; /* what was printed last */
	size_t n;
	bool apart; /* standard error goes to a file meanwhile */
	int errors, stderr_before;
} at;

/* Half of the room is for new text; what is left begins with a line. */
static void make_room(size_t n)
{
	char *from = at.text + (n > KEPT / 2 ? at.n : at.n / 2), *end = at.text + at.n;
	char *line = memchr(from, '\n', (size_t)(end - from));

	from = line ? line + 1 : end;
	at.n = (size_t)(end - from);
	memmove(at.text, from, at.n);
}

static ssize_t keep(void *cookie, const char *text, size_t n)
{
	size_t last = n < KEPT / 2 ? n : KEPT / 2;

	(void)cookie;
	if (at.n + last > KEPT)
		make_room(n);
	memcpy(at.text + at.n, text + n - last, last);
	at.n += last;
	return (ssize_t)n;
}

/* What is said there would be wiped out with the screen. */
static void take_stderr(void)
{
	if (!isatty(STDERR_FILENO))
		return;
	at.errors = memfd_create("trapless", MFD_CLOEXEC);
	at.apart = at.errors >= 0;
	if (!at.apart)
		return;
	fflush(stderr);
	at.stderr_before = dup(STDERR_FILENO);
	dup2(at.errors, STDERR_FILENO);
}

static void give_back_stderr(void)
{
	char text[4096];
	off_t done = 0;
	ssize_t n;

	if (!at.apart)
		return;
	fflush(stderr);
	dup2(at.stderr_before, STDERR_FILENO);
	close(at.stderr_before);
	for (; (n = pread(at.errors, text, sizeof(text), done)) > 0; done += n)
		fwrite(text, 1, (size_t)n, stderr);
	close(at.errors);
	at.apart = false;
}

bool screen_start(FILE **out, bool keys)
{
	static const cookie_io_functions_t kept = {.write = keep};
	FILE *new;

	if (!isatty(STDOUT_FILENO))
		return false;
	at.out = *out;
	if (*out == stdout) {
		new = fopencookie(NULL, "w", kept);
		if (!new)
			return false;
		*out = new;
	}
	at.keys = keys && isatty(STDIN_FILENO);
	fflush(stdout);
	take_stderr();
	if (write(STDOUT_FILENO, ENTER, strlen(ENTER)) < 0)
		at.keys = false;
	return true;
}

void screen_end(FILE **out)
{
	if (write(STDOUT_FILENO, LEAVE, strlen(LEAVE)) < 0)
		at.n = 0;
	if (at.keys)
		terminal_end();
	if (*out != at.out)
		fclose(*out);
	*out = at.out;
	fwrite(at.text, 1, at.n, stdout);
	fflush(stdout);
	give_back_stderr();
	at.n = 0;
}

int screen_fd(void)
{
	if (!at.keys || !terminal_in_front())
		return -1;
	terminal_take();
	return STDIN_FILENO;
}

static bool typed(void)
{
	struct pollfd fd = {.fd = screen_fd(), .events = POLLIN};

	return fd.fd >= 0 && poll(&fd, 1, 0) > 0;
}

int screen_key(void)
{
	unsigned char c[3] = {0};

	if (!typed())
		return -1;
	if (read(STDIN_FILENO, c, 1) != 1) {
		at.keys = false; /* hung up */
		return -1;
	}
	/* An arrow is three bytes that come together. */
	for (int i = 1; c[0] == '\033' && i < 3 && typed(); i++)
		if (read(STDIN_FILENO, c + i, 1) != 1)
			return -1;
	if (c[0] != '\033')
		return c[0];
	return c[2] == 'A' ? KEY_UP : c[2] == 'B' ? KEY_DOWN : 0;
}

/* --- lines ------------------------------------------------------------------------ */

/* Up to the edge; what is not printed would move the cursor. */
static void put_line(FILE *to, const char *line, size_t n, int columns)
{
	for (size_t i = 0; i < n && columns > 0; i++) {
		unsigned char c = (unsigned char)line[i];

		if (c == '\t') {
			fputc(' ', to);
		} else if (c >= ' ' && c != 127) {
			fputc(c, to);
			/* of a longer character only the last byte counts */
			if (c >= 128 && i + 1 < n && ((unsigned char)line[i + 1] & 0xc0) == 0x80)
				continue;
		} else {
			fputc('?', to);
		}
		columns--;
	}
	fputs(REST_OF_LINE, to);
}

static int count_lines(const char *text, size_t n)
{
	int lines = 0;

	for (size_t i = 0; i < n; i++)
		lines += text[i] == '\n' || i + 1 == n;
	return lines;
}

static void put_lines(FILE *to, const char *text, size_t n, int skip, int most, int columns)
{
	const char *end = text + n;

	while (text < end && most > 0) {
		const char *line = memchr(text, '\n', (size_t)(end - text));
		size_t len = (size_t)((line ? line : end) - text);

		if (skip-- <= 0) {
			put_line(to, text, len, columns);
			fputc('\n', to);
			most--;
		}
		text += len + 1;
	}
}

/* The latest thing that was said on standard error. */
static size_t last_error(char *text, size_t room)
{
	off_t size = at.apart ? lseek(at.errors, 0, SEEK_END) : 0;
	off_t from = size > (off_t)room ? size - (off_t)room : 0;
	ssize_t n = size > 0 ? pread(at.errors, text, room, from) : 0;
	char *line;

	if (n <= 0)
		return 0;
	n -= text[n - 1] == '\n';
	line = memrchr(text, '\n', (size_t)n);
	if (line) {
		n -= line + 1 - text;
		memmove(text, line + 1, (size_t)n);
	}
	return (size_t)n;
}

static void put_last_line(FILE *to, const char *line, int row, int columns)
{
	char text[ERROR_LINE];
	size_t n = last_error(text, sizeof(text));

	fprintf(to, "\033[%d;1H" REVERSED, row);
	if (n)
		put_line(to, text, n, columns);
	else
		put_line(to, line, strlen(line), columns);
	fputs(PLAIN, to);
}

void screen_draw(const char *status, int first, const char *last_line)
{
	struct winsize w = {0};
	int rows, columns, above, below, lines;
	char *text = NULL;
	size_t n = 0;
	FILE *to;

	if (!terminal_in_front() || !(to = open_memstream(&text, &n)))
		return;
	ioctl(STDOUT_FILENO, TIOCGWINSZ, &w);
	rows = w.ws_row > 3 ? w.ws_row - 1 : 23;
	columns = w.ws_col > 9 ? w.ws_col : 80;
	lines = count_lines(at.text, at.n);
	above = status ? count_lines(status, strlen(status)) - first : 0;
	below = lines < rows / 3 ? lines : rows / 3;
	above = above > rows - below ? rows - below : above;
	below = rows - above;
	fputs(HOME, to);
	if (status)
		put_lines(to, status, strlen(status), first, above, columns);
	put_lines(to, at.text, at.n, lines > below ? lines - below : 0, below, columns);
	fputs(REST_OF_SCREEN, to);
	put_last_line(to, last_line, rows + 1, columns - 1);
	fclose(to);
	/* A terminal that takes no more is drawn anew later. */
	if (write(STDOUT_FILENO, text, n) < 0)
		at.keys = false;
	free(text);
}
