/*
 * chrome.c - the Trace Event Format: JSON that chrome://tracing and Perfetto open
 *
 * Source: "Trace Event Format" of the Chromium project. Processes hold threads, threads hold slices
 * ("X") and instants ("i"); counters ("C") are a process's. What is no thread stands in processes
 * of its own, with numbers that no process of Linux has:
 *
 *     CPUs                  a track per CPU: who ran there; instants of events that tell no thread
 *     Interrupts, Soft ...  a track per CPU, since they would cut the threads' slices
 *     Streams               instants of events without CPU
 *     State                 a track per attribute that was asked for and has no place above
 *     processes             a track per thread: its system calls; instants that tell their thread
 *
 * An event with a call chain names its innermost frame (chrome_stacks.h); all frames follow the
 * events.
 *
 * Times are microseconds with three decimals, from the trace's first event on: readers keep them in
 * doubles, which hold no nanoseconds since 1970.
 */
#include "convert/chrome_stacks.h"
#include "convert/convert_internal.h"
#include "convert/out.h"
#include "convert/track_names.h"
#include "engine/base/arena.h"
#include "engine/base/buf.h"
#include "engine/base/hash_index.h"
#include "engine/base/mem.h"
#include "engine/base/quote.h"
#include "engine/columns/json.h"

#include <stdlib.h>
#include <string.h>

/* Linux has at most 2^22 processes. */
enum group { GROUP_CPUS = (1 << 22) + 1, GROUP_IRQS, GROUP_SOFTIRQS, GROUP_STREAMS, GROUP_STATE };
enum { FLUSH_AT = 1 << 18 };

struct chrome_thread {
	int64_t pid, tid;
	const char *name; /* NULL: by the thread's names */
};

/* Where the context of a class says the thread, and whether its events have frames. */
struct class_thread {
	bool made, frames;
	struct event_thread of;
};

struct chrome {
	const struct convert_options *options;
	struct out out;
	struct buf text;
	bool some; /* entries were written */
	struct track_names *names;
	struct chrome_stacks *stacks;
	struct class_thread *classes;
	struct arena *arena;
	struct chrome_thread *tracks;
	size_t ntracks, tracks_capacity;
	struct hash_index track_index;
	struct nameset paths; /* of tracks in GROUP_STATE, with their numbers */
	uint32_t npaths;
};

/* ---- tracks ---- */

/* Notes that the track is there. */
static void use_track(struct chrome *chrome, int64_t pid, int64_t tid, const char *name)
{
	uint64_t hash = hash_number(hash_number((uint64_t)pid) + (uint64_t)tid);
	uint32_t at = hash_index_find(&chrome->track_index, hash, i,
				      chrome->tracks[i].pid == pid && chrome->tracks[i].tid == tid);

	if (at != HASH_INDEX_NONE)
		return;
	*mem_push(chrome->tracks, chrome->ntracks, chrome->tracks_capacity) =
		(struct chrome_thread){pid, tid, name ? arena_strdup(chrome->arena, name) : NULL};
	hash_index_add(&chrome->track_index, hash, chrome->ntracks - 1);
}

static int64_t process_of(const struct chrome *chrome, int64_t tid)
{
	int64_t pid = track_process(chrome->names, tid);

	return pid >= 0 ? pid : tid;
}

/* ---- text ---- */

static bool entry_end(struct chrome *chrome, struct error *err)
{
	buf_add_char(&chrome->text, '}');
	if (chrome->text.len < FLUSH_AT)
		return true;
	bool ok = out_write(&chrome->out, chrome->text.data, chrome->text.len, err);
	buf_clear(&chrome->text);
	return ok;
}

static void add_us(struct buf *out, uint64_t ns)
{
	char digits[4] = {'.', (char)('0' + ns / 100 % 10), (char)('0' + ns / 10 % 10),
			  (char)('0' + ns % 10)};

	buf_add_u64(out, ns / 1000);
	buf_add(out, digits, 4);
}

static void add_ts(const struct chrome *chrome, struct buf *out, nstime t)
{
	nstime first = chrome->options->first;

	buf_add_text(out, ",\"ts\":");
	if (t < first)
		buf_add_char(out, '-');
	add_us(out, t < first ? (uint64_t)first - (uint64_t)t : (uint64_t)t - (uint64_t)first);
}

/* {"ph":...,"pid":...,"tid":... */
static void entry_begin(struct chrome *chrome, const char *phase, int64_t pid, int64_t tid)
{
	struct buf *out = &chrome->text;

	buf_add_text(out, chrome->some ? ",\n{\"ph\":\"" : "{\"ph\":\"");
	chrome->some = true;
	buf_add_text(out, phase);
	buf_add_text(out, "\",\"pid\":");
	buf_add_i64(out, pid);
	buf_add_text(out, ",\"tid\":");
	buf_add_i64(out, tid);
}

