/* far.c - see far.h */
#include "index/tables/far.h"

#include "engine/base/bitset.h"
#include "engine/base/mem.h"
#include "engine/base/workers.h"
#include "index/tables/table.h"

#include <stdatomic.h>

enum {
	HEAD_BYTES = 512,
	BEFORE = 4, /* headers before the packet that a search found */
	BEHIND = 3,
	STEPS = 3,             /* of a search, to either side */
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

void far_expect_search(const struct stream *stream, uint64_t count, uint64_t low, uint64_t middle,
		       uint64_t high)
{
	if (!far_stream(stream))
		return;
	far_expect_found(stream, count, middle);
	for (unsigned i = 0, by = 1; i < STEPS && by < high - low; i++) {
		by = by * SEARCH_STEP + 1;
		expect(stream, count, by < high - middle ? middle + by : high - 1);
		expect(stream, count, by <= middle - low ? middle - by : low);
	}
}

void far_expect_headers(const struct stream *stream, uint64_t count, uint64_t first, uint64_t end)
{
	for (uint64_t i = first; far_stream(stream) && i < end && i < count; i++)
		expect(stream, count, i);
}

void far_expect_found(const struct stream *stream, uint64_t count, uint64_t i)
{
	far_expect_headers(stream, count, i < BEFORE ? 0 : i - BEFORE, i + BEHIND);
}

/* The samples of a table, and what else is looked at near its ends. */
static void expect_samples(const struct stream *stream, uint64_t count)
{
	for (uint64_t k = 0; k < TABLE_SAMPLES; k++)
		expect(stream, count, table_sample(count, k));
	expect(stream, count, count > 1);
	expect(stream, count, count - 1 - (count > 1));
}

void far_expect_tables(struct index *index)
{
	const struct trace *trace = index->trace;
	uint64_t count;

	if (!index->far || atomic_exchange(&index->expected, true))
		return;
	for (size_t i = 0; i < trace->nstreams; i++) {
		const struct stream *stream = trace->streams[i];
		const struct reader *reader = trace->parts[stream->part]->reader;
		if (far_stream(stream) && reader->computed && reader->computed(stream, &count) &&
		    count)
			expect_samples(stream, count);
	}
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

/* The packet at `end`; of the next one its first events are enough, which come with its header. */
void index_expect_packets(struct index *index, const uint64_t *streams, nstime end)
{
	const struct trace *trace = index->trace;
	struct packet_info info;
	struct table *table;
	struct error ignored;
	uint64_t found;

	if (!index->far)
		return;
	index_expect_range(index, streams, NSTIME_MIN, end);
	for (size_t i = 0; i < trace->nstreams; i++)
		if (far_stream(trace->streams[i]) && bitset_has(streams, i) &&
		    index_table(index, trace->streams[i], &table, &ignored) &&
		    table_computed_bound(table, end, &found) && found &&
		    table_peek(table, found - 1, &info, &ignored))
			far_expect_packet(trace->streams[i], info.rec.off, info.rec.len);
}
