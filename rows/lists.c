/*
 * lists.c - small tables that describe the trace: streams, event classes, format and environment
 *
 *     streams(id, name, section, cpu, clock, files, bytes)
 *     classes(id, name, stream_id, format, loglevel, fields)     fields: JSON, names of the payload
 *     info(key, value)                                           format, clocks, environment ...
 *
 * Nothing is pushed down. No event is read, but `info` finds the times of the first and the last.
 */
#include "engine/base/quote.h"
#include "engine/columns/json.h"
#include "engine/reader.h"
#include "rows/row_table.h"

static bool fill_streams(struct row_host *host, struct row_list *list, struct error *err)
{
	const struct trace *trace = host->trace;

	(void)err;
	for (size_t i = 0; i < trace->nstreams; i++) {
		const struct stream *stream = trace->streams[i];
		struct value *row = row_list_add(list);
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

static bool fill_classes(struct row_host *host, struct row_list *list, struct error *err)
{
	const struct trace *trace = host->trace;

	(void)err;
	for (size_t i = 0; i < trace->nclasses; i++) {
		const struct event_class *class = trace->classes[i];
		if (class->unlisted)
			continue;
		struct value *row = row_list_add(list);
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
	struct value *row = row_list_add(list);

	cell_text(&row[0], arena_strdup(list->arena, key));
	cell_text(&row[1], value);
}

static void info_integer(struct row_list *list, const char *key, int64_t value)
{
	struct value *row = row_list_add(list);

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

static bool fill_info(struct row_host *host, struct row_list *list, struct error *err)
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
	if (!events_range(host->index, &first, &last, err))
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

static const struct row_column of_streams[] = {
	{"id", .type = ROW_INTEGER},    {"name", .type = ROW_TEXT},
	{"section", .type = ROW_TEXT},  {"cpu", .type = ROW_INTEGER},
	{"clock", .type = ROW_TEXT},    {"files", .type = ROW_INTEGER},
	{"bytes", .type = ROW_INTEGER}, ROW_TRACE_COLUMN};
static const struct row_column of_classes[] = {{"id", .type = ROW_INTEGER},
					       {"name", .type = ROW_TEXT},
					       {"stream_id", .type = ROW_INTEGER},
					       {"format", .type = ROW_TEXT},
					       {"loglevel", .type = ROW_INTEGER},
					       {"fields", .type = ROW_TEXT},
					       ROW_TRACE_COLUMN};
static const struct row_column of_info[] = {
	{"key", .type = ROW_TEXT}, {"value", .type = ROW_ANY}, ROW_TRACE_COLUMN};
const struct row_table row_streams = {of_streams, sizeof of_streams / sizeof *of_streams,
				      .fill = fill_streams};
const struct row_table row_classes = {of_classes, sizeof of_classes / sizeof *of_classes,
				      .fill = fill_classes};
const struct row_table row_info = {of_info, sizeof of_info / sizeof *of_info, .fill = fill_info};
