/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "home.h"

struct tl_ctl *tl_ctl;
