/* info_gather.c - see info.h */
#include "repl/commands/info.h"

#include "engine/base/mem.h"
#include "engine/base/nameset.h"
#include "engine/base/wait.h"
#include "index/tables/recorded.h"
#include "repl/render/render.h"
#include "state/program/expr.h"
#include "state/program/program.h"
#include "state/rules/ast.h"

#include <string.h>
#include <sys/stat.h>

static bool edge(struct info *info, const struct stream *stream, bool backward, nstime *out,
		 struct error *err)
{
	/* without records that have no time */
	struct events_options open = {.begin = NSTIME_MIN + 1,
				      .end = NSTIME_MAX,
				      .backward = backward,
				      .only = stream,
				      .progress = session_progress_time,
				      .progress_arg = info->session};
	struct events *events;
	struct event event;

	*out = NSTIME_MIN;
	if (!stream->has_time)
		return true;
	if (!events_open(info->index, &open, &events, err))
		return false;
	enum step step = events_next(events, &event, err);
	if (step == STEP_ITEM)
		*out = event.time;
	events_close(events);
	return step != STEP_ERROR;
}

static bool packets_bytes(struct table *table, uint64_t *bytes, struct error *err)
{
	struct packet_info packet;

	*bytes = 0;
	for (uint64_t i = 0; i < table_count(table); i++) {
		if (!table_get(table, i, &packet, err))
			return false;
		*bytes += packet_all_bytes(&packet);
	}
	return true;
}

/*
 * Widens the range: recording may have begun before the first event, and ended behind the last one,
 * see recorded.h.
 */
static bool widen(const struct info *info, const struct stream *stream, struct stream_info *out,
		  struct error *err)
{
	struct recorded recorded;

	if (!stream_recorded(info->index, stream, &recorded, err))
		return false;
	if (recorded.begin > NSTIME_MIN &&
	    (out->begin == NSTIME_MIN || recorded.begin < out->begin))
		out->begin = recorded.begin;
	if (recorded.end > out->end)
		out->end = recorded.end;
	return true;
}

static bool gather_stream(struct info *info, size_t i, struct error *err)
{
	const struct stream *stream = info->trace->streams[i];
	struct stream_info *out = &info->streams[i];
	struct info_losses *losses = &info->losses[i];
	struct table *table;

	if (!edge(info, stream, false, &out->begin, err) ||
	    !edge(info, stream, true, &out->end, err) || !widen(info, stream, out, err) ||
	    !index_table(info->index, stream, &table, err))
		return false;
	if (!cpus_of_stream(stream, info->index, &out->cpus, err))
		return false;
	/* only here, a computed table may turn out to be irregular */
	if (!info_losses_read(stream, table, losses, err))
		return false;
	out->packets = table_count(table) - losses->delivery.doubled - losses->delivery.other;
	out->bytes = stream->bytes;
	if (info->shared && !packets_bytes(table, &out->bytes, err))
		return false;
	if (out->begin != NSTIME_MIN && (info->begin == NSTIME_MIN || out->begin < info->begin))
		info->begin = out->begin;
	if (out->end != NSTIME_MIN && (info->end == NSTIME_MIN || out->end > info->end))
		info->end = out->end;
	return true;
}

bool info_gather(struct info *info, struct error *err)
{
	uint64_t sum = 0, told = 0;
	bool ok = true;

	for (size_t i = 0; i < info->trace->nstreams; i++)
		sum += info->trace->streams[i]->bytes;
	info->shared = sum > trace_bytes(info->trace);

	info->begin = info->end = NSTIME_MIN;
	info->streams = mem_new_array(info->trace->nstreams + 1, sizeof *info->streams);
	info->losses = mem_new_array(info->trace->nstreams + 1, sizeof *info->losses);
	for (size_t i = 0; i < info->trace->nstreams && ok; i++)
		ok = gather_stream(info, i, err);
	for (size_t i = 0; i < info->trace->nstreams && ok; i++)
		told += info->losses[i].lost;
	return ok && info_losses_untold(info->session, told, &info->untold, err);
}

