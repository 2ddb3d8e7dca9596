/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Goroutines' stacks lie in the heap, beside each other, and have no guard
 * page. A function of Go compares its stack pointer with a limit, behind which
 * GUARD bytes are left, and has the stack grown; but not one marked nosplit.
 * Go's linker sees to it that no chain of calls of such functions takes more
 * than there is. A detour may, where the chain is near that: there it must not
 * stand.
 *
 * So a walk over all of an image's functions, as the linker has made it, finds
 * for each what is left as it is entered, by the deepest of its callers. As
 * there, a nosplit function that is called by nobody directly is called from
 * one that has checked, and calls one that checks where it is not known whom.
 */
#include "../../os/os.h"
#include "../base/mem.h"
#include "../image/images.h"
#include "../text/patch.h"
#include "room.h"

enum {
	GUARD = 928, /* between a goroutine's limit and its stack's end; twice that under the race detector */
	FULL = 800, /* of it that is left behind a check, whatever the frame */
	SLACK = 32,
	FUNC_MAX = 64 << 20,
	EDGES = 16384,
};

struct tl_room {
	uintptr_t start;
	int32_t entry, body; /* what is left: where it is entered, and in its frame */
	struct tl_stack_use use;
	bool grows; /* morestack: it is called where nothing need be left */
};

/* Of one image. */
struct tl_rooms {
	bool made;
	bool unknown; /* there is no table: it is not even known which code is Go's */
	struct tl_room *row;
	size_t n, size;
	uintptr_t end;
	int32_t blind; /* left at the least for a function that checks, by callers that do not tell whom they call */
};

/* A call or jump from a function that has not checked. */
struct edge {
	uint32_t from, to;
	bool call;
};

struct walk {
	struct tl_rooms *rooms;
	size_t at; /* the function under the walk */
	struct edge *edge;
	size_t nedges, max;
	bool *calls_blind; /* by function */
	bool cold; /* the call in its cold part has been seen */
	bool nomem;
};

static void forget(void *what)
{
	struct tl_rooms *r = what;

	if (r->row)
		tl_os_free(r->row, r->size);
	*r = (struct tl_rooms){0};
}

static struct tl_rooms *rooms_of(const struct tl_image *img)
{
	struct tl_image_kept *kept = tl_image_kept(img, TL_KEEPS_ROOMS);

	_Static_assert(sizeof(struct tl_rooms) <= sizeof(kept->what), "they lie there");
	kept->forget = forget;
	return (void *)kept->what;
}

/* The function at or below addr. */
static size_t row_of(const struct tl_rooms *r, uintptr_t addr)
{
	size_t a = 0, b = r->n;

	while (b - a > 1) {
		size_t mid = a + (b - a) / 2;

		if (r->row[mid].start <= addr)
			a = mid;
		else
			b = mid;
	}
	return a;
}

static bool is_row(const struct tl_rooms *r, uintptr_t addr)
{
	return r->n && addr >= r->row[0].start && addr < r->end;
}

static void lower(int32_t *left, int32_t to)
{
	if (to < *left)
		*left = to > 0 ? to : 0;
}

/* --- one function ----------------------------------------------------------------- */

static void add_edge(struct walk *w, size_t to, bool call)
{
	if (w->nedges == w->max) {
		size_t max = w->max ? w->max * 2 : EDGES;
		struct edge *grown = tl_os_alloc(max * sizeof(*grown));

		if (!grown) {
			w->nomem = true;
			return;
		}
		if (w->edge) {
			tl_copy(grown, w->edge, w->nedges * sizeof(*grown));
			tl_os_free(w->edge, w->max * sizeof(*grown));
		}
		w->edge = grown;
		w->max = max;
	}
	w->edge[w->nedges++] = (struct edge){(uint32_t)w->at, (uint32_t)to, call};
}

/*
 * The body's depth is known when all of it has been seen, so that all edges are kept. What runs when the check has failed
 * is the call of what grows the stack, and nothing else.
 */
