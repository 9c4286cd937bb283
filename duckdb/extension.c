/*
 * extension.c - the extension that DuckDB loads
 *
 *     LOAD 'yore.duckdb_extension';
 *     SELECT next_comm, count(*) FROM yore_events('trace', 'sched_switch') GROUP BY 1;
 *
 * DuckDB derives the entry point's name from the file's. The file is a shared object with a footer
 * (local.mk) that names the version of the interface and the machine.
 */
#include "duckdb/duckdb_internal.h"

struct duck_api duck;

static void add_parameter(struct duck_table_function *function, const char *name, int id)
{
	struct duck_type *type = duck.create_logical_type(id);

	if (name)
		duck.table_function_add_named_parameter(function, name, type);
	else
		duck.table_function_add_parameter(function, type);
	duck.destroy_logical_type(&type);
}

/*
 * Registers the function with a fixed number of arguments: in DuckDB's C interface only named
 * arguments are optional.
 */
static bool add_function(struct duck_connection *connection, const struct duck_table *table)
{
	struct duck_table_function *function = duck.create_table_function();

	duck.table_function_set_name(function, table->name);
	for (unsigned i = 0; i < table->count; i++)
		add_parameter(function, NULL, table->is_moment >> i & 1 ? DUCK_ANY : DUCK_VARCHAR);
	if (table->range) {
		add_parameter(function, "begin", DUCK_ANY);
		add_parameter(function, "until", DUCK_ANY);
	}
	add_parameter(function, "skip_damage", DUCK_BOOLEAN);
	duck.table_function_set_extra_info(function, (void *)(uintptr_t)table, NULL);
	duck.table_function_set_bind(function, table->bind);
	duck.table_function_set_init(function, table->init);
	if (table->local)
		duck.table_function_set_local_init(function, table->local);
	duck.table_function_set_function(function, table->scan);
	duck.table_function_supports_projection_pushdown(function, true);
	bool good = duck.register_table_function(connection, function) == 0;
	duck.destroy_table_function(&function);
	return good;
}

static bool add_all(struct duck_connection *connection)
{
	bool good = add_function(connection, &duck_events);

	for (const struct duck_table *table = duck_rows; table->name && good; table++)
		good = add_function(connection, table);
	return good;
}

__attribute__((visibility("default"))) bool yore_init_c_api(struct duck_extension *info,
							    struct duck_access *access);

bool yore_init_c_api(struct duck_extension *info, struct duck_access *access)
{
	const void *api = access->get_api(info, DUCK_API_VERSION);
	struct duck_connection *connection;

	if (!api)
		return false; /* DuckDB says why */
	memcpy(&duck, api, sizeof duck);
	if (duck.connect(*access->get_database(info), &connection) != 0) {
		access->set_error(info, "yore: no connection to the database");
		return false;
	}
	bool good = add_all(connection);
	duck.disconnect(&connection);
	if (!good)
		access->set_error(info, "yore: its table functions cannot be registered");
	return good;
}
