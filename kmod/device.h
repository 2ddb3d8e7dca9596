/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * /dev/trapless: scripts in the kernel. One open file is one session, from
 * TL_DEVICE_LOAD to close(2), which ends it wherever it is: no probe stays.
 * Opening it takes root with CAP_SYS_MODULE, which can as well load a module.
 *
 *   ioctl    below. Each may sleep; one at a time for each file.
 *   read     records, whole ones, each behind a struct tl_raw_thread (wire.h). At
 *            least TL_DEVICE_READ bytes are asked for; -EAGAIN: there are none now.
 *   poll     POLLPRI: a module has come since TL_DEVICE_ARM, which is to be called again: it may have probes there.
 *   mmap     session memory (struct tl_session, wire.h), at offset 0, to be read only.
 *
 * Errors of the module or of a probe are TL_E_ codes in what the calls fill;
 * what the calls return is an errno: EINVAL for calls out of order.
 */
#ifndef TRAPLESS_KMOD_DEVICE_H
#define TRAPLESS_KMOD_DEVICE_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define TL_DEVICE_PATH "/dev/trapless"

enum { TL_DEVICE_VERSION = 1, TL_DEVICE_READ = 1 << 18, TL_DEVICE_VALUE_MAX = 1 << 20 };

struct tl_device_load {
	__u32 version; /* TL_DEVICE_VERSION */
	__s32 error; /* out: -TL_E_ */
	__u64 file, size; /* the module, in the caller's memory */
	__s64 tz_offset; /* seconds east of UTC, and its name */
	char tz_name[8];
	__u64 memory; /* out: bytes of session memory */
	__u64 standing; /* out: bytes of what TL_DEVICE_STANDING copies */
	char missing
		[64]; /* out: the function that TL_E_NO_SYMBOL or TL_E_VERSION is about, cut there */
};

/* Bring a session's module in. Once. */
#define TL_DEVICE_LOAD _IOWR('t', 1, struct tl_device_load)
/* Run the handler of this probe, which stands nowhere (begin, end, timers): now, here. */
#define TL_DEVICE_RUN _IOW('t', 2, __u32)
/* 1: handlers run; 0: they return at once. */
#define TL_DEVICE_LIVE _IOW('t', 3, __u32)
/* All probes that have a place; returns how many stand. What became of each is in its standing. */
#define TL_DEVICE_ARM _IO('t', 4)
/* Away with them: when it returns no handler runs any more. */
#define TL_DEVICE_DISARM _IO('t', 5)
/* struct tl_ctl_session with its probes (home/arm.h), to this address; as of the latest arming or disarming. */
#define TL_DEVICE_STANDING _IOW('t', 6, __u64)
/* 1: from now on read() gives out what waits for older records, too. Nobody is to write any more. */
#define TL_DEVICE_FINAL _IOW('t', 7, __u32)
/* target() is this process from now on. */
#define TL_DEVICE_TARGET _IOW('t', 8, __u32)
/* What the next TL_DEVICE_ARM is to make of the probes. */
struct tl_device_want {
	__u64 off; /* a byte for each probe: not 0, it is to be away */
	__u32 jump; /* 0: breakpoints only, in all sessions */
	__u32 reserved;
};
#define TL_DEVICE_WANT _IOW('t', 9, struct tl_device_want)
/* Ask this probe's condition: 1 true, 0 false. */
#define TL_DEVICE_CONDITION _IOW('t', 10, __u32)
/* Has a global changed that a condition names, since this was asked last? 1 or 0. */
#define TL_DEVICE_MOVED _IO('t', 11)
/* The same as TL_DEVICE_RUN, of a file: what $value is before and behind it. */
struct tl_device_value {
	__u32 probe;
	__u32 len; /* in and out: bytes at `text` */
	__u32 room; /* there, at most TL_DEVICE_VALUE_MAX */
	__u32 reserved;
	__u64 text;
};
#define TL_DEVICE_RUN_VALUE _IOWR('t', 12, struct tl_device_value)
/* Where that is, as far as it is known: "open+0x5", "loop:lo_ioctl+0x5"; else "". */
struct tl_device_name {
	__u64 addr;
	char text[120];
};
#define TL_DEVICE_NAME _IOWR('t', 13, struct tl_device_name)
/* struct tl_usage (trapless/probe.h), to this address: of all sessions together, as of the latest arming. */
#define TL_DEVICE_USAGE _IOW('t', 14, __u64)
/* Handlers' clock is this kernel's anew, which its user may have set. To be called each second. */
#define TL_DEVICE_CLOCK _IO('t', 15)
/* How the instructions of one function could be probed; no session is needed, and nothing changes. EBUSY: some are. */
struct tl_device_fate {
	__s32 why; /* -TL_E_ where it is refused */
	__u32 rung; /* enum tl_rung */
};
struct tl_device_place {
	__u64 addr;
	struct tl_device_fate alone,
		together; /* by a jump or not at all; with all others of the function */
};
enum { TL_DEVICE_PLACES = 1 << 16 };
struct tl_device_foresee {
	__u64 addr; /* in the function */
	__u64 start, size; /* out: of it, without what is ftrace's or for the processor to see */
	__u64 to; /* struct tl_device_place[], and how many there may be, TL_DEVICE_PLACES at most */
	__u32 room;
	__u32 count; /* out: of instructions, as many as there is room for */
	__s32 error; /* out: -TL_E_: it could not be read as a function */
	__u32 reserved;
};
#define TL_DEVICE_FORESEE _IOWR('t', 16, struct tl_device_foresee)

#endif
