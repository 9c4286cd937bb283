/* growth.c - a growing trace that is opened again: which streams and files are the same as before
 */
#include "engine/reader.h"

#include <string.h>

/* Are both the same file, and is it now at least as long as then (`whole`: exactly as long)? */
static bool is_same_file(const struct source *now, const struct source *then, bool whole)
{
	return source_goes_on(now, then) && source_size(now) >= source_size(then) &&
	       (!whole || source_size(now) == source_size(then)) &&
	       !strcmp(source_name(now), source_name(then));
}

static bool is_same_stream(const struct trace *trace, const struct stream *now,
			   const struct stream *then)
{
	const struct part *part = trace->parts[now->part], *old = trace->before->parts[then->part];

	if (strcmp(now->name, then->name) != 0 || part->reader != old->reader ||
	    memcmp(part->identity, old->identity, sizeof part->identity) != 0 ||
	    now->nsources < then->nsources || now->cpu != then->cpu)
		return false;
	for (uint32_t i = 0; i < then->nsources; i++)
		if (!is_same_file(now->sources[i], then->sources[i], i + 1 < then->nsources))
			return false;
	return then->nsources > 0;
}

const struct stream *trace_stream_before(const struct trace *trace, const struct stream *stream)
{
	const struct trace *before = stream->anew ? NULL : trace->before;

	/* new streams come between the others, which stay in their order */
	for (size_t n = 0; before && n < before->nstreams; n++) {
		size_t from =
			stream->index < before->nstreams ? stream->index : before->nstreams - 1;
		size_t i = (from + before->nstreams - n) % before->nstreams;
		if (is_same_stream(trace, stream, before->streams[i]))
			return before->streams[i];
	}
	return NULL;
}

void trace_forget_before(struct trace *trace)
{
	trace->before = NULL;
}

bool reader_watermark_whole(const struct stream *stream, nstime *until)
{
	(void)stream;
	*until = NSTIME_MAX;
	return true;
}

bool trace_watermark(const struct trace *trace, const struct stream *stream, nstime *until)
{
	const struct reader *reader = trace->parts[stream->part]->reader;

	return reader->watermark && reader->watermark(stream, until);
}
