/* info_losses.c - see info_losses.h */
#include "repl/render/info_losses.h"

#include "engine/base/bitset.h"
#include "engine/base/mem.h"
#include "index/events.h"
#include "repl/render/render.h"
#include "state/state.h"

#include <string.h>

static bool read_losses(const struct stream *stream, struct table *table, struct info_losses *out,
			struct error *err)
{
	const struct loss *loss;
	struct losses losses;

	losses_init(&losses, stream, false);
	losses.table = table;
	bool ok = losses_begin(&losses, NSTIME_MIN, NSTIME_MAX, err) &&
		  losses_read(&losses, NSTIME_MAX, err);
	while (ok && (loss = losses_head(&losses))) {
		*mem_push(out->items, out->count, out->capacity) = *loss;
		out->lost_packets += loss->lost_packets;
		out->lost_unknown = out->lost_unknown || loss->unknown;
		out->lost += loss->unknown ? 0 : loss->lost;
		losses_drop(&losses);
	}
	losses_release(&losses);
	return ok;
}

bool info_losses_read(const struct stream *stream, struct table *table, struct info_losses *out,
		      struct error *err)
{
	*out = (struct info_losses){0};
	return read_losses(stream, table, out, err) &&
	       delivery_find(stream, table, &out->delivery, err);
}

void info_losses_release(struct info_losses *losses)
{
	mem_free(losses->items);
}

/* ---- perf's count at the end of a recording ---- */

static bool find_count(const struct event_class *class, struct field_path *out)
{
	return !strcmp(class->name, "perf_lost_samples") &&
	       field_path_find_int(class, 1u << SCOPE_PAYLOAD, "lost", out);
}

static uint64_t count_of(const struct run *run, uint32_t i, const struct trace *trace)
{
	struct error ignored; /* the check of all packets reports damage */
	struct field_path path;
	struct fields fields;

	if (!find_count(trace->classes[run->batch->class_index[i]], &path) ||
	    !run->reader->decoder_fields(run->decoder, run->batch, i, &fields, &ignored))
		return 0;
	return (uint64_t)fields_number(&fields, &path, 0);
}

bool info_losses_untold(struct session *session, uint64_t told, uint64_t *out, struct error *err)
{
	struct index *index = session_index(session, err);
	const struct trace *trace = session->trace;
	enum step step = STEP_END;
	struct events *events;
	struct field_path path;
	struct run run;
	uint64_t sum = 0;
	bool any = false;

	*out = 0;
	if (!index)
		return false;
	uint64_t *classes = bitset_new(trace->nclasses);
	for (size_t c = 0; c < trace->nclasses; c++)
		if (find_count(trace->classes[c], &path)) {
			bitset_add(classes, c);
			any = true;
		}
	const struct events_options options = {
		.begin = NSTIME_MIN, .end = NSTIME_MAX, .classes = classes};
	if (any && !events_open(index, &options, &events, err)) {
		mem_free(classes);
		return false;
	}
	while (any && (step = events_next_run(events, &run, err)) == STEP_ITEM)
		for (uint32_t i = run.first; i < run.first + run.count; i++)
			sum += count_of(&run, i, trace);
	if (any)
		events_close(events);
	mem_free(classes);
	*out = sum > told ? sum - told : 0;
	return step != STEP_ERROR;
}

/* ---- contradictions ---- */

static void add_contradiction(void *arg, const struct contradiction *found)
{
	struct contradicted *to = arg;

	if (!to->count++)
		to->first = *found;
}

bool contradicted_find(struct state *state, const struct stream *stream, struct contradicted *out,
		       struct error *err)
{
	*out = (struct contradicted){0};
	return state_contradictions(state, stream, add_contradiction, out, err);
}

/* ---- JSON and text ---- */

/* The sequence numbers of the first and last missing packet. */
static void missing_numbers(const struct stream *stream, const struct loss *loss, uint64_t *first,
			    uint64_t *last)
{
	unsigned unused = stream->seq_bits < 64 ? 64U - stream->seq_bits : 0;

	*first = (loss->after + 1) << unused >> unused;
	*last = (loss->after + loss->lost_packets) << unused >> unused;
}

static void json_loss(const struct stream *stream, const struct loss *loss, struct sink *out)
{
	uint64_t first, last;

	json_member_time(out, "{\"ts\":", loss->time);
	json_member_time(out, ",\"until\":", loss->until);
	json_member_u64(out, ",\"events\":", !loss->unknown, loss->lost);
	if (loss->lost_packets) {
		missing_numbers(stream, loss, &first, &last);
		sink_printf(out, ",\"packets\":%llu,\"first\":%llu,\"last\":%llu",
			    (unsigned long long)loss->lost_packets, (unsigned long long)first,
			    (unsigned long long)last);
	}
	sink_char(out, '}');
}

