/*
 * folded.c - folded stacks, "comm;outermost;...;innermost WEIGHT": what flame graphs are drawn from
 *
 * The weight is the sum of the samples' periods where they have one, else how many there were. The
 * events of one name count, as symbols_sample_order() says; others would be added up with
 * different units. Names are as stackcollapse-perf writes them.
 */
#include "convert/convert_internal.h"
#include "convert/out.h"
#include "convert/track_names.h"
#include "engine/base/arena.h"
#include "engine/base/buf.h"
#include "engine/base/hash_index.h"
#include "engine/base/mem.h"

#include <stdlib.h>
#include <string.h>

enum { LEFT_NAMED = 4 }; /* in a note */

struct stack {
	const char *text;
	uint64_t weight;
};

struct folded {
	const struct convert_options *options;
	struct out out;
	struct arena *arena;
	struct track_names *names;
	const struct event_class *counted; /* classes of its name count; NULL: not known yet */
	struct class_place {
		bool made, chain;
		bool left; /* its events have frames, and are not counted */
		uint32_t order;
		struct field_path tid, period;
	} * classes;
	struct stack *stacks;
	size_t count, capacity;
	struct hash_index stack_index;
	struct buf text;
};

static void add_stack(struct folded *folded, const char *text, size_t len, uint64_t weight)
{
	uint64_t hash = hash_bytes(text, len);
	uint32_t at = hash_index_find(&folded->stack_index, hash, i,
				      !strcmp(folded->stacks[i].text, text));

	if (at == HASH_INDEX_NONE) {
		*mem_push(folded->stacks, folded->count, folded->capacity) =
			(struct stack){arena_strndup(folded->arena, text, len), 0};
		at = hash_index_add(&folded->stack_index, hash, folded->count - 1);
	}
	folded->stacks[at].weight += weight;
}

/* ---- one sample ---- */

/* Where arguments begin; Go's methods, "x.(*T).f", and C++'s nameless namespace stay. */
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
	const char *object = frame->symbol.object, *slash;

	buf_add_char(out, ';');
	if (frame->symbol.function) {
		add_function(out, frame->symbol.function);
	} else if (object) {
		slash = strrchr(object, '/');
		buf_add_char(out, '[');
		buf_add_text(out, slash ? slash + 1 : object);
		buf_add_char(out, ']');
	} else {
		buf_add_text(out, "[unknown]");
	}
}

static void add_comm(struct folded *folded, int64_t tid, nstime t)
{
	const char *name = tid ? track_name_at(folded->names, TRACK_THREAD, tid, t) : "swapper";
	struct buf *out = &folded->text;

	if (!name)
		buf_printf(out, ":%lld", (long long)tid);
	for (; name && *name; name++)
		buf_add_char(out, *name == ' ' ? '_' : *name == ';' ? ':' : *name);
}

static bool find(const struct event_class *class, const char *name, struct field_path *out)
{
	if (field_path_find(class, 1u << SCOPE_EVENT_CONTEXT, &name, 1, out) &&
	    out->class->kind == FIELD_INT)
		return true;
	out->class = NULL;
	return false;
}

static struct class_place *place_in(struct folded *folded, const struct event_class *class)
{
	struct class_place *place = &folded->classes[class->index];

	if (place->made)
		return place;
	place->made = true;
	place->chain = symbols_chain(class) || symbols_has_address(class);
	place->tid = event_thread_of(class).tid;
	place->order = symbols_sample_order(folded->options->trace, class);
	if (symbols_is_counter(class)) /* a tracepoint counts once, whatever its period is */
		find(class, "period", &place->period);
	return place;
}

/* Does the event, which has frames, count? One of less order takes the place of those before. */
static bool counts(struct folded *folded, struct class_place *place,
		   const struct event_class *class)
{
	const struct event_class *before = folded->counted;

	if (before && strcmp(before->name, class->name) == 0)
		return true;
	if (before && place->order >= folded->classes[before->index].order) {
		place->left = true;
		return false;
	}
	if (before)
		folded->classes[before->index].left = true;
	folded->counted = class;
	folded->count = 0;
	hash_index_release(&folded->stack_index);
	return true;
}

