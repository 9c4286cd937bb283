/*
 * cmd_check.c - what is wrong with a trace
 *
 * Reads everything: headers in file order, to find times that fall, or end before they begin; then
 * all events, to find damage inside packets; then compares stored tables with the files. Damage is
 * reported on standard error and makes the exit status 3; rows list other findings.
 */
#include "engine/base/mem.h"
#include "repl/commands/cmds.h"
#include "repl/render/info_losses.h"
#include "repl/render/render.h"
#include "state/violations.h"

#include <inttypes.h>

struct trace_check {
	struct session *session;
	const struct options *options;
	struct sink *sink;
	struct times times;
	uint64_t packets, events, lost, lost_places, odd, differing, contradictions;
	uint64_t untold;  /* events lost at unknown places */
	uint64_t *unread; /* by class: events with bytes behind all known fields */
};

static void begin_row(struct trace_check *check, const char *kind, const struct stream *stream)
{
	struct sink *out = check->sink;

	if (check->options->format == FORMAT_JSON) {
		json_member_text(out, "{\"kind\":", kind);
		json_member_text(out, ",\"stream\":", stream->name);
	} else {
		sink_text(out, kind);
		sink_text(out, ": ");
		sink_name(out, stream->name);
	}
}

/* Writes a row for a finding about a packet, with two times that show it. */
static void odd_packet(struct trace_check *check, const struct stream *stream, const char *kind,
		       const struct packet *packet, nstime a, nstime b)
{
	struct sink *out = check->sink;

	check->odd++;
	begin_row(check, kind, stream);
	const char *file =
		stream->nsources ? source_name(stream_source(stream, packet->source)) : "";
	if (check->options->format == FORMAT_JSON) {
		json_member_text(out, ",\"file\":", file);
		sink_printf(out, ",\"offset\":%llu,\"times\":[", (unsigned long long)packet->off);
		json_time(out, a);
		sink_char(out, ',');
		json_time(out, b);
		sink_text(out, "]}\n");
	} else {
		sink_printf(out, ": packet at %llu of %s: ", (unsigned long long)packet->off, file);
		time_add(&check->times, a, out);
		sink_text(out, ", then ");
		time_add(&check->times, b, out);
		sink_char(out, '\n');
	}
	sink_row(out);
}

/*
 * Finds the first event in a packet that is earlier than the one before it, for formats that write
 * events in order of time. In pieces of one packet, *before is the last time of the piece before.
 * Damage is ignored here: check_events() reports it.
 */
static void check_inside(struct trace_check *check, const struct stream *stream,
			 const struct reader *reader, struct decoder *decoder, struct batch *batch,
			 const struct packet_info *info, nstime *before)
{
	struct error ignored;
	bool fell = false;

	if (!(info->rec.flags & PACKET_PIECE))
		*before = NSTIME_MIN;

	if (!reader->decoder_open(decoder, info, &ignored))
		return;
	batch->capacity = BATCH_MAX;
	while (!fell && reader->decoder_next(decoder, batch, &ignored) == STEP_ITEM)
		for (uint32_t i = 0; i < batch->count && !fell; i++) {
			fell = batch->time[i] < *before;
			if (fell)
				odd_packet(check, stream, "time falls inside", &info->rec, *before,
					   batch->time[i]);
			*before = batch->time[i];
		}
	reader->decoder_leave(decoder);
}

