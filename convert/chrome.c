/*
 * chrome.c - the Trace Event Format: JSON that chrome://tracing and Perfetto open
 *
 * Source: "Trace Event Format" of the Chromium project. Processes hold threads, threads hold slices
 * ("X") and instants ("i"); counters ("C") belong to a process. Tracks that are no threads stand in
 * processes of their own, with numbers that no process of Linux has:
 *
 *     CPUs                  a track per CPU: who ran there; instants of events that tell no thread
 *     Interrupts, Soft ...  a track per CPU, since they would cut the threads' slices
 *     Streams               instants of events without CPU
 *     State                 a track per attribute that was asked for and has no place above
 *     processes             a track per thread: its system calls; instants that tell their thread
 *
 * An event with a call chain has the number of its innermost frame ("sf":2). All frames follow the
 * events, each once, with its caller:
 *
 *     "stackFrames":{"1":{"name":"main","category":"/usr/bin/demo"},"2":{"name":"work","parent":"1",...}}
 *
 * A frame is a function, its object file, and the calling frame; a function without a name is shown
 * as its place in the object.
 *
 * Times are microseconds with three decimals, from the trace's first event on: readers keep them in
 * doubles, which hold no nanoseconds since 1970.
 */
#include "aggregate/groups.h"
#include "convert/convert_internal.h"
#include "convert/track_names.h"
#include "engine/base/arena.h"
#include "engine/base/buf.h"
#include "engine/base/hash_index.h"
#include "engine/base/mem.h"
#include "engine/base/quote.h"
#include "engine/base/search.h"
#include "engine/columns/json.h"

#include <stdlib.h>
#include <string.h>

/* Process numbers above Linux's limit of 2^22. */
enum chrome_group {
	GROUP_CPUS = (1 << 22) + 1,
	GROUP_IRQS,
	GROUP_SOFTIRQS,
	GROUP_STREAMS,
	GROUP_STATE
};
enum { FLUSH_AT = 1 << 18 };
enum { FRAME_PARENT, FRAME_NAME, FRAME_OBJECT, FRAME_KEYS };

struct chrome_thread {
	int64_t pid, tid;
	const char *name; /* NULL: track_names has it */
};

/* Which fields of a class have the thread, and whether its events have call frames. */
struct class_thread {
	bool made, frames;
	struct event_thread of;
};

struct chrome {
	struct convert of;
	struct buf text;
	bool some; /* an entry was written: the next needs a comma */
	struct groups frames;
	struct buf frame_texts; /* names and objects of all frames */
	struct buf frame_name;  /* name of the frame that is searched for */
	struct class_thread *classes;
	struct arena *arena;
	struct chrome_thread *tracks;
	size_t ntracks, tracks_capacity;
	struct hash_index track_index;
	struct nameset paths; /* of tracks in GROUP_STATE, with their numbers */
	uint32_t npaths;
};

/* ---- tracks ---- */

/* Adds the track to those that are named at the end, unless it is there. */
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
	int64_t pid = track_process(chrome->of.names, tid);

	return pid >= 0 ? pid : tid;
}

/* ---- text ---- */

static bool entry_end(struct chrome *chrome, struct error *err)
{
	buf_add_char(&chrome->text, '}');
	if (chrome->text.len < FLUSH_AT)
		return true;
	bool ok = out_write(&chrome->of.out, chrome->text.data, chrome->text.len, err);
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
	nstime first = chrome->of.options.first;

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

static const struct class_thread *chrome_thread_of(struct chrome *chrome,
						   const struct event_class *class)
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
	const struct class_thread *thread = chrome_thread_of(chrome, class);
	int64_t pid = GROUP_STREAMS, tid = stream->index;
	const char *name = stream->name;

	if (cpu >= 0) {
		pid = GROUP_CPUS;
		tid = cpu;
		name = NULL;
	}
	int64_t told = fields ? fields_number(fields, &thread->of.tid, 0) : 0;
	if (told > 0 && told < GROUP_CPUS) {
		tid = told;
		pid = fields_number(fields, &thread->of.pid, process_of(chrome, tid));
		name = NULL;
	}
	use_track(chrome, pid, tid, name);
	entry_begin(chrome, "i", pid, tid);
}

static void add_frame(struct buf *out, uint64_t number, uint64_t parent, const char *name,
		      const char *object)
{
	json_printf(out, ",\n'%llu':{'name':%s", (unsigned long long)number, name);
	if (*object)
		json_printf(out, ",'category':%s", object);
	if (parent)
		json_printf(out, ",'parent':'%llu'", (unsigned long long)parent);
	buf_add_char(out, '}');
}

static uint64_t frame_of(struct chrome *chrome, uint64_t parent, const struct frame *frame)
{
	const struct symbol *symbol = &frame->symbol;
	const char *object = symbol->object ? symbol->object : "";
	struct buf *name = &chrome->frame_name;
	size_t before = chrome->frames.count;

	buf_clear(name);
	if (symbol->function)
		buf_add_text(name, symbol->function);
	else
		buf_printf(name, "0x%llx",
			   (unsigned long long)(symbol->object ? symbol->file_offset
							       : frame->address));
	const struct value keys[FRAME_KEYS] = {[FRAME_PARENT] = value_u64(parent),
					       [FRAME_NAME] = value_text(name->data, name->len),
					       [FRAME_OBJECT] = value_text(object, strlen(object))};
	uint64_t number = groups_at(&chrome->frames, keys)->number + UINT64_C(1);
	if (chrome->frames.count > before)
		add_frame(&chrome->frame_texts, number, parent, buf_text(name), object);
	return number;
}

