/*
 * states_vtab.c - the tables `state`, intervals of attributes, and `state_at`, values at a moment
 *
 *     state(path, ts, dur, value; hidden: until, pattern, comm)
 *     state_at(path, value, since, known; hidden: pattern, at, comm)
 *
 * An interval is [ts, until), dur is until - ts; unknown is NULL. Hidden columns are arguments,
 * too: state('cpu[*]/thread'), state_at('cpu[*]/thread', TS). comm is the name of the thread that
 * the value is, or that the path begins with (comms.c). Pushed down from `state`, a letter of
 * idxStr each:
 *
 *     a  pattern = ?, the argument      p  path = ?       m  path MATCH ?, a PATH with wildcards
 *     g, l  path GLOB, LIKE: tested before a row is stored
 *     = < { > }  ts = < <= > >=         ) ]  until > >=   n  LIMIT (o: its OFFSET)
 *
 * `path = ? AND ts <= T AND until > T`, which a join looks up row after row, is read through a
 * cache of the intervals around T (lookup.c). Other rows are made one stretch of time after the
 * other, so that those of a large trace are never all in memory.
 */
#include "rows/comms.h"
#include "sql/sql_internal.h"

#include "engine/base/hash_index.h"
#include "engine/base/mem.h"
#include "state/intervals/stretches.h"
#include "state/state.h"

#include <string.h>

/* A table of one trace has no column AT_TRACE: see number_of(). */
enum { AT_PATH, AT_TS, AT_DUR, AT_VALUE, AT_TRACE, AT_PATTERN, AT_UNTIL, AT_COMM, AT_MOMENT };
enum { MOMENT_PATH, MOMENT_VALUE, MOMENT_SINCE, MOMENT_KNOWN };

struct states_table {
	struct sql_table table;
	bool moment; /* state_at */
};

struct state_row {
	const char *path;
	nstime begin, end; /* in state_at: `since` and the moment */
	struct value value;
};

struct states_cursor {
	struct sql_cursor scan; /* of the rows */
	struct sql_host *host;
	struct arena *asked; /* copies of arguments, for the whole scan */
	struct query *query; /* the parsed PATH, or NULL */
	const struct query *queries[1];
	struct stretches todo;  /* stretches that are not read yet */
	struct arena *arena;    /* texts of `rows` */
	struct state_row *rows; /* of this stretch */
	size_t capacity;
	size_t given, limit; /* rows of all stretches: stored so far; at most */
	const char *pattern; /* of path GLOB or LIKE (then `like`); NULL: none */
	bool like;
	int64_t ts_low, ts_high, until_low;
	bool by_ts, by_until;
};

/* ---- the tables ---- */

static const char *columns_of(bool moment)
{
	return moment ? "path TEXT, value, since INTEGER, known INTEGER"
		      : "path TEXT, ts INTEGER, dur INTEGER, value";
}

static int connect(sqlite3 *db, void *aux, int argc, const char *const *argv, sqlite3_vtab **out,
		   char **message)
{
	int rest, code;
	struct states_table *states =
		sql_table_begin(db, aux, argc, argv, sizeof *states, &rest, &code, message);

	if (!states)
		return code;
	states->moment = ((const struct sql_source *)aux)->name->moment;
	*out = &states->table.base;
	char *text = sqlite3_mprintf("CREATE TABLE x(%s, %spattern TEXT HIDDEN, %s INTEGER HIDDEN, "
				     "comm TEXT HIDDEN)",
				     columns_of(states->moment),
				     states->table.host ? "" : "trace TEXT HIDDEN, ",
				     states->moment ? "at" : "until");
	code = sqlite3_declare_vtab(db, text);
	sqlite3_free(text);
	return code;
}

/* Maps a column of either table to the enum above: `at` of state_at has the place of `until`. */
static int number_of(const struct states_table *states, int column)
{
	column += column >= AT_TRACE && states->table.host;
	return column == AT_UNTIL && states->moment ? AT_MOMENT : column;
}

/* ---- planning ---- */

