/* reading.c - see reading.h */
#include "state/reading.h"

#include "engine/base/mem.h"

enum { CPUS_MAX = 4096 };

struct reading {
	struct where_reads reads;
	struct where_pass *pass;
	struct interval_window *window;
	bool holds; /* the value can be held per CPU */
	struct held {
		nstime from, until; /* both inclusive */
		struct value value; /* VALUE_UNKNOWN: no value is held */
		struct buf text;
	} * held; /* by CPU */
	size_t count;
};

struct reading *reading_new(const struct where *where, struct interval_window *window)
{
	struct reading *reading = mem_new(sizeof *reading);

	reading->reads = interval_window_reads(window);
	reading->pass = where_pass_new(where, &reading->reads);
	reading->window = window;
	reading->holds = where_is_of_cpu(where);
	return reading;
}

void reading_free(struct reading *reading)
{
	if (!reading)
		return;
	where_pass_free(reading->pass);
	for (size_t i = 0; i < reading->count; i++)
		buf_release(&reading->held[i].text);
	mem_free(reading->held);
	mem_free(reading);
}

/* Holds the value for its CPU, unless it does not exist: then it is evaluated again. */
static void hold(struct reading *reading, int32_t cpu, nstime from, struct value *value)
{
	struct held *held;

	reading->held =
		mem_reach(reading->held, (size_t)cpu, &reading->count, sizeof *reading->held);
	held = &reading->held[cpu];
	held->from = from;
	held->until = interval_window_holds(reading->window);
	if (value->kind == VALUE_STRING) {
		buf_clear(&held->text);
		buf_add(&held->text, value->text, value->len);
		value->text = held->text.data;
	}
	held->value = value_exists(value) ? *value : (struct value){.kind = VALUE_UNKNOWN};
}

void reading_value(struct reading *reading, const struct run *run, uint32_t entry,
		   struct value *out)
{
	nstime t = run->batch->time[entry];
	bool holds = reading->holds && run->cpu >= 0 && run->cpu < CPUS_MAX;

	if (holds && (size_t)run->cpu < reading->count) {
		const struct held *held = &reading->held[run->cpu];
		*out = held->value;
		if (value_exists(out) && t >= held->from && t <= held->until)
			return;
	}
	struct run one = *run;
	one.first = entry;
	one.count = 1;
	interval_window_mark(reading->window);
	where_value(reading->pass, &one, out);
	if (holds)
		hold(reading, run->cpu, t, out);
}
