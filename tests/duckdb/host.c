/* host.c - see host.h */
#include "tests/duckdb/host.h"

#include "tests/harness.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct duck_value {
	struct host_value is;
};

struct duck_type {
	int id;
};

struct duck_vector {
	int type;
	bool wanted;
	uint64_t valid[HOST_ROWS / 64];
	struct duck_string data[HOST_ROWS]; /* fits values of all types */
	char *texts[HOST_ROWS];
};

struct duck_chunk {
	struct duck_vector vectors[HOST_COLUMNS_MOST];
	uint64_t size;
};

struct data { /* data of a call, and the function that frees it */
	void *data;
	duck_delete_call *end;
};

struct duck_table_function {
	char name[32];
	unsigned count;
	const char *named[8];
	unsigned nnamed;
	duck_bind_call *bind;
	duck_init_call *init, *local;
	duck_function_call *scan;
	void *extra;
	bool projects;
};

struct duck_bind {
	const struct host_call *call;
	void *extra;
	struct data *data;
};

struct duck_init {
	void *bind;
	struct data *data;
};

struct duck_function {
	void *bind, *init, *local;
};

static struct duck_table_function functions[16];
static size_t nfunctions;
static long alive;
static char error_text[1024];
static bool failed;
static size_t most_threads;
static struct {
	char name[64];
	int type;
} columns[256];
static size_t ncolumns;
static uint64_t wanted[HOST_COLUMNS_MOST];
static size_t nwanted;
static struct duck_chunk *shown;

/* ---- values and types ---- */

static struct duck_value *value_new(const struct host_value *is)
{
	struct duck_value *value = calloc(1, sizeof *value);

	value->is = *is;
	alive++;
	return value;
}

static void destroy_value(struct duck_value **value)
{
	if (*value)
		alive--;
	free(*value);
	*value = NULL;
}

static bool get_bool(struct duck_value *value)
{
	return value->is.number != 0;
}

static int64_t get_int64(struct duck_value *value)
{
	return value->is.number;
}

static struct duck_time get_time(struct duck_value *value)
{
	return (struct duck_time){value->is.number};
}

static struct duck_type *get_value_type(struct duck_value *value)
{
	static struct duck_type type;

	type.id = value->is.type;
	return &type;
}

static char *get_varchar(struct duck_value *value)
{
	alive++;
	return strdup(value->is.text);
}

static void free_text(void *text)
{
	alive -= text != NULL;
	free(text);
}

static bool is_null_value(struct duck_value *value)
{
	return !value->is.type;
}

static struct duck_type *create_logical_type(int id)
{
	struct duck_type *type = calloc(1, sizeof *type);

	type->id = id;
	alive++;
	return type;
}

static struct duck_type *create_list_type(struct duck_type *element)
{
	return create_logical_type(100 + element->id);
}

static int get_type_id(struct duck_type *type)
{
	return type->id;
}

static void destroy_logical_type(struct duck_type **type)
{
	alive--;
	free(*type);
	*type = NULL;
}

/* ---- chunks ---- */

static uint64_t vector_size(void)
{
	return HOST_ROWS;
}

static struct duck_vector *get_vector(struct duck_chunk *chunk, uint64_t i)
{
	assert_true(i < nwanted && chunk->vectors[i].wanted);
	return &chunk->vectors[i];
}

static void set_size(struct duck_chunk *chunk, uint64_t size)
{
	assert_true(size <= HOST_ROWS);
	chunk->size = size;
}

static void *get_data(struct duck_vector *vector)
{
	return vector->data;
}

static uint64_t *get_validity(struct duck_vector *vector)
{
	return vector->valid;
}

static void ensure_validity(struct duck_vector *vector)
{
	memset(vector->valid, 0xff, sizeof vector->valid);
}

static void assign_text(struct duck_vector *vector, uint64_t row, const char *text, uint64_t length)
{
	struct duck_string *string = &vector->data[row];

	assert_true(row < HOST_ROWS && length > DUCK_INLINE_MOST);
	free(vector->texts[row]);
	vector->texts[row] = malloc(length);
	memcpy(vector->texts[row], text, length);
	string->length = (uint32_t)length;
	memcpy(string->prefix, text, sizeof string->prefix);
	string->pointer = vector->texts[row];
}

