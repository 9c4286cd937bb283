/* check_state.c - `check --state`: prints what violations.h finds */
#include "repl/commands/cmds.h"

#include "repl/render/render.h"
#include "state/state.h"
#include "state/violations.h"

#include <inttypes.h>

enum { SHOWN = 10 };

struct check_output {
	struct session *session;
	struct sink *sink;
	struct attrs *attrs;
	struct times times;
	bool json;
	uint64_t told; /* violations so far */
};

/* ATTR_ABSENT: the thread of the stream's CPU. */
static void put_path(const struct check_output *output, uint32_t attr, const struct stream *stream)
{
	struct buf path = {0};

	if (attr == ATTR_ABSENT)
		buf_printf(&path, "cpu[%d]/thread", stream ? stream->cpu : -1);
	else
		attr_add_text(output->attrs, attr, &path);
	if (output->json)
		json_text(output->sink, buf_text(&path));
	else
		sink_text(output->sink, buf_text(&path));
	buf_release(&path);
}

static void put_place(struct check_output *output, const struct change_place *place)
{
	struct sink *out = output->sink;

	if (output->json) {
		json_member_time(out, ",\"event\":", place->time);
		json_member_text(out, ",\"stream\":", place->stream ? place->stream->name : NULL);
		sink_printf(out, ",\"packet\":%" PRIu64 ",\"at\":%" PRIu64 "}\n", place->packet,
			    place->at);
		sink_row(out);
		return;
	}
	if (place->time == NSTIME_MIN)
		sink_text(out, "; from before the first event");
	else {
		sink_text(out, place->loss ? "; by the loss of " : "; by the event of ");
		time_add(&output->times, place->time, out);
	}
	if (place->stream)
		sink_printf(out, " in %s, packet at %" PRIu64 ", byte %" PRIu64,
			    place->stream->name, place->packet, place->at / 8);
	sink_char(out, '\n');
	sink_row(out);
}

static void put_violation(void *arg, const char *what, nstime begin, nstime end,
			  const struct change_place *place)
{
	struct check_output *output = arg;
	struct sink *out = output->sink;

	if (output->told++ >= SHOWN)
		return;
	if (output->json) {
		sink_text(out, "{\"kind\":\"violation\",\"what\":");
		json_text(out, what);
		json_member_time(out, ",\"begin\":", begin);
		json_member_time(out, ",\"end\":", end);
	} else {
		sink_printf(out, "violation: %s from ", what);
		if (begin == NSTIME_MIN)
			sink_text(out, "ever");
		else
			time_add(&output->times, begin, out);
		sink_text(out, " to ");
		time_add(&output->times, end, out);
	}
	put_place(output, place);
}

static void print_cpu(struct check_output *output, const struct checked_cpu *cpu)
{
	struct sink *out = output->sink;

	if (output->json) {
		sink_text(out, "{\"kind\":\"cpu\",\"path\":");
		put_path(output, cpu->attr, NULL);
		sink_printf(out, ",\"known\":%" PRIu64 ",\"unknown\":%" PRIu64 "}\n", cpu->known,
			    cpu->unknown);
	} else {
		put_path(output, cpu->attr, NULL);
		sink_text(out, ": known ");
		span_add(cpu->known, out);
		sink_text(out, ", unknown ");
		span_add(cpu->unknown, out);
		sink_char(out, '\n');
	}
	sink_row(out);
}

static void print_contradictions(struct check_output *output, size_t stream,
				 const struct stream_contradictions *own)
{
	const struct trace *trace = output->session->trace;
	const char *name = stream < trace->nstreams ? trace->streams[stream]->name : NULL;
	bool json = output->json;
	struct sink *out = output->sink;

	for (uint64_t i = 0; i < own->count && i < CONTRADICTIONS_SHOWN; i++) {
		if (json) {
			sink_text(out, "{\"kind\":\"contradiction\",\"path\":");
			put_path(output, own->first[i].attr, own->first[i].place.stream);
			json_member_value(out, ",\"was\":", &own->first[i].had);
			json_member_value(out, ",\"told\":", &own->first[i].says);
		} else {
			sink_text(out, "contradiction: ");
			put_path(output, own->first[i].attr, own->first[i].place.stream);
			sink_text(out, " was ");
			text_value(out, &own->first[i].had);
			sink_text(out, ", is told to have been ");
			text_value(out, &own->first[i].says);
		}
		put_place(output, &own->first[i].place);
	}
	if (!own->count || json)
		return;
	sink_printf(out, "%s: %" PRIu64 " contradictions\n", name ? name : "-", own->count);
	sink_row(out);
}

/* Times of many CPUs together. */
static void put_sum(struct sink *out, unsigned __int128 sum)
{
	const uint64_t high = UINT64_C(1000000000000000000);

	if (sum < high) {
		sink_u64(out, (uint64_t)sum);
		return;
	}
	sink_u64(out, (uint64_t)(sum / high));
	sink_printf(out, "%018" PRIu64, (uint64_t)(sum % high));
}

static void print_sum(struct check_output *output, const struct violations *found)
{
	uint64_t contradictions = 0;
	unsigned __int128 known = 0, unknown = 0;
	struct sink *out = output->sink;

	for (size_t i = 0; i <= output->session->trace->nstreams; i++)
		contradictions += found->contradictions[i].count;
	for (size_t i = 0; i < found->ncpus; i++) {
		known += found->cpus[i].known;
		unknown += found->cpus[i].unknown;
	}
	if (output->json) {
		sink_printf(out,
			    "{\"kind\":\"sum\",\"moments\":%" PRIu64
			    ",\"cpus\":%zu,\"threads\":%zu,\"known\":",
			    found->moments, found->ncpus, found->nthreads);
		put_sum(out, known);
		sink_text(out, ",\"unknown\":");
		put_sum(out, unknown);
		sink_text(out, ",\"busy\":");
		put_sum(out, found->busy);
		sink_text(out, ",\"running\":");
		put_sum(out, found->running);
		sink_printf(out, ",\"contradictions\":%" PRIu64 ",\"violations\":%" PRIu64 "}\n",
			    contradictions, found->count);
	} else {
		sink_printf(out, "%" PRIu64 " moments, %zu CPUs, %zu threads: known ",
			    found->moments, found->ncpus, found->nthreads);
		span_add((__int128)known, out);
		sink_text(out, ", unknown ");
		span_add((__int128)unknown, out);
		sink_text(out, ", busy ");
		span_add((__int128)found->busy, out);
		sink_text(out, ", running ");
		span_add((__int128)found->running, out);
		sink_printf(out, "; %" PRIu64 " contradictions, %" PRIu64 " violations\n",
			    contradictions, found->count);
	}
	sink_row(out);
}

bool check_state(struct session *session, const struct options *options, struct sink *sink,
		 struct error *err)
{
	struct state *state = session_state(session, err);
	struct check_output output = {
		.session = session, .sink = sink, .json = options->format == FORMAT_JSON};
	const struct violations_sink violations = {put_violation, &output};
	struct violations found;

	if (!state || !session_times(session, &output.times, err))
		return false;
	output.attrs = state_attrs(state);
	bool ok = violations_find(state, &violations, &found, err);
	if (ok) {
		for (size_t i = 0; i < found.ncpus; i++)
			print_cpu(&output, &found.cpus[i]);
		for (size_t i = 0; i <= session->trace->nstreams; i++)
			print_contradictions(&output, i, &found.contradictions[i]);
		print_sum(&output, &found);
		session->violated = found.count != 0;
	}
	violations_release(&found);
	return ok;
}
