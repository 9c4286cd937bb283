/* host.c - the trace of a call of a table function, and the arguments of the call */
#include "duckdb/duckdb_internal.h"

#include "engine/base/mem.h"
#include "engine/timetext.h"
#include "index/events.h"
#include "index/tables/identity.h"
#include "index/tables/location.h"
#include "state/state.h"

#include <pthread.h>
#include <stdatomic.h>

/*
 * A cache of open traces that no query uses, so that the next query finds their tables of packets
 * and where event classes occur. No two queries share a trace: each reports the damage that it
 * meets, which is counted per trace.
 */
enum { KEPT_MOST = 4 };

struct kept_trace {
	struct trace *trace; /* NULL: this entry is empty */
	struct index *index;
	bool scan_all;
	uint64_t marks; /* marks_fold() of its files */
	uint64_t when;  /* a counter: the lowest entry is replaced first */
};

static struct kept_trace kept_traces[KEPT_MOST];
static pthread_mutex_t kept_lock = PTHREAD_MUTEX_INITIALIZER;

static void close_trace(struct trace *trace, struct index *index)
{
	if (!trace)
		return;
	index_close(index);
	trace_close(trace);
}

/* Do the traces have the same path and the same description? */
static bool is_alike(const struct trace *a, const struct trace *b)
{
	bool alike = !strcmp(a->path, b->path) && a->nparts == b->nparts;

	for (size_t i = 0; alike && i < a->nparts; i++)
		alike = !memcmp(a->parts[i]->identity, b->parts[i]->identity,
				sizeof a->parts[i]->identity);
	return alike;
}

/* Removes and returns a cached trace of the same, unchanged files as `fresh`; .trace NULL: none. */
static struct kept_trace take_kept(const struct trace *fresh, bool scan_all, uint64_t marks)
{
	struct kept_trace found = {0};

	pthread_mutex_lock(&kept_lock);
	for (size_t i = 0; i < KEPT_MOST && marks && !found.trace; i++) {
		struct kept_trace *kept = &kept_traces[i];
		if (kept->trace && kept->scan_all == scan_all && kept->marks == marks &&
		    is_alike(kept->trace, fresh)) {
			found = *kept;
			*kept = (struct kept_trace){0};
		}
	}
	pthread_mutex_unlock(&kept_lock);
	return found;
}

/* Puts a trace into the cache, and closes the oldest one if the cache is full. */
static void keep_trace(struct kept_trace kept)
{
	static uint64_t when;
	struct kept_trace *place = kept_traces, oldest;

	index_rest(kept.index);
	pthread_mutex_lock(&kept_lock);
	for (size_t i = 1; i < KEPT_MOST; i++)
		if (kept_traces[i].when < place->when)
			place = &kept_traces[i];
	oldest = *place;
	*place = kept;
	place->when = ++when;
	pthread_mutex_unlock(&kept_lock);
	close_trace(oldest.trace, oldest.index);
}

bool duck_host_open(struct duck_host *host, const char *path, bool scan_all, struct error *err)
{
	struct index_options index = {.scan_all = scan_all};
	struct trace_options trace = {.paths = &path, .npaths = 1};
	char *spill_dir = index_folder(&index);

	*host = (struct duck_host){.scan_all = scan_all};
	trace.spill_dir = spill_dir;
	bool opened = trace_open(&trace, &host->trace, err);
	mem_free(spill_dir);
	if (!opened) {
		*host = (struct duck_host){0};
		return false;
	}
	host->marks = marks_fold(host->trace);
	struct kept_trace kept = take_kept(host->trace, scan_all, host->marks);
	if (kept.trace) {
		trace_close(host->trace);
		host->trace = kept.trace;
		host->index = kept.index;
		return true;
	}
	if (index_open(host->trace, &index, &host->index, err))
		return true;
	trace_close(host->trace);
	*host = (struct duck_host){0};
	return false;
}

bool duck_host_state(struct duck_host *host, struct error *err)
{
	host->rules = rules_new();
	struct state_options options = {.rules = host->rules};
	if (!rules_add_builtins(host->rules, host->trace, err))
		return false;
	if (state_open(host->index, &options, &host->state, err))
		return true;
	host->state = NULL;
	return false;
}

void duck_host_close(struct duck_host *host)
{
	if (!host->trace)
		return;
	if (host->state)
		state_close(host->state);
	rules_free(host->rules);
	if (host->marks && !atomic_load(&host->trace->damaged))
		keep_trace((struct kept_trace){.trace = host->trace,
					       .index = host->index,
					       .scan_all = host->scan_all,
					       .marks = host->marks});
	else
		close_trace(host->trace, host->index);
	*host = (struct duck_host){0};
}

bool duck_host_sound(const struct duck_host *host, struct error *err)
{
	struct buf texts = {0};

	if (host->skip_damage || !atomic_load(&host->trace->damaged))
		return true;
	trace_damages(host->trace, &texts);
	const char *text = texts.len ? texts.data : "";
	while (texts.len && *text == TRACE_UNKNOWN_MARK && text < texts.data + texts.len - 1)
		text += strlen(text) + 1;
	error_set(err, ERR_FORMAT, "%s (skip_damage := true leaves it out)",
		  *text ? text : "a part of the trace could not be read");
	buf_release(&texts);
	return false;
}

/* ---- arguments ---- */

static char *text_of(struct duck_value *value)
{
	char *text = duck.get_varchar(value);
	char *copy = text ? mem_strdup(text) : NULL;

	duck.free(text);
	return copy;
}

