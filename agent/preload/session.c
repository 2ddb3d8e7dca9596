/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "internal.h"

struct tl_preload *tl_preload;
struct tl_ctl_session *tl_session_ctl;
