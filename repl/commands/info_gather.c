/* info_gather.c - see info_gather.h */
#include "repl/commands/info_gather.h"

#include "engine/base/mem.h"
#include "index/tables/recorded.h"

static bool edge(struct info *info, const struct stream *stream, bool backward, nstime *out,
		 struct error *err)
{
	/* records without a time, which come before all others, do not count */
	struct events_options open = {.begin = NSTIME_MIN + 1,
				      .end = NSTIME_MAX,
				      .backward = backward,
				      .only = stream,
				      .progress = session_progress_time,
				      .progress_arg = info->session};
	struct events *events;
	struct event event;

	*out = NSTIME_MIN;
	if (!stream->has_time)
		return true;
	if (!events_open(info->index, &open, &events, err))
		return false;
	enum step step = events_next(events, &event, err);
	if (step == STEP_ITEM)
		*out = event.time;
	events_close(events);
	return step != STEP_ERROR;
}

static bool packets_bytes(struct table *table, uint64_t *bytes, struct error *err)
{
	struct packet_info packet;

	*bytes = 0;
	for (uint64_t i = 0; i < table_count(table); i++) {
		if (!table_get(table, i, &packet, err))
			return false;
		*bytes += packet_all_bytes(&packet);
	}
	return true;
}

/*
 * What was recorded may begin before the first event and end behind the last one: see recorded.h.
 */
static bool widen(const struct info *info, const struct stream *stream, struct stream_info *out,
		  struct error *err)
{
	struct recorded recorded;

	if (!stream_recorded(info->index, stream, &recorded, err))
		return false;
	if (recorded.begin > NSTIME_MIN &&
	    (out->begin == NSTIME_MIN || recorded.begin < out->begin))
		out->begin = recorded.begin;
	if (recorded.end > out->end)
		out->end = recorded.end;
	return true;
}

static bool gather_stream(struct info *info, size_t i, struct error *err)
{
	const struct stream *stream = info->trace->streams[i];
	struct stream_info *out = &info->streams[i];
	struct info_losses *losses = &info->losses[i];
	struct table *table;

	if (!edge(info, stream, false, &out->begin, err) ||
	    !edge(info, stream, true, &out->end, err) || !widen(info, stream, out, err) ||
	    !index_table(info->index, stream, &table, err))
		return false;
	if (!cpus_of_stream(stream, info->index, &out->cpus, err))
		return false;
	/* a table that is computed may turn out to be irregular only here */
	if (!info_losses_read(stream, table, losses, err))
		return false;
	out->packets = table_count(table) - losses->delivery.doubled - losses->delivery.other;
	out->bytes = stream->bytes;
	if (info->shared && !packets_bytes(table, &out->bytes, err))
		return false;
	if (out->begin != NSTIME_MIN && (info->begin == NSTIME_MIN || out->begin < info->begin))
		info->begin = out->begin;
	if (out->end != NSTIME_MIN && (info->end == NSTIME_MIN || out->end > info->end))
		info->end = out->end;
	return true;
}

bool info_gather(struct info *info, struct error *err)
{
	uint64_t sum = 0, told = 0;
	bool ok = true;

	for (size_t i = 0; i < info->trace->nstreams; i++)
		sum += info->trace->streams[i]->bytes;
	info->shared = sum > trace_bytes(info->trace);

	info->begin = info->end = NSTIME_MIN;
	info->streams = mem_new_array(info->trace->nstreams + 1, sizeof *info->streams);
	info->losses = mem_new_array(info->trace->nstreams + 1, sizeof *info->losses);
	for (size_t i = 0; i < info->trace->nstreams && ok; i++)
		ok = gather_stream(info, i, err);
	for (size_t i = 0; i < info->trace->nstreams && ok; i++)
		told += info->losses[i].lost;
	return ok && info_losses_untold(info->session, told, &info->untold, err);
}

uint64_t info_lost(const struct info *info)
{
	uint64_t lost = info->untold;

	for (size_t i = 0; i < info->trace->nstreams; i++)
		lost += info->losses[i].lost;
	return lost;
}

void info_release(struct info *info)
{
	for (size_t i = 0; info->losses && i < info->trace->nstreams; i++)
		info_losses_release(&info->losses[i]);
	for (size_t i = 0; info->streams && i < info->trace->nstreams; i++)
		cpus_release(&info->streams[i].cpus);
	mem_free(info->losses);
	mem_free(info->streams);
	info->losses = NULL;
	info->streams = NULL;
}
