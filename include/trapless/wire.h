/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The only things that cross between host, runner and target: the module file
 * (.tap), the session memory that runner and targets share, and the record
 * stream. crates/wire mirrors this file; a change here is a new version there.
 *
 * All integers have the byte order and all addresses the width of the target
 * that the module was made for; every struct has the same layout on 32 and 64
 * bit machines (explicit padding, 64-bit fields on 8-byte boundaries).
 * Readers treat all of it as untrusted: offsets and counts are checked against
 * the size of the file or mapping before use.
 */
#ifndef TRAPLESS_WIRE_H
#define TRAPLESS_WIRE_H

#include <stdint.h>

#define TL_WIRE_VERSION 2

/* --- the module file ------------------------------------------------------
 *
 *   struct tl_tap_header
 *   struct tl_tap_section[nsections]
 *   section contents, each aligned to 16
 */
#define TL_TAP_MAGIC 0x50415481u /* bytes 81 'T' 'A' 'P' on a little-endian target */

struct tl_tap_header {
	uint32_t magic;
	uint16_t version;	/* TL_WIRE_VERSION */
	uint16_t machine;	/* ELF e_machine */
	uint8_t word;		/* 32, 64 */
	uint8_t big_endian;
	uint16_t nsections;
	uint32_t crc;		/* CRC-32 (IEEE) of everything behind the header */
	uint64_t size;		/* of the whole file */
	uint32_t name;		/* STRINGS offset: module name */
	uint32_t flags;		/* enum tl_tap_flag */
	uint64_t build_hash[2];	/* of script, compiler and runtime version: names the module in messages and cache */
};

enum tl_tap_flag {
	TL_TAP_ANY_PROCESS = 1 << 0, /* made for `process.function`: the target given by -c or -x */
	TL_TAP_GURU	   = 1 << 1,
	/* begins, ends or system calls of the target: of whatever its children become, too */
	TL_TAP_HIERARCHY = 1 << 2,
	TL_TAP_KERNEL	 = 1 << 3, /* handlers run in a kernel, all of them; images are it and its modules */
};

enum tl_tap_kind {
	TL_TAP_STRINGS = 1, /* NUL-terminated strings; offset 0 is "" */
	TL_TAP_IMAGES,	/* struct tl_tap_image[] */
	TL_TAP_PROBES,	/* struct tl_tap_probe[] */
	TL_TAP_PARTS,	/* struct tl_tap_part[]: parts of functions */
	TL_TAP_CODE,	/* text and constants, mapped read and execute; a multiple of the target's page size (x86: 4096) */
	TL_TAP_DATA,	/* import table and relocated constants, mapped right behind CODE, read-only once loaded */
	TL_TAP_RELOCS,	/* uint32_t[]: DATA offsets of words to which the load address of CODE is added */
	TL_TAP_IMPORTS,	/* struct tl_tap_import[] */
	TL_TAP_PRINTS,	/* struct tl_tap_print[]: what handlers print, by the number in a PRINTF record */
	TL_TAP_GLOBALS,	/* struct tl_tap_global[]: what to initialise, and what to show */
	TL_TAP_OPTIONS,	/* struct tl_tap_options */
	TL_TAP_SYMBOLS,	/* struct tl_tap_symbol[], sorted by image, addr: for usymname() */
	TL_TAP_WARNINGS, /* uint32_t[]: STRINGS offsets; the runner prints them at the start */
	TL_TAP_UNWIND,	/* struct tl_tap_unwind[]: for each image its rows, for ubacktrace() */
	TL_TAP_ROWS,	/* struct tl_tap_row[], sorted by address within an image */
	TL_TAP_FRAMES,	/* struct tl_tap_frame[]: what rows refer to */
	TL_TAP_COMMANDS, /* uint32_t[]: STRINGS offsets of what system() starts, by command number */
	TL_TAP_LINES,	/* struct tl_tap_line[], sorted by image, addr: for usymfileline() */
	TL_TAP_FIELDS,	/* struct tl_tap_field[]: arguments of prints */
};

