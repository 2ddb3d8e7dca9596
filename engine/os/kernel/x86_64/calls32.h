/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * System calls of 32-bit programs: each has a number of its own, and its arguments in other registers. SAME: one has the
 * name and the number's meaning in both; LIKE(a, b): what is called a there is b here. Not here: those that 64-bit
 * programs do not have (socketcall, ipc, _llseek, signal ...), and two old ones that take all they want in memory.
 */
#ifndef TRAPLESS_ENGINE_OS_KERNEL_X86_64_CALLS32_H
#define TRAPLESS_ENGINE_OS_KERNEL_X86_64_CALLS32_H

#include <asm/unistd_32_ia32.h>
#include <asm/unistd_64.h>

/* clang-format off */
#define TL_CALLS32(SAME, LIKE) \
	SAME(restart_syscall) SAME(exit) SAME(fork) SAME(read) SAME(write) SAME(open) SAME(close) \
	SAME(creat) SAME(link) SAME(unlink) SAME(execve) SAME(chdir) SAME(time) SAME(mknod) \
	SAME(chmod) SAME(lchown) SAME(lseek) SAME(getpid) SAME(mount) SAME(setuid) SAME(getuid) \
	SAME(ptrace) SAME(alarm) SAME(pause) SAME(utime) SAME(access) SAME(sync) SAME(kill) \
	SAME(rename) SAME(mkdir) SAME(rmdir) SAME(dup) SAME(pipe) SAME(times) SAME(brk) SAME(setgid) \
	SAME(getgid) SAME(geteuid) SAME(getegid) SAME(acct) SAME(umount2) SAME(ioctl) SAME(fcntl) \
	SAME(setpgid) SAME(umask) SAME(chroot) SAME(ustat) SAME(dup2) SAME(getppid) SAME(getpgrp) \
	SAME(setsid) SAME(setreuid) SAME(setregid) SAME(sethostname) SAME(setrlimit) SAME(getrlimit) \
	SAME(getrusage) SAME(gettimeofday) SAME(settimeofday) SAME(getgroups) SAME(setgroups) \
	SAME(symlink) SAME(readlink) SAME(uselib) SAME(swapon) SAME(reboot) SAME(munmap) \
	SAME(truncate) SAME(ftruncate) SAME(fchmod) SAME(fchown) SAME(getpriority) SAME(setpriority) \
	SAME(statfs) SAME(fstatfs) SAME(ioperm) SAME(syslog) SAME(setitimer) SAME(getitimer) \
	SAME(stat) SAME(lstat) SAME(fstat) SAME(iopl) SAME(vhangup) SAME(wait4) SAME(swapoff) \
	SAME(sysinfo) SAME(fsync) SAME(clone) SAME(setdomainname) SAME(uname) SAME(modify_ldt) \
	SAME(adjtimex) SAME(mprotect) SAME(create_module) SAME(init_module) SAME(delete_module) \
	SAME(get_kernel_syms) SAME(quotactl) SAME(getpgid) SAME(fchdir) SAME(sysfs) \
	SAME(personality) SAME(afs_syscall) SAME(setfsuid) SAME(setfsgid) SAME(getdents) SAME(flock) \
	SAME(msync) SAME(readv) SAME(writev) SAME(getsid) SAME(fdatasync) SAME(_sysctl) SAME(mlock) \
	SAME(munlock) SAME(mlockall) SAME(munlockall) SAME(sched_setparam) SAME(sched_getparam) \
	SAME(sched_setscheduler) SAME(sched_getscheduler) SAME(sched_yield) \
	SAME(sched_get_priority_max) SAME(sched_get_priority_min) SAME(sched_rr_get_interval) \
	SAME(nanosleep) SAME(mremap) SAME(setresuid) SAME(getresuid) SAME(query_module) SAME(poll) \
	SAME(nfsservctl) SAME(setresgid) SAME(getresgid) SAME(prctl) SAME(rt_sigreturn) \
	SAME(rt_sigaction) SAME(rt_sigprocmask) SAME(rt_sigpending) SAME(rt_sigtimedwait) \
	SAME(rt_sigqueueinfo) SAME(rt_sigsuspend) SAME(pread64) SAME(pwrite64) SAME(chown) \
	SAME(getcwd) SAME(capget) SAME(capset) SAME(sigaltstack) SAME(sendfile) SAME(getpmsg) \
	SAME(putpmsg) SAME(vfork) SAME(pivot_root) SAME(mincore) SAME(madvise) SAME(getdents64) \
	SAME(gettid) SAME(readahead) SAME(setxattr) SAME(lsetxattr) SAME(fsetxattr) SAME(getxattr) \
	SAME(lgetxattr) SAME(fgetxattr) SAME(listxattr) SAME(llistxattr) SAME(flistxattr) \
	SAME(removexattr) SAME(lremovexattr) SAME(fremovexattr) SAME(tkill) SAME(futex) \
	SAME(sched_setaffinity) SAME(sched_getaffinity) SAME(set_thread_area) SAME(get_thread_area) \
	SAME(io_setup) SAME(io_destroy) SAME(io_getevents) SAME(io_submit) SAME(io_cancel) \
	SAME(fadvise64) SAME(exit_group) SAME(lookup_dcookie) SAME(epoll_create) SAME(epoll_ctl) \
	SAME(epoll_wait) SAME(remap_file_pages) SAME(set_tid_address) SAME(timer_create) \
	SAME(timer_settime) SAME(timer_gettime) SAME(timer_getoverrun) SAME(timer_delete) \
	SAME(clock_settime) SAME(clock_gettime) SAME(clock_getres) SAME(clock_nanosleep) \
	SAME(tgkill) SAME(utimes) SAME(vserver) SAME(mbind) SAME(get_mempolicy) SAME(set_mempolicy) \
	SAME(mq_open) SAME(mq_unlink) SAME(mq_timedsend) SAME(mq_timedreceive) SAME(mq_notify) \
	SAME(mq_getsetattr) SAME(kexec_load) SAME(waitid) SAME(add_key) SAME(request_key) \
	SAME(keyctl) SAME(ioprio_set) SAME(ioprio_get) SAME(inotify_init) SAME(inotify_add_watch) \
	SAME(inotify_rm_watch) SAME(migrate_pages) SAME(openat) SAME(mkdirat) SAME(mknodat) \
	SAME(fchownat) SAME(futimesat) SAME(unlinkat) SAME(renameat) SAME(linkat) SAME(symlinkat) \
	SAME(readlinkat) SAME(fchmodat) SAME(faccessat) SAME(pselect6) SAME(ppoll) SAME(unshare) \
	SAME(set_robust_list) SAME(get_robust_list) SAME(splice) SAME(sync_file_range) SAME(tee) \
	SAME(vmsplice) SAME(move_pages) SAME(getcpu) SAME(epoll_pwait) SAME(utimensat) \
	SAME(signalfd) SAME(timerfd_create) SAME(eventfd) SAME(fallocate) SAME(timerfd_settime) \
	SAME(timerfd_gettime) SAME(signalfd4) SAME(eventfd2) SAME(epoll_create1) SAME(dup3) \
	SAME(pipe2) SAME(inotify_init1) SAME(preadv) SAME(pwritev) SAME(rt_tgsigqueueinfo) \
	SAME(perf_event_open) SAME(recvmmsg) SAME(fanotify_init) SAME(fanotify_mark) SAME(prlimit64) \
	SAME(name_to_handle_at) SAME(open_by_handle_at) SAME(clock_adjtime) SAME(syncfs) \
	SAME(sendmmsg) SAME(setns) SAME(process_vm_readv) SAME(process_vm_writev) SAME(kcmp) \
	SAME(finit_module) SAME(sched_setattr) SAME(sched_getattr) SAME(renameat2) SAME(seccomp) \
	SAME(getrandom) SAME(memfd_create) SAME(bpf) SAME(execveat) SAME(socket) SAME(socketpair) \
	SAME(bind) SAME(connect) SAME(listen) SAME(accept4) SAME(getsockopt) SAME(setsockopt) \
	SAME(getsockname) SAME(getpeername) SAME(sendto) SAME(sendmsg) SAME(recvfrom) SAME(recvmsg) \
	SAME(shutdown) SAME(userfaultfd) SAME(membarrier) SAME(mlock2) SAME(copy_file_range) \
	SAME(preadv2) SAME(pwritev2) SAME(pkey_mprotect) SAME(pkey_alloc) SAME(pkey_free) \
	SAME(statx) SAME(arch_prctl) SAME(io_pgetevents) SAME(rseq) SAME(semget) SAME(semctl) \
	SAME(shmget) SAME(shmctl) SAME(shmat) SAME(shmdt) SAME(msgget) SAME(msgsnd) SAME(msgrcv) \
	SAME(msgctl) SAME(pidfd_send_signal) SAME(io_uring_setup) SAME(io_uring_enter) \
	SAME(io_uring_register) SAME(open_tree) SAME(move_mount) SAME(fsopen) SAME(fsconfig) \
	SAME(fsmount) SAME(fspick) SAME(pidfd_open) SAME(clone3) SAME(close_range) SAME(openat2) \
	SAME(pidfd_getfd) SAME(faccessat2) SAME(process_madvise) SAME(epoll_pwait2) \
	SAME(mount_setattr) SAME(quotactl_fd) SAME(landlock_create_ruleset) SAME(landlock_add_rule) \
	SAME(landlock_restrict_self) SAME(memfd_secret) SAME(process_mrelease) SAME(futex_waitv) \
	SAME(set_mempolicy_home_node) SAME(syscalls) \
	LIKE(waitpid,wait4) LIKE(umount,umount2) LIKE(sigreturn,rt_sigreturn) \
	LIKE(_newselect,select) LIKE(ugetrlimit,getrlimit) LIKE(mmap2,mmap) \
	LIKE(truncate64,truncate) LIKE(ftruncate64,ftruncate) LIKE(stat64,stat) LIKE(lstat64,lstat) \
	LIKE(fstat64,fstat) LIKE(lchown32,lchown) LIKE(getuid32,getuid) LIKE(getgid32,getgid) \
	LIKE(geteuid32,geteuid) LIKE(getegid32,getegid) LIKE(setreuid32,setreuid) \
	LIKE(setregid32,setregid) LIKE(getgroups32,getgroups) LIKE(setgroups32,setgroups) \
	LIKE(fchown32,fchown) LIKE(setresuid32,setresuid) LIKE(getresuid32,getresuid) \
	LIKE(setresgid32,setresgid) LIKE(getresgid32,getresgid) LIKE(chown32,chown) \
	LIKE(setuid32,setuid) LIKE(setgid32,setgid) LIKE(setfsuid32,setfsuid) \
	LIKE(setfsgid32,setfsgid) LIKE(fcntl64,fcntl) LIKE(sendfile64,sendfile) \
	LIKE(statfs64,statfs) LIKE(fstatfs64,fstatfs) LIKE(fadvise64_64,fadvise64) \
	LIKE(fstatat64,newfstatat) LIKE(clock_gettime64,clock_gettime) \
	LIKE(clock_settime64,clock_settime) LIKE(clock_adjtime64,clock_adjtime) \
	LIKE(clock_getres_time64,clock_getres) LIKE(clock_nanosleep_time64,clock_nanosleep) \
	LIKE(timer_gettime64,timer_gettime) LIKE(timer_settime64,timer_settime) \
	LIKE(timerfd_gettime64,timerfd_gettime) LIKE(timerfd_settime64,timerfd_settime) \
	LIKE(utimensat_time64,utimensat) LIKE(pselect6_time64,pselect6) LIKE(ppoll_time64,ppoll) \
	LIKE(io_pgetevents_time64,io_pgetevents) LIKE(recvmmsg_time64,recvmmsg) \
	LIKE(mq_timedsend_time64,mq_timedsend) LIKE(mq_timedreceive_time64,mq_timedreceive) \
	LIKE(semtimedop_time64,semtimedop) LIKE(rt_sigtimedwait_time64,rt_sigtimedwait) \
	LIKE(futex_time64,futex) LIKE(sched_rr_get_interval_time64,sched_rr_get_interval)
/* clang-format on */

/* Of such a program's call the number that others have for it; -1: they have none. */
static inline long tl_call32(long number)
{
#define LIKE(name, as) [__NR_ia32_##name] = 1 + __NR_##as,
#define SAME(name)     LIKE(name, name)
	static const uint16_t calls[] = {TL_CALLS32(SAME, LIKE)};
#undef SAME
#undef LIKE

	return number >= 0 && number < (long)ARRAY_SIZE(calls) ? calls[number] - 1l : -1;
}

#endif
