/* SPDX-License-Identifier: MIT */
/* Records, their order and their losses; locks; threads; a hostile writer. */
#include <pthread.h>
#include <sched.h>

#include "../../runtime/ring.h"
#include "home.h"

static struct tl_cursor cursors[BLOCKS];
static struct tl_reader reader;

static void reader_open(void)
{
	free(reader.buffer);
	memset(cursors, 0, sizeof(cursors));
	reader = (struct tl_reader){
		.view = &home, .cursor = cursors, .buffer = malloc(home.chunk_size)};
}

/* What came out, as text. */
static char out[400000];
static size_t out_n;
static uint64_t last_time;
static int disorder;
static int out_text(void *arg, const char *text, size_t n)
{
	(void)arg;
	if (out_n + n < sizeof(out)) {
		memcpy(out + out_n, text, n);
		out_n += n;
	}
	out[out_n] = 0;
	return 0;
}
static int take(
	void *arg, uint32_t block, const struct tl_record *r, const uint8_t *payload, uint32_t size)
{
	struct tl_fmt_arg a[8];
	const char *text;
	uint32_t n;
	int k;

	(void)block;
	disorder += r->time < last_time;
	last_time = r->time;
	if (tl_record_kind(r->what) == TL_REC_PRINTF) {
		k = tl_format_args(payload, size, arg, a, 8);
		if (k >= 0)
			tl_format(arg, a, (uint32_t)k, out_text, NULL);
	} else if ((text = tl_record_text(payload, size, &n)) != NULL) {
		out_text(NULL, text, n);
	}
	return 0;
}
static void drain(const char *fmt, bool final)
{
	union {
		const char *in;
		void *out;
	} u = {fmt};

	out_n = 0;
	out[0] = 0;
	for (uint64_t start = tl_cycles(); !final && tl_cycles() - start < 110000;)
		;
	tl_reader_pass(&reader, take, u.out, final);
}

static void records_come_out_as_text(void)
{
	home_open(64, 64, 0);
	reader_open();
	ENTER(run);
	struct tl_value args[] = {
		TL_LONG(-5), TL_STR(home_str("text")), TL_STR(home_str("")), TL_LONG(255)};

	tl_printf(&run, 3, args, 4);
	tl_print_str(&run, home_str("plain\n"));
	drain("%d %s[%s] %x;", true);
	CHECK(!strcmp(out, "-5 text[] ff;plain\n"));
	drain("", true);
	CHECK(out_n == 0);
}

static void errors_and_histograms(void)
{
	static const struct tl_hist h = {.kind = 1, .buckets = TL_HIST_LOG_BUCKETS};
	TL_STAT_LOCAL(s, TL_HIST_LOG_BUCKETS);
	int64_t v;

	home_open(64, 64, 0);
	reader_open();
	ENTER(run);
	tl_stat_clear(s, &h);
	for (v = 1; v < 1000000; v *= 2)
		tl_stat_add(s, &h, v);
	tl_hist_print(&run, s, &h);
	run.place = "identifier 'x' at a.stp:1:1";
	tl_run_error(&run, "bad");
	tl_run_leave(&run);
	drain("", true);
	CHECK(strstr(out, "  value |----") == out && strstr(out, " 524288 |@ "));
	CHECK(strstr(out, "\n\nbad near identifier 'x' at a.stp:1:1"));
}

static void long_text_is_split_not_cut(void)
{
	static uint64_t room[2000];
	struct tl_str *s = (struct tl_str *)room;

	home_open(64, 64, 16384);
	reader_open();
	ENTER(run);
	s->len = 9000;
	memset(s->b, 'z', s->len);
	tl_print_str(&run, s);
	drain("", true);
	CHECK(out_n == 9000 && run.block->lost == 0);
	s->len = 15900; /* more than the ring holds with its headers */
	tl_print_str(&run, s);
	tl_print_str(&run, s);
	CHECK(run.block->lost > 0);
}

