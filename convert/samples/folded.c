/*
 * folded.c - folded stacks, "comm;outermost;...;innermost WEIGHT": what flame graphs are drawn from
 *
 * The weight is the sum of the samples' periods where they have one, else how many there were.
 * Which samples count, samples.h says. Names are as stackcollapse-perf writes them.
 */
#include "convert/convert_internal.h"
#include "convert/out.h"
#include "convert/samples/samples.h"
#include "convert/track_names.h"
#include "engine/base/arena.h"
#include "engine/base/buf.h"
#include "engine/base/hash_index.h"
#include "engine/base/mem.h"

#include <stdlib.h>
#include <string.h>

struct stack {
	const char *text;
	uint64_t weight;
};

struct folded {
	const struct convert_options *options;
	struct out out;
	struct arena *arena;
	struct track_names *names;
	struct samples *samples;
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
	if (sample.first) {
		folded->count = 0;
		hash_index_release(&folded->stack_index);
	}
	buf_clear(&folded->text);
	add_comm(folded, sample.tid, t);
	while (sample.count)
		add_frame(&folded->text, &sample.frames[--sample.count]);
	add_stack(folded, folded->text.data, folded->text.len, sample.weight);
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

static bool folded_finish(void *self, struct error *err)
{
	struct folded *folded = self;
	struct buf *out = &folded->text;

	if (!folded->count)
		return error_set(err, ERR_RANGE,
				 "no event is a sample of perf's; yore flamegraph "
				 "folds those of LTTng and ftrace, too");
	samples_note_left(folded->samples);
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
	samples_free(folded->samples);
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
	folded->samples = samples_new(options);
	return folded;
}

const struct convert_format convert_folded = {
	.kind = {.name = "folded", .endings = ".folded", .names = track_thread_names_paths},
	.open = folded_open,
	.event = folded_event,
	.learn = folded_learn,
	.finish = folded_finish,
	.close = folded_close,
};
