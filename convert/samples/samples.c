/* samples.c - see samples.h */
#include "convert/samples/samples.h"

#include "engine/base/mem.h"
#include "index/events.h"

#include <string.h>

enum { LEFT_NAMED = 4 }; /* in a note */

struct class_place {
	bool made, chain;
	bool left; /* its events have frames but are not counted */
	uint32_t order;
	struct event_thread thread;
	struct field_path period;
};

struct samples {
	const struct convert_options *options;
	const struct event_class *counted; /* classes of its name count; NULL: not known yet */
	struct class_place *classes;
};

struct samples *samples_new(const struct convert_options *options)
{
	struct samples *samples = mem_new(sizeof *samples);

	samples->options = options;
	samples->classes = mem_new_array(options->trace->nclasses + 1, sizeof *samples->classes);
	return samples;
}

void samples_free(struct samples *samples)
{
	if (!samples)
		return;
	mem_free(samples->classes);
	mem_free(samples);
}

static struct class_place *place_in(struct samples *samples, const struct event_class *class)
{
	struct class_place *place = &samples->classes[class->index];

	if (place->made)
		return place;
	place->made = true;
	place->chain = symbols_chain(class) || symbols_has_address(class);
	place->thread = event_thread_of(class);
	place->order = symbols_sample_order(samples->options->trace, class);
	if (symbols_is_counter(class)) /* a tracepoint counts once, whatever its period is */
		field_path_find_int(class, 1u << SCOPE_EVENT_CONTEXT, "period", &place->period);
	return place;
}

/* Is the event, which has frames, counted? A class of lower order replaces the counted one. */
static bool counts(struct samples *samples, struct class_place *place,
		   const struct event_class *class, bool *first)
{
	const struct event_class *before = samples->counted;

	*first = false;
	if (before && strcmp(before->name, class->name) == 0)
		return true;
	if (before && place->order >= samples->classes[before->index].order) {
		place->left = true;
		return false;
	}
	if (before)
		samples->classes[before->index].left = true;
	samples->counted = class;
	*first = true;
	return true;
}

bool samples_take(struct samples *samples, nstime t, const struct event_class *class,
		  const struct fields *fields, struct sample *out)
{
	struct class_place *place = place_in(samples, class);

	if (!place->chain || place->left || !fields || !samples->options->symbols)
		return false;
	out->count = symbols_frames(samples->options->symbols, t, fields, 0, &out->frames);
	if (!out->count || !counts(samples, place, class, &out->first))
		return false;
	out->tid = fields_number(fields, &place->thread.tid, 0);
	out->pid = fields_number(fields, &place->thread.pid, -1);
	out->weight = (uint64_t)fields_number(fields, &place->period, 1);
	return true;
}

const struct event_class *samples_counted(const struct samples *samples)
{
	return samples->counted;
}

bool samples_have_periods(const struct samples *samples)
{
	return samples->counted && samples->classes[samples->counted->index].period.class;
}

void samples_note_left(const struct samples *samples)
{
	const struct trace *trace = samples->options->trace;
	struct buf names = {0};
	size_t left = 0;

	for (size_t i = 0; i < trace->nclasses; i++)
		if (samples->classes[i].left && left++ < LEFT_NAMED)
			buf_printf(&names, "%s%s", left > 1 ? ", " : "", trace->classes[i]->name);
	if (left > LEFT_NAMED)
		buf_printf(&names, " and %zu more", left - LEFT_NAMED);
	if (left)
		notice(&trace->notices, NOTICE_INFO,
		       "samples of %s are counted; others with stacks (--name): %s",
		       samples->counted->name, buf_text(&names));
	buf_release(&names);
}