static void full_rings_lose_and_count(void)
{
	uint64_t given = 0;
	int i, k;

	home_open(64, 64, 4096);
	reader_open();
	ENTER(run);
	for (k = 0; k < 50; k++) { /* round and round, with padding at every end */
		int64_t args[] = {k, k, k};
		struct tl_value text[] = {
			TL_STR(home_str(k % 2 ? "odd" : "longer than the others"))};

		for (i = 0; i < 300; i++)
			if (i % 3)
				tl_printf_longs(&run, 0, args, 3);
			else
				tl_printf(&run, 0, text, 1);
		given += tl_reader_pass(&reader, take, "", true);
	}
	CHECK(given + run.block->lost == 15000 && run.block->lost > 0 && given > 1000);
	CHECK(reader.damaged == 0 && disorder == 0);
}

static bool read_own(struct tl_view *v)
{
	(void)v;
	return tl_reader_pass(&reader, take, "", true) > 0;
}

static void who_reads_its_own_ring_loses_nothing(void)
{
	struct tl_str *s = home_str("0123456789");
	struct tl_view_ops ops = home_ops;

	home_open(64, 64, 4096);
	reader_open();
	ops.make_room = read_own;
	home.ops = &ops;
	ENTER(run);
	out_n = 0;
	for (int i = 0; i < 1000; i++)
		tl_print_str(&run, s);
	read_own(&home);
	CHECK(out_n == 10000 && run.block->lost == 0 && disorder == 0);
}

static void a_record_under_way_holds_the_others(void)
{
	struct tl_block *other;

	home_open(64, 64, 0);
	reader_open();
	other = tl_block_claim(&home, 2, 1, "other");
	ENTER(run);
	other->writing = tl_cycles();
	tl_print_str(&run, home_str("late"));
	tl_run_leave(&run);
	drain("", false);
	drain("", false);
	CHECK(out_n == 0);
	other->writing = 0;
	drain("", false);
	CHECK(!strcmp(out, "late"));
}

static void abandoned_writers_do_not_hold_for_ever(void)
{
	home_open(64, 64, 0);
	reader_open();
	ENTER(run);
	tl_print_str(&run, home_str("text"));
	run.block->writing = 1;
	drain("", false);
	cursors[1].held_since -= 1ull << 34;
	drain("", false);
	CHECK(!strcmp(out, "text"));
}

/* Threads that print take the pool by turns; one that has ended gives its part back. */
static void chunks_come_and_go(void)
{
	uint64_t given = 0;
	uint32_t i, taken = 0;

	home_open(64, 64, 0);
	reader_open();
	ENTER(run);
	for (int k = 0; k < 10; k++) {
		for (i = 0; i < 10000; i++)
			tl_print_str(&run, home_str("0123456789012345678901234567890"));
		CHECK(run.block->lost == 0);
		given += tl_reader_pass(&reader, take, "", true);
	}
	CHECK(given == 100000 && reader.damaged == 0);
	for (i = 0; i < home.nchunks; i++)
		taken += home.owners[i] != 0;
	CHECK(taken <= 1);
	tl_print_str(&run, home_str("waits"));
	tl_run_leave(&run);
	tl_block_dead(&home, 1);
	CHECK(!tl_reader_forget(&reader, 1));
	given = tl_reader_pass(&reader, take, "", true);
	CHECK(given == 1 && tl_reader_forget(&reader, 1));
	tl_block_recycle(&home, 1);
	for (i = taken = 0; i < home.nchunks; i++)
		taken += home.owners[i] != 0;
	CHECK(taken == 0 && home.own == tl_block_claim(&home, 5, 5, "next"));
	ENTER(again);
	tl_print_str(&again, home_str("more"));
	drain("", true);
	CHECK(!strcmp(out, "more"));
}

/* Who finds the pool empty goes on with the two chunks of its own. */
static void an_empty_pool_stops_nobody(void)
{
	uint64_t given = 0;
	uint32_t i;

	home_open(64, 64, 0);
	reader_open();
	for (i = 0; i < home.nchunks; i++)
		home.owners[i] = 17;
	ENTER(run);
	for (i = 0; i < 10000; i++) {
		tl_print_str(&run, home_str("0123456789"));
		given += tl_reader_pass(&reader, take, "", true);
	}
	CHECK(given == 10000 && run.block->lost == 0);
	for (i = 0; i < 10000; i++)
		tl_print_str(&run, home_str("0123456789"));
	CHECK(run.block->lost > 0 && run.block->lost < 10000);
}

