/* cmd_index.c - building, catching up and removing what is stored of a trace */
#include "engine/base/folder.h"
#include "engine/base/inputs.h"
#include "remote/remote.h"
#include "repl/commands/cmds.h"
#include "repl/commands/following.h"
#include "repl/render/info_losses.h"
#include "state/timelines/exchange.h"

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
	const struct index_choices *own = options->own;
	const char *other = own->list           ? "--list"
			    : own->verify       ? "--verify"
			    : own->prune        ? "--prune"
			    : own->drop         ? "--drop"
			    : options->no_index ? "--no-index: it is there to store"
			    : own->exchange     ? "--exchange, which cuts what has ended"
						: NULL;

	if (own->list + own->verify + own->prune > 1)
		return error_set(err, ERR_QUERY,
				 "index: --list, --verify and --prune are one at a time");
	if (own->manifest && (other || options->follow || own->timelines))
		return error_set(err, ERR_QUERY, "index: --manifest is asked for alone");
	if (own->keep && !own->prune)
		return error_set(err, ERR_QUERY, "index: --keep is of --prune");
	if (own->exchange && !own->timelines)
		return error_set(err, ERR_QUERY, "index: --exchange is of --timelines");
	if (!own->exchange && (own->workers || own->lapse))
		return error_set(err, ERR_QUERY, "index: --workers and --lapse are of --exchange");
	if (options->slurm)
		return error_set(err, ERR_QUERY, "--slurm is of the command line");
	if (options->follow && other)
		return error_set(err, ERR_QUERY, "index: --follow does not go together with %s",
				 other);
	return follow_words(options, err);
}

enum { LAPSE_S = 30, WORTH_SHARDS = 32 << 20 /* bytes of trace: threads do not pay below */ };

static void say_built(const struct options *options, struct sink *sink,
		      const struct timelines_built *built)
{
	if (built->disorderly)
		sink_printf(sink, "%s\n",
			    options->format == FORMAT_JSON ? "{\"timelines\":null}"
							   : "no timelines: events come late, or "
							     "lie outside of what their packets "
							     "claim; questions read the trace");
	else if (options->format == FORMAT_JSON)
		sink_printf(sink,
			    "{\"timelines\":{\"changes\":%llu,\"slices\":%u,\"bytes\":%llu}}\n",
			    (unsigned long long)built->changes, built->slices,
			    (unsigned long long)built->bytes);
	else
		sink_printf(sink, "%llu change%s of state in %u slice%s, %llu bytes\n",
			    (unsigned long long)built->changes, built->changes == 1 ? "" : "s",
			    built->slices, built->slices == 1 ? "" : "s",
			    (unsigned long long)built->bytes);
	sink_row(sink);
}

static struct exchange_options exchange_options(const struct options *options)
{
	const struct index_choices *own = options->own;

	return (struct exchange_options){
		.dir = own->exchange,
		.workers = own->workers ? (uint32_t)own->workers : options_threads(options),
		.lapse = (own->lapse ? (unsigned)own->lapse : LAPSE_S) * 1000,
		.goes_on = signals_go_on};
}

static unsigned threads_of(const struct options *options, const struct trace *trace)
{
	return trace_bytes(trace) < WORTH_SHARDS ? 1 : options_threads(options);
}

/* The build has found them. */
static bool say_contradictions(struct session *session, struct state *state, struct error *err)
{
	const struct trace *trace = session->trace;
	struct contradicted found;
	uint64_t count = 0;

	for (size_t i = 0; i < trace->nstreams; i++, count += found.count)
		if (!contradicted_find(state, trace->streams[i], &found, err))
			return false;
	if (count)
		session_note(session,
			     "events contradict each other at %llu place%s, where some must be "
			     "missing: 'yore check %s' says where",
			     (unsigned long long)count, count == 1 ? "" : "s", session->path);
	return true;
}

