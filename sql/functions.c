/*
 * functions.c - times, numbers, values at a moment
 *
 *     ts('12:03:04.5')        nanoseconds, in any of the ways in which yore reads times
 *     time(x)                 SQLite's own; notes where ts(x) is meant
 *     time_text(ts [, STYLE]) the way back; STYLE: clock, iso, seconds, ns, relative
 *     span(ns)                a length of time: 1.5 us
 *     u64(x)                  the 64 bits as an unsigned number's text; of a text, the bits
 *     hex(x)                  of an integer 0x...; of anything else what SQLite says
 *     state_at(PATH, ts)      the value of an attribute
 *     symbol(ADDRESS [, PID [, ts]])  the function that is there
 *     comm(TID, ts)           the name that the thread had then, or last before
 *     yore_where(TEXT, value, ...)    is the condition true of a row?
 *     yore_open(PATH)         tables of that trace under their plain names
 *     yore_pushdown(0 or 1)   whether scans take constraints; for tests
 */
#include "engine/symbols/symbols.h"
#include "rows/comms.h"
#include "rows/lookup.h"
#include "sql/sql_internal.h"
#include "state/state.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static struct sql_host *host_of(sqlite3_context *out)
{
	struct sql_context *context = sqlite3_user_data(out);

	if (!context->hosts)
		sqlite3_result_error(out, "no trace is open: SELECT yore_open('PATH')", -1);
	return context->hosts;
}

/* False: the value is NULL, and so is the result, or it is no time: the result is an error. */
static bool moment_of(sqlite3_context *out, struct sql_host *host, sqlite3_value *value, nstime *t)
{
	struct error err;

	if (sqlite3_value_type(value) == SQLITE_NULL)
		return false;
	if (sql_host_moment(host, value, t, &err))
		return true;
	sql_result_error(out, &err);
	return false;
}

static void fn_ts(sqlite3_context *out, int argc, sqlite3_value **argv)
{
	struct sql_host *host = host_of(out);
	const char *text = (const char *)sqlite3_value_text(argv[0]);
	struct error err;
	nstime t;

	(void)argc;
	if (!host || !text)
		return;
	if (sqlite3_value_type(argv[0]) == SQLITE_INTEGER)
		sqlite3_result_value(out, argv[0]);
	else if (sql_host_time(host, text, &t, &err))
		sqlite3_result_int64(out, t);
	else
		sql_result_error(out, &err);
}

/* Replaces SQLite's time(x): returns what it would, by strftime(), and notes a text like '+1ms'. */
static void fn_time(sqlite3_context *out, int argc, sqlite3_value **argv)
{
	const struct sql_context *context = sqlite3_user_data(out);
	const char *text = (const char *)sqlite3_value_text(argv[0]);
	sqlite3_stmt *stmt;

	(void)argc;
	if (text && context->hosts && (*text == '+' || *text == '-' || *text == '@'))
		sql_note(context->hosts,
			 "time('%.40s') is SQLite's function, and NULL: a time of the trace is "
			 "ts('%.40s')",
			 text, text);
	if (sqlite3_prepare_v2(sqlite3_context_db_handle(out), "SELECT strftime('%H:%M:%S', ?1)",
			       -1, &stmt, NULL) != SQLITE_OK)
		return;
	sqlite3_bind_value(stmt, 1, argv[0]);
	if (sqlite3_step(stmt) == SQLITE_ROW)
		sqlite3_result_value(out, sqlite3_column_value(stmt, 0));
	sqlite3_finalize(stmt);
}

