/* cmd_index.c - builds, updates and removes a trace's stored index and timelines */
#include "engine/base/folder.h"
#include "engine/base/inputs.h"
#include "engine/base/mem.h"
#include "index/store/store.h"
#include "index/stored_traces.h"
#include "index/tables/location.h"
#include "remote/remote.h"
#include "repl/commands/cmds.h"
#include "repl/commands/following.h"
#include "repl/progress.h"
#include "repl/render/info_losses.h"
#include "repl/render/render.h"
#include "state/state.h"
#include "state/timelines/exchange.h"
#include "state/timelines/timelines.h"

#include <string.h>
#include <time.h>

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

/* Do the options go together? */
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

enum { LAPSE_S = 30, WORTH_SHARDS = 32 << 20 /* bytes of trace from which on threads pay off */ };

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

/* Notes the contradictions that the build has found. */
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

/* `index --timelines`: builds timelines, on threads or together with other processes. */
static bool make_timelines(struct session *session, const struct options *options,
			   const struct exchange_options *exchange, struct sink *sink,
			   struct error *err)
{
	struct state *state = session_state(session, err);
	unsigned threads = threads_of(options, session->trace);
	struct timelines_built built;

	if (!state)
		return false;
	signals_at_once(exchange->dir ? 1 : threads); /* each thread has a state of its own */
	if (!(exchange->dir
		      ? exchange_build(state, exchange, &built, err)
		      : timelines_build(state, threads, &built, err)))
		return false;
	say_built(options, sink, &built);
	/* with --exchange, this process has evaluated some parts only */
	return exchange->dir || say_contradictions(session, state, err);
}

/*
 * --follow: keeps the stored index and timelines of a growing trace up to date
 *
 *     step ── store final packets ── store slices of the final state ── rest ── step ── ...
 *
 * A step reads what is new since the last one, and about a megabyte behind the last full slice.
 * Commands read the part that is not stored yet themselves, 16 MB in a tenth of a second. So a step
 * comes when the trace has grown by 16 MB, or by a hundredth if that is more; for small traces, by
 * a quarter. A rest takes at least half the patience, and at most STEP_MOST.
 */

#define STEP_MOST INT64_C(30000000000) /* ns, from one step to the next */
enum { WORTH = 16 << 20, SHARE = 100, SHARE_SMALL = 4 };

struct keeping {
	struct session *session;
	bool timelines; /* build timelines, too */
	int64_t patience;
	char *path;         /* of the index in the last step; NULL: there was none */
	nstime until;       /* timelines have read up to here; all before is final */
	nstime kept;        /* timelines are stored up to here */
	int64_t lag;        /* ns that timelines stay behind the newest event, for late events */
	uint64_t anew_from; /* size of the trace from which on timelines may be rebuilt */
	uint64_t bytes;     /* size of the trace in the last step, */
	int64_t at;         /* and its time; 0: this is the first step */
	struct tombstones_known *known; /* tombstones in the stored timelines */
	bool disorderly;                /* events outside of their packets: no timelines */
	bool told_busy, told_later;
};

/* Raises the lag to twice that of events which came late for the stored timelines. */
static void note_late(struct keeping *own, const struct follow_news *news)
{
	for (size_t i = 0; i < news->nlate; i++) {
		nstime begin = news->late[i].begin;
		int64_t lag;

		if (begin >= own->kept || __builtin_sub_overflow(own->kept, begin, &lag) ||
		    __builtin_mul_overflow(lag, 2, &lag))
			continue;
		own->lag = lag > own->lag ? lag : own->lag;
	}
}

/* Follows the index to another path, which it gets when a first stream or metadata appears. */
static bool move_path(struct keeping *own, const char *path, struct error *err)
{
	bool ok = true;

	if (own->path && path && strcmp(own->path, path) != 0)
		ok = timelines_remove(own->path, err);
	if (path && (!own->path || strcmp(own->path, path) != 0)) {
		mem_free(own->path);
		own->path = mem_strdup(path);
	}
	return ok;
}

/* Sets *out to the time before which the state is final: no event to come can change it. */
static bool find_settled(struct keeping *own, struct state *state, struct follow *follow,
			 const struct follow_news *news, nstime least, nstime *out,
			 struct error *err)
{
	nstime reached, told, end = news->end;

	follow_reached(follow, &reached, &told);
	if (own->lag && reached != NSTIME_MIN &&
	    (__builtin_sub_overflow(reached, own->lag, &reached) || reached < end))
		end = reached;
	*out = least;
	return end <= least || state_settled(state, least, end, out, err);
}