struct tl_tap_section {
	uint32_t kind;
	uint32_t count;		/* of elements; bytes for STRINGS, CODE, DATA */
	uint64_t offset;	/* in the file */
	uint64_t size;
};

#define TL_NONE 0xffffffffu

struct tl_tap_image {
	uint32_t path;		/* STRINGS: absolute path on the host; its base name names a library */
	uint32_t flags;		/* enum tl_tap_image_flag */
	uint8_t build_id[32];
	uint32_t build_id_len;	/* 0: the file has none, then size below decides */
	uint32_t reserved;
	uint64_t file_size;
};

enum tl_tap_image_flag {
	TL_TAP_IMAGE_PROGRAM = 1 << 0, /* a main program; else a library */
	TL_TAP_IMAGE_KERNEL  = 1 << 1, /* path is "kernel", or the name of a module of it; no file is meant */
};

enum tl_tap_probe_kind {
	TL_TAP_BEGIN = 1,	/* arg: order */
	TL_TAP_END,		/* arg: order */
	TL_TAP_ERROR,		/* arg: order */
	TL_TAP_TIMER,		/* arg: period in ns; addr: at most so much more or less */
	/* an instruction: image, addr; arg: vaddr in image of a mark's semaphore, or 0. Of a kernel's module arg is which of its
	 * functions of the name `func`, from 0 on, in the order of its symbols; of RETURN, too */
	TL_TAP_SITE,
	TL_TAP_RETURN,		/* a function's returns: image, addr = entry, parts */
	/* of a process, told by its tracer; the handler runs in the runner */
	TL_TAP_PROCESS_BEGIN,
	TL_TAP_PROCESS_END,
	TL_TAP_THREAD_BEGIN,	/* of any thread but the first one */
	TL_TAP_THREAD_END,
	/* arg: period in ns; for each thread of the target that runs then. In a kernel: for each processor, whatever it
	 * does; 0 is at the kernel's own rate */
	TL_TAP_PROFILE,
	/* arg: bytes at addr, in image or (TL_NONE) of the process's own; written, or READS. Of a kernel's image it is the
	 * variable `func`, where that is named; 0 is as many bytes as that has */
	TL_TAP_WATCH,
	/* files that run a handler in the runner: func is the file's name, arg the longest text, addr its umask */
	TL_TAP_FILE_READ,
	TL_TAP_FILE_WRITE,
	/* prints the global func: while the session runs (--monitor); at the end, and by --every, for readers of events */
	TL_TAP_SHOW,
	TL_TAP_RESET,		/* all globals are as they were at first (--monitor) */
	/* tracepoint `func` of image, a kernel or a module: parameters lie as at a function's entry, behind one that is the
	 * kernel's own. With SYSCALL it is sys_enter or sys_exit, and the registers are the program's */
	TL_TAP_TRACE,
};

enum tl_tap_probe_flag {
	TL_TAP_PROBE_REGS      = 1 << 0, /* as TL_PROBE_REGS */
	TL_TAP_PROBE_BIG_STACK = 1 << 1,
	TL_TAP_PROBE_OPTIONAL  = 1 << 2, /* a refusal is no error ('?') */
	TL_TAP_PROBE_NEVER     = 1 << 3, /* compiled, not run */
	TL_TAP_PROBE_RESULT    = 1 << 4, /* as TL_PROBE_RESULT: the handler reads what the function returns */
	TL_TAP_PROBE_MATCHED   = 1 << 5, /* one of those that a wildcard matched: a refusal is a warning */
	TL_TAP_PROBE_READS     = 1 << 6, /* of WATCH: reads count, too */
	TL_TAP_PROBE_BYTES     = 1 << 7, /* found by its bytes: where no instruction is, nothing is missed */
	TL_TAP_PROBE_SYSCALL   = 1 << 8, /* at a system call's instruction: arguments lie where the kernel wants them */
	/* of a kernel: addr counts from the first byte of the function `func`, which it finds by name. This one is at the
	 * function's entry: behind what ftrace and IBT have put there */
	TL_TAP_PROBE_ENTRY     = 1 << 9,
	TL_TAP_PROBE_MADE      = 1 << 10, /* by the compiler, not in the script: of END it shows a global that is never read */
};

