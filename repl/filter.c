/*
 * filter.c - which events were asked for
 *
 * "The thread then running" is what the event itself says where it has a context tid, pid or
 * procname; else it is what the rules know of the event's CPU just before it.
 */
#include "repl/filter.h"

#include "engine/base/mem.h"
#include "repl/known.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

struct range64 {
	uint64_t low, high;
};

/* Where a class says by itself who ran; class NULL: it does not. */
struct who {
	bool made;
	struct field_path tid, pid, comm;
};

struct filter {
	struct session *session;
	struct trace *trace;
	struct arena *arena;
	nstime begin, end;
	uint64_t *classes, *streams;
	int32_t *cpus;
	size_t ncpus;
	bool selects;
	struct range64 *tids, *pids;
	size_t ntids, npids;
	const struct words *comms;
	struct who *who;     /* by class; NULL: nobody asks for threads */
	struct where *where; /* NULL: no expression */
	struct where_pass *pass;
	struct program *program; /* for expressions that read state */
	struct known *known;
	struct arena *scratch;
	/* of the event being looked at */
	struct events *events;
	struct fields fields;
	bool decoded, readable;
	nstime now;
	struct error failed; /* of a read inside an expression */
};

bool glob_matches(const char *glob, const char *name, char separator)
{
	const char *tail = strrchr(name, separator);

	return fnmatch(glob, name, 0) == 0 || (tail && fnmatch(glob, tail + 1, 0) == 0);
}

static bool any_glob(const struct words *globs, const char *name, char separator)
{
	for (size_t i = 0; i < globs->count; i++)
		if (glob_matches(globs->items[i], name, separator))
			return true;
	return false;
}

/* "3" or "0-3". */
static bool parse_range(const char *option, const char *word, struct range64 *out,
			struct error *err)
{
	char *end;

	if (*word >= '0' && *word <= '9') {
		out->low = out->high = strtoull(word, &end, 10);
		if (*end == '-' && end[1] >= '0' && end[1] <= '9')
			out->high = strtoull(end + 1, &end, 10);
		if (!*end && out->high >= out->low)
			return true;
	}
	return error_set(err, ERR_QUERY, "%s: '%s' is neither a number nor a range like 0-3",
			 option, word);
}

static bool parse_ranges(struct filter *filter, const char *option, const struct words *words,
			 struct range64 **out, size_t *count, struct error *err)
{
	*count = words->count;
	*out = arena_array(filter->arena, words->count + 1, sizeof **out);
	for (size_t i = 0; i < words->count; i++)
		if (!parse_range(option, words->items[i], &(*out)[i], err))
			return false;
	return true;
}

static bool in_ranges(const struct range64 *ranges, size_t count, uint64_t number)
{
	for (size_t i = 0; i < count; i++)
		if (number >= ranges[i].low && number <= ranges[i].high)
			return true;
	return false;
}

static bool set_cpus(struct filter *filter, const struct words *words, struct error *err)
{
	struct range64 range = {0};
	size_t capacity = 0;

	for (size_t i = 0; i < words->count; i++) {
		if (!parse_range("--cpu", words->items[i], &range, err))
			return false;
		if (range.high > 1 << 20)
			return error_set(err, ERR_QUERY, "--cpu: no such CPU: %s", words->items[i]);
		for (uint64_t cpu = range.low; cpu <= range.high; cpu++) {
			filter->cpus = mem_grow(filter->cpus, filter->ncpus, &capacity,
						sizeof *filter->cpus);
			filter->cpus[filter->ncpus++] = (int32_t)cpu;
		}
	}
	return true;
}

static uint64_t *bits_new(struct filter *filter, size_t count)
{
	return arena_array(filter->arena, count / 64 + 1, sizeof(uint64_t));
}

static void set_streams(struct filter *filter, const struct words *globs)
{
	if (!globs->count && !filter->where)
		return;
	filter->streams = bits_new(filter, filter->trace->nstreams);
	for (size_t i = 0; i < filter->trace->nstreams; i++) {
		const struct stream *stream = filter->trace->streams[i];
		bool wanted = !globs->count || any_glob(globs, stream->name, '/');
		if (wanted && (!filter->where || where_stream(filter->where, stream)))
			filter->streams[i / 64] |= UINT64_C(1) << i % 64;
	}
}

/* Classes by name, and those that some expression surely refuses. */
static void set_classes(struct filter *filter, const struct words *globs)
{
	if (!globs->count && !filter->where)
		return;
	filter->classes = bits_new(filter, filter->trace->nclasses);
	for (size_t i = 0; i < filter->trace->nclasses; i++) {
		const struct event_class *class = filter->trace->classes[i];
		bool wanted = !globs->count || any_glob(globs, class->name, ':');
		if (wanted && (!filter->where || where_class(filter->where, class)))
			filter->classes[i / 64] |= UINT64_C(1) << i % 64;
	}
}

