/*
 * api.h - DuckDB's C interface for extensions, as far as this room uses it
 *
 * DuckDB passes a loaded extension a table of functions. Releases add functions at its end and
 * never move one, so that the places in the table are the interface. Source of all facts: duckdb.h
 * and duckdb_extension.h of github.com/duckdb/extension-template-c, version 1.2.0 of the interface;
 * the place of each function is its number among those of `duckdb_ext_api_v1`, from 0. Handles are
 * pointers to structures that DuckDB alone knows.
 */
#ifndef DUCKDB_API_H
#define DUCKDB_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DUCK_API_VERSION "v1.2.0"

struct duck_database;
struct duck_connection;
struct duck_value;
struct duck_type;
struct duck_chunk;
struct duck_vector;
struct duck_table_function;
struct duck_bind;
struct duck_init;
struct duck_function;
struct duck_extension;

/* enum DUCKDB_TYPE */
enum duck_type_id {
	DUCK_BOOLEAN = 1,
	DUCK_TINYINT = 2,
	DUCK_SMALLINT = 3,
	DUCK_INTEGER = 4,
	DUCK_BIGINT = 5,
	DUCK_UTINYINT = 6,
	DUCK_USMALLINT = 7,
	DUCK_UINTEGER = 8,
	DUCK_UBIGINT = 9,
	DUCK_FLOAT = 10,
	DUCK_DOUBLE = 11,
	DUCK_TIMESTAMP = 12,
	DUCK_HUGEINT = 16,
	DUCK_VARCHAR = 17,
	DUCK_BLOB = 18,
	DUCK_DECIMAL = 19,
	DUCK_TIMESTAMP_S = 20,
	DUCK_TIMESTAMP_MS = 21,
	DUCK_TIMESTAMP_NS = 22,
	DUCK_TIMESTAMP_TZ = 31,
	DUCK_ANY = 34
};

/*
 * A text or blob in a vector: up to 12 bytes stand in `prefix` and `rest`, the unused ones zero; of
 * more, the first four in `prefix`, and all at `pointer`, which is the vector's.
 */
enum { DUCK_INLINE_MOST = 12 };
struct duck_string {
	uint32_t length;
	char prefix[4];
	union {
		char rest[8];
		const char *pointer;
	};
};
_Static_assert(sizeof(struct duck_string) == 16, "as duckdb_string_t");

struct duck_time { /* microseconds or nanoseconds, by its type */
	int64_t count;
};

typedef void duck_bind_call(struct duck_bind *info);
typedef void duck_init_call(struct duck_init *info);
typedef void duck_function_call(struct duck_function *info, struct duck_chunk *out);
typedef void duck_delete_call(void *data);

