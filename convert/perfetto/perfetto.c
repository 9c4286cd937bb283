/*
 * perfetto.c - Perfetto's own protobuf, which ui.perfetto.dev and trace_processor open
 *
 * Source: protos/perfetto/trace of the Perfetto project, version 58. A file is packets one after
 * the other; a reader sorts them by time. yore writes four kinds of sequences of them:
 *
 *     events         each event: an instant on the track of its thread, else of its CPU, else of
 *                    its stream, with all its values. Times are differences, names are interned
 *     states         intervals and losses as state tracks, descriptions of tracks, names of
 *                    threads, in any order: times are absolute
 *     stacks         one sequence per name of events: samples with interned call stacks
 *     scheduling     ftrace's bundles, without a sequence: columns of switches and wake-ups, from
 *                    which readers make the tracks of CPUs and the states of threads
 *
 * Times are the trace's nanoseconds, written as the boot clock, which ftrace's bundles use; a clock
 * snapshot says which other clock has the same values. Readers drop times below 0, so a trace that
 * begins before 0 is shifted to its first event.
 */
#include "convert/perfetto/perfetto_internal.h"
#include "engine/base/mem.h"
#include "engine/base/quote.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

enum { FLUSH_AT = 1 << 18, SEQUENCE_EVENTS = 1, SEQUENCE_STATES = 2 };
enum { FLAG_CLEARED = 1, FLAG_NEEDED = 2 };

/* ---- packets that wait ---- */

static bool add_zstd(struct perfetto *perfetto, struct buf *out, struct error *err)
{
	const struct buf *text = &perfetto->text;
	size_t most = ZSTD_compressBound(text->len);
	char *to = buf_room(out, most);
	size_t len = ZSTD_compress(to, most, text->data, text->len, 1);

	if (ZSTD_isError(len))
		return error_set(err, ERR_IO, "zstd: %s", ZSTD_getErrorName(len));
	out->len += len;
	return true;
}

static bool add_deflated(struct perfetto *perfetto, struct buf *out, struct error *err)
{
	const struct buf *text = &perfetto->text;
	uLongf len = compressBound(text->len);
	char *to = buf_room(out, len);
	int result =
		compress2((Bytef *)to, &len, (const Bytef *)text->data, text->len, Z_BEST_SPEED);

	if (result != Z_OK)
		return error_set(err, ERR_IO, "zlib: %s", zError(result));
	out->len += len;
	return true;
}

/* Writes one packet that holds all waiting packets, compressed. */
static bool write_compressed(struct perfetto *perfetto, struct error *err)
{
	bool zstd = strcmp(perfetto->of.options.compression, "zstd") == 0;
	struct buf bytes = {0}, packet = {0}, head = {0};
	bool ok = zstd ? add_zstd(perfetto, &bytes, err) : add_deflated(perfetto, &bytes, err);

	if (ok) {
		protobuf_bytes(&packet, zstd ? TRACE_ZSTD : TRACE_DEFLATED, bytes.data, bytes.len);
		protobuf_tag(&head, 1, PROTOBUF_BYTES);
		buf_add_varint(&head, packet.len);
		ok = out_write(&perfetto->of.out, head.data, head.len, err) &&
		     out_write(&perfetto->of.out, packet.data, packet.len, err);
	}
	buf_release(&bytes);
	buf_release(&packet);
	buf_release(&head);
	return ok;
}

static bool flush(struct perfetto *perfetto, struct error *err)
{
	struct buf *text = &perfetto->text;
	bool ok;

	if (!text->len)
		return true;
	ok = perfetto->of.options.compression
		     ? write_compressed(perfetto, err)
		     : out_write(&perfetto->of.out, text->data, text->len, err);
	buf_clear(text);
	return ok;
}

/* ---- one packet ---- */

uint64_t perfetto_ns(const struct perfetto *perfetto, nstime t)
{
	return t < perfetto->base ? 0 : (uint64_t)t - (uint64_t)perfetto->base;
}

