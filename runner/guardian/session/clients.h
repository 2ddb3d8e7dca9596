/* SPDX-License-Identifier: MIT */
/* The sessions that we serve, and what all of them are told. */
#ifndef TRAPLESS_RUNNER_GUARDIAN_SESSION_CLIENTS_H
#define TRAPLESS_RUNNER_GUARDIAN_SESSION_CLIENTS_H

#include "../guardian.h"

int client_add(struct guardian *g, struct client *c); /* to the list. -1: it is full */
int client_create(struct guardian *g, struct client *c); /* its control block */
void client_free(struct client *c);
void client_drop(struct guardian *g, struct client *c); /* from the list, too */
bool clients_leave(const struct guardian *g); /* all of them want to */
unsigned clients_count(const struct guardian *g);
/* Some have probes in images that are not mapped yet */
bool clients_wait(const struct guardian *g);
bool clients_deaf(const struct guardian *g); /* ... marks that wait for their semaphores */
bool client_watches_loader(const struct client *c); /* ... or that may go, or be mapped again */
bool clients_watch_loader(const struct guardian *g);

#endif