static bool parse_wheres(struct filter *filter, const struct words *words, struct error *err)
{
	for (size_t i = 0; i < words->count; i++)
		if (!(filter->where ? where_add(filter->where, words->items[i], err)
				    : where_parse(words->items[i], &filter->where, err)))
			return error_while(err, "--where");
	return true;
}

static bool set_wheres(struct filter *filter, const struct words *words, struct error *err)
{
	struct notices notices = session_notices(filter->session);

	if (!parse_wheres(filter, words, err))
		return false;
	if (!filter->where)
		return true;
	if (!session_rules(filter->session, err))
		return false;
	struct rules *rules = filter->session->rules;
	if (where_reads_state(filter->where) &&
	    !program_compile(rules, filter->trace, &notices, &filter->program, err))
		return false;
	if (!where_compile(filter->where, rules, filter->trace, filter->program, &notices, err))
		return error_while(err, "--where");
	if (where_selects(filter->where))
		filter->pass = where_pass_new(filter->where, NULL);
	return true;
}

bool filter_open(struct session *session, const struct options *options, bool backward,
		 struct filter **out, struct error *err)
{
	struct trace *trace = session_trace(session, err);
	struct filter *filter;

	if (!trace)
		return false;
	filter = mem_new(sizeof *filter);
	filter->session = session;
	filter->trace = trace;
	filter->arena = arena_new();
	filter->scratch = arena_new();
	filter->comms = &options->comms;
	filter->selects = options->names.count || options->wheres.count || options->tids.count ||
			  options->pids.count || options->comms.count;
	if (!session_range(session, &filter->begin, &filter->end, err) ||
	    !set_cpus(filter, &options->cpus, err) ||
	    !parse_ranges(filter, "--tid", &options->tids, &filter->tids, &filter->ntids, err) ||
	    !parse_ranges(filter, "--pid", &options->pids, &filter->pids, &filter->npids, err) ||
	    !set_wheres(filter, &options->wheres, err)) {
		filter_close(filter);
		return false;
	}
	set_streams(filter, &options->streams);
	set_classes(filter, &options->names);
	if (filter->ntids || filter->npids || filter->comms->count)
		filter->who = arena_array(filter->arena, trace->nclasses + 1, sizeof *filter->who);
	if (filter->who || filter->program)
		filter->known = known_new(session, backward);
	*out = filter;
	return true;
}

void filter_close(struct filter *filter)
{
	if (!filter)
		return;
	known_free(filter->known);
	where_pass_free(filter->pass);
	where_free(filter->where);
	program_free(filter->program);
	mem_free(filter->cpus);
	arena_free(filter->scratch);
	arena_free(filter->arena);
	mem_free(filter);
}

void filter_fill(const struct filter *filter, struct events_options *out)
{
	out->begin = filter->begin;
	out->end = filter->end;
	out->classes = filter->classes;
	out->streams = filter->streams;
	out->cpus = filter->ncpus ? filter->cpus : NULL;
	out->ncpus = filter->ncpus;
	if (filter->pass) {
		out->select = where_select;
		out->select_arg = filter->pass;
	}
	out->progress = session_progress_time;
	out->progress_arg = filter->session;
}

struct where_pass *filter_pass_new(const struct filter *filter)
{
	return filter->pass ? where_pass_new(filter->where, NULL) : NULL;
}

bool filter_per_event(const struct filter *filter)
{
	return filter->who || filter->program;
}

bool filter_selects(const struct filter *filter)
{
	return filter->selects;
}

/* One event ----------------------------------------------------------------------------------- */

static const struct fields *decode(void *arg, const struct event *event)
{
	struct filter *filter = arg;
	struct error ignored = {0};

	if (!filter->decoded) {
		filter->decoded = true;
		filter->readable = events_fields(filter->events, event, &filter->fields, &ignored);
	}
	return filter->readable ? &filter->fields : NULL;
}

static enum eval read_state(void *arg, uint32_t attr, struct value *out)
{
	struct filter *filter = arg;
	struct buf path = {0};

	attr_add_text(program_attrs(filter->program), attr, &path);
	*out = (struct value){.kind = VALUE_UNKNOWN};
	if (filter->failed.kind == ERR_NONE)
		(void)known_value(filter->known, buf_text(&path), filter->now, out,
				  &filter->failed);
	buf_release(&path);
	if (out->kind == VALUE_STRING) /* the next read may turn the window */
		out->text = arena_strndup(filter->scratch, out->text, out->len);
	return EVAL_VALUE;
}