/*
 * The stored timelines are no longer valid: may they be rebuilt? That reads the whole trace, so
 * after each time the trace must double before the next.
 */
static bool may_begin_anew(struct keeping *own)
{
	uint64_t bytes = trace_bytes(own->session->trace);
	bool may = bytes <= WORTH || bytes >= own->anew_from;

	own->kept = own->until = NSTIME_MIN;
	if (!may)
		return false;
	own->anew_from = 2 * bytes;
	session_note(own->session, "events came late, streams turned up or files went: timelines "
				   "are made anew");
	return true;
}

static bool keep_timelines(struct keeping *own, struct follow *follow,
			   const struct follow_news *news, struct error *err)
{
	struct session *session = own->session;
	struct timelines_built built;
	struct error ignored; /* the first event is not there yet */
	struct state *state;
	nstime until, least;
	bool begun, anew;

	if (own->disorderly || session->trace->lacks ||
	    !follow_has_begun(session, own->kept, news->end, &begun, &ignored) || !begun)
		return true;
	state = session_state(session, err);
	if (!state)
		return false;
	least = timelines_stored_until(state, &anew);
	if (anew && !may_begin_anew(own))
		return true;
	if (!find_settled(own, state, follow, news, least, &until, err))
		return false;
	if (until <= own->until)
		return true;
	if (!timelines_go_on(state, until, own->known, &built, &own->kept, &anew, err))
		return false;
	own->until = until;
	own->disorderly = built.disorderly;
	if (built.disorderly)
		session_note(session, "events come late, or lie outside of what their packets "
				      "claim: there are no timelines, questions read the trace");
	return true;
}

/* By how many bytes the trace should grow until the next step. */
static uint64_t worth_of(uint64_t bytes)
{
	uint64_t worth = bytes / SHARE_SMALL < WORTH ? bytes / SHARE_SMALL : WORTH;

	return bytes / SHARE > worth ? bytes / SHARE : worth;
}

/* How long to rest, in ns: until the trace has grown by worth_of(), at its last rate. */
static int64_t rest_of(struct keeping *own)
{
	uint64_t bytes = trace_bytes(own->session->trace), worth = worth_of(bytes);
	int64_t now = watch_now(), least = own->patience / 2, rest = least;

	if (own->at && bytes > own->bytes) {
		double took = (double)(now - own->at), grown = (double)(bytes - own->bytes);
		double ns = took * (double)worth / grown;

		rest = ns < (double)STEP_MOST ? (int64_t)ns : STEP_MOST;
	}
	own->at = now;
	own->bytes = bytes;
	return rest > least ? rest : least;
}

static void show_progress(const struct keeping *own)
{
	struct session *session = own->session;
	struct buf text = {0};

	buf_printf(&text, "following: %llu MB", (unsigned long long)(own->bytes >> 20));
	if (own->kept > NSTIME_MIN) {
		buf_add_text(&text, ", timelines up to ");
		session_add_time(session, own->kept, &text);
	}
	progress_text(session->progress, buf_text(&text));
	buf_release(&text);
}

/* One step. *busy: another process writes the index, so that this one has to wait. */
static bool keep_stored(struct keeping *own, struct follow *follow, const struct follow_news *news,
			bool *busy, struct error *err)
{
	struct index *index = session_index(own->session, err);
	bool can;

	if (!index || !move_path(own, index_path(index), err) || !index_keep(index, busy, err))
		return false;
	if (*busy) {
		tombstones_known_free(own->known);
		own->known = tombstones_known_new();
		return true;
	}
	can = index_can_keep(index);
	if (!can && !own->told_later)
		session_note(own->session,
			     "streams lie among one another in one file: what is stored of them "
			     "comes when the recording has ended");
	own->told_later |= !can;
	return !can || !own->timelines || keep_timelines(own, follow, news, err);
}

/* A follow_more. */
static bool cmd_index_more(void *arg, struct follow *follow, const struct follow_news *news,
			   bool *done, struct error *err)
{
	struct keeping *own = arg;
	bool busy;

	(void)done;
	if (news->ended) {
		own->session->steps = false;
		progress_clear(own->session->progress);
		return true;
	}
	note_late(own, news);
	if (!keep_stored(own, follow, news, &busy, err))
		return false;
	if (busy && !own->told_busy)
		session_note(own->session,
			     "another process writes what is stored: it is waited for");
	own->told_busy |= busy;
	follow_has_shown(follow, busy || own->told_later ? NSTIME_MIN
				 : own->timelines        ? own->kept
							 : news->end);
	follow_pace(follow, rest_of(own));
	own->session->steps = true; /* only the first step shows its progress */
	show_progress(own);
	return true;
}

