/*
 * cmdlines.c - the saved command lines as a stream: one packet of text, each line "PID COMM"
 *
 * The kernel saved them when the recording ended; the events have no time and hold from the start.
 * A comm may contain blanks; lines without a number are skipped.
 */
#include "engine/field_make.h"
#include "engine/ftrace/ftrace_internal.h"

#include <string.h>

static bool cmdlines_add_class(struct ftrace_file *file, struct event_class **out,
			       struct error *err)
{
	struct arena *arena = file->trace->arena;
	struct field_class *payload = field_make_struct(arena, 2);
	uint32_t registers;

	field_make_member(payload, "pid", field_make_int(arena, 32, true));
	field_make_member(payload, "comm", field_make(arena, FIELD_STRING));
	*out = trace_add_class(file->trace, file->part, "saved_cmdline");
	(*out)->id = UINT64_MAX - 1;
	(*out)->stream_id = 1;
	(*out)->scope[SCOPE_PAYLOAD] = payload;
	if (!field_make_layout(arena, *out, &registers, err))
		return false;
	if ((*out)->nslots > file->greatest_slots)
		file->greatest_slots = (*out)->nslots;
	return true;
}

bool ftrace_add_cmdlines(struct ftrace_file *file, struct error *err)
{
	struct arena *arena = file->trace->arena;
	struct event_class *class;

	if (!file->cmdlines || !file->cmdlines_bytes || file->cmdlines_bytes > UINT32_MAX / 2)
		return true;
	if (!cmdlines_add_class(file, &class, err))
		return false;
	struct stream *stream = trace_add_stream(file->trace, file->part, "saved_cmdlines");
	struct ftrace_stream *own = arena_alloc(arena, sizeof *own);
	own->file = file;
	own->content = CONTENT_CMDLINES;
	own->page_bytes = file->page_bytes;
	own->offset = file->cmdlines_at;
	own->size = file->cmdlines_bytes;
	stream->priv = own;
	own->class_index = class->index;
	stream->id = 1;
	stream->has_time = true;
	stream->sources = arena_alloc(arena, sizeof(struct source *));
	stream->sources[0] = file->cmdlines;
	stream->nsources = 1;
	stream->bytes = own->size;
	return true;
}

/* Finds the next line from *at on that begins with a number, at *begin; moves *at behind it. */
bool cmdlines_next(const uint8_t *data, size_t size, size_t *at, size_t *begin)
{
	while (*at < size) {
		const uint8_t *from = data + *at, *end = memchr(from, '\n', size - *at);
		*begin = *at;
		*at = end ? (size_t)(end - data) + 1 : size;
		while (*begin < *at && data[*begin] == ' ')
			(*begin)++;
		if (*begin < *at && data[*begin] >= '0' && data[*begin] <= '9')
			return true;
	}
	return false;
}

void cmdlines_fields(const struct event_class *class, const uint8_t *line, size_t size,
		     struct slot *slots)
{
	const struct field_class *payload = class->scope[SCOPE_PAYLOAD];
	struct slot *own = slots + class->slot_base[SCOPE_PAYLOAD];
	uint64_t pid = 0;
	size_t at = 0;

	for (; at < size && line[at] >= '0' && line[at] <= '9'; at++)
		pid = pid * 10 + (uint64_t)(line[at] - '0');
	at += at < size && line[at] == ' ';
	own[payload->members[0].class->slot].s = (int32_t)pid;
	own[payload->members[1].class->slot] =
		(struct slot){.bytes = line + at, .n = strnlen((const char *)line + at, size - at)};
}
