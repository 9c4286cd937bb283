/*
 * catalog.c - see catalog.h; values are those of `info`, NULL if they are not known
 */
#include "repl/commands/catalog.h"

#include "engine/base/mem.h"
#include "engine/base/quote.h"
#include "engine/find_traces.h"
#include "index/sweep/sweep.h"
#include "index/tables/identity.h"
#include "repl/commands/info.h"
#include "sql/sql.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

const struct sql_column catalog_columns[CATALOG_COLUMNS] = {
	[CATALOG_AT_PATH] = {CATALOG_PATH, "TEXT"},
	[CATALOG_FORMAT] = {"format", "TEXT"},
	[CATALOG_VERSION] = {"version", "TEXT"},
	[CATALOG_HOST] = {"host", "TEXT"},
	[CATALOG_IDENTITY] = {"identity", "TEXT"},
	[CATALOG_UUID] = {"uuid", "TEXT"},
	[CATALOG_CLOCK] = {"clock", "TEXT"},
	[CATALOG_CLOCK_OFFSET] = {"clock_offset", "INTEGER"},
	[CATALOG_BEGIN] = {"begin", "INTEGER"},
	[CATALOG_END] = {"end", "INTEGER"},
	[CATALOG_DURATION] = {"duration", "INTEGER"},
	[CATALOG_EVENTS] = {"events", "INTEGER"},
	[CATALOG_BYTES] = {"bytes", "INTEGER"},
	[CATALOG_STREAMS] = {"streams", "INTEGER"},
	[CATALOG_PACKETS] = {"packets", "INTEGER"},
	[CATALOG_LOST] = {"lost", "INTEGER"},
	[CATALOG_DAMAGED] = {"damaged", "INTEGER"},
	[CATALOG_CAN] = {"can", "TEXT"},
	[CATALOG_INDEX_BYTES] = {"index_bytes", "INTEGER"},
	[CATALOG_TIMELINES_BYTES] = {"timelines_bytes", "INTEGER"},
	[CATALOG_ERROR] = {"error", "TEXT"},
};

static struct sql_value count_value(uint64_t count)
{
	return sql_number_value(count > INT64_MAX ? INT64_MAX : (int64_t)count);
}

/* A text copied into the session's arena; SQL's NULL for "" and NULL. */
static struct sql_value text(struct session *session, const char *words)
{
	if (!words || !*words)
		return (struct sql_value){.kind = SQL_NULL};
	return sql_text_value(arena_strdup(session->arena, words));
}

/* Counting */

static void *count_begin(void *arg)
{
	(void)arg;
	return mem_new(sizeof(uint64_t));
}

static bool count_run(void *own, const struct sweep_run *run, struct error *err)
{
	(void)err;
	*(uint64_t *)own += run->run.count;
	return true;
}

static void count_end(void *arg, void *own, bool good)
{
	if (good)
		*(uint64_t *)arg += *(uint64_t *)own;
	mem_free(own);
}

/* The number of events; NULL if packets do not say it and the trace is not read for it. */
static bool find_events(struct session *session, bool count, struct sql_value *out,
			struct error *err)
{
	const struct events_options all = {.begin = NSTIME_MIN, .end = NSTIME_MAX};
	uint64_t events = 0;
	const struct sweep work = {.events = &all,
				   .arg = &events,
				   .begin = count_begin,
				   .run = count_run,
				   .end = count_end};

	*out = (struct sql_value){.kind = SQL_NULL};
	if (events_counted(session->index, &events)) {
		*out = count_value(events);
		return true;
	}
	events = 0;
	if (!count)
		return true;
	if (!sweep(session->index, &work, err))
		return false;
	*out = count_value(events);
	return true;
}

static bool find_capabilities(struct session *session, struct sql_value *out, struct error *err)
{
	struct capabilities can = {0};
	struct buf paths = {0};
	bool ok = capabilities_find(session, &can, err);

	for (size_t i = 0; ok && i < can.count; i++)
		if (can.items[i].known)
			buf_printf(&paths, "%s%s", paths.len ? " " : "", can.items[i].path);
	*out = sql_text_value(arena_strdup(session->arena, buf_text(&paths)));
	capabilities_release(&can);
	buf_release(&paths);
	return ok;
}