static void leaves(void *arg, uint32_t at, uintptr_t target, bool call)
{
	struct walk *w = arg;
	const struct tl_stack_use *use = &w->rooms->row[w->at].use;

	if (!is_row(w->rooms, target)) {
		w->calls_blind[w->at] = true;
		return;
	}
	if (use->checked && at >= use->cold && call && !w->cold) {
		w->cold = true;
		w->rooms->row[row_of(w->rooms, target)].grows = true;
		return;
	}
	add_edge(w, row_of(w->rooms, target), call);
}

static int32_t below(int32_t left, uint32_t depth)
{
	return depth >= (uint32_t)left ? 0 : left - (int32_t)depth;
}

/* As far as it does not depend on its callers. */
static void settle(struct tl_room *row)
{
	int64_t left = (int64_t)GUARD + row->use.spare - row->use.depth;

	row->entry = FULL - tl_arch_call_pushes;
	if (row->use.checked)
		row->body = left < 0 ? 0 : left < FULL ? (int32_t)left : FULL;
}

static int walk_one(struct walk *w, uint8_t **text, size_t *room)
{
	struct tl_room *row = &w->rooms->row[w->at];
	uintptr_t end = w->at + 1 < w->rooms->n ? row[1].start : w->rooms->end;
	size_t size = end - row->start, got;

	if (end < row->start || size > FUNC_MAX)
		return -TL_E_LIMIT;
	if (size + SLACK > *room) {
		tl_os_free(*text, *room);
		*room = 2 * (size + SLACK);
		*text = tl_os_alloc(*room);
		if (!*text)
			return -TL_E_NOMEM;
	}
	got = tl_os_text_read(row->start, *text, size);
	tl_patch_original(row->start, *text, got);
	tl_fill(*text + got, 0, SLACK);
	w->cold = false;
	tl_arch_stack_use(*text, got, row->start, &row->use, leaves, w);
	if (got < size)
		row->use.depth = TL_STACK_UNKNOWN;
	settle(row);
	return 0;
}

/* --- all of them ----------------------------------------------------------------------- */

/* Who grows the stack does the rest of its work on another one. */
static void spread_grows(struct walk *w)
{
	bool again = true;

	while (again) {
		again = false;
		for (size_t i = 0; i < w->nedges; i++) {
			const struct edge *e = &w->edge[i];
			struct tl_room *to = &w->rooms->row[e->to];

			if (w->rooms->row[e->from].grows && !e->call && !to->grows)
				again = to->grows = true;
		}
	}
}

/* What is left where a function is left for another one. */
static int32_t left_in(const struct tl_room *row)
{
	return row->use.checked ? row->body : below(row->entry, row->use.depth);
}

/* Each round lowers some: of a function that calls itself until nothing is left. */
static void spread(struct walk *w)
{
	bool again = true;

	while (again) {
		again = false;
		for (size_t i = 0; i < w->nedges; i++) {
			const struct edge *e = &w->edge[i];
			const struct tl_room *from = &w->rooms->row[e->from];
			struct tl_room *to = &w->rooms->row[e->to];
			int32_t was = to->entry;

			if (from->grows)
				continue;
			lower(&to->entry, left_in(from) - (e->call ? tl_arch_call_pushes : 0));
			again |= to->entry != was;
		}
	}
}

/* Functions that check may be called by whoever does not tell whom he calls. */
static void spread_blind(struct walk *w)
{
	struct tl_room *row = w->rooms->row;
	int32_t least = FULL - tl_arch_call_pushes;

	for (size_t i = 0; i < w->rooms->n; i++)
		if (w->calls_blind[i] && !row[i].grows)
			lower(&least, left_in(&row[i]) - tl_arch_call_pushes);
	w->rooms->blind = least;
	for (size_t i = 0; i < w->rooms->n; i++) {
		if (row[i].grows)
			row[i].entry = 0;
		if (!row[i].use.checked)
			row[i].body = below(row[i].entry, row[i].use.depth);
	}
}