struct tl_tap_probe {
	uint32_t kind;
	uint32_t flags;
	uint32_t process;	/* IMAGES index of the program; TL_NONE: the -c / -x target */
	uint32_t image;		/* IMAGES index of the file that holds addr (program or library); TL_NONE for BEGIN ... */
	uint64_t addr;		/* ELF vaddr in image */
	int64_t arg;
	uint32_t first_part, nparts; /* PARTS: the function around addr, where known; its first part holds the entry */
	uint32_t handler;	/* CODE offset: tl_module_fn, for RETURN the exit; TL_NONE: none */
	uint32_t on_entry;	/* CODE offset: entry half of a RETURN probe (@entry values), or TL_NONE */
	uint32_t call_data;	/* bytes a call, RETURN only */
	uint32_t point;		/* STRINGS: the full probe point, e.g. process("/usr/bin/git").function("main") */
	uint32_t func;		/* STRINGS: function name, "" unknown */
	uint32_t script;	/* STRINGS: place in the script, file:line:column */
	uint32_t condition;	/* CODE offset: nonzero says that the probe may be taken out for now; TL_NONE: it stays */
	uint32_t name;		/* STRINGS: the point as the script has it, by an alias; "": as point */
	uint32_t event;		/* STRINGS: what its events are called, e.g. malloc.return */
	uint32_t reserved;
};

/* One print, printf or println of the script. */
struct tl_tap_print {
	uint32_t format;	/* STRINGS: for printf */
	uint32_t script;	/* STRINGS: place in the script, file:line:column */
	uint32_t first_field, nfields; /* FIELDS: one for each argument of the format, those for `*` included */
};

struct tl_tap_field {
	uint32_t name;		/* STRINGS: the expression's, e.g. pid or count_x; "": a width, a precision, or a constant */
	uint32_t unit;		/* STRINGS: "ns", "us", "ms", "s", "B" or "" */
};

#define TL_WATCH_MAX 32 /* bytes of a WATCH probe: four debug registers */

struct tl_tap_part { uint64_t addr, size; };

struct tl_tap_import {
	uint32_t name;		/* STRINGS: a function of runtime/exports.def */
	uint32_t slot;		/* DATA offset of the word that gets its address */
};

struct tl_tap_symbol {
	uint64_t addr;		/* ELF vaddr */
	uint64_t size;
	uint32_t image;
	uint32_t name;
};

/* Code from addr on, up to the next one's, was made from this. */
struct tl_tap_line {
	uint64_t addr;		/* ELF vaddr */
	uint32_t image;
	uint32_t file;		/* STRINGS; TL_NONE: nothing is known */
	uint32_t line;
	uint32_t reserved;
};

struct tl_tap_unwind {
	uint64_t base;		/* ELF vaddr that `at` counts from */
	uint32_t first_row, nrows; /* ROWS */
};

/* From base + at on, up to the next row's. */
struct tl_tap_row {
	uint32_t at;
	uint32_t frame;		/* FRAMES; TL_NONE: nothing is known there */
};

/* How to find the caller's registers. Registers have DWARF's numbers; the last one is the return address. */
#define TL_FRAME_REGS 17
struct tl_tap_frame {
	uint8_t cfa;		/* the canonical frame address is this register + offset ... */
	uint8_t flags;		/* enum tl_tap_frame_flag */
	uint8_t base;		/* what by_base counts from */
	uint8_t reserved;
	int32_t offset;
	uint32_t moved;		/* bit n: the caller's register n is not the register any more; its stack pointer: not the CFA */
	uint32_t by_base;	/* bit n: `saved` counts from what `base` holds, not from the CFA */
	int16_t saved[TL_FRAME_REGS + 1]; /* where it lies, or TL_FRAME_LOST; the last one is padding */
};
#define TL_FRAME_LOST INT16_MIN /* a return address: the stack ends here */

