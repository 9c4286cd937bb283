/*
 * test_library.c - libyore as a program sees it: traces whose events are known (made.h)
 *
 * Built twice: linked with the library (test_library), and loading it (test_library_dlopen).
 */
#include "tests/harness.h"
#include "tests/lib/api.h"
#include "tests/lib/made.h"
#include "tests/lib/opened.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

struct told {
	int counts[3];
	char last[512];
};

static void say(void *arg, enum yore_notice kind, const char *text)
{
	struct told *told = arg;

	told->counts[kind]++;
	snprintf(told->last, sizeof told->last, "%s", text);
}

static uint64_t count_events(struct yore_events *events)
{
	uint64_t count = 0;
	int status;

	while ((status = api.events_next(events, &err)) == 1)
		count++;
	assert_int_equal(status, 0);
	return count;
}

static void assert_next(struct yore_events *events, int64_t time, const char *name, uint64_t count)
{
	assert_int_equal(api.events_next(events, &err), 1);
	assert_int_equal(api.event_time(events), time);
	assert_string_equal(api.class_name(api.event_class(events)), name);
	const struct yore_field *field = api.event_field(events, "count", &err);
	assert_non_null(field);
	assert_int_equal(api.field_uint(field), count);
}

static void assert_event(struct yore_events *events, int stream, int packet, int event)
{
	assert_next(events, made_time(stream, packet, event), event % 2 ? "tock" : "tick",
		    (uint64_t)(packet * MADE_EVENTS + event));
	assert_int_equal(api.stream_index(api.event_stream(events)), stream);
}

/* What a trace consists of --------------------------------------------------------------------- */

static void parts_and_clocks(void **state)
{
	struct yore *yore = open_trace(made_ticks(NULL), (struct yore_options){0});
	const struct yore_part *part = api.part(yore, 0);
	const struct yore_clock *clock = api.clock(yore, 0);
	int64_t number, cycles;
	const char *text;

	(void)state;
	assert_string_equal(api.version(), YORE_VERSION);
	assert_int_equal(api.part_count(yore), 1);
	assert_null(api.part(yore, 1));
	assert_string_equal(api.part_format(part), "ctf");
	assert_string_equal(api.part_version(part), "1.8");
	assert_string_equal(api.part_host(part), "there");
	assert_string_equal(api.part_domain(part), "");
	assert_memory_equal(api.part_uuid(part), "\1\2\3\4\5\6\7\10\11\12\13\14\15\16\17\20", 16);
	assert_int_equal(api.part_environment(part), 2);
	assert_string_equal(api.part_variable(part, 0, &text, &number), "hostname");
	assert_string_equal(text, "there");
	assert_string_equal(api.part_variable(part, 1, &text, &number), "answer");
	assert_null(text);
	assert_int_equal(number, -42);
	assert_null(api.part_variable(part, 2, &text, &number));
	assert_int_equal(api.clock_count(yore), 1);
	assert_null(api.clock(yore, 1));
	assert_string_equal(api.clock_name(clock), "c");
	assert_string_equal(api.clock_description(clock), "a clock");
	assert_int_equal(api.clock_frequency(clock), 1000000000);
	assert_int_equal(api.clock_precision(clock), 2);
	assert_int_equal(api.clock_offset(clock, &cycles), 3);
	assert_int_equal(cycles, 7);
	assert_int_equal(api.clock_is_epoch(clock), 0);
	assert_null(api.clock_uuid(clock));
	api.close(yore);
	made_remove();
}