static enum eval read_section(void *arg, uint32_t section, struct value *out, bool *written)
{
	(void)arg;
	(void)section;
	*out = (struct value){.kind = VALUE_UNKNOWN};
	*written = false;
	return EVAL_VALUE;
}

/* A context; what perf samples beside a tracepoint stands in the payload, as perf_NAME. */
static void find_who(const struct event_class *class, struct field_path *out,
		     const char *const *names)
{
	unsigned contexts = 1u << SCOPE_EVENT_CONTEXT | 1u << SCOPE_STREAM_EVENT_CONTEXT;

	for (; *names; names++) {
		bool perf = strncmp(*names, "perf_", 5) == 0;
		unsigned scopes = contexts | (perf ? 1u << SCOPE_PAYLOAD : 0);
		if (field_path_find(class, scopes, names, 1, out) && out->class)
			return;
	}
	*out = (struct field_path){0};
}

static struct who *who_of(struct filter *filter, const struct event_class *class)
{
	static const char *const tids[] = {"tid", "vtid", "perf_tid", NULL};
	static const char *const pids[] = {"pid", "vpid", "perf_pid", NULL};
	static const char *const comms[] = {"procname", "perf_comm", NULL};
	struct who *who = &filter->who[class->index];

	if (who->made)
		return who;
	who->made = true;
	find_who(class, &who->tid, tids);
	find_who(class, &who->pid, pids);
	find_who(class, &who->comm, comms);
	return who;
}

/* The value of a context member; false when the class has none or the event cannot be read. */
static bool own_value(struct filter *filter, const struct event *event,
		      const struct field_path *path, struct value *out)
{
	const struct fields *fields;
	struct field field;
	struct buf scratch = {0};
	size_t len;

	if (!path->class || !(fields = decode(filter, event)))
		return false;
	fields_at(fields, path, &field);
	if (field.class->kind == FIELD_INT) {
		*out = (struct value){.kind = VALUE_INT, .u = field.slot.u};
		out->negative = field.class->is_signed && field.slot.s < 0;
		return true;
	}
	if (!field_is_text(&field))
		return false;
	const uint8_t *bytes = field_bytes(&field, &scratch, &len);
	*out = (struct value){.kind = VALUE_STRING, .len = (uint32_t)len};
	out->text = arena_strndup(filter->scratch, (const char *)bytes, len);
	buf_release(&scratch);
	return true;
}

static bool comm_matches(const struct filter *filter, const struct value *name)
{
	if (name->kind != VALUE_STRING)
		return false;
	const char *text = arena_strndup(filter->scratch, name->text, name->len);
	for (size_t i = 0; i < filter->comms->count; i++)
		if (fnmatch(filter->comms->items[i], text, 0) == 0)
			return true;
	return false;
}

static bool value_in(const struct value *value, const struct range64 *ranges, size_t count)
{
	return value->kind == VALUE_INT && !value->negative && in_ranges(ranges, count, value->u);
}

static bool who_passes(struct filter *filter, const struct event *event, bool *pass,
		       struct error *err)
{
	const struct who *who = who_of(filter, event->class);
	struct value tid, value;

	*pass = false;
	if (!own_value(filter, event, &who->tid, &tid) &&
	    !known_thread(filter->known, event->cpu, event->time, &tid, err))
		return false;
	if (filter->ntids && !value_in(&tid, filter->tids, filter->ntids))
		return true;
	if (filter->npids) {
		if (!own_value(filter, event, &who->pid, &value) &&
		    !known_of_thread(filter->known, &tid, "process", event->time, &value, err))
			return false;
		if (!value_in(&value, filter->pids, filter->npids))
			return true;
	}
	if (filter->comms->count) {
		if (!own_value(filter, event, &who->comm, &value) &&
		    !known_of_thread(filter->known, &tid, "name", event->time, &value, err))
			return false;
		if (!comm_matches(filter, &value))
			return true;
	}
	*pass = true;
	return true;
}

static bool wheres_pass(struct filter *filter, const struct event *event)
{
	struct env env = {.program = filter->program,
			  .event = event,
			  .decode = decode,
			  .read = read_state,
			  .section = read_section,
			  .arg = filter,
			  .scratch = filter->scratch};

	return where_test(filter->where, &env);
}

bool filter_pass(struct filter *filter, struct events *events, const struct event *event,
		 bool *pass, struct error *err)
{
	filter->events = events;
	filter->decoded = false;
	filter->now = event->time;
	arena_reset(filter->scratch);
	*pass = true;
	if (filter->who && !who_passes(filter, event, pass, err))
		return false;
	if (*pass && filter->program)
		*pass = wheres_pass(filter, event);
	if (filter->failed.kind != ERR_NONE) {
		*err = filter->failed;
		return false;
	}
	return true;
}
