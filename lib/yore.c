/*
 * yore.c - the public C interface over the rooms below
 *
 * A handle keeps trace, index, rules and state, the last error, and the text of the last value, so
 * that callers free nothing but handles. Options carry their size: a program that was compiled
 * against an older header passes a shorter structure, and the rest counts as zero.
 */
#include "yore.h"

#include "engine/base/mem.h"
#include "engine/reader.h"
#include "index/events.h"
#include "index/location.h"
#include "state/state.h"

#include <fnmatch.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

struct yore {
	struct yore_options options;
	struct trace *trace;
	struct index *index;
	struct rules *rules;
	struct state *state;
	struct buf text; /* of the last value */
	struct error err;
};

struct yore_events {
	struct yore *yore;
	struct events *events;
	struct event event;
	struct fields fields;
	uint64_t *classes;
	bool on, decoded; /* there is an event; its fields were decoded */
};

EXPORT const char *yore_version(void)
{
	return YORE_VERSION;
}

EXPORT const char *yore_error(const struct yore *yore)
{
	return yore->err.text;
}

static int result(bool ok)
{
	return ok ? 0 : -1;
}

static void say(void *arg, enum notice_kind kind, const char *text)
{
	const struct yore *yore = arg;

	if (yore->options.say)
		yore->options.say(yore->options.arg, (enum yore_notice)kind, text);
}

/* Copies what the caller knows of the options; the rest stays zero. */
static void take_options(void *to, size_t known, const void *from, size_t size)
{
	if (from)
		memcpy(to, from, size < known ? size : known);
}

static bool open_rules(struct yore *yore)
{
	bool ok = true;

	yore->rules = rules_new();
	for (size_t i = 0; i < yore->options.nrules && ok; i++)
		ok = rules_add_named(yore->rules, yore->options.rules[i], &yore->err);
	if (ok && !yore->options.nrules)
		ok = rules_add_builtins(yore->rules, yore->trace, &yore->err);
	return ok && rules_check(yore->rules, &yore->err);
}

EXPORT int yore_open(const char *path, const struct yore_options *options, struct yore **out)
{
	struct yore *yore = mem_new(sizeof *yore);
	struct notices notices = {.say = say, .arg = yore};
	struct trace_options open = {.paths = &path, .npaths = 1, .notices = notices};

	*out = yore;
	take_options(&yore->options, sizeof yore->options, options, options ? options->size : 0);
	struct index_options index = {.dir = yore->options.index_dir,
				      .none = yore->options.no_index != 0,
				      .notices = notices};
	char *spill_dir = index_folder(&index);
	open.spill_dir = spill_dir;
	bool opened = trace_open(&open, &yore->trace, &yore->err);
	mem_free(spill_dir);
	if (!opened) {
		yore->trace = NULL;
		return -1;
	}
	if (!index_open(yore->trace, &index, &yore->index, &yore->err)) {
		yore->index = NULL;
		return -1;
	}
	return result(open_rules(yore));
}

EXPORT void yore_close(struct yore *yore)
{
	if (!yore)
		return;
	state_close(yore->state);
	rules_free(yore->rules);
	index_close(yore->index);
	trace_close(yore->trace);
	buf_release(&yore->text);
	mem_free(yore);
}

/* False, with an error, when the handle did not open. */
static bool is_open(struct yore *yore)
{
	return yore->index ||
	       (yore->err.text[0] ? false : error_set(&yore->err, ERR_QUERY, "no trace is open"));
}

EXPORT int yore_range(struct yore *yore, int64_t *first, int64_t *last)
{
	if (!is_open(yore) || !events_range(yore->index, first, last, &yore->err))
		return -1;
	return result(*first <= *last ||
		      error_set(&yore->err, ERR_RANGE, "the trace has no event"));
}

/* Events -------------------------------------------------------------------------------------- */

static uint64_t *wanted_classes(const struct trace *trace, const char *const *names, size_t count)
{
	uint64_t *bits = mem_new_array(trace->nclasses / 64 + 1, sizeof *bits);

	for (size_t i = 0; i < trace->nclasses; i++) {
		const char *name = trace->classes[i]->name, *tail = strrchr(name, ':');
		for (size_t n = 0; n < count; n++)
			if (fnmatch(names[n], name, 0) == 0 ||
			    (tail && fnmatch(names[n], tail + 1, 0) == 0))
				bits[i / 64] |= UINT64_C(1) << i % 64;
	}
	return bits;
}