static void streams_and_classes(void **state)
{
	struct yore *yore = open_trace(made_ticks(NULL), (struct yore_options){0});
	const struct yore_class *tick = api.class(yore, 0);
	const struct yore_stream *stream = api.stream(yore, 1);
	const struct yore_field_class *payload, *count;
	int64_t first, last;
	const char *name;

	(void)state;
	assert_int_equal(api.stream_count(yore), MADE_STREAMS);
	assert_null(api.stream(yore, MADE_STREAMS));
	assert_string_equal(api.stream_name(stream), "stream_1");
	assert_string_equal(api.stream_section(stream), "stream");
	assert_int_equal(api.stream_id(stream), 0);
	assert_int_equal(api.stream_cpu(stream), -1);
	assert_int_equal(api.stream_has_time(stream), 1);
	assert_int_equal(api.stream_bytes(stream), MADE_PACKETS * MADE_PACKET_BYTES);
	assert_ptr_equal(api.stream_clock(yore, stream), api.clock(yore, 0));
	assert_ptr_equal(api.stream_part(yore, stream), api.part(yore, 0));
	assert_int_equal(api.class_count(yore), 2);
	assert_null(api.class(yore, 2));
	assert_int_equal(api.class_index(tick), 0);
	assert_int_equal(api.class_id(tick), 0);
	assert_int_equal(api.class_stream_id(tick), 0);
	assert_int_equal(api.class_loglevel(tick), 6);
	assert_int_equal(api.class_loglevel(api.class(yore, 1)), -1);
	assert_ptr_equal(api.class_part(yore, tick), api.part(yore, 0));
	assert_null(api.class_scope(tick, YORE_EVENT_CONTEXT));
	payload = api.class_scope(tick, YORE_PAYLOAD);
	assert_int_equal(api.field_class_kind(payload), YORE_STRUCT);
	assert_int_equal(api.field_class_count(payload), 1);
	count = api.field_class_item(payload, 0, &name);
	assert_string_equal(name, "count");
	assert_int_equal(api.field_class_kind(count), YORE_UINT);
	assert_int_equal(api.field_class_bits(count), 32);
	assert_int_equal(api.field_class_base(count), 10);
	assert_null(api.field_class_item(payload, 1, NULL));
	assert_int_equal(api.range(yore, &first, &last, &err), 1);
	assert_int_equal(first, made_time(0, 0, 0));
	assert_int_equal(last, made_time(1, MADE_PACKETS - 1, MADE_EVENTS - 1));
	api.close(yore);
	made_remove();
}

/* Cursors ------------------------------------------------------------------------------------- */

static void merged_in_order_of_time(void **state)
{
	struct yore *yore = open_trace(made_ticks(NULL), (struct yore_options){0});

	(void)state;
	for (int fields = 0; fields < 2; fields++) {
		struct yore_events_options options = all;
		options.fields = fields;
		struct yore_events *events = open_events(yore, options);
		for (int packet = 0; packet < MADE_PACKETS; packet++)
			for (int event = 0; event < MADE_EVENTS; event++)
				for (int stream = 0; stream < MADE_STREAMS; stream++)
					assert_event(events, stream, packet, event);
		assert_int_equal(api.events_next(events, &err), 0);
		assert_int_equal(api.events_next(events, &err), 0);
		api.events_close(events);
	}
	api.close(yore);
	made_remove();
}

static void backward_is_the_reverse(void **state)
{
	struct yore *yore = open_trace(made_ticks(NULL), (struct yore_options){0});
	struct yore_events_options options = all;

	(void)state;
	options.backward = 1;
	struct yore_events *events = open_events(yore, options);
	for (int packet = MADE_PACKETS - 1; packet >= 0; packet--)
		for (int event = MADE_EVENTS - 1; event >= 0; event--)
			for (int stream = MADE_STREAMS - 1; stream >= 0; stream--)
				assert_event(events, stream, packet, event);
	assert_int_equal(api.events_next(events, &err), 0);
	end(yore, events);
}

static void from_every_moment(void **state)
{
	struct yore *yore = open_trace(made_ticks(NULL), (struct yore_options){0});
	struct yore_events *events = open_events(yore, all);

	(void)state;
	for (int packet = MADE_PACKETS - 1; packet >= 0; packet--)
		for (int event = 0; event < MADE_EVENTS; event++) {
			int64_t time = made_time(0, packet, event);
			assert_int_equal(api.events_seek(events, time, YORE_TIME_MAX, &err), 0);
			assert_event(events, 0, packet, event);
			assert_event(events, 1, packet, event);
			assert_int_equal(api.events_seek(events, time + 1, time + 2, &err), 0);
			assert_event(events, 1, packet, event);
			assert_int_equal(api.events_next(events, &err), 0);
			assert_int_equal(api.events_seek(events, time + 2, time + 3, &err), 0);
			assert_int_equal(api.events_next(events, &err), 0);
		}
	end(yore, events);
}

