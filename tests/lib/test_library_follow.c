/*
 * test_library_follow.c - libyore's yore_follow: a trace that the test writes while it is read
 *
 * What comes is compared with the events of the finished trace, as a cursor gives them.
 */
#include "tests/harness.h"
#include "tests/lib/api.h"
#include "tests/lib/made.h"
#include "tests/lib/opened.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SEEN_MAX = 1000, STREAMS = MADE_STREAMS, WAIT_MS = 3000 };

struct seen {
	int64_t time;
	uint64_t count; /* the payload's */
	char name[16];
	int cpu;
};

struct list {
	struct seen items[SEEN_MAX];
	size_t count;
};

static char growing[] = "/tmp/yore-follow-XXXXXX";
static const char *finished;
static char said[4096];

static void say(void *arg, enum yore_notice kind, const char *text)
{
	(void)arg;
	(void)kind;
	snprintf(said + strlen(said), sizeof said - strlen(said), "%s\n", text);
}

static void add(struct list *list, struct yore_events *events)
{
	struct seen *seen = &list->items[list->count++];
	const struct yore_field *field = api.event_field(events, "count", &err);

	assert_true(list->count < SEEN_MAX);
	memset(seen, 0, sizeof *seen);
	seen->time = api.event_time(events);
	seen->cpu = api.event_cpu(events);
	if (!api.event_class(events))
		snprintf(seen->name, sizeof seen->name, "loss");
	else
		snprintf(seen->name, sizeof seen->name, "%s",
			 api.class_name(api.event_class(events)));
	seen->count = field ? api.field_uint(field) : 0;
}

static void read_finished(struct yore_events_options options, struct list *out)
{
	struct yore *yore = open_trace(finished, (struct yore_options){0});
	struct yore_events *events = open_events(yore, options);

	while (api.events_next(events, &err) == 1)
		add(out, events);
	api.events_close(events);
	api.close(yore);
}

static void assert_same(const struct list *got, const struct list *expected)
{
	assert_int_equal(got->count, expected->count);
	assert_memory_equal(got->items, expected->items, got->count * sizeof *got->items);
}

/* Bytes [from, until) of a file of the finished trace, at the end of the growing one. */
static void grow(const char *name, size_t from, size_t until)
{
	char path[4096], bytes[MADE_PACKET_BYTES];

	snprintf(path, sizeof path, "%s/%s", finished, name);
	int in = open(path, O_RDONLY);
	snprintf(path, sizeof path, "%s/%s", growing, name);
	int out = open(path, O_WRONLY | O_CREAT | O_APPEND, 0666);
	assert_true(in >= 0 && out >= 0);
	while (from < until) {
		size_t most = until - from < sizeof bytes ? until - from : sizeof bytes;
		ssize_t n = pread(in, bytes, most, (off_t)from);
		if (n <= 0)
			break;
		assert_int_equal(write(out, bytes, (size_t)n), n);
		from += (size_t)n;
	}
	close(in);
	close(out);
}

static void packet(int stream, int number)
{
	const char *names[] = {"stream_0", "stream_1"};

	grow(names[stream], (size_t)number * MADE_PACKET_BYTES,
	     (size_t)(number + 1) * MADE_PACKET_BYTES);
}

/* As a mirror says that its session has ended. */
static void mark_ended(void)
{
	char path[4096];

	snprintf(path, sizeof path, "%s/.yore-mirror", growing);
	FILE *file = fopen(path, "w");
	fputs("yore mirror 1\nhost h\nsession s\nended\n", file);
	fclose(file);
}

static struct yore_follow *begin(struct yore_follow_options options)
{
	struct yore_options open = {.size = sizeof open, .say = say};
	struct yore_follow *follow;

	assert_non_null(mkdtemp(growing));
	if (api.follow_open(growing, &open, &options, &follow, &err) != 0)
		fail_msg("%s", err.text);
	return follow;
}

/* A tracer makes the files of its streams before their first events. */
static void make_files(void)
{
	grow("metadata", 0, 1 << 20);
	grow("stream_0", 0, 0);
	grow("stream_1", 0, 0);
}

/* All that is final now. */
static void take(struct yore_follow *follow, struct list *out, int wanted, int wait_ms)
{
	struct yore_events *events;
	int status;

	while ((status = api.follow_next(follow, wait_ms, &events, &err)) == 1) {
		assert_non_null(api.follow_trace(follow));
		add(out, events);
	}
	if (status != wanted)
		fail_msg("%d: %s", status, err.text);
	assert_null(events);
}

static void finish(struct yore_follow *follow)
{
	char command[4200];

	api.follow_close(follow);
	snprintf(command, sizeof command, "rm -r %s", growing);
	assert_int_equal(system(command), 0);
	strcpy(growing + strlen(growing) - 6, "XXXXXX");
	made_remove();
	said[0] = 0;
}

