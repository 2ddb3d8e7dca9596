/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* 64-bit floats (IEEE 754) whose bits are a long, by whole numbers only. */
#ifndef TRAPLESS_RUNTIME_SCRIPT_FLOAT_H
#define TRAPLESS_RUNTIME_SCRIPT_FLOAT_H

#include "run.h"

/* Roundings of tl_fp_to_long(); others cut towards 0. */
enum { TL_FP_NEAREST, TL_FP_CUT, TL_FP_DOWN, TL_FP_UP, TL_FP_NEAREST_AWAY, TL_FP_ODD = 6 };
int64_t tl_fp_add(int64_t a, int64_t b);
int64_t tl_fp_sub(int64_t a, int64_t b);
int64_t tl_fp_mul(int64_t a, int64_t b);
int64_t tl_fp_div(int64_t a, int64_t b);
int64_t tl_fp_rem(int64_t a, int64_t b); /* of the nearest whole quotient, as C's remainder() */
int64_t tl_fp_sqrt(int64_t v);
bool tl_fp_eq(int64_t a, int64_t b);
bool tl_fp_lt(int64_t a, int64_t b);
int64_t tl_fp_of_long(int64_t v);
int64_t tl_fp_of_fp32(int64_t v); /* the bits of a 32-bit float */
int64_t tl_fp_to_long(int64_t v, int64_t mode); /* INT64_MIN: does not fit */
/* "12.50" of 12.5 and 2; "inf", "-inf", "nan". */
void tl_fp_to_string(struct tl_run *run, struct tl_str *dst, int64_t v, int64_t precision);
/* Significant decimal digits that a float always has. */
enum { TL_FP32_DIGITS = 6, TL_FP64_DIGITS = 15 };
/* As C's "%.*g", ties away from 0: "2.5", "1e+100", "-0". */
void tl_fp_shown(struct tl_run *run, struct tl_str *dst, int64_t v, int64_t digits);
int64_t tl_string_to_fp(struct tl_run *run, const struct tl_str *s); /* may fail */

#endif