enum tl_tap_frame_flag {
	TL_FRAME_DEREF	= 1 << 0, /* ... the word there */
	TL_FRAME_SIGNAL = 1 << 1, /* a signal's: the caller was interrupted, and not called */
};

enum tl_tap_value { TL_VALUE_LONG = 1, TL_VALUE_STRING, TL_VALUE_STATS };

/* A script's global. Lives in the session's globals area at `offset`. */
struct tl_tap_global {
	uint32_t name;
	uint8_t type;		/* enum tl_tap_value */
	uint8_t sharded;	/* one copy in every thread block at `offset` of its shard area */
	uint8_t nkeys;		/* 0: a scalar */
	uint8_t wrap;		/* '%': the oldest entry makes room */
	uint8_t key_types[16];	/* enum tl_tap_value */
	uint32_t offset;
	uint32_t size;		/* bytes reserved there */
	uint32_t capacity;	/* entries of a map */
	uint32_t lock;		/* its lock's number */
	int64_t init;		/* long: first value */
	uint32_t init_string;	/* string: STRINGS offset */
	uint8_t hist;		/* 0 none, 1 log, 2 linear: what a statistic must keep */
	uint8_t reserved[3];
	int64_t hist_low, hist_high, hist_step;
};

struct tl_tap_options {
	uint32_t globals_size;	/* bytes of the globals area */
	uint32_t shard_size;	/* bytes of every thread block's shard area */
	uint32_t nlocks;
	uint32_t max_string;	/* MAXSTRINGLEN */
	uint32_t max_action;	/* MAXACTION: statements in one handler run */
	uint32_t max_nesting;	/* MAXNESTING */
	uint32_t max_errors;	/* MAXERRORS; TL_NONE: errors do not matter */
	uint32_t max_skipped;	/* MAXSKIPPED */
	uint32_t ring_size;	/* bytes of records that one thread may have waiting; 0: all that there is room for */
	uint32_t stack;		/* largest stack a handler needs */
	uint32_t uses;		/* enum tl_tap_uses */
	uint32_t ring_pool;	/* MiB of records that all threads together may have waiting; 0: default */
};

enum tl_tap_uses {
	TL_USES_SYMBOLS = 1 << 0,
	TL_USES_STACK	= 1 << 1,
	TL_USES_HITS	= 1 << 2, /* every shard area begins with a 64-bit count of hits for each probe */
	TL_USES_TIMES	= 1 << 3, /* ... and goes on with a struct tl_time for each */
};

/* What the handlers of a probe took in one thread, in cycles. */
struct tl_time { uint64_t runs, sum, least, most; };

/* --- session memory ---------------------------------------------------------
 *
 * One shared mapping, made by the runner and mapped by every target of the
 * session, at different addresses: all references are offsets.
 *
 *   struct tl_session | locks | globals | owners of chunks | thread block 0 | 1 | ... | chunk 2 | 3 | ...
 *
 * Records are written to chunks. Every thread block has two small ones of its own,
 * numbers 0 and 1; the large ones from 2 on are everybody's, and taken by compare
 * and swap of their owner: 0, or the number of a block + 1. So memory is touched
 * where records wait, not where threads are. A place in a ring is the number of its
 * chunk times chunk_size, plus the offset in it.
 *
 * Block 0 is nobody's: its shard area holds what sharded globals start from.
 * The runner claims a block for its own handlers as any thread does.
 */
#define TL_SESSION_MAGIC 0x53534c54u

