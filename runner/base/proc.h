/* SPDX-License-Identifier: MIT */
/* What /proc tells of processes and their threads; a thread's number does wherever a process's does. */
#ifndef TRAPLESS_RUNNER_BASE_PROC_H
#define TRAPLESS_RUNNER_BASE_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { PROC_TEXT = 8192 }; /* room for any of the files read here */

/* A small file as a string. Its length, or -errno. */
ssize_t proc_read(const char *path, char *buf, size_t size);
/* The same of /proc/PID/FILE. */
ssize_t proc_read_of(pid_t pid, const char *file, char *buf, size_t size);
/* What stands behind `FIELD:` in the text of a status file; NULL: there is none. */
const char *proc_field(const char *text, const char *field);
/* A number there, 0: none. */
uint64_t proc_number(const char *text, const char *field, int base);
/* A number of /proc/PID/status. 0, or -errno. */
int proc_status(pid_t pid, const char *field, int base, uint64_t *value);
/* A word of its auxiliary vector (AT_ ...); 0: not there. */
uint64_t proc_aux(pid_t pid, uint64_t type);
/* Signals, by the text of a status file, that would be thrown away had nobody traced: they end no call. */
uint64_t proc_ignored(const char *status);
/* In the text of a stat file: a field behind the name. NULL: not told. */
const char *proc_stat_field(const char *text, int field);
/* R, S, Z ...; 0: there is no such process. */
char proc_state(pid_t pid);
/* Is it gone, or a zombie? */
bool proc_ended(pid_t pid);
bool proc_is_kernel_thread(pid_t pid);
/* Is it a thread of a program that the kernel has made, and that never runs the program? */
bool proc_is_kernels(pid_t tid);
/* Has its control group's freezer stopped it? Where control groups are mounted as systemd does. */
bool proc_is_frozen(pid_t pid);
/* Its threads that may run the program again, and those that will not; one that is stopped at its exit still may. */
void proc_threads(pid_t pid, unsigned *living, unsigned *ending);
/* How many mappings a process may have. */
uint32_t proc_max_maps(void);
/* The processor it last ran on, -1: not told. */
int proc_cpu(pid_t pid);
void proc_name(pid_t pid, char *buf, size_t size);
/* The path of what it runs; its name where that is not told. */
void proc_program(pid_t pid, char *buf, size_t size);
/* Its number in its own pid namespace; 0: it has ended. */
uint32_t proc_own_number(pid_t pid);
/* Is it in a pid namespace below that of /proc, with other numbers there? */
bool proc_is_nested(pid_t pid);
/* Does it sleep? Then in which system call (-1: in none), and with which stack pointer and program counter. */
struct proc_sleep {
	long call;
	uint64_t sp, pc;
};
bool proc_sleeps(pid_t pid, struct proc_sleep *where);

#endif
