/* cmd_index.c - building, catching up and removing what is stored of a trace */
#include "engine/base/folder.h"
#include "engine/base/inputs.h"
#include "remote/remote.h"
#include "repl/commands/cmds.h"
#include "repl/commands/following.h"
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

static bool write_manifest(struct session *session, struct sink *sink, struct error *err)
{
	const char *folder = session->path;

	if (!inputs_spare(folder, err) || !remote_write_manifest(folder, err))
		return false;
	sink_name(sink, folder);
	sink_text(sink, "/" FOLDER_MANIFEST " names its files\n");
	sink_row(sink);
	return true;
}

/* Do the words go together? */
static bool check_words(const struct options *options, struct error *err)
{
	const char *other = options->list       ? "--list"
			    : options->verify   ? "--verify"
			    : options->prune    ? "--prune"
			    : options->drop     ? "--drop"
			    : options->no_index ? "--no-index: it is there to store"
			    : options->chunk || options->pass || options->join
				    ? "--chunk, --pass and --join, which cut what has ended"
				    : NULL;

	if (options->list + options->verify + options->prune > 1)
		return error_set(err, ERR_QUERY,
				 "index: --list, --verify and --prune are one at a time");
	if (options->manifest && (other || options->follow || options->timelines))
		return error_set(err, ERR_QUERY, "index: --manifest is asked for alone");
	if (options->keep && !options->prune)
		return error_set(err, ERR_QUERY, "index: --keep is of --prune");
	if (options->follow && other)
		return error_set(err, ERR_QUERY, "index: --follow does not go together with %s",
				 other);
	return follow_words(options, err);
}

static bool build_index(struct session *session, const struct options *options, struct sink *sink,
			struct error *err)
{
	uint64_t packets, bytes;

	if (!check_words(options, err))
		return false;
	if (options->list || options->verify || options->prune)
		return index_stored(session, options, sink, err);
	if (options->manifest)
		return write_manifest(session, sink, err);
	if (options->drop)
		return drop(session, err);
	if ((options->chunk || options->pass || options->join) && !options->timelines)
		return error_set(err, ERR_QUERY, "--chunk, --pass and --join are of --timelines");
	session->scan_all = true;
	if (options->follow && !index_follow(session, options, err))
		return false;
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
		"miss. A trace that has changed or grown is indexed anew, unless --follow kept "
		"it;\n"
		"--drop removes what is stored, and decompressed copies that are kept beside it.\n"
		"\n"
		"--follow keeps what is stored up to date while the trace is written, until the\n"
		"recording has ended or Ctrl-C: each step costs what is new, and starting it "
		"again\n"
		"goes on. Other commands use what is there and read the rest, so that their "
		"answers\n"
		"are of the trace as it is then. What is read once (-, FIFOs, sockets) has no "
		"index.\n"
		"Steps begin at least half the --patience apart, when the trace has grown by 16 "
		"MB\n"
		"(a quarter while it is small, a hundredth when it is large) or 30 s have passed.\n"
		"\n"
		"--timelines also stores every change of state that the rules make of the events:\n"
		"at, state, when, longest and diff then answer from there. After an interruption "
		"the\n"
		"next run goes on. Traces with events outside of their packet's time range, or "
		"that\n"
		"come late, get no timelines; a note says so.\n"
		"Threads (--jobs) share the work.\n"
		"So can processes of one machine with one index folder: for each I --chunk I/N\n"
		"--pass 1, all at once; when they are done one --join; then for each I --chunk "
		"I/N\n"
		"--pass 2. What was killed is run again. An index folder on a network's file "
		"system is\n"
		"not used: each machine has its own, so that machines cannot share the work.\n"
		"\n"
		"--manifest writes the list of a folder's files by which 'yore COMMAND "
		"http://HOST/FOLDER/'\n"
		"reads them where they are; see docs/remote.md.\n"
		"\n"
		"Of all traces, without TRACE: --list tells what is stored, how much and when it "
		"was\n"
		"used last; --verify compares it with its checksums, and removes what is damaged\n"
		"(status 3); --prune --keep SIZE removes what was not used for longest until the "
		"rest\n"
		"fits, but nothing that another process writes.\n"
		"\n"
		"Examples:\n"
		"  $ yore index --manifest /tmp/yore-requests\n"
		"  $ yore index --list\n"
		"  $ yore index --prune --keep 5G\n"
		"  $ yore index fixtures/golden/sched-demo\n"
		"  $ yore index fixtures/golden/sched-demo --timelines\n"
		"  $ yore index fixtures/golden/ovni-demo --follow --timelines\n"
		"  $ yore index fixtures/golden/sched-demo --timelines --chunk 1/2 --pass 1\n"
		"  $ yore index fixtures/golden/sched-demo --drop\n",
	.options = OPT_TRACE | OPT_INDEX | OPT_FORMAT | OPT_RULES | OPT_FOLLOW,
	.run = build_index,
};