static bool index_follow(struct session *session, const struct options *options, struct error *err)
{
	const struct index_choices *choices = options->own;
	struct keeping own = {.session = session,
			      .timelines = choices->timelines,
			      .until = NSTIME_MIN,
			      .kept = NSTIME_MIN};
	bool ok;

	if (session_reads_once(session))
		return error_set(err, ERR_QUERY,
				 "index: what comes from %s can be read once, and has no index: "
				 "--follow of events, state and other commands reads it",
				 strcmp(session->path, "-") ? session->path : "standard input");
	session->keeps = true;
	own.known = tombstones_known_new();
	ok = follow_patience(options, &own.patience, err) &&
	     follow_run(session, options, -1, cmd_index_more, &own, err);
	tombstones_known_free(own.known);
	mem_free(own.path);
	session->follows = false; /* from now on, the trace is opened as one that has ended */
	return ok;
}

/* --list, --verify and --prune: the stored indices and timelines of all traces */

/* Writes a row for each trace. */
struct trace_listing {
	const struct options *options;
	const char *folder;
	uint64_t keep; /* bytes that --prune may leave */
	struct sink *sink;
	struct rows rows;
};

/* Writes the time of the last use in UTC, to the minute. */
static void put_used(struct sink *out, int64_t used)
{
	time_t seconds = (time_t)used;
	struct tm parts;
	char text[32];

	gmtime_r(&seconds, &parts);
	strftime(text, sizeof text, "%Y-%m-%dT%H:%MZ", &parts);
	sink_text(out, text);
}

/* Writes a trace's row. `state`: what was found or done, NULL: nothing. */
static bool put_trace(struct trace_listing *listing, const struct stored_trace *trace,
		      const char *state)
{
	struct rows *rows = &listing->rows;
	struct sink *sink = listing->sink, *cell;

	if (listing->options->format != FORMAT_JSON) {
		sink_u64(rows_cell(rows), trace->bytes);
		sink_u64(rows_cell(rows), trace->timelines);
		put_used(rows_cell(rows), trace->used);
		if (state)
			rows_text(rows, state);
		rows_text(rows, trace->name);
		cell = rows_cell(rows);
		sink_text(cell, trace->path ? trace->path : "-");
		sink_text(cell, trace->grows ? " (grows)" : "");
		return rows_end(rows);
	}
	json_member_text(sink, "{\"name\":", trace->name);
	json_member_text(sink, ",\"path\":", trace->path);
	json_member_text(sink, ",\"half_done\":", trace->half);
	sink_printf(sink, ",\"grows\":%s", trace->grows ? "true" : "false");
	sink_printf(sink, ",\"bytes\":%llu,\"timelines\":%llu,\"used\":\"",
		    (unsigned long long)trace->bytes, (unsigned long long)trace->timelines);
	put_used(sink, trace->used);
	sink_char(sink, '"');
	if (state)
		json_member_text(sink, ",\"state\":", state);
	sink_text(sink, "}\n");
	return sink_row(sink);
}

static bool verify(struct trace_listing *listing, const struct stored_trace *trace, bool *open,
		   int *status, struct error *err)
{
	bool sound;

	if (!stored_trace_verify(listing->folder, trace, &sound, err))
		return false;
	if (!sound)
		*status = 3;
	*open = put_trace(listing, trace, sound ? "sound" : "damaged, removed");
	return true;
}

/* Removes stored data, least recently used trace first, until the rest fits into `keep`. */
static bool prune(struct trace_listing *listing, const struct stored_traces *traces,
		  struct error *err)
{
	uint64_t sum = 0;
	bool in_use, open = true;

	for (size_t i = 0; i < traces->count; i++)
		sum += traces->items[i].bytes;
	for (size_t i = traces->count; i-- > 0 && open && sum > listing->keep;) {
		const struct stored_trace *trace = &traces->items[i];

		if (!stored_trace_remove(listing->folder, trace, &in_use, err))
			return false;
		sum -= in_use ? 0 : trace->bytes;
		open = put_trace(listing, trace, in_use ? "in use" : "removed");
	}
	return true;
}

static bool each(struct trace_listing *listing, const struct stored_traces *traces, int *status,
		 struct error *err)
{
	const struct index_choices *own = listing->options->own;
	bool open = true, ok = true;

	if (own->prune)
		return prune(listing, traces, err);
	for (size_t i = 0; i < traces->count && open && ok; i++)
		if (own->verify)
			ok = verify(listing, &traces->items[i], &open, status, err);
		else
			open = put_trace(listing, &traces->items[i], NULL);
	return ok;
}

