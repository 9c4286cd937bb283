/*
 * describe.c - what a trace consists of: parts, environment, clocks, streams, event classes
 *
 *     cc describe.c $(pkg-config --cflags --libs yore) -o describe
 *     ./describe TRACE
 *
 * A line each; what belongs to a line above is indented.
 */
#include <yore.h>

#include <inttypes.h>
#include <stdio.h>

static void put_uuid(const uint8_t *uuid)
{
	for (int i = 0; uuid && i < 16; i++)
		printf("%s%02x",
		       i == 0                                  ? " "
		       : i == 4 || i == 6 || i == 8 || i == 10 ? "-"
							       : "",
		       uuid[i]);
	putchar('\n');
}

static void put_part(const struct yore_part *part)
{
	const char *name, *text;
	int64_t number;

	printf("part %s %s", yore_part_format(part), yore_part_version(part));
	put_uuid(yore_part_uuid(part));
	for (size_t i = 0; (name = yore_part_variable(part, i, &text, &number)); i++)
		if (text)
			printf("\t%s = %s\n", name, text);
		else
			printf("\t%s = %" PRId64 "\n", name, number);
}

static void put_clock(const struct yore_clock *clock)
{
	int64_t cycles, seconds = yore_clock_offset(clock, &cycles);

	printf("clock %s %" PRIu64 " Hz, %" PRId64 " s + %" PRId64 " cycles%s",
	       yore_clock_name(clock), yore_clock_frequency(clock), seconds, cycles,
	       yore_clock_is_epoch(clock) ? " since the epoch" : "");
	put_uuid(yore_clock_uuid(clock));
}

static void put_stream(const struct yore *yore, const struct yore_stream *stream)
{
	const struct yore_clock *clock = yore_stream_clock(yore, stream);

	printf("stream %s: section %s, clock %s, %" PRIu64 " bytes\n", yore_stream_name(stream),
	       yore_stream_section(stream), clock ? yore_clock_name(clock) : "none",
	       yore_stream_bytes(stream));
}

static void put_field_class(const struct yore_field_class *field_class, const char *name, int depth)
{
	static const char *const kinds[] = {"bool",  "int",    "uint",  "double",  "string",
					    "bytes", "struct", "array", "variant", "optional"};
	const struct yore_field_class *item;
	uint64_t low, high;
	const char *label;

	printf("%*s%s %s", depth * 2, "", kinds[yore_field_class_kind(field_class)], name);
	for (size_t i = 0; (label = yore_field_class_label(field_class, i, &low, &high)); i++)
		printf(" %s=%" PRId64 "...%" PRId64, label, (int64_t)low, (int64_t)high);
	putchar('\n');
	for (size_t i = 0; (item = yore_field_class_item(field_class, i, &name)); i++)
		put_field_class(item, name ? name : "-", depth + 1);
}

static void put_class(const struct yore_class *event_class)
{
	static const struct {
		enum yore_scope scope;
		const char *name;
	} scopes[] = {{YORE_PACKET_CONTEXT, "packet-context"},
		      {YORE_STREAM_CONTEXT, "stream-context"},
		      {YORE_EVENT_CONTEXT, "event-context"},
		      {YORE_PAYLOAD, "payload"}};

	printf("event %s: id %" PRIu64 " of stream class %" PRIu64 ", log level %d\n",
	       yore_class_name(event_class), yore_class_id(event_class),
	       yore_class_stream_id(event_class), yore_class_loglevel(event_class));
	for (size_t i = 0; i < sizeof scopes / sizeof *scopes; i++) {
		const struct yore_field_class *fields =
			yore_class_scope(event_class, scopes[i].scope);
		if (fields)
			put_field_class(fields, scopes[i].name, 1);
	}
}

int main(int argc, char **argv)
{
	struct yore_error err;
	struct yore *yore;

	if (argc != 2) {
		fprintf(stderr, "usage: %s TRACE\n", argv[0]);
		return 2;
	}
	if (yore_open(argv[1], NULL, &yore, &err) != 0) {
		fprintf(stderr, "describe: %s\n", err.text);
		return 1;
	}
	for (size_t i = 0; i < yore_part_count(yore); i++)
		put_part(yore_part(yore, i));
	for (size_t i = 0; i < yore_clock_count(yore); i++)
		put_clock(yore_clock(yore, i));
	for (size_t i = 0; i < yore_stream_count(yore); i++)
		put_stream(yore, yore_stream(yore, i));
	for (size_t i = 0; i < yore_class_count(yore); i++)
		put_class(yore_class(yore, i));
	yore_close(yore);
	return 0;
}