static struct duck_chunk *chunk_new(void)
{
	struct duck_chunk *chunk = calloc(1, sizeof *chunk);

	for (size_t i = 0; i < nwanted; i++) {
		chunk->vectors[i].wanted = wanted[i] < ncolumns;
		chunk->vectors[i].type = chunk->vectors[i].wanted ? columns[wanted[i]].type : 0;
		memset(chunk->vectors[i].valid, 0xff, sizeof chunk->vectors[i].valid);
		memset(chunk->vectors[i].data, 0xa5, sizeof chunk->vectors[i].data);
	}
	return chunk;
}

static void chunk_free(struct duck_chunk *chunk)
{
	for (size_t i = 0; i < HOST_COLUMNS_MOST; i++)
		for (size_t row = 0; row < HOST_ROWS; row++)
			free(chunk->vectors[i].texts[row]);
	free(chunk);
}

bool host_is_null(size_t column, size_t row)
{
	return !(shown->vectors[column].valid[row / 64] >> row % 64 & 1);
}

int64_t host_number(size_t column, size_t row)
{
	const struct duck_vector *vector = &shown->vectors[column];
	const void *data = vector->data;

	switch (vector->type) {
	case DUCK_BOOLEAN:
	case DUCK_UTINYINT:
		return ((const uint8_t *)data)[row];
	case DUCK_INTEGER:
		return ((const int32_t *)data)[row];
	case DUCK_UINTEGER:
		return ((const uint32_t *)data)[row];
	default:
		return ((const int64_t *)data)[row];
	}
}

const char *host_text(size_t column, size_t row)
{
	const struct duck_string *string = &shown->vectors[column].data[row];
	static char text[256];
	size_t len = string->length < sizeof text ? string->length : sizeof text - 1;

	assert_int_equal(shown->vectors[column].type, DUCK_VARCHAR);
	memcpy(text, string->length > DUCK_INLINE_MOST ? string->pointer : string->prefix, len);
	text[len] = 0;
	return text;
}

/* ---- registering ---- */

static int make_connection(struct duck_database *database, struct duck_connection **out)
{
	(void)database;
	*out = calloc(1, 1);
	alive++;
	return 0;
}

static void disconnect(struct duck_connection **connection)
{
	free(*connection);
	alive--;
}

static struct duck_table_function *create_function(void)
{
	alive++;
	return calloc(1, sizeof(struct duck_table_function));
}

static void destroy_function(struct duck_table_function **function)
{
	alive--;
	free(*function);
}

static void set_name(struct duck_table_function *function, const char *name)
{
	assert_true(strlen(name) < sizeof function->name);
	strcpy(function->name, name);
}

static void add_parameter(struct duck_table_function *function, struct duck_type *type)
{
	assert_true(type->id == DUCK_VARCHAR || type->id == DUCK_ANY);
	function->count++;
}

static void add_named(struct duck_table_function *function, const char *name,
		      struct duck_type *type)
{
	assert_true(type->id == DUCK_BOOLEAN || type->id == DUCK_ANY);
	function->named[function->nnamed++] = name;
}

static void set_extra(struct duck_table_function *function, void *info, duck_delete_call *end)
{
	assert_null(end);
	function->extra = info;
}

static void *get_extra(struct duck_bind *info)
{
	return info->extra;
}

static void set_bind(struct duck_table_function *function, duck_bind_call *call)
{
	function->bind = call;
}

static void set_init(struct duck_table_function *function, duck_init_call *call)
{
	function->init = call;
}

static void set_local(struct duck_table_function *function, duck_init_call *call)
{
	function->local = call;
}

static void set_scan(struct duck_table_function *function, duck_function_call *call)
{
	function->scan = call;
}

static void set_projects(struct duck_table_function *function, bool does)
{
	function->projects = does;
}

static int register_function(struct duck_connection *connection,
			     struct duck_table_function *function)
{
	(void)connection;
	assert_true(nfunctions < COUNT(functions) && function->projects);
	functions[nfunctions++] = *function;
	return 0;
}

/* ---- a call ---- */

static void say(const char *text)
{
	assert_false(failed); /* only one error per call */
	failed = true;
	snprintf(error_text, sizeof error_text, "%s", text);
}

static void add_column(struct duck_bind *info, const char *name, struct duck_type *type)
{
	(void)info;
	assert_true(ncolumns < COUNT(columns));
	snprintf(columns[ncolumns].name, sizeof columns[0].name, "%s", name);
	columns[ncolumns++].type = type->id;
}

