/*
 * The property that every packet record promises, on all of the corpus' perf.data and trace.dat, at
 * several sizes of packets: each packet decoded alone, in random order, gives what it gives in
 * order; every event lies in its record's range; the sorted union is the same whatever the size,
 * and as many events of each kind as perf and trace-cmd count. Then files that grow, and tables
 * whose times are wrong, through the index.
 */
#include "tests/engine/decoded.h"

#include "engine/base/buf.h"
#include "engine/base/mem.h"
#include "index/events.h"
#include "tests/harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const uint32_t sizes[] = {0, 4096, 256}; /* of packets; 0: the usual */

/* An event wherever it lies: what does not depend on how packets are cut. */
struct seen {
	nstime time;
	const char *stream, *class; /* borrowed from the trace */
	uint64_t digest;
};

struct union_ {
	struct seen *items;
	size_t count, capacity;
	size_t packets, errors;
};

static int by_time(const void *a, const void *b)
{
	const struct seen *x = a, *y = b;
	int names = x->time != y->time ? 0 : strcmp(x->stream, y->stream);

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	if (!names)
		names = strcmp(x->class, y->class);
	return names ? names : (x->digest > y->digest) - (x->digest < y->digest);
}

static void add_events(const struct trace *trace, const struct stream *stream,
		       const struct decoded *from, struct union_ *to)
{
	for (size_t i = 0; i < from->count; i++) {
		const struct decoded_event *event = &from->events[i];
		to->items = mem_grow(to->items, to->count, &to->capacity, sizeof *to->items);
		to->items[to->count++] =
			(struct seen){event->time, stream->name,
				      trace->classes[event->class_index]->name, event->digest};
	}
}

static void check_range(const struct kernel_case *what, const struct stream *stream,
			const struct packet *rec, const struct decoded *got)
{
	for (size_t i = 0; i < got->count; i++) {
		nstime t = got->events[i].time;
		if (t < rec->min || t > rec->max)
			fail_msg("%s %s: packet at %llu: event %zu at %lld is outside [%lld, %lld]",
				 what->name, stream->name, (unsigned long long)rec->off, i,
				 (long long)t, (long long)rec->min, (long long)rec->max);
	}
	if (rec->events != UINT32_MAX && !got->errors)
		assert_int_equal(rec->events, got->count);
}

static void check_stream(const struct kernel_case *what, const struct trace *trace,
			 const struct stream *stream, struct union_ *all)
{
	const struct reader *reader = decoded_reader(trace, stream);
	struct records records = {0};
	struct rng random = {7};

	records_scan(trace, stream, NULL, &records);
	struct decoded *in_order = mem_new_array(records.count + 1, sizeof *in_order);
	size_t *order = mem_new_array(records.count + 1, sizeof *order);
	struct decoder *decoder = reader->decoder_new(stream);
	for (size_t i = 0; i < records.count; i++) {
		order[i] = i;
		decode_packet(trace, stream, decoder, &records.items[i], SUMMARY_ALL, &in_order[i]);
		check_range(what, stream, &records.items[i].rec, &in_order[i]);
		add_events(trace, stream, &in_order[i], all);
		all->errors += in_order[i].errors;
	}
	reader->decoder_free(decoder);
	for (size_t i = records.count; i > 1; i--) {
		size_t k = rng_next(&random) % i, swap = order[i - 1];
		order[i - 1] = order[k];
		order[k] = swap;
	}
	for (size_t i = 0; i < records.count; i++) {
		struct decoded alone = {0}, *whole = &in_order[order[i]];
		decoder = reader->decoder_new(stream);
		decode_packet(trace, stream, decoder, &records.items[order[i]], SUMMARY_ALL,
			      &alone);
		reader->decoder_free(decoder);
		assert_int_equal(alone.count, whole->count);
		assert_int_equal(alone.errors, whole->errors);
		assert_true(decoded_same(alone.events, whole->events, alone.count));
		decoded_release(&alone);
	}
	all->packets += records.count;
	all->errors += records.errors;
	for (size_t i = 0; i < records.count; i++)
		decoded_release(&in_order[i]);
	mem_free(in_order);
	mem_free(order);
	records_release(&records);
}