EXPORT int yore_events_open(struct yore *yore, const struct yore_events_options *options,
			    struct yore_events **out)
{
	struct yore_events_options own = {.begin = YORE_TIME_MIN, .end = YORE_TIME_MAX};
	struct yore_events *events;

	*out = NULL;
	if (!is_open(yore))
		return -1;
	take_options(&own, sizeof own, options, options ? options->size : 0);
	events = mem_new(sizeof *events);
	events->yore = yore;
	if (own.names)
		events->classes = wanted_classes(yore->trace, own.names, own.nnames);
	struct events_options open = {.begin = own.begin,
				      .end = own.end,
				      .backward = own.backward != 0,
				      .losses = own.losses != 0,
				      .classes = events->classes};
	if (!events_open(yore->index, &open, &events->events, &yore->err)) {
		mem_free(events->classes);
		mem_free(events);
		return -1;
	}
	*out = events;
	return 0;
}

EXPORT void yore_events_close(struct yore_events *events)
{
	if (!events)
		return;
	events_close(events->events);
	mem_free(events->classes);
	mem_free(events);
}

EXPORT int yore_events_next(struct yore_events *events)
{
	enum step step = events_next(events->events, &events->event, &events->yore->err);

	events->on = step == STEP_ITEM;
	events->decoded = false;
	return step == STEP_ITEM ? 1 : step == STEP_END ? 0 : -1;
}

EXPORT int64_t yore_event_time(const struct yore_events *events)
{
	return events->on ? events->event.time : YORE_TIME_MIN;
}

EXPORT const char *yore_event_name(const struct yore_events *events)
{
	return events->on && events->event.class ? events->event.class->name : NULL;
}

EXPORT const char *yore_event_stream(const struct yore_events *events)
{
	return events->on ? events->event.stream->name : NULL;
}

EXPORT int yore_event_cpu(const struct yore_events *events)
{
	return events->on ? events->event.cpu : -1;
}

EXPORT uint64_t yore_event_lost(const struct yore_events *events, int64_t *until)
{
	const struct event *event = &events->event;
	bool loss = events->on && !event->class;

	if (until)
		*until = loss ? event->until : YORE_TIME_MIN;
	return !loss ? 0 : event->lost_unknown ? UINT64_MAX : event->lost;
}

static void keep_text(struct yore *yore, const void *bytes, size_t len, struct yore_value *out)
{
	buf_clear(&yore->text);
	buf_add(&yore->text, bytes, len);
	out->kind = YORE_STRING;
	out->text = buf_text(&yore->text);
	out->len = len;
}

static void field_value(struct yore *yore, const struct field *field, struct yore_value *out)
{
	const struct field_class *class = field->class;
	struct buf scratch = {0};
	size_t len;

	*out = (struct yore_value){.kind = YORE_OTHER};
	if (class->kind == FIELD_INT) {
		out->u = field->slot.u;
		out->kind = class->is_signed || out->u <= INT64_MAX ? YORE_INT : YORE_UINT;
	} else if (class->kind == FIELD_FLOAT) {
		out->f = field->slot.f;
		out->kind = YORE_FLOAT;
	} else if (field_is_text(field)) {
		const uint8_t *bytes = field_bytes(field, &scratch, &len);
		keep_text(yore, bytes, len, out);
	}
	buf_release(&scratch);
}

/* Cuts "a/b/0" in place. */
enum { NAMES_MAX = 16 };
static size_t split(char *name, const char *names[NAMES_MAX])
{
	size_t n = 0;

	for (char *rest = NULL, *at = strtok_r(name, "/", &rest); at && n < NAMES_MAX;
	     at = strtok_r(NULL, "/", &rest))
		names[n++] = at;
	return n;
}

static bool decode(struct yore_events *events)
{
	struct error *err = &events->yore->err;

	if (!events->on || !events->event.class)
		return error_set(err, ERR_QUERY, "there is no event");
	if (!events->decoded)
		events->decoded =
			events_fields(events->events, &events->event, &events->fields, err);
	return events->decoded;
}

