/*
 * cpus.c - makes a stream per CPU of a file whose events say their CPU
 *
 * Queries by CPU need streams of one CPU each. If packets do not say their CPU but each event does,
 * the file becomes as many streams as its events name CPUs. All have the same packets, and each
 * decoder skips events of other CPUs. One pass over all heads at open finds the CPUs. Each stream
 * shows a loss, as any CPU may have lost the events; only the first has the count, so that the sum
 * over all streams is right.
 *
 *     LTTng, buffers per channel   a context `cpu_id`: lttng add-context --type cpu_id
 *     perf's converter to CTF      `perf_cpu`, before it knew of streams by CPU
 *     the 2010 proposal            a member `cpu` of a section's event context. It overrides the
 *                                  CPU of the file's name; if all events have that, it stays one
 */
#include "engine/ctf/decode_internal.h"

#include <inttypes.h>

enum { CPUS_MOST = 8192 /* the most that Linux can be configured for */ };

/* Finds the field of the class that says the CPU. */
static bool find_place(const struct event_class *event, bool is_2010, struct ctf_cpu_place *out)
{
	static const struct {
		const char *name;
		unsigned scopes;
		bool is_2010;
	} ways[] = {
		{"perf_cpu", 1u << SCOPE_PAYLOAD, false},
		{"cpu_id", 1u << SCOPE_STREAM_EVENT_CONTEXT | 1u << SCOPE_EVENT_CONTEXT, false},
		{"cpu", 1u << SCOPE_STREAM_EVENT_CONTEXT, true},
	};

	for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
		if (ways[i].is_2010 != is_2010 ||
		    !field_path_find_int(event, ways[i].scopes, ways[i].name, &out->path))
			continue;
		out->has_column = column_place(event, &out->path, &out->column);
		return true;
	}
	return false;
}

void ctf_find_cpu_places(struct ctf_stream_class *class)
{
	const struct trace *trace = class->part->trace;
	size_t n = trace->nclasses - class->first_class;

	if (class->member[MEMBER_CPU] || !class->has_clock || !n || class->part->is_own)
		return;
	struct ctf_cpu_place *places = arena_array(trace->arena, n, sizeof *places);
	for (size_t i = 0; i < n; i++)
		if (!find_place(trace->classes[class->first_class + i],
				class->part->description.is_2010, &places[i]))
			return;
	class->cpu_place = places;
}

uint64_t ctf_event_cpu(struct decoder *d, const struct batch *batch, uint32_t i)
{
	const struct ctf_cpu_place *place =
		&d->class->cpu_place[batch->class_index[i] - d->class->first_class];
	const struct column_input in = {d->block.data, (size_t)(d->content / 8)};
	struct error ignored; /* the next reading of the event reports it */
	struct fields fields;

	if (place->has_column)
		return column_value(&place->column, &in, (batch->at[i] + batch->head[i] + 7) / 8);
	if (!ctf_decoder_fields(d, batch, i, &fields, &ignored))
		return UINT64_MAX;
	return (uint64_t)fields_number(&fields, &place->path, 0);
}

/* The CPUs that the events of a stream name. */
struct seen_cpus {
	bool cpu[CPUS_MOST];
	uint64_t impossible; /* a value of CPUS_MOST or more */
};

/* Adds the CPUs of one packet's events to *seen; false: a value is CPUS_MOST or more. */
static bool note_packet(struct decoder *d, const struct packet_info *info, struct batch *batch,
			struct seen_cpus *seen)
{
	struct error ignored; /* the next reading of the packet reports it */
	enum step step = STEP_ITEM;
	bool good = true;

	if (!ctf_decoder_open(d, info, &ignored))
		return true;
	while (good && step == STEP_ITEM) {
		step = ctf_decoder_next(d, batch, &ignored);
		for (uint32_t i = 0; good && i < batch->count; i++) {
			uint64_t cpu = ctf_event_cpu(d, batch, i);
			good = cpu < CPUS_MOST;
			if (good)
				seen->cpu[cpu] = true;
			else
				seen->impossible = cpu;
		}
	}
	ctf_decoder_leave(d);
	return good;
}

static bool find_cpus(const struct stream *stream, struct seen_cpus *seen)
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
			good = note_packet(d, &info, batch, seen);
	batch_free(batch);
	ctf_decoder_free(d);
	return good;
}

/* Adds a stream with the packets of `first` for another CPU. `first` keeps what must be freed. */
static void add_like(struct trace *trace, const struct stream *first, const char *name, int32_t cpu)
{
	const struct ctf_stream_state *of = stream_state(first);
	struct ctf_stream_state *state = arena_alloc(trace->arena, sizeof *state);
	struct stream *stream = trace_add_stream(trace, trace->parts[first->part],
						 arena_printf(trace->arena, "%s/cpu%d", name, cpu));
	uint32_t index = stream->index, part = stream->part;
	const char *own = stream->name;

	*stream = *first;
	stream->index = index;
	stream->part = part;
	stream->name = own;
	stream->cpu = cpu;
	stream->lost_elsewhere = true;
	*state = *of;
	state->sources = arena_array(trace->arena, first->nsources, sizeof *state->sources);
	stream->priv = state;
}

static bool is_only(const struct seen_cpus *seen, int32_t cpu)
{
	for (int32_t i = 0; i < CPUS_MOST; i++)
		if (seen->cpu[i] && i != cpu)
			return false;
	return true;
}

void ctf_split_by_cpu(struct trace *trace, struct stream *stream)
{
	struct ctf_stream_state *state = stream->priv;
	const char *name = stream->name;
	struct seen_cpus seen = {0};
	int32_t first = 0;

	if (!state->class->cpu_place)
		return;
	if (!find_cpus(stream, &seen)) {
		notice(&trace->notices, NOTICE_WARNING,
		       "%s: an event names CPU %" PRIi64 ": the CPUs that its events name are "
		       "not used",
		       name, (int64_t)seen.impossible);
		return;
	}
	while (first < CPUS_MOST && !seen.cpu[first])
		first++;
	if (first == CPUS_MOST || (first == stream->cpu && is_only(&seen, first)))
		return;
	stream->name = arena_printf(trace->arena, "%s/cpu%d", name, first);
	stream->cpu = first;
	stream->shared = state->by_cpu = true;
	for (int32_t cpu = first + 1; cpu < CPUS_MOST; cpu++)
		if (seen.cpu[cpu])
			add_like(trace, stream, name, cpu);
}
