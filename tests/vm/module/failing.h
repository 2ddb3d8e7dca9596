/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * In front of all sources of a trapless.ko for tests (-include): whatever of the
 * kernel's may fail for want of memory asks failing.ko first whether it is to.
 */
#ifndef TRAPLESS_TESTS_FAILING_H
#define TRAPLESS_TESTS_FAILING_H

#include <linux/cpuhotplug.h>
#include <linux/ftrace.h>
#include <linux/kprobes.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/moduleloader.h>
#include <linux/percpu.h>
#include <linux/slab.h>
#include <linux/tracepoint.h>
#include <linux/version.h>
#include <linux/vmalloc.h>
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 10, 0)
#include <linux/execmem.h>
#endif

/* Any context. */
bool failing_now(void); /* this one is to fail */
void *failing_had(const volatile void *mem); /* memory that was given to us, or NULL; returns it */
void *failing_given(const volatile void *mem); /* that we give back */

/* --- memory: what these names mean in this kernel, and then what they mean here ------------------ */

static inline void *failing_kzalloc(size_t size, gfp_t gfp)
{
	return failing_had(failing_now() ? NULL : kzalloc(size, gfp));
}

static inline void *failing_kvmalloc(size_t size, gfp_t gfp)
{
	return failing_had(failing_now() ? NULL : kvmalloc(size, gfp));
}

static inline void *failing_kvmalloc_array(size_t n, size_t size, gfp_t gfp)
{
	return failing_had(failing_now() ? NULL : kvmalloc_array(n, size, gfp));
}

static inline void *failing_vmalloc(unsigned long size)
{
	return failing_had(failing_now() ? NULL : vmalloc(size));
}

static inline void *failing_vzalloc(unsigned long size)
{
	return failing_had(failing_now() ? NULL : vzalloc(size));
}

static inline void *failing_vmalloc_user(unsigned long size)
{
	return failing_had(failing_now() ? NULL : vmalloc_user(size));
}

static inline void *failing_vmap(
	struct page **pages, unsigned int n, unsigned long flags, pgprot_t prot)
{
	return failing_had(failing_now() ? NULL : vmap(pages, n, flags, prot));
}

static inline void __percpu *failing_percpu(size_t size, size_t align)
{
	void __percpu *mem = failing_now() ? NULL : __alloc_percpu(size, align);

	failing_had((void __force *)mem);
	return mem;
}

/* More than there is room for, which the kernel says by NULL. */
static inline size_t failing_size(size_t size)
{
	if (failing_now())
		return MODULES_LEN + PAGE_SIZE;
	failing_had((void *)size);
	return size;
}

#undef kzalloc
#undef kvmalloc
#undef kvzalloc
#undef kvmalloc_array
#undef kvcalloc
#undef alloc_page
#undef __free_page
#undef vmalloc
#undef vzalloc
#undef vmalloc_user
#undef vmap
#undef alloc_percpu
#undef kvfree
#define kzalloc(size, gfp)	     failing_kzalloc(size, gfp)
#define kvmalloc(size, gfp)	     failing_kvmalloc(size, gfp)
#define kvzalloc(size, gfp)	     failing_kvmalloc(size, (gfp) | __GFP_ZERO)
#define kvmalloc_array(n, size, gfp) failing_kvmalloc_array(n, size, gfp)
#define kvcalloc(n, size, gfp)	     failing_kvmalloc_array(n, size, (gfp) | __GFP_ZERO)
/* Of these there is a stock, which may be used up at any time: tests/engine/unit/sparse.c. */
#define alloc_page(gfp)		    ((struct page *)failing_had(alloc_pages(gfp, 0)))
#define __free_page(page)	    __free_pages(failing_given(page), 0)
#define vmalloc(size)		    failing_vmalloc(size)
#define vzalloc(size)		    failing_vzalloc(size)
#define vmalloc_user(size)	    failing_vmalloc_user(size)
#define vmap(pages, n, flags, prot) failing_vmap(pages, n, flags, prot)
#define alloc_percpu(type)	    ((type __percpu *)failing_percpu(sizeof(type), __alignof__(type)))
#define kfree(mem)		    kfree(failing_given(mem))
#define kvfree(mem)		    kvfree(failing_given(mem))
#define vfree(mem)		    vfree(failing_given(mem))
#define vunmap(mem)		    vunmap(failing_given(mem))
#define free_percpu(mem)	    (failing_given((void __force *)(mem)), free_percpu(mem))
/* Called by pointers of these names. */
#define module_alloc(size)	  module_alloc(failing_size(size))
#define module_memfree(mem)	  module_memfree(failing_given(mem))
#define execmem_alloc(kind, size) execmem_alloc(kind, failing_size(size))
#define execmem_free(mem)	  execmem_free(failing_given(mem))

/* --- what needs memory of the kernel's own ---------------------------------------------------------- */

#define FAILING(call)			      (failing_now() ? -ENOMEM : (call))
#define register_kprobe(p)		      FAILING(register_kprobe(p))
#define register_module_notifier(nb)	      FAILING(register_module_notifier(nb))
#define register_ftrace_function(ops)	      FAILING(register_ftrace_function(ops))
#define ftrace_set_filter_ip(ops, ip, a, b)   FAILING(ftrace_set_filter_ip(ops, ip, a, b))
#define tracepoint_probe_register(tp, fn, of) FAILING(tracepoint_probe_register(tp, fn, of))
#define misc_register(device)		      FAILING(misc_register(device))
#define cpuhp_setup_state_multi(a, b, c, d)   FAILING(cpuhp_setup_state_multi(a, b, c, d))
#define cpuhp_state_add_instance(a, b)	      FAILING(cpuhp_state_add_instance(a, b))

#endif
