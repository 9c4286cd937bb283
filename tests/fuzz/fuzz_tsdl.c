/*
 * fuzz_tsdl.c - any bytes as a metadata file: refused, or a description that keeps its promises
 *
 * Promises: every node is there, alignments are powers of two, lengths and tags are integers.
 */
#include "engine/ctf/description.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool promise)
{
	if (!promise)
		abort();
}

static void check(const struct field_class *node)
{
	require(node && node->align && !(node->align & (node->align - 1)));
	switch (node->kind) {
	case FIELD_INT:
		require(node->bits >= 1 && node->bits <= 64 &&
			node->is_enum == (node->nlabels > 0));
		break;
	case FIELD_FLOAT:
		require(node->bits == 16 || node->bits == 32 || node->bits == 64);
		break;
	case FIELD_SEQUENCE:
		require(node->ref && node->ref->kind == FIELD_INT && !node->ref->is_signed);
		break;
	case FIELD_VARIANT:
		require(node->nmembers && node->ref && node->ref->is_enum);
		break;
	case FIELD_STRING:
	case FIELD_STRUCT:
	case FIELD_ARRAY:
		require(!node->ref);
		break;
	}
	for (uint32_t i = 0; i < node->nmembers; i++) {
		require(node->members[i].name && node->members[i].written);
		check(node->members[i].class);
	}
	if (node->kind == FIELD_ARRAY || node->kind == FIELD_SEQUENCE)
		check(node->element);
}

static void check_scope(const struct field_class *scope)
{
	if (!scope)
		return;
	require(scope->kind == FIELD_STRUCT);
	check(scope);
}

static void check_description(const struct ctf_description *d)
{
	check_scope(d->packet_header);
	for (size_t i = 0; i < d->nstreams; i++) {
		const struct ctf_stream *stream = &d->streams[i];
		require(stream->clock < (int32_t)d->nclocks);
		check_scope(stream->packet_context);
		check_scope(stream->event_header);
		check_scope(stream->event_context);
		for (size_t k = 0; k < stream->nevents; k++) {
			check_scope(stream->events[k].context);
			check_scope(stream->events[k].payload);
		}
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena *arena = arena_new();
	struct notices notices = {0};
	struct ctf_description description;
	struct error err = {0};
	char *text;
	size_t length;

	bool done =
		metadata_text("metadata", data, size, arena, &notices, &text, &length, &err) &&
		tsdl_parse("metadata", text, length, false, arena, &notices, &description, &err);
	require(done || err.text[0]);
	if (done)
		check_description(&description);
	arena_free(arena);
	return 0;
}
