/* cmd_index.c - building, catching up and removing what is stored of a trace */
#include "repl/cmds.h"
#include "state/timelines/shards.h"

static bool drop(struct session *session, struct error *err)
{
	struct index_options options = session_index_options(session);
	struct trace *trace = session_trace(session, err);

	return trace && timelines_drop(trace, &options, err) && index_drop(trace, &options, err);
}

static bool totals(struct session *session, uint64_t *packets, uint64_t *bytes, struct error *err)
{
	const struct trace *trace = session->trace;
	struct table *table;

	*packets = 0;
	*bytes = trace_bytes(trace);
	for (size_t i = 0; i < trace->nstreams; i++) {
		if (!index_table(session->index, trace->streams[i], &table, err))
			return false;
		*packets += table_count(table);
	}
	return true;
}

static bool build_index(struct session *session, const struct options *options, struct sink *sink,
			struct error *err)
{
	uint64_t packets, bytes;

	if (options->drop)
		return drop(session, err);
	if ((options->chunk || options->pass || options->join) && !options->timelines)
		return error_set(err, ERR_QUERY, "--chunk, --pass and --join are of --timelines");
	session->scan_all = true;
	struct index *index = session_index(session, err);
	if (!index || !index_build(index, err) || !totals(session, &packets, &bytes, err) ||
	    !events_tell_damaged(index, err))
		return false;
	const char *path = index_path(index);
	size_t streams = session->trace->nstreams;
	if (options->format == FORMAT_JSON)
		sink_printf(sink, "{\"packets\":%llu,\"streams\":%zu,\"bytes\":%llu}\n",
			    (unsigned long long)packets, streams, (unsigned long long)bytes);
	else
		sink_printf(sink, "%llu packet%s in %zu stream%s, %llu bytes: %s\n",
			    (unsigned long long)packets, packets == 1 ? "" : "s", streams,
			    streams == 1 ? "" : "s", (unsigned long long)bytes,
			    path ? path : "kept in memory only");
	sink_row(sink);
	return !options->timelines || index_timelines(session, options, sink, err);
}

const struct cmd cmd_index = {
	.name = "index",
	.args = "",
	.summary = "builds or catches up the packet index",
	.help = "Reads the header of every packet and stores when it begins and ends, so that "
		"later\n"
		"questions find their packets at once. Nothing needs it: questions build what "
		"they\n"
		"miss. A trace that grew is caught up from where it ended; --drop removes what is\n"
		"stored, and decompressed copies that are kept beside it.\n"
		"\n"
		"--timelines also stores every change of state that the rules make of the events:\n"
		"at, state, when, longest and diff then answer from there. Interrupted, what was\n"
		"stored stays, and the next run goes on with it. Of a trace in which events come late\n"
		"or lie outside of what their packets claim nothing is stored, and it is said.\n"
		"Threads (--jobs) share the work.\n"
		"So can processes of one machine with one index folder: for each I --chunk I/N\n"
		"--pass 1, all at once; when they are done one --join; then for each I --chunk I/N\n"
		"--pass 2. What was killed is run again. An index folder on a network's file system is\n"
		"not used: each machine has its own, so that machines cannot share the work.\n"
		"\n"
		"Examples:\n"
		"  $ yore index fixtures/golden/sched-demo\n"
		"  $ yore index fixtures/golden/sched-demo --timelines\n"
		"  $ yore index fixtures/golden/sched-demo --timelines --chunk 1/2 --pass 1\n"
		"  $ yore index fixtures/golden/sched-demo --drop\n",
	.options = OPT_TRACE | OPT_INDEX | OPT_FORMAT | OPT_RULES,
	.run = build_index,
};