static void records_of_one_run_stay_together(void)
{
	struct tl_view mine;
	struct tl_env env = home_env;

	home_open(64, 64, 0);
	reader_open();
	mine = home;
	mine.own = tl_block_claim(&home, 2, 1, "other");
	env.view = &mine;
	ENTER(run);
	tl_print_str(&run, home_str("a"));
	struct tl_run other;
	CHECK(tl_run_enter(&other, &env, NULL, tl_view_self(&mine)));
	tl_print_str(&other, home_str("1"));
	tl_print_str(&run, home_str("b"));
	tl_print_str(&other, home_str("2"));
	tl_run_leave(&other);
	drain("", false);
	CHECK(out_n == 0); /* the older run is not over */
	tl_print_str(&run, home_str("c"));
	tl_run_leave(&run);
	drain("", false);
	CHECK(!strcmp(out, "abc12"));
}

static uint32_t seed = 1;
static uint32_t rnd(void)
{
	seed = seed * 1103515245u + 12345u;
	return seed >> 8;
}

static void hostile_rings_of(uint32_t ring_size)
{
	uint32_t round, i;

	seed = (uint32_t)unit_seed(1);
	home_open(64, 64, ring_size);
	reader_open();
	for (round = 0; round < 20000; round++) {
		struct tl_block *b = tl_block_at(&home, 1 + rnd() % (BLOCKS - 1));
		uint32_t *ring = (uint32_t *)((uint8_t *)b + home.ring_off);

		if (ring_size == 0 && rnd() % 2)
			ring = (uint32_t *)(home.chunks + (rnd() % home.nchunks) * home.chunk_size);
		for (i = 0; i < 20; i++)
			ring[rnd() % 1024] = rnd() % 3 ? rnd() % 64 * 8 : rnd() * 65537;
		for (i = 0; i < 10; i++) { /* chains of chunks, also round and round */
			struct tl_record *link = (struct tl_record *)(ring + rnd() % 64 * 4);

			link->what = tl_record_what(TL_LINK, TL_REC_LINK, 0, 0);
			link->time = rnd() % 24;
		}
		if (home.nchunks)
			home.owners[rnd() % home.nchunks] = rnd() % BLOCKS;
		b->left[rnd() % 2] += rnd() % 3;
		tl_word_store(
			&b->head, rnd() % 8 ? tl_chunk_start(&home, rnd() % 20) + rnd() % 256 * 8
					    : rnd() * 77u);
		tl_time_store(&b->writing, rnd() % 2 ? 0 : rnd());
		drain("%d %s %s", rnd() % 2);
	}
	CHECK(reader.damaged > 0);
}

static void hostile_rings_are_survived(void)
{
	hostile_rings_of(4096);
	hostile_rings_of(0);
}

static void hostile_heads_do_not_lead_out_of_the_ring(void)
{
	struct tl_block *b;
	uint32_t i;

	seed = (uint32_t)unit_seed(1);
	home_open(64, 64, 0);
	for (i = 2; i < BLOCKS; i++)
		b = tl_block_claim(&home, 1, 1, "last"); /* its ring ends where the memory does */
	home.own = b;
	ENTER(run);
	for (i = 0; i < 20000; i++) {
		int64_t args[] = {1, 2, 3};

		tl_word_store(&b->head, rnd() % 3
						? tl_chunk_start(&home, 1 + rnd() % 20) - rnd() % 64
						: rnd() * 77u);
		b->read[rnd() % 2] = rnd() % 3;
		home.owners[rnd() % home.nchunks] = 0;
		tl_printf_longs(&run, 0, args, 1 + i % 3);
		tl_print_str(&run, home_str("text"));
	}
	CHECK(run.block == b);
}

