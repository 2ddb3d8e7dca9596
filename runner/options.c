/* SPDX-License-Identifier: MIT */
/* Command line: one table (options.def) for the parser and --help. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "options.h"

enum kind { FLAG, TEXT, PIDS, HEADING };

static const struct option_def {
	char letter;
	const char *name, *argument;
	enum kind kind;
	size_t field;
	const char *help;
} defs[] = {
#define OPTION(letter, name, argument, kind, field, help)                                          \
	{letter, name, argument, kind, offsetof(struct options, field), help},
#define GROUP(title) {0, NULL, NULL, HEADING, 0, title},
#include "options.def"
#undef GROUP
#undef OPTION
};
enum { NDEFS = sizeof(defs) / sizeof(*defs) };

void options_help(FILE *to)
{
	int i;

	fputs("Usage: trapless-run MODULE.tap [options] [-c CMD | -x PID ... | -- PROGRAM "
	      "ARGS...]\n"
	      "Run a compiled trapless script on this machine.\n\n",
		to);
	for (i = 0; i < NDEFS; i++) {
		char left[64], letter[8] = "    ";

		if (defs[i].kind == HEADING) {
			fprintf(to, "%s%s:\n", i ? "\n" : "", defs[i].help);
			continue;
		}
		if (defs[i].letter)
			snprintf(letter, sizeof(letter), "-%c, ", defs[i].letter);
		snprintf(left, sizeof(left), "%s--%s%s%s", letter, defs[i].name,
			defs[i].argument ? " " : "", defs[i].argument ? defs[i].argument : "");
		fprintf(to, "  %-22s %s\n", left, defs[i].help);
	}
	fputs("\nA module with probes of processes wants -c, -x or --later. `trapless` finds the\n"
	      "running processes of the script's program by itself; trapless-run does not.\n",
		to);
	fputs("\nThe session ends when the target ends, when the script calls exit(), or on "
	      "SIGINT,\n"
	      "SIGTERM or SIGHUP; `end` probes run, and the target is left as it was.\n\n"
	      "Exit status: 2 when the command line is wrong; 1 when the module, the target or a "
	      "probe\n"
	      "was refused (but not one with '?', or some of those that a wildcard matched), or "
	      "a handler\n"
	      "failed; else with -c that of CMD (128 + N when signal N ended it), otherwise 0.\n",
		to);
}

static const struct option_def *find(const char *arg, const char **value)
{
	const char *eq = strchr(arg, '=');
	size_t n;
	int i;

	*value = NULL;
	if (arg[1] != '-') {
		for (i = 0; i < NDEFS; i++) {
			if (defs[i].letter == arg[1] && arg[1]) {
				*value = arg[2] ? arg + 2 : NULL;
				return &defs[i];
			}
		}
		return NULL;
	}
	arg += 2;
	n = eq ? (size_t)(eq - arg) : strlen(arg);
	for (i = 0; i < NDEFS; i++) {
		if (defs[i].name && strlen(defs[i].name) == n && !strncmp(defs[i].name, arg, n)) {
			*value = eq ? eq + 1 : NULL;
			return &defs[i];
		}
	}
	return NULL;
}

unsigned options_seconds(const char *word)
{
	char *end;
	unsigned long n = strtoul(word, &end, 10);

	return *word >= '0' && *word <= '9' && !*end && n <= 1000000 ? (unsigned)n : 0;
}

static int take(struct options *o, const struct option_def *d, const char *value)
{
	void *field = (char *)o + d->field;
	char *end;
	long pid;

	if (d->kind == FLAG) {
		++*(int *)field;
	} else if (d->kind == TEXT) {
		*(const char **)field = value;
	} else {
		pid = strtol(value, &end, 10);
		if (*end || end == value || pid <= 0 || pid > 0x7fffffff) {
			fprintf(stderr,
				"trapless-run: -%c wants a process number, not '%s': pgrep shows "
				"those of a name\n",
				d->letter, value);
			return -1;
		}
		if (o->npids == TARGETS_MAX) {
			fprintf(stderr, "trapless-run: at most %d processes in one session\n",
				TARGETS_MAX);
			return -1;
		}
		((pid_t *)field)[o->npids++] = (pid_t)pid;
	}
	return 0;
}

bool options_ask(const struct options *o)
{
	return o->sessions || o->enable || o->disable || o->optimize;
}

static const char *check_asking(struct options *o)
{
	char *end = NULL;
	bool all = o->session_word && !strcmp(o->session_word, "all");

	if (o->module || o->command || o->npids || o->coverage)
		return "what is asked of sessions that run stands alone";
	if (!!o->sessions + !!o->enable + !!o->disable + !!o->optimize > 1)
		return "--sessions, --enable, --disable and --optimize exclude each other";
	if (o->session_word && !all)
		o->session = (pid_t)strtol(o->session_word, &end, 10);
	return end && (*end || o->session <= 0) ? "--session wants a number of --sessions, or all"
						: NULL;
}

static int check(struct options *o)
{
	const char *wrong = NULL;

	if (options_ask(o))
		wrong = check_asking(o);
	else if (o->session_word)
		wrong = "--session goes with --sessions, --enable, --disable or --optimize";
	else if (o->functions && !o->coverage)
		wrong = "--functions says more about the file of --coverage";
	else if (o->coverage)
		wrong = o->module || o->command || o->npids
				? "--coverage runs nothing: give it alone"
				: NULL;
	else if (!o->module)
		wrong = "no module given";
	else if (o->command && !o->command[strspn(o->command, " \t\n")])
		wrong = "-c wants a command";
	else if (o->command && o->npids)
		wrong = "-c and -x exclude each other";
	else if (o->words && (o->npids || o->command != o->words[0]))
		wrong = "a program behind -- stands for -c, and without -x";
	else if (o->rotate && (!o->output || o->raw))
		wrong = "--rotate turns over the text that -o FILE gets";
	else if (o->every && (!o->raw || !options_seconds(o->every)))
		wrong = "--every wants whole seconds, and --raw";
	else if (o->monitor && (o->raw || !options_seconds(o->monitor)))
		wrong = "--monitor wants whole seconds, and shows no binary records";
	else if (o->preload && !o->command)
		wrong = "--preload starts a program: give it with -c";
	if (wrong)
		fprintf(stderr, "trapless-run: %s; see trapless-run --help\n", wrong);
	return wrong ? -1 : 0;
}

/* -vv: the letters behind the first one. */
static int take_more(struct options *o, const struct option_def *d, const char *letters)
{
	for (; *letters; letters++) {
		if (*letters != d->letter) {
			fprintf(stderr, "trapless-run: give -%c and -%c apart\n", d->letter,
				*letters);
			return -1;
		}
		take(o, d, NULL);
	}
	return 0;
}

