/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Time: cycles to ns by the session's clock, and dates as text. */
#include "internal.h"

void tl_clock_set(struct tl_view *v, uint64_t cycles, uint64_t ns, uint64_t mult)
{
	struct tl_session *s = v->session;
	uint32_t seq = s->clock_seq;
	uint64_t rem;

	__atomic_store_n(&s->clock_seq, seq + 1, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	s->clock_base_cycles = cycles;
	s->clock_base_ns = ns;
	s->clock_mult = mult;
	__atomic_store_n(&s->clock_seq, seq + 2, __ATOMIC_RELEASE);
	if (mult)
		v->lock_cycles = tl_udiv(TL_LOCK_NS << 32, mult, &rem);
}

/* a * b >> 32 of 64-bit numbers, the low 64 bits of it. */
static uint64_t mul_shift(uint64_t a, uint64_t b)
{
	uint64_t ah = a >> 32, al = (uint32_t)a, bh = b >> 32, bl = (uint32_t)b;

	return ((ah * bh) << 32) + ah * bl + al * bh + (al * bl >> 32);
}

uint64_t tl_clock_ns(const struct tl_view *v, uint64_t cycles)
{
	const struct tl_session *s = v->session;
	uint64_t base_cycles, base_ns, mult;
	uint32_t seq, tries = 0;

	do { /* bounded: a runner that died inside leaves the number odd */
		seq = __atomic_load_n(&s->clock_seq, __ATOMIC_ACQUIRE);
		base_cycles = *(const volatile uint64_t *)&s->clock_base_cycles;
		base_ns = *(const volatile uint64_t *)&s->clock_base_ns;
		mult = *(const volatile uint64_t *)&s->clock_mult;
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
	} while ((seq & 1 || seq != __atomic_load_n(&s->clock_seq, __ATOMIC_RELAXED)) &&
		 ++tries < 1000);
	if ((int64_t)(cycles - base_cycles) <
		0) /* before the base: records older than the latest setting */
		return base_ns - mul_shift(base_cycles - cycles, mult);
	return base_ns + mul_shift(cycles - base_cycles, mult);
}

int64_t tl_time_ns(struct tl_run *run)
{
	return (int64_t)tl_clock_ns(run->view, tl_cycles());
}

/* By the processor's counter: it ends, whatever becomes of the clock's numbers. */
void tl_delay(struct tl_run *run, int64_t ns)
{
	uint64_t start = tl_cycles(), mult = run->view->session->clock_mult, rem, cycles;

	if (run->error)
		return;
	if (ns > TL_DELAY_MAX) {
		tl_run_error(run, "a handler may wait for %d ms at most", TL_DELAY_MAX / 1000000);
		return;
	}
	if (ns <= 0 || !mult)
		return;
	cycles = tl_udiv((uint64_t)ns << 32, mult, &rem);
	while (tl_cycles() - start < cycles)
		tl_pause();
}

int64_t tl_cycles_now(struct tl_run *run)
{
	(void)run;
	return (int64_t)tl_cycles();
}

void tl_time_add(struct tl_run *run, uint32_t times, int64_t began)
{
	int64_t passed = (int64_t)(tl_cycles() - (uint64_t)began);
	uint64_t took = passed > 0 ? (uint64_t)passed : 0; /* processors may differ a little */
	struct tl_time *t = (struct tl_time *)((char *)run->block + run->view->shard_off + times) +
			    run->env->number;

	if (!t->runs || took < t->least)
		t->least = took;
	if (took > t->most)
		t->most = took;
	t->sum += took;
	t->runs++;
}

/* --- chance ----------------------------------------------------------------------- */

/* The counter never says the same twice; what it says is spread over all bits. */
static uint64_t any(void)
{
	uint64_t x = tl_cycles() * 0x9e3779b97f4a7c15u;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

int64_t tl_randint(struct tl_run *run, int64_t n)
{
	if (n < 0 || n > TL_RANDMAX) {
		tl_run_error(run, "range too wide");
		return 0;
	}
	return (int64_t)((any() >> 32) * (uint64_t)n >> 32);
}

/* --- dates ------------------------------------------------------------------------ */

struct date {
	int32_t year, month, day; /* month 0 .. 11, day 1 .. 31 */
};

/* Days since 1970-01-01 to a date; years are counted from March, so that leap days come last. */
static struct date date_of(int32_t days)
{
	int32_t z = days + 719468, era = (z >= 0 ? z : z - 146096) / 146097;
	int32_t doe = z - era * 146097; /* day of the 400 years */
	int32_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
	int32_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
	int32_t m = (5 * doy + 2) / 153;
	struct date d;

	d.day = doy - (153 * m + 2) / 5 + 1;
	d.month = m < 10 ? m + 2 : m - 10;
	d.year = yoe + era * 400 + (d.month <= 1);
	return d;
}

static char *two(char *p, int32_t v, char pad)
{
	*p++ = v >= 10 ? (char)('0' + v / 10) : pad;
	*p++ = (char)('0' + v % 10);
	return p;
}

static char *word(char *p, const char *table, int32_t i)
{
	memcpy(p, table + 3 * i, 3);
	p[3] = ' ';
	return p + 4;
}

void tl_ctime(struct tl_run *run, struct tl_str *dst, int64_t seconds)
{
	char buf[48], *p = buf;
	int32_t days, rest, wday;
	struct date d;

	tl_str_put(run, dst, "", 0);
	if (seconds > INT32_MAX) {
		tl_run_error(run, "Time too far in the future to be converted");
		return;
	}
	if (seconds < INT32_MIN) {
		tl_run_error(run, "Time too far in the past to be converted");
		return;
	}
	days = (int32_t)seconds / 86400;
	rest = (int32_t)seconds % 86400;
	if (rest < 0) {
		rest += 86400;
		days--;
	}
	d = date_of(days);
	wday = (days % 7 + 11) % 7;
	p = word(p, "SunMonTueWedThuFriSat", wday);
	p = word(p, "JanFebMarAprMayJunJulAugSepOctNovDec", d.month);
	p = two(p, d.day, ' ');
	*p++ = ' ';
	p = two(p, rest / 3600, '0');
	*p++ = ':';
	p = two(p, rest / 60 % 60, '0');
	*p++ = ':';
	p = two(p, rest % 60, '0');
	*p++ = ' ';
	p += tl_text_dec(p, d.year);
	tl_str_put(run, dst, buf, (uint32_t)(p - buf));
}

void tl_tz_name(struct tl_run *run, struct tl_str *dst)
{
	const struct tl_session *s = run->view->session;
	char buf[sizeof(s->tz_name)];
	uint32_t n;

	for (n = 0; n < sizeof(buf) && s->tz_name[n]; n++)
		buf[n] = s->tz_name[n]; /* shared memory */
	tl_str_put(run, dst, buf, n);
}

void tl_tz_ctime(struct tl_run *run, struct tl_str *dst, int64_t seconds)
{
	const struct tl_session *s = run->view->session;
	char buf[64];
	uint32_t n, k;

	tl_ctime(run, dst, tl_add(seconds, *(const volatile int64_t *)&s->tz_offset));
	if (run->error)
		return;
	n = dst->len < 40 ? dst->len : 40;
	memcpy(buf, dst->b, n);
	buf[n++] = ' ';
	for (k = 0; k < sizeof(s->tz_name) && s->tz_name[k]; k++)
		buf[n++] = s->tz_name[k];
	tl_str_put(run, dst, buf, n);
}
