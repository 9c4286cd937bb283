/* description.c - see description.h */
#include "tests/fuzz/description.h"

#include "engine/base/mem.h"
#include "engine/ctf/ctf_internal.h"
#include "tests/fuzz/check_description.h"

enum { MOST_WALKED = 4096 };
static uint64_t sum; /* sum of all values, so that the compiler keeps the reads */

static void walk(const struct field *field, unsigned *left)
{
	struct buf scratch = {0};
	struct field_iter iter;
	size_t len;

	if (!*left)
		return;
	--*left;
	if (field_is_text(field) || field->class->is_blob) {
		const uint8_t *bytes = field_bytes(field, &scratch, &len);
		for (size_t i = 0; i < len; i++)
			sum += bytes[i];
		buf_release(&scratch);
		return;
	}
	if (field->class->kind == FIELD_INT || field->class->kind == FIELD_FLOAT)
		sum += field->slot.u;
	field_iter_begin(&iter, field);
	while (*left && field_iter_next(&iter))
		walk(&iter.item, left);
	field_iter_end(&iter);
}

static void walk_events(struct decoder *decoder, struct batch *batch)
{
	unsigned left = MOST_WALKED;
	struct error err = {0};

	for (uint32_t i = 0; i < batch->count; i++) {
		struct fields fields;
		struct field scope;
		require(ctf_decoder_fields(decoder, batch, i, &fields, &err));
		for (int s = 0; s < SCOPE_COUNT; s++)
			if (fields_scope(&fields, (enum scope)s, &scope))
				walk(&scope, &left);
	}
}

static void decode(struct stream *stream)
{
	struct decoder *decoder = ctf_decoder_new(stream);
	struct batch *batch = batch_new(BATCH_MAX, 200, NULL);
	struct packet_info info;
	struct scan scan = {0};
	struct error err = {0};
	enum step step;

	batch->capacity = BATCH_MIN;
	while ((step = ctf_scan(stream, &scan, &info, &err)) == STEP_ITEM) {
		require(info.rec.off + packet_bytes(&info) <= source_size(stream->sources[0]));
		if (!ctf_decoder_open(decoder, &info, &err))
			continue;
		while ((step = ctf_decoder_next(decoder, batch, &err)) == STEP_ITEM)
			walk_events(decoder, batch);
		require(step == STEP_END || err.text[0]);
		ctf_decoder_leave(decoder);
	}
	require(step == STEP_END || err.text[0]);
	batch_free(batch);
	ctf_decoder_free(decoder);
}

static void decode_stream(struct trace *trace, struct ctf_part *part, const uint8_t *data,
			  size_t size)
{
	struct stream *stream = trace_add_stream(trace, trace->parts[0], "stream");
	struct ctf_stream_state *state = arena_alloc(trace->arena, sizeof *state);
	struct error err = {0};

	state->sources = arena_array(trace->arena, 1, sizeof *state->sources);
	stream->priv = state;
	stream->sources = arena_array(trace->arena, 1, sizeof(struct source *));
	stream->nsources = 1;
	state->class =
		ctf_stream_class_of(part, data, size, &state->instance, &state->has_instance, &err);
	if (!state->class) {
		require(err.text[0]);
		return;
	}
	stream->clock = state->class->clock;
	stream->has_time = state->class->has_clock;
	stream->sources[0] = source_over("fuzz", data, size);
	state->order = ctf_order_new();
	state->equal_size = ctf_equal_size(stream, &state->first_number);
	decode(stream);
	ctf_order_free(state->order);
	source_close(stream->sources[0]);
}

void try_description(const struct ctf_description *description, const uint8_t *data, size_t size)
{
	struct trace *trace = mem_new(sizeof *trace);
	const uint64_t identity[2] = {0};
	struct error err = {0};

	trace->arena = arena_new();
	trace->path = "";
	struct ctf_part *part = ctf_part_add(trace, "", description, identity, &err);
	require(part || err.text[0]);
	if (part && size)
		decode_stream(trace, part, data, size);
	arena_free(trace->arena);
	mem_free(trace->parts);
	mem_free(trace->clocks);
	mem_free(trace->streams);
	mem_free(trace->classes);
	mem_free(trace->sources);
	mem_free(trace);
}
