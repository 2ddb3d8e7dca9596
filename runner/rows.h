/* SPDX-License-Identifier: MIT */
#ifndef TL_RUNNER_ROWS_H
#define TL_RUNNER_ROWS_H

/* The script's globals, printed as rows by handlers that the compiler has made: for readers of events. */

#include "session.h"

/* `every`: whole seconds; NULL: they are printed by rows_print() alone. */
void rows_start(struct session *s, const char *every);
/* Now and then: prints them where it is time. */
void rows_serve(struct session *s);
void rows_print(struct session *s);

#endif
