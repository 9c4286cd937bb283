/*
 * ovni_clocks.c - clock-offsets.txt: the offset of each host's clock
 *
 *     rank       hostname             offset_median        offset_mean          offset_std
 *     0          node0                0                    0.000000             0.000000
 *
 * The first line is a heading. The offset that is added to a host's clock is the median, cut to an
 * integer.
 */
#include "engine/base/folder.h"
#include "engine/base/quote.h"
#include "engine/ovni/ovni_internal.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <xxhash.h>

enum { ABOVE = 3 };

static bool parse_median(const char *text, int64_t *out)
{
	char *end;

	errno = 0;
	*out = strtoll(text, &end, 10);
	if (end != text && !*end && !errno)
		return true;
	double number = read_number(text, &end);
	if (end == text || *end || !(fabs(number) < 9e18))
		return false;
	*out = (int64_t)number;
	return true;
}

static void add_offset(struct trace *trace, char *line, unsigned number, struct ovni_offsets *out)
{
	struct ovni_offset offset;
	struct error cause;
	char *rest, *rank = strtok_r(line, " \t\r", &rest);
	char *host = rank ? strtok_r(NULL, " \t\r", &rest) : NULL;
	char *median = host ? strtok_r(NULL, " \t\r", &rest) : NULL;

	if (!rank)
		return;
	if (!median || !parse_median(median, &offset.ns)) {
		error_set(&cause, ERR_FORMAT, "line %u has no host name with an offset", number);
		trace_damage(trace, out->path, &cause);
		return;
	}
	offset.host = arena_strdup(trace->arena, host);
	*mem_push(out->items, out->count, out->capacity) = offset;
}

static void read_table(struct trace *trace, struct buf *text, struct ovni_offsets *out)
{
	char *line = text->data, *end;

	out->digest = XXH3_64bits(buf_text(text), text->len);
	for (unsigned number = 1; line && *line; number++, line = end) {
		end = strchr(line, '\n');
		if (end)
			*end++ = 0;
		if (number > 1)
			add_offset(trace, line, number, out);
	}
}

/* Reads the folder's table, if there is one; warns if a table was read before. */
static void look_in(struct trace *trace, const char *folder, struct ovni_offsets *out)
{
	char *path = folder_join(folder, "clock-offsets.txt");
	struct buf text = {0};
	struct error ignored;

	if (ovni_read_text(path, &text, &ignored)) {
		if (out->path) {
			notice(&trace->notices, NOTICE_WARNING, "%s is not read: %s holds for all",
			       path, out->path);
		} else {
			out->path = arena_strdup(trace->arena, path);
			read_table(trace, &text, out);
		}
	}
	mem_free(path);
	buf_release(&text);
}

/* Does the folder, `len` bytes long without a slash, lie above the one of the stream? */
static bool is_above(const char *folder, size_t len, const struct ovni_metadata *stream)
{
	return strncmp(stream->path, folder, len) == 0 && stream->path[len] == '/';
}

/* Looks once in each folder of a stream and above it, up to but without the opened folder. */
static void look_below(struct trace *trace, const char *folder, const struct ovni_metadata *streams,
		       size_t count, struct ovni_offsets *out)
{
	size_t len = strlen(folder);

	while (len && folder[len - 1] == '/')
		len--;
	for (size_t i = 0; i < count; i++) {
		char *place = mem_strdup(streams[i].path);
		size_t left = is_above(folder, len, &streams[i]) ? strlen(place) : 0;
		while (left > len && !(i && is_above(place, left, &streams[i - 1]))) {
			look_in(trace, place, out);
			while (place[--left] != '/')
				;
			place[left] = 0;
		}
		mem_free(place);
	}
}

void ovni_read_offsets(struct trace *trace, const char *folder, const struct ovni_metadata *streams,
		       size_t count, struct ovni_offsets *out)
{
	char *place = mem_strdup(folder);

	*out = (struct ovni_offsets){0};
	for (int i = 0; i <= ABOVE && !out->path; i++) {
		look_in(trace, place, out);
		char *above = folder_join(place, "..");
		mem_free(place);
		place = above;
	}
	mem_free(place);
	if (!out->path)
		look_below(trace, folder, streams, count, out);
}

bool ovni_offset_of(const struct ovni_offsets *offsets, const char *host, int64_t *ns)
{
	for (size_t i = 0; i < offsets->count; i++) {
		if (strcmp(offsets->items[i].host, host) != 0)
			continue;
		*ns = offsets->items[i].ns;
		return true;
	}
	*ns = 0;
	return false;
}