void info_json_losses(const struct stream *stream, const struct info_losses *losses,
		      struct sink *out)
{
	sink_text(out, ",\"lost\":");
	sink_u64(out, losses->lost);
	sink_printf(out,
		    ",\"lost_packets\":%llu,\"late\":%llu,\"doubled\":%llu,"
		    "\"other_session\":%llu,\"losses\":[",
		    (unsigned long long)losses->lost_packets,
		    (unsigned long long)losses->delivery.late,
		    (unsigned long long)losses->delivery.doubled,
		    (unsigned long long)losses->delivery.other);
	for (size_t i = 0; i < losses->count; i++) {
		sink_text(out, i ? "," : "");
		json_loss(stream, &losses->items[i], out);
	}
	sink_char(out, ']');
}

static void text_loss(const struct stream *stream, const struct loss *loss, struct times *times,
		      struct sink *out)
{
	uint64_t first, last;

	sink_text(out, "           ");
	sink_name(out, stream->name);
	if (loss->unknown)
		sink_text(out, ": events, it is not known how many");
	else if (loss->lost)
		sink_printf(out, ": %llu event%s", (unsigned long long)loss->lost,
			    loss->lost == 1 ? "" : "s");
	if (loss->lost_packets) {
		missing_numbers(stream, loss, &first, &last);
		sink_printf(
			out, "%s %llu packet%s, number", loss->lost || loss->unknown ? "," : ":",
			(unsigned long long)loss->lost_packets, loss->lost_packets == 1 ? "" : "s");
		if (loss->lost_packets == 1)
			sink_printf(out, " %llu", (unsigned long long)first);
		else
			sink_printf(out, "s %llu to %llu", (unsigned long long)first,
				    (unsigned long long)last);
	}
	sink_text(out, ", ");
	time_add_any(times, loss->time, out);
	sink_text(out, " to ");
	time_add_any(times, loss->until, out);
	sink_char(out, '\n');
}

enum { LOSSES_SHOWN = 20 };

static void text_losses(const struct trace *trace, const struct info_losses *losses, bool untold,
			struct times *times, struct sink *out)
{
	uint64_t events = 0, packets = 0, places = 0;

	for (size_t i = 0; i < trace->nstreams; i++) {
		events += losses[i].lost;
		packets += losses[i].lost_packets;
		places += losses[i].count;
	}
	if (!places) {
		sink_text(out, untold ? "losses     none at a place that is known\n"
				      : "losses     none\n");
		return;
	}
	sink_printf(out, "losses     %llu events, %llu packets at %llu place%s\n",
		    (unsigned long long)events, (unsigned long long)packets,
		    (unsigned long long)places, places == 1 ? "" : "s");
	uint64_t left = places < LOSSES_SHOWN ? places : LOSSES_SHOWN;
	for (size_t i = 0; i < trace->nstreams && left; i++)
		for (size_t k = 0; k < losses[i].count && left; k++, left--)
			text_loss(trace->streams[i], &losses[i].items[k], times, out);
	if (places > LOSSES_SHOWN)
		sink_printf(out, "           and %llu more: --format json lists all\n",
			    (unsigned long long)places - LOSSES_SHOWN);
}

/* Prints nothing if all packets came once and in order. */
static void text_delivery(const struct trace *trace, const struct info_losses *losses,
			  struct sink *out)
{
	struct delivery sum = {0};
	uint64_t skipped = 0;

	for (size_t i = 0; i < trace->nparts; i++) {
		sum.other += trace->parts[i]->others;
		skipped += trace->parts[i]->skipped;
	}
	for (size_t i = 0; i < trace->nstreams; i++) {
		const struct delivery *own = &losses[i].delivery;
		sum.late += own->late;
		sum.doubled += own->doubled;
		sum.other += own->other;
	}
	if (sum.late || sum.doubled || sum.other)
		sink_printf(out, "packets    %llu came late, %llu twice, %llu of another session\n",
			    (unsigned long long)sum.late, (unsigned long long)sum.doubled,
			    (unsigned long long)sum.other);
	if (skipped)
		sink_printf(out, "skipped    %llu bytes that are in no packet\n",
			    (unsigned long long)skipped);
}

void info_text_losses(const struct trace *trace, const struct info_losses *losses, uint64_t untold,
		      struct times *times, struct sink *out)
{
	text_losses(trace, losses, untold, times, out);
	if (untold)
		sink_printf(out,
			    "           %llu event%s more by perf's count when the recording "
			    "ended: when they were lost is not told\n",
			    (unsigned long long)untold, untold == 1 ? "" : "s");
	text_delivery(trace, losses, out);
}