/* span(1500) is '1.5 us'. */
static void fn_span(sqlite3_context *out, int argc, sqlite3_value **argv)
{
	char text[TIME_TEXT_MAX];

	(void)argc;
	if (sqlite3_value_numeric_type(argv[0]) == SQLITE_TEXT)
		sqlite3_result_error(out, "span: a number of nanoseconds is expected", -1);
	if (sqlite3_value_numeric_type(argv[0]) == SQLITE_NULL ||
	    sqlite3_value_numeric_type(argv[0]) == SQLITE_TEXT)
		return;
	const char *end = span_put(sqlite3_value_int64(argv[0]), text);
	sqlite3_result_text(out, text, (int)(end - text), SQLITE_TRANSIENT);
}

static bool style_named(const char *name, enum time_style *style)
{
	static const char *const names[] = {"clock", "iso", "seconds", "ns", "relative"};

	for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
		if (name && !strcmp(name, names[i])) {
			*style = (enum time_style)i;
			return true;
		}
	return false;
}

static void fn_time_text(sqlite3_context *out, int argc, sqlite3_value **argv)
{
	struct sql_host *host = host_of(out);
	enum time_style style = TIME_CLOCK;
	struct times times;
	struct error err;
	char text[TIME_TEXT_MAX];
	nstime t;

	if (!host || !moment_of(out, host, argv[0], &t))
		return;
	if (argc > 1 && !style_named((const char *)sqlite3_value_text(argv[1]), &style)) {
		sqlite3_result_error(out, "time_text: clock, iso, seconds, ns or relative", -1);
		return;
	}
	if (!sql_host_times(host, style, &times, &err)) {
		sql_result_error(out, &err);
		return;
	}
	const char *end = time_put(&times, t, text);
	sqlite3_result_text(out, text, (int)(end - text), SQLITE_TRANSIENT);
}

/* Decimal or 0x digits of an unsigned 64-bit number; false: it is none. */
static bool read_u64(const char *text, uint64_t *out)
{
	bool hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
	int base = hex ? 16 : 10;

	*out = 0;
	text += hex ? 2 : 0;
	if (!*text)
		return false;
	for (; *text; text++) {
		int digit = hex_digit(*text);
		if (digit < 0 || digit >= base || __builtin_mul_overflow(*out, base, out) ||
		    __builtin_add_overflow(*out, digit, out))
			return false;
	}
	return true;
}

static void fn_u64(sqlite3_context *out, int argc, sqlite3_value **argv)
{
	char text[24];
	uint64_t number;

	(void)argc;
	switch (sqlite3_value_type(argv[0])) {
	case SQLITE_NULL:
		return;
	case SQLITE_TEXT:
		if (read_u64((const char *)sqlite3_value_text(argv[0]), &number))
			sqlite3_result_int64(out, (int64_t)number);
		else
			sqlite3_result_error(out, "u64: not an unsigned 64-bit number", -1);
		return;
	default:
		snprintf(text, sizeof text, "%" PRIu64, (uint64_t)sqlite3_value_int64(argv[0]));
		sqlite3_result_text(out, text, -1, SQLITE_TRANSIENT);
	}
}

static void fn_hex(sqlite3_context *out, int argc, sqlite3_value **argv)
{
	static const char digits[] = "0123456789ABCDEF";
	char text[24];

	(void)argc;
	if (sqlite3_value_type(argv[0]) == SQLITE_INTEGER) {
		snprintf(text, sizeof text, "0x%" PRIx64, (uint64_t)sqlite3_value_int64(argv[0]));
		sqlite3_result_text(out, text, -1, SQLITE_TRANSIENT);
		return;
	}
	const uint8_t *bytes = sqlite3_value_blob(argv[0]);
	size_t len = (size_t)sqlite3_value_bytes(argv[0]);
	struct buf hex = {0};
	for (size_t i = 0; i < len; i++) {
		buf_add_char(&hex, digits[bytes[i] >> 4]);
		buf_add_char(&hex, digits[bytes[i] & 15]);
	}
	sqlite3_result_text64(out, buf_text(&hex), hex.len, SQLITE_TRANSIENT, SQLITE_UTF8);
	buf_release(&hex);
}

