/* far.c - see far.h */
#include "index/tables/far.h"

#include "engine/base/bitset.h"
#include "engine/base/mem.h"
#include "engine/base/workers.h"
#include "index/tables/table.h"

#include <stdatomic.h>

enum {
	HEAD_BYTES = 512,
	BEFORE = 12, /* headers before the packet that a search found */
	BEHIND = 3,
	WHOLE_MOST = 512 << 10 /* bytes of a packet that is fetched before it is read */
};

bool far_stream(const struct stream *stream)
{
	return stream->nsources == 1 && source_is_far(stream->sources[0]);
}

/* Packets of computed tables have one size, nearly. */
static uint64_t offset_of(const struct stream *stream, uint64_t count, uint64_t i)
{
	return (uint64_t)((unsigned __int128)source_size(stream->sources[0]) * i / count);
}

static bool expect(const struct stream *stream, uint64_t count, uint64_t i)
{
	return source_prefetch(stream->sources[0], offset_of(stream, count, i), HEAD_BYTES);
}

void far_expect_packet(const struct stream *stream, uint64_t offset, uint64_t size)
{
	if (size <= WHOLE_MOST)
		source_prefetch(stream->sources[0], offset, (size_t)size);
}

static void expect_steps(const struct stream *stream, uint64_t count, uint64_t low, uint64_t high,
			 unsigned levels)
{
	uint64_t middle = low + (high - low) / 2;

	if (low >= high || !levels)
		return;
	expect(stream, count, middle);
	expect_steps(stream, count, low, middle, levels - 1);
	expect_steps(stream, count, middle + 1, high, levels - 1);
}

bool far_expect_steps(const struct stream *stream, uint64_t count, uint64_t low, uint64_t high)
{
	uint64_t middle = low + (high - low) / 2;

	if (!far_stream(stream) || low >= high || !expect(stream, count, middle))
		return false;
	expect_steps(stream, count, low, middle, FAR_STEPS - 1);
	expect_steps(stream, count, middle + 1, high, FAR_STEPS - 1);
	return true;
}

void far_expect_found(const struct stream *stream, uint64_t count, uint64_t i)
{
	if (!far_stream(stream))
		return;
	for (uint64_t k = i < BEFORE ? 0 : i - BEFORE; k < i + BEHIND && k < count; k++)
		expect(stream, count, k);
}

/* The samples of a table, and what else is looked at near its ends. */
static void expect_samples(const struct stream *stream, uint64_t count)
{
	for (uint64_t k = 0; k < TABLE_SAMPLES; k++)
		expect(stream, count, table_sample(count, k));
	expect(stream, count, count > 1);
	expect(stream, count, count - 1 - (count > 1));
}

/* Is it a computed table far away? *begin: of its first packet, whose header is there already. */
static bool far_table(const struct index *index, const struct stream *stream, uint64_t *count,
		      nstime *begin)
{
	const struct reader *reader = index->trace->parts[stream->part]->reader;
	struct packet_info first;
	struct error ignored;

	if (!far_stream(stream) || !reader->computed || !reader->computed(stream, count) ||
	    !*count || !reader->packet_at(stream, 0, &first, &ignored))
		return false;
	*begin = first.rec.min;
	return true;
}

void far_expect_tables(struct index *index)
{
	const struct trace *trace = index->trace;
	const struct stream *first = NULL;
	uint64_t count, first_count = 0;
	nstime begin, first_begin = 0;

	if (!index->far || atomic_exchange(&index->expected, true))
		return;
	for (size_t i = 0; i < trace->nstreams; i++) {
		const struct stream *stream = trace->streams[i];
		if (!far_table(index, stream, &count, &begin))
			continue;
		expect_samples(stream, count);
		if (!first || begin < first_begin) {
			first = stream;
			first_count = count;
			first_begin = begin;
		}
	}
	if (first) /* its first event is where the trace begins */
		far_expect_packet(first, 0, offset_of(first, first_count, 1));
}

/* Searches, all at once ---------------------------------------------------------------------------
 */

struct searches {
	struct table **tables;
	size_t count;
	_Atomic size_t next;
	nstime begin, end;
};

static void run_searches(void *arg, unsigned i)
{
	struct searches *searches = arg;
	uint64_t found;
	size_t k;

	(void)i;
	while ((k = atomic_fetch_add(&searches->next, 1)) < searches->count) {
		struct table *table = searches->tables[k];
		if (searches->begin != NSTIME_MIN)
			table_computed_bound(table, searches->begin, &found);
		if (searches->end != NSTIME_MAX)
			table_computed_bound(table, searches->end, &found);
	}
}

void index_expect_range(struct index *index, const uint64_t *streams, nstime begin, nstime end)
{
	const struct trace *trace = index->trace;
	struct searches searches = {.begin = begin, .end = end};
	struct workers workers;
	struct error ignored; /* what reads next returns it */

	if (!index->far)
		return;
	searches.tables = mem_new_array(trace->nstreams + 1, sizeof(struct table *));
	for (size_t i = 0; i < trace->nstreams; i++)
		if (far_stream(trace->streams[i]) && (!streams || bitset_has(streams, i)) &&
		    index_table(index, trace->streams[i], &searches.tables[searches.count],
				&ignored))
			searches.count++;
	if (searches.count > 1) {
		workers_init(&workers);
		workers_start(&workers,
			      searches.count < WORKERS_MAX ? (unsigned)searches.count : WORKERS_MAX,
			      run_searches, &searches);
		MAY_FAIL(workers_end(&workers, &ignored));
	}
	mem_free(searches.tables);
}