uint64_t info_lost(const struct info *info)
{
	uint64_t lost = info->untold;

	for (size_t i = 0; i < info->trace->nstreams; i++)
		lost += info->losses[i].lost;
	return lost;
}

void info_release(struct info *info)
{
	for (size_t i = 0; info->losses && i < info->trace->nstreams; i++)
		info_losses_release(&info->losses[i]);
	for (size_t i = 0; info->streams && i < info->trace->nstreams; i++)
		cpus_release(&info->streams[i].cpus);
	mem_free(info->losses);
	mem_free(info->streams);
	info->losses = NULL;
	info->streams = NULL;
}

/* ---- a running recording ---- */

#define NS_PER_S INT64_C(1000000000)

/* When a file of the trace was written last; -1: not known. */
static int64_t last_written(const struct trace *trace)
{
	int64_t last = -1;
	struct stat st;

	for (size_t i = 0; i < trace->nsources; i++) {
		if (stat(source_name(trace->sources[i]), &st) != 0)
			continue;
		int64_t at = st.st_mtim.tv_sec * NS_PER_S + st.st_mtim.tv_nsec;
		last = at > last ? at : last;
	}
	return last;
}

static void take_earliest(struct info_live *out, const char *name, nstime until)
{
	if (until >= out->final)
		return;
	out->final = until;
	out->holds = name;
}

/* The file's name relative to the trace, as in names of streams. */
static const char *below(const struct session *session, const char *file)
{
	size_t above = session->path ? strlen(session->path) : 0;

	if (!above || strncmp(file, session->path, above) != 0)
		return file;
	return file + above + strspn(file + above, "/");
}

static bool take_streams(struct session *session, const struct beside *beside,
			 struct info_live *out, struct error *err)
{
	const struct trace *trace = session->trace;

	for (size_t i = 0; i < trace->nstreams; i++) {
		const struct stream *stream = trace->streams[i];
		struct table *table;
		nstime reached;
		if (!index_table(session->index, stream, &table, err))
			return false;
		out->packets += table_count(table);
		out->bytes += stream->bytes;
		if (!watermark_counts(trace, stream))
			continue;
		take_earliest(out, stream->name,
			      watermark_of(beside, trace, stream, table, NSTIME_MIN, &reached));
		if (reached > out->reached) {
			out->reached = reached;
			out->has_wall = stream->clock >= 0 && trace->clocks[stream->clock].epoch;
		}
	}
	for (size_t i = 0; i < trace->nempties; i++)
		take_earliest(out, below(session, trace->empties[i].path),
			      watermark_of_empty(beside, trace, &trace->empties[i]));
	return true;
}

/* How many streams, besides live->holds, have a watermark before live->reached. */
static size_t others_of(struct session *session, const struct beside *beside,
			const struct info_live *live)
{
	const struct trace *trace = session->trace;
	struct error ignored;
	size_t count = 0;

	for (size_t i = 0; i < trace->nstreams; i++) {
		struct table *table;
		nstime reached;
		if (watermark_counts(trace, trace->streams[i]) &&
		    index_table(session->index, trace->streams[i], &table, &ignored))
			count += watermark_of(beside, trace, trace->streams[i], table, NSTIME_MIN,
					      &reached) < live->reached;
	}
	for (size_t i = 0; i < trace->nempties; i++)
		count += watermark_of_empty(beside, trace, &trace->empties[i]) < live->reached;
	return count ? count - 1 : 0;
}

bool info_live_find(struct session *session, const struct beside *beside, struct info_live *out,
		    struct error *err)
{
	int64_t now = clock_ns(CLOCK_REALTIME), written;

	*out = (struct info_live){.reached = NSTIME_MIN, .final = NSTIME_MAX};
	bool ok = session_index(session, err) && take_streams(session, beside, out, err);
	if (ok) {
		/* beacons of idle streams are newer than any packet */
		if (out->final != NSTIME_MAX && out->final > out->reached)
			out->reached = out->final;
		if (out->final >= out->reached)
			out->holds = NULL;
		out->others = out->holds ? others_of(session, beside, out) : 0;
		written = last_written(session->trace);
		out->written = written < 0 || written > now ? -1 : now - written;
		out->has_wall &= out->reached != NSTIME_MIN && out->reached <= now;
		out->behind = out->has_wall ? now - out->reached : 0;
	}
	return ok;
}

