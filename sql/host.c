/* host.c - the traces of one connection: each is opened once, and freed with the last reference */
#include "sql/sql_internal.h"

#include "engine/base/bitset.h"
#include "engine/base/mem.h"
#include "engine/symbols/symbols.h"
#include "index/tables/location.h"
#include "sql/extension.h"
#include "state/rules/rules.h"
#include "state/state.h"

#include <string.h>

void sql_context_hold(struct sql_context *context)
{
	context->references++;
}

static void host_free(struct sql_host *host)
{
	row_host_release(&host->rows);
	class_groups_free(host->groups, host->ngroups);
	nameset_release(&host->group_of);
	sql_notes_free(host->notes);
	mem_free(host->registered);
	mem_free(host->untimed);
	if (host->owned) {
		symbols_free(host->symbols);
		state_close(host->state);
		rules_free(host->rules);
		index_close(host->index);
		trace_close(host->trace);
	}
	mem_free(host->path);
	mem_free(host);
}

void sql_context_drop(void *arg)
{
	struct sql_context *context = arg;

	if (--context->references)
		return;
	while (context->hosts) {
		struct sql_host *host = context->hosts;
		context->hosts = host->next;
		host_free(host);
	}
	mem_free(context);
}

static bool get_state(void *host, struct state **out, struct error *err)
{
	return sql_host_state(host, out, err);
}

static void say_of_rows(void *host, const char *text)
{
	sql_note(host, "%s", text);
}

void sql_context_add(struct sql_context *context, struct sql_host *host)
{
	host->next = context->hosts;
	context->hosts = host;
	host->pushdown = true;
	class_groups_make(host->trace, &host->groups, &host->ngroups);
	host->rows = (struct row_host){.index = host->index,
				       .trace = host->trace,
				       .get_state = get_state,
				       .say = say_of_rows,
				       .arg = host,
				       .progress = host->options.progress,
				       .progress_arg = host->options.arg};
}

/* Notices of traces that the context opened go to SQLite's log. */
static void log_notice(void *arg, enum notice_kind kind, const char *text)
{
	(void)arg;
	if (kind != NOTICE_INFO)
		sqlite3_log(kind == NOTICE_DAMAGE ? SQLITE_CORRUPT : SQLITE_WARNING, "yore: %s",
			    text);
}

static bool open_host(struct sql_host *host, struct error *err)
{
	const char *path = host->path;
	struct index_options index = {.notices = {.say = log_notice}};
	struct trace_options trace = {.paths = &path, .npaths = 1, .notices = {.say = log_notice}};
	char *spill_dir = index_folder(&index);

	trace.spill_dir = spill_dir;
	bool opened = trace_open(&trace, &host->trace, err);
	mem_free(spill_dir);
	if (!opened) {
		host->trace = NULL;
		return false;
	}
	if (!index_open(host->trace, &index, &host->index, err)) {
		host->index = NULL;
		return false;
	}
	return true;
}

struct sql_host *sql_context_open(struct sql_context *context, const char *path, struct error *err)
{
	struct sql_host *host = context->hosts;

	while (host && (!host->path || strcmp(host->path, path) != 0))
		host = host->next;
	if (host)
		return host;
	host = mem_new(sizeof *host);
	host->path = mem_strdup(path);
	host->owned = true;
	if (!open_host(host, err)) {
		host_free(host);
		return NULL;
	}
	struct sql_host *first = context->hosts;
	sql_context_add(context, host);
	if (first) { /* functions keep reading the first trace */
		context->hosts = first;
		host->next = first->next;
		first->next = host;
	}
	return host;
}

static bool host_open_state(struct sql_host *host, struct error *err)
{
	struct state_options options = {.notices = {.say = log_notice}};

	if (!host->rules) {
		host->rules = rules_new();
		if (!rules_add_builtins(host->rules, index_trace(host->index), err))
			return false;
	}
	options.rules = host->rules;
	if (state_open(host->index, &options, &host->state, err))
		return true;
	host->state = NULL;
	return false;
}

bool sql_host_state(struct sql_host *host, struct state **out, struct error *err)
{
	if (host->options.state)
		return host->options.state(host->options.arg, out, err);
	if (!host->state && !host_open_state(host, err))
		return false;
	*out = host->state;
	return true;
}

struct symbols *sql_host_symbols(struct sql_host *host)
{
	if (!host->owned)
		return host->options.symbols ? host->options.symbols(host->options.arg) : NULL;
	if (!host->symbols)
		host->symbols = symbols_new_beside(host->trace, index_path(host->index));
	return host->symbols;
}

bool sql_host_timed(const struct sql_host *host)
{
	for (size_t i = 0; i < host->trace->nstreams; i++)
		if (!host->trace->streams[i]->has_time)
			return false;
	return true;
}

/* Reads events without a time, such as those that perf writes first: their time is NSTIME_MIN. */
static bool find_untimed(struct sql_host *host, struct error *err)
{
	struct events_options options = {.begin = NSTIME_MIN,
					 .end = NSTIME_MIN + 1,
					 .progress = host->options.progress,
					 .progress_arg = host->options.arg};
	struct events *events;
	struct event event;
	enum step step;

	if (!events_open(host->index, &options, &events, err))
		return false;
	while ((step = events_next(events, &event, err)) == STEP_ITEM)
		if (event.class)
			bitset_add(host->untimed, event.class->index);
	events_close(events);
	return step == STEP_END;
}