static void union_of(const struct kernel_case *what, const struct trace *trace, struct union_ *out)
{
	*out = (struct union_){0};
	for (size_t i = 0; i < trace->nstreams; i++)
		check_stream(what, trace, trace->streams[i], out);
	if (out->count)
		qsort(out->items, out->count, sizeof *out->items, by_time);
}

/* What the reference tools count -----------------------------------------------------------------
 */

static const struct {
	const char *perf, *yore;
} kinds[] = {
	{"MMAP", "perf_mmap"},
	{"LOST", "perf_lost"},
	{"COMM", "perf_comm"},
	{"EXIT", "perf_exit"},
	{"THROTTLE", "perf_throttle"},
	{"UNTHROTTLE", "perf_unthrottle"},
	{"FORK", "perf_fork"},
	{"READ", "perf_read"},
	{"MMAP2", "perf_mmap2"},
	{"AUX", "perf_aux"},
	{"ITRACE_START", "perf_itrace_start"},
	{"LOST_SAMPLES", "perf_lost_samples"},
	{"SWITCH", "perf_switch"},
	{"SWITCH_CPU_WIDE", "perf_switch_cpu_wide"},
	{"NAMESPACES", "perf_namespaces"},
	{"KSYMBOL", "perf_ksymbol"},
	{"BPF_EVENT", "perf_bpf_event"},
	{"CGROUP", "perf_cgroup"},
	{"TEXT_POKE", "perf_text_poke"},
};

static size_t named(const struct union_ *all, const char *name)
{
	size_t n = 0;

	for (size_t i = 0; i < all->count; i++)
		n += name ? !strcmp(all->items[i].class, name)
			  : strncmp(all->items[i].class, "perf_", 5) != 0;
	return n;
}

/* The first paragraph of `perf report --stats`: lines "NAME events: N". */
static bool compare_stats(const struct kernel_case *what, const struct union_ *all)
{
	char *path = path_join(what->folder, "expected/stats.txt"), line[256], name[64];
	FILE *file = fopen(path, "r");
	bool begun = false;
	size_t count;

	mem_free(path);
	if (!file)
		return false;
	while (fgets(line, sizeof line, file)) {
		bool aggregated = strncmp(line, "Aggregated stats", 16) == 0;
		if (begun && line[0] != ' ' && line[0] != '\n')
			break;
		begun |= aggregated;
		if (aggregated || sscanf(line, "%63s events: %zu", name, &count) != 2)
			continue;
		if (!strcmp(name, "SAMPLE"))
			assert_int_equal(named(all, NULL), count);
		for (size_t i = 0; i < COUNT(kinds); i++)
			if (!strcmp(name, kinds[i].perf) && named(all, kinds[i].yore) != count)
				fail_msg("%s: %zu %s, not %zu", what->name,
					 named(all, kinds[i].yore), kinds[i].yore, count);
	}
	fclose(file);
	return true;
}

/* "Events: N." of the case's README: the lines of trace-cmd report. */
static bool compare_report(const struct kernel_case *what, const struct union_ *all)
{
	char *path = path_join(what->folder, "README.md"), line[512];
	FILE *file = fopen(path, "r");
	bool found = false;
	size_t count;

	mem_free(path);
	while (file && fgets(line, sizeof line, file)) {
		if (sscanf(line, "Events: %zu", &count) != 1)
			continue;
		found = true;
		size_t mine = all->count - named(all, "saved_cmdline");
		if (mine != count)
			fail_msg("%s: %zu events, trace-cmd has %zu", what->name, mine, count);
	}
	if (file)
		fclose(file);
	return found;
}

static size_t traces, packets, counted;

static struct trace *open_case(const struct kernel_case *what, const char *path)
{
	struct trace *trace = NULL;
	struct said said;
	struct error err;