/* ---- events ---- */

static const struct class_thread *thread_of(struct chrome *chrome, const struct event_class *class)
{
	struct class_thread *thread = &chrome->classes[class->index];

	if (!thread->made)
		*thread = (struct class_thread){
			true, symbols_has_frames(class) || symbols_has_address(class),
			event_thread_of(class)};
	return thread;
}

static void event_track(struct chrome *chrome, const struct stream *stream, int32_t cpu,
			const struct event_class *class, const struct fields *fields)
{
	const struct class_thread *thread = thread_of(chrome, class);
	int64_t pid = GROUP_STREAMS, tid = stream->index;
	const char *name = stream->name;
	struct field field;

	if (cpu >= 0) {
		pid = GROUP_CPUS;
		tid = cpu;
		name = NULL;
	}
	if (fields && thread->of.tid.class) {
		fields_at(fields, &thread->of.tid, &field);
		if (field.slot.s > 0 && field.slot.s < GROUP_CPUS) {
			tid = field.slot.s;
			pid = process_of(chrome, tid);
			name = NULL;
			if (thread->of.pid.class) {
				fields_at(fields, &thread->of.pid, &field);
				pid = field.slot.s;
			}
		}
	}
	use_track(chrome, pid, tid, name);
	entry_begin(chrome, "i", pid, tid);
}

/* The stack of the event, of which there is none in most. */
static void add_stack(struct chrome *chrome, nstime t, const struct event_class *class,
		      const struct fields *fields)
{
	struct symbols *symbols = chrome->options->symbols;
	const struct frame *frames;

	if (!symbols || !thread_of(chrome, class)->frames)
		return;
	size_t count = symbols_frames(symbols, t, fields, 0, &frames);
	uint64_t number = chrome_stacks_number(chrome->stacks, frames, count);
	if (number) {
		buf_add_text(&chrome->text, ",\"sf\":");
		buf_add_u64(&chrome->text, number);
	}
}

static bool chrome_event(void *self, nstime t, const struct stream *stream, int32_t cpu,
			 const struct event_class *class, const struct fields *fields,
			 struct error *err)
{
	unsigned context = 1u << SCOPE_STREAM_EVENT_CONTEXT | 1u << SCOPE_EVENT_CONTEXT;
	struct chrome *chrome = self;
	struct buf *out = &chrome->text;

	if (!stream->has_time || t == NSTIME_MIN)
		return true; /* it has no place on a time line */
	event_track(chrome, stream, cpu, class, fields);
	add_ts(chrome, out, t);
	buf_add_text(out, ",\"s\":\"t\",\"name\":");
	json_add_text(out, class->name);
	if (fields) {
		buf_add_text(out, ",\"args\":");
		json_add_scopes(out, fields, 1u << SCOPE_PAYLOAD);
		if (class->scope[SCOPE_STREAM_EVENT_CONTEXT] || class->scope[SCOPE_EVENT_CONTEXT]) {
			bool some = out->data[out->len - 2] != '{';
			out->len--;
			buf_add_text(out, some ? ",\"context\":" : "\"context\":");
			json_add_scopes(out, fields, context);
			buf_add_char(out, '}');
		}
		add_stack(chrome, t, class, fields);
	}
	return entry_end(chrome, err);
}

/* ---- intervals ---- */

/* The part of an interval that is drawn: what is not known, or not asked for, is cut off. */
static bool visible(const struct chrome *chrome, const struct interval *interval, nstime *begin,
		    nstime *end)
{
	const struct convert_range range = convert_range(chrome->options);

	*begin = interval->begin > range.first ? interval->begin : range.first;
	*end = interval->end < range.last ? interval->end : range.last;
	return *begin <= *end;
}

static void slice_name(struct buf *out, const char *name, const struct value *value)
{
	struct buf text = {0};

	convert_add_value(&text, name, value);
	quote_json(out, buf_text(&text), text.len);
	buf_release(&text);
}

/* The name is `name` and the value. */
static bool slice(struct chrome *chrome, int64_t pid, int64_t tid, const struct interval *interval,
		  const char *name, struct error *err)
{
	struct buf *out = &chrome->text;
	nstime begin, end;

	if (!visible(chrome, interval, &begin, &end))
		return true;
	entry_begin(chrome, "X", pid, tid);
	add_ts(chrome, out, begin);
	buf_add_text(out, ",\"dur\":");
	add_us(out, time_span(begin, end));
	buf_add_text(out, ",\"name\":");
	slice_name(out, name, &interval->value);
	return entry_end(chrome, err);
}