static void sequence_init(struct sequence *sequence, uint32_t id)
{
	*sequence = (struct sequence){.id = id, .generation = 1, .arena = arena_new()};
}

static void sequence_release(struct sequence *sequence)
{
	mem_free(sequence->entries);
	arena_free(sequence->arena);
	hash_index_release(&sequence->index);
	buf_release(&sequence->fresh);
}

/* Clears the tables; the next packet tells readers to do so. */
static void sequence_clear(struct sequence *sequence)
{
	arena_free(sequence->arena);
	sequence->arena = arena_new();
	hash_index_release(&sequence->index);
	sequence->count = 0;
	sequence->begun = false;
	sequence->generation++;
}

static void add_time(struct perfetto *perfetto, struct sequence *sequence, nstime t)
{
	struct buf *out = &perfetto->packet;
	bool falls = sequence->steps && t < sequence->last;
	uint64_t ns = perfetto_ns(perfetto, t);

	if (sequence->steps && !falls) {
		ns -= perfetto_ns(perfetto, sequence->last);
		sequence->last = t;
	}
	protobuf_uint(out, TRACE_TIMESTAMP, ns);
	if (falls)
		protobuf_uint(out, TRACE_CLOCK_ID, CLOCK_BOOTTIME_ID);
}

struct buf *perfetto_packet(struct perfetto *perfetto, struct sequence *sequence, nstime t)
{
	buf_clear(&perfetto->packet);
	perfetto->open = sequence;
	if (t != NSTIME_MIN)
		add_time(perfetto, sequence, t);
	return &perfetto->packet;
}

/* Adds default values for packets of the sequence. */
static void add_defaults(const struct sequence *sequence, struct buf *out)
{
	size_t defaults = protobuf_begin(out, TRACE_DEFAULTS);

	if (sequence->steps)
		protobuf_uint(out, TRACE_CLOCK_ID, CLOCK_OWN_ID);
	if (sequence->sample) {
		size_t samples = protobuf_begin(out, 12);
		size_t timebase = protobuf_begin(out, 1);
		perfetto_text(out, 10, sequence->sample, strlen(sequence->sample));
		protobuf_end(out, timebase);
		protobuf_end(out, samples);
	}
	protobuf_end(out, defaults);
}

static void add_sequence(struct sequence *sequence, struct buf *out)
{
	protobuf_uint(out, TRACE_SEQUENCE_ID, sequence->id);
	protobuf_uint(out, TRACE_SEQUENCE_FLAGS,
		      sequence->begun ? FLAG_NEEDED : FLAG_CLEARED | FLAG_NEEDED);
	if (!sequence->begun && (sequence->steps || sequence->sample))
		add_defaults(sequence, out);
	sequence->begun = true;
	if (sequence->fresh.len) {
		protobuf_bytes(out, TRACE_INTERNED_DATA, sequence->fresh.data, sequence->fresh.len);
		buf_clear(&sequence->fresh);
	}
	if (sequence->count > INTERNED_MAX)
		sequence_clear(sequence);
}

bool perfetto_packet_end(struct perfetto *perfetto, struct error *err)
{
	struct buf *text = &perfetto->text, *packet = &perfetto->packet;

	if (perfetto->open)
		add_sequence(perfetto->open, packet);
	protobuf_bytes(text, 1, packet->data, packet->len);
	return text->len < FLUSH_AT || flush(perfetto, err);
}

uint64_t perfetto_intern(struct sequence *sequence, enum intern_table table, const void *key,
			 size_t len, bool *fresh)
{
	uint64_t hash = hash_number(hash_bytes(key, len) + table);
	uint32_t at = hash_index_find(&sequence->index, hash, i,
				      sequence->entries[i].table == table &&
					      sequence->entries[i].len == len &&
					      !memcmp(sequence->entries[i].key, key, len));

	*fresh = at == HASH_INDEX_NONE;
	if (*fresh) {
		*mem_push(sequence->entries, sequence->count, sequence->capacity) =
			(struct interned){table, arena_copy(sequence->arena, key, len, 1), len};
		at = hash_index_add(&sequence->index, hash, sequence->count - 1);
	}
	return at + UINT64_C(1);
}