struct tl_session {
	uint32_t magic;
	uint32_t version;
	uint64_t size;		/* of the whole mapping */
	uint32_t locks_off, nlocks;
	uint64_t globals_off, globals_size;
	uint64_t blocks_off;
	uint32_t block_stride;	/* bytes from one thread block to the next */
	uint32_t nblocks;
	uint32_t shard_off, shard_size; /* inside a block */
	uint32_t ring_off, own_size; /* inside a block: its two chunks, of own_size bytes each */
	uint64_t owners_off;	/* uint32_t[nchunks] */
	uint64_t chunks_off;
	uint32_t chunk_size, nchunks; /* the large ones; the size is a power of two */
	uint32_t chunks_most;	/* of them that one thread may have */
	uint32_t free_from;	/* no block below this is free, most likely */
	/* Written by the runner, read by handlers. */
	uint32_t live;		/* 0: handlers return at once */
	uint32_t blocks_used;	/* no block from here on was ever claimed */
	/* Clock: ns = base_ns + ((cycles - base_cycles) * mult >> 32); the two
	 * sequence numbers are equal and even when the rest is whole. */
	uint32_t clock_seq;
	uint32_t wants_names;	/* blocks are to have the name of their thread from the first record on */
	uint64_t clock_base_cycles;
	uint64_t clock_base_ns;	/* since the epoch */
	uint64_t clock_mult;	/* ns per cycle, 32.32 fixed point */
	int64_t target_pid;	/* target() */
	int64_t tz_offset;	/* seconds east of UTC, and name, for tz_ctime */
	char tz_name[8];
	int64_t uid;		/* who has started the session */
	/* Written by handlers. */
	uint32_t exit_requested; /* exit() was called */
	uint32_t errors;	/* run-time errors so far */
	uint64_t skipped;	/* handlers given up: lock not had in time */
	uint64_t no_block;	/* hits in threads for which no block was free */
	uint64_t missed;	/* hits inside handlers, sum over the targets' threads; runner's */
	uint32_t conditions;	/* a global was changed that the condition of a probe names */
	uint32_t runner;	/* its process: stp_pid() */
	char module_name[64];	/* cut there */
};

enum tl_block_state { TL_BLOCK_FREE, TL_BLOCK_USED, TL_BLOCK_DEAD };

/* One traced thread; of a kernel, what one processor does at one level. What says so is the reader's, all else the writer's. */
struct tl_block {
	uint32_t state;		/* enum tl_block_state; FREE -> USED by compare and swap */
	uint32_t tid, pid;	/* as the target's own namespace has them until the runner corrects them */
	uint32_t target;	/* runner's number of the process */
	char comm[16];		/* execname() */
	uint64_t head;		/* where the next record goes */
	uint64_t lost;		/* records that did not fit */
	uint64_t writing;	/* 0, or a time stamp not later than that of the records of the handler that runs */
	uint64_t skipped;	/* lock not had in time */
	uint64_t errors;
	uint64_t truncated;	/* strings cut at MAXSTRINGLEN */
	uint32_t holding;	/* nonzero while a handler of this thread may hold locks */
	uint32_t owner;		/* what it writes into locks: its number + 1 */
	uint32_t left[2];	/* times that it went on from its own chunks */
	uint32_t read[2];	/* reader's: the same; equal: the chunk is free */
	uint32_t taken, given;	/* large chunks it has taken; reader's: has given back */
	uint32_t processor;	/* of a kernel, + 1: its handlers here end before what they have interrupted goes on; 0: none */
	uint32_t reserved32;
	uint64_t reserved;
	/* struct tl_block_own follows; shard area at shard_off, chunks at ring_off, both from the start of the block */
};

/* One lock, alone in its cache line. */
struct tl_lock {
	uint32_t owner;		/* number of the owner's block + 1; 0: free */
	uint32_t turns;		/* times it was given back */
	uint32_t wanted;	/* somebody waits: whoever gives it back lets others go first */
	uint32_t late;		/* an owner that never gave it back while somebody waited: not waited for long again */
	uint32_t reserved[12];
};

/* --- records -----------------------------------------------------------------
 *
 * In a chunk and in the raw stream: a header, then its payload, padded to 8.
 * All records of one run of a handler have one time, that of the first.
 */
