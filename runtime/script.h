/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The API that compiled scripts see. A module is C made by crates/emit that
 * includes this header and nothing else, and is built with
 *
 *   -std=gnu11 -O2 -ffreestanding -fno-strict-aliasing -mgeneral-regs-only
 *   -DTL_MAXSTRING=N       (MAXSTRINGLEN; strings hold at most N - 1 bytes)
 *
 * The same module runs in the traced process (agent) and in the runner. What
 * is extern here is listed in exports.def and bound by the loader.
 *
 * The shape of a handler:
 *
 *   int h1(struct tl_probe *p, struct tl_regs *regs, struct tl_thread *self)
 *   {
 *           static const uint16_t locks[] = { 0, 3 };     // ascending numbers
 *           struct tl_run run;
 *           if (!tl_run_enter(&run, p->data, regs, self)) return 0;
 *           if (tl_run_lock(&run, locks, 2)) {            // only where globals are used
 *                   TL_STRING(s);                         // an empty string
 *                   if (!tl_run_spend(&run, 3)) goto out; // statements, for MAXACTION
 *                   run.place = "operator '/' at x.stp:3:9";
 *                   int64_t x = tl_div(&run, a, b);
 *                   if (run.error) goto out;              // after whatever may fail
 *           }
 *   out:    tl_run_leave(&run);                           // unlocks, reports the error
 *           return 0;
 *   }
 *
 * A handler whose globals are all sharded takes no lock. Functions that can
 * fail say so ("may fail": test run.error behind it); they then have done
 * nothing, and return 0 or the empty string, so that the test may also come
 * later. While run.error is set every further call is harmless.
 */
#ifndef TRAPLESS_RUNTIME_SCRIPT_H
#define TRAPLESS_RUNTIME_SCRIPT_H

#include "script/value.h"
#include "script/view.h"
#include "script/run.h"
#include "script/syscall.h"
#include "script/number.h"
#include "script/float.h"
#include "script/string.h"
#include "script/regex.h"
#include "script/global.h"
#include "script/stat.h"
#include "script/map.h"
#include "script/output.h"
#include "script/memory.h"
#include "script/register.h"
#include "script/context.h"
#include "script/stack.h"
#include "script/time.h"

/*
 * Bytes of stack that a call of a function declared here needs at most, the
 * home's part included (tests/runtime/stack.py). TL_STACK_TEXT: tl_sprintf,
 * tl_hist_print, tl_user_string_quoted, tl_thread_indent, tl_fp_to_string, tl_fp_shown,
 * tl_string_to_fp. TL_STACK_WALK: tl_ustack_addresses, tl_ustack_print, tl_ustack_print_from,
 * tl_ustack_text, tl_kstack_addresses, tl_kstack_print, tl_kstack_text, tl_usyms_print, tl_usyms_text. All others:
 * TL_STACK_CALL.
 */
#define TL_STACK_CALL 480
#define TL_STACK_TEXT 1088
#define TL_STACK_WALK 1408

/*
 * Every module asks for this function, so that a runtime with other structures
 * or other meanings refuses it. A new number for each such change;
 * runtime/machine/x86_64.c notices changes of layout.
 */
void tl_runtime_abi_14(void);
__attribute__((used)) static void tl_fit(void)
{
	tl_runtime_abi_14();
}

#endif
