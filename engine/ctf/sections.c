/*
 * sections.c - finds the name of the channel of each stream
 *
 * CTF 1.8 has no name for a stream class. barectf writes it in a comment (tsdl_block.c). LTTng and
 * perf write a file per CPU, CHANNEL_CPU, and LTTng's tracefile rotation CHANNEL_CPU_COUNT
 * (lttng-tools, utils_create_stream_file). The channel is the file's name without these numbers.
 */
#include "engine/ctf/ctf_internal.h"

#include <string.h>

/* Returns the length of the name without "_NUMBER" at its end, and the number; 0: no such end. */
static size_t without_number(const char *name, size_t len, uint64_t *number)
{
	size_t digits = 0;
	uint64_t unit = 1;

	*number = 0;
	for (; digits < len && name[len - digits - 1] >= '0' && name[len - digits - 1] <= '9';
	     digits++, unit *= 10)
		if (digits < 18)
			*number += (uint64_t)(name[len - digits - 1] - '0') * unit;
	if (!digits || digits > 18 || len < digits + 2 || name[len - digits - 1] != '_')
		return 0;
	return len - digits - 1;
}

static const char *file_name(const struct stream *stream)
{
	return basename(source_name(stream->sources[0]));
}

/* Is the file's name CHANNEL_CPU_COUNT? Then the last number is not the CPU, the one before is. */
static bool is_rotated(const struct stream *stream)
{
	const char *name = file_name(stream);
	uint64_t count, cpu;
	size_t left = without_number(name, strlen(name), &count);

	return stream->cpu >= 0 && left && count != (uint64_t)stream->cpu &&
	       without_number(name, left, &cpu) && cpu == (uint64_t)stream->cpu;
}

static const char *channel_of(const struct stream *stream, bool rotated, struct arena *arena)
{
	const char *name = file_name(stream);
	size_t len = strlen(name), left;
	uint64_t number;

	for (int i = 0; i < 1 + rotated && (left = without_number(name, len, &number)); i++)
		len = left;
	return arena_strndup(arena, name, len);
}

void ctf_name_sections(struct ctf_part *part)
{
	struct trace *trace = part->trace;

	for (size_t i = part->first_stream; i < part->end_stream; i++) {
		struct ctf_stream_class *class =
			&part->classes[stream_state(trace->streams[i])->class - part->classes];
		class->rotated |= is_rotated(trace->streams[i]);
	}
	for (size_t i = part->first_stream; i < part->end_stream; i++) {
		struct stream *stream = trace->streams[i];
		const struct ctf_stream_class *class = stream_state(stream)->class;
		if (class->description->name)
			stream->section = class->description->name;
		else if (stream->nsources)
			stream->section = channel_of(stream, class->rotated, trace->arena);
	}
}
