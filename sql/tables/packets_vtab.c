/*
 * packets_vtab.c - the table `packets`: the records of the index, in order of begin per stream
 *
 *     packets(stream, number, first, last, cpu, bytes, events, lost, seq, flags, at_file,
 * at_offset)
 *
 * `first` and `last` are the times of the first and the last event as the record has them; `lost`
 * and `seq` are the tracer's counters. Pushed down, a letter of idxStr each:
 *
 *     stream = ?  IN  GLOB  LIKE       selects tables of records
 *     first = < <= > >= ?              found by bisection
 *     last  >= > ?                     found by bisection, minus the reach of long packets
 *
 * Only records are read, in place, and no packet.
 */
#include "sql/sql_internal.h"

#include "engine/base/bitset.h"
#include "engine/base/mem.h"

#include <string.h>

enum {
	AT_STREAM,
	AT_NUMBER,
	AT_FIRST,
	AT_LAST,
	AT_CPU,
	AT_BYTES,
	AT_EVENTS,
	AT_LOST,
	AT_SEQ,
	AT_FLAGS,
	AT_FILE,
	AT_OFFSET,
	AT_TRACE
};

static const char declaration[] =
	"CREATE TABLE x(stream TEXT, number INTEGER, first INTEGER, last INTEGER, cpu INTEGER, "
	"bytes INTEGER, events INTEGER, lost INTEGER, seq INTEGER, flags TEXT, at_file TEXT, "
	"at_offset INTEGER, trace TEXT HIDDEN, PRIMARY KEY(stream, number)) WITHOUT ROWID";

struct packets_cursor {
	sqlite3_vtab_cursor base;
	struct sql_host *host;
	uint64_t *streams; /* bits */
	size_t next;       /* the next stream to try */
	int64_t first_low, first_high, last_low;
	size_t stream; /* the stream of `table` */
	struct table *table;
	uint64_t at, count;
	struct packet_info info;
	bool done;
};

static int connect(sqlite3 *db, void *aux, int argc, const char *const *argv, sqlite3_vtab **out,
		   char **message)
{
	int rest, code;
	struct sql_table *table =
		sql_table_begin(db, aux, argc, argv, sizeof *table, &rest, &code, message);

	if (!table)
		return code;
	*out = &table->base;
	return sqlite3_declare_vtab(db, declaration);
}

/* ---- planning ---- */

static const struct sql_term terms[] = {
	{'t', AT_TRACE, SQLITE_INDEX_CONSTRAINT_EQ, NULL, .always = true},
	{'s', AT_STREAM, SQLITE_INDEX_CONSTRAINT_EQ, "stream=?", .inexact = true},
	{'g', AT_STREAM, SQLITE_INDEX_CONSTRAINT_GLOB, "stream GLOB ?", .inexact = true},
	{'l', AT_STREAM, SQLITE_INDEX_CONSTRAINT_LIKE, "stream LIKE ?", .inexact = true},
	{'=', AT_FIRST, SQLITE_INDEX_CONSTRAINT_EQ, .words = "first=?"},
	{'<', AT_FIRST, SQLITE_INDEX_CONSTRAINT_LT, .words = "first<?"},
	{'{', AT_FIRST, SQLITE_INDEX_CONSTRAINT_LE, .words = "first<=?"},
	{'>', AT_FIRST, SQLITE_INDEX_CONSTRAINT_GT, .words = "first>?"},
	{'}', AT_FIRST, SQLITE_INDEX_CONSTRAINT_GE, .words = "first>=?"},
	{')', AT_LAST, SQLITE_INDEX_CONSTRAINT_GT, "last>?", .inexact = true},
	{']', AT_LAST, SQLITE_INDEX_CONSTRAINT_GE, "last>=?", .inexact = true},
	{.letter = 0}};

static int best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
	struct sql_table *table = (struct sql_table *)base;
	bool path = table->host, pushdown = !path || table->host->pushdown;
	struct sql_taken taken = {0};

	sql_note_texts(table, info, declaration);
	info->estimatedCost = 1e6;
	for (int i = 0; i < info->nConstraint; i++) {
		const struct sql_term *term =
			sql_term_of(terms, info->aConstraint[i].iColumn, info->aConstraint[i].op);
		if (!term || !info->aConstraint[i].usable || !(term->always || pushdown))
			continue;
		if (term->letter == 's' && strcmp(sqlite3_vtab_collation(info, i), "BINARY") != 0)
			continue;
		sql_take_term(info, i, term, &taken);
		path |= term->letter == 't';
		info->estimatedCost /= 10;
	}
	info->estimatedRows = (sqlite3_int64)info->estimatedCost;
	sql_taken_end(info, &taken, "all packets");
	return path ? SQLITE_OK : sql_table_untold(table, info, AT_TRACE, SQL_NEEDS_PATH);
}

