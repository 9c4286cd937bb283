/*
 * sqlite.c - one SQLite database, with the trace's SQL tables as ordinary ones
 *
 * Values are those of SQL: 64-bit integers in two's complement, lists as JSON text. All is written
 * in one transaction on a file under a temporary name, so there is no journal and no fsync. A
 * prepared statement per table inserts the rows.
 */
#include "convert/convert_internal.h"
#include "convert/sheets/tables.h"
#include "convert/sheets/values_text.h"
#include "engine/base/mem.h"
#include "engine/base/nameset.h"
#include "engine/columns/shape.h"

#include <sqlite3.h>

struct sqlite_table {
	char *name;
	sqlite3_stmt *insert;
};

struct sqlite {
	struct convert of; /* of its `out` only the name is used */
	sqlite3 *db;
	struct sqlite_table **targets;
	size_t count, capacity;
	struct nameset names;      /* of tables */
	struct nameset last_parts; /* ":switch" of "sched:switch", and how many tables end so */
	struct buf text;
};

static bool sqlite_failed(struct sqlite *sqlite, struct error *err)
{
	return error_set(err, ERR_IO, "%s: %s", sqlite->of.out.path, sqlite3_errmsg(sqlite->db));
}

static bool run_sql(struct sqlite *sqlite, const char *sql, struct error *err)
{
	return sqlite3_exec(sqlite->db, sql, NULL, NULL, NULL) == SQLITE_OK ||
	       sqlite_failed(sqlite, err);
}

static const char *type_name(const struct sheet_values *values)
{
	if (values->list || values->kind == CELL_TEXT)
		return "TEXT";
	if (values->kind == CELL_BYTES)
		return "BLOB";
	return values->kind == CELL_FLOAT ? "REAL" : "INTEGER";
}

/* SQLite reserves names with this prefix. */
static bool is_reserved(const char *name)
{
	return sqlite3_strnicmp(name, "sqlite_", 7) == 0;
}

/*
 * Returns a table name that is new in `names`, and adds it. `events`, `state` and `losses` keep
 * theirs, whatever event classes are named.
 */
static char *sqlite_take_name(struct sqlite *sqlite, const struct sheet *sheet)
{
	struct buf name = {0};

	buf_add_text(&name, is_reserved(sheet->name) ? "_" : ""); /* a class may be named "" */
	buf_add_text(&name, sheet->name);
	if (!sheet->own)
		nameset_make_free(&sqlite->names, &name, 0, "_");
	nameset_add(&sqlite->names, name.data, 2);
	return name.data;
}

static void keep_own_names(struct sqlite *sqlite)
{
	static const char *const kept[] = {"events", "state", "losses"};

	sqlite->names.folds = sqlite->last_parts.folds = true;
	for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
		nameset_add(&sqlite->names, kept[i], 2);
}

/* Parquet's `state` has a column per type; here one column has values of all types. */
static bool is_state(const struct sheet *sheet)
{
	return sheet->own && strcmp(sheet->name, "state") == 0;
}

static size_t columns_of(const struct sheet *sheet, bool state)
{
	return state ? STATE_VALUE + 1 : sheet->ncolumns;
}

static bool create(struct sqlite *sqlite, const struct sheet *sheet, struct sqlite_table *target,
		   struct error *err)
{
	struct buf *sql = &sqlite->text;
	bool state = is_state(sheet);
	size_t ncolumns = columns_of(sheet, state);

