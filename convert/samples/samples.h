/*
 * samples.h - which events of a trace are the samples of a profile, and what each weighs
 *
 * Only events of one name count, chosen by symbols_sample_order(): sums over several names would
 * mix units. A better name may come late; then the samples gathered before it must be dropped.
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
	int64_t tid;     /* 0: unknown */
	int64_t pid;     /* -1: unknown */
	bool first;      /* drop all samples before it: they are of another name */
};
/* Reads the sample of an event into *out. False: the event is not counted. */
bool samples_take(struct samples *samples, nstime t, const struct event_class *class,
		  const struct fields *fields, struct sample *out);
/* A class of the counted name; NULL: no sample yet. */
const struct event_class *samples_counted(const struct samples *samples);
/* Do samples have periods, so that weights are sums of periods? */
bool samples_have_periods(const struct samples *samples);
/* Prints a note with the events that have frames but were not counted. */
void samples_note_left(const struct samples *samples);

#endif