uint64_t perfetto_intern_text(struct sequence *sequence, enum intern_table table, const char *text)
{
	struct buf *out = &sequence->fresh, mended = {0};
	size_t len = strlen(text);
	bool fresh;

	if (!utf8_is((const uint8_t *)text, len)) {
		utf8_mend(&mended, (const uint8_t *)text, len);
		text = mended.data;
		len = mended.len;
	}
	uint64_t iid = perfetto_intern(sequence, table, text, len, &fresh);
	if (fresh) {
		size_t entry = protobuf_begin(out, table);
		protobuf_uint(out, 1, iid);
		protobuf_bytes(out, 2, text, len);
		protobuf_end(out, entry);
	}
	buf_release(&mended);
	return iid;
}

void perfetto_text(struct buf *out, unsigned field, const void *bytes, size_t len)
{
	struct buf mended = {0};

	if (utf8_is(bytes, len)) {
		protobuf_bytes(out, field, bytes, len);
		return;
	}
	utf8_mend(&mended, bytes, len);
	protobuf_bytes(out, field, mended.data, mended.len);
	buf_release(&mended);
}

/* ---- what stands in front ---- */

static void perfetto_add_clock(struct buf *out, uint32_t id, uint64_t ns, bool steps)
{
	size_t clock = protobuf_begin(out, 1);

	protobuf_uint(out, 1, id);
	protobuf_uint(out, 2, ns);
	if (steps)
		protobuf_uint(out, 3, true);
	protobuf_end(out, clock);
}

/* The builtin clock whose values are the trace's times; 0: none. */
static uint32_t clock_of(const struct perfetto *perfetto)
{
	const struct trace *trace = perfetto->of.options.trace;
	const char *counter = perfetto->base ? NULL : trace_counter(trace);

	if (trace_has_epoch(trace) && !perfetto->base)
		return CLOCK_REALTIME_ID;
	if (counter && strcmp(counter, "monotonic") == 0)
		return CLOCK_MONOTONIC_ID;
	return 0;
}

static bool write_clocks(struct perfetto *perfetto, struct error *err)
{
	uint64_t ns = perfetto_ns(perfetto, perfetto->of.options.first);
	uint32_t id = clock_of(perfetto);
	struct buf *out = perfetto_packet(perfetto, &perfetto->events, NSTIME_MIN);
	size_t snapshot = protobuf_begin(out, TRACE_CLOCK_SNAPSHOT);

	perfetto_add_clock(out, CLOCK_OWN_ID, 0, true);
	perfetto_add_clock(out, CLOCK_BOOTTIME_ID, ns, false);
	if (id)
		perfetto_add_clock(out, id, ns, false);
	protobuf_uint(out, 2, CLOCK_BOOTTIME_ID);
	protobuf_end(out, snapshot);
	return perfetto_packet_end(perfetto, err);
}

/* Writes the kernel's release: the meaning of thread states in switches depends on it. */
static bool write_system(struct perfetto *perfetto, struct error *err)
{
	const char *release = trace_kernel_release(perfetto->of.options.trace);
	struct buf *out;

	if (!release)
		return true;
	out = perfetto_packet(perfetto, &perfetto->states, perfetto->of.options.first);
	size_t system = protobuf_begin(out, TRACE_SYSTEM_INFO);
	size_t utsname = protobuf_begin(out, 1);
	protobuf_text(out, 1, "Linux");
	perfetto_text(out, 3, release, strcspn(release, " "));
	protobuf_end(out, utsname);
	protobuf_end(out, system);
	return perfetto_packet_end(perfetto, err);
}

static bool begin_trace(struct perfetto *perfetto, struct error *err)
{
	if (perfetto->begun)
		return true;
	perfetto->begun = true;
	return write_clocks(perfetto, err) && write_system(perfetto, err) &&
	       perfetto_threads(perfetto, err);
}

