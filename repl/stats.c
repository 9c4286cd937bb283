/*
 * stats.c - what a run cost, for --stats: a sampling thread, and one line of JSON
 *
 * The kernel has no peak of anonymous memory (VmHWM counts mapped files, too), so a thread samples
 * RssAnon of /proc/self/status every 5 ms with --stats, and once at the end. It may miss a shorter
 * peak.
 */
#include "repl/commands/cmds.h"

#include "engine/base/workers.h"
#include "remote/remote.h"
#include "state/state.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { SAMPLE_NS = 5000000 };

static struct timespec begun;
static _Atomic uint64_t peak;

static void sample(int fd)
{
	char text[4096];
	ssize_t n = pread(fd, text, sizeof text - 1, 0);

	if (n <= 0)
		return;
	text[n] = 0;
	const char *line = strstr(text, "RssAnon:");
	if (!line)
		return;
	uint64_t now = strtoull(line + 8, NULL, 10) * 1024;
	if (now > atomic_load(&peak))
		atomic_store(&peak, now);
}

static void *sampler(void *unused)
{
	int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	struct timespec pause = {.tv_nsec = SAMPLE_NS};

	(void)unused;
	while (fd >= 0) {
		sample(fd);
		nanosleep(&pause, NULL);
	}
	return NULL;
}

void stats_begin(bool want)
{
	pthread_t thread;

	clock_gettime(CLOCK_MONOTONIC, &begun);
	if (!want)
		return;
	if (thread_start(&thread, sampler, NULL))
		pthread_detach(thread);
}

/* Name of the evaluation for --stats, where "checkpoint" is a "replay", too. */
static const char *evaluation(struct session *session)
{
	const char *word =
		session->state && session->asked_state ? state_evaluation(session->state) : NULL;

	return word && strcmp(word, "checkpoint") == 0 ? "replay" : word;
}

static bool add_failure(void *arg, const struct rule_error *line, uint64_t count)
{
	buf_printf(arg, "%s:%u: %s: %" PRIu64 "\n", line->file, line->line, line->text, count);
	return true;
}

static void print_failures(struct session *session)
{
	struct buf text = {0};

	if (session->state)
		state_failed_lines(session->state, add_failure, &text);
	say_text(buf_text(&text));
	buf_release(&text);
}

/* Writes members on fetched bytes and requests, if the trace is remote. */
static void remote_words(char *out, size_t size)
{
	struct remote_counts counts;

	remote_counts(&counts);
	*out = 0;
	if (counts.requests)
		snprintf(out, size, ",\"requests\":%llu,\"bytes_fetched\":%llu",
			 (unsigned long long)counts.requests, (unsigned long long)counts.bytes);
}

void stats_print(struct session *session)
{
	struct timespec now;
	int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	const char *word = evaluation(session);
	struct trace *trace = session->trace;
	char remote[96];

	remote_words(remote, sizeof remote);
	clock_gettime(CLOCK_MONOTONIC, &now);
	if (fd >= 0) {
		sample(fd);
		close(fd);
	}
	print_failures(session);
	int64_t us = (int64_t)(now.tv_sec - begun.tv_sec) * 1000000 +
		     (now.tv_nsec - begun.tv_nsec) / 1000;
	fprintf(stderr,
		"{\"seconds\":%lld.%06lld,\"bytes_read\":%llu,\"packets_decoded\":%llu,"
		"\"packets_skipped\":%llu,"
		"\"events_decoded\":%llu,\"changes_read\":%llu,\"peak_anonymous_bytes\":%llu,"
		"\"evaluation\":%s%s%s%s%s}\n",
		(long long)(us / 1000000), (long long)(us % 1000000),
		trace ? (unsigned long long)trace_bytes_read(trace) : 0,
		trace ? (unsigned long long)atomic_load(&trace->packets_decoded) : 0,
		trace ? (unsigned long long)atomic_load(&trace->packets_skipped) : 0,
		trace ? (unsigned long long)atomic_load(&trace->events_decoded) : 0,
		session->state ? (unsigned long long)state_changes_read(session->state) : 0,
		(unsigned long long)atomic_load(&peak), word ? "\"" : "", word ? word : "null",
		word ? "\"" : "",
		session->state && state_left_out(session->state) ? ",\"lists\":\"window\"" : "",
		remote);
}