static int walk_all(struct walk *w)
{
	size_t room = 65536;
	uint8_t *text = tl_os_alloc(room);
	int ret = text ? 0 : -TL_E_NOMEM;

	for (w->at = 0; !ret && w->at < w->rooms->n; w->at++)
		ret = walk_one(w, &text, &room);
	if (text)
		tl_os_free(text, room);
	if (!ret && w->nomem)
		ret = -TL_E_NOMEM;
	if (ret)
		return ret;
	spread_grows(w);
	spread(w);
	spread_blind(w);
	return 0;
}

static int list_functions(struct tl_rooms *r, const struct tl_go_table *t)
{
	r->size = t->n * sizeof(*r->row);
	r->row = tl_os_alloc(r->size);
	if (!r->row)
		return -TL_E_NOMEM;
	r->n = t->n;
	r->end = t->end;
	for (size_t i = 0; i < t->n; i++) {
		r->row[i].start = tl_go_function(t, i);
		if (i && r->row[i].start < r->row[i - 1].start)
			return -TL_E_LIMIT;
	}
	return 0;
}

static int make(const struct tl_image *img, struct tl_rooms *r)
{
	struct walk w = {.rooms = r};
	struct tl_go_table t;
	int ret = tl_go_table_find(img, &t);

	if (ret)
		return ret;
	r->unknown = !t.n;
	if (r->unknown)
		return 0;
	ret = list_functions(r, &t);
	w.calls_blind = tl_os_alloc(t.n);
	if (!w.calls_blind)
		ret = -TL_E_NOMEM;
	if (!ret)
		ret = walk_all(&w);
	if (w.calls_blind)
		tl_os_free(w.calls_blind, t.n);
	if (w.edge)
		tl_os_free(w.edge, w.max * sizeof(*w.edge));
	return ret;
}

/* Before it has checked, or as the check has failed. */
static bool unchecked(const struct tl_room *row, uintptr_t addr)
{
	size_t off = addr - row->start;

	return row->use.checked && (off < row->use.checked || off >= row->use.cold);
}

static int32_t left_at(const struct tl_room *row, uintptr_t addr)
{
	size_t off = addr - row->start;

	if (!off || off < row->use.checked)
		return row->entry;
	if (row->use.checked && off >= row->use.cold && row->entry < row->body)
		return row->entry;
	return row->body;
}

/* 0 or -TL_E_NOMEM. */
static int known(const struct tl_image *img, struct tl_rooms *r)
{
	int ret = r->made ? 0 : make(img, r);

	if (ret && ret != -TL_E_LIMIT) {
		forget(r);
		return ret;
	}
	r->unknown |= ret != 0;
	r->made = true;
	return 0;
}

int tl_room_check(const struct tl_image *img, const struct tl_code *code, uintptr_t addr)
{
	struct tl_rooms *r = rooms_of(img);
	const struct tl_room *row;
	int32_t left;
	int ret;

	if (!(img->flags & TL_IMAGE_SMALL_STACKS))
		return 0;
	ret = known(img, r);
	if (ret)
		return ret;
	if (r->unknown)
		return -TL_E_STACK;
	if (!is_row(r, addr))
		return 0;
	row = &r->row[row_of(r, addr)];
	left = tl_arch_is_return(code, addr) ? row->entry : left_at(row, addr);
	/* That a thread's first hit comes behind the deepest of blind calls is not allowed for: all entries would be refused. */
	if (left < tl_arch_stack_taken(true) ||
		(unchecked(row, addr) && r->blind < tl_arch_stack_taken(false)))
		return -TL_E_STACK;
	return 0;
}

bool tl_room_is_go(const struct tl_image *img, uintptr_t addr)
{
	const struct tl_rooms *r = rooms_of(img);

	return r->made && is_row(r, addr);
}
