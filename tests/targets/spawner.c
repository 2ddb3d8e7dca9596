/* SPDX-License-Identifier: MIT */
/* Says ready; one thread spawns /bin/true again and again, one writes `counter`, until a line comes. Status 7. */
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

long counter;
static volatile int over;
extern char **environ;

static void *spawner(void *arg)
{
	char *argv[] = {"true", NULL};
	int status, *bad = arg;
	pid_t child;

	while (!over && !*bad)
		*bad = posix_spawn(&child, "/bin/true", NULL, NULL, argv, environ) ||
		       waitpid(child, &status, 0) != child || status;
	return NULL;
}

static void *writer(void *arg)
{
	while (!over) {
		counter++;
		usleep(1000);
	}
	return arg;
}

int main(void)
{
	pthread_t t[2];
	int bad = 0;

	pthread_create(&t[0], NULL, spawner, &bad);
	pthread_create(&t[1], NULL, writer, NULL);
	puts("ready");
	fflush(stdout);
	getchar();
	over = 1;
	pthread_join(t[0], NULL);
	pthread_join(t[1], NULL);
	return bad ? 1 : 7;
}