enum { EQ = SQLITE_INDEX_CONSTRAINT_EQ };

/* SQLite compares paths again, by its own rules for texts. */
static const struct sql_term terms[] = {
	{'t', AT_TRACE, EQ, NULL, .always = true},
	{'a', AT_PATTERN, EQ, "PATH of the argument", .always = true},
	{'x', AT_MOMENT, EQ, "at=?", .always = true},
	{'m', AT_PATH, SQLITE_INDEX_CONSTRAINT_MATCH, "path MATCH ?", .always = true},
	{'p', AT_PATH, EQ, "path=?", .inexact = true},
	{'g', AT_PATH, SQLITE_INDEX_CONSTRAINT_GLOB, .words = "path GLOB ?"},
	{'l', AT_PATH, SQLITE_INDEX_CONSTRAINT_LIKE, .words = "path LIKE ?"},
	{'=', AT_TS, EQ, .words = "ts=?"},
	{'<', AT_TS, SQLITE_INDEX_CONSTRAINT_LT, .words = "ts<?"},
	{'{', AT_TS, SQLITE_INDEX_CONSTRAINT_LE, .words = "ts<=?"},
	{'>', AT_TS, SQLITE_INDEX_CONSTRAINT_GT, .words = "ts>?"},
	{'}', AT_TS, SQLITE_INDEX_CONSTRAINT_GE, .words = "ts>=?"},
	{')', AT_UNTIL, SQLITE_INDEX_CONSTRAINT_GT, .words = "until>?"},
	{']', AT_UNTIL, SQLITE_INDEX_CONSTRAINT_GE, .words = "until>=?"},
	{.letter = 0}};

/* The term for the operator on the column; NULL: the scan cannot take it. */
static const struct sql_term *term_of(const struct states_table *states, int column,
				      unsigned char op)
{
	const struct sql_term *term = sql_term_of(terms, number_of(states, column), op);
	bool pushdown = !states->table.host || states->table.host->pushdown;

	if (!term || !(term->always || pushdown) ||
	    (states->moment && !term->always && term->letter != 'p'))
		return NULL;
	return term;
}

static void take_limit(sqlite3_index_info *info, struct sql_taken *taken)
{
	for (int i = 0; i < info->nConstraint; i++) {
		unsigned char op = info->aConstraint[i].op;
		bool limit = op == SQLITE_INDEX_CONSTRAINT_LIMIT;
		if (!info->aConstraint[i].usable ||
		    (!limit && op != SQLITE_INDEX_CONSTRAINT_OFFSET))
			continue;
		sql_take(info, i, &taken->nargs, false);
		buf_add_char(&taken->letters, limit ? 'n' : 'o');
		if (limit)
			buf_add_text(&taken->words, taken->words.len ? " LIMIT ?" : "LIMIT ?");
	}
}

/* Rows of one path come in order of time. */
static bool takes_order(const struct buf *letters, const sqlite3_index_info *info)
{
	return info->nOrderBy == 1 && info->aOrderBy[0].iColumn == AT_TS &&
	       !info->aOrderBy[0].desc && letters->len && strchr(buf_text(letters), 'p');
}

static double cost_of(const struct buf *letters)
{
	const char *text = buf_text(letters);
	double cost = 1e8;

	if (strpbrk(text, "pma"))
		cost /= strchr(text, 'p') ? 1000 : 100;
	for (; *text; text++)
		cost /= strchr("<{>}=)]x", *text) ? 30 : 1;
	return cost < 10 ? 10 : cost;
}

/*
 * `path = 'cpu[*]/thread'` compares the text as it stands, and in a GLOB `[*]` is a set of one
 * character: neither is ever true. A constant of that kind is noted, once.
 */