/* `index --timelines`: whole, by threads, or with other processes */
static bool make_timelines(struct session *session, const struct options *options,
			   const struct exchange_options *exchange, struct sink *sink,
			   struct error *err)
{
	struct state *state = session_state(session, err);
	struct timelines_built built;

	if (!state)
		return false;
	if (!(exchange->dir
		      ? exchange_build(state, exchange, &built, err)
		      : timelines_build(state, threads_of(options, session->trace), &built, err)))
		return false;
	say_built(options, sink, &built);
	/* a process that evaluated some parts would have to read all others to say it */
	return exchange->dir || say_contradictions(session, state, err);
}

static bool build_index(struct session *session, const struct options *options, struct sink *sink,
			struct error *err)
{
	const struct exchange_options exchange = exchange_options(options);
	const struct index_choices *own = options->own;
	uint64_t packets, bytes;

	if (!check_words(options, err))
		return false;
	if (own->list || own->verify || own->prune)
		return index_stored(session, options, sink, err);
	if (own->manifest)
		return write_manifest(session, sink, err);
	if (own->drop)
		return drop(session, err);
	session->scan_all = true;
	if (options->follow && !index_follow(session, options, err))
		return false;
	struct index *index = session_index(session, err);
	if (!index || (own->exchange && !exchange_records(index, &exchange, err)) ||
	    !index_build(index, err) || !totals(session, &packets, &bytes, err) ||
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
	return !own->timelines || make_timelines(session, options, &exchange, sink, err);
}

enum { WORKERS_MOST = SHARDS_MAX / EXCHANGE_SHARDS, LAPSE_MOST = 86400 };

#define OWN(member) offsetof(struct index_choices, member)

static const struct option own_options[] = {
	/* clang-format off */
	{{"--drop", NULL, "remove what is stored", 0}, TAKE_FLAG, .at = OWN(drop)},
	{{"--timelines", NULL, "also store every state change", 0}, TAKE_FLAG, .at = OWN(timelines)},
	{{"--exchange", "DIR", "with --timelines: share the work with others through this folder", 0}, TAKE_TEXT, .at = OWN(exchange)},
	{{"--workers", "N", "with --exchange: cut for so many processes (default: processors)", 0}, TAKE_NUMBER, .at = OWN(workers), .most = WORKERS_MOST},
	{{"--lapse", "SECONDS", "with --exchange: when a silent process is taken for dead (30)", 0}, TAKE_NUMBER, .at = OWN(lapse), .most = LAPSE_MOST},
	{{"--manifest", NULL, "write yore-manifest.json into the folder TRACE, by which it is read over HTTP", 0}, TAKE_FLAG, .at = OWN(manifest)},
	{{"--list", NULL, "what is stored of all traces", 0}, TAKE_FLAG, .at = OWN(list), .no_trace = true},
	{{"--verify", NULL, "compare all that is stored with its checksums", 0}, TAKE_FLAG, .at = OWN(verify), .no_trace = true},
	{{"--prune", NULL, "remove what was not used for longest, but so much: --keep", 0}, TAKE_FLAG, .at = OWN(prune), .no_trace = true},
	{{"--keep", "SIZE", "with --prune: 500M, 5G (default: YORE_INDEX_KEEP)", 0}, TAKE_SIZE, .at = OWN(keep)},
	{.info.name = NULL},
}; /* clang-format on */

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
		"So can any number of processes, on machines that have the trace or a copy of it: "
		"each\n"
		"runs the same command with --exchange DIR, a folder on any file system, and has "
		"an "
		"index\n"
		"folder of its own. They may be started and killed at any time; each works until "
		"all is\n"
		"done, and then has all of it in its own index.\n"
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
		"  $ yore index fixtures/golden/sched-demo --timelines --exchange "
		"/tmp/yore-exchange\n"
		"  $ yore index fixtures/golden/sched-demo --drop\n",
	.options = OPT_TRACE | OPT_FORMAT | OPT_RULES | OPT_FOLLOW | OPT_SLURM,
	.own = own_options,
	.own_bytes = sizeof(struct index_choices),
	.run = build_index,
};