char *duck_text_argument(struct duck_bind *info, uint64_t i)
{
	struct duck_value *value = duck.bind_get_parameter(info, i);
	char *text = duck.is_null_value(value) ? NULL : text_of(value);

	duck.destroy_value(&value);
	return text;
}

/* Parses a time as the command line does, in UTC, since DuckDB shows timestamps in UTC. */
static bool read_time(const struct duck_host *host, const char *text, nstime *out,
		      struct error *err)
{
	nstime first = NSTIME_MIN, last = NSTIME_MIN;
	struct time_word word;
	struct times times;

	if (!time_parse(text, &word, err) ||
	    (time_needs_bounds(&word) && !events_range(host->index, &first, &last, err)))
		return false;
	if (first > last)
		first = last = NSTIME_MIN;
	times_init(&times, TIME_NS, true, trace_has_epoch(host->trace), first, last);
	return time_resolve(&word, &times, out, err);
}

static bool of_micros(int64_t micros, nstime *out, struct error *err)
{
	return !__builtin_mul_overflow(micros, 1000, out) ||
	       error_set(err, ERR_RANGE, "a timestamp of %lld us does not fit in nanoseconds",
			 (long long)micros);
}

static bool time_of(const struct duck_host *host, struct duck_value *value, nstime *out,
		    struct error *err)
{
	char *text;
	bool good;

	switch (duck.get_type_id(duck.get_value_type(value))) {
	case DUCK_TIMESTAMP_NS:
		*out = duck.get_timestamp_ns(value).count;
		return true;
	case DUCK_TIMESTAMP:
		return of_micros(duck.get_timestamp(value).count, out, err);
	case DUCK_TIMESTAMP_TZ:
		return of_micros(duck.get_timestamp_tz(value).count, out, err);
	case DUCK_TINYINT:
	case DUCK_SMALLINT:
	case DUCK_INTEGER:
	case DUCK_BIGINT:
		*out = duck.get_int64(value);
		return true;
	case DUCK_VARCHAR:
		text = text_of(value);
		good = read_time(host, text ? text : "", out, err);
		mem_free(text);
		return good;
	default:
		return error_set(err, ERR_QUERY,
				 "a moment is a TIMESTAMP_NS, nanoseconds as a BIGINT, or a text "
				 "such as '12:03:04.5' or '+1ms'");
	}
}

bool duck_moment(const struct duck_host *host, struct duck_value *value, nstime *out,
		 struct error *err)
{
	bool good = duck.is_null_value(value) ? error_set(err, ERR_QUERY, "a moment is NULL")
					      : time_of(host, value, out, err);

	duck.destroy_value(&value);
	return good;
}

bool duck_range(const struct duck_host *host, struct duck_bind *info, nstime *begin, nstime *end,
		struct error *err)
{
	struct duck_value *from = duck.bind_get_named_parameter(info, "begin");
	struct duck_value *until = duck.bind_get_named_parameter(info, "until");

	*begin = NSTIME_MIN;
	*end = NSTIME_MAX;
	bool good = !from || duck_moment(host, from, begin, err);
	if (until && good)
		good = duck_moment(host, until, end, err);
	else if (until)
		duck.destroy_value(&until);
	return good && (*begin <= *end ||
			error_set(err, ERR_QUERY, "the end of the range lies before its begin"));
}

bool duck_open_argument(struct duck_host *host, struct duck_bind *info, bool scan_all,
			struct error *err)
{
	char *path = duck_text_argument(info, 0);
	struct duck_value *skip = duck.bind_get_named_parameter(info, "skip_damage");

	bool good = path ? duck_host_open(host, path, scan_all, err)
			 : error_set(err, ERR_QUERY, "the path of a trace is NULL");
	if (good && skip && !duck.is_null_value(skip))
		host->skip_damage = duck.get_bool(skip);
	if (skip)
		duck.destroy_value(&skip);
	mem_free(path);
	return good;
}

/* ---- columns ---- */

static int type_of(enum cell_kind kind, unsigned bits)
{
	unsigned width = bits <= 8 ? 0 : bits <= 16 ? 1 : bits <= 32 ? 2 : 3;

	switch (kind) {
	case CELL_INT:
		return DUCK_TINYINT + (int)width;
	case CELL_UINT:
		return DUCK_UTINYINT + (int)width;
	case CELL_FLOAT:
		return bits <= 32 ? DUCK_FLOAT : DUCK_DOUBLE;
	case CELL_BOOL:
		return DUCK_BOOLEAN;
	case CELL_TIME:
		return DUCK_TIMESTAMP_NS;
	case CELL_BYTES:
		return DUCK_BLOB;
	default:
		return DUCK_VARCHAR;
	}
}

uint64_t *duck_wanted_columns(struct duck_init *info, uint64_t *count)
{
	*count = duck.init_get_column_count(info);
	uint64_t *wanted = mem_new_array(*count + 1, sizeof *wanted);
	for (uint64_t i = 0; i < *count; i++)
		wanted[i] = duck.init_get_column_index(info, i);
	return wanted;
}

void duck_add_column(struct duck_bind *info, const char *name, enum cell_kind kind, unsigned bits,
		     bool list)
{
	struct duck_type *type = duck.create_logical_type(type_of(kind, bits));

	if (list) {
		struct duck_type *element = type;
		type = duck.create_list_type(element);
		duck.destroy_logical_type(&element);
	}
	duck.bind_add_result_column(info, name, type);
	duck.destroy_logical_type(&type);
}
