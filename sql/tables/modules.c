/* modules.c - the list of all tables, and their registration with an SQLite connection */
#include "rows/row_table.h"
#include "sql/sql_internal.h"

#include "engine/base/bitset.h"

const struct sql_module_name sql_modules[] = {
	{"events", "yore_events", &sql_events_module, NULL},
	{"packets", "yore_packets", &sql_rows_module, &row_packets},
	{"streams", "yore_streams", &sql_rows_module, &row_streams},
	{"classes", "yore_classes", &sql_rows_module, &row_classes},
	{"state", "yore_state", &sql_rows_module, &row_state},
	{"state_at", "yore_state_at", &sql_rows_module, &row_state_at},
	{"losses", "yore_losses", &sql_rows_module, &row_losses},
	{"threads", "yore_threads", &sql_rows_module, &row_threads},
	{"thread_state", "yore_thread_state", &sql_rows_module, &row_thread_state},
	{"wakeups", "yore_wakeups", &sql_rows_module, &row_wakeups},
	{"syscalls", "yore_syscalls", &sql_rows_module, &row_syscalls},
	{"do", "yore_do", &sql_rows_module, &row_do},
	{"info", "yore_info", &sql_rows_module, &row_info},
	{"notes", "yore_notes", &sql_rows_module, &row_notes},
	{.name = NULL}};

static int create(sqlite3 *db, const char *name, const sqlite3_module *module,
		  const struct sql_source *source)
{
	return sqlite3_create_module_v2(db, name, module, sql_source_new(source), sql_source_free);
}

int sql_register_free_tables(sqlite3 *db, struct sql_context *context)
{
	struct sql_source source = {.context = context};
	int code = create(db, "yore", &sql_events_module, &source);

	for (const struct sql_module_name *at = sql_modules; code == SQLITE_OK && at->name; at++) {
		source.name = at;
		code = create(db, at->free_name, at->module, &source);
	}
	return code;
}

static bool is_taken(const char *name)
{
	for (size_t i = 0; sql_modules[i].name; i++)
		if (!sqlite3_stricmp(name, sql_modules[i].name) ||
		    !sqlite3_stricmp(name, sql_modules[i].free_name))
			return true;
	return !sqlite3_stricmp(name, "yore") || !sqlite3_strnicmp(name, "sqlite_", 7);
}

static int register_group(sqlite3 *db, struct sql_context *context, struct sql_host *host, size_t i)
{
	struct sql_source source = {.context = context, .host = host, .group = &host->groups[i]};

	return is_taken(source.group->name)
		       ? SQLITE_OK
		       : create(db, source.group->name, &sql_events_module, &source);
}

int sql_register_named(sqlite3 *db, struct sql_context *context, struct sql_host *host,
		       const char *name)
{
	uint32_t i;

	if (!nameset_find(&host->group_of, name, &i) || bitset_has(host->registered, i))
		return SQLITE_OK;
	bitset_add(host->registered, i);
	return register_group(db, context, host, i);
}

static void register_lazily(struct sql_host *host)
{
	host->registered = bitset_new(host->ngroups);
	host->group_of.folds = true;
	for (size_t i = 0; i < host->ngroups; i++)
		nameset_add(&host->group_of, host->groups[i].name, (uint32_t)i);
}

int sql_register_tables(sqlite3 *db, struct sql_context *context, struct sql_host *host,
			bool lazily)
{
	enum { GROUPS_FEW = 1024 };
	struct sql_source source = {.context = context, .host = host};
	int code = SQLITE_OK;

	lazily = lazily && host->ngroups > GROUPS_FEW;
	if (lazily)
		register_lazily(host);
	for (size_t i = 0; code == SQLITE_OK && !lazily && i < host->ngroups; i++)
		code = register_group(db, context, host, i);
	for (const struct sql_module_name *at = sql_modules; code == SQLITE_OK && at->name; at++) {
		source.name = at;
		code = create(db, at->name, at->module, &source);
	}
	return code;
}