static bool counter(struct chrome *chrome, int64_t cpu, const struct interval *interval,
		    struct error *err)
{
	struct buf *out = &chrome->text;
	nstime begin, end;

	if (!visible(chrome, interval, &begin, &end))
		return true;
	entry_begin(chrome, "C", GROUP_CPUS, 0);
	add_ts(chrome, out, begin);
	buf_printf(out, ",\"name\":\"CPU %lld frequency\",\"args\":{\"kHz\":", (long long)cpu);
	value_add_json(&interval->value, out);
	buf_add_char(out, '}');
	return entry_end(chrome, err);
}

static bool other_track(struct chrome *chrome, const struct interval *interval, struct error *err)
{
	uint32_t number = chrome->npaths + 1;

	if (nameset_add(&chrome->paths, interval->path, number)) {
		chrome->npaths = number;
		use_track(chrome, GROUP_STATE, number, interval->path);
	} else {
		nameset_find(&chrome->paths, interval->path, &number);
	}
	return slice(chrome, GROUP_STATE, number, interval, NULL, err);
}

static bool of_cpu(struct chrome *chrome, int64_t cpu, const char *what,
		   const struct interval *interval, struct error *err)
{
	const struct value *value = &interval->value;
	int64_t key = (int64_t)value->u;
	const char *name;

	if (value->kind != VALUE_INT)
		return other_track(chrome, interval, err);
	if (strcmp(what, "thread") == 0) {
		if (!key)
			return true; /* idle */
		name = track_name(chrome->names, TRACK_THREAD, key, interval->begin);
		use_track(chrome, GROUP_CPUS, cpu, NULL);
		return slice(chrome, GROUP_CPUS, cpu, interval, name, err);
	}
	if (strcmp(what, "irq") == 0 || strcmp(what, "softirq") == 0) {
		enum group group = *what == 'i' ? GROUP_IRQS : GROUP_SOFTIRQS;
		enum track_kind kind = *what == 'i' ? TRACK_IRQ : TRACK_SOFTIRQ;
		name = track_name(chrome->names, kind, key, interval->begin);
		use_track(chrome, group, cpu, NULL);
		return slice(chrome, group, cpu, interval, name, err);
	}
	if (strcmp(what, "frequency") == 0) {
		use_track(chrome, GROUP_CPUS, cpu, NULL);
		return counter(chrome, cpu, interval, err);
	}
	return other_track(chrome, interval, err);
}

static bool chrome_interval(void *self, const struct interval *interval, struct error *err)
{
	struct chrome *chrome = self;
	const char *rest;
	int64_t key;

	if (path_split(interval->path, "cpu", &key, &rest))
		return of_cpu(chrome, key, rest, interval, err);
	if (path_split(interval->path, "thread", &key, &rest) && strcmp(rest, "syscall") == 0) {
		int64_t pid = process_of(chrome, key);
		use_track(chrome, pid, key, NULL);
		return slice(chrome, pid, key, interval, NULL, err);
	}
	return other_track(chrome, interval, err);
}

static bool chrome_learn(void *self, const struct interval *interval, struct error *err)
{
	struct chrome *chrome = self;

	(void)err;
	track_names_learn(chrome->names, interval);
	return true;
}

/* ---- names, and the whole ---- */

static bool name_entry(struct chrome *chrome, const char *what, int64_t pid, int64_t tid,
		       const char *name, struct error *err)
{
	entry_begin(chrome, "M", pid, tid);
	buf_printf(&chrome->text, ",\"name\":\"%s\",\"args\":{\"name\":", what);
	json_add_text(&chrome->text, name);
	buf_add_char(&chrome->text, '}');
	return entry_end(chrome, err);
}

static bool order_entry(struct chrome *chrome, const char *what, int64_t pid, int64_t tid,
			int64_t order, struct error *err)
{
	entry_begin(chrome, "M", pid, tid);
	buf_printf(&chrome->text, ",\"name\":\"%s_sort_index\",\"args\":{\"sort_index\":%lld}",
		   what, (long long)order);
	return entry_end(chrome, err);
}

static const char *group_name(int64_t pid)
{
	static const char *const groups[] = {"CPUs", "Interrupts", "Soft interrupts", "Streams",
					     "State"};

	return pid >= GROUP_CPUS && pid <= GROUP_STATE ? groups[pid - GROUP_CPUS] : NULL;
}