	if (!decoded_open(path, &said, &trace, &err) && what->good)
		fail_msg("%s: %s", what->name, err.text);
	return trace;
}

static void check_case(const struct kernel_case *what)
{
	struct union_ first = {0};
	struct trace *usual = NULL;

	for (size_t i = 0; i < COUNT(sizes); i++) {
		struct union_ all;
		decoded_cut_at(sizes[i]);
		struct trace *trace = open_case(what, what->path);
		if (!trace)
			return;
		union_of(what, trace, &all);
		packets += all.packets;
		if (i == 0) {
			first = all;
			usual = trace;
			if (what->good)
				counted += what->perf ? compare_stats(what, &all)
						      : compare_report(what, &all);
			continue;
		}
		assert_int_equal(all.count, first.count);
		assert_int_equal(all.errors > 0, first.errors > 0);
		for (size_t k = 0; k < all.count; k++)
			if (by_time(&all.items[k], &first.items[k]) != 0)
				fail_msg("%s: packets of %llu bytes: event %zu differs", what->name,
					 (unsigned long long)sizes[i], k);
		mem_free(all.items);
		trace_close(trace);
	}
	traces++;
	mem_free(first.items);
	trace_close(usual);
	decoded_cut_at(0);
}

static void packets_of_the_corpus(void **state)
{
	(void)state;
	if (!corpus_each_kernel(check_case))
		skip();
	print_message("%zu traces, %zu packets; %zu counts of perf and trace-cmd\n", traces,
		      packets, counted);
	assert_true(traces > 40 && counted > 35);
}

/* Files that grow --------------------------------------------------------------------------------
 */

enum { DATA_SIZE_AT = 48, FEATURES_AT = 72, FEATURES = 32, GROWTHS = 10 };

struct kept { /* records of one stream, through all openings */
	char *name;
	struct records records;
	struct scan at;
};

struct growth {
	struct kept *streams;
	size_t count, capacity;
};

static struct kept *kept_of(struct growth *growth, const char *name)
{
	for (size_t i = 0; i < growth->count; i++)
		if (!strcmp(growth->streams[i].name, name))
			return &growth->streams[i];
	growth->streams = mem_grow(growth->streams, growth->count, &growth->capacity,
				   sizeof *growth->streams);
	struct kept *kept = &growth->streams[growth->count++];
	*kept = (struct kept){.name = mem_strdup(name)};
	return kept;
}

/* Goes on where the last opening ended: OPEN records are dropped and scanned again. */
static void catch_up(const struct trace *trace, const struct stream *stream, struct kept *kept)
{
	struct records more = {0}, *to = &kept->records;

	while (to->count && to->items[to->count - 1].rec.flags & PACKET_OPEN)
		kept->at = to->before[--to->count];
	records_scan(trace, stream, &kept->at, &more);
	for (size_t i = 0; i < more.count; i++) {
		to->items = mem_grow(to->items, to->count, &to->capacity, sizeof *to->items);
		to->before =
			mem_grow(to->before, to->count, &to->capacity_before, sizeof *to->before);
		to->before[to->count] = more.before[i];
		to->items[to->count] = more.items[i];
		to->items[to->count++].extents = NULL; /* not kept */
	}
	kept->at = more.after;
	records_release(&more);
}

static void same_records(const struct kernel_case *what, const struct trace *trace,
			 struct growth *growth)
{
	for (size_t i = 0; i < trace->nstreams; i++) {
		const struct stream *stream = trace->streams[i];
		const struct kept *kept = kept_of(growth, stream->name);
		struct records once = {0};
		records_scan(trace, stream, NULL, &once);
		if (kept->records.count != once.count)
			fail_msg("%s %s: grown to %zu packets, %zu at once", what->name,
				 stream->name, kept->records.count, once.count);
		for (size_t k = 0; k < once.count; k++)
			assert_memory_equal(&kept->records.items[k].rec, &once.items[k].rec,
					    sizeof(struct packet));
		records_release(&once);
	}
}

static size_t grown;