	buf_clear(sql);
	buf_add_text(sql, "CREATE TABLE ");
	shape_add_name(sql, target->name);
	for (size_t i = 0; i < ncolumns; i++) {
		buf_add_text(sql, i ? ", " : "(");
		shape_add_name(sql, sheet->columns[i].name);
		if (!state || i != STATE_VALUE)
			buf_printf(sql, " %s", type_name(&sheet->columns[i]));
	}
	buf_add_char(sql, ')');
	if (!run_sql(sqlite, sql->data, err))
		return false;
	buf_clear(sql);
	buf_add_text(sql, "INSERT INTO ");
	shape_add_name(sql, target->name);
	for (size_t i = 0; i < ncolumns; i++)
		buf_add_text(sql, i ? ",?" : " VALUES(?");
	buf_add_char(sql, ')');
	return sqlite3_prepare_v2(sqlite->db, sql->data, (int)sql->len, &target->insert, NULL) ==
		       SQLITE_OK ||
	       sqlite_failed(sqlite, err);
}

static struct sqlite_table *target_of(struct sqlite *sqlite, struct sheet *sheet, struct error *err)
{
	struct sqlite_table *target = sheet->file;

	if (target)
		return target;
	target = mem_new(sizeof *target);
	target->name = sqlite_take_name(sqlite, sheet);
	*mem_push(sqlite->targets, sqlite->count, sqlite->capacity) = target;
	sheet->file = target;
	return create(sqlite, sheet, target, err) ? target : NULL;
}

static void bind_float(sqlite3_stmt *insert, int at, uint64_t bits)
{
	double number;

	memcpy(&number, &bits, sizeof number);
	sqlite3_bind_double(insert, at, number);
}

static void bind(struct sqlite *sqlite, sqlite3_stmt *insert, int at,
		 const struct sheet_values *values, size_t row)
{
	const char *text;
	size_t len;

	if (!values->present[row]) {
		sqlite3_bind_null(insert, at);
	} else if (values->list) {
		buf_clear(&sqlite->text);
		values_add_text(values, row, &sqlite->text);
		sqlite3_bind_text64(insert, at, sqlite->text.data, sqlite->text.len,
				    SQLITE_TRANSIENT, SQLITE_UTF8);
	} else if (values->kind == CELL_TEXT || values->kind == CELL_BYTES) {
		text = texts_get(&values->texts, values->index[row], &len);
		if (values->kind == CELL_TEXT)
			sqlite3_bind_text64(insert, at, len ? text : "", len, SQLITE_STATIC,
					    SQLITE_UTF8);
		else
			sqlite3_bind_blob64(insert, at, len ? text : "", len, SQLITE_STATIC);
	} else if (values->kind == CELL_FLOAT) {
		bind_float(insert, at, values_get(values, row));
	} else {
		sqlite3_bind_int64(insert, at, (sqlite3_int64)values_get(values, row));
	}
}

/* Binds a row of `state`; the value has its own type, as in SQL. */
static void bind_state(struct sqlite *sqlite, sqlite3_stmt *insert,
		       const struct sheet_values *columns, size_t row)
{
	static const int typed[] = {STATE_INT, STATE_FLOAT, STATE_BOOL};
	int from = STATE_VALUE;

	for (size_t i = 0; i < sizeof typed / sizeof *typed; i++)
		if (columns[typed[i]].present[row])
			from = typed[i];
	bind(sqlite, insert, STATE_VALUE + 1, &columns[from], row);
}

static bool write_part(struct sqlite *sqlite, sqlite3_stmt *insert, const struct sheet *sheet,
		       struct error *err)
{
	bool state = is_state(sheet);

	for (size_t row = 0; row < sheet->rows; row++) {
		for (size_t i = 0; i < columns_of(sheet, state); i++)
			if (!state || i != STATE_VALUE)
				bind(sqlite, insert, (int)i + 1, &sheet->columns[i], row);
		if (state)
			bind_state(sqlite, insert, sheet->columns, row);
		if (sqlite3_step(insert) != SQLITE_DONE)
			return sqlite_failed(sqlite, err);
		sqlite3_reset(insert);
	}
	return true;
}

static bool sqlite_write_rows(void *arg, struct sheet *sheet, struct sheet **parts, size_t count,
			      struct error *err)
{
	struct sqlite *sqlite = arg;
	struct sqlite_table *target = target_of(sqlite, sheet, err);
	bool ok = target != NULL;

