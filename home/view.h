/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* A session as its handlers see it. Context: as tl_ctl_arm(). */
#ifndef TRAPLESS_HOME_VIEW_H
#define TRAPLESS_HOME_VIEW_H

#include "arm.h"

struct tl_env;
struct tl_view;
/* What views of sessions ask of the home: for one that a home makes itself. */
const struct tl_view_ops *tl_ctl_view_ops(void);
struct tl_view *tl_ctl_view(const struct tl_ctl_session *s);
/* What its handler is told of a probe that is filled in (fill.h), in a view that is complete. */
void tl_ctl_env(struct tl_env *env, struct tl_view *v, const struct tl_ctl_probe *p);
/* Unless it is there already. 0 or -TL_E_VERSION: the memory holds no session. */
int tl_ctl_view_init(const struct tl_ctl_session *s);
/* No handler of that session runs any more, and none will. */
void tl_ctl_view_forget(const struct tl_ctl_session *s);

#endif