EXPORT int yore_event_field(struct yore_events *events, const char *name, struct yore_value *out)
{
	struct yore *yore = events->yore;
	const char *names[NAMES_MAX];
	unsigned scopes = (1u << SCOPE_COUNT) - 1;
	struct field field;

	*out = (struct yore_value){.kind = YORE_UNKNOWN};
	if (!decode(events))
		return -1;
	char *copy = mem_strdup(name);
	size_t n = split(copy, names);
	bool found = fields_get(&events->fields, scopes, names, n, &field);
	if (found)
		field_value(yore, &field, out);
	else
		error_set(&yore->err, ERR_QUERY, "%s has no field %s", events->event.class->name,
			  name);
	mem_free(copy);
	return result(found);
}

EXPORT const char *yore_event_text(struct yore_events *events)
{
	const struct trace *trace = events->yore->trace;
	struct buf *text = &events->yore->text;

	if (!decode(events))
		return NULL;
	const struct reader *reader = trace->parts[events->event.class->part]->reader;
	buf_clear(text);
	return reader->text && reader->text(&events->fields, text) ? buf_text(text) : NULL;
}

/* State --------------------------------------------------------------------------------------- */

static bool open_state(struct yore *yore)
{
	struct state_options open = {.rules = yore->rules,
				     .notices = {.say = say, .arg = yore},
				     .no_checkpoints = yore->options.no_index != 0};

	if (yore->state)
		return true;
	if (!is_open(yore))
		return false;
	if (state_open(yore->index, &open, &yore->state, &yore->err))
		return true;
	yore->state = NULL;
	return false;
}

static void state_value(struct yore *yore, const struct value *value, struct yore_value *out)
{
	*out = (struct yore_value){.kind = YORE_UNKNOWN};
	switch (value->kind) {
	case VALUE_UNKNOWN:
		return;
	case VALUE_NONE:
		out->kind = YORE_NONE;
		return;
	case VALUE_INT:
		out->u = value->u;
		out->kind = value->negative || value->u <= INT64_MAX ? YORE_INT : YORE_UINT;
		return;
	case VALUE_FLOAT:
		out->kind = YORE_FLOAT;
		out->f = value->f;
		return;
	case VALUE_STRING:
		keep_text(yore, value->text, value->len, out);
		return;
	case VALUE_BOOL:
		out->kind = YORE_BOOL;
		out->i = value->b;
		return;
	}
}

static bool at(struct yore *yore, int64_t t, const struct query *query, struct yore_value *out,
	       int64_t *since)
{
	struct moment moment = {.t = t};
	struct answers answers;

	if (query_has_wildcard(query))
		return error_set(&yore->err, ERR_QUERY, "%s names more than one attribute",
				 query_text(query));
	if (!state_at(yore->state, &moment, 1, &query, 1, false, &answers, &yore->err))
		return false;
	if (answers.count) {
		state_value(yore, &answers.items[0].value, out);
		if (since)
			*since = answers.items[0].since;
	}
	answers_release(&answers);
	return true;
}

EXPORT int yore_at(struct yore *yore, int64_t t, const char *path, struct yore_value *out,
		   int64_t *since)
{
	struct query *query;

	*out = (struct yore_value){.kind = YORE_UNKNOWN};
	if (since)
		*since = YORE_TIME_MIN;
	if (!open_state(yore) || !query_parse(path, &query, &yore->err))
		return -1;
	bool ok = at(yore, t, query, out, since);
	query_free(query);
	return result(ok);
}

struct each {
	struct yore *yore;
	int (*call)(void *arg, const char *attribute, int64_t from, int64_t to,
		    const struct yore_value *value);
	void *arg;
};

static bool give(void *arg, const struct interval *interval)
{
	struct each *each = arg;
	struct yore_value value;

	state_value(each->yore, &interval->value, &value);
	return each->call(each->arg, interval->path, interval->begin, interval->end, &value) == 0;
}

EXPORT int yore_intervals(struct yore *yore, int64_t begin, int64_t end, const char *path,
			  int (*each)(void *arg, const char *attribute, int64_t from, int64_t to,
				      const struct yore_value *value),
			  void *arg)
{
	struct each to = {yore, each, arg};
	struct query *query;

	if (!open_state(yore) || !query_parse(path, &query, &yore->err))
		return -1;
	bool ok = state_intervals(yore->state, begin, end, (const struct query *const *)&query, 1,
				  give, &to, &yore->err);
	query_free(query);
	return result(ok);
}
