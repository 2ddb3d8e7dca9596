/* SPDX-License-Identifier: MIT */
/* Makes system calls whose arguments are known, those of one line of `expected` in tests/process/values/test_syscalls.py each. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	static char *args[] = {"nothing", "a b", NULL}, *env[] = {NULL};
	struct sockaddr_in in = {AF_INET, htons(80), {htonl(0x7f000001)}, {0}};
	struct sockaddr_un un = {AF_UNIX, "/no/such/socket"};
	struct timespec ts = {0, 5};
	char text[3];

	syscall(SYS_open, "/dev/null", O_RDWR | O_CLOEXEC, 0);
	syscall(SYS_open, "/no/such\n", O_WRONLY | O_CREAT | O_EXCL, 0640);
	syscall(SYS_openat, AT_FDCWD, "/dev/zero", O_RDONLY);
	syscall(SYS_openat, -1, 0x10, O_PATH);
	syscall(SYS_read, -2, text, sizeof(text));
	syscall(SYS_write, -3, "a\0b", 3);
	syscall(SYS_lseek, -1, -7L, SEEK_END);
	syscall(SYS_access, "/", R_OK | X_OK);
	syscall(SYS_socket, AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	syscall(SYS_connect, -1, &in, sizeof(in));
	syscall(SYS_bind, -1, &un, sizeof(un));
	syscall(SYS_mmap, 0, 4096, PROT_READ, MAP_PRIVATE, -1, 8192);
	syscall(SYS_nanosleep, &ts, NULL);
	syscall(SYS_kill, 0, 0);
	syscall(SYS_pipe2, NULL, O_CLOEXEC);
	syscall(SYS_epoll_ctl, -1, EPOLL_CTL_MOD, 5, NULL);
	syscall(SYS_fcntl, -1, F_DUPFD_CLOEXEC, 9L);
	syscall(SYS_execve, "/no/such/program", args, env);
	syscall(SYS_newfstatat, AT_FDCWD, "", text, AT_EMPTY_PATH);
	syscall(SYS_unshare, CLONE_FS);
	syscall(SYS_umask, 022);
	return argc - 1 + !argv;
}
