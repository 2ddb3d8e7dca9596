/* SPDX-License-Identifier: MIT */
/*
 * -c of trapless-run: commands that are plain words, quoted or not, are started
 * without a shell; then our child is the program itself, as the probes expect.
 * (trapless takes its own -c apart, and hands us the words.)
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "words.h"

/* What only a shell understands: anywhere, and inside double quotes. */
static const char shell_chars[] = "|&;<>()$`\\*?[]#~=%!{}\n", in_double[] = "$`\\!";

/* Words that are the shell's own. */
static const char *const builtins[] = {".", ":", "alias", "break", "case", "cd", "command",
	"continue", "eval", "exec", "exit", "export", "for", "if", "read", "readonly", "return",
	"set", "shift", "source", "time", "times", "trap", "type", "ulimit", "umask", "unalias",
	"unset", "until", "wait", "while"};

static bool is_builtin(const char *word)
{
	size_t i;

	for (i = 0; i < sizeof(builtins) / sizeof(*builtins); i++) {
		if (!strcmp(builtins[i], word))
			return true;
	}
	return false;
}

/* One word from *from to *to, NUL behind it. false: not for us. */
static bool take_word(const char **from, char **to)
{
	const char *p = *from;
	char *out = *to, quote = 0;

	for (; *p && (quote || (*p != ' ' && *p != '\t')); p++) {
		if (quote ? *p == quote : *p == '\'' || *p == '"') {
			quote = quote ? 0 : *p;
			continue;
		}
		if (quote != '\'' && strchr(quote ? in_double : shell_chars, *p))
			return false;
		*out++ = *p;
	}
	*out++ = 0;
	*from = p;
	*to = out;
	return !quote;
}

char **words_split(const char *command)
{
	size_t room = strlen(command) + 1, n = 0;
	char **argv = calloc(1, (room / 2 + 2) * sizeof(*argv) + 2 * room), *to;

	if (!argv)
		return NULL;
	if (!strncmp(command, "exec ", 5)) /* what we do anyway */
		command += 5;
	to = (char *)(argv + room / 2 + 2);
	for (;;) {
		command += strspn(command, " \t");
		if (!*command)
			break;
		argv[n++] = to;
		if (!take_word(&command, &to))
			goto shell;
	}
	if (n && !is_builtin(argv[0]))
		return argv;
shell:
	free(argv);
	return NULL;
}
