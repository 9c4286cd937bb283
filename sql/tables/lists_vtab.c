/*
 * lists_vtab.c - small tables: what the trace says of itself
 *
 *     streams(id, name, section, cpu, clock, files, bytes)
 *     classes(id, name, stream_id, format, loglevel, fields)     fields: JSON, names of the payload
 *     info(key, value)                                           format, clocks, environment ...
 *
 * Nothing is pushed down; no event is read, but info looks for the first and the last.
 */
#include "engine/base/quote.h"
#include "engine/columns/json.h"
#include "engine/reader.h"
#include "sql/tables/rows.h"

static bool fill_streams(struct sql_host *host, struct row_list *list, struct error *err)
{
	const struct trace *trace = host->trace;

	(void)err;
	for (size_t i = 0; i < trace->nstreams; i++) {
		const struct stream *stream = trace->streams[i];
		struct row_cell *row = row_list_add(list);
		cell_integer(&row[0], (int64_t)stream->id);
		cell_text(&row[1], stream->name);
		cell_text(&row[2], stream->section);
		int32_t cpu = index_stream_cpu(host->index, stream);
		if (cpu >= 0)
			cell_integer(&row[3], cpu);
		if (stream->clock >= 0)
			cell_text(&row[4], trace->clocks[stream->clock].name);
		cell_integer(&row[5], stream->nsources);
		cell_integer(&row[6], (int64_t)stream->bytes);
	}
	return true;
}

static const char *field_names(struct arena *arena, const struct field_class *payload)
{
	struct buf text = {0};

	buf_add_char(&text, '[');
	for (uint32_t i = 0; payload && i < payload->nmembers; i++) {
		if (payload->members[i].hidden)
			continue;
		if (text.len > 1)
			buf_add_char(&text, ',');
		json_add_text(&text, payload->members[i].name);
	}
	buf_add_char(&text, ']');
	const char *copy = arena_strdup(arena, buf_text(&text));
	buf_release(&text);
	return copy;
}

static bool fill_classes(struct sql_host *host, struct row_list *list, struct error *err)
{
	const struct trace *trace = host->trace;

	(void)err;
	for (size_t i = 0; i < trace->nclasses; i++) {
		const struct event_class *class = trace->classes[i];
		if (class->unlisted)
			continue;
		struct row_cell *row = row_list_add(list);
		cell_integer(&row[0], (int64_t) class->id);
		cell_text(&row[1], class->name);
		cell_integer(&row[2], (int64_t) class->stream_id);
		cell_text(&row[3], trace->parts[class->part]->reader->format);
		if (class->loglevel >= 0)
			cell_integer(&row[4], class->loglevel);
		cell_text(&row[5], field_names(list->arena, class->scope[SCOPE_PAYLOAD]));
	}
	return true;
}

static void info_text(struct row_list *list, const char *key, const char *value)
{
	struct row_cell *row = row_list_add(list);

	cell_text(&row[0], arena_strdup(list->arena, key));
	cell_text(&row[1], value);
}

static void info_integer(struct row_list *list, const char *key, int64_t value)
{
	struct row_cell *row = row_list_add(list);

	cell_text(&row[0], arena_strdup(list->arena, key));
	cell_integer(&row[1], value);
}

static void info_part(struct row_list *list, const struct part *part)
{
	char uuid[UUID_TEXT];

	info_text(list, "path", part->path);
	info_text(list, "format", part->reader->format);
	info_text(list, "version", part->version);
	if (part->has_uuid)
		info_text(list, "uuid", arena_strdup(list->arena, uuid_put(part->uuid, uuid)));
	for (size_t i = 0; i < part->nenv; i++) {
		const struct env_entry *entry = &part->env[i];
		const char *key = arena_printf(list->arena, "env.%s", entry->name);
		if (entry->text)
			info_text(list, key, entry->text);
		else
			info_integer(list, key, entry->number);
	}
}

static bool fill_info(struct sql_host *host, struct row_list *list, struct error *err)
{
	const struct trace *trace = host->trace;
	nstime first, last;

	for (size_t i = 0; i < trace->nparts; i++)
		info_part(list, trace->parts[i]);
	for (size_t i = 0; i < trace->nclocks; i++) {
		const struct clock *clock = &trace->clocks[i];
		info_text(list, "clock", clock->name);
		info_integer(list, "clock.frequency", (int64_t)clock->base.frequency);
		info_integer(list, "clock.epoch", clock->epoch);
	}
	if (!sql_host_bounds(host, &first, &last, err))
		return false;
	if (first <= last) {
		info_integer(list, "begin", first);
		info_integer(list, "end", last);
	}
	info_integer(list, "streams", (int64_t)trace->nstreams);
	info_integer(list, "classes", (int64_t)trace_listed_classes(trace));
	info_integer(list, "bytes", (int64_t)trace_bytes(trace));
	return true;
}

const struct rows_kind rows_streams = {
	"CREATE TABLE x(id INTEGER, name TEXT, section TEXT, cpu INTEGER, clock TEXT, "
	"files INTEGER, bytes INTEGER, trace TEXT HIDDEN)",
	8, fill_streams, NULL, 0};
const struct rows_kind rows_classes = {
	"CREATE TABLE x(id INTEGER, name TEXT, stream_id INTEGER, format TEXT, loglevel INTEGER, "
	"fields TEXT, trace TEXT HIDDEN)",
	7, fill_classes, NULL, 0};
const struct rows_kind rows_info = {"CREATE TABLE x(key TEXT, value, trace TEXT HIDDEN)", 3,
				    fill_info, NULL, 0};
