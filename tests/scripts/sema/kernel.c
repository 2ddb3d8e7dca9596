// SPDX-License-Identifier: MIT
// A kernel, as far as pass 2 can tell: functions and types in BTF (clang -target bpf -g).
enum whence { FROM_START, FROM_HERE };
struct path {
	const char *name;
	unsigned int depth : 4, deleted : 1;
};
struct inode {
	unsigned long i_ino;
	struct inode *parent;
};
struct file {
	struct inode *f_inode;
	long f_pos;
	struct path f_path;
	enum whence whence;
	char buf[16];
};
struct pair {
	long a, b;
};

long vfs_read(struct file *file, char *buf, unsigned long count, long *pos)
{
	return file->f_pos + count + *pos + *buf;
}

int vfs_open(const struct path *path, struct file *file)
{
	return path->depth + file->whence;
}

void vfs_sync(struct file *file, int a, struct pair pair, int b, int c)
{
	file->f_pos = a + pair.a + b + c;
}

/* clang describes what is passed as a whole */
unsigned long inode_number(struct inode inode)
{
	return inode.i_ino;
}
struct task_struct {
	int pid, tgid;
	char comm[16];
};
int wake_up(struct task_struct *t)
{
	return t->pid;
}
/* What calls a tracepoint's listeners. */
int __traceiter_file_opened(void *__data, struct file *file, int flags)
{
	return file->f_pos > flags;
}