/* As the recorder leaves it while it runs: no size of the data, no features, no end. */
static void grow_case(const struct kernel_case *what)
{
	char *folder = scratch_folder(), *path = path_join(folder, "perf.data");
	struct growth growth = {0};
	struct rng random = {11};
	uint64_t begin, bytes;
	size_t size;

	if (!what->good || !what->perf || !strstr(what->path, "perf.data") ||
	    strstr(what->name, "threads-dir") || strstr(what->name, "-be") ||
	    strstr(what->name, "overwrite")) {
		mem_free(path);
		scratch_remove(folder);
		return;
	}
	char *file = read_file(what->path, &size);
	memcpy(&begin, file + DATA_SIZE_AT - 8, 8);
	memcpy(&bytes, file + DATA_SIZE_AT, 8);
	memset(file + DATA_SIZE_AT, 0, 8);
	memset(file + FEATURES_AT, 0, FEATURES);
	decoded_cut_at(4096);
	for (size_t i = 0; i <= GROWTHS; i++) {
		uint64_t part = bytes / GROWTHS;
		uint64_t now =
			i == GROWTHS ? bytes : part * i + rng_next(&random) % (part ? part : 1);
		write_file(path, file, (size_t)(begin + now));
		struct trace *trace = open_case(what, path);
		for (size_t k = 0; k < trace->nstreams; k++)
			catch_up(trace, trace->streams[k],
				 kept_of(&growth, trace->streams[k]->name));
		if (i == GROWTHS)
			same_records(what, trace, &growth);
		trace_close(trace);
	}
	decoded_cut_at(0);
	grown++;
	for (size_t i = 0; i < growth.count; i++) {
		records_release(&growth.streams[i].records);
		mem_free(growth.streams[i].name);
	}
	mem_free(growth.streams);
	mem_free(file);
	mem_free(path);
	scratch_remove(folder);
}

static void a_grown_file_is_caught_up(void **state)
{
	(void)state;
	if (!corpus_each_kernel(grow_case))
		skip();
	print_message("%zu files grown\n", grown);
}

/* Wrong times in the table -----------------------------------------------------------------------
 */

static const struct reader *honest;
static struct reader liar;
static uint64_t lies;

/* A record whose times do not touch those of others of its stream. */
struct lone {
	uint32_t stream, source;
	uint64_t off;
};

static struct lone *lone;
static size_t nlone, lone_capacity;

static int by_place(const void *a, const void *b)
{
	const struct lone *x = a, *y = b;

	if (x->stream != y->stream)
		return x->stream < y->stream ? -1 : 1;
	if (x->source != y->source)
		return x->source < y->source ? -1 : 1;
	return (x->off > y->off) - (x->off < y->off);
}

static int by_begin(const void *a, const void *b)
{
	const struct packet_info *x = a, *y = b;

	return (x->rec.min > y->rec.min) - (x->rec.min < y->rec.min);
}

static void find_lone(const struct trace *trace)
{
	nlone = 0;
	for (size_t i = 0; i < trace->nstreams; i++) {
		const struct stream *stream = trace->streams[i];
		struct records records = {0};
		nstime reached = NSTIME_MIN;
		records_scan(trace, stream, NULL, &records);
		if (records.count)
			qsort(records.items, records.count, sizeof *records.items, by_begin);
		for (size_t k = 0; k < records.count; k++) {
			const struct packet *rec = &records.items[k].rec;
			bool last = k + 1 == records.count;
			if (rec->min > reached &&
			    (last || rec->max < records.items[k + 1].rec.min)) {
				lone = mem_grow(lone, nlone, &lone_capacity, sizeof *lone);
				lone[nlone++] = (struct lone){stream->index, rec->source, rec->off};
			}
			reached = rec->max > reached ? rec->max : reached;
		}
		records_release(&records);
	}
	if (nlone)
		qsort(lone, nlone, sizeof *lone, by_place);
}