/* ---- events ---- */

static struct perfetto_plan *plan_of(struct perfetto *perfetto, const struct event_class *class)
{
	struct perfetto_plan *plan = &perfetto->classes[class->index];

	if (!plan->made) {
		plan->made = true;
		plan->thread = event_thread_of(class);
		plan->frames = symbols_has_frames(class) || symbols_has_address(class);
	}
	return plan;
}

bool perfetto_thread_of(const struct perfetto *perfetto, const struct perfetto_plan *plan,
			const struct fields *fields, int64_t *tid, int64_t *pid)
{
	if (!fields || !plan->thread.tid.class)
		return false;
	*tid = fields_number(fields, &plan->thread.tid, 0);
	if (!is_pid(*tid))
		return false;
	*pid = fields_number(fields, &plan->thread.pid, track_process(perfetto->of.names, *tid));
	if (!is_pid(*pid))
		*pid = *tid;
	return true;
}

static bool event_track(struct perfetto *perfetto, const struct stream *stream, int32_t cpu,
			const struct perfetto_plan *plan, const struct fields *fields,
			uint64_t *uuid, struct error *err)
{
	int64_t tid, pid;

	if (!perfetto->of_first_host[stream->part])
		return perfetto_track_stream(perfetto, stream, uuid, err);
	if (perfetto_thread_of(perfetto, plan, fields, &tid, &pid) && tid)
		return perfetto_track_thread(perfetto, tid, pid, uuid, err);
	if (cpu >= 0)
		return perfetto_track_cpu(perfetto, cpu, uuid, err);
	return perfetto_track_stream(perfetto, stream, uuid, err);
}

static uint64_t class_name(struct perfetto *perfetto, struct perfetto_plan *plan,
			   const struct event_class *class)
{
	if (plan->name_generation != perfetto->events.generation) {
		plan->name =
			perfetto_intern_text(&perfetto->events, INTERN_EVENT_NAMES, class->name);
		plan->name_generation = perfetto->events.generation;
	}
	return plan->name;
}

static bool perfetto_event(void *self, nstime t, const struct stream *stream, int32_t cpu,
			   const struct event_class *class, const struct fields *fields,
			   struct error *err)
{
	struct perfetto *perfetto = self;
	struct perfetto_plan *plan = plan_of(perfetto, class);
	uint64_t track;

	if (!stream->has_time || t == NSTIME_MIN)
		return true; /* it has no place on a time line */
	if (!begin_trace(perfetto, err))
		return false;
	if (fields && perfetto->of_first_host[stream->part] &&
	    !perfetto_sched_event(perfetto, t, cpu, class, fields, err))
		return false;
	if (!event_track(perfetto, stream, cpu, plan, fields, &track, err))
		return false;
	struct buf *out = perfetto_packet(perfetto, &perfetto->events, t);
	size_t event = protobuf_begin(out, TRACE_TRACK_EVENT);
	protobuf_uint(out, EVENT_TYPE, TYPE_INSTANT);
	protobuf_uint(out, EVENT_TRACK, track);
	protobuf_uint(out, EVENT_NAME_IID, class_name(perfetto, plan, class));
	if (fields)
		perfetto_args(perfetto, out, fields);
	protobuf_end(out, event);
	if (!perfetto_packet_end(perfetto, err))
		return false;
	return !fields || !plan->frames || perfetto_stack(perfetto, t, cpu, class, fields, err);
}

/* ---- the whole ---- */

static bool told_loss(void *self, const struct event *loss, struct error *err)
{
	struct perfetto *perfetto = self;

	return begin_trace(perfetto, err) && perfetto_sched_loss(perfetto, loss, err) &&
	       perfetto_loss(perfetto, loss, err);
}

static bool told_interval(void *self, const struct interval *interval, struct error *err)
{
	return begin_trace(self, err) && perfetto_interval(self, interval, err);
}

