/* SPDX-License-Identifier: MIT */
#ifndef TRAPLESS_TWINS_H
#define TRAPLESS_TWINS_H

long twins_first(long x);
long twins_second(long x);

#endif
