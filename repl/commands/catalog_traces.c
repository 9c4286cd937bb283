/* catalog_traces.c - see catalog_traces.h */
#include "repl/commands/catalog_traces.h"

#include "engine/base/mem.h"
#include "engine/find_traces.h"
#include "sql/sql.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

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

/* The paths that a catalog has, in its order. */
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
