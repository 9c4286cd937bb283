/* shared.c - see shared.h */
#include "index/sweep/shared.h"

#include "engine/base/mem.h"
#include "index/sweep/sweep_internal.h"
#include "index/tables/internal.h"

struct shared_sweep {
	struct sweeper sweeper;
	struct sweep sweep;
};

struct sweep_reader {
	struct sweep_worker pool;
	const struct sweep_piece *piece; /* NULL: none is begun */
	uint64_t record;                 /* the next one of the piece */
	bool open, ended;                /* a packet is read; its last batch was given */
};

bool shared_sweep_open(struct index *index, const struct events_options *options, unsigned threads,
		       struct shared_sweep **out, struct error *err)
{
	struct shared_sweep *shared = mem_new(sizeof *shared);

	shared->sweep = (struct sweep){.events = options};
	shared->sweeper = (struct sweeper){.index = index,
					   .trace = index_trace(index),
					   .sweep = &shared->sweep,
					   .options = options};
	if (options->keep)
		shared->sweeper.head_cache =
			head_cache_hold(index_head_cache(index), options->classes);
	if (!sweep_plan(&shared->sweeper, threads, err)) {
		shared_sweep_close(shared);
		return false;
	}
	*out = shared;
	return true;
}

void shared_sweep_close(struct shared_sweep *shared)
{
	if (!shared)
		return;
	head_cache_drop(shared->sweeper.head_cache);
	sweep_plan_release(&shared->sweeper);
	mem_free(shared);
}

size_t shared_sweep_pieces(const struct shared_sweep *shared)
{
	return shared->sweeper.npieces;
}

struct sweep_reader *sweep_reader_new(struct shared_sweep *shared)
{
	struct sweep_reader *reader = mem_new(sizeof *reader);

	reader->pool.sweeper = &shared->sweeper;
	return reader;
}

void sweep_reader_free(struct sweep_reader *reader)
{
	if (!reader)
		return;
	if (reader->open)
		sweep_packet_leave(&reader->pool);
	sweep_workers_release(&reader->pool);
	mem_free(reader);
}

static void shared_tell_damage(const struct sweep_reader *reader, const struct error *cause)
{
	const struct packet *rec = &reader->pool.info.rec;

	trace_damage_at(reader->pool.sweeper->trace, reader->piece->of->stream, rec->source,
			rec->off, cause);
}

static bool is_same(const struct sweep_stream *of, struct error *err)
{
	return table_generation(of->table) == of->generation ||
	       error_set(err, ERR_IO, "stream %s changes while it is read", of->stream->name);
}

/* Opens the packet of the next record that is wanted. STEP_END: there is none. */
static enum step open_packet(struct sweep_reader *reader, struct error *err)
{
	struct sweeper *sweeper = reader->pool.sweeper;
	struct packet_info info;
	struct error cause;
	bool wanted;

	while (!reader->open) {
		if (!reader->piece || reader->record == reader->piece->to) {
			size_t i = sweeper->next++;
			if (i >= sweeper->npieces)
				return STEP_END;
			reader->piece = &sweeper->pieces[i];
			reader->record = reader->piece->from;
		}
		const struct sweep_stream *of = reader->piece->of;
		if (!sweep_record(sweeper, of, reader->record++, &info, &wanted, err) ||
		    !is_same(of, err))
			return STEP_ERROR;
		if (!wanted)
			continue;
		enum step step = sweep_packet_open(&reader->pool, of, &info, &cause);
		reader->open = step == STEP_ITEM;
		if (step == STEP_ERROR)
			shared_tell_damage(reader, &cause);
	}
	return STEP_ITEM;
}

enum step sweep_reader_next(struct sweep_reader *reader, struct run *out, struct error *err)
{
	struct error cause;
	enum step step;

	out->count = 0;
	while (!out->count) {
		if (reader->ended) {
			sweep_packet_leave(&reader->pool);
			reader->open = reader->ended = false;
		}
		step = open_packet(reader, err);
		if (step != STEP_ITEM)
			return step;
		step = sweep_packet_next(&reader->pool, out, &cause);
		reader->ended = step != STEP_ITEM;
		if (step == STEP_ERROR)
			shared_tell_damage(reader, &cause);
	}
	return STEP_ITEM;
}