/* Checks the headers of packets, in the order of the files. */
static bool check_headers(struct trace_check *check, const struct stream *stream, struct error *err)
{
	const struct reader *reader = check->session->trace->parts[stream->part]->reader;
	struct scan scan = {0};
	struct packet_info info;
	nstime before = NSTIME_MIN, last = NSTIME_MIN;
	uint32_t source = 0;
	enum step step;
	bool inside = reader->rises && stream->has_time;
	struct decoder *decoder = inside ? reader->decoder_new(stream) : NULL;
	struct batch *batch = inside ? batch_new(BATCH_MAX, 0, NULL) : NULL;

	while (!signals_interrupted() &&
	       (step = reader->scan(stream, &scan, &info, err)) != STEP_END) {
		const struct packet *packet = &info.rec;
		if (step == STEP_ERROR) {
			trace_damage(check->session->trace, stream->name, err);
			*err = (struct error){0};
			continue;
		}
		if (packet->flags & (PACKET_DOUBLED | PACKET_OTHER))
			continue;
		check->packets++;
		if (packet->source != source)
			before = NSTIME_MIN;
		source = packet->source;
		if (packet->flags & PACKET_BEFORE_ALL)
			continue;
		if (packet->max < packet->min)
			odd_packet(check, stream, "end before begin", packet, packet->min,
				   packet->max);
		else if (packet->flags & (PACKET_MENDED | PACKET_SUSPECT))
			odd_packet(check, stream, "times mended", packet, packet->min, packet->max);
		/* times that decoding found, not headers, may fall: perf and others write so */
		if (packet->min < before && !(packet->flags & PACKET_PIECE) &&
		    (reader->rises || !(packet->flags & (PACKET_DESCENDING | PACKET_EXACT_MIN))))
			odd_packet(check, stream, "time falls", packet, before, packet->min);
		before = packet->min;
		if (inside)
			check_inside(check, stream, reader, decoder, batch, &info, &last);
	}
	if (inside) {
		reader->decoder_free(decoder);
		batch_free(batch);
	}
	return !signals_interrupted() || error_set(err, ERR_INTERRUPTED, "interrupted");
}

static void meet_loss(struct trace_check *check, const struct event *loss)
{
	struct sink *out = check->sink;

	check->lost += loss->lost;
	check->lost_places++;
	begin_row(check, "lost", loss->stream);
	if (check->options->format == FORMAT_JSON) {
		json_member_time(out, ",\"ts\":", loss->time);
		json_member_time(out, ",\"until\":", loss->until);
		json_member_u64(out, ",\"lost\":", !loss->lost_unknown, loss->lost);
		sink_printf(out, ",\"packets\":%llu}\n", (unsigned long long)loss->lost_packets);
	} else {
		sink_text(out, ": from ");
		time_add(&check->times, loss->time, out);
		sink_text(out, " until ");
		time_add(&check->times, loss->until, out);
		if (loss->lost_unknown)
			sink_text(out, ", events");
		else
			sink_printf(out, ", %llu events", (unsigned long long)loss->lost);
		if (loss->lost_packets)
			sink_printf(out, ", %llu packets", (unsigned long long)loss->lost_packets);
		sink_char(out, '\n');
	}
	sink_row(out);
}

/* Decodes all heads, and the values of all events; what cannot be decoded is damage. */
static bool check_events(struct trace_check *check, struct index *index, struct error *err)
{
	struct events_options open = {.begin = NSTIME_MIN,
				      .end = NSTIME_MAX,
				      .losses = true,
				      .unordered = true,
				      .progress = session_progress_time,
				      .progress_arg = check->session};
	struct events *events;
	struct run run;
	enum step step;

	if (!events_open(index, &open, &events, err))
		return false;
	while ((step = events_next_run(events, &run, err)) == STEP_ITEM) {
		if (!run.count)
			meet_loss(check, &run.loss);
		check->events += run.count;
		for (uint32_t i = 0; i < run.count; i++) {
			struct error bad = {0};
			struct fields fields;
			if (!run.reader->decoder_fields(run.decoder, run.batch, run.first + i,
							&fields, &bad))
				trace_damage(check->session->trace, run.stream->name, &bad);
			else if (fields.unread)
				check->unread[fields.class->index]++;
		}
	}
	events_close(events);
	return step == STEP_END;
}

/* Writes a row per class whose events have bytes that this version does not know. */
static void print_unread(struct trace_check *check)
{
	const struct trace *trace = check->session->trace;
	struct sink *out = check->sink;

	for (size_t i = 0; i < trace->nclasses; i++) {
		const char *name = trace->classes[i]->name;
		unsigned long long count = check->unread[i];

		if (!count)
			continue;
		if (check->options->format == FORMAT_JSON) {
			json_member_text(out, "{\"kind\":\"unknown\",\"class\":", name);
			sink_printf(out, ",\"events\":%llu}\n", count);
		} else {
			sink_text(out, "unknown: ");
			sink_name(out, name);
			sink_printf(out, ": %llu event%s with bytes behind all fields\n", count,
				    count == 1 ? "" : "s");
		}
		sink_row(out);
	}
}

