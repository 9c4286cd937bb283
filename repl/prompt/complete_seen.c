/* complete_seen.c - candidates that occur in the trace: keys of attributes, values of fields */
#include "repl/prompt/prompt_internal.h"

#include "engine/base/bitset.h"
#include "engine/base/mem.h"
#include "engine/event.h"
#include "index/events.h"
#include "state/comms.h"
#include "state/state.h"

#include <inttypes.h>
#include <string.h>

/* Limits: events decoded for keys; events read for values, and number of values. */
enum { KEYS_EVENTS = 100000, VALUES_EVENTS = 20000, VALUES_MAX = 200 };

/* ---- keys ---- */

/* Appends the key in bracket number `n` of the path. */
static bool complete_seen_key_of(const char *path, size_t n, struct buf *out)
{
	const char *end;

	for (; (path = strchr(path, '[')) && n; n--)
		path++;
	end = path ? strchr(path, ']') : NULL;
	if (end)
		buf_add(out, path + 1, (size_t)(end - path - 1));
	return end != NULL;
}

static size_t brackets_before(const char *path, size_t at)
{
	size_t count = 0;

	for (size_t i = 0; i < at; i++)
		count += path[i] == '[';
	return count - 1;
}

/* Reads the attributes that match `path` at the current moment, or at the trace's end. */
static bool ask_keys(struct session *session, const char *path, struct answers *out)
{
	struct state *state = NULL;
	struct query *query = NULL;
	struct error ignored;
	nstime first, last;

	*out = (struct answers){0};
	if (!session_bounds(session, &first, &last, &ignored) ||
	    !query_parse(path, &query, &ignored))
		return false;
	struct moment moment = {.t = session->has_moment ? session->moment : last};
	state = session_names(session, KEYS_EVENTS, &ignored);
	bool ok = state && state_at(state, &moment, 1, (const struct query *const *)&query, 1,
				    false, out, &ignored);
	query_free(query);
	return ok;
}

void complete_keys(struct session *session, const char *path, size_t at,
		   void (*each)(void *arg, const char *key), void *arg)
{
	struct answers answers;
	struct buf key = {0};

	if (!ask_keys(session, path, &answers))
		return;
	for (size_t i = 0; i < answers.count; i++) {
		buf_clear(&key);
		if (complete_seen_key_of(answers.items[i].path, brackets_before(path, at), &key))
			each(arg, buf_text(&key));
	}
	answers_release(&answers);
	buf_release(&key);
}

void complete_thread_names(struct session *session, void (*each)(void *arg, const char *name),
			   void *arg)
{
	struct answers answers;
	struct arena *arena = arena_new();

	if (ask_keys(session, "thread[*]/name", &answers))
		for (size_t i = 0; i < answers.count; i++) {
			const char *name = comm_text(arena, &answers.items[i].value);
			if (name && !strpbrk(name, "]\"' ,"))
				each(arg, name);
		}
	answers_release(&answers);
	arena_free(arena);
}

/* ---- values ---- */

struct seen_values {
	struct buf text, scratch;
	struct word_list seen;
};

/* Adds a number or text; other values cannot be typed. */
static void add_field(struct seen_values *values, const struct field *field)
{
	const struct field_class *class = field->class;
	size_t len;

	buf_clear(&values->text);
	if (class->kind == FIELD_INT && class->is_signed)
		buf_printf(&values->text, "%" PRId64, field->slot.s);
	else if (class->kind == FIELD_INT)
		buf_printf(&values->text, "%" PRIu64, field->slot.u);
	else if (class->kind == FIELD_STRING || field_is_text(field)) {
		const uint8_t *bytes = field_bytes(field, &values->scratch, &len);
		buf_add(&values->text, (const char *)bytes, len);
	}
	if (values->text.len)
		word_list_keep(&values->seen, buf_text(&values->text));
}

static const unsigned scopes =
	1U << SCOPE_PAYLOAD | 1U << SCOPE_EVENT_CONTEXT | 1U << SCOPE_STREAM_EVENT_CONTEXT;

/* Sets the field's path in each class that has it; returns a bit set of these classes. */
static uint64_t *find_field(const struct trace *trace, const char *field, struct field_path *paths)
{
	uint64_t *classes = bitset_new(trace->nclasses);

	for (size_t i = 0; i < trace->nclasses; i++)
		if (field_path_find(trace->classes[i], scopes, &field, 1, &paths[i]))
			bitset_add(classes, i);
	return classes;
}

static void add_seen(struct index *index, const struct field_path *paths, const uint64_t *classes,
		     struct seen_values *values)
{
	struct events_options open = {.begin = NSTIME_MIN, .end = NSTIME_MAX, .classes = classes};
	struct events *events = NULL;
	struct fields fields;
	struct error ignored;
	struct event event;
	struct field field;

	if (!events_open(index, &open, &events, &ignored))
		return;
	for (size_t n = 0; n < VALUES_EVENTS && values->seen.count < VALUES_MAX &&
			   events_next(events, &event, &ignored) == STEP_ITEM;
	     n++) {
		if (!event.class || !events_fields(events, &event, &fields, &ignored))
			continue;
		fields_at(&fields, &paths[event.class->index], &field);
		add_field(values, &field);
	}
	events_close(events);
}

void complete_values(struct session *session, const char *field,
		     void (*each)(void *arg, const char *value), void *arg)
{
	struct seen_values values = {0};
	struct error ignored;
	struct index *index = session_index(session, &ignored);
	const struct trace *trace = session->trace;

	if (!index)
		return;
	struct field_path *paths = mem_new_array(trace->nclasses + 1, sizeof *paths);
	uint64_t *classes = find_field(trace, field, paths);
	add_seen(index, paths, classes, &values);
	for (size_t i = 0; i < values.seen.count; i++)
		each(arg, values.seen.items[i]);
	word_list_free(&values.seen);
	mem_free(classes);
	mem_free(paths);
	buf_release(&values.text);
	buf_release(&values.scratch);
}