void info_live_span(int64_t ns, struct sink *out)
{
	span_add(ns < 100 * NS_PER_S ? ns / 1000000 * 1000000 : ns / NS_PER_S * NS_PER_S, out);
}

void info_live_text(const struct info_live *live, struct times *times, uint64_t lost,
		    struct sink *out)
{
	sink_printf(out, "recorded   %llu packet%s, %llu bytes, %llu event%s lost",
		    (unsigned long long)live->packets, live->packets == 1 ? "" : "s",
		    (unsigned long long)live->bytes, (unsigned long long)lost,
		    lost == 1 ? "" : "s");
	if (live->written >= 0) {
		sink_text(out, "; last written ");
		info_live_span(live->written, out);
		sink_text(out, " ago");
	}
	sink_text(out, "\ncome to    ");
	time_add_any(times, live->reached, out);
	if (live->has_wall) {
		sink_text(out, ", ");
		info_live_span(live->behind, out);
		sink_text(out, " behind the wall clock");
	}
	sink_text(out, "\nfinal      ");
	if (!live->holds) {
		sink_text(out, "all of it\n");
		return;
	}
	if (live->final == NSTIME_MIN) {
		sink_text(out, "nothing: there is nothing yet of ");
	} else {
		sink_text(out, "what is before ");
		time_add_any(times, live->final, out);
		sink_text(out, ", held back ");
		span_add(time_span(live->final, live->reached), out);
		sink_text(out, " by ");
	}
	sink_name(out, live->holds);
	if (live->others)
		sink_printf(out, " and %zu other%s", live->others, live->others == 1 ? "" : "s");
	sink_char(out, '\n');
}

void info_live_json(const struct info_live *live, uint64_t lost, struct sink *out)
{
	sink_printf(out, ",\"live\":{\"packets\":%llu,\"bytes\":%llu,\"lost\":%llu",
		    (unsigned long long)live->packets, (unsigned long long)live->bytes,
		    (unsigned long long)lost);
	if (live->written >= 0)
		sink_printf(out, ",\"written\":%lld", (long long)live->written);
	json_member_time(out, ",\"reached\":", live->reached);
	if (live->has_wall)
		sink_printf(out, ",\"behind\":%lld", (long long)live->behind);
	json_member_time(out, ",\"final\":", live->holds ? live->final : live->reached);
	json_member_text(out, ",\"held_by\":", live->holds);
	sink_printf(out, ",\"holding\":%zu}", live->holds ? live->others + 1 : 0);
}

/*
 * Capabilities: compiles the rules for the trace, and finds which lines can run
 *
 * The usual attributes of kernel traces are listed even if no event writes them, with the event
 * that would; of all others, only those that some event writes.
 */

static const struct {
	const char *path, *needs;
} usual[] = {
	{"cpu[*]/thread", "sched_switch"},
	{"thread[*]/state", "sched_switch"},
	{"thread[*]/name", "sched_switch"},
	{"thread[*]/syscall", "syscall_entry_*, syscalls:* or raw_syscalls"},
	{"cpu[*]/irq", "irq_handler_entry"},
	{"cpu[*]/softirq", "softirq_entry"},
	{"cpu[*]/frequency", "cpu_frequency"},
};

enum { FROM_MOST = 4 };

static void add_writer(struct buf *from, size_t *writers, const char *name)
{
	if (++*writers > FROM_MOST)
		return;
	buf_add_text(from, *writers > 1 ? ", " : "");
	buf_add_text(from, name);
}

/* An event class that has lines on the first stream of its part. */
struct lined {
	const struct event_class *class;
	const struct class_program *lines;
};