static void of_one_stream_and_of_one_name(void **state)
{
	struct yore *yore = open_trace(made_ticks(NULL), (struct yore_options){0});
	const struct yore_stream *both[] = {api.stream(yore, 1), api.stream(yore, 0)};
	const char *const names[] = {"ti*", "none"};
	struct yore_events_options options = all;

	(void)state;
	options.streams = both;
	options.nstreams = 1;
	struct yore_events *events = open_events(yore, options);
	for (int packet = 0; packet < MADE_PACKETS; packet++)
		for (int event = 0; event < MADE_EVENTS; event++)
			assert_event(events, 1, packet, event);
	assert_int_equal(api.events_next(events, &err), 0);
	api.events_close(events);
	options.nstreams = 2;
	options.names = names;
	options.nnames = 2;
	events = open_events(yore, options);
	for (int packet = 0; packet < MADE_PACKETS; packet++)
		for (int event = 0; event < MADE_EVENTS; event += 2) {
			assert_event(events, 0, packet, event);
			assert_event(events, 1, packet, event);
		}
	assert_int_equal(api.events_next(events, &err), 0);
	api.events_close(events);
	options.nnames = 0;
	events = open_events(yore, options);
	assert_int_equal(count_events(events), 0);
	end(yore, events);
}

static void places_of_events(void **state)
{
	struct yore *yore = open_trace(made_ticks(NULL), (struct yore_options){0});
	struct yore_events *events = open_events(yore, all);
	uint64_t packet, bits;

	(void)state;
	assert_null(api.event_place(events, &packet, &bits));
	assert_int_equal(api.events_seek(events, made_time(1, 3, 2), YORE_TIME_MAX, &err), 0);
	assert_event(events, 1, 3, 2);
	const char *file = api.event_place(events, &packet, &bits);
	assert_string_equal(strrchr(file, '/'), "/stream_1");
	assert_int_equal(packet, 3 * MADE_PACKET_BYTES);
	assert_int_equal(bits, (56 + 2 * 13) * 8);
	assert_int_equal(api.event_cpu(events), -1);
	end(yore, events);
}

static void several_traces_with_offsets(void **state)
{
	char first[256];
	const char *second;
	const int64_t offsets[] = {0, 1000000};
	struct yore_options options = {.nmore = 1, .offsets = offsets};

	(void)state;
	snprintf(first, sizeof first, "%s", made_ticks(NULL));
	second = made_ticks(NULL);
	options.more = &second;
	struct yore *yore = open_trace(first, options);
	assert_int_equal(api.part_count(yore), 2);
	assert_int_equal(api.stream_count(yore), 2 * MADE_STREAMS);
	struct yore_events *events = open_events(yore, all);
	for (int64_t offset = 0; offset <= 1000000; offset += 1000000)
		for (int packet = 0; packet < MADE_PACKETS; packet++)
			for (int event = 0; event < MADE_EVENTS; event++)
				for (int stream = 0; stream < MADE_STREAMS; stream++)
					assert_next(events,
						    made_time(stream, packet, event) + offset,
						    event % 2 ? "tock" : "tick",
						    (uint64_t)(packet * MADE_EVENTS + event));
	assert_int_equal(api.events_next(events, &err), 0);
	api.events_close(events);
	api.close(yore);
	made_remove();
	char command[300];
	snprintf(command, sizeof command, "rm -rf '%s'", first);
	assert_int_equal(system(command), 0);
}