static bool folded_event(void *self, nstime t, const struct stream *stream, int32_t cpu,
			 const struct event_class *class, const struct fields *fields,
			 struct error *err)
{
	struct folded *folded = self;
	struct class_place *place = place_in(folded, class);
	const struct frame *frames;
	struct field field = {0};
	uint64_t weight = 1;
	size_t count;

	(void)stream;
	(void)cpu;
	(void)err;
	if (!place->chain || place->left || !fields || !folded->options->symbols)
		return true;
	count = symbols_frames(folded->options->symbols, t, fields, 0, &frames);
	if (!count || !counts(folded, place, class))
		return true;
	buf_clear(&folded->text);
	if (place->tid.class)
		fields_at(fields, &place->tid, &field);
	add_comm(folded, field.slot.s, t);
	while (count)
		add_frame(&folded->text, &frames[--count]);
	if (place->period.class) {
		fields_at(fields, &place->period, &field);
		weight = field.slot.u;
	}
	add_stack(folded, folded->text.data, folded->text.len, weight);
	return true;
}

static bool folded_learn(void *self, const struct interval *interval, struct error *err)
{
	struct folded *folded = self;

	(void)err;
	track_names_learn(folded->names, interval);
	return true;
}

/* ---- the whole ---- */

static int by_text(const void *a, const void *b)
{
	const struct stack *x = a, *y = b;

	return strcmp(x->text, y->text);
}

/* Which events were left out, though they have frames, too. */
static void note_left(const struct folded *folded)
{
	const struct trace *trace = folded->options->trace;
	struct buf names = {0};
	size_t left = 0;

	for (size_t i = 0; i < trace->nclasses; i++)
		if (folded->classes[i].left && left++ < LEFT_NAMED)
			buf_printf(&names, "%s%s", left > 1 ? ", " : "", trace->classes[i]->name);
	if (left > LEFT_NAMED)
		buf_printf(&names, " and %zu more", left - LEFT_NAMED);
	if (left)
		notice(&trace->notices, NOTICE_INFO,
		       "samples of %s are counted; others with stacks (--name): %s",
		       folded->counted->name, buf_text(&names));
	buf_release(&names);
}

static bool folded_finish(void *self, struct error *err)
{
	struct folded *folded = self;
	struct buf *out = &folded->text;

	if (!folded->count)
		return error_set(err, ERR_RANGE,
				 "no event is a sample of perf's; yore flamegraph "
				 "folds those of LTTng and ftrace, too");
	note_left(folded);
	qsort(folded->stacks, folded->count, sizeof *folded->stacks, by_text);
	buf_clear(out);
	for (size_t i = 0; i < folded->count; i++) {
		buf_add_text(out, folded->stacks[i].text);
		buf_add_char(out, ' ');
		buf_add_u64(out, folded->stacks[i].weight);
		buf_add_char(out, '\n');
	}
	return out_write(&folded->out, out->data, out->len, err) && out_finish(&folded->out, err);
}

static void folded_close(void *self)
{
	struct folded *folded = self;

	out_drop(&folded->out);
	track_names_free(folded->names);
	arena_free(folded->arena);
	buf_release(&folded->text);
	mem_free(folded->classes);
	mem_free(folded->stacks);
	hash_index_release(&folded->stack_index);
	mem_free(folded);
}

static void *folded_open(const struct convert_options *options, struct error *err)
{
	struct folded *folded = mem_new(sizeof *folded);

	folded->options = options;
	if (!out_open(&folded->out, options->path, err)) {
		mem_free(folded);
		return NULL;
	}
	folded->arena = arena_new();
	folded->names = track_names_new();
	folded->classes = mem_new_array(options->trace->nclasses + 1, sizeof *folded->classes);
	return folded;
}

static const char *const names_wanted[] = {"thread[*]/name", NULL};

const struct convert_format convert_folded = {
	.kind = {.name = "folded", .endings = ".folded", .names = names_wanted},
	.open = folded_open,
	.event = folded_event,
	.learn = folded_learn,
	.finish = folded_finish,
	.close = folded_close,
};