static bool perfetto_finish(void *self, struct error *err)
{
	struct perfetto *perfetto = self;

	if (perfetto->base)
		notice(&perfetto->of.options.trace->notices, NOTICE_INFO,
		       "the trace begins before 0: in %s its first event is at 0",
		       perfetto->of.options.path);
	return begin_trace(perfetto, err) && perfetto_sched_flush(perfetto, err) &&
	       perfetto_states_end(perfetto, err) && flush(perfetto, err) &&
	       out_finish(&perfetto->of.out, err);
}

static void perfetto_close(void *self)
{
	struct perfetto *perfetto = self;

	perfetto_sched_release(perfetto);
	sequence_release(&perfetto->events);
	sequence_release(&perfetto->states);
	for (size_t i = 0; i < perfetto->nsamples; i++) {
		sequence_release(perfetto->samples[i]);
		mem_free(perfetto->samples[i]);
	}
	mem_free(perfetto->samples);
	arena_free(perfetto->arena);
	buf_release(&perfetto->text);
	buf_release(&perfetto->packet);
	buf_release(&perfetto->scratch);
	mem_free(perfetto->classes);
	mem_free(perfetto->tracks);
	hash_index_release(&perfetto->track_index);
	mem_free(perfetto->name_cache);
	mem_free(perfetto->of_first_host);
}

struct sequence *perfetto_samples(struct perfetto *perfetto, const char *name)
{
	for (size_t i = 0; i < perfetto->nsamples; i++)
		if (strcmp(perfetto->samples[i]->sample, name) == 0)
			return perfetto->samples[i];
	struct sequence *sequence = mem_new(sizeof *sequence);
	sequence_init(sequence, SEQUENCE_STATES + 1 + (uint32_t)perfetto->nsamples);
	sequence->sample = name;
	*mem_push(perfetto->samples, perfetto->nsamples, perfetto->samples_capacity) = sequence;
	return sequence;
}

static void find_hosts(struct perfetto *perfetto)
{
	const struct trace *trace = perfetto->of.options.trace;

	perfetto->of_first_host = mem_new_array(trace->nparts + 1, sizeof *perfetto->of_first_host);
	for (size_t i = 0; i < trace->nparts; i++)
		perfetto->of_first_host[i] =
			strcmp(part_host(trace->parts[i]), part_host(trace->parts[0])) == 0;
}

static bool perfetto_open(void *self, struct error *err)
{
	struct perfetto *perfetto = self;
	const struct convert_options *options = &perfetto->of.options;

	perfetto->base = options->first < 0 ? options->first : 0;
	perfetto->arena = arena_new();
	perfetto->classes = mem_new_array(options->trace->nclasses + 1, sizeof *perfetto->classes);
	perfetto->name_cache = mem_new_array(NAME_CACHE, sizeof *perfetto->name_cache);
	sequence_init(&perfetto->events, SEQUENCE_EVENTS);
	sequence_init(&perfetto->states, SEQUENCE_STATES);
	perfetto->events.steps = true;
	perfetto->events.last = options->first;
	perfetto->whole = NSTIME_MIN;
	perfetto->wakeups = true;
	for (size_t i = 0; i < options->trace->nclasses; i++)
		if (strcmp(event_bare_name(options->trace->classes[i]->name), "sched_waking") == 0)
			perfetto->wakeups = false;
	find_hosts(perfetto);
	return out_open(&perfetto->of.out, options->path, err);
}

const struct convert_format convert_perfetto = {
	.kind = {.name = "perfetto",
		 .needs_times = true,
		 .endings = ".pftrace .perfetto-trace",
		 .has_state = true,
		 .compressions = "gzip, zstd",
		 .names = track_names_paths,
		 .paths = track_paths},
	.size = sizeof(struct perfetto),
	.open = perfetto_open,
	.event = perfetto_event,
	.loss = told_loss,
	.interval = told_interval,
	.finish = perfetto_finish,
	.close = perfetto_close,
};
