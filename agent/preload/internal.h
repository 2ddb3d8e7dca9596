/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Inside the preloaded agent. */
#ifndef TRAPLESS_AGENT_PRELOAD_INTERNAL_H
#define TRAPLESS_AGENT_PRELOAD_INTERNAL_H

#include "../../runtime/session.h"
#include "../agent.h"
#include "preload.h"

/* session.c */
extern struct tl_preload *tl_preload; /* ours; NULL: no session */
extern struct tl_ctl_session *tl_session_ctl; /* in it */

static inline const char *tl_base_name(const char *path)
{
	const char *base = path;

	for (; *path; path++) {
		if (*path == '/')
			base = path + 1;
	}
	return base;
}

/* env.c: the environment that the program was started with. */
struct tl_preload_env {
	char **vars;
	int fd; /* what the runner's variable says */
};
bool tl_env_find(struct tl_preload_env *e, char **vars);
void tl_env_clean(const struct tl_preload_env *e); /* leave no trace of us in it */

/* module.c: the module as it stands in this process. 0 or -TL_E_. */
int tl_module_map(const struct tl_preload *p, struct tl_home_module *m);
void tl_module_unmap(struct tl_home_module *m);
const void *tl_module_table(const struct tl_preload *p, const struct tl_preload_table *t);

/* objects.c: the auxiliary vector (0: not there), and what the dynamic loader has loaded. */
uint64_t tl_aux(uint64_t type);
struct tl_object {
	uintptr_t bias, lo, hi; /* lo, hi: from its first byte to the end of its code */
	uintptr_t end; /* of its data */
	uintptr_t text; /* first executable byte */
	uintptr_t eh_frame_hdr;
	size_t eh_frame_hdr_size;
	uint8_t build_id[32];
	uint32_t build_id_len, flags; /* enum tl_image_flag */
	char path[256];
};
/* Returns what fn returned when that is not 0. */
int tl_objects(int (*fn)(void *arg, const struct tl_object *o), void *arg);
bool tl_objects_apart(void); /* there are others, in namespaces of their own (dlmopen) */
uint64_t tl_objects_stamp(void); /* another one: the list has changed */
uintptr_t tl_loader_news(
	bool *consistent); /* the function that the loader calls about news; 0: none */

/* match.c */
bool tl_preload_wants_us(
	const struct tl_preload *p); /* is this a program that the script is for? */
void tl_preload_place(
	struct tl_preload *p); /* addresses for all probes whose object is there now */

/* watch.c: objects that come later. */
int tl_watch_start(void);
void tl_watch_stop(void);
bool tl_watch_take(void); /* helper: has a thread called with news? It waits for tl_watch_done() */
void tl_watch_done(void);

/* count.c: the closing figures. */
void tl_count_all(void);
bool tl_count_ours(void); /* is this the process that has the session? */
void tl_count_start(void);
void tl_count_stop(void);

/* os.c */
extern bool tl_alone; /* the program has not begun: its one thread waits for us */

#endif
