/* test_connection.c - replies that come late, in pieces, or never; what is asked in one turn */
#include "live/viewer.h"

#include "engine/base/mem.h"
#include "engine/base/wait.h"
#include "tests/harness.h"

#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { REPLY_MS = 300 };

static bool stop;

static bool stopped(void *arg)
{
	(void)arg;
	return stop;
}

static const struct connection_limits limits = {
	.connect_ms = REPLY_MS, .reply_ms = REPLY_MS, .stopped = stopped};

/* A relay's end of a connection; what it does is a thread's. */
struct relay {
	struct connection *connection;
	pthread_t thread;
	int fd;
};

static void begin(struct relay *relay, void *(*act)(void *fd))
{
	int ends[2];

	stop = false;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	relay->fd = ends[1];
	relay->connection = connection_over(ends[0], &limits);
	assert_int_equal(pthread_create(&relay->thread, NULL, act, &relay->fd), 0);
}

static void end(struct relay *relay)
{
	connection_close(relay->connection);
	pthread_join(relay->thread, NULL);
	close(relay->fd);
}

static void say(int fd, const void *bytes, size_t size)
{
	(void)!send(fd, bytes, size, MSG_NOSIGNAL);
}

static void swallow(int fd)
{
	char bytes[4096];

	(void)!read(fd, bytes, sizeof bytes);
}

static void *say_nothing(void *arg)
{
	char byte;

	while (read(*(int *)arg, &byte, 1) > 0)
		;
	return NULL;
}

/* A byte every 20 ms: never silent for long, and never done. */
static void *drip(void *arg)
{
	const struct timespec pause = {0, 20000000};

	swallow(*(int *)arg);
	while (send(*(int *)arg, "", 1, MSG_NOSIGNAL) == 1)
		nanosleep(&pause, NULL);
	return NULL;
}

static void *hang_up(void *arg)
{
	swallow(*(int *)arg);
	say(*(int *)arg, "\0\0\0\0\0\0\0\1\0\0", 10);
	shutdown(*(int *)arg, SHUT_RDWR);
	return NULL;
}

/* What a relay does whose file a clear has cut: the length of what it has, and no byte. */
static void *claim_metadata(void *arg)
{
	swallow(*(int *)arg);
	say(*(int *)arg, "\0\0\0\0\0\0\x10\0\0\0\0\1", 12);
	return say_nothing(arg);
}

static void *say_unasked(void *arg)
{
	say(*(int *)arg, "\0\0\0\1", 4);
	return say_nothing(arg);
}

static const struct late {
	const char *name;
	void *(*act)(void *fd);
	bool metadata;
	const char *said;
	int64_t least_ms;
} late_rows[] = {
	{"no reply", say_nothing, false, "does not come", REPLY_MS - 50},
	{"a reply that drips", drip, false, "does not come", REPLY_MS - 50},
	{"half a reply", hang_up, false, "closed the connection", 0},
	{"metadata that is claimed and does not come", claim_metadata, true, "4096 bytes of metadata",
	 REPLY_MS - 50},
};

static void it_ends(void **state)
{
	const struct late *row = *state;
	struct relay relay;
	struct buf bytes = {0};
	struct error err = {0};
	uint32_t status;
	bool ok;

	begin(&relay, row->act);
	int64_t begun = clock_ms();
	if (row->metadata)
		ok = viewer_metadata(relay.connection, 1, 0, &bytes, &status, &err);
	else
		ok = viewer_connect(relay.connection, &status, &err);
	int64_t took = clock_ms() - begun;
	assert_false(ok);
	assert_int_equal(err.kind, ERR_IO);
	assert_non_null(strstr(err.text, row->said));
	assert_true(took >= row->least_ms && took < 10 * REPLY_MS);
	end(&relay);
	buf_release(&bytes);
}

static void a_wait_is_interrupted(void **state)
{
	struct relay relay;
	struct error err = {0};
	uint32_t minor;

	(void)state;
	begin(&relay, say_nothing);
	stop = true;
	assert_false(viewer_connect(relay.connection, &minor, &err));
	assert_int_equal(err.kind, ERR_INTERRUPTED);
	assert_false(connection_idle(NULL, &limits, 100, &err));
	assert_int_equal(err.kind, ERR_INTERRUPTED);
	end(&relay);
}

static void what_nobody_asked_for_is_an_error(void **state)
{
	struct relay relay;
	struct error err = {0};

	(void)state;
	begin(&relay, say_unasked);
	assert_false(connection_idle(relay.connection, &limits, 5000, &err));
	assert_int_equal(err.kind, ERR_FORMAT);
	end(&relay);
}

/* Three indexes in pieces that end within numbers: the replies of one turn. */
static void *give_indexes(void *arg)
{
	const struct timespec pause = {0, 1000000};
	uint8_t all[3 * LIVE_INDEX_BYTES] = {0};
	uint8_t asked[3 * 24];
	size_t got = 0;

	for (ssize_t n = 1; n > 0 && got < sizeof asked; got += (size_t)(n > 0 ? n : 0))
		n = read(*(int *)arg, asked + got, sizeof asked - got);
	for (unsigned i = 0; i < 3; i++) {
		all[i * LIVE_INDEX_BYTES + 47] = asked[i * 24 + 23]; /* discarded: the stream */
		all[i * LIVE_INDEX_BYTES + 59] = LIVE_INDEX_INACTIVE;
		all[i * LIVE_INDEX_BYTES + 63] = (uint8_t)i;
	}
	for (size_t at = 0; at < sizeof all; at += 7) {
		say(*(int *)arg, all + at, sizeof all - at < 7 ? sizeof all - at : 7);
		nanosleep(&pause, NULL);
	}
	return say_nothing(arg);
}

static void indexes_of_one_turn_keep_their_order(void **state)
{
	const uint64_t streams[] = {5, 200, 7};
	struct live_index out[3];
	struct relay relay;
	struct error err = {0};

	(void)state;
	begin(&relay, give_indexes);
	assert_true(viewer_indexes(relay.connection, streams, 3, out, &err));
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(out[i].discarded, streams[i]);
		assert_int_equal(out[i].status, LIVE_INDEX_INACTIVE);
		assert_int_equal(out[i].flags, i);
	}
	end(&relay);
}

int main(void)
{
	struct CMUnitTest tests[3 + COUNT(late_rows)] = {
		cmocka_unit_test(a_wait_is_interrupted),
		cmocka_unit_test(what_nobody_asked_for_is_an_error),
		cmocka_unit_test(indexes_of_one_turn_keep_their_order),
	};
	size_t n = 3;

	ADD_ROWS(tests, n, late_rows, it_ends);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