static void note_patterns(struct states_table *states, sqlite3_index_info *info)
{
	struct sql_table *table = &states->table;
	sqlite3_value *value;

	for (int i = 0; table->host && i < info->nConstraint; i++) {
		unsigned char op = info->aConstraint[i].op;
		bool glob = op == SQLITE_INDEX_CONSTRAINT_GLOB;
		if (info->aConstraint[i].iColumn != AT_PATH ||
		    (!glob && op != SQLITE_INDEX_CONSTRAINT_EQ) ||
		    sqlite3_vtab_rhs_value(info, i, &value) != SQLITE_OK)
			continue;
		const char *text = (const char *)sqlite3_value_text(value);
		if (!text || !strstr(text, glob ? "[*]" : "*"))
			continue;
		uint64_t hash = hash_bytes(text, strlen(text));
		if (table->noted != hash)
			notice(&table->host->trace->notices, NOTICE_INFO,
			       "path %s '%s' matches no path: write path MATCH '%s'",
			       glob ? "GLOB" : "=", text, text);
		table->noted = hash;
	}
}

static int best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
	struct states_table *states = (struct states_table *)base;
	bool path = states->table.host, at = !states->moment, whole = true;
	struct sql_taken taken = {0};

	sql_note_texts(&states->table, info, columns_of(states->moment));
	note_patterns(states, info);
	for (int i = 0; i < info->nConstraint; i++) {
		unsigned char op = info->aConstraint[i].op;
		if (op == SQLITE_INDEX_CONSTRAINT_LIMIT || op == SQLITE_INDEX_CONSTRAINT_OFFSET)
			continue;
		const struct sql_term *term = term_of(states, info->aConstraint[i].iColumn, op);
		whole &= term && !term->inexact && info->aConstraint[i].usable;
		if (!term || !info->aConstraint[i].usable)
			continue;
		sql_take_term(info, i, term, &taken);
		path |= term->letter == 't';
		at |= term->letter == 'x';
	}
	info->orderByConsumed = !states->moment && takes_order(&taken.letters, info);
	if (whole && !states->moment && (info->orderByConsumed || !info->nOrderBy) &&
	    (!states->table.host || states->table.host->pushdown))
		take_limit(info, &taken);
	info->estimatedCost = cost_of(&taken.letters);
	info->estimatedRows = (sqlite3_int64)info->estimatedCost;
	sql_taken_end(info, &taken, "all attributes");
	if (!path)
		return sql_table_untold(&states->table, info, AT_TRACE, SQL_NEEDS_PATH);
	return at ? SQLITE_OK
		  : sql_table_untold(&states->table, info, AT_UNTIL - (states->table.host != NULL),
				     "the moment, as in state_at('PATH', TS),");
}

/* ---- a scan ---- */

static int open_cursor(sqlite3_vtab *base, sqlite3_vtab_cursor **out)
{
	struct states_cursor *cursor = mem_new(sizeof *cursor);

	(void)base;
	cursor->arena = arena_new();
	cursor->asked = arena_new();
	*out = &cursor->scan.base;
	return SQLITE_OK;
}

static int close_cursor(sqlite3_vtab_cursor *base)
{
	struct states_cursor *cursor = (struct states_cursor *)base;

	stretches_end(&cursor->todo);
	query_free(cursor->query);
	arena_free(cursor->arena);
	arena_free(cursor->asked);
	mem_free(cursor->rows);
	mem_free(cursor);
	return SQLITE_OK;
}

static void add_state_row(struct states_cursor *cursor, const struct state_row *row)
{
	const char *path = NULL;

	if (cursor->scan.count && !strcmp(cursor->rows[cursor->scan.count - 1].path, row->path))
		path = cursor->rows[cursor->scan.count - 1].path;
	struct state_row *added = mem_push(cursor->rows, cursor->scan.count, cursor->capacity);
	*added = *row;
	added->path = path ? path : arena_strdup(cursor->arena, row->path);
	added->value = value_copy(cursor->arena, &row->value);
}