/* Functions that return int return 0 on success. */
struct duck_api {
	void *unused_0[3];
	int (*connect)(struct duck_database *database, struct duck_connection **out); /* 3 */
	void *unused_4[2];
	void (*disconnect)(struct duck_connection **connection); /* 6 */
	void *unused_7[18];
	void (*free)(void *memory);    /* 25 */
	uint64_t (*vector_size)(void); /* 26 */
	void *unused_27[65];
	void (*destroy_value)(struct duck_value **value); /* 92 */
	void *unused_93[25];
	bool (*get_bool)(struct duck_value *value); /* 118 */
	void *unused_119[6];
	int64_t (*get_int64)(struct duck_value *value); /* 125 */
	void *unused_126[8];
	struct duck_time (*get_timestamp)(struct duck_value *value); /* 134 */
	void *unused_135;
	struct duck_type *(*get_value_type)(struct duck_value *value); /* 136: borrowed */
	void *unused_137[5];
	char *(*get_varchar)(struct duck_value *value); /* 142: freed with free() */
	void *unused_143[6];
	bool (*is_null_value)(struct duck_value *value); /* 149 */
	void *unused_150[6];
	struct duck_type *(*create_logical_type)(int id); /* 156 */
	void *unused_157[2];
	struct duck_type *(*create_list_type)(struct duck_type *element); /* 159 */
	void *unused_160[6];
	int (*get_type_id)(struct duck_type *type); /* 166 */
	void *unused_167[17];
	void (*destroy_logical_type)(struct duck_type **type); /* 184 */
	void *unused_185[5];
	struct duck_vector *(*data_chunk_get_vector)(struct duck_chunk *chunk,
						     uint64_t i); /* 190 */
	void *unused_191;
	void (*data_chunk_set_size)(struct duck_chunk *chunk, uint64_t size); /* 192 */
	void *unused_193;
	void *(*vector_get_data)(struct duck_vector *vector);                /* 194 */
	uint64_t *(*vector_get_validity)(struct duck_vector *vector);        /* 195 */
	void (*vector_ensure_validity_writable)(struct duck_vector *vector); /* 196 */
	void *unused_197;
	void (*vector_assign_string_element_len)(struct duck_vector *vector, uint64_t row,
						 const char *text, uint64_t length); /* 198 */
	struct duck_vector *(*list_vector_get_child)(struct duck_vector *vector);    /* 199 */
	uint64_t (*list_vector_get_size)(struct duck_vector *vector);                /* 200 */
	int (*list_vector_set_size)(struct duck_vector *vector, uint64_t size);      /* 201 */
	int (*list_vector_reserve)(struct duck_vector *vector, uint64_t capacity);   /* 202 */
	void *unused_203[39];
	struct duck_table_function *(*create_table_function)(void);            /* 242 */
	void (*destroy_table_function)(struct duck_table_function **function); /* 243 */
	void (*table_function_set_name)(struct duck_table_function *function,
					const char *name); /* 244 */
	void (*table_function_add_parameter)(struct duck_table_function *function,
					     struct duck_type *type); /* 245 */
	void (*table_function_add_named_parameter)(struct duck_table_function *function,
						   const char *name,
						   struct duck_type *type); /* 246 */
	void (*table_function_set_extra_info)(struct duck_table_function *function, void *info,
					      duck_delete_call *end); /* 247 */
	void (*table_function_set_bind)(struct duck_table_function *function,
					duck_bind_call *call); /* 248 */
	void (*table_function_set_init)(struct duck_table_function *function,
					duck_init_call *call); /* 249 */
	void (*table_function_set_local_init)(struct duck_table_function *function,
					      duck_init_call *call); /* 250 */
	void (*table_function_set_function)(struct duck_table_function *function,
					    duck_function_call *call); /* 251 */
	void (*table_function_supports_projection_pushdown)(struct duck_table_function *function,
							    bool does); /* 252 */
	int (*register_table_function)(struct duck_connection *connection,
				       struct duck_table_function *function); /* 253 */
	void *(*bind_get_extra_info)(struct duck_bind *info);                 /* 254 */
	void (*bind_add_result_column)(struct duck_bind *info, const char *name,
				       struct duck_type *type);                       /* 255 */
	uint64_t (*bind_get_parameter_count)(struct duck_bind *info);                 /* 256 */
	struct duck_value *(*bind_get_parameter)(struct duck_bind *info, uint64_t i); /* 257 */
	struct duck_value *(*bind_get_named_parameter)(struct duck_bind *info,
						       const char *name); /* 258 */
	void (*bind_set_bind_data)(struct duck_bind *info, void *data,
				   duck_delete_call *end);                               /* 259 */
	void (*bind_set_cardinality)(struct duck_bind *info, uint64_t rows, bool exact); /* 260 */
	void (*bind_set_error)(struct duck_bind *info, const char *text);                /* 261 */
	void *(*init_get_extra_info)(struct duck_init *info);                            /* 262 */
	void *(*init_get_bind_data)(struct duck_init *info);                             /* 263 */
	void (*init_set_init_data)(struct duck_init *info, void *data,
				   duck_delete_call *end);                        /* 264 */
	uint64_t (*init_get_column_count)(struct duck_init *info);                /* 265 */
	uint64_t (*init_get_column_index)(struct duck_init *info, uint64_t i);    /* 266 */
	void (*init_set_max_threads)(struct duck_init *info, uint64_t threads);   /* 267 */
	void (*init_set_error)(struct duck_init *info, const char *text);         /* 268 */
	void *(*function_get_extra_info)(struct duck_function *info);             /* 269 */
	void *(*function_get_bind_data)(struct duck_function *info);              /* 270 */
	void *(*function_get_init_data)(struct duck_function *info);              /* 271 */
	void *(*function_get_local_init_data)(struct duck_function *info);        /* 272 */
	void (*function_set_error)(struct duck_function *info, const char *text); /* 273 */
	void *unused_274[52];
	struct duck_time (*get_timestamp_tz)(struct duck_value *value); /* 326 */
	void *unused_327[2];
	struct duck_time (*get_timestamp_ns)(struct duck_value *value); /* 329 */
};

#define DUCK_PLACE(member, place)                                                     \
	_Static_assert(offsetof(struct duck_api, member) == (place) * sizeof(void *), \
		       #member " stands at its place")
DUCK_PLACE(connect, 3);
DUCK_PLACE(vector_size, 26);
DUCK_PLACE(destroy_value, 92);
DUCK_PLACE(get_int64, 125);
DUCK_PLACE(get_timestamp, 134);
DUCK_PLACE(get_value_type, 136);
DUCK_PLACE(get_varchar, 142);
DUCK_PLACE(is_null_value, 149);
DUCK_PLACE(create_logical_type, 156);
DUCK_PLACE(get_type_id, 166);
DUCK_PLACE(destroy_logical_type, 184);
DUCK_PLACE(data_chunk_set_size, 192);
DUCK_PLACE(list_vector_reserve, 202);
DUCK_PLACE(create_table_function, 242);
DUCK_PLACE(register_table_function, 253);
DUCK_PLACE(bind_set_error, 261);
DUCK_PLACE(function_set_error, 273);
DUCK_PLACE(get_timestamp_tz, 326);
DUCK_PLACE(get_timestamp_ns, 329);

/* The argument of the entry point. */
struct duck_access {
	void (*set_error)(struct duck_extension *info, const char *text);
	struct duck_database **(*get_database)(struct duck_extension *info);
	const void *(*get_api)(struct duck_extension *info, const char *version);
};

/* A copy: the table of DuckDB is valid only during the call that loads the extension. */
extern struct duck_api duck;

#endif
