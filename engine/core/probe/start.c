/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The start of the engine, which any first operation makes. */
#include "../base/broken.h"
#include "../base/core.h"
#include "../base/mem.h"
#include "../detour/threads.h"
#include "../image/func.h"
#include "probe.h"

int tl_engine_init_locked(void)
{
	int ret;

	TL_ASSERT_HELD();
	if (tl_core.ready)
		return 0;
	ret = tl_os_init();
	if (ret)
		return ret;
	tl_core.gate = tl_os_alloc_wiped();
	ret = -TL_E_NOMEM;
	if (!tl_core.gate)
		goto os;
	tl_core.contexts = tl_os_contexts(&tl_core.ncontexts, &tl_core.env.hit);
	ret = tl_threads_init();
	if (ret)
		goto gate;
	tl_os_thread_layout(&tl_core.env.tid_offset, &tl_core.env.fast_key);
	ret = tl_os_images_update();
	if (ret < 0)
		goto threads;
	tl_core.env.gate = tl_core.gate;
	tl_core.optimize = true;
	tl_funcs_init();
	tl_core.ready = true;
	TL_STORE(&tl_core.gate->open, 1);
	return 0;
threads:
	tl_threads_deinit();
gate:
	tl_os_free_wiped(tl_core.gate);
os:
	tl_os_exit();
	tl_fill(&tl_core, 0, sizeof(tl_core));
	return ret;
}

int tl_engine_init(void)
{
	int ret;

	tl_os_lock();
	ret = tl_engine_init_locked();
	tl_os_unlock();
	return ret;
}

void tl_probes_silence(bool silent)
{
	struct tl_gate *gate = TL_LOAD(&tl_core.gate);

	if (gate)
		TL_STORE(&gate->open, silent ? 0 : 1);
}