/* Tests ts, until and patterns of path exactly as SQL does. */
static bool passes(const struct states_cursor *cursor, const struct interval *interval)
{
	bool begins = interval->begin != NSTIME_MIN, ends = interval->end != NSTIME_MAX;

	if (cursor->by_ts &&
	    (!begins || interval->begin < cursor->ts_low || interval->begin > cursor->ts_high))
		return false;
	if (cursor->by_until && (!ends || interval->end < cursor->until_low))
		return false;
	if (!cursor->pattern)
		return true;
	return (cursor->like ? sqlite3_strlike(cursor->pattern, interval->path, 0)
			     : sqlite3_strglob(cursor->pattern, interval->path)) == 0;
}

static bool take_interval(void *arg, const struct interval *interval)
{
	struct states_cursor *cursor = arg;

	if (!passes(cursor, interval))
		return true;
	add_state_row(cursor, &(struct state_row){interval->path, interval->begin, interval->end,
						  interval->value});
	return ++cursor->given < cursor->limit;
}

/* The arguments of a scan, besides bounds of time, which are in the cursor. */
struct states_arguments {
	const char *pattern; /* PATH of the argument or of MATCH, which SQLite does not test */
	const char *path;    /* path = ? */
	bool twice;          /* there are two PATHs */
	bool nothing;        /* no row can meet the constraints */
	sqlite3_value *at;   /* state_at: the moment */
};

static void read_term(struct states_cursor *cursor, struct states_arguments *asked, char letter,
		      sqlite3_value *value)
{
	const char *text = strchr("pmagl", letter) ? (const char *)sqlite3_value_text(value) : NULL;
	int64_t none = INT64_MAX;
	const struct sql_term *term = sql_term_lettered(terms, letter);

	if (strchr("pmagl", letter) && !text) {
		asked->nothing = true;
	} else if (strchr("pma", letter)) {
		asked->twice |= letter != 'p' && asked->pattern;
		if (letter == 'p')
			asked->path = text;
		else
			asked->pattern = text;
	} else if (letter == 'g' || letter == 'l') {
		cursor->pattern = arena_strdup(cursor->asked, text);
		cursor->like = letter == 'l';
	} else if (term && term->column == AT_TS) {
		cursor->by_ts = true;
		asked->nothing |= !sql_narrow(&cursor->ts_low, &cursor->ts_high, term->op, value);
	} else if (term && term->column == AT_UNTIL) {
		cursor->by_until = true;
		asked->nothing |= !sql_narrow(&cursor->until_low, &none, term->op, value);
	} else if (letter == 'x') {
		asked->nothing |= sqlite3_value_type(value) == SQLITE_NULL;
		asked->at = value;
	} else if ((letter == 'n' || letter == 'o') && sqlite3_value_int64(value) >= 0) {
		cursor->limit = letter == 'o' && cursor->limit == SIZE_MAX
					? SIZE_MAX
					: (letter == 'o' ? cursor->limit : 0) +
						  (size_t)sqlite3_value_int64(value);
	}
}

/* A range [begin, end) that overlaps every interval that meets the bounds of ts and until. */
static void range_of(const struct states_cursor *cursor, nstime *begin, nstime *end)
{
	*begin = cursor->by_ts ? cursor->ts_low : NSTIME_MIN;
	*end = cursor->by_ts && cursor->ts_high < NSTIME_MAX ? cursor->ts_high + 1 : NSTIME_MAX;
	if (!cursor->by_until || cursor->until_low == INT64_MIN)
		return;
	nstime inside = cursor->until_low - 1; /* the interval contains it or begins later */
	if (*end != NSTIME_MAX && inside >= *end)
		inside = *end - 1;
	*begin = inside > *begin ? inside : *begin;
}

/* Parses the PATH of the arguments, or `all` if there is none. */
static bool parse(const struct states_arguments *asked, const char *all, struct query **out,
		  struct error *err)
{
	const char *text = asked->pattern ? asked->pattern : asked->path ? asked->path : all;

	*out = NULL;
	if (text && !query_parse(text, out, err)) {
		*out = NULL;
		return false;
	}
	return true;
}