/* ---- a scan ---- */

static int open_cursor(sqlite3_vtab *base, sqlite3_vtab_cursor **out)
{
	struct packets_cursor *cursor = mem_new(sizeof *cursor);

	(void)base;
	*out = &cursor->base;
	return SQLITE_OK;
}

static int close_cursor(sqlite3_vtab_cursor *base)
{
	mem_free(((struct packets_cursor *)base)->streams);
	mem_free(base);
	return SQLITE_OK;
}

static int fail(struct packets_cursor *cursor, const struct error *err)
{
	cursor->done = true;
	return sql_table_fail((struct sql_table *)cursor->base.pVtab, err);
}

/* Finds the first record of the stream that may meet the constraints. */
static bool begin_stream(struct packets_cursor *cursor, struct error *err)
{
	const struct trace *trace = cursor->host->trace;
	uint64_t by_last = 0;
	size_t nwide;

	if (!index_table(cursor->host->index, trace->streams[cursor->stream], &cursor->table, err))
		return false;
	cursor->count = table_count(cursor->table);
	if (!table_lower_bound(cursor->table, cursor->first_low, &cursor->at, err))
		return false;
	table_wide(cursor->table, &nwide);
	if (cursor->last_low > INT64_MIN && !nwide) {
		if (!table_lower_bound(cursor->table, cursor->last_low, &by_last, err))
			return false;
		uint64_t reach = table_reach(cursor->table);
		by_last = by_last > reach ? by_last - reach : 0;
		cursor->at = by_last > cursor->at ? by_last : cursor->at;
	}
	return true;
}

/* Moves to the first record from `at` on that meets the constraints, in this or a later stream. */
static int find_wanted(struct packets_cursor *cursor)
{
	const struct trace *trace = cursor->host->trace;
	struct error err;

	for (;;) {
		for (; cursor->table && cursor->at < cursor->count; cursor->at++) {
			if (!table_get(cursor->table, cursor->at, &cursor->info, &err))
				return fail(cursor, &err);
			if (cursor->info.rec.min > cursor->first_high)
				break;
			if (cursor->info.rec.min >= cursor->first_low)
				return SQLITE_OK;
		}
		cursor->table = NULL;
		cursor->done =
			!bitset_next(cursor->streams, trace->nstreams / 64 + 1, &cursor->next) ||
			cursor->next >= trace->nstreams;
		if (cursor->done)
			return SQLITE_OK;
		cursor->stream = cursor->next++;
		if (!begin_stream(cursor, &err))
			return fail(cursor, &err);
	}
}

static void keep_streams(struct packets_cursor *cursor, char how, sqlite3_value *value)
{
	const struct trace *trace = cursor->host->trace;
	const char *text = (const char *)sqlite3_value_text(value);

	if (how == 's' && sqlite3_value_type(value) != SQLITE_TEXT)
		return;
	for (size_t i = 0; i < trace->nstreams; i++) {
		const char *name = trace->streams[i]->name;
		bool keep = text && (how == 's'   ? !strcmp(text, name)
				     : how == 'g' ? !sqlite3_strglob(text, name)
						  : !sqlite3_strlike(text, name, 0));
		if (!keep)
			bitset_remove(cursor->streams, i);
	}
}

/* Reads xFilter's arguments. False: no record can meet the constraints. */
static bool read_terms(struct packets_cursor *cursor, const char *letters, sqlite3_value **argv)
{
	int64_t none = INT64_MAX;

	for (int i = 0; letters[i] != ' '; i++) {
		if (letters[i] == 't')
			continue;
		if (strchr("sgl", letters[i])) {
			keep_streams(cursor, letters[i], argv[i]);
			continue;
		}
		const struct sql_term *term = sql_term_lettered(terms, letters[i]);
		bool last = term->column == AT_LAST;
		/* in records without a time `first` is NULL, which no comparison meets */
		if (!last && cursor->first_low == INT64_MIN)
			cursor->first_low++;
		if (!sql_narrow(last ? &cursor->last_low : &cursor->first_low,
				last ? &none : &cursor->first_high, term->op, argv[i]))
			return false;
	}
	return true;
}