static void fn_state_at(sqlite3_context *out, int argc, sqlite3_value **argv)
{
	struct sql_host *host = host_of(out);
	const char *path = (const char *)sqlite3_value_text(argv[0]);
	const struct value *found;
	struct error err;
	nstime t;

	(void)argc;
	if (!host || !path || !moment_of(out, host, argv[1], &t))
		return;
	if (!sql_host_is_final(host, t, &err) ||
	    !lookup_value_at(&host->rows, path, t, &found, &err))
		sql_result_error(out, &err);
	else if (found)
		sql_result_state(out, found);
}

static void fn_comm(sqlite3_context *out, int argc, sqlite3_value **argv)
{
	struct sql_host *host = host_of(out);
	const char *name;
	struct error err;
	nstime t;

	(void)argc;
	if (!host || sqlite3_value_type(argv[0]) != SQLITE_INTEGER ||
	    !moment_of(out, host, argv[1], &t))
		return;
	struct value tid = value_s64(sqlite3_value_int64(argv[0]));
	if (!sql_host_is_final(host, t, &err) || !comms_at(&host->rows, &tid, t, &name, &err))
		sql_result_error(out, &err);
	else
		sqlite3_result_text(out, name, -1, SQLITE_TRANSIENT);
}

/* On 64-bit machines the upper half of the addresses belongs to the kernel. */
static bool is_kernel(uint64_t address)
{
	return address >> 63;
}

/* Gives a note, once for each reason, why symbol() is NULL; many addresses share a reason. */
static void note_no_symbol(struct sql_host *host, uint64_t address, bool told, int64_t pid)
{
	bool *noted = is_kernel(address) ? &host->noted_kernel
		      : told             ? &host->noted_mapped
					 : &host->noted_process;

	if (*noted || !address)
		return;
	*noted = true;
	if (is_kernel(address))
		sql_note(host,
			 "symbol() knows no function at 0x%" PRIx64
			 ": symbols of the recorded kernel are not all there",
			 address);
	else if (told)
		sql_note(host,
			 "symbol() knows no function at 0x%" PRIx64 " of process %" PRId64
			 ": the trace does not tell what was mapped there then, or its symbols are "
			 "not here",
			 address, pid);
	else
		sql_note(host,
			 "symbol(ADDRESS) is of the kernel: 0x%" PRIx64
			 " is a process', ask for symbol(ADDRESS, PID, TS)",
			 address);
}

/*
 * With 64-bit words the upper half of the addresses is the kernel's. With 32-bit words, the maps of
 * the process are searched first, then the kernel's symbols.
 */
static bool find_function(struct symbols *symbols, const struct part *part, nstime t, bool told,
			  int64_t pid, uint64_t address, struct symbol *out)
{
	bool halves = part->word_bits != 32;

	if (halves)
		return symbols_find(symbols, part->index, t, pid, is_kernel(address), address, 0,
				    out) &&
		       out->function;
	return (told && symbols_find(symbols, part->index, t, pid, false, address, 0, out) &&
		out->function) ||
	       (symbols_find(symbols, part->index, t, pid, true, address, 0, out) && out->function);
}

static void fn_symbol(sqlite3_context *out, int argc, sqlite3_value **argv)
{
	struct sql_host *host = host_of(out);
	struct symbols *symbols;
	struct symbol symbol;
	struct error err;

	if (!host || sqlite3_value_type(argv[0]) != SQLITE_INTEGER)
		return;
	uint64_t address = (uint64_t)sqlite3_value_int64(argv[0]);
	bool told = argc > 1 && sqlite3_value_type(argv[1]) == SQLITE_INTEGER;
	int64_t pid = told ? sqlite3_value_int64(argv[1]) : -1;
	nstime t = NSTIME_MAX - 1;
	if (argc > 2 && sqlite3_value_type(argv[2]) != SQLITE_NULL &&
	    !moment_of(out, host, argv[2], &t))
		return;
	if (told && !sql_host_is_final(host, t, &err)) {
		sql_result_error(out, &err);
		return;
	}
	symbols = sql_host_symbols(host);
	for (uint32_t i = 0; symbols && i < host->trace->nparts; i++)
		if (find_function(symbols, host->trace->parts[i], t, told, pid, address, &symbol)) {
			sqlite3_result_text(out, symbol.function, -1, SQLITE_TRANSIENT);
			return;
		}
	note_no_symbol(host, address, told, pid);
}