/* Packets of two streams, each a while after the other. */
static void write_all(struct yore_follow *follow, struct list *got)
{
	for (int i = 0; i < MADE_PACKETS; i++)
		for (int s = 0; s < STREAMS; s++) {
			packet(s, i);
			take(follow, got, 2, 20);
		}
}

static void events_as_they_become_final(void **state)
{
	const struct yore_follow_options options = YORE_FOLLOW_ALL;
	struct list *got = calloc(1, sizeof *got), *expected = calloc(1, sizeof *expected);

	(void)state;
	finished = made_ticks(NULL);
	read_finished(all, expected);
	struct yore_follow *follow = begin(options);
	take(follow, got, 2, 20);
	assert_null(api.follow_trace(follow));
	assert_non_null(strstr(said, "no trace yet"));
	make_files();
	take(follow, got, 2, 50);
	assert_int_equal(got->count, 0);
	write_all(follow, got);
	take(follow, got, 2, 100);
	assert_true(got->count > expected->count / 2 && got->count < expected->count);
	mark_ended();
	take(follow, got, 0, WAIT_MS);
	assert_same(got, expected);
	assert_int_equal(api.follow_late(follow), 0);
	take(follow, got, 0, WAIT_MS);
	assert_same(got, expected);
	finish(follow);
	free(got);
	free(expected);
}

static void names_begin_and_losses(void **state)
{
	static const char *const names[] = {"t[a-o]ck"};
	struct yore_follow_options options = YORE_FOLLOW_ALL;
	struct yore_events_options same = YORE_EVENTS_ALL;
	struct list *got = calloc(1, sizeof *got), *expected = calloc(1, sizeof *expected);
	const struct made_losses losses = {3, 7};

	(void)state;
	finished = made_ticks(&losses);
	options.losses = same.losses = 1;
	options.begin = same.begin = made_time(0, 2, 1);
	options.names = same.names = names;
	options.nnames = same.nnames = 1;
	read_finished(same, expected);
	struct yore_follow *follow = begin(options);
	make_files();
	for (int s = 0; s < STREAMS; s++)
		grow(s ? "stream_1" : "stream_0", 0, 5 * MADE_PACKET_BYTES);
	take(follow, got, 2, 100);
	assert_true(got->count > 0);
	for (int s = 0; s < STREAMS; s++)
		grow(s ? "stream_1" : "stream_0", 5 * MADE_PACKET_BYTES, 1 << 20);
	mark_ended();
	take(follow, got, 0, WAIT_MS);
	assert_same(got, expected);
	finish(follow);
	free(got);
	free(expected);
}

static void late_events_are_counted(void **state)
{
	struct yore_follow_options options = YORE_FOLLOW_ALL;
	struct list *got = calloc(1, sizeof *got), *expected = calloc(1, sizeof *expected);

	(void)state;
	finished = made_ticks(NULL);
	read_finished(all, expected);
	options.patience = 50000000;
	struct yore_follow *follow = begin(options);
	make_files();
	packet(0, 0);
	packet(1, 0);
	grow("stream_0", MADE_PACKET_BYTES, 1 << 20);
	take(follow, got, 2, 400);
	size_t before = got->count;
	assert_true(before >= (MADE_PACKETS - 1) * MADE_EVENTS);
	assert_non_null(strstr(said, "brings nothing"));
	grow("stream_1", MADE_PACKET_BYTES, 1 << 20);
	mark_ended();
	take(follow, got, 0, WAIT_MS);
	assert_int_equal(got->count + api.follow_late(follow), expected->count);
	assert_true(api.follow_late(follow) > 0);
	for (size_t i = 1; i < got->count; i++)
		assert_true(got->items[i - 1].time <= got->items[i].time);
	finish(follow);
	free(got);
	free(expected);
}

static void mistakes(void **state)
{
	struct yore_follow *follow;
	struct yore_events *events;

	(void)state;
	assert_int_equal(api.follow_open("/nowhere/at/all", NULL, NULL, &follow, &err), -1);
	assert_null(follow);
	assert_int_equal(err.kind, YORE_ERROR_IO);
	api.follow_close(NULL);
	finished = made_metadata("this is no metadata, and will not be");
	assert_int_equal(api.follow_open(finished, NULL, NULL, &follow, &err), 0);
	assert_int_equal(api.follow_next(follow, 0, &events, &err), 2);
	assert_int_equal(api.follow_next(follow, 20, &events, &err), 2);
	api.follow_close(follow);
	made_remove();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(events_as_they_become_final),
		cmocka_unit_test(names_begin_and_losses),
		cmocka_unit_test(late_events_are_counted),
		cmocka_unit_test(mistakes),
	};

	api_fill();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