/* Reads stretches until one has rows. */
static bool next_stretch(struct states_cursor *cursor, struct error *err)
{
	while (cursor->scan.at == cursor->scan.count && cursor->given < cursor->limit &&
	       stretches_more(&cursor->todo)) {
		cursor->scan.at = cursor->scan.count = 0;
		arena_reset(cursor->arena);
		if (!stretches_next(&cursor->todo, take_interval, cursor, err))
			return false;
	}
	return true;
}

static bool look_up(struct states_cursor *cursor, nstime t, struct error *err)
{
	const struct interval *found;

	if (!lookup_at(cursor->host, query_text(cursor->query), t, &found, err))
		return false;
	if (found)
		take_interval(cursor, found);
	return true;
}

static bool ask_intervals(struct states_cursor *cursor, const struct states_arguments *asked,
			  struct error *err)
{
	struct state *state;
	nstime begin, end, from, until;

	range_of(cursor, &begin, &end);
	sql_host_range(cursor->host, &from, &until);
	begin = from > begin ? from : begin;
	end = until < end ? until : end;
	if (begin >= end)
		return true;
	if (!parse(asked, "**", &cursor->query, err))
		return false;
	cursor->queries[0] = cursor->query;
	if (!sql_host_state(cursor->host, &state, err))
		return false;
	if (end - 1 == begin && !query_has_wildcard(cursor->query) &&
	    !state_names_threads(state, cursor->queries, 1))
		return look_up(cursor, begin, err);
	return row_host_look_up(&cursor->host->rows, state, cursor->query, NULL, err) &&
	       stretches_begin(&cursor->todo, state, begin, end, cursor->queries, 1, err) &&
	       next_stretch(cursor, err);
}

static bool ask_moment(struct states_cursor *cursor, const struct states_arguments *asked,
		       struct error *err)
{
	struct moment moment = {0};
	struct answers answers;
	struct state *state;

	if (!sql_host_moment(cursor->host, asked->at, &moment.t, err) ||
	    !parse(asked, NULL, &cursor->query, err))
		return false;
	cursor->queries[0] = cursor->query;
	bool good = sql_host_state(cursor->host, &state, err) &&
		    (!cursor->query ||
		     row_host_look_up(&cursor->host->rows, state, cursor->query, NULL, err)) &&
		    state_at(state, &moment, 1, cursor->queries, cursor->query ? 1 : 0, false,
			     &answers, err);
	for (size_t i = 0; good && i < answers.count; i++)
		add_state_row(cursor,
			      &(struct state_row){answers.items[i].path, answers.items[i].since,
						  moment.t, answers.items[i].value});
	if (good)
		answers_release(&answers);
	return good;
}

static void begin_scan(struct states_cursor *cursor)
{
	arena_reset(cursor->asked);
	arena_reset(cursor->arena);
	stretches_end(&cursor->todo);
	query_free(cursor->query);
	cursor->query = NULL;
	cursor->todo = (struct stretches){0};
	cursor->scan.count = cursor->scan.at = cursor->given = 0;
	cursor->limit = SIZE_MAX;
	cursor->pattern = NULL;
	cursor->by_ts = cursor->by_until = false;
	cursor->ts_low = cursor->until_low = INT64_MIN + 1;
	cursor->ts_high = INT64_MAX - 1;
}

static int filter(sqlite3_vtab_cursor *base, int number, const char *letters, int argc,
		  sqlite3_value **argv)
{
	struct states_cursor *cursor = (struct states_cursor *)base;
	struct states_table *states = (struct states_table *)base->pVtab;
	struct states_arguments asked = {0};
	sqlite3_value *told = NULL;
	struct error err;

	(void)number;
	begin_scan(cursor);
	for (int i = 0; i < argc; i++)
		if (letters[i] == 't')
			told = argv[i];
		else
			read_term(cursor, &asked, letters[i], argv[i]);
	cursor->host = sql_table_host(&states->table, told, &err);
	if (!cursor->host)
		return sql_table_fail(&states->table, &err);
	if (asked.nothing || !cursor->limit)
		return SQLITE_OK;
	if (asked.twice) {
		error_set(&err, ERR_QUERY, "one pattern of paths is enough: MATCH or the argument");
		return sql_table_fail(&states->table, &err);
	}
	if (states->moment ? ask_moment(cursor, &asked, &err) : ask_intervals(cursor, &asked, &err))
		return SQLITE_OK;
	return sql_table_fail(&states->table, &err);
}

