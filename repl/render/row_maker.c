/* row_maker.c - see row_maker.h */
#include "repl/render/row_maker.h"

void row_maker_init(struct row_maker *maker, const struct trace *trace, enum format format,
		    const uint64_t *classes, const struct times *times, bool color)
{
	maker->times = *times;
	sink_init(&maker->nowhere, -1); /* takes the head of a CSV, which was written already */
	maker->nowhere.color = color;
	maker->writer = event_writer_new_of(trace, format, &maker->times, &maker->nowhere, classes);
}

void row_maker_release(struct row_maker *maker)
{
	event_writer_sink(maker->writer, &maker->nowhere);
	event_writer_free(maker->writer);
	sink_release(&maker->nowhere);
}