static void print_contradicted(struct trace_check *check, const struct stream *stream,
			       const struct contradicted *found)
{
	const struct contradiction *first = &found->first;
	struct sink *out = check->sink;

	begin_row(check, "contradiction", stream);
	if (check->options->format == FORMAT_JSON) {
		sink_printf(out, ",\"count\":%llu,\"ts\":", (unsigned long long)found->count);
		json_time(out, first->claimed_at);
		sink_printf(out, ",\"claimed\":%lld,\"until\":", (long long)first->claimed);
		json_time(out, first->told_at);
		sink_printf(out, ",\"told\":%lld}\n", (long long)first->told);
	} else {
		sink_printf(out,
			    ": events are missing at %llu place%s, not counted by the recorder. "
			    "First: %s at ",
			    (unsigned long long)found->count, found->count == 1 ? "" : "s",
			    first->claimed_class->name);
		time_add(&check->times, first->claimed_at, out);
		sink_printf(out, " changed to %lld, the next one, %s at ",
			    (long long)first->claimed, first->told_class->name);
		time_add(&check->times, first->told_at, out);
		sink_printf(out, ", changed from %lld\n", (long long)first->told);
	}
	sink_row(out);
}

/* Finds events of a stream that contradict each other, by the rules in use. */
static bool check_contradictions(struct trace_check *check, struct error *err)
{
	struct state *state = session_state(check->session, err);
	const struct trace *trace = check->session->trace;

	for (size_t i = 0; state && i < trace->nstreams; i++) {
		struct contradicted found;

		if (!contradicted_find(state, trace->streams[i], &found, err))
			return false;
		check->contradictions += found.count;
		if (found.count)
			print_contradicted(check, trace->streams[i], &found);
	}
	return state != NULL;
}

/* Writes how many events were lost at unknown places, see info_losses_untold(). */
static bool check_untold(struct trace_check *check, struct error *err)
{
	struct sink *out = check->sink;

	if (!info_losses_untold(check->session, check->lost, &check->untold, err))
		return false;
	if (!check->untold)
		return true;
	if (check->options->format == FORMAT_JSON)
		sink_printf(out,
			    "{\"kind\":\"lost\",\"stream\":null,\"ts\":null,\"until\":null,"
			    "\"lost\":%llu,\"packets\":0}\n",
			    (unsigned long long)check->untold);
	else
		sink_printf(out,
			    "lost: %llu event%s more by perf's count when the recording ended: "
			    "when they were lost is not told\n",
			    (unsigned long long)check->untold, check->untold == 1 ? "" : "s");
	return sink_row(out) || out->closed;
}

static void print_sum(struct trace_check *check)
{
	const struct trace *trace = check->session->trace;
	struct sink *out = check->sink;
	unsigned long long damaged = check->session->damaged;
	unsigned long long unknown = trace->unknown;
	struct buf untold = {0}, kinds = {0};

	if (!damaged)
		damaged = trace->damaged;
	if (check->untold)
		buf_printf(&untold, " and %llu nobody knows when",
			   (unsigned long long)check->untold);
	if (unknown)
		buf_printf(&kinds, ", %llu kind%s of things not known to this version", unknown,
			   unknown == 1 ? "" : "s");
	if (check->options->format == FORMAT_JSON)
		sink_printf(out,
			    "{\"kind\":\"sum\",\"streams\":%zu,\"packets\":%llu,\"events\":%llu,"
			    "\"damaged\":%llu,\"lost\":%llu,\"lost_untold\":%llu,"
			    "\"contradictions\":%llu,"
			    "\"odd_times\":%llu,\"index_differs\":%llu,\"unknown\":%llu}\n",
			    trace->nstreams, (unsigned long long)check->packets,
			    (unsigned long long)check->events, damaged,
			    (unsigned long long)check->lost, (unsigned long long)check->untold,
			    (unsigned long long)check->contradictions,
			    (unsigned long long)check->odd, (unsigned long long)check->differing,
			    unknown);
	else
		sink_printf(
			out,
			"%zu streams, %llu packets, %llu events: %llu damaged, %llu events lost "
			"at %llu places%s, %llu contradictions, %llu packets with odd times, %llu "
			"index records differ%s\n",
			trace->nstreams, (unsigned long long)check->packets,
			(unsigned long long)check->events, damaged, (unsigned long long)check->lost,
			(unsigned long long)check->lost_places, buf_text(&untold),
			(unsigned long long)check->contradictions, (unsigned long long)check->odd,
			(unsigned long long)check->differing, buf_text(&kinds));
	buf_release(&untold);
	buf_release(&kinds);
	sink_row(out);
}