static void what_was_lost(void **state)
{
	const struct made_losses losses = {.discarded = 3, .missing = 10};
	struct told told = {0};
	struct yore *yore =
		open_trace(made_ticks(&losses), (struct yore_options){.say = say, .arg = &told});
	struct yore_events_options options = all;
	struct yore_loss loss;
	uint64_t events_lost = 0, packets_lost = 0, events = 0;

	(void)state;
	options.losses = 1;
	struct yore_events *cursor = open_events(yore, options);
	while (api.events_next(cursor, &err) == 1) {
		if (!api.event_loss(cursor, &loss)) {
			assert_non_null(api.event_class(cursor));
			events++;
			continue;
		}
		assert_null(api.event_class(cursor));
		assert_null(api.event_scope(cursor, YORE_PAYLOAD, &err));
		assert_int_equal(api.stream_index(api.event_stream(cursor)), 0);
		int packet = loss.packets ? losses.missing : losses.discarded;
		assert_int_equal(loss.known, 1);
		assert_int_equal(api.event_time(cursor), made_time(0, packet - 1, MADE_EVENTS - 1));
		assert_int_equal(loss.until, loss.packets ? made_time(0, packet + 1, 0)
							  : made_time(0, packet, MADE_EVENTS - 1));
		events_lost += loss.events;
		packets_lost += loss.packets;
	}
	assert_int_equal(events_lost, 5);
	assert_int_equal(packets_lost, 1);
	assert_int_equal(events, (MADE_STREAMS * MADE_PACKETS - 1) * MADE_EVENTS);
	assert_int_equal(api.damaged(yore), 0);
	api.events_close(cursor);
	api.close(yore);
	made_remove();
}

/* What goes wrong ----------------------------------------------------------------------------- */

static void no_such_file(void **state)
{
	struct yore *yore = (struct yore *)&err;

	(void)state;
	assert_int_equal(api.open("/no/such/trace", NULL, &yore, &err), -1);
	assert_null(yore);
	assert_int_equal(err.kind, YORE_ERROR_IO);
	assert_non_null(strstr(err.text, "/no/such/trace"));
	assert_int_equal(api.open("/no/such/trace", NULL, &yore, NULL), -1);
	api.close(NULL);
	api.events_close(NULL);
}

static void bad_metadata_names_its_place(void **state)
{
	const char *path = made_metadata("/* CTF 1.8 */\ntrace { major = 1; minor = 8;\n  what");
	struct yore *yore;

	(void)state;
	assert_int_equal(api.open(path, NULL, &yore, &err), -1);
	assert_int_equal(err.kind, YORE_ERROR_FORMAT);
	assert_non_null(strstr(err.text, "metadata:3:"));
	assert_null(strchr(err.text, '\n'));
	made_remove();
}

static void an_unknown_format_is_asked_for(void **state)
{
	struct yore_options options = {.size = sizeof options, .input = "nonsense"};
	struct yore *yore;

	(void)state;
	assert_int_equal(api.open(made_ticks(NULL), &options, &yore, &err), -1);
	assert_int_equal(err.kind, YORE_ERROR_QUERY);
	assert_non_null(strstr(err.text, "nonsense"));
	options.input = "ctf";
	options.no_index = 1;
	made_remove();
	assert_int_equal(api.open(made_ticks(NULL), &options, &yore, &err), 0);
	api.close(yore);
	made_remove();
}

/* Options of an older program end where its header's did. */
static void a_shorter_structure(void **state)
{
	const char *more = "/no/such/trace";
	struct yore_options options = {
		.size = offsetof(struct yore_options, more), .more = &more, .nmore = 1};
	struct yore_events_options range = {.size = offsetof(struct yore_events_options, backward),
					    .begin = made_time(0, 1, 0),
					    .end = made_time(0, 2, 0),
					    .backward = 1};
	struct yore *yore;

	(void)state;
	setenv("YORE_INDEX_DIR", made_ticks(NULL), 1);
	assert_int_equal(api.open(getenv("YORE_INDEX_DIR"), &options, &yore, &err), 0);
	struct yore_events *events = open_events(yore, range);
	assert_event(events, 0, 1, 0);
	assert_int_equal(1 + count_events(events), MADE_STREAMS * MADE_EVENTS);
	api.events_close(events);
	api.close(yore);
	unsetenv("YORE_INDEX_DIR");
	made_remove();
}