static int filter(sqlite3_vtab_cursor *base, int number, const char *letters, int argc,
		  sqlite3_value **argv)
{
	struct packets_cursor *cursor = (struct packets_cursor *)base;
	const char *told = strchr(letters, 't'), *blank = strchr(letters, ' ');
	struct error err;

	(void)number;
	(void)argc;
	cursor->host = sql_table_host((struct sql_table *)base->pVtab,
				      told && told < blank ? argv[told - letters] : NULL, &err);
	if (!cursor->host)
		return fail(cursor, &err);
	size_t nwords = cursor->host->trace->nstreams / 64 + 1;
	mem_free(cursor->streams);
	cursor->streams = mem_new_array(nwords, sizeof *cursor->streams);
	memset(cursor->streams, 0xff, nwords * sizeof *cursor->streams);
	cursor->first_low = cursor->last_low = INT64_MIN;
	cursor->first_high = INT64_MAX;
	cursor->table = NULL;
	cursor->next = 0;
	cursor->done = !read_terms(cursor, letters, argv);
	return cursor->done ? SQLITE_OK : find_wanted(cursor);
}

static int next(sqlite3_vtab_cursor *base)
{
	struct packets_cursor *cursor = (struct packets_cursor *)base;

	cursor->at++;
	return find_wanted(cursor);
}

static int eof(sqlite3_vtab_cursor *base)
{
	return ((struct packets_cursor *)base)->done;
}

/* ---- values ---- */

static void put_flags(sqlite3_context *out, uint32_t flags)
{
	static const char *const names[] = {
		"unsorted",   "descending", "spill",   "compressed", "foreign",      "piece",
		"before_all", NULL,         NULL,      "mended",     "suspect",      "lost",
		"empty",      "open",       "damaged", "doubled",    "other_session"};
	struct buf text = {0};

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (names[i] && flags >> i & 1)
			buf_printf(&text, "%s%s", text.len ? " " : "", names[i]);
	sqlite3_result_text(out, buf_text(&text), -1, SQLITE_TRANSIENT);
	buf_release(&text);
}

static void put_number(sqlite3_context *out, bool known, uint64_t number)
{
	if (known)
		sqlite3_result_int64(out, (sqlite3_int64)number);
}

static int column(sqlite3_vtab_cursor *base, sqlite3_context *out, int i)
{
	struct packets_cursor *cursor = (struct packets_cursor *)base;
	const struct stream *stream = cursor->host->trace->streams[cursor->stream];
	const struct packet *rec = &cursor->info.rec;
	bool timed = !(rec->flags & PACKET_BEFORE_ALL);

	if (i == AT_STREAM)
		sqlite3_result_text(out, stream->name, -1, SQLITE_STATIC);
	else if (i == AT_NUMBER)
		put_number(out, true, cursor->at);
	else if (i == AT_FIRST)
		put_number(out, timed, (uint64_t)rec->min);
	else if (i == AT_LAST)
		put_number(out, timed, (uint64_t)rec->max);
	else if (i == AT_CPU)
		put_number(out, rec->cpu >= 0 || stream->cpu >= 0,
			   (uint64_t)(rec->cpu >= 0 ? rec->cpu : stream->cpu));
	else if (i == AT_BYTES)
		put_number(out, true, packet_all_bytes(&cursor->info));
	else if (i == AT_EVENTS)
		put_number(out, rec->events != UINT32_MAX, rec->events);
	else if (i == AT_LOST)
		put_number(out, rec->lost != PACKET_NONE, rec->lost);
	else if (i == AT_SEQ)
		put_number(out, rec->seq != PACKET_NONE, rec->seq);
	else if (i == AT_FLAGS)
		put_flags(out, rec->flags);
	else if (i == AT_FILE)
		sqlite3_result_text(out, source_name(stream_source(stream, rec->source)), -1,
				    SQLITE_STATIC);
	else if (i == AT_OFFSET)
		put_number(out, true, rec->off);
	else if (cursor->host->path)
		sqlite3_result_text(out, cursor->host->path, -1, SQLITE_STATIC);
	return SQLITE_OK;
}

const sqlite3_module sql_packets_module = {
	.xCreate = connect,
	.xConnect = connect,
	.xBestIndex = best_index,
	.xDisconnect = sql_table_disconnect,
	.xDestroy = sql_table_disconnect,
	.xOpen = open_cursor,
	.xClose = close_cursor,
	.xFilter = filter,
	.xNext = next,
	.xEof = eof,
	.xColumn = column,
};
