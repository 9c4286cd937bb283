/*
 * cpus.c - a stream per CPU, where each event says its own
 *
 * perf's converter to CTF wrote all events into one stream before it knew of CPUs: the packet
 * context has none, every event has `perf_cpu`. Questions by CPU need streams that are of one, and
 * so the file becomes as many streams as its events name CPUs. All have the same packets; a
 * decoder passes over what is not its own. The CPUs are found by one pass over all heads while
 * opening. A loss is told in each stream, since it is not known which CPU's events they were.
 *
 * In the 2010 proposal a section's event context may have a member `cpu`. It goes before the CPU of
 * the file's name; where both agree the stream stays one.
 */
#include "engine/ctf/decode_internal.h"

enum { CPUS_MOST = 1024 };

void ctf_find_cpu_places(struct ctf_stream_class *class)
{
	const struct trace *trace = class->part->trace;
	bool is_2010 = class->part->description.is_2010;
	const char *const name = is_2010 ? "cpu" : "perf_cpu";
	unsigned scope = is_2010 ? 1u << SCOPE_STREAM_EVENT_CONTEXT : 1u << SCOPE_PAYLOAD;
	size_t n = trace->nclasses - class->first_class;

	if (class->member[MEMBER_CPU] || !class->has_clock || !n || class->part->is_own)
		return;
	struct column_place *places = arena_array(trace->arena, n, sizeof *places);
	for (size_t i = 0; i < n; i++) {
		const struct event_class *event = trace->classes[class->first_class + i];
		struct field_path path;
		if (!field_path_find(event, scope, &name, 1, &path) ||
		    path.class->kind != FIELD_INT || !column_place(event, &path, &places[i]))
			return;
	}
	class->cpu_place = places;
}

uint64_t ctf_event_cpu(const struct ctf_stream_class *class, const struct column_input *in,
		       const struct batch *batch, uint32_t i)
{
	const struct column_place *place =
		&class->cpu_place[batch->class_index[i] - class->first_class];

	return column_value(place, in, (batch->at[i] + batch->head[i] + 7) / 8);
}

/* The CPUs of one packet's events; false: one that cannot be. */
static bool note_packet(struct decoder *d, const struct ctf_stream_class *class,
			const struct packet_info *info, struct batch *batch, bool *seen)
{
	struct error ignored; /* the next reading of the packet reports it */
	enum step step = STEP_ITEM;
	bool good = true;

	if (!ctf_decoder_open(d, info, &ignored))
		return true;
	while (good && step == STEP_ITEM) {
		step = ctf_decoder_next(d, batch, &ignored);
		const struct column_input in = {d->block.data, (size_t)(d->content / 8)};
		for (uint32_t i = 0; good && i < batch->count; i++) {
			uint64_t cpu = ctf_event_cpu(class, &in, batch, i);
			good = cpu < CPUS_MOST;
			if (good)
				seen[cpu] = true;
		}
	}
	ctf_decoder_leave(d);
	return good;
}

static bool find_cpus(const struct stream *stream, bool *seen)
{
	struct decoder *d = ctf_decoder_new(stream);
	struct batch *batch = batch_new(BATCH_MAX, 0, NULL);
	struct packet_info info;
	struct scan scan = {0};
	struct error ignored;
	bool good = true;
	enum step step;

	batch->capacity = BATCH_MAX;
	while (good && (step = ctf_scan(stream, &scan, &info, &ignored)) != STEP_END)
		if (step == STEP_ITEM)
			good = note_packet(d, stream_state(stream)->class, &info, batch, seen);
	batch_free(batch);
	ctf_decoder_free(d);
	return good;
}

/* The same packets, another CPU. What closes with the part stays with the first. */
static void add_like(struct trace *trace, const struct stream *first, const char *name, int32_t cpu)
{
	const struct ctf_stream_state *of = stream_state(first);
	struct ctf_stream_state *state = arena_alloc(trace->arena, sizeof *state);
	struct stream *stream = trace_add_stream(
		trace, trace->parts[first->part],
		arena_printf(trace->arena, "%s/cpu%d", name, cpu));
	uint32_t index = stream->index, part = stream->part;
	const char *own = stream->name;

	*stream = *first;
	stream->index = index;
	stream->part = part;
	stream->name = own;
	stream->cpu = cpu;
	*state = *of;
	state->sources = arena_array(trace->arena, first->nsources, sizeof *state->sources);
	stream->priv = state;
}

static bool is_only(const bool *seen, int32_t cpu)
{
	for (int32_t i = 0; i < CPUS_MOST; i++)
		if (seen[i] && i != cpu)
			return false;
	return true;
}

void ctf_split_by_cpu(struct trace *trace, struct stream *stream)
{
	struct ctf_stream_state *state = stream->priv;
	const char *name = stream->name;
	bool seen[CPUS_MOST] = {false};
	int32_t first = 0;

	if (!state->class->cpu_place || !find_cpus(stream, seen))
		return;
	while (first < CPUS_MOST && !seen[first])
		first++;
	if (first == CPUS_MOST || (first == stream->cpu && is_only(seen, first)))
		return;
	stream->name = arena_printf(trace->arena, "%s/cpu%d", name, first);
	stream->cpu = first;
	stream->shared = state->by_cpu = true;
	for (int32_t cpu = first + 1; cpu < CPUS_MOST; cpu++)
		if (seen[cpu])
			add_like(trace, stream, name, cpu);
}
