/*
 * folded.c - folded stacks, "comm;outermost;...;innermost WEIGHT": what flame graphs are drawn from
 *
 * The weight is the sum of the samples' periods, or their number if they have none. samples.h says
 * which samples count. Names are spelled as stackcollapse-perf spells them.
 */
#include "aggregate/groups.h"
#include "convert/convert_internal.h"
#include "convert/samples/samples.h"
#include "convert/track_names.h"
#include "engine/base/buf.h"
#include "engine/base/mem.h"

#include <stdlib.h>
#include <string.h>

static const struct aggregate weights = {.kind = AGGREGATE_SUM};

struct folded {
	struct convert of;
	struct samples *samples;
	struct groups stacks; /* by their texts */
	struct buf text;
};

/* ---- one sample ---- */

/*
 * Length of a function's name without arguments. Go's methods, "x.(*T).f", and C++'s "(anonymous
 * namespace)" stay whole.
 */
static size_t name_length(const char *name)
{
	const char *at = strstr(name, ".(");

	if (at && strstr(at, ")."))
		return strlen(name);
	for (at = strchr(name, '('); at; at = strchr(at + 1, '('))
		if (strncmp(at, "(anonymous namespace)", 21) != 0)
			return (size_t)(at - name);
	return strlen(name);
}

static void add_function(struct buf *out, const char *name)
{
	size_t len = name_length(name);

	for (size_t i = 0; i < len; i++)
		if (name[i] != '"' && name[i] != '\'')
			buf_add_char(out, name[i] == ';' ? ':' : name[i]);
}

static void add_frame(struct buf *out, const struct frame *frame)
{
	const char *object = frame->symbol.object;

	buf_add_char(out, ';');
	if (frame->symbol.function) {
		add_function(out, frame->symbol.function);
	} else if (object) {
		buf_add_char(out, '[');
		buf_add_text(out, basename(object));
		buf_add_char(out, ']');
	} else {
		buf_add_text(out, "[unknown]");
	}
}

static void add_comm(struct folded *folded, int64_t tid, nstime t)
{
	const char *name = tid ? track_name_at(folded->of.names, TRACK_THREAD, tid, t) : "swapper";
	struct buf *out = &folded->text;

	if (!name)
		buf_printf(out, ":%lld", (long long)tid);
	for (; name && *name; name++)
		buf_add_char(out, *name == ' ' ? '_' : *name == ';' ? ':' : *name);
}

static bool folded_event(void *self, nstime t, const struct stream *stream, int32_t cpu,
			 const struct event_class *class, const struct fields *fields,
			 struct error *err)
{
	struct folded *folded = self;
	struct sample sample;

	(void)stream;
	(void)cpu;
	(void)err;
	if (!samples_take(folded->samples, t, class, fields, &sample))
		return true;
	if (sample.first)
		groups_clear(&folded->stacks);
	buf_clear(&folded->text);
	add_comm(folded, sample.tid, t);
	while (sample.count)
		add_frame(&folded->text, &sample.frames[--sample.count]);
	struct value key = value_text(folded->text.data, folded->text.len);
	accumulate(&weights, groups_at(&folded->stacks, &key)->totals, sample.weight);
	return true;
}

/* ---- the whole ---- */

static int by_text(const void *a, const void *b)
{
	return value_compare((*(struct group *const *)a)->keys, (*(struct group *const *)b)->keys);
}

static bool folded_finish(void *self, struct error *err)
{
	struct folded *folded = self;
	struct buf *out = &folded->text;

	if (!folded->stacks.count)
		return error_set(err, ERR_RANGE,
				 "no event is a sample of perf's; yore flamegraph "
				 "folds those of LTTng and ftrace, too");
	samples_note_left(folded->samples);
	qsort(folded->stacks.items, folded->stacks.count, sizeof *folded->stacks.items, by_text);
	buf_clear(out);
	for (size_t i = 0; i < folded->stacks.count; i++) {
		const struct group *stack = folded->stacks.items[i];
		buf_add(out, stack->keys->text, stack->keys->len);
		buf_add_char(out, ' ');
		buf_add_u64(out, (uint64_t)stack->totals[0].number);
		buf_add_char(out, '\n');
	}
	return out_write(&folded->of.out, out->data, out->len, err) &&
	       out_finish(&folded->of.out, err);
}

static void folded_close(void *self)
{
	struct folded *folded = self;

	buf_release(&folded->text);
	samples_free(folded->samples);
	groups_clear(&folded->stacks);
}

static bool folded_open(void *self, struct error *err)
{
	struct folded *folded = self;

	folded->stacks = (struct groups){.nkeys = 1, .naggregates = 1, .aggregates = &weights};
	folded->samples = samples_new(&folded->of.options);
	return out_open(&folded->of.out, folded->of.options.path, err);
}

const struct convert_format convert_folded = {
	.kind = {.name = "folded", .endings = ".folded", .names = track_thread_names_paths},
	.size = sizeof(struct folded),
	.open = folded_open,
	.event = folded_event,
	.finish = folded_finish,
	.close = folded_close,
};