static bool index_stored(struct session *session, const struct options *options, struct sink *sink,
			 struct error *err)
{
	const struct index_choices *own = options->own;
	static const struct table_column plain[] = {{"bytes", true},
						    {"timelines", true},
						    {"used", false},
						    {"name", false},
						    {"trace", false}};
	static const struct table_column judged[] = {{"bytes", true}, {"timelines", true},
						     {"used", false}, {"state", false},
						     {"name", false}, {"trace", false}};
	struct index_options where = session_index_options(session);
	struct stored_traces traces;
	struct trace_listing listing = {.options = options, .sink = sink};
	bool ok;

	listing.keep = own->keep;
	if (own->prune && !own->keep && !options_keep(&listing.keep, err))
		return false;
	char *folder = index_folder(&where);
	if (!folder)
		return error_set(err, ERR_IO, "index: there is no folder of indexes");
	listing.folder = folder;
	ok = (own->list || store_sweep(folder, err)) &&
	     stored_traces_list(folder, &traces, err);
	if (ok)
		rows_begin(&listing.rows, sink,
			   options->format == FORMAT_TEXT ? FORMAT_TABLE : options->format,
			   own->list ? plain : judged, own->list ? 5 : 6);
	if (ok && !traces.count)
		notice(&where.notices, NOTICE_INFO, "%s: nothing is stored there", folder);
	if (ok) {
		ok = each(&listing, &traces, &session->status, err);
		rows_finish(&listing.rows);
		stored_traces_release(&traces);
	}
	mem_free(folder);
	return ok;
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
};

const struct cmd cmd_index = {
	.name = "index",
	.args = "",
	.summary = "builds or catches up the packet index",
	.help = "Reads the header of every packet and stores when it begins and ends, so that later\n"
		"questions find their packets at once. Nothing needs it: questions build what they\n"
		"miss. A trace that has changed or grown is indexed anew, unless --follow kept it;\n"
		"--drop removes what is stored, and decompressed copies that are kept beside it.\n"
		"\n"
		"--follow keeps what is stored up to date while the trace is written, until the\n"
		"recording has ended or Ctrl-C: each step costs what is new, and starting it again\n"
		"goes on. Other commands use what is there and read the rest, so that their answers\n"
		"are of the trace as it is then. What is read once (-, FIFOs, sockets) has no index.\n"
		"Steps begin at least half the --patience apart, when the trace has grown by 16 MB\n"
		"(a quarter while it is small, a hundredth when it is large) or 30 s have passed.\n"
		"\n"
		"--timelines also stores every change of state that the rules make of the events:\n"
		"at, state, when, longest and diff then answer from there. After an interruption the\n"
		"next run goes on. Traces with events outside of their packet's time range, or that\n"
		"come late, get no timelines; a note says so.\n"
		"Threads (--jobs) share the work.\n"
		"So can any number of processes, on machines that have the trace or a copy of it: each\n"
		"runs the same command with --exchange DIR, a folder on any file system, and has an index\n"
		"folder of its own. They may be started and killed at any time; each works until all is\n"
		"done, and then has all of it in its own index.\n"
		"\n"
		"--manifest writes the list of a folder's files by which 'yore COMMAND http://HOST/FOLDER/'\n"
		"reads them where they are; see docs/remote.md.\n"
		"\n"
		"Of all traces, without TRACE: --list tells what is stored, how much and when it was\n"
		"used last; --verify compares it with its checksums, and removes what is damaged\n"
		"(status 3); --prune --keep SIZE removes what was not used for longest until the rest\n"
		"fits, but nothing that another process writes.\n"
		"\n"
		"Examples:\n"
		"  $ yore index --manifest /tmp/yore-requests\n"
		"  $ yore index --list\n"
		"  $ yore index --prune --keep 5G\n"
		"  $ yore index fixtures/golden/sched-demo\n"
		"  $ yore index fixtures/golden/sched-demo --timelines\n"
		"  $ yore index fixtures/golden/ovni-demo --follow --timelines\n"
		"  $ yore index fixtures/golden/sched-demo --timelines --exchange /tmp/yore-exchange\n"
		"  $ yore index fixtures/golden/sched-demo --drop\n",
	.options = OPT_TRACE | OPT_FORMAT | OPT_RULES | OPT_FOLLOW | OPT_SLURM,
	.own = own_options,
	.own_bytes = sizeof(struct index_choices),
	.run = build_index,
}; /* clang-format on */
