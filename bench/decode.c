/*
 * decode.c - measures decoding: events are read and not used
 *
 *     bench-decode TRACE walk|heads|fields|merge|all [ROUNDS]
 *
 *     walk     finds the packets: opens the trace, makes the index in memory; decodes no event
 *     heads    times and classes, stream after stream, bodies skipped
 *     fields   all fields of all events, stream after stream
 *     merge    times and classes of all streams in one order
 *     all      all fields, in one order: what babeltrace2's sink.utils.dummy makes its reader do
 *
 * Prints one line: mode, events, bytes, CPU seconds of the fastest and the median round, and a
 * checksum without which the compiler could drop work. The index is in memory; except for walk it
 * is made before.
 */
#include "bench/seconds.h"
#include "index/events.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int fail(const struct error *err)
{
	fprintf(stderr, "bench-decode: %s\n", err->text);
	return 1;
}

struct work {
	uint64_t events, sum;
};

/* Reads every slot, although no sink needs them. */
static bool read_fields(const struct run *run, struct work *work, struct error *err)
{
	struct fields fields;

	for (uint32_t i = run->first; i < run->first + run->count; i++) {
		const struct slot *slots = batch_slots(run->batch, i);
		if (!slots) {
			if (!run->reader->decoder_fields(run->decoder, run->batch, i, &fields, err))
				return false;
			slots = fields.slots;
		}
		work->sum ^= slots[0].u ^ (uint64_t)run->batch->time[i];
	}
	return true;
}

static bool round_of(struct index *index, bool ordered, bool values, struct work *work,
		     struct error *err)
{
	struct events_options options = {
		.begin = NSTIME_MIN, .end = NSTIME_MAX, .unordered = !ordered, .values = values};
	struct events *events;
	struct run run;
	enum step step;

	*work = (struct work){0};
	if (!events_open(index, &options, &events, err))
		return false;
	while ((step = events_next_run(events, &run, err)) == STEP_ITEM) {
		work->events += run.count;
		if (values && !read_fields(&run, work, err)) {
			step = STEP_ERROR;
			break;
		}
		for (uint32_t i = run.first; !values && i < run.first + run.count; i++)
			work->sum ^= (uint64_t)run.batch->time[i] ^ run.batch->class_index[i];
	}
	events_close(events);
	return step == STEP_END;
}

/* A trace and its index in memory. */
struct opened {
	struct trace *trace;
	struct index *index;
};

/*
 * Opens the trace and makes its index; with `all` also tables of packets that could be computed are
 * scanned.
 */
static bool open_and_walk(const char *path, bool all, struct opened *out, struct error *err)
{
	struct trace_options topt = {.paths = &path, .npaths = 1};
	struct index_options iopt = {.none = true, .scan_all = all};

	*out = (struct opened){0};
	return trace_open(&topt, &out->trace, err) &&
	       index_open(out->trace, &iopt, &out->index, err) && index_build(out->index, err);
}

static void opened_close(struct opened *opened)
{
	if (opened->index)
		index_close(opened->index);
	if (opened->trace)
		trace_close(opened->trace);
}

/* Adds up the events that packet records give, and counts the packets. */
static bool walk_round(const char *path, struct work *work, struct error *err)
{
	struct opened opened;
	bool ok = open_and_walk(path, true, &opened, err);

	*work = (struct work){0};
	for (size_t i = 0; ok && i < opened.trace->nstreams; i++) {
		struct packet_info info;
		struct table *table;

		ok = index_table(opened.index, opened.trace->streams[i], &table, err);
		for (uint64_t k = 0; ok && k < table_count(table); k++) {
			ok = table_get(table, k, &info, err);
			work->events += info.rec.events == UINT32_MAX ? 0 : info.rec.events;
			work->sum++;
		}
	}
	opened_close(&opened);
	return ok;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 2 ? argv[2] : "";
	bool walk = !strcmp(mode, "walk");
	bool values = !strcmp(mode, "fields") || !strcmp(mode, "all");
	bool ordered = !strcmp(mode, "merge") || !strcmp(mode, "all");
	int rounds = argc > 3 ? atoi(argv[3]) : 5;
	struct opened opened = {0};
	struct work work = {0};
	struct error err;
	double seconds[100];
	uint64_t bytes = 0;

	if (argc < 3 || rounds < 1 || rounds > 100 ||
	    (!walk && !values && !ordered && strcmp(mode, "heads"))) {
		fprintf(stderr, "usage: bench-decode TRACE walk|heads|fields|merge|all [ROUNDS]\n");
		return 2;
	}
	if (!walk && !open_and_walk(argv[1], false, &opened, &err))
		return fail(&err);
	for (size_t i = 0; !walk && i < opened.trace->nstreams; i++)
		bytes += opened.trace->streams[i]->bytes;
	for (int i = 0; i < rounds; i++) {
		double start = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
		if (walk ? !walk_round(argv[1], &work, &err)
			 : !round_of(opened.index, ordered, values, &work, &err))
			return fail(&err);
		seconds[i] = seconds_of(CLOCK_PROCESS_CPUTIME_ID) - start;
	}
	qsort(seconds, (size_t)rounds, sizeof *seconds, seconds_compare);
	printf("%s events %llu bytes %llu best %.6f median %.6f sum %llx\n", mode,
	       (unsigned long long)work.events, (unsigned long long)bytes, seconds[0],
	       seconds[rounds / 2], (unsigned long long)work.sum);
	opened_close(&opened);
	return 0;
}