bool sql_host_all_timed(struct sql_host *host, const struct class_group *group)
{
	struct error ignored;
	bool timed = true;

	if (!sql_host_timed(host))
		return false;
	if (!host->untimed) {
		host->untimed = bitset_new(host->trace->nclasses);
		if (!find_untimed(host, &ignored))
			memset(host->untimed, 0xff,
			       (host->trace->nclasses / 64 + 1) * sizeof(uint64_t));
	}
	for (size_t i = 0; timed && i < (group ? group->count : host->trace->nclasses); i++)
		timed = !bitset_has(host->untimed, group ? group->classes[i]->index : i);
	return timed;
}

bool sql_host_progress(void *arg, uint64_t done, uint64_t all)
{
	const struct sql_options *options = &((struct sql_host *)arg)->options;

	return !options->progress ||
	       options->progress(options->arg, (nstime)done, 0, all ? (nstime)all : 1);
}

void sql_host_range(const struct sql_host *host, nstime *begin, nstime *end)
{
	*begin = NSTIME_MIN;
	*end = NSTIME_MAX;
	if (host->options.range)
		host->options.range(host->options.arg, begin, end);
}

bool sql_host_is_final(const struct sql_host *host, nstime t, struct error *err)
{
	nstime begin, end;

	sql_host_range(host, &begin, &end);
	return !host->options.follows || t < end ||
	       error_set(err, ERR_QUERY,
			 "--follow: a moment behind the row's own was asked for, which may not be "
			 "recorded yet");
}

bool sql_host_bounds(struct sql_host *host, nstime *first, nstime *last, struct error *err)
{
	return row_host_bounds(&host->rows, first, last, err);
}

/* The time of the first event, which reads far fewer packets than sql_host_bounds() does.
 * NSTIME_MIN: there is no event. */
static bool only_first(struct sql_host *host, nstime *first, struct error *err)
{
	nstime last;

	if (!host->rows.bounds_known && !host->start_known) {
		if (!events_start(host->index, &host->start, err))
			return false;
		host->start_known = host->start != NSTIME_MAX;
	}
	*first = host->start;
	if (host->rows.bounds_known || !host->start_known) {
		if (!sql_host_bounds(host, first, &last, err))
			return false;
		*first = *first > last ? NSTIME_MIN : *first;
	}
	return true;
}

/* Are times read and written in UTC? */
static bool get_utc(struct sql_host *host, bool *utc, struct error *err)
{
	struct times times = {0};

	if (host->options.times && !host->options.times(host->options.arg, &times, err))
		return false;
	*utc = times.utc;
	return true;
}

bool sql_host_times(struct sql_host *host, enum time_style style, struct times *out,
		    struct error *err)
{
	nstime first, last;
	bool utc;

	if (!get_utc(host, &utc, err) || !sql_host_bounds(host, &first, &last, err))
		return false;
	if (first > last)
		first = last = NSTIME_MIN;
	times_init(out, style, utc, trace_has_epoch(host->trace), first, last);
	return true;
}

bool sql_host_time(struct sql_host *host, const char *text, nstime *out, struct error *err)
{
	nstime first = NSTIME_MIN;
	struct time_word word;
	struct times times;
	bool utc;

	if (!time_parse(text, &word, err))
		return false;
	if (word.from == FROM_END && host->options.follows)
		return error_set(err, ERR_QUERY,
				 "time '%s': it counts from the end of the recording, which is not "
				 "known yet",
				 text);
	if (word.from == FROM_END) {
		if (!sql_host_times(host, TIME_NS, &times, err))
			return false;
	} else {
		if (!get_utc(host, &utc, err) ||
		    (time_needs_bounds(&word) && !only_first(host, &first, err)))
			return false;
		times_init(&times, TIME_NS, utc, trace_has_epoch(host->trace), first, first);
	}
	return time_resolve(&word, &times, out, err);
}

bool sql_host_moment(struct sql_host *host, sqlite3_value *value, nstime *out, struct error *err)
{
	if (sqlite3_value_type(value) == SQLITE_TEXT)
		return sql_host_time(host, (const char *)sqlite3_value_text(value), out, err);
	*out = sqlite3_value_int64(value);
	return true;
}

struct sql_source *sql_source_new(const struct sql_source *source)
{
	struct sql_source *copy = mem_new(sizeof *copy);

	*copy = *source;
	sql_context_hold(copy->context);
	return copy;
}

void sql_source_free(void *arg)
{
	struct sql_source *source = arg;

	sql_context_drop(source->context);
	mem_free(source);
}

int sql_error_code(const struct error *err)
{
	switch (err->kind) {
	case ERR_INTERRUPTED:
		return SQLITE_INTERRUPT;
	case ERR_IO:
		return SQLITE_IOERR;
	case ERR_FORMAT:
		return SQLITE_CORRUPT;
	case ERR_RANGE:
		return SQL_CODE_RANGE;
	default:
		return SQLITE_ERROR;
	}
}

void sql_result_error(sqlite3_context *context, const struct error *err)
{
	sqlite3_result_error(context, err->text, -1);
	if (err->kind == ERR_INTERRUPTED)
		sqlite3_result_error_code(context, SQLITE_INTERRUPT);
	else if (err->kind == ERR_RANGE)
		sqlite3_result_error_code(context, SQL_CODE_RANGE);
}
