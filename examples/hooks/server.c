/* SPDX-License-Identifier: MIT */
/*
 * A server of keys and values on 127.0.0.1, with hooks of its own (hooks.h). It needs no library, and nobody need listen.
 *
 *     ./server [PORT]                                without PORT a free one is chosen, and printed
 *     trapless requests.stp -c ./server              watched from outside
 *
 * A request is a line, and so is its answer:
 *
 *     SET KEY VALUE     OK
 *     GET KEY           VALUE ..., or NONE
 *     DEL KEY           OK, or NONE
 *     STOP              ends the server
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "hooks.h"

enum { WORKERS = 4, BUCKETS = 1024, LINE = 4096 };

static void die(const char *what)
{
	perror(what);
	exit(1);
}

/* --- what is kept ------------------------------------------------------------- */

struct entry {
	char key[64];
	char *value;
	struct entry *next;
};
static struct entry *buckets[BUCKETS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of all buckets */

/* The pointer that leads to the entry, or to where it would be. */
static struct entry **place_of(const char *key)
{
	unsigned hash = 5381;
	struct entry **at;

	for (const char *c = key; *c; c++)
		hash = hash * 33 + (unsigned char)*c;
	for (at = &buckets[hash % BUCKETS]; *at && strcmp((*at)->key, key) != 0;)
		at = &(*at)->next;
	return at;
}

static enum status get(struct request *r, char *answer)
{
	const struct entry *e;

	pthread_mutex_lock(&lock);
	e = *place_of(r->key);
	if (e)
		snprintf(answer, LINE, "VALUE %s\n", e->value);
	pthread_mutex_unlock(&lock);
	return e ? FOUND : NOT_FOUND;
}

static enum status set(struct request *r, char *answer)
{
	char *value = strdup(r->value);
	struct entry **at;

	pthread_mutex_lock(&lock);
	at = place_of(r->key);
	if (!*at && (*at = calloc(1, sizeof(**at))))
		strcpy((*at)->key, r->key);
	if (!*at || !value)
		die("memory");
	free((*at)->value);
	(*at)->value = value;
	pthread_mutex_unlock(&lock);
	strcpy(answer, "OK\n");
	return FOUND;
}

static enum status del(struct request *r, char *answer)
{
	struct entry **at, *e;

	pthread_mutex_lock(&lock);
	at = place_of(r->key);
	e = *at;
	if (e)
		*at = e->next;
	pthread_mutex_unlock(&lock);
	if (!e)
		return NOT_FOUND;
	free(e->value);
	free(e);
	strcpy(answer, "OK\n");
	return FOUND;
}

/* --- requests ------------------------------------------------------------------- */

static const struct command {
	const char *name;
	bool has_value;
	enum status (*run)(struct request *r, char *answer);
} commands[] = {{"GET", false, get}, {"SET", true, set}, {"DEL", false, del}};

static const char *const otherwise[] = {
	[NOT_FOUND] = "NONE\n", [BAD] = "ERROR: GET KEY, SET KEY VALUE, DEL KEY, or STOP\n"};

/* NULL where it is none. Takes `line` apart. */
static const struct command *parse(char *line, struct request *r)
{
	char *rest = line, *name = strsep(&rest, " "), *key = strsep(&rest, " ");

	r->command = "?";
	r->value = rest;
	if (!key || !*key || strlen(key) >= sizeof(r->key))
		return NULL;
	strcpy(r->key, key);
	for (size_t i = 0; i < sizeof(commands) / sizeof(*commands); i++)
		if (!strcmp(commands[i].name, name) && commands[i].has_value == (rest != NULL)) {
			r->command = commands[i].name;
			return &commands[i];
		}
	return NULL;
}

static double us_since(const struct timespec *begun)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)(now.tv_sec - begun->tv_sec) * 1e6 +
	       (double)(now.tv_nsec - begun->tv_nsec) / 1e3;
}

static void answer_line(const struct client *client, char *line, FILE *to)
{
	struct request r = {.client = client};
	char answer[LINE + 16];
	size_t size = strlen(line);
	const struct command *command;
	enum status status = BAD;

	clock_gettime(CLOCK_MONOTONIC, &r.begun);
	line[strcspn(line, "\r\n")] = '\0';
	if (!strcmp(line, "STOP"))
		exit(0);
	command = parse(line, &r);
	tl_hook(kv, request, &r, (uint32_t)size);
	if (command)
		status = command->run(&r, answer);
	if (status != FOUND)
		strcpy(answer, otherwise[status]);
	/* The clock is read only while somebody listens. */
	tl_hook(kv, answered, &r, status, (uint32_t)strlen(answer), us_since(&r.begun));
	fputs(answer, to);
	fflush(to);
}

/* --- clients --------------------------------------------------------------------- */

static void serve(int fd, const struct client *client)
{
	FILE *from = fdopen(fd, "r"), *to = fdopen(dup(fd), "w");
	char line[LINE];

	if (!from || !to)
		die("a connection");
	tl_hook(kv, accepted, client);
	while (fgets(line, sizeof(line), from))
		answer_line(client, line, to);
	fclose(from);
	fclose(to);
}

/* One client at a time; the others wait for another worker. */
static void *work(void *listener)
{
	static uint32_t clients;

	for (;;) {
		struct sockaddr_in peer;
		socklen_t size = sizeof(peer);
		int fd = accept(*(int *)listener, (struct sockaddr *)&peer, &size);
		struct client c;

		if (fd < 0)
			continue; /* who has gone already */
		c.number = __atomic_add_fetch(&clients, 1, __ATOMIC_RELAXED);
		c.port = ntohs(peer.sin_port);
		serve(fd, &c);
	}
	return NULL;
}

static int listen_at(uint16_t port)
{
	struct sockaddr_in a = {.sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof(a);
	int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1;

	if (fd < 0)
		die("socket");
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, (struct sockaddr *)&a, size) || listen(fd, 64) ||
		getsockname(fd, (struct sockaddr *)&a, &size))
		die("listening on 127.0.0.1");
	printf("listening on 127.0.0.1:%d\n", ntohs(a.sin_port));
	fflush(stdout);
	return fd;
}

int main(int argc, char **argv)
{
	char *end = "";
	unsigned long port = argc > 1 ? strtoul(argv[1], &end, 10) : 0;
	pthread_t thread;
	int listener;

	if (*end || port > UINT16_MAX) {
		fprintf(stderr, "server: '%s' is no port: give a number up to 65535\n", argv[1]);
		return 2;
	}
	listener = listen_at((uint16_t)port);
	signal(SIGPIPE, SIG_IGN); /* who goes without waiting for the answer */
	for (int i = 1; i < WORKERS; i++)
		if (pthread_create(&thread, NULL, work, &listener))
			die("pthread_create");
	work(&listener);
	return 0;
}
