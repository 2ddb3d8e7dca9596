/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* /dev/trapless: see device.h. */
#include <linux/capability.h>
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/version.h>
#include <linux/vmalloc.h>

#include "foresee.h"
#include "kmod.h"
#include "modules.h"
#include "script.h"

struct opened {
	struct mutex lock;
	struct script script;
};

static int device_open(struct inode *inode, struct file *file)
{
	struct opened *o;

	if (!capable(CAP_SYS_MODULE))
		return -EPERM;
	o = kzalloc(sizeof(*o), GFP_KERNEL);
	if (!o)
		return -ENOMEM;
	mutex_init(&o->lock);
	file->private_data = o;
	return 0;
}

/* Whoever had it open has ended, in whatever way. */
static int device_release(struct inode *inode, struct file *file)
{
	struct opened *o = file->private_data;
	struct script *s = &o->script;

	if (s->tap.file) {
		WRITE_ONCE(s->outside.session->live, 0);
		script_disarm(s);
		script_unload(s);
	}
	kfree(o);
	return 0;
}

static long load(struct script *s, void __user *arg)
{
	struct tl_device_load l;
	int ret;

	if (copy_from_user(&l, arg, sizeof(l)))
		return -EFAULT;
	memset(l.missing, 0, sizeof(l.missing));
	ret = script_load(s, &l);
	if (!ret && copy_to_user(arg, &l, sizeof(l)))
		ret = -EFAULT;
	return ret;
}

static long foresee_for(void __user *arg)
{
	struct tl_device_foresee of;
	int ret;

	if (copy_from_user(&of, arg, sizeof(of)))
		return -EFAULT;
	ret = foresee(&of);
	return !ret && copy_to_user(arg, &of, sizeof(of)) ? -EFAULT : ret;
}

static long standing(struct script *s, u64 to)
{
	return copy_to_user(u64_to_user_ptr(to), s->ctl, script_standing(s)) ? -EFAULT : 0;
}

static long usage(u64 to)
{
	struct tl_usage u;

	script_usage(&u);
	return copy_to_user(u64_to_user_ptr(to), &u, sizeof(u)) ? -EFAULT : 0;
}

static long name(struct tl_device_name __user *arg)
{
	struct tl_device_name n;

	if (copy_from_user(&n, arg, sizeof(n)))
		return -EFAULT;
	script_name(n.addr, n.text, sizeof(n.text));
	return copy_to_user(arg, &n, sizeof(n)) ? -EFAULT : 0;
}

static long want(struct script *s, const void __user *arg)
{
	struct tl_device_want w;
	u8 *off;
	int ret = -EFAULT;

	if (copy_from_user(&w, arg, sizeof(w)))
		return -EFAULT;
	off = kvmalloc(s->tap.nprobes + 1, GFP_KERNEL);
	if (!off)
		return -ENOMEM;
	if (!copy_from_user(off, u64_to_user_ptr(w.off), s->tap.nprobes)) {
		script_want(s, off, w.jump != 0);
		ret = 0;
	}
	kvfree(off);
	return ret;
}

static long run_value(struct script *s, struct tl_device_value __user *arg)
{
	struct tl_device_value v;

	return copy_from_user(&v, arg, sizeof(v)) ? -EFAULT : script_run_value(s, &v, &arg->len);
}

static long with_number(struct script *s, unsigned int call, u32 number)
{
	if (call == TL_DEVICE_RUN)
		return number < s->tap.nprobes ? script_run(s, number) : -EINVAL;
	if (call == TL_DEVICE_CONDITION)
		return number < s->tap.nprobes ? script_condition(s, number) : -EINVAL;
	if (call == TL_DEVICE_LIVE)
		WRITE_ONCE(s->outside.session->live, number != 0);
	else if (call == TL_DEVICE_TARGET)
		WRITE_ONCE(s->outside.session->target_pid, number);
	else
		s->final = number != 0;
	return 0;
}