static bool is_last(const struct host_value *value)
{
	return !value->type && !value->name && !value->text;
}

static struct duck_value *get_parameter(struct duck_bind *info, uint64_t i)
{
	for (const struct host_value *value = info->call->values; !is_last(value); value++)
		if (!value->name && !i--)
			return value_new(value);
	fail_msg("an argument that is not there");
	return NULL;
}

static struct duck_value *get_named(struct duck_bind *info, const char *name)
{
	for (const struct host_value *value = info->call->values; !is_last(value); value++)
		if (value->name && !strcmp(value->name, name))
			return value_new(value);
	return NULL;
}

static void set_data(struct data *to, void *data, duck_delete_call *end)
{
	*to = (struct data){data, end};
	alive++;
}

static void end_data(struct data *data)
{
	if (!data->data)
		return;
	data->end(data->data);
	alive--;
}

static void set_cardinality(struct duck_bind *info, uint64_t rows, bool exact)
{
	(void)info;
	assert_true(rows > 0 && !exact);
}

static void set_bind_data(struct duck_bind *info, void *data, duck_delete_call *end)
{
	set_data(info->data, data, end);
}

static void set_bind_error(struct duck_bind *info, const char *text)
{
	(void)info;
	say(text);
}

static void *init_bind_data(struct duck_init *info)
{
	return info->bind;
}

static void set_init_data(struct duck_init *info, void *data, duck_delete_call *end)
{
	set_data(info->data, data, end);
}

static uint64_t column_count(struct duck_init *info)
{
	(void)info;
	return nwanted;
}

static uint64_t column_index(struct duck_init *info, uint64_t i)
{
	(void)info;
	assert_true(i < nwanted);
	return wanted[i];
}

static void max_threads(struct duck_init *info, uint64_t threads)
{
	(void)info;
	most_threads = threads;
}

static void set_init_error(struct duck_init *info, const char *text)
{
	(void)info;
	say(text);
}

static void *function_init_data(struct duck_function *info)
{
	return info->init;
}

static void *function_local_data(struct duck_function *info)
{
	return info->local;
}

static void set_function_error(struct duck_function *info, const char *text)
{
	(void)info;
	say(text);
}

static void choose_columns(const struct host_call *call)
{
	nwanted = 0;
	if (!call->columns) { /* DuckDB requests this to count rows */
		wanted[nwanted++] = UINT64_MAX;
		return;
	}
	for (size_t i = 0; call->columns[i]; i++) {
		uint64_t at = 0;
		while (at < ncolumns && strcmp(columns[at].name, call->columns[i]) != 0)
			at++;
		assert_true(at < ncolumns && nwanted < HOST_COLUMNS_MOST);
		wanted[nwanted++] = at;
	}
}

static long take_chunks(const struct host_call *call, const struct duck_table_function *function,
			struct duck_function *infos, unsigned threads)
{
	bool done[8] = {false};
	long rows = 0;
	unsigned left = threads;

	for (size_t n = 0; left && !failed && (!call->chunks || n < call->chunks); n++) {
		unsigned i = (unsigned)(n % threads);
		if (done[i])
			continue;
		struct duck_chunk *chunk = shown = chunk_new();
		function->scan(&infos[i], chunk);
		rows += (long)chunk->size;
		for (size_t row = 0; row < chunk->size && call->row; row++)
			call->row(call->arg, call, row);
		done[i] = !chunk->size;
		left -= done[i];
		chunk_free(chunk);
	}
	return rows;
}

static long scan(const struct host_call *call, const struct duck_table_function *function,
		 void *bind, struct data *init)
{
	struct duck_init info = {bind, init};
	struct duck_function infos[8];
	struct data locals[8] = {{0}};
	unsigned threads = call->threads ? call->threads : 1;
	long rows = 0;

	most_threads = 0;
	choose_columns(call);
	function->init(&info);
	for (unsigned i = 0; i < threads && !failed; i++) {
		struct duck_init local = {bind, &locals[i]};
		if (function->local)
			function->local(&local);
		infos[i] = (struct duck_function){bind, init->data, locals[i].data};
	}
	if (!failed)
		rows = take_chunks(call, function, infos, threads);
	for (unsigned i = 0; i < threads; i++)
		end_data(&locals[i]);
	return rows;
}

