/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Pages for handlers, which cannot ask the kernel for any: a stock that is filled up in the background. */
#include <linux/irq_work.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/workqueue.h>
#include "kernel.h"
#include "pages.h"

enum { STOCK = 256, FEW = STOCK / 2 };

static struct page *stock[STOCK];
static atomic_t in_stock;
static LIST_HEAD(all); /* out of stock or in it */
static DEFINE_MUTEX(all_lock);

static void fill_up(struct work_struct *work);
static DECLARE_WORK(filling, fill_up);

/* A handler may have interrupted the scheduler, which work would be given to. */
static void ask(struct irq_work *work)
{
	schedule_work(&filling);
}
static DEFINE_IRQ_WORK(asking, ask);

static bool put(struct page *page)
{
	for (unsigned n = 0; n < STOCK; n++)
		if (!cmpxchg(&stock[n], NULL, page)) {
			atomic_inc(&in_stock);
			return true;
		}
	return false;
}

static struct page *take(void)
{
	for (unsigned n = 0; n < STOCK; n++) {
		struct page *page = READ_ONCE(stock[n]);

		if (page && cmpxchg(&stock[n], page, NULL) == page) {
			atomic_dec(&in_stock);
			return page;
		}
	}
	return NULL;
}

/* all_lock is held. */
static void let_go(struct page *page)
{
	list_del(&page->lru);
	__free_page(page);
}

static void fill_up(struct work_struct *work)
{
	struct page *page;

	mutex_lock(&all_lock);
	while (atomic_read(&in_stock) < STOCK &&
		(page = alloc_page(GFP_KERNEL | __GFP_ZERO)) != NULL) {
		list_add(&page->lru, &all);
		if (!put(page))
			let_go(page);
	}
	mutex_unlock(&all_lock);
}

void tl_os_page_stock(void)
{
	if (atomic_read(&in_stock) < FEW)
		fill_up(NULL);
}

size_t tl_os_page_size(void)
{
	return PAGE_SIZE;
}

void *tl_os_page_take(void)
{
	struct page *page = take();

	if (atomic_read(&in_stock) < FEW)
		irq_work_queue(&asking);
	return page ? page_address(page) : NULL;
}

bool tl_os_page_give(void *mem)
{
	return put(virt_to_page(mem));
}

void tl_os_page_free(void *mem)
{
	mutex_lock(&all_lock);
	let_go(virt_to_page(mem));
	mutex_unlock(&all_lock);
}

void tl_pages_exit(void)
{
	struct page *page, *next;

	irq_work_sync(&asking);
	cancel_work_sync(&filling);
	mutex_lock(&all_lock);
	list_for_each_entry_safe (page, next, &all, lru)
		let_go(page);
	memset(stock, 0, sizeof(stock));
	atomic_set(&in_stock, 0);
	mutex_unlock(&all_lock);
}