enum tl_record_kind {
	TL_REC_LINK = 1,	/* no payload: the next record is the first of the chunk whose number stands for the time */
	TL_REC_PRINTF,		/* id = number of the print; payload: arguments in order */
	TL_REC_TEXT,		/* id: enum tl_text; payload: text as it is to be printed; long ones come in pieces */
	TL_REC_ERROR,		/* payload: text; a run-time error */
	TL_REC_WARN,		/* payload: text */
	/* payload: struct tl_record_thread: whose the records of this ring are from here on. In rings only where the runner
	 * itself acts for threads of a target */
	TL_REC_THREAD,
	/* raw stream only */
	TL_REC_LOST,		/* payload: uint64_t: so many records of this ring did not fit since the last one of these */
	TL_REC_END,		/* payload: struct tl_record_end; the last one */
	TL_REC_COMMAND,		/* id = command number, no payload: the runner starts it. A target has no say in what it is */
	TL_REC_COMMAND_TEXT,	/* payload: a command that a handler has made; a target can change it */
	TL_REC_SWITCH,		/* go on in the next output file */
	TL_REC_HITS,		/* raw stream only, before END; payload: uint64_t: so many hits had the probe */
};

enum tl_text {
	TL_TEXT_MORE  = 1 << 0, /* the next record goes on with the same text */
	TL_TEXT_STACK = 1 << 1, /* the frames of a stack, a line each */
};

struct tl_record {
	uint64_t what;		/* from bit 0 on: 22 bits size / 8 (header and payload), 5 kind, 16 id, 21 number of the probe */
	uint64_t time;		/* cycles; ns since the epoch in the raw stream */
};

#define TL_RECORD_MAX (0x3fffffu * 8) /* bytes */
#define TL_PROBES_MAX (1u << 21)

static inline uint64_t tl_record_what(uint32_t size, unsigned kind, unsigned id, uint32_t probe)
{
	return size / 8 | (uint64_t)kind << 22 | (uint64_t)id << 27 | (uint64_t)probe << 43;
}

static inline uint32_t tl_record_size(uint64_t what)
{
	return ((uint32_t)what & 0x3fffff) * 8;
}

static inline unsigned tl_record_kind(uint64_t what)
{
	return (uint32_t)what >> 22 & 31;
}

static inline unsigned tl_record_id(uint64_t what)
{
	return (unsigned)(what >> 27 & 0xffff);
}

static inline uint32_t tl_record_probe(uint64_t what)
{
	return (uint32_t)(what >> 43);
}

struct tl_record_thread {
	uint32_t tid, pid;
	uint32_t processor;	/* of a kernel, + 1; 0: none */
	uint32_t reserved;
	char comm[16];
};

/* Sums of the session. */
struct tl_record_end {
	uint64_t records;	/* in this stream, this one and those of THREAD, LOST and HITS not counted */
	uint64_t lost;
	uint64_t errors, skipped, missed; /* as in struct tl_session */
	uint64_t no_block;	/* hits in threads for which there was no room */
	uint64_t damaged;	/* places in rings that made no sense */
};

/*
 * Arguments of a PRINTF record: a number is 8 bytes; a string is a uint32_t
 * length, the bytes, and padding to 8. Texts have no NUL; the padding behind
 * them is NULs.
 */

/* The raw stream (`trapless-run --raw`) begins with this, then the module file, then records. */
#define TL_RAW_MAGIC 0x57415254u
struct tl_raw_header {
	uint32_t magic;
	uint32_t version;	/* TL_WIRE_VERSION */
	uint64_t module_size;
	/* One moment, as its clocks had it. CLOCK_REALTIME is the one of the records' times. */
	uint64_t realtime, monotonic, boottime; /* ns */
	char host[64];
};
/* Each record of the raw stream is preceded by: */
struct tl_raw_thread { uint32_t thread, reserved; }; /* the number of its ring */

#endif