long host_run(const struct host_call *call)
{
	struct data bind = {0}, init = {0};
	struct duck_bind info = {call, NULL, &bind};
	size_t i = 0;
	long rows = 0;

	while (i < nfunctions && strcmp(functions[i].name, call->function) != 0)
		i++;
	assert_true(i < nfunctions);
	failed = false;
	ncolumns = 0;
	info.extra = functions[i].extra;
	functions[i].bind(&info);
	if (!failed)
		rows = scan(call, &functions[i], bind.data, &init);
	end_data(&init);
	end_data(&bind);
	return failed ? -1 : rows;
}

const char *host_error(void)
{
	return error_text;
}

size_t host_threads(void)
{
	return most_threads;
}

int host_type(const char *column)
{
	for (size_t i = 0; i < ncolumns; i++)
		if (!strcmp(columns[i].name, column))
			return columns[i].type;
	return 0;
}

long host_alive(void)
{
	return alive;
}

/* ---- loading ---- */

static const struct duck_api ours = {
	.connect = make_connection,
	.disconnect = disconnect,
	.free = free_text,
	.vector_size = vector_size,
	.destroy_value = destroy_value,
	.get_bool = get_bool,
	.get_int64 = get_int64,
	.get_timestamp = get_time,
	.get_value_type = get_value_type,
	.get_varchar = get_varchar,
	.is_null_value = is_null_value,
	.create_logical_type = create_logical_type,
	.create_list_type = create_list_type,
	.get_type_id = get_type_id,
	.destroy_logical_type = destroy_logical_type,
	.data_chunk_get_vector = get_vector,
	.data_chunk_set_size = set_size,
	.vector_get_data = get_data,
	.vector_get_validity = get_validity,
	.vector_ensure_validity_writable = ensure_validity,
	.vector_assign_string_element_len = assign_text,
	.create_table_function = create_function,
	.destroy_table_function = destroy_function,
	.table_function_set_name = set_name,
	.table_function_add_parameter = add_parameter,
	.table_function_add_named_parameter = add_named,
	.table_function_set_extra_info = set_extra,
	.table_function_set_bind = set_bind,
	.table_function_set_init = set_init,
	.table_function_set_local_init = set_local,
	.table_function_set_function = set_scan,
	.table_function_supports_projection_pushdown = set_projects,
	.register_table_function = register_function,
	.bind_get_extra_info = get_extra,
	.bind_add_result_column = add_column,
	.bind_get_parameter = get_parameter,
	.bind_get_named_parameter = get_named,
	.bind_set_bind_data = set_bind_data,
	.bind_set_cardinality = set_cardinality,
	.bind_set_error = set_bind_error,
	.init_get_bind_data = init_bind_data,
	.init_set_init_data = set_init_data,
	.init_get_column_count = column_count,
	.init_get_column_index = column_index,
	.init_set_max_threads = max_threads,
	.init_set_error = set_init_error,
	.function_get_init_data = function_init_data,
	.function_get_local_init_data = function_local_data,
	.function_set_error = set_function_error,
	.get_timestamp_tz = get_time,
	.get_timestamp_ns = get_time,
};

static const void *get_api(struct duck_extension *info, const char *version)
{
	(void)info;
	assert_string_equal(version, "v1.2.0");
	return &ours;
}

static const void *get_no_api(struct duck_extension *info, const char *version)
{
	(void)info;
	(void)version;
	return NULL;
}

static struct duck_database **get_database(struct duck_extension *info)
{
	static struct duck_database *database;

	(void)info;
	return &database;
}

static void set_load_error(struct duck_extension *info, const char *text)
{
	(void)info;
	say(text);
}

static bool load(const char *path, const void *(*api)(struct duck_extension *, const char *))
{
	struct duck_access access = {set_load_error, get_database, api};
	bool (*entry)(struct duck_extension *, struct duck_access *);

	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!library)
		fail_msg("%s", dlerror());
	*(void **)&entry = dlsym(library, "yore_init_c_api");
	assert_non_null(entry);
	failed = false;
	return entry(NULL, &access);
}

void host_load(const char *path)
{
	if (!load(path, get_api))
		fail_msg("it does not load");
}

bool host_load_refused(const char *path)
{
	return load(path, get_no_api);
}