static void write_at(const char *folder, const char *name, off_t at, const char *bytes,
		     size_t count)
{
	char path[300];

	snprintf(path, sizeof path, "%s/%s", folder, name);
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	assert_true(fd >= 0 && pwrite(fd, bytes, count, at) == (ssize_t)count);
	close(fd);
}

/* An event of no class ends its packet: the rest answers, and nothing is printed. */
static void damage_is_told_and_not_printed(void **state)
{
	const char *path = made_ticks(NULL);
	struct told told = {0};
	FILE *printed = tmpfile();

	(void)state;
	write_at(path, "stream_0", 2 * MADE_PACKET_BYTES + 56 + 13, "\x63", 1);
	fflush(NULL);
	int out = dup(1), err_out = dup(2);
	dup2(fileno(printed), 1);
	dup2(fileno(printed), 2);
	struct yore *yore = open_trace(path, (struct yore_options){.say = say, .arg = &told});
	struct yore_events *events = open_events(yore, all);
	uint64_t count = count_events(events);
	api.events_close(events);
	uint64_t damaged = api.damaged(yore);
	api.close(yore);
	yore = open_trace(path, (struct yore_options){0}); /* without options.say */
	events = open_events(yore, all);
	uint64_t again = count_events(events);
	api.events_close(events);
	api.close(yore);
	fflush(NULL);
	dup2(out, 1);
	dup2(err_out, 2);
	close(out);
	close(err_out);
	assert_int_equal(count, MADE_STREAMS * MADE_PACKETS * MADE_EVENTS - 3);
	assert_int_equal(again, count);
	assert_int_equal(damaged, 1);
	assert_int_equal(told.counts[YORE_DAMAGE], 1);
	assert_non_null(strstr(told.last, "stream_0"));
	assert_non_null(strstr(told.last, "offset 8192"));
	assert_non_null(strstr(told.last, "99"));
	assert_int_equal(lseek(fileno(printed), 0, SEEK_END), 0);
	fclose(printed);
	made_remove();
}

static volatile sig_atomic_t faults;

static void absorb(int number, siginfo_t *info, void *context)
{
	(void)context;
	if (!api.absorb_fault(info->si_addr))
		signal(number, SIG_DFL);
	faults++;
}

/* What is left of a file that is cut short is read; the rest is damage, by map and by pread(2). */
static void a_file_is_cut_short_while_it_is_read(void **state)
{
	const struct sigaction handle = {.sa_sigaction = absorb, .sa_flags = SA_SIGINFO};
	struct sigaction before;
	char path[300];

	(void)state;
	sigaction(SIGBUS, &handle, &before);
	for (int no_map = 0; no_map < 2; no_map++) {
		const char *folder = made_ticks(NULL);
		struct told told = {0};
		struct yore *yore = open_trace(
			folder, (struct yore_options){.no_map = no_map, .say = say, .arg = &told});
		int64_t first, last;
		assert_int_equal(api.range(yore, &first, &last, &err), 1);
		snprintf(path, sizeof path, "%s/stream_1", folder);
		assert_int_equal(truncate(path, 5 * MADE_PACKET_BYTES), 0);
		struct yore_events *events = open_events(yore, all);
		uint64_t count = 0;
		while (api.events_next(events, &err) == 1)
			count++;
		assert_true(count >= (MADE_PACKETS + 5) * MADE_EVENTS || no_map);
		assert_true(count < MADE_STREAMS * MADE_PACKETS * MADE_EVENTS);
		assert_true(told.counts[YORE_DAMAGE] > 0 || err.kind == YORE_ERROR_IO);
		assert_int_equal(faults > 0, !no_map);
		faults = 0;
		api.events_close(events);
		api.close(yore);
		made_remove();
	}
	assert_int_equal(api.absorb_fault(&err), 0);
	sigaction(SIGBUS, &before, NULL);
}