	for (size_t i = 0; i < count; i++) {
		ok = ok && write_part(sqlite, target->insert, parts[i], err);
		sheet_free(parts[i]);
	}
	return ok;
}

/* ---- the format ---- */

static void sqlite_close(void *self)
{
	struct sqlite *sqlite = self;

	for (size_t i = 0; i < sqlite->count; i++) {
		sqlite3_finalize(sqlite->targets[i]->insert);
		mem_free(sqlite->targets[i]->name);
		mem_free(sqlite->targets[i]);
	}
	mem_free(sqlite->targets);
	nameset_release(&sqlite->names);
	nameset_release(&sqlite->last_parts);
	sqlite3_close(sqlite->db);
	buf_release(&sqlite->text);
}

/* Rows are only ever appended, so larger pages mean fewer to fill and write. */
static const char prepares[] = "PRAGMA page_size = 16384; PRAGMA journal_mode = OFF; "
			       "PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE; BEGIN";

static bool sqlite_open(void *self, struct error *err)
{
	struct sqlite *sqlite = self;
	const struct convert_options *options = &sqlite->of.options;
	struct tables_options tables = {.trace = options->trace,
					.all_events = true,
					.write = sqlite_write_rows,
					.arg = sqlite};

	if (!out_open_named(&sqlite->of.out, options->path, err))
		return false;
	keep_own_names(sqlite);
	sqlite->of.tables = tables_new(&tables);
	return (sqlite3_open_v2(sqlite->of.out.temporary, &sqlite->db,
				SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) == SQLITE_OK ||
		sqlite_failed(sqlite, err)) &&
	       run_sql(sqlite, prepares, err);
}

static void count_last_parts(struct sqlite *sqlite)
{
	for (size_t i = 0; i < sqlite->count; i++) {
		const char *colon = strrchr(sqlite->targets[i]->name, ':');
		uint32_t n;
		if (colon && !nameset_add(&sqlite->last_parts, colon, 1) &&
		    nameset_find(&sqlite->last_parts, colon, &n))
			nameset_set(&sqlite->last_parts, colon, n + 1);
	}
}

/*
 * Adds a view with the bare name of a table "sched:sched_switch", as SQL has it, if the name is
 * unique.
 */
static bool add_views(struct sqlite *sqlite, struct error *err)
{
	count_last_parts(sqlite);
	for (size_t i = 0; i < sqlite->count; i++) {
		const char *name = sqlite->targets[i]->name, *colon = strrchr(name, ':');
		uint32_t n;
		if (!colon || colon == name || !colon[1] || is_reserved(colon + 1) ||
		    nameset_find(&sqlite->names, colon + 1, NULL) ||
		    (nameset_find(&sqlite->last_parts, colon, &n) && n > 1))
			continue;
		buf_clear(&sqlite->text);
		buf_add_text(&sqlite->text, "CREATE VIEW ");
		shape_add_name(&sqlite->text, colon + 1);
		buf_add_text(&sqlite->text, " AS SELECT * FROM ");
		shape_add_name(&sqlite->text, name);
		if (!run_sql(sqlite, sqlite->text.data, err))
			return false;
	}
	return true;
}

static bool sqlite_finish(void *self, struct error *err)
{
	struct sqlite *sqlite = self;

	if (!tables_flush(sqlite->of.tables, err) || !add_views(sqlite, err) ||
	    !run_sql(sqlite, "COMMIT", err))
		return false;
	return out_finish(&sqlite->of.out, err);
}

const struct convert_format convert_sqlite = {
	.kind = {.name = "sqlite",
		 .endings = ".sqlite .sqlite3 .db",
		 .has_state = true,
		 .in_parts = true},
	.size = sizeof(struct sqlite),
	.open = sqlite_open,
	.event = tables_event,
	.loss = tables_loss,
	.interval = tables_interval,
	.finish = sqlite_finish,
	.close = sqlite_close,
};
