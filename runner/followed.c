/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "followed.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "later.h"
#include "base/proc.h"
#include "target.h"

static struct parked *waiting;
static size_t nwaiting, room;
static struct message retired;
static uint64_t not_followed;
static bool failed;
static pid_t stranger;

void followed_take(pid_t pid, uint64_t at, bool fresh, pid_t from)
{
	if (nwaiting == room) {
		size_t more = room ? 2 * room : 64;
		void *list = realloc(waiting, more * sizeof(*waiting));

		if (!list) /* it goes on by itself, a little later */
			return;
		waiting = list;
		room = more;
	}
	waiting[nwaiting++] = (struct parked){.pid = pid, .from = from, .at = at, .fresh = fresh};
}

const struct message *followed_counts(void)
{
	return &retired;
}

void followed_unseen(const char *why, const struct options *o)
{
	static bool told;

	if (!told && !o->no_warnings)
		fprintf(stderr, "WARNING: %s\n", why);
	told = true;
	not_followed++;
}

uint64_t followed_not(void)
{
	return not_followed;
}

bool followed_failed(void)
{
	return failed;
}

pid_t followed_stranger(void)
{
	return stranger;
}

static void retire(struct target *t)
{
	if (!t->followed || !t->done || t->retired)
		return;
	if (t->guardian > 0 && !t->joined && !t->kept && !waitpid(t->guardian, NULL, WNOHANG))
		return;
	if (!t->found)
		not_followed += !t->ready;
	else if (!t->ready && !t->refused && (proc_ended(t->pid) || !later_again(t->pid)))
		later_counts()->ended++;
	failed |= t->failed;
	if (t->strange) /* what its handlers have said may still be unread */
		stranger = t->pid;
	message_add(&retired, &t->counts);
	close(t->sock);
	t->sock = -1;
	t->retired = true;
}

/* The very process that the user has named, as another program. */
static bool is_asked_for(const struct target *targets, int n, pid_t pid)
{
	int i;

	for (i = 0; i < n && !(targets[i].pid == pid && (!targets[i].followed || targets[i].lasts));
		i++)
		;
	return i < n;
}

struct target *followed_place(struct target *targets, int *ntargets)
{
	int i;

	for (i = 0; i < *ntargets && !targets[i].retired; i++)
		;
	if (i == TARGETS_MAX)
		return NULL;
	*ntargets += i == *ntargets;
	return &targets[i];
}

void followed_go_on(struct target *targets, int *ntargets, struct session *s,
	const struct options *o, bool leaving)
{
	size_t i;

	for (int k = 0; k < *ntargets; k++)
		retire(&targets[k]);
	for (i = 0; i < nwaiting; i++) {
		struct target *t = leaving ? NULL : followed_place(targets, ntargets);

		waiting[i].lasts = is_asked_for(targets, *ntargets, waiting[i].pid);
		if (t && target_follow(t, &waiting[i], s, o)) {
			t->done = t->retired = true;
			t = NULL;
		} else if (!t) {
			target_release(&waiting[i], s, o);
		}
		not_followed += !t;
	}
	nwaiting = 0;
}
