/*
 * trace_messages.c - messages as bytes
 *
 *     OFF  TYPE  MEANING
 *       0  u8    enum message_kind
 *       1  u64   bytes that follow
 *       9        columns: name and type of each, both ended by a zero
 *                row: of each value its kind (u8), and 8 bytes of a number, or a length (u64) and
 * so many bytes end: done (u8), kind of the error (u8), damaged parts (u64), text of the error
 */
#include "repl/commands/trace_messages.h"

#include "engine/base/folder.h"
#include "engine/base/mem.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { HEAD = 9, FLUSH_AT = 1 << 16 };

bool worker_flush(struct trace_worker *worker, struct error *err)
{
	bool ok = !worker->out.len || file_put(worker->fd, worker->out.data, worker->out.len);

	buf_clear(&worker->out);
	return ok || error_set(err, ERR_IO, "writing rows: %s", strerror(errno));
}

static void put_u64(struct buf *out, uint64_t number)
{
	buf_add(out, &number, sizeof number);
}

/* Begins a message; its length is put in by end_message(). */
static size_t begin_message(struct trace_worker *worker, enum message_kind kind)
{
	size_t at = worker->out.len;

	buf_add_char(&worker->out, (char)kind);
	put_u64(&worker->out, 0);
	return at;
}

static bool end_message(struct trace_worker *worker, size_t at, struct error *err)
{
	uint64_t len = worker->out.len - at - HEAD;

	memcpy(worker->out.data + at + 1, &len, sizeof len);
	return worker->out.len < FLUSH_AT || worker_flush(worker, err);
}

bool worker_columns(struct trace_worker *worker, const struct sql_column *columns, size_t count,
		    struct error *err)
{
	size_t at = begin_message(worker, MESSAGE_COLUMNS);

	for (size_t i = 0; i < count; i++) {
		buf_add(&worker->out, columns[i].name, strlen(columns[i].name) + 1);
		buf_add(&worker->out, columns[i].type, strlen(columns[i].type) + 1);
	}
	return end_message(worker, at, err) && worker_flush(worker, err);
}

static void send_value(struct buf *out, const struct sql_value *value)
{
	buf_add_char(out, (char)value->kind);
	if (value->kind == SQL_INTEGER)
		buf_add(out, &value->integer, sizeof value->integer);
	if (value->kind == SQL_REAL)
		buf_add(out, &value->real, sizeof value->real);
	if (value->kind == SQL_TEXT || value->kind == SQL_BLOB) {
		put_u64(out, value->len);
		buf_add(out, value->bytes, value->len);
	}
}

bool worker_row(struct trace_worker *worker, const struct sql_value *values, size_t count,
		struct error *err)
{
	size_t at = begin_message(worker, MESSAGE_ROW);

	for (size_t i = 0; i < count; i++)
		send_value(&worker->out, &values[i]);
	return end_message(worker, at, err);
}

bool worker_end(struct trace_worker *worker, bool ok, uint64_t damaged, const struct error *cause,
		struct error *err)
{
	size_t at = begin_message(worker, MESSAGE_END);

	buf_add_char(&worker->out, ok);
	buf_add_char(&worker->out, (char)(ok ? ERR_NONE : cause->kind));
	put_u64(&worker->out, damaged);
	if (!ok)
		buf_add_text(&worker->out, cause->text);
	return end_message(worker, at, err) && worker_flush(worker, err);
}

/* Reading: what a killed worker cut short is never whole */

bool message_next(const char *bytes, size_t len, struct message *out)
{
	uint64_t inner;

	if (len < HEAD)
		return false;
	memcpy(&inner, bytes + 1, sizeof inner);
	if (inner > len - HEAD)
		return false;
	*out = (struct message){.kind = (enum message_kind)(unsigned char)bytes[0],
				.bytes = bytes + HEAD,
				.len = inner,
				.all = inner + HEAD};
	return true;
}

static const char *take_text(const char **at)
{
	const char *text = *at;

	*at += strlen(text) + 1;
	return text;
}

struct sql_column *message_columns(const struct message *message, size_t *count)
{
	const char *at = message->bytes, *end = at + message->len;
	struct sql_column *columns = NULL;
	size_t capacity = 0;

	*count = 0;
	while (at < end) {
		struct sql_column *column = mem_push(columns, *count, capacity);
		column->name = take_text(&at);
		column->type = take_text(&at);
	}
	return columns;
}

struct sql_value *message_values(const struct message *message, size_t *count)
{
	const char *at = message->bytes, *end = at + message->len;
	struct sql_value *values = NULL;
	size_t capacity = 0;

	*count = 0;
	while (at < end) {
		struct sql_value *value = mem_push(values, *count, capacity);
		uint64_t len = 0;

		*value = (struct sql_value){.kind = (enum sql_kind)(unsigned char)*at++};
		if (value->kind == SQL_NULL)
			continue;
		memcpy(&len, at, sizeof len);
		memcpy(&value->integer, at, sizeof value->integer);
		memcpy(&value->real, at, sizeof value->real);
		at += sizeof len;
		if (value->kind != SQL_TEXT && value->kind != SQL_BLOB)
			continue;
		value->bytes = at;
		value->len = len;
		at += len;
	}
	return values;
}

void message_end(const struct message *message, struct worker_end *out)
{
	const char *at = message->bytes;
	int len = (int)message->len - 10;

	out->fate = at[0] ? WORKER_DONE : WORKER_FAILED;
	memcpy(&out->damaged, at + 2, sizeof out->damaged);
	if (out->fate == WORKER_FAILED)
		error_set(&out->error, (enum error_kind)(unsigned char)at[1], "%.*s", len, at + 10);
}
