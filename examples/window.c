/*
 * window.c - how often what happened in a stream between two moments
 *
 *     cc window.c $(pkg-config --cflags --libs yore) -o window
 *     ./window TRACE STREAM BEGIN END     times in nanoseconds, END is not included
 *
 * The moment is found by binary search over the stream's packets: what lies before it is not read.
 */
#include <yore.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct yore_stream *find_stream(const struct yore *yore, const char *name)
{
	for (size_t i = 0; i < yore_stream_count(yore); i++)
		if (strcmp(yore_stream_name(yore_stream(yore, i)), name) == 0)
			return yore_stream(yore, i);
	return NULL;
}

/* counts[i] is of class i. */
static int count_events(struct yore *yore, const struct yore_events_options *options,
			uint64_t *counts, struct yore_error *err)
{
	struct yore_events *events;
	int status;

	if (yore_events_open(yore, options, &events, err) != 0)
		return -1;
	while ((status = yore_events_next(events, err)) == 1) {
		const struct yore_class *class = yore_event_class(events);
		counts[yore_class_index(class)]++;
	}
	yore_events_close(events);
	return status;
}

static int print_window(struct yore *yore, char **argv, struct yore_error *err)
{
	struct yore_events_options options = YORE_EVENTS_ALL;
	const struct yore_stream *stream = find_stream(yore, argv[2]);
	size_t nclasses = yore_class_count(yore);
	uint64_t *counts = calloc(nclasses + 1, sizeof *counts);

	options.begin = strtoll(argv[3], NULL, 10);
	options.end = strtoll(argv[4], NULL, 10);
	options.streams = &stream;
	options.nstreams = 1;
	int status = !counts || !stream ? -2 : count_events(yore, &options, counts, err);
	for (size_t i = 0; status == 0 && i < nclasses; i++)
		if (counts[i])
			printf("%" PRIu64 " %s\n", counts[i], yore_class_name(yore_class(yore, i)));
	free(counts);
	return status;
}

int main(int argc, char **argv)
{
	struct yore_error err;
	struct yore *yore;

	if (argc != 5) {
		fprintf(stderr, "usage: %s TRACE STREAM BEGIN END\n", argv[0]);
		return 2;
	}
	if (yore_open(argv[1], NULL, &yore, &err) != 0) {
		fprintf(stderr, "window: %s\n", err.text);
		return 1;
	}
	int status = print_window(yore, argv, &err);
	yore_close(yore);
	if (status == -2)
		fprintf(stderr, "window: no stream %s\n", argv[2]);
	else if (status < 0)
		fprintf(stderr, "window: %s\n", err.text);
	return status < 0;
}
