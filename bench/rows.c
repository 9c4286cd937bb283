/*
 * rows.c - measures the gain of more threads for rows in order
 *
 *     bench-rows TRACE text|json|csv JOBS [ROUNDS]
 *
 * Runs `yore events` over the whole trace and drops the rows. Prints one line: format, rows,
 * threads, and CPU seconds of the fastest and the median round. The seconds are those of the
 * caller's thread or of all others together, whichever are more: with two threads that is the
 * critical path, which other load on the machine does not change.
 */
#include "bench/seconds.h"
#include "repl/commands/cmds.h"
#include "repl/session.h"

#include <stdio.h>
#include <stdlib.h>

static bool throw_away(void *arg, const char *bytes, size_t count)
{
	(void)arg;
	(void)bytes;
	(void)count;
	return true;
}

static bool round_of(char **words, int nwords, uint64_t *rows, double *seconds, struct error *err)
{
	double own = seconds_of(CLOCK_THREAD_CPUTIME_ID),
	       all = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
	struct options options;
	struct session session;
	struct sink sink;

	if (!options_parse(nwords, words, false, &options, err))
		return false;
	session_init(&session, &options, options.trace);
	sink_init_write(&sink, throw_away, NULL);
	bool ok = cmd_run(&session, &options, &sink, err);
	*rows = sink.rows;
	sink_release(&sink);
	session_release(&session);
	options_release(&options);
	own = seconds_of(CLOCK_THREAD_CPUTIME_ID) - own;
	all = seconds_of(CLOCK_PROCESS_CPUTIME_ID) - all;
	*seconds = own > all - own ? own : all - own;
	return ok;
}

int main(int argc, char **argv)
{
	static char events[] = "events", no_index[] = "--no-index", jobs[] = "--jobs",
		    format[] = "--format";
	int rounds = argc > 4 ? atoi(argv[4]) : 5;
	double seconds[100];
	uint64_t rows = 0;
	struct error err;

	if (argc < 4 || rounds < 1 || rounds > 100) {
		fprintf(stderr, "usage: bench-rows TRACE text|json|csv JOBS [ROUNDS]\n");
		return 2;
	}
	char *words[] = {events, argv[1], no_index, format, argv[2], jobs, argv[3]};
	for (int i = 0; i < rounds; i++)
		if (!round_of(words, sizeof words / sizeof *words, &rows, &seconds[i], &err)) {
			fprintf(stderr, "bench-rows: %s\n", err.text);
			return 1;
		}
	qsort(seconds, (size_t)rounds, sizeof *seconds, seconds_compare);
	printf("%s events %llu jobs %s best %.6f median %.6f\n", argv[2], (unsigned long long)rows,
	       argv[3], seconds[0], seconds[rounds / 2]);
	return 0;
}
