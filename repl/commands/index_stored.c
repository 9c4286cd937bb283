/* index_stored.c - `yore index --list`, `--verify` and `--prune`: what is stored of all traces */
#include "engine/base/mem.h"
#include "index/store/store.h"
#include "index/stored_traces.h"
#include "index/tables/location.h"
#include "repl/commands/cmds.h"
#include "repl/render/render.h"

#include <time.h>

/* What is said of each trace. */
struct trace_listing {
	const struct options *options;
	const char *folder;
	uint64_t keep; /* bytes that may stay */
	struct sink *sink;
	struct rows rows;
};

/* UTC, to the minute. */
static void put_used(struct sink *out, int64_t used)
{
	time_t seconds = (time_t)used;
	struct tm parts;
	char text[32];

	gmtime_r(&seconds, &parts);
	strftime(text, sizeof text, "%Y-%m-%dT%H:%MZ", &parts);
	sink_text(out, text);
}

/* `state`: what was found or done, NULL: nothing. */
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

/* From the one that was not used for longest, until all others fit. */
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

bool index_stored(struct session *session, const struct options *options, struct sink *sink,
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
	if (ok && options->format != FORMAT_JSON)
		rows_begin(&listing.rows, sink,
			   options->format == FORMAT_TEXT ? FORMAT_TABLE : options->format,
			   own->list ? plain : judged, own->list ? 5 : 6);
	if (ok && !traces.count)
		notice(&where.notices, NOTICE_INFO, "%s: nothing is stored there", folder);
	if (ok) {
		ok = each(&listing, &traces, &session->status, err);
		if (options->format != FORMAT_JSON)
			rows_finish(&listing.rows);
		stored_traces_release(&traces);
	}
	mem_free(folder);
	return ok;
}