/*
 * Returns the number (from 1) of the innermost frame of a chain, given innermost first; 0: no
 * frame.
 */
static uint64_t chain_number(struct chrome *chrome, const struct frame *frames, size_t count)
{
	uint64_t number = 0;

	while (count > 1 && !frames[count - 1].address)
		count--; /* a frame of address 0 marks the end of unwinding */
	while (count)
		number = frame_of(chrome, number, &frames[--count]);
	return number;
}

/* Adds the stack frame of the event; most events have none. */
static void add_stack(struct chrome *chrome, nstime t, const struct event_class *class,
		      const struct fields *fields)
{
	struct symbols *symbols = chrome->of.options.symbols;
	const struct frame *frames;

	if (!symbols || !chrome_thread_of(chrome, class)->frames)
		return;
	size_t count = symbols_frames(symbols, t, fields, 0, &frames);
	uint64_t number = chain_number(chrome, frames, count);
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

static void slice_name(struct buf *out, const char *name, const struct value *value)
{
	struct buf text = {0};

	convert_add_value(&text, name, value);
	quote_json(out, buf_text(&text), text.len);
	buf_release(&text);
}

/* Writes an interval as a slice; its name is `name` followed by the value. */
static bool slice(struct chrome *chrome, int64_t pid, int64_t tid, const struct interval *interval,
		  const char *name, struct error *err)
{
	struct buf *out = &chrome->text;
	struct convert_range range;

	if (!convert_visible(&chrome->of.options, interval, &range))
		return true;
	entry_begin(chrome, "X", pid, tid);
	add_ts(chrome, out, range.first);
	buf_add_text(out, ",\"dur\":");
	add_us(out, time_span(range.first, range.last));
	buf_add_text(out, ",\"name\":");
	slice_name(out, name, &interval->value);
	return entry_end(chrome, err);
}

static bool counter(struct chrome *chrome, int64_t cpu, const struct interval *interval,
		    struct error *err)
{
	struct buf *out = &chrome->text;
	struct convert_range range;

	if (!convert_visible(&chrome->of.options, interval, &range))
		return true;
	entry_begin(chrome, "C", GROUP_CPUS, 0);
	add_ts(chrome, out, range.first);
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
		name = track_name(chrome->of.names, TRACK_THREAD, key, interval->begin);
		use_track(chrome, GROUP_CPUS, cpu, NULL);
		return slice(chrome, GROUP_CPUS, cpu, interval, name, err);
	}
	if (strcmp(what, "irq") == 0 || strcmp(what, "softirq") == 0) {
		enum chrome_group group = *what == 'i' ? GROUP_IRQS : GROUP_SOFTIRQS;
		enum track_kind kind = *what == 'i' ? TRACK_IRQ : TRACK_SOFTIRQ;
		name = track_name(chrome->of.names, kind, key, interval->begin);
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

/* ---- names, and the whole ---- */

static bool name_entry(struct chrome *chrome, const char *what, int64_t pid, int64_t tid,
		       const char *name, struct error *err)
{
	entry_begin(chrome, "M", pid, tid);
	json_printf(&chrome->text, ",'name':%s,'args':{'name':%s}", what, name);
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
		name = track_name(chrome->of.names, TRACK_THREAD, track->tid, NSTIME_MAX - 1);
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

	return three_way(x->pid, y->pid) ?: three_way(x->tid, y->tid);
}

static bool name_process(struct chrome *chrome, int64_t pid, struct error *err)
{
	const char *group = group_name(pid);
	const char *name =
		group ? group : track_name(chrome->of.names, TRACK_THREAD, pid, NSTIME_MAX - 1);
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
	buf_add(out, chrome->frame_texts.data, chrome->frame_texts.len);
	json_printf(out,
		    "},\n'displayTimeUnit':'ns',\n'otherData':{'trace':%s,"
		    "'writer':'yore " YORE_VERSION "','zero_ns':'%lld','epoch':%i}}\n",
		    chrome->of.options.trace->path, (long long)chrome->of.options.first,
		    trace_has_epoch(chrome->of.options.trace));
	return out_write(&chrome->of.out, out->data, out->len, err) &&
	       out_finish(&chrome->of.out, err);
}

static void chrome_close(void *self)
{
	struct chrome *chrome = self;

	groups_clear(&chrome->frames);
	buf_release(&chrome->frame_texts);
	buf_release(&chrome->frame_name);
	arena_free(chrome->arena);
	buf_release(&chrome->text);
	mem_free(chrome->classes);
	mem_free(chrome->tracks);
	hash_index_release(&chrome->track_index);
	nameset_release(&chrome->paths);
}

static bool chrome_open(void *self, struct error *err)
{
	struct chrome *chrome = self;
	const struct convert_options *options = &chrome->of.options;

	chrome->frames.nkeys = FRAME_KEYS;
	chrome->arena = arena_new();
	chrome->classes = mem_new_array(options->trace->nclasses + 1, sizeof *chrome->classes);
	buf_add_text(&chrome->text, "{\"traceEvents\":[\n");
	return out_open(&chrome->of.out, options->path, err);
}

const struct convert_format convert_chrome = {
	.kind = {.name = "chrome",
		 .needs_times = true,
		 .endings = ".json",
		 .has_state = true,
		 .names = track_names_paths,
		 .paths = track_paths},
	.size = sizeof(struct chrome),
	.open = chrome_open,
	.event = chrome_event,
	.interval = chrome_interval,
	.finish = chrome_finish,
	.close = chrome_close,
};