/* Checks every packet, event and index record. */
static bool check_all(struct trace_check *check, struct index *index, struct error *err)
{
	const struct trace *trace = check->session->trace;

	for (size_t i = 0; i < trace->nstreams; i++)
		if (!check_headers(check, trace->streams[i], err))
			return false;
	if (!check_events(check, index, err))
		return false;
	print_unread(check);
	return check_contradictions(check, err) && index_check(index, &check->differing, err) &&
	       check_untold(check, err);
}

/* --state: prints what violations.h finds, and sets session->violated ----------------------------
 */

enum { SHOWN = 10 };

struct check_output {
	struct session *session;
	struct sink *sink;
	struct attrs *attrs;
	struct times times;
	bool json;
	uint64_t told; /* violations printed so far */
};

/* Writes the attribute's path; ATTR_ABSENT stands for the thread of the stream's CPU. */
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

/* Writes a sum of times over many CPUs, which may exceed 64 bits. */
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

static void print_state_sum(struct check_output *output, const struct violations *found)
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

static bool check_state(struct session *session, const struct options *options, struct sink *sink,
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
		print_state_sum(&output, &found);
		session->violated = found.count != 0;
	}
	violations_release(&found);
	return ok;
}

static bool run_check(struct session *session, const struct options *options, struct sink *sink,
		      struct error *err)
{
	struct trace_check check = {.session = session, .options = options, .sink = sink};
	struct index *index = session_index(session, err);
	const bool *of_state = options->own; /* --state */

	if (*of_state)
		return check_state(session, options, sink, err);
	if (!index || !session_times(session, &check.times, err))
		return false;
	check.unread = mem_new_array(session->trace->nclasses + 1, sizeof *check.unread);
	bool good = check_all(&check, index, err);
	mem_free(check.unread);
	if (!good)
		return false;
	session->lost = check.lost_places;
	print_sum(&check);
	return true;
}

static const struct option own_options[] = {
	/* clang-format off */
	{{"--state", NULL, "whether the state could have been", 0}, TAKE_FLAG, .at = 0},
	{.info.name = NULL},
};

const struct cmd cmd_check = {
	.name = "check",
	.args = "",
	.summary = "damage, losses, clock trouble, index against trace",
	.help = "Reads the whole trace and prints what is wrong with it: packets that cannot be\n"
		"decoded, events that the tracer lost, packet times that fall or end before they\n"
		"begin, events that contradict each other (a switch says that another thread\n"
		"leaves the CPU than came), stored index records that differ from the files, and\n"
		"records, bits and bytes that this version does not know. Exit status 3: part of the\n"
		"trace is damaged.\n"
		"\n"
		"--state reads all changes of the state instead and checks what no machine can do:\n"
		"a thread runs on one CPU at a time, the threads that run are those of busy CPUs,\n"
		"nothing is known before a stream begins, after it ends or outside of the recording.\n"
		"Prints the first ten violations, known and unknown time of each CPU, and contradictions\n"
		"between events. Exit status 1: something does not hold.\n"
		"\n"
		"Examples:\n"
		"  $ yore check fixtures/golden/sched-demo\n"
		"  $ yore check fixtures/golden/sched-demo --format json\n",
	.options = OPT_TRACE | OPT_FORMAT | OPT_RULES,
	.own = own_options,
	.own_bytes = sizeof(bool),
	.run = run_check,
}; /* clang-format on */