static bool name_track(struct chrome *chrome, const struct chrome_thread *track, struct error *err)
{
	const char *name = track->name;
	struct buf text = {0};

	if (!name && group_name(track->pid))
		buf_printf(&text, "CPU %lld", (long long)track->tid);
	else if (!name)
		name = track_name(chrome->names, TRACK_THREAD, track->tid, NSTIME_MAX - 1);
	if (!name && !text.len)
		buf_printf(&text, "thread %lld", (long long)track->tid);
	bool ok = name_entry(chrome, "thread_name", track->pid, track->tid,
			     text.len ? text.data : name, err);
	if (ok && group_name(track->pid))
		ok = order_entry(chrome, "thread", track->pid, track->tid, track->tid, err);
	buf_release(&text);
	return ok;
}

static int by_process(const void *a, const void *b)
{
	const struct chrome_thread *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return (x->tid > y->tid) - (x->tid < y->tid);
}

static bool name_process(struct chrome *chrome, int64_t pid, struct error *err)
{
	const char *group = group_name(pid);
	const char *name =
		group ? group : track_name(chrome->names, TRACK_THREAD, pid, NSTIME_MAX - 1);
	struct buf text = {0};

	if (!name)
		buf_printf(&text, "process %lld", (long long)pid);
	bool ok = name_entry(chrome, "process_name", pid, 0, name ? name : text.data, err) &&
		  (!group || order_entry(chrome, "process", pid, 0, pid - GROUP_STATE - 1, err));
	buf_release(&text);
	return ok;
}

static bool name_tracks(struct chrome *chrome, struct error *err)
{
	int64_t pid = -1;

	if (chrome->ntracks)
		qsort(chrome->tracks, chrome->ntracks, sizeof *chrome->tracks, by_process);
	for (size_t i = 0; i < chrome->ntracks; i++) {
		const struct chrome_thread *track = &chrome->tracks[i];
		if ((!i || track->pid != pid) && !name_process(chrome, track->pid, err))
			return false;
		pid = track->pid;
		if (!name_track(chrome, track, err))
			return false;
	}
	return true;
}

static bool chrome_finish(void *self, struct error *err)
{
	struct chrome *chrome = self;
	struct buf *out = &chrome->text;

	if (!name_tracks(chrome, err))
		return false;
	buf_add_text(out, "\n],\n\"stackFrames\":{");
	chrome_stacks_write(chrome->stacks, out);
	buf_add_text(out, "},\n\"displayTimeUnit\":\"ns\",\n\"otherData\":{\"trace\":");
	json_add_text(out, chrome->options->trace->path);
	buf_printf(out, ",\"writer\":\"yore %s\",\"zero_ns\":\"%lld\",\"epoch\":%s}}\n",
		   YORE_VERSION, (long long)chrome->options->first,
		   trace_has_epoch(chrome->options->trace) ? "true" : "false");
	return out_write(&chrome->out, out->data, out->len, err) && out_finish(&chrome->out, err);
}

static void chrome_close(void *self)
{
	struct chrome *chrome = self;

	out_drop(&chrome->out);
	track_names_free(chrome->names);
	chrome_stacks_free(chrome->stacks);
	arena_free(chrome->arena);
	buf_release(&chrome->text);
	mem_free(chrome->classes);
	mem_free(chrome->tracks);
	hash_index_release(&chrome->track_index);
	nameset_release(&chrome->paths);
	mem_free(chrome);
}

static void *chrome_open(const struct convert_options *options, struct error *err)
{
	struct chrome *chrome = mem_new(sizeof *chrome);

	chrome->options = options;
	if (!out_open(&chrome->out, options->path, err)) {
		mem_free(chrome);
		return NULL;
	}
	chrome->names = track_names_new();
	chrome->stacks = chrome_stacks_new();
	chrome->arena = arena_new();
	chrome->classes = mem_new_array(options->trace->nclasses + 1, sizeof *chrome->classes);
	buf_add_text(&chrome->text, "{\"traceEvents\":[\n");
	return chrome;
}

static bool chrome_closed(const void *self)
{
	const struct chrome *chrome = self;

	return chrome->out.closed;
}

const struct convert_format convert_chrome = {
	.kind = {.name = "chrome",
		 .needs_times = true,
		 .endings = ".json",
		 .has_state = true,
		 .names = track_names_paths,
		 .paths = track_paths},
	.open = chrome_open,
	.event = chrome_event,
	.learn = chrome_learn,
	.interval = chrome_interval,
	.closed = chrome_closed,
	.finish = chrome_finish,
	.close = chrome_close,
};
