/*
 * loaded_files.c - see loaded_files.h
 *
 * A process dumps its state when it is first traced, and again after exec. Files of its first dump
 * count as loaded since the trace's start, since calls may be recorded before the dump; files of
 * later events count from then on.
 */
#include "index/loaded_files.h"

#include "engine/base/arena.h"
#include "engine/base/bitset.h"
#include "engine/base/mem.h"
#include "engine/base/search.h"

#include <stdlib.h>
#include <string.h>

enum what { NOTHING, DUMP_BEGINS, DUMPED, LOADED, BUILD_ID };

struct found_file { /* of one process */
	uint32_t part;
	size_t order;
	enum what what;
	struct loaded_file file;
};

struct file_search {
	const struct trace *trace;
	struct arena *arena;
	struct found_file *items;
	size_t count, capacity;
};

static enum what what_of(const struct event_class *class)
{
	static const struct {
		const char *name;
		enum what what;
	} known[] = {{"lttng_ust_statedump:start", DUMP_BEGINS},
		     {"lttng_ust_statedump:bin_info", DUMPED},
		     {"lttng_ust_statedump:build_id", BUILD_ID},
		     {"lttng_ust_lib:load", LOADED},
		     {"lttng_ust_lib:build_id", BUILD_ID}};

	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (!strcmp(class->name, known[i].name))
			return known[i].what;
	return NOTHING;
}

static bool payload_field(const struct fields *fields, const char *name, struct field *out)
{
	return fields_get(fields, 1u << SCOPE_PAYLOAD, &name, 1, out);
}

/* The context vpid; a trace of one process says it of itself. */
static bool find_pid(const struct trace *trace, const struct fields *fields, int64_t *pid)
{
	static const char *const name = "vpid";
	const struct part *part = trace->parts[fields->class->part];
	struct field field;

	if (fields_get(fields, 1u << SCOPE_STREAM_EVENT_CONTEXT | 1u << SCOPE_EVENT_CONTEXT, &name,
		       1, &field) &&
	    field.class->kind == FIELD_INT) {
		*pid = field.slot.s;
		return true;
	}
	for (size_t i = 0; i < part->nenv; i++)
		if (!strcmp(part->env[i].name, name) && !part->env[i].text) {
			*pid = part->env[i].number;
			return true;
		}
	return false;
}

static const uint8_t *copy_bytes(struct file_search *finding, const struct field *field,
				 size_t *len)
{
	struct buf scratch = {0};
	const uint8_t *bytes = field_bytes(field, &scratch, len), *copy;

	copy = arena_copy(finding->arena, bytes, *len, 1);
	buf_release(&scratch);
	return copy;
}

/* The file of an event that follows its own at once. */
static void add_build_id(struct file_search *finding, uint32_t part, int64_t pid, uint64_t base,
			 const struct fields *fields)
{
	enum { NEAR = 8 };
	struct field field;

	for (size_t i = finding->count, tried = 0; i-- > 0 && tried < NEAR; tried++) {
		struct found_file *found = &finding->items[i];
		if (found->part != part || found->file.pid != pid || found->file.base != base ||
		    found->what == DUMP_BEGINS)
			continue;
		if (payload_field(fields, "build_id", &field))
			found->file.build_id = copy_bytes(finding, &field, &found->file.nbuild_id);
		return;
	}
}

static void add_loaded(struct file_search *finding, const struct found_file *found)
{
	*mem_push(finding->items, finding->count, finding->capacity) = *found;
	finding->items[finding->count - 1].order = finding->count - 1;
}

static void loaded_files_look_at(struct file_search *finding, const struct event *event,
				 const struct fields *fields)
{
	struct found_file found = {.part = event->class->part, .what = what_of(event->class)};
	struct field base, path;
	size_t len;

	found.file.t = event->time;
	if (!find_pid(finding->trace, fields, &found.file.pid))
		return;
	if (found.what == DUMP_BEGINS) {
		add_loaded(finding, &found);
		return;
	}
	if (!payload_field(fields, "baddr", &base) || base.class->kind != FIELD_INT)
		return;
	found.file.base = base.slot.u;
	if (found.what == BUILD_ID) {
		add_build_id(finding, found.part, found.file.pid, found.file.base, fields);
	} else if (payload_field(fields, "path", &path) && field_is_text(&path)) {
		const uint8_t *bytes = copy_bytes(finding, &path, &len);
		found.file.path = arena_strndup(finding->arena, (const char *)bytes, len);
		add_loaded(finding, &found);
	}
}

static bool find_all(struct index *index, const struct events_options *options,
		     struct file_search *finding, struct error *err)
{
	struct events *events;
	struct event event;
	enum step step;

	if (!events_open(index, options, &events, err))
		return false;
	while ((step = events_next(events, &event, err)) == STEP_ITEM) {
		struct error ignored; /* damage: told where it was found */
		struct fields fields;
		if (event.class && events_fields(events, &event, &fields, &ignored))
			loaded_files_look_at(finding, &event, &fields);
	}
	events_close(events);
	return step == STEP_END;
}

static int by_process(const void *a, const void *b)
{
	const struct found_file *x = a, *y = b;

	return three_way(x->part, y->part) ?: three_way(x->file.pid, y->file.pid) ?:
	       three_way(x->order, y->order);
}

static void tell_all(struct file_search *finding, struct symbols *symbols)
{
	size_t dumps = 0;

	if (finding->count)
		qsort(finding->items, finding->count, sizeof *finding->items, by_process);
	for (size_t i = 0; i < finding->count; i++) {
		struct found_file *found = &finding->items[i];
		const struct found_file *before = i ? &finding->items[i - 1] : found;
		if (before->part != found->part || before->file.pid != found->file.pid)
			dumps = 0;
		dumps += found->what == DUMP_BEGINS;
		if (found->what == DUMP_BEGINS)
			continue;
		if (found->what == DUMPED && dumps <= 1)
			found->file.t = NSTIME_MIN;
		symbols_tell_loaded(symbols, found->part, &found->file);
	}
}

bool tell_loaded_files(struct index *index, struct symbols *symbols,
		       bool (*progress)(void *arg, nstime at, nstime first, nstime last),
		       void *progress_arg, struct error *err)
{
	const struct trace *trace = index_trace(index);
	if (symbols_has_loaded(symbols))
		return true;
	uint64_t *classes = bitset_new(trace->nclasses);
	struct events_options options = {.begin = NSTIME_MIN,
					 .end = NSTIME_MAX,
					 .classes = classes,
					 .progress = progress,
					 .progress_arg = progress_arg};
	struct file_search finding = {.trace = trace, .arena = arena_new()};
	bool any = false, ok = true;

	for (size_t i = 0; i < trace->nclasses; i++)
		if (what_of(trace->classes[i]) != NOTHING) {
			bitset_add(classes, i);
			any = true;
		}
	if (any)
		ok = find_all(index, &options, &finding, err);
	if (ok) {
		tell_all(&finding, symbols);
		symbols_end_loaded(symbols);
	}
	mem_free(finding.items);
	arena_free(finding.arena);
	mem_free(classes);
	return ok;
}
