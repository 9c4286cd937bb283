/*
 * sieve_packets.c - packets that a sieve passes over, by their sketches
 *
 *     to                                            from      of a range that is read backward
 *      |- read -|== window ==|======= window =======|...
 *                made when so many packets were read for nothing, each twice as long
 */
#include "engine/base/mem.h"
#include "index/index.h"
#include "state/feed.h"
#include "state/sieve_internal.h"

#include <stdatomic.h>

enum { WINDOW_FIRST = 32, WINDOW_MAX = 2048 };

void sieve_begin(struct sieve *sieve, const struct feed_range *range)
{
	sieve->backward = range->backward;
	sieve->from = range->from.time;
	sieve->to = range->to.time;
	sieve->streams = range->streams;
	sieve->quiet = 0;
	sieve->window = WINDOW_FIRST;
	sieve->covered = false;
}

void sieve_passed(struct sieve *sieve)
{
	sieve->quiet = 0;
}

static enum sketched ask(struct sieve *sieve, const struct sketch_of *packet,
			 struct packet_range *range)
{
	const struct sketch_wanted wanted = {.always = sieve->all,
					     .keyed = sieve->keyed,
					     .hashes = sieve->hashes,
					     .nhashes = sieve->nhashes};

	return sketches_ask(sieve->sketches, packet, &wanted, range);
}

/* The begin of the record so many places from the one at `t`; the range's end where there is none.
 */
static bool begin_beside(struct sieve *sieve, const struct stream *stream, nstime t, nstime *out)
{
	uint64_t each = sieve->window / sieve->trace->nstreams + 1, i;
	struct packet_info info;
	struct table *table;
	struct error ignored; /* whoever reads meets it again */

	if (!index_table(sieve->index, stream, &table, &ignored) ||
	    !table_lower_bound(table, t, &i, &ignored))
		return false;
	*out = sieve->backward ? sieve->from : sieve->to;
	if (sieve->backward ? i < each : each >= table_count(table) - i)
		return true;
	if (!table_get(table, sieve->backward ? i - each : i + each, &info, &ignored))
		return false;
	if (sieve->backward ? info.rec.min > *out : info.rec.min < *out)
		*out = info.rec.min;
	return true;
}

static bool find_window(struct sieve *sieve, const struct stream *stream, const struct packet *rec,
			nstime *begin, nstime *end)
{
	if (sieve->backward) {
		*end = sieve->covered ? sieve->low : sieve->to + (sieve->to < NSTIME_MAX);
		return begin_beside(sieve, stream, rec->min, begin) && *begin < *end;
	}
	*begin = sieve->covered ? sieve->high : sieve->from;
	if (!begin_beside(sieve, stream, rec->max, end))
		return false;
	*end += *end < NSTIME_MAX;
	return *begin < *end;
}

static bool progress(void *arg, uint64_t done, uint64_t all)
{
	struct sieve *sieve = arg;
	struct feed *feed = sieve->feed;
	struct error ignored;

	(void)done;
	(void)all;
	if (!feed->progress)
		return true;
	if (sieve->span.least >= sieve->span.greatest &&
	    !feed->ops->span(feed, &sieve->span.least, &sieve->span.greatest, &ignored))
		return true;
	return feed->progress(feed->progress_arg, sieve->backward ? sieve->low : sieve->high,
			      sieve->span.least, sieve->span.greatest);
}

/* Where it fails, packets are read one by one, and whoever reads them says why. */
static void make_window(struct sieve *sieve, const struct stream *stream, const struct packet *rec)
{
	struct events_options range = {.streams = sieve->streams};
	struct error ignored;

	if (!find_window(sieve, stream, rec, &range.begin, &range.end))
		return;
	sieve->low = !sieve->covered || range.begin < sieve->low ? range.begin : sieve->low;
	sieve->high = !sieve->covered || range.end > sieve->high ? range.end : sieve->high;
	sieve->covered = true;
	sieve->window *= sieve->window < WINDOW_MAX ? 2 : 1;
	sketches_make(sieve->sketches, &range, progress, sieve, &ignored);
}

static bool is_covered(const struct sieve *sieve, const struct packet *rec)
{
	return sieve->covered &&
	       (sieve->backward ? rec->min >= sieve->low : rec->max < sieve->high);
}

bool sieve_skips(void *arg, const struct stream *stream, const struct packet_info *info,
		 struct packet_range *range)
{
	struct sieve *sieve = arg;
	struct packet rec = info->rec;
	struct sketch_of packet = sketch_of(stream, info);
	enum sketched sketched;

	if (!sieve->sketches || sieve->many)
		return false;
	sketched = ask(sieve, &packet, range);
	if (sketched == SKETCHED_NOT && sieve->quiet++ >= sieve->patience &&
	    !is_covered(sieve, &rec)) {
		make_window(sieve, stream, &rec);
		sketched = ask(sieve, &packet, range);
	}
	if (sketched == SKETCHED_CANNOT)
		atomic_fetch_add_explicit(&index_trace(sieve->index)->packets_skipped, 1,
					  memory_order_relaxed);
	return sketched == SKETCHED_CANNOT;
}