static int take_module(struct options *o, const char *name)
{
	if (o->module) {
		fprintf(stderr, "trapless-run: one module at a time ('%s' is one too many)\n",
			name);
		return -1;
	}
	o->module = name;
	return 0;
}

/* The option at *at, and its argument where that is a word of its own. */
static int take_option(struct options *o, char ***at)
{
	const char *word = **at, *value;
	const struct option_def *d = find(word, &value);

	if (!d) {
		fprintf(stderr, "trapless-run: there is no option %s%s; see trapless-run --help\n",
			word, word[1] == 'T' ? " (it belongs to trapless -p4: give it there)" : "");
		return -1;
	}
	if (d->kind == FLAG && value && word[1] != '-' && take_more(o, d, value))
		return -1;
	if (d->kind != FLAG && !value) {
		value = (*at)[1];
		if (!value) {
			fprintf(stderr, "trapless-run: --%s wants %s\n", d->name, d->argument);
			return -1;
		}
		++*at;
	}
	return take(o, d, value);
}

int options_parse(struct options *o, int argc, char **argv)
{
	char **at;

	for (at = argv + (argc > 0); *at; at++) {
		if (!strcmp(*at, "--") && at[1]) {
			o->words = at + 1;
			if (!o->command)
				o->command = o->words[0];
			break;
		}
		if ((*at)[0] == '-' && (*at)[1] ? take_option(o, &at) : take_module(o, *at))
			return -1;
	}
	return o->help || o->version ? 0 : check(o);
}