static long of_loaded(struct script *s, unsigned int call, void __user *arg)
{
	u64 to;
	u32 number;

	switch (call) {
	case TL_DEVICE_ARM:
		return script_arm(s);
	case TL_DEVICE_DISARM:
		script_disarm(s);
		return 0;
	case TL_DEVICE_CLOCK:
		script_clock_mend(s);
		return 0;
	case TL_DEVICE_STANDING:
		return copy_from_user(&to, arg, sizeof(to)) ? -EFAULT : standing(s, to);
	case TL_DEVICE_USAGE:
		return copy_from_user(&to, arg, sizeof(to)) ? -EFAULT : usage(to);
	case TL_DEVICE_NAME:
		return name(arg);
	case TL_DEVICE_WANT:
		return want(s, arg);
	case TL_DEVICE_RUN_VALUE:
		return run_value(s, arg);
	case TL_DEVICE_MOVED:
		return xchg(&s->outside.session->conditions, 0) != 0;
	case TL_DEVICE_CONDITION:
	case TL_DEVICE_RUN:
	case TL_DEVICE_LIVE:
	case TL_DEVICE_FINAL:
	case TL_DEVICE_TARGET:
		if (copy_from_user(&number, arg, sizeof(number)))
			return -EFAULT;
		return with_number(s, call, number);
	default:
		return -ENOTTY;
	}
}

static long device_ioctl(struct file *file, unsigned int call, unsigned long arg)
{
	struct opened *o = file->private_data;
	long ret = -EINVAL;

	if (mutex_lock_interruptible(&o->lock))
		return -ERESTARTSYS;
	if (call == TL_DEVICE_LOAD)
		ret = load(&o->script, (void __user *)arg);
	else if (call == TL_DEVICE_FORESEE)
		ret = foresee_for((void __user *)arg);
	else if (o->script.tap.file)
		ret = of_loaded(&o->script, call, (void __user *)arg);
	mutex_unlock(&o->lock);
	return ret;
}

static ssize_t device_read(struct file *file, char __user *to, size_t room, loff_t *at)
{
	struct opened *o = file->private_data;
	ssize_t ret = -EINVAL;
	size_t n;

	if (mutex_lock_interruptible(&o->lock))
		return -ERESTARTSYS;
	if (o->script.tap.file && room >= TL_DEVICE_READ) {
		n = script_read(&o->script);
		ret = n ? (ssize_t)n : -EAGAIN;
		if (copy_to_user(to, o->script.out, n))
			ret = -EFAULT;
	}
	mutex_unlock(&o->lock);
	return ret;
}

/* By mprotect(2), later. */
static void keep_from_writing(struct vm_area_struct *vma)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 3, 0)
	vm_flags_clear(vma, VM_MAYWRITE);
#else
	vma->vm_flags &= ~VM_MAYWRITE;
#endif
}

static __poll_t device_poll(struct file *file, poll_table *table)
{
	const struct opened *o = file->private_data;

	modules_wait(file, table);
	return READ_ONCE(o->script.modules) != modules_come() ? EPOLLPRI : 0;
}

static int device_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct opened *o = file->private_data;
	int ret = -EINVAL;

	if (vma->vm_flags & VM_WRITE)
		return -EPERM;
	keep_from_writing(vma);
	/* Who holds it may wait for the memory of this process, which is not to be changed meanwhile. */
	if (!mutex_trylock(&o->lock))
		return -EBUSY;
	if (o->script.memory)
		ret = remap_vmalloc_range(vma, o->script.memory, vma->vm_pgoff);
	mutex_unlock(&o->lock);
	return ret;
}

static const struct file_operations operations = {
	.owner = THIS_MODULE,
	.open = device_open,
	.release = device_release,
	.unlocked_ioctl = device_ioctl,
	.read = device_read,
	.mmap = device_mmap,
	.poll = device_poll,
	.llseek = noop_llseek,
};

static struct miscdevice device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "trapless",
	.fops = &operations,
	.mode = 0600,
};

int device_start(void)
{
	return misc_register(&device);
}

void device_stop(void)
{
	misc_deregister(&device);
}