/*
 * Prepared statements keep the modules that their table names had when they were prepared. Changing
 * a setting, and changing it back, makes SQLite prepare them again.
 */
static void forget_statements(sqlite3 *db)
{
	int on, ignored;

	if (sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_QPSG, -1, &on) != SQLITE_OK)
		return;
	sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_QPSG, !on, &ignored);
	sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_QPSG, on, &ignored);
}

static void fn_open(sqlite3_context *out, int argc, sqlite3_value **argv)
{
	struct sql_context *context = sqlite3_user_data(out);
	const char *path = (const char *)sqlite3_value_text(argv[0]);
	struct error err;

	(void)argc;
	if (!path)
		return;
	struct sql_host *host = sql_context_open(context, path, &err);
	if (!host) {
		sql_result_error(out, &err);
		return;
	}
	struct sql_host **at = &context->hosts;
	while (*at != host)
		at = &(*at)->next;
	*at = host->next;
	host->next = context->hosts;
	context->hosts = host;
	forget_statements(sqlite3_context_db_handle(out));
	if (sql_register_tables(sqlite3_context_db_handle(out), context, host, false) == SQLITE_OK)
		sqlite3_result_text(out, path, -1, SQLITE_TRANSIENT);
	else
		sqlite3_result_error(out, "yore_open: tables of another trace are in use", -1);
}

static void fn_pushdown(sqlite3_context *out, int argc, sqlite3_value **argv)
{
	const struct sql_context *context = sqlite3_user_data(out);

	(void)argc;
	for (struct sql_host *host = context->hosts; host; host = host->next)
		host->pushdown = sqlite3_value_int(argv[0]) != 0;
	forget_statements(sqlite3_context_db_handle(out));
	sqlite3_result_value(out, argv[0]);
}

int sql_register_functions(sqlite3 *db, struct sql_context *context)
{
	static const struct {
		const char *name;
		int nargs, flags;
		void (*call)(sqlite3_context *out, int argc, sqlite3_value **argv);
	} functions[] = {
		{"ts", 1, SQLITE_DETERMINISTIC, fn_ts},
		{"time", 1, SQLITE_INNOCUOUS, fn_time},
		{"time_text", 1, SQLITE_DETERMINISTIC, fn_time_text},
		{"time_text", 2, SQLITE_DETERMINISTIC, fn_time_text},
		{"span", 1, SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS, fn_span},
		{"u64", 1, SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS, fn_u64},
		{"hex", 1, SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS, fn_hex},
		{"state_at", 2, 0, fn_state_at},
		{"comm", 2, 0, fn_comm},
		{"symbol", 1, 0, fn_symbol},
		{"symbol", 2, 0, fn_symbol},
		{"symbol", 3, 0, fn_symbol},
		{"yore_where", -1, SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS, sql_row_condition},
		{"yore_open", 1, SQLITE_DIRECTONLY, fn_open},
		{"yore_pushdown", 1, SQLITE_DIRECTONLY, fn_pushdown},
	};
	int code = SQLITE_OK;

	for (size_t i = 0; code == SQLITE_OK && i < sizeof functions / sizeof *functions; i++) {
		sql_context_hold(context);
		code = sqlite3_create_function_v2(db, functions[i].name, functions[i].nargs,
						  SQLITE_UTF8 | functions[i].flags, context,
						  functions[i].call, NULL, NULL, sql_context_drop);
	}
	return code;
}