static void end_with_seven(size_t bytes)
{
	_exit(bytes ? 7 : 8);
}

static void no_memory_calls_the_hook(void **state)
{
	const struct rlimit little = {.rlim_cur = 1 << 20, .rlim_max = 1 << 20};
	const char *folder = made_ticks(NULL);
	int status = 0;
	pid_t child;

	(void)state;
#ifdef __SANITIZE_ADDRESS__
	skip(); /* its own memory knows no limit */
#endif
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		api.on_no_memory(end_with_seven);
		setrlimit(RLIMIT_DATA, &little);
		for (struct yore *yore; api.open(folder, NULL, &yore, &err) == 0;)
			;
		_exit(9);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 7);
	made_remove();
}

/* Threads ------------------------------------------------------------------------------------- */

static unsigned threads_of_this_process(void)
{
	unsigned count = 0;
	char line[256];
	FILE *status = fopen("/proc/self/status", "r");

	assert_non_null(status);
	while (fgets(line, sizeof line, status))
		sscanf(line, "Threads: %u", &count);
	fclose(status);
	return count;
}

static void no_thread_is_started(void **state)
{
	unsigned before = threads_of_this_process();
	struct yore *yore = open_trace(made_ticks(NULL), (struct yore_options){0});
	struct yore_events *events = open_events(yore, all);
	int64_t first, last;

	(void)state;
	assert_true(before > 0);
	assert_int_equal(api.range(yore, &first, &last, &err), 1);
	while (api.events_next(events, &err) == 1)
		assert_int_equal(threads_of_this_process(), before);
	end(yore, events);
}

struct reading {
	struct yore *yore;
	uint64_t sum, count;
};

static void *read_all(void *arg)
{
	struct reading *reading = arg;
	struct yore_error own;
	struct yore_events *events;

	for (int pass = 0; pass < 20; pass++) {
		if (api.events_open(reading->yore, &all, &events, &own) != 0)
			return NULL;
		while (api.events_next(events, &own) == 1) {
			reading->count++;
			reading->sum += api.field_uint(api.event_field(events, "count", &own));
		}
		api.events_close(events);
	}
	return NULL;
}

static void cursors_of_several_threads(void **state)
{
	struct yore *yore = open_trace(made_ticks(NULL), (struct yore_options){0});
	struct reading readings[4];
	pthread_t threads[4];
	uint64_t events = MADE_PACKETS * MADE_EVENTS;

	(void)state;
	for (size_t i = 0; i < COUNT(threads); i++) {
		readings[i] = (struct reading){.yore = yore};
		assert_int_equal(pthread_create(&threads[i], NULL, read_all, &readings[i]), 0);
	}
	for (size_t i = 0; i < COUNT(threads); i++) {
		pthread_join(threads[i], NULL);
		assert_int_equal(readings[i].count, 20 * MADE_STREAMS * events);
		assert_int_equal(readings[i].sum, 20 * MADE_STREAMS * (events * (events - 1) / 2));
	}
	api.close(yore);
	made_remove();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parts_and_clocks),
		cmocka_unit_test(streams_and_classes),
		cmocka_unit_test(merged_in_order_of_time),
		cmocka_unit_test(backward_is_the_reverse),
		cmocka_unit_test(from_every_moment),
		cmocka_unit_test(of_one_stream_and_of_one_name),
		cmocka_unit_test(places_of_events),
		cmocka_unit_test(several_traces_with_offsets),
		cmocka_unit_test(what_was_lost),
		cmocka_unit_test(no_such_file),
		cmocka_unit_test(bad_metadata_names_its_place),
		cmocka_unit_test(an_unknown_format_is_asked_for),
		cmocka_unit_test(a_shorter_structure),
		cmocka_unit_test(damage_is_told_and_not_printed),
		cmocka_unit_test(a_file_is_cut_short_while_it_is_read),
		cmocka_unit_test(no_memory_calls_the_hook),
		cmocka_unit_test(no_thread_is_started),
		cmocka_unit_test(cursors_of_several_threads),
	};

	api_fill();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