static int next(sqlite3_vtab_cursor *base)
{
	struct states_cursor *cursor = (struct states_cursor *)base;
	struct error err;

	cursor->scan.at++;
	return next_stretch(cursor, &err) ? SQLITE_OK
					  : sql_table_fail((struct sql_table *)base->pVtab, &err);
}

static void put_time(sqlite3_context *out, nstime t)
{
	if (t != NSTIME_MIN && t != NSTIME_MAX)
		sqlite3_result_int64(out, t);
}

static void put_interval(const struct state_row *row, sqlite3_context *out, int i)
{
	nstime dur;

	if (i == AT_TS)
		put_time(out, row->begin);
	else if (i == AT_DUR && row->begin != NSTIME_MIN && row->end != NSTIME_MAX &&
		 !__builtin_sub_overflow(row->end, row->begin, &dur))
		sqlite3_result_int64(out, dur);
	else if (i == AT_VALUE)
		sql_result_state(out, &row->value);
	else if (i == AT_UNTIL)
		put_time(out, row->end);
}

/* The moment for comm: of state_at its own, else the interval's begin, or end - 1 if unknown. */
static nstime named_at(const struct state_row *row, bool moment)
{
	if (moment || row->begin == NSTIME_MIN)
		return row->end - !moment;
	return row->begin;
}

static int put_comm(struct states_cursor *cursor, const struct state_row *row, bool moment,
		    sqlite3_context *out)
{
	const char *name;
	struct error err;

	if (!comms_of_row(&cursor->host->rows, row->path, &row->value, named_at(row, moment), &name,
			  &err))
		return sql_table_fail((struct sql_table *)cursor->scan.base.pVtab, &err);
	sqlite3_result_text(out, name, -1, SQLITE_TRANSIENT); /* NULL is NULL */
	return SQLITE_OK;
}

static int column(sqlite3_vtab_cursor *base, sqlite3_context *out, int i)
{
	struct states_cursor *cursor = (struct states_cursor *)base;
	const struct states_table *states = (struct states_table *)base->pVtab;
	const struct state_row *row = &cursor->rows[cursor->scan.at];

	i = number_of(states, i);
	if (i == AT_COMM)
		return put_comm(cursor, row, states->moment, out);
	if (i == AT_PATH)
		sqlite3_result_text(out, row->path, -1, SQLITE_TRANSIENT);
	else if (!states->moment)
		put_interval(row, out, i);
	else if (i == MOMENT_VALUE)
		sql_result_state(out, &row->value);
	else if (i == MOMENT_SINCE)
		put_time(out, row->begin);
	else if (i == MOMENT_KNOWN)
		sqlite3_result_int(out, row->value.kind != VALUE_UNKNOWN);
	return SQLITE_OK;
}

/* A row has the same rowid in every scan: SQLite drops duplicates of two scans (OR) by it. */
static int rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *out)
{
	const struct states_cursor *cursor = (struct states_cursor *)base;
	const struct states_table *states = (struct states_table *)base->pVtab;
	const struct state_row *row = &cursor->rows[cursor->scan.at];
	nstime t = states->moment ? row->end : row->begin;

	*out = (sqlite3_int64)hash_number(hash_bytes(row->path, strlen(row->path)) + (uint64_t)t);
	return SQLITE_OK;
}

const sqlite3_module sql_states_module = {
	.xCreate = connect,
	.xConnect = connect,
	.xBestIndex = best_index,
	.xDisconnect = sql_table_disconnect,
	.xDestroy = sql_table_disconnect,
	.xOpen = open_cursor,
	.xClose = close_cursor,
	.xFilter = filter,
	.xNext = next,
	.xEof = sql_cursor_eof,
	.xColumn = column,
	.xRowid = rowid,
};
