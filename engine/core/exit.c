/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The end of the engine: what each room has is given back. */
#include "../os/os.h"
#include "base/arena.h"
#include "base/core.h"
#include "base/mem.h"
#include "detour/detour.h"
#include "detour/site.h"
#include "detour/threads.h"
#include "image/entries.h"
#include "image/func.h"
#include "image/images.h"
#include "image/reserved.h"
#include "probe/gone.h"
#include "probe/optimizer.h"
#include "probe/probe.h"
#include "ret/ret.h"
#include "places.h"
#include "text/journal.h"
#include "text/patch.h"

bool tl_engine_exit(void)
{
	bool gone = true;

	tl_os_lock();
	if (!tl_core.ready)
		goto out;
	tl_images_refresh();
	gone = tl_places_exit();
	tl_ret_unregister_all();
	tl_probes_unregister_all();
	/* Whoever stands in a detour still needs it, and the tables behind it. */
	gone = gone && !tl_core.nprobes && !tl_core.leftovers && !tl_detour_poll(true);
	if (!gone)
		goto out;
	tl_detour_deinit();
	tl_journal_deinit();
	tl_ret_deinit();
	tl_arena_deinit();
	tl_optimizer_deinit();
	tl_gone_deinit();
	tl_reserve_deinit();
	tl_images_deinit();
	tl_entries_deinit();
	tl_funcs_deinit();
	tl_patches_deinit();
	tl_sites_deinit();
	tl_threads_deinit();
	tl_os_free_wiped(tl_core.gate);
	tl_os_exit();
	tl_fill(&tl_core, 0, sizeof(tl_core));
out:
	tl_os_unlock();
	return gone;
}