static void describe_part(struct session *session, struct sql_value *values)
{
	const struct trace *trace = session->trace;
	const struct part *part = trace->nparts ? trace->parts[0] : NULL;
	char name[IDENTITY_NAME], uuid[UUID_TEXT];

	identity_name(trace, name);
	values[CATALOG_AT_PATH] = text(session, session->path);
	values[CATALOG_FORMAT] = text(session, part ? part->reader->format : NULL);
	values[CATALOG_VERSION] = text(session, part ? part->version : NULL);
	values[CATALOG_HOST] = text(session, trace_host(trace));
	values[CATALOG_IDENTITY] = text(session, name);
	values[CATALOG_UUID] =
		text(session, part && part->has_uuid ? uuid_put(part->uuid, uuid) : NULL);
	values[CATALOG_CLOCK] = text(session, trace_has_ordinals(trace) ? "none"
					      : trace_has_epoch(trace)  ? "utc"
									: "own");
	values[CATALOG_CLOCK_OFFSET] = sql_number_value(trace_clock_offset(trace));
	values[CATALOG_BYTES] = count_value(trace_bytes(trace));
	values[CATALOG_STREAMS] = count_value(trace->nstreams);
}

static void describe_info(const struct info *info, struct sql_value *values)
{
	uint64_t packets = 0;

	for (size_t i = 0; i < info->trace->nstreams; i++)
		packets += info->streams[i].packets;
	values[CATALOG_PACKETS] = count_value(packets);
	values[CATALOG_LOST] = count_value(info_lost(info));
	values[CATALOG_BEGIN] = values[CATALOG_END] = values[CATALOG_DURATION] =
		(struct sql_value){.kind = SQL_NULL};
	if (info->begin == NSTIME_MIN)
		return;
	values[CATALOG_BEGIN] = sql_number_value(info->begin);
	values[CATALOG_END] = sql_number_value(info->end);
	values[CATALOG_DURATION] = count_value(time_span(info->begin, info->end));
}

bool catalog_describe(struct session *session, bool count, struct sql_value *values,
		      struct error *err)
{
	struct info info = {.session = session};

	info.index = session_index(session, err);
	info.trace = session->trace;
	bool ok = info.index && info_gather(&info, err) &&
		  find_events(session, count, &values[CATALOG_EVENTS], err) &&
		  find_capabilities(session, &values[CATALOG_CAN], err);
	if (ok) {
		describe_part(session, values);
		describe_info(&info, values);
		values[CATALOG_DAMAGED] = count_value(catalog_damaged(session));
	}
	info_release(&info);
	return ok;
}

/* Which traces */

/* Does the file begin as all of SQLite's do? */
static bool is_catalog(const char *path)
{
	static const char magic[] = "SQLite format 3";
	char head[sizeof magic] = {0};
	struct error ignored;
	uint64_t size;

	if (!file_is_regular(path, &size, &ignored))
		return false;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	bool is = fd >= 0 && file_get(fd, head, sizeof head, 0) == sizeof head &&
		  !memcmp(head, magic, sizeof magic);
	if (fd >= 0)
		close(fd);
	return is;
}

static bool add_paths(struct sql_statement *statement, struct folder_names *out, struct error *err)
{
	struct sql_value value;
	enum step step;

	while ((step = sql_step(statement, err)) == STEP_ITEM) {
		struct buf path = {0};

		sql_column(statement, 0, &value);
		if (value.kind != SQL_TEXT || !value.len)
			continue;
		buf_add(&path, value.bytes, value.len);
		*mem_push(out->items, out->count, out->capacity) = path.data;
	}
	return step == STEP_END;
}

/* Adds the paths in a catalog, in its order. */
static bool read_catalog(const char *path, struct folder_names *out, struct error *err)
{
	static const char query[] = "SELECT " CATALOG_PATH " FROM " CATALOG_TABLE " ORDER BY rowid";
	struct sql_statement *statement = NULL;
	struct sql *sql;
	const char *rest;

	if (!sql_open_file(path, &sql, err))
		return error_while(err, "%s", path);
	bool ok = sql_prepare(sql, query, &rest, &statement, err) && add_paths(statement, out, err);
	sql_finish(statement);
	sql_close(sql);
	return ok ||
	       error_while(err, "%s: it is no catalog ('yore catalog DIR --to FILE' makes one)",
			   path);
}

bool catalog_traces(const char *word, struct folder_names *out, struct error *err)
{
	const struct find_alive alive = {.alive = signals_go_on};

	return is_catalog(word) ? read_catalog(word, out, err)
				: find_traces(word, &alive, out, err);
}

bool catalog_check(const struct session *session, const char *what, struct error *err)
{
	const struct options *options = session->options;

	if (session->prompt)
		return error_set(err, ERR_QUERY,
				 "%s: it starts a process for each trace, which the prompt cannot: "
				 "run it from a shell",
				 what);
	if (options->with.count || options->offsets.count)
		return error_set(err, ERR_QUERY, "%s: %s is of one trace", what,
				 options->with.count ? "--with" : "--offset");
	return true;
}

uint64_t catalog_damaged(const struct session *session)
{
	uint64_t told = session->damaged;
	uint64_t met = session->trace ? atomic_load(&session->trace->damaged) : 0;

	return told > met ? told : met;
}
