/*
 * samples.h - which events of a trace are the samples of a profile, and what each weighs
 *
 * The events of one name count, as symbols_sample_order() says; others would be added up with
 * different units. Which name that is may show late: then what was gathered before does not count.
 */
#ifndef CONVERT_SAMPLES_SAMPLES_H
#define CONVERT_SAMPLES_SAMPLES_H

#include "convert/convert.h"

struct samples;

struct samples *samples_new(const struct convert_options *options);
void samples_free(struct samples *samples); /* NULL is fine */

struct sample {
	const struct frame *frames; /* the innermost first; borrowed until the next one */
	size_t count;
	uint64_t weight; /* its period where it has one, else 1 */
	int64_t tid;     /* 0 where it tells none */
	int64_t pid;     /* -1: it tells none */
	bool first;      /* all samples before it do not count: they are of another name */
};
/* False: the event does not count. */
bool samples_take(struct samples *samples, nstime t, const struct event_class *class,
		  const struct fields *fields, struct sample *out);
/* The class of those that count; NULL: there was none. */
const struct event_class *samples_counted(const struct samples *samples);
/* Are they samples of a counter, so that weights are sums of periods? */
bool samples_have_periods(const struct samples *samples);
/* Tells once which events were left out, though they have frames, too. */
void samples_note_left(const struct samples *samples);

#endif