static void lie(const struct stream *stream, struct packet *rec)
{
	const struct lone key = {stream->index, rec->source, rec->off};
	nstime length = rec->max - rec->min;

	switch (lies++ % 5) {
	case 0:
		rec->max = INT64_C(1) << 62;
		return;
	case 1:
		rec->max += length;
		return;
	case 2:
		rec->min -= length;
		return;
	}
	/* too narrow: what nothing else overlaps is found by looking at the neighbours */
	if (!nlone || !bsearch(&key, lone, nlone, sizeof *lone, by_place))
		return;
	if (lies % 2)
		rec->max = rec->min;
	else
		rec->min += length / 2;
}

/* Nothing is sure; every third record says a wrong begin or end. */
static enum step lying_scan(const struct stream *stream, struct scan *scan, struct packet_info *out,
			    struct error *err)
{
	enum step step = honest->scan(stream, scan, out, err);

	if (step != STEP_ITEM || out->rec.flags & (PACKET_BEFORE_ALL | PACKET_EMPTY))
		return step;
	out->rec.flags &= ~(uint32_t)(PACKET_EXACT_MIN | PACKET_EXACT_MAX);
	if (scan->emitted % 3 == 1)
		lie(stream, &out->rec);
	return step;
}

static struct events *lying_events(struct trace *trace, struct index **index)
{
	struct index_options in_memory = {.none = true, .scan_all = true};
	struct events_options all = {.begin = NSTIME_MIN, .end = NSTIME_MAX};
	struct events *events = NULL;
	struct error err;

	assert_true(index_open(trace, &in_memory, index, &err));
	assert_true(events_open(*index, &all, &events, &err));
	return events;
}

/* Times of [begin, end), by the merge; they must be those of `all` that lie there. */
static void compare_range(const struct kernel_case *what, struct events *events,
			  const struct union_ *all, nstime begin, nstime end)
{
	struct event event;
	struct error err;
	size_t i = 0;

	while (i < all->count && all->items[i].time < begin)
		i++;
	assert_true(events_seek(events, begin, end, &err));
	for (; i < all->count && all->items[i].time < end; i++)
		if (events_next(events, &event, &err) != STEP_ITEM ||
		    event.time != all->items[i].time)
			fail_msg("%s: [%lld, %lld): event %zu differs", what->name,
				 (long long)begin, (long long)end, i);
	assert_int_equal(events_next(events, &event, &err), STEP_END);
}

static size_t ranges;

static void lie_about(const struct kernel_case *what)
{
	struct union_ all;
	struct index *index;
	struct rng random = {5};

	if (!what->good)
		return;
	decoded_cut_at(256);
	struct trace *trace = open_case(what, what->path);
	union_of(what, trace, &all);
	find_lone(trace);
	honest = trace->parts[0]->reader;
	liar = *honest;
	liar.scan = lying_scan;
	liar.computed = NULL;
	liar.packet_at = NULL;
	trace->parts[0]->reader = &liar;
	for (size_t i = 0; i < 40 && all.count; i++) {
		nstime from = all.items[rng_next(&random) % all.count].time;
		nstime to = all.items[rng_next(&random) % all.count].time;
		if (i % 10 == 0 && i)
			from = to;
		struct events *events = lying_events(trace, &index); /* nothing is known yet */
		compare_range(what, events, &all, from < to ? from : to,
			      (from < to ? to : from) + 1);
		events_close(events);
		index_close(index);
		ranges++;
	}
	struct events *events = lying_events(trace, &index);
	compare_range(what, events, &all, NSTIME_MIN, NSTIME_MAX);
	events_close(events);
	index_close(index);
	mem_free(all.items);
	trace_close(trace);
	decoded_cut_at(0);
}

static void wrong_times_in_the_table_change_no_answer(void **state)
{
	(void)state;
	if (!corpus_each_kernel(lie_about))
		skip();
	print_message("%zu ranges, %llu lies\n", ranges, (unsigned long long)lies);
	mem_free(lone);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(packets_of_the_corpus),
		cmocka_unit_test(a_grown_file_is_caught_up),
		cmocka_unit_test(wrong_times_in_the_table_change_no_answer),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
