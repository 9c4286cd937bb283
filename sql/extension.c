/*
 * extension.c - registers tables and functions: entry points of mod_yore, and those for yore itself
 *
 *     .load mod_yore
 *     SELECT name, count(*) FROM yore_events('trace') GROUP BY name;
 *     CREATE VIRTUAL TABLE t USING yore('trace', 'sched_switch');
 *     SELECT yore_open('trace');  SELECT * FROM sched_switch;
 *
 * SQLite derives the entry point's name from the file's: of mod_yore.so it is sqlite3_modyore_init.
 */
#include "sql/extension.h"

#include "engine/base/mem.h"
#include "sql/fold/fold.h"
#include "sql/fold/fold_words.h"
#include "sql/sql_internal.h"

#include <string.h>

SQLITE_EXTENSION_INIT1

enum { VERSION_NEEDED = 3038000 }; /* sqlite3_vtab_in(), LIMIT constraints */

int sql_extension_take(sqlite3 *db, char **message, const sqlite3_api_routines *api)
{
	(void)db;
	(void)message;
	SQLITE_EXTENSION_INIT2(api);
	return SQLITE_OK;
}

/* Registers tables that take a path, functions and aggregates. */
static int register_all(sqlite3 *db, struct sql_context *context)
{
	int code = sql_register_free_tables(db, context);

	if (code == SQLITE_OK)
		code = sql_register_functions(db, context);
	return code == SQLITE_OK ? sql_register_aggregates(db) : code;
}

int sql_extension_open(sqlite3 *db, const struct sql_options *options, struct sql_context **out)
{
	struct sql_context *context = *out = mem_new(sizeof *context);
	struct sql_host *host = options->index ? mem_new(sizeof *host) : NULL;

	context->references = 1;
	if (host) {
		host->options = *options;
		host->index = options->index;
		host->trace = index_trace(options->index);
		host->path = mem_strdup(host->trace->path);
		sql_context_add(context, host);
	}
	int code = register_all(db, context);
	if (code == SQLITE_OK && host)
		code = sql_register_tables(db, context, host, true);
	sql_context_drop(context);
	return code;
}

int sql_extension_names(sqlite3 *db, struct sql_context *context, const char *text)
{
	struct fold_statement statement = {.text = text, .len = strlen(text)};
	struct sql_host *host = context->hosts;
	int code = SQLITE_OK;

	for (struct sql_host *each = host; each; each = each->next)
		each->rows.noted_threads = 0;
	if (!host || !host->registered)
		return code;
	words_read(&statement);
	for (size_t i = 0; code == SQLITE_OK && i < statement.count; i++) {
		enum word_kind kind = statement.words[i].kind;
		if (kind != WORD_NAME && kind != WORD_QUOTED && kind != WORD_STRING)
			continue;
		char *name = word_text(&statement, i);
		code = sql_register_named(db, context, host, name);
		mem_free(name);
	}
	mem_free(statement.words);
	return code;
}

char *sql_extension_fold(sqlite3 *db, struct sql_context *context, const char *text, size_t len,
			 struct fold **out)
{
	char *written = fold_rewrite(context, text, len, out);

	if (written &&
	    sqlite3_create_module_v2(db, (*out)->name, &sql_fold_module, *out, NULL) != SQLITE_OK) {
		mem_free(written);
		fold_free(*out);
		*out = NULL;
		return NULL;
	}
	return written;
}

void sql_extension_in_parts(struct sql_context *context, bool on)
{
	context->hosts->in_parts = on;
}

void sql_extension_set_partials(struct fold *fold, struct partial_work *partials)
{
	fold->partials = partials;
}

void sql_extension_unfold(sqlite3 *db, struct fold *fold)
{
	if (fold)
		sqlite3_create_module_v2(db, fold->name, NULL, NULL, NULL);
	fold_free(fold);
}

const char *sql_extension_table(const struct sql_context *context, size_t i)
{
	const struct sql_host *host = context->hosts;
	size_t own = 0;

	for (; host && sql_modules[own].name; own++)
		if (own == i)
			return sql_modules[i].name;
	for (size_t k = 0, n = own; host && k < host->ngroups; k++)
		if (!host->groups[k].classes[0]->unlisted && n++ == i)
			return host->groups[k].name;
	return NULL;
}

static int extension_load(sqlite3 *db, char **message, const sqlite3_api_routines *api)
{
	const struct sql_options options = {0};
	struct sql_context *context;

	SQLITE_EXTENSION_INIT2(api);
	if (sqlite3_libversion_number() < VERSION_NEEDED) {
		*message =
			sqlite3_mprintf("yore needs SQLite 3.38, this is %s", sqlite3_libversion());
		return SQLITE_ERROR;
	}
	return sql_extension_open(db, &options, &context);
}

__attribute__((visibility("default"))) int sqlite3_modyore_init(sqlite3 *db, char **message,
								const sqlite3_api_routines *api);
__attribute__((visibility("default"))) int sqlite3_extension_init(sqlite3 *db, char **message,
								  const sqlite3_api_routines *api);

int sqlite3_modyore_init(sqlite3 *db, char **message, const sqlite3_api_routines *api)
{
	return extension_load(db, message, api);
}

int sqlite3_extension_init(sqlite3 *db, char **message, const sqlite3_api_routines *api)
{
	return extension_load(db, message, api);
}
