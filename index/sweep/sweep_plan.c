/*
 * sweep_plan.c - the records that a sweep reads, cut into pieces
 *
 * Each worker takes one piece after the other, so that there are some for each.
 */
#include "index/sweep/sweep_internal.h"

#include "engine/base/mem.h"
#include "index/tables/build.h"

enum { PIECES_EACH = 16 };

/* Streams without time: whole or not at all, unless no stream has any. */
static void set_range(const struct sweeper *sweeper, struct sweep_stream *of, bool any_timed)
{
	of->begin = sweeper->options->begin;
	of->end = sweeper->options->end;
	if (of->stream->has_time || !any_timed)
		return;
	if (of->end == NSTIME_MAX)
		of->begin = NSTIME_MIN;
	else
		of->begin = of->end = 0;
}

static bool find_tables(struct sweeper *sweeper, unsigned workers, struct error *err)
{
	const struct stream **streams = mem_new_array(sweeper->nstreams + 1, sizeof *streams);

	for (size_t i = 0; i < sweeper->nstreams; i++)
		streams[i] = sweeper->streams[i].stream;
	bool good = build_tables(sweeper->index, streams, sweeper->nstreams, workers, err);
	mem_free(streams);
	return good;
}

/* Once the tables are there, which say of what CPUs packets are. */
static void drop_other_cpus(struct sweeper *sweeper)
{
	size_t n = 0;

	for (size_t i = 0; i < sweeper->nstreams; i++)
		if (events_want_cpu(sweeper->index, sweeper->options, sweeper->streams[i].stream))
			sweeper->streams[n++] = sweeper->streams[i];
	sweeper->nstreams = n;
}

static bool find_streams(struct sweeper *sweeper, unsigned workers, struct error *err)
{
	const struct trace *trace = sweeper->trace;
	struct sweep_worker pool = {.sweeper = sweeper};
	bool any_timed = false;

	for (size_t i = 0; i < trace->nstreams; i++)
		any_timed |= trace->streams[i]->has_time;
	sweeper->streams = mem_new_array(trace->nstreams + 1, sizeof *sweeper->streams);
	for (size_t i = 0; i < trace->nstreams; i++) {
		if (!events_want(sweeper->options, trace->streams[i]))
			continue;
		struct sweep_stream *of = &sweeper->streams[sweeper->nstreams++];
		of->stream = trace->streams[i];
		set_range(sweeper, of, any_timed);
	}
	bool good = find_tables(sweeper, workers, err);
	drop_other_cpus(sweeper);
	for (size_t i = 0; good && i < sweeper->nstreams; i++) {
		struct sweep_stream *of = &sweeper->streams[i];
		good = index_table(sweeper->index, of->stream, &of->table, err);
		if (!good)
			break;
		of->generation = table_generation(of->table);
		good = sweep_records(sweeper, of, &pool, err);
	}
	sweep_workers_release(&pool);
	return good;
}

static void add_piece(struct sweeper *sweeper, struct sweep_piece piece)
{
	*mem_push(sweeper->pieces, sweeper->npieces, sweeper->pieces_capacity) = piece;
}

static void cut_pieces(struct sweeper *sweeper, unsigned workers)
{
	for (size_t i = 0; i < sweeper->nstreams; i++) {
		const struct sweep_stream *of = &sweeper->streams[i];
		sweeper->all += of->high - of->low + of->nmore;
	}
	uint64_t each = workers > 1 ? sweeper->all / (workers * PIECES_EACH) + 1 : UINT64_MAX;
	for (size_t i = 0; i < sweeper->nstreams; i++) {
		const struct sweep_stream *of = &sweeper->streams[i];
		uint64_t end = of->high + of->nmore;
		for (uint64_t from = of->low; from < end;) {
			uint64_t to = end - from > each ? from + each : end;
			add_piece(sweeper, (struct sweep_piece){of, from, to, false});
			from = to;
		}
		if (sweeper->options->losses && of->begin < of->end && table_count(of->table) &&
		    sweep_chunk_has_stream(sweeper, of))
			add_piece(sweeper, (struct sweep_piece){.of = of, .losses = true});
	}
}

bool sweep_plan(struct sweeper *sweeper, unsigned workers, struct error *err)
{
	if (!find_streams(sweeper, workers, err))
		return false;
	sweep_chunks_begin(sweeper);
	cut_pieces(sweeper, workers);
	return true;
}

void sweep_plan_release(struct sweeper *sweeper)
{
	for (size_t i = 0; i < sweeper->nstreams; i++) {
		mem_free(sweeper->streams[i].more);
		mem_free(sweeper->streams[i].bases);
	}
	mem_free(sweeper->streams);
	mem_free(sweeper->pieces);
}

bool sweep_record(const struct sweeper *sweeper, const struct sweep_stream *of, uint64_t i,
		  struct packet_info *out, bool *wanted, struct error *err)
{
	uint64_t record = i < of->high ? i : of->more[i - of->high];

	if (!table_get(of->table, record, out, err))
		return error_while(err, "stream %s", of->stream->name);
	bool early = record < of->sure && record >= of->low && out->rec.max < of->begin &&
		     !(out->rec.flags & PACKET_SUSPECT);
	*wanted = !early && events_want_packet(sweeper->options, of->stream, &out->rec);
	return true;
}
