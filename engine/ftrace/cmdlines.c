/*
 * cmdlines.c - the saved command lines as a stream: one packet of text, each line "PID COMM"
 *
 * They are as of when the recording ended, hence before all and without a time. A comm may hold
 * blanks; a line without a number is passed over.
 */
#include "engine/ftrace/ftrace_internal.h"

#include <string.h>

static struct field_class *field(struct arena *arena, enum field_kind kind, uint32_t bits)
{
	struct field_class *class = arena_alloc(arena, sizeof *class);

	class->kind = kind;
	class->align = 8;
	class->bits = bits;
	class->is_signed = bits;
	class->base = 10;
	class->clock = -1;
	return class;
}

static bool add_class(struct ftrace_file *file, struct event_class **out, struct error *err)
{
	struct arena *arena = file->trace->arena;
	struct field_class *payload = field(arena, FIELD_STRUCT, 0);
	struct layout_grid grid = {8, 0};
	struct layout *layout;
	uint32_t base;

	payload->members = arena_array(arena, 2, sizeof *payload->members);
	payload->nmembers = 2;
	payload->members[0] =
		(struct member){"pid", "pid", field(arena, FIELD_INT, 32), NULL, 0, false};
	payload->members[1] =
		(struct member){"comm", "comm", field(arena, FIELD_STRING, 0), NULL, 0, false};
	*out = trace_add_class(file->trace, file->part, "saved_cmdline");
	(*out)->id = UINT64_MAX - 1;
	(*out)->stream_id = 1;
	(*out)->scope[SCOPE_PAYLOAD] = payload;
	if (!layout_compile(&payload, 1, &base, &grid, arena, &layout, err))
		return false;
	(*out)->slot_base[SCOPE_PAYLOAD] = base;
	(*out)->nslots = layout_slots(layout);
	(*out)->layout = layout;
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
	if (!add_class(file, &class, err))
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

/* The next line with a number in front, from *at on: where it begins, *at moves behind it. */
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
