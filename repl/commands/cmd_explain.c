/*
 * cmd_explain.c - what a command would read, without reading it
 *
 * For commands over events: the packets that may hold an event of the range. For commands over the
 * state: how the planner would evaluate it.
 */
#include "engine/base/bitset.h"
#include "repl/commands/cmds.h"
#include "repl/filter.h"
#include "repl/render/render.h"
#include "state/state.h"

#include <inttypes.h>

struct cost {
	uint64_t packets, bytes, all, all_bytes;
};

static bool bit(const uint64_t *bits, size_t i)
{
	return !bits || bitset_has(bits, i);
}

/* Adds up the packets of one stream that may hold events of the range. */
static bool stream_cost(struct table *table, const struct events_options *range, struct cost *cost,
			struct error *err)
{
	uint64_t count = table_count(table), low = 0, high = count, reach = table_reach(table);
	struct packet_info info;

	if (range->begin != NSTIME_MIN && !table_lower_bound(table, range->begin, &low, err))
		return false;
	if (range->end != NSTIME_MAX && !table_lower_bound(table, range->end, &high, err))
		return false;
	low = low > reach ? low - reach : 0;
	for (uint64_t i = low; i < high; i++) {
		if (!table_get(table, i, &info, err))
			return false;
		if (info.rec.flags & PACKET_EMPTY || info.rec.max < range->begin)
			continue;
		cost->packets++;
		cost->bytes += packet_all_bytes(&info);
	}
	return true;
}

static bool events_cost(struct session *session, const struct options *options, struct cost *cost,
			struct error *err)
{
	struct index *index = session_index(session, err);
	struct events_options range = {0};
	struct filter *filter;
	struct table *table;
	bool ok = true;

	if (!index || !filter_look_up(session, options, err) ||
	    !filter_open(session, options, options->reverse, &filter, err))
		return false;
	filter_fill(filter, &range);
	for (size_t i = 0; i < session->trace->nstreams && ok; i++) {
		const struct stream *stream = session->trace->streams[i];
		ok = index_table(index, stream, &table, err);
		cost->all += ok ? table_count(table) : 0;
		if (ok && bit(range.streams, i))
			ok = stream_cost(table, &range, cost, err);
	}
	cost->all_bytes = trace_bytes(session->trace);
	filter_close(filter);
	return ok;
}

static void write_cost(const struct cost *cost, enum format format, struct sink *sink)
{
	static const struct table_column columns[] = {
		{"packets", true}, {"bytes", true}, {"all_packets", true}, {"all_bytes", true}};
	struct rows rows;

	rows_begin(&rows, sink, format, columns, 4);
	rows_u64(&rows, true, cost->packets);
	rows_u64(&rows, true, cost->bytes);
	rows_u64(&rows, true, cost->all);
	rows_u64(&rows, true, cost->all_bytes);
	rows_end(&rows);
	rows_finish(&rows);
}

static bool explain_events(struct session *session, const struct options *options,
			   struct sink *sink, struct error *err)
{
	struct cost cost = {0};

	if (!events_cost(session, options, &cost, err))
		return false;
	if (options->format != FORMAT_TEXT) {
		write_cost(&cost, options->format, sink);
		return true;
	}
	sink_printf(sink,
		    "at most %" PRIu64 " of %" PRIu64 " packets would be read, %" PRIu64
		    " of %" PRIu64 " bytes%s\n",
		    cost.packets, cost.all, cost.bytes, cost.all_bytes,
		    options->has_limit || options->around
			    ? "; packets are opened as they are reached, and the limit ends "
			      "the work"
			    : "");
	sink_row(sink);
	return true;
}

/* ---- the state ---- */

void plan_row(struct rows *rows, struct times *times, const struct state_plan *plan)
{
	rows_text(rows, plan->evaluation);
	rows_text(rows, plan->reason);
	rows_u64(rows, plan->backward, plan->attributes);
	rows_time(rows, times, plan->checkpoint, "");
	rows_end(rows);
}

void plan_text(struct sink *sink, const struct state_plan *plan)
{
	sink_printf(sink, "%s: %s\n", plan->evaluation, plan->reason);
	if (plan->backward)
		sink_printf(sink, "attributes: %zu\n", plan->attributes);
	if (plan->checkpoint != NSTIME_MIN)
		sink_printf(sink, "nearest checkpoint: @%" PRId64 "\n", plan->checkpoint);
	else if (!plan->stored)
		sink_text(sink, "no checkpoint below: the bottom is the start\n");
	sink_row(sink);
}

bool explain_print(struct session *session, const struct options *options, struct sink *sink,
		   struct error *err)
{
	const struct cmd *cmd = options->cmd;

	if (cmd->explain)
		return cmd->explain(session, options, sink, err);
	if (cmd == &cmd_events || cmd == &cmd_check)
		return explain_events(session, options, sink, err);
	return error_set(err, ERR_QUERY,
			 "explain: %s does nothing that could be told beforehand: it works for "
			 "events, check, at, state, when, longest and timeline",
			 cmd->name);
}

/* `explain` without a command. */
static bool run_explain(struct session *session, const struct options *options, struct sink *sink,
			struct error *err)
{
	(void)session;
	(void)options;
	(void)sink;
	return error_set(err, ERR_QUERY, "explain: which command? yore explain at TRACE TIME PATH");
}

const struct cmd cmd_explain = {
	.name = "explain",
	.args = "COMMAND...",
	.summary = "which packets and which way of evaluation, without doing it",
	.help = "Put before a command, tells what it would read and how, and does not do it.\n"
		"\n"
		"Examples:\n"
		"  $ yore explain events fixtures/golden/sched-demo --end +1ms\n"
		"  $ yore explain at fixtures/golden/sched-demo +5ms 'cpu[*]/thread'\n",
	.options = ~0u,
	.words = WORD_COMMAND,
	.max_words = -1,
	.no_trace = true,
	.explain = run_explain,
};