static size_t find_lined(const struct trace *trace, const struct program *program,
			 struct lined *out)
{
	const struct stream **first = mem_new_array(trace->nparts + 1, sizeof(struct stream *));
	size_t n = 0;

	for (size_t s = trace->nstreams; s-- > 0;)
		first[trace->streams[s]->part] = trace->streams[s];
	for (size_t c = 0; c < trace->nclasses; c++) {
		const struct event_class *class = trace->classes[c];
		const struct stream *stream = first[class->part];
		const struct class_program *lines =
			stream ? program_class(program, stream, class) : NULL;
		if (lines && lines->nevent)
			out[n++] = (struct lined){class, lines};
	}
	mem_free(first);
	return n;
}

/* Is the value a map whose results are all unknown? It then only removes knowledge. */
static bool gives_unknown(const struct expr *value)
{
	if (!value || value->kind != EXPR_MAP)
		return false;
	for (size_t i = 0; i < value->map->nentries; i++)
		if (value->map->entries[i].result.kind != VALUE_UNKNOWN)
			return false;
	return true;
}

/* Lists the classes with a line that writes attributes of the shape; returns how many. */
static size_t writers_of(const struct lined *all, size_t count, const struct attrs *attrs,
			 uint32_t shape, struct buf *from)
{
	struct nameset seen = {0}; /* names so far: several classes may have one name */
	size_t writers = 0;

	for (size_t c = 0; c < count; c++) {
		const struct class_program *lines = all[c].lines;
		for (uint32_t i = 0; i < lines->nevent; i++) {
			const struct line *line = &lines->event[i];
			if (line->verb == VERB_DELETE || line->verb == VERB_UNKNOWN ||
			    line->flags & LINE_FAILS || gives_unknown(line->value) ||
			    !line_may_write(line, attrs, shape))
				continue;
			if (nameset_add(&seen, all[c].class->name, 0))
				add_writer(from, &writers, all[c].class->name);
			break;
		}
	}
	if (writers > FROM_MOST)
		buf_printf(from, " and %zu more", writers - FROM_MOST);
	nameset_release(&seen);
	return writers;
}

static struct capability *add_capability(struct capabilities *out, const char *path)
{
	struct capability *item = mem_push(out->items, out->count, out->capacity);
	*item = (struct capability){.path = path};
	return item;
}

static void find_shapes(struct session *session, const struct program *program,
			struct capabilities *out)
{
	const struct attrs *attrs = program_attrs(program);
	struct lined *lined = mem_new_array(session->trace->nclasses + 1, sizeof *lined);
	size_t nlined = find_lined(session->trace, program, lined);

	for (uint32_t shape = 0; shape < shape_count(attrs); shape++) {
		struct buf path = {0}, from = {0};
		if (program_writes_shape(program, shape) &&
		    writers_of(lined, nlined, attrs, shape, &from)) {
			shape_add_text(attrs, shape, &path);
			struct capability *item =
				add_capability(out, arena_strdup(session->arena, buf_text(&path)));
			item->known = true;
			item->from = mem_strdup(buf_text(&from));
		}
		buf_release(&path);
		buf_release(&from);
	}
	mem_free(lined);
}

static bool has(const struct capabilities *all, const char *path)
{
	for (size_t i = 0; i < all->count; i++)
		if (strcmp(all->items[i].path, path) == 0)
			return true;
	return false;
}

bool capabilities_find(struct session *session, struct capabilities *out, struct error *err)
{
	struct notices quiet = {0};
	struct program *program;

	if (!session_trace(session, err) || !session_rules(session, err) ||
	    !program_compile(session->rules, session->trace, &quiet, &program, err))
		return false;
	find_shapes(session, program, out);
	for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
		if (!has(out, usual[i].path))
			add_capability(out, usual[i].path)->needs = usual[i].needs;
	program_free(program);
	return true;
}

void capabilities_release(struct capabilities *capabilities)
{
	for (size_t i = 0; i < capabilities->count; i++)
		mem_free(capabilities->items[i].from);
	mem_free(capabilities->items);
	*capabilities = (struct capabilities){0};
}