static void sessions_are_checked(void)
{
	struct tl_session good;
	struct tl_view v;
	uint32_t i, refused = 0;

	seed = (uint32_t)unit_seed(1);
	home_open(4096, 64, 0);
	memcpy(&good, home.session, sizeof(good));
	CHECK(tl_view_attach(&v, home_memory, sizeof(struct tl_session) - 1, &home_options) == -1);
	CHECK(tl_view_attach(&v, home_memory, good.size - 1, &home_options) == -1);
	for (i = 0; i < 200000; i++) {
		uint8_t *p = home_memory;
		uint32_t n = 1 + rnd() % 3;

		while (n--)
			p[rnd() % offsetof(struct tl_session, live)] =
				(uint8_t)(rnd() % 2 ? rnd() : 0xff);
		if (tl_view_attach(&v, home_memory, good.size, &home_options))
			refused++;
		else if (v.blocks + (uint64_t)v.block_stride * v.nblocks > p + good.size ||
			 v.globals + v.globals_size > p + good.size ||
			 v.locks + 64ull * v.nlocks > p + good.size ||
			 v.ring_off + 2ull * v.own_size > v.block_stride ||
			 v.chunks + (uint64_t)v.nchunks * v.chunk_size > p + good.size ||
			 (uint8_t *)(v.owners + v.nchunks) > p + good.size ||
			 v.shard_off + v.shard_size > v.ring_off)
			CHECK(!"accepted a damaged session");
		memcpy(home.session, &good, sizeof(good));
	}
	CHECK(refused > 100000);
}

/* --- threads ------------------------------------------------------------------------------ */

#define THREADS 8
#define ROUNDS	20000

static const uint16_t both_locks[] = {0, 2};

static void *worker(void *arg)
{
	struct tl_view mine = home; /* the thread's own view, with its own block */
	struct tl_env env = home_env;
	struct tl_run run;
	int i, done = 0;

	env.view = &mine;
	mine.own = tl_block_claim(&home, (uint32_t)(uintptr_t)arg, 1, "worker");
	mine.lock_cycles = UINT64_MAX / 2;
	for (i = 0; i < ROUNDS; i++) {
		if (!tl_run_enter(&run, &env, NULL, tl_view_self(&mine)))
			break;
		tl_shard_add(&mine, run.block, 0, 1);
		if (tl_run_lock(&run, both_locks, 2)) {
			int64_t *n = tl_global_long(&run, 0),
				args[2] = {(int64_t)(uintptr_t)arg, i};

			*n = *n + 1;
			if (i % 16 == 0)
				tl_printf_longs(&run, 0, args, 2);
			done++;
		}
		tl_run_leave(&run);
		if (i % 64 == 0)
			sched_yield();
	}
	return (void *)(uintptr_t)done;
}

/* Each thread's records come out complete and in its own order. */
static int next_of[THREADS + 1];
static uint64_t misplaced, total;
static int take_two(
	void *arg, uint32_t block, const struct tl_record *r, const uint8_t *payload, uint32_t size)
{
	int64_t who = (int64_t)tl_get64(payload), i = (int64_t)tl_get64(payload + 8);

	(void)arg, (void)block;
	disorder += r->time < last_time;
	last_time = r->time;
	if (size != 16 || who < 1 || who > THREADS || next_of[who] != i)
		misplaced++;
	else
		next_of[who] += 16;
	total++;
	return 0;
}

static void threads_share_locks_shards_and_rings(void)
{
	pthread_t t[THREADS];
	void *done;
	int64_t sum = 0;
	uintptr_t i;

	home_open(64, 64, 65536);
	reader_open();
	disorder = 0;
	last_time = 0;
	for (i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, worker, (void *)(i + 1));
	for (i = 0; i < 200; i++) {
		tl_reader_pass(&reader, take_two, NULL, false);
		sched_yield();
	}
	for (i = 0; i < THREADS; i++) {
		pthread_join(t[i], &done);
		sum += (int64_t)(uintptr_t)done;
	}
	tl_reader_pass(&reader, take_two, NULL, true);
	ENTER(run);
	CHECK(sum == THREADS * ROUNDS && *tl_global_long(&run, 0) == sum);
	CHECK(tl_shard_get(&run, 0) == THREADS * ROUNDS);
	struct tl_totals totals;
	tl_session_totals(&home, &totals);
	CHECK(totals.lost == 0 && totals.skipped == 0 && reader.damaged == 0);
	CHECK(total == THREADS * ROUNDS / 16 && misplaced == 0);
	CHECK(disorder == 0);
}

static void locks_time_out_and_are_recovered(void)
{
	struct tl_lock *locks;
	uint32_t other;

	home_open(64, 64, 0);
	home.lock_cycles = 20000;
	locks = (struct tl_lock *)home.locks;
	other = tl_block_index(&home, tl_block_claim(&home, 2, 1, "other"));
	ENTER(run);
	locks[2].owner = other + 1;
	CHECK(!tl_run_lock(&run, both_locks, 2));
	CHECK(locks[2].late == other + 1); /* the next ones do not wait that long */
	home.lock_cycles = 4096ull * 20000;
	/* Those that waited would all take that long, and this would not end; one that does not may be interrupted. */
	uint64_t took = UINT64_MAX;
	while (took >= 4096ull * 10000) {
		uint64_t start = tl_cycles();
		CHECK(!tl_run_lock(&run, both_locks, 2));
		took = tl_cycles() - start;
	}
	run.block->skipped = home.session->skipped = 1;
	CHECK(locks[0].owner == 0 && run.block->skipped == 1 && home.session->skipped == 1 &&
		!run.block->holding);
	tl_run_leave(&run);
	tl_block_dead(&home, other); /* the runner saw the thread end */
	CHECK(locks[2].owner == 0 && tl_run_enter(&run, &home_env, NULL, tl_view_self(&home)) &&
		tl_run_lock(&run, both_locks, 2));
	CHECK(locks[0].owner && locks[2].owner && run.block->holding);
	/* the handler is left by siglongjmp: no tl_run_leave(); the next one cleans up */
	CHECK(tl_run_enter(&run, &home_env, NULL, tl_view_self(&home)));
	CHECK(!locks[0].owner && !locks[2].owner && !run.block->holding);
	tl_block_recycle(&home, other);
	CHECK(tl_block_at(&home, other)->state == TL_BLOCK_FREE);
}

/* In a kernel an owner on the same processor is one that this handler has interrupted. */
static void an_interrupted_owner_is_not_waited_for(void)
{
	struct tl_lock *l;
	struct tl_block *other;

	home_open(64, 64, 0);
	l = (struct tl_lock *)home.locks;
	other = tl_block_claim(&home, 2, 1, "other");
	other->processor = 2;
	l->owner = tl_block_index(&home, other) + 1;
	ENTER(run);
	home.lock_cycles = UINT64_MAX / 2; /* for ever */
	run.block->processor = 2;
	CHECK(!tl_run_lock(&run, both_locks, 2));
	CHECK(run.block->skipped == 1 && !l->wanted && !l->late && l->owner);
	tl_run_leave(&run);
}

static void blocks_run_out_and_are_counted(void)
{
	int i;

	home_open(64, 64, 0);
	for (i = 2; i < BLOCKS; i++)
		CHECK(tl_block_claim(&home, 5, 5, "a name that is too long") != NULL);
	CHECK(!strcmp(tl_block_at(&home, 2)->comm, "a name that is "));
	CHECK(!tl_block_claim(&home, 5, 5, "x") && home.session->no_block == 1);
}

int main(void)
{
	RUN(records_come_out_as_text);
	RUN(errors_and_histograms);
	RUN(long_text_is_split_not_cut);
	RUN(full_rings_lose_and_count);
	RUN(chunks_come_and_go);
	RUN(an_empty_pool_stops_nobody);
	RUN(records_of_one_run_stay_together);
	RUN(who_reads_its_own_ring_loses_nothing);
	RUN(a_record_under_way_holds_the_others);
	RUN(abandoned_writers_do_not_hold_for_ever);
	RUN(hostile_rings_are_survived);
	RUN(hostile_heads_do_not_lead_out_of_the_ring);
	RUN(sessions_are_checked);
	RUN(threads_share_locks_shards_and_rings);
	RUN(locks_time_out_and_are_recovered);
	RUN(an_interrupted_owner_is_not_waited_for);
	RUN(blocks_run_out_and_are_counted);
	free(reader.buffer);
	free(home_memory);
	return UNIT_RESULT();
}
