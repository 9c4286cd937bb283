/*
 * perfetto_tracks.c - tracks, and the states that stand on them
 *
 *     CPUs / CPU 0            instants of events that tell no thread
 *     CPUs / CPU 0 / irq      an attribute of cpu[0]; frequency is a counter
 *     Streams / NAME          instants of events without CPU, and those of other hosts
 *     process / thread        instants of the thread's events
 *     process / thread / x    an attribute of thread[T]
 *     State / PATH            any other attribute
 *     ... / losses of NAME    below the CPU or stream whose events were lost
 *
 * A track's description is written at its first use, with the time of the trace's begin. On a state
 * track an event sets the state until the next one, so an interval's end is written only if no
 * interval of its path begins there: as "?" if the value is unknown from then on, else as an event
 * without a name, which means no state.
 */
#include "convert/perfetto/perfetto_internal.h"
#include "engine/base/mem.h"

#include <stdio.h>
#include <string.h>

/* Fields of TrackDescriptor. */
enum {
	DESCRIPTOR_UUID = 1,
	DESCRIPTOR_NAME = 2,
	DESCRIPTOR_PROCESS = 3,
	DESCRIPTOR_THREAD = 4,
	DESCRIPTOR_PARENT = 5,
	DESCRIPTOR_COUNTER = 8,
	DESCRIPTOR_ORDERING = 11,
	DESCRIPTOR_RANK = 12,
	DESCRIPTOR_STATE = 18
};
enum { ORDERED_LEXICOGRAPHIC = 1, ORDERED_EXPLICIT = 3 };

/* ---- tracks ---- */

static uint32_t find_track(const struct perfetto *perfetto, enum track_kind_of kind, int64_t number,
			   const char *path, uint64_t *hash)
{
	*hash = hash_number((path ? hash_bytes(path, strlen(path)) : (uint64_t)number) + kind);
	return hash_index_find(&perfetto->track_index, *hash, i,
			       perfetto->tracks[i].kind == kind &&
				       perfetto->tracks[i].number == number &&
				       (!path || !strcmp(perfetto->tracks[i].path, path)));
}

/* Finds or adds a track. False: it is new, and the caller writes its description. */
static bool take_track(struct perfetto *perfetto, enum track_kind_of kind, int64_t number,
		       const char *path, uint64_t *uuid)
{
	uint64_t hash;
	uint32_t at = find_track(perfetto, kind, number, path, &hash);

	*uuid = at + UINT64_C(1);
	if (at != HASH_INDEX_NONE)
		return true;
	*mem_push(perfetto->tracks, perfetto->ntracks, perfetto->tracks_capacity) =
		(struct perfetto_track){.kind = kind,
					.number = number,
					.path = path ? arena_strdup(perfetto->arena, path) : NULL};
	hash_index_add(&perfetto->track_index, hash, perfetto->ntracks - 1);
	*uuid = perfetto->ntracks;
	return false;
}

/* A track's description; 0 and NULL: left out. */
struct description {
	uint64_t parent;
	const char *name;
	unsigned ordering; /* of the tracks below it */
	int64_t rank;      /* order among its siblings; -1: none */
	int64_t tid, pid;  /* tid 0: it is no thread's */
	bool state;
	const char *unit; /* of a counter */
};

static void add_thread(struct buf *out, const struct description *what)
{
	size_t thread = protobuf_begin(out, DESCRIPTOR_THREAD);

	protobuf_int(out, 1, what->pid);
	protobuf_int(out, 2, what->tid);
	if (what->name)
		perfetto_text(out, 5, what->name, strlen(what->name));
	protobuf_end(out, thread);
}

static bool perfetto_tracks_describe(struct perfetto *perfetto, uint64_t uuid,
				     const struct description *what, struct error *err)
{
	struct buf *out = perfetto_packet(perfetto, &perfetto->states, perfetto->of.options.first);
	size_t descriptor = protobuf_begin(out, TRACE_TRACK_DESCRIPTOR);

	protobuf_uint(out, DESCRIPTOR_UUID, uuid);
	if (what->parent)
		protobuf_uint(out, DESCRIPTOR_PARENT, what->parent);
	if (what->tid)
		add_thread(out, what);
	else if (what->name)
		perfetto_text(out, DESCRIPTOR_NAME, what->name, strlen(what->name));
	if (what->ordering)
		protobuf_uint(out, DESCRIPTOR_ORDERING, what->ordering);
	if (what->rank >= 0)
		protobuf_int(out, DESCRIPTOR_RANK, what->rank);
	if (what->unit) {
		size_t counter = protobuf_begin(out, DESCRIPTOR_COUNTER);
		protobuf_text(out, 6, what->unit);
		protobuf_end(out, counter);
	}
	if (what->state)
		protobuf_bytes(out, DESCRIPTOR_STATE, "", 0);
	protobuf_end(out, descriptor);
	return perfetto_packet_end(perfetto, err);
}

static bool track_group(struct perfetto *perfetto, enum track_group group, uint64_t *uuid,
			struct error *err)
{
	static const char *const names[TRACKS_GROUPS] = {"CPUs", "Streams", "State"};
	struct description what = {.name = names[group],
				   .rank = -1,
				   .ordering = group == TRACKS_CPUS ? ORDERED_EXPLICIT
								    : ORDERED_LEXICOGRAPHIC};

	return take_track(perfetto, PLACE_GROUP, group, NULL, uuid) ||
	       perfetto_tracks_describe(perfetto, *uuid, &what, err);
}

bool perfetto_track_cpu(struct perfetto *perfetto, int64_t cpu, uint64_t *uuid, struct error *err)
{
	struct description what = {.rank = cpu < INT32_MAX ? cpu : -1};
	char name[32];

	if (take_track(perfetto, PLACE_CPU, cpu, NULL, uuid))
		return true;
	snprintf(name, sizeof name, "CPU %lld", (long long)cpu);
	what.name = name;
	return track_group(perfetto, TRACKS_CPUS, &what.parent, err) &&
	       perfetto_tracks_describe(perfetto, *uuid, &what, err);
}

bool perfetto_track_stream(struct perfetto *perfetto, const struct stream *stream, uint64_t *uuid,
			   struct error *err)
{
	struct description what = {.name = stream->name, .rank = -1};

	return take_track(perfetto, PLACE_STREAM, stream->index, NULL, uuid) ||
	       (track_group(perfetto, TRACKS_STREAMS, &what.parent, err) &&
		perfetto_tracks_describe(perfetto, *uuid, &what, err));
}

bool perfetto_track_thread(struct perfetto *perfetto, int64_t tid, int64_t pid, uint64_t *uuid,
			   struct error *err)
{
	struct description what = {.rank = -1, .tid = tid, .pid = pid};

	if (take_track(perfetto, PLACE_THREAD, tid, NULL, uuid))
		return true;
	what.name = track_name(perfetto->of.names, TRACK_THREAD, tid, NSTIME_MAX - 1);
	return perfetto_tracks_describe(perfetto, *uuid, &what, err);
}

/* ---- states ---- */

static bool add_state(struct perfetto *perfetto, uint64_t uuid, nstime t, const char *name,
		      const struct event *loss, struct error *err)
{
	struct buf *out = perfetto_packet(perfetto, &perfetto->states, t);
	size_t event = protobuf_begin(out, TRACE_TRACK_EVENT);

	protobuf_uint(out, EVENT_TYPE, TYPE_STATE);
	protobuf_uint(out, EVENT_TRACK, uuid);
	if (name)
		protobuf_uint(out, EVENT_NAME_IID,
			      perfetto_intern_text(&perfetto->states, INTERN_EVENT_NAMES, name));
	if (loss)
		perfetto_loss_args(out, loss);
	protobuf_end(out, event);
	return perfetto_packet_end(perfetto, err);
}

static bool end_state(struct perfetto *perfetto, struct perfetto_track *track, struct error *err)
{
	track->open = false;
	return add_state(perfetto, (uint64_t)(track - perfetto->tracks) + 1, track->end,
			 track->lost ? "?" : NULL, NULL, err);
}

bool perfetto_states_end(struct perfetto *perfetto, struct error *err)
{
	for (size_t i = 0; i < perfetto->ntracks; i++)
		if (perfetto->tracks[i].open && !end_state(perfetto, &perfetto->tracks[i], err))
			return false;
	return true;
}

/* Writes a state of [begin, end); the track's earlier states must have begun before. */
static bool set_state(struct perfetto *perfetto, uint64_t uuid, const struct interval *interval,
		      const char *name, const struct event *loss, struct error *err)
{
	struct perfetto_track *track = &perfetto->tracks[uuid - 1];

	if (track->open && track->end < interval->begin && !end_state(perfetto, track, err))
		return false;
	if (!add_state(perfetto, uuid, interval->begin, *name ? name : "\"\"", loss, err))
		return false;
	track = &perfetto->tracks[uuid - 1];
	track->open = interval->end != NSTIME_MAX;
	track->end = interval->end;
	track->lost = interval->lost;
	return true;
}

/*
 * Cuts an interval to the requested range. If it goes on after the range its end becomes
 * NSTIME_MAX. False: nothing is left.
 */
static bool visible(const struct perfetto *perfetto, const struct interval *interval,
		    struct interval *out)
{
	const struct convert_options *options = &perfetto->of.options;
	struct convert_range range;

	*out = *interval;
	if (!convert_visible(options, interval, &range))
		return false;
	out->begin = range.first;
	out->end = range.last == convert_range(options).last ? NSTIME_MAX : range.last;
	return true;
}

/* ---- attributes ---- */

/*
 * Writes the description of an attribute's track: below its CPU or thread, else by its whole path.
 */
static bool describe_path(struct perfetto *perfetto, uint64_t uuid, const char *path,
			  const char *unit, struct error *err)
{
	struct description what = {.name = path, .rank = -1, .state = !unit, .unit = unit};
	const char *rest;
	int64_t key, pid;
	bool ok;

	if (path_split(path, "cpu", &key, &rest)) {
		what.name = rest;
		ok = perfetto_track_cpu(perfetto, key, &what.parent, err);
	} else if (path_split(path, "thread", &key, &rest) && key && is_pid(key)) {
		what.name = rest;
		pid = track_process(perfetto->of.names, key);
		if (!is_pid(pid))
			pid = key;
		ok = perfetto_track_thread(perfetto, key, pid, &what.parent, err);
	} else {
		ok = track_group(perfetto, TRACKS_STATE, &what.parent, err);
	}
	return ok && perfetto_tracks_describe(perfetto, uuid, &what, err);
}

static bool add_counter(struct perfetto *perfetto, uint64_t uuid, const struct interval *interval,
			struct error *err)
{
	struct buf *out = perfetto_packet(perfetto, &perfetto->states, interval->begin);
	size_t event = protobuf_begin(out, TRACE_TRACK_EVENT);

	protobuf_uint(out, EVENT_TYPE, TYPE_COUNTER);
	protobuf_uint(out, EVENT_TRACK, uuid);
	if (interval->value.kind == VALUE_INT)
		protobuf_int(out, EVENT_INTEGER, (int64_t)interval->value.u);
	else
		protobuf_double(out, EVENT_DOUBLE, interval->value.f);
	protobuf_end(out, event);
	return perfetto_packet_end(perfetto, err);
}

/* The name of the thread or interrupt that is the value; NULL: none known, or another attribute. */
static const char *called(const struct perfetto *perfetto, const char *what,
			  const struct interval *interval)
{
	static const char *const kinds[] = {"thread", "irq", "softirq"}; /* enum track_kind */

	for (int i = 0; i < 3; i++)
		if (interval->value.kind == VALUE_INT && strcmp(what, kinds[i]) == 0)
			return track_name(perfetto->of.names, (enum track_kind)i,
					  (int64_t)interval->value.u, interval->begin);
	return NULL;
}

bool perfetto_interval(struct perfetto *perfetto, const struct interval *interval,
		       struct error *err)
{
	const char *rest, *name = NULL, *unit = NULL;
	struct interval shown;
	struct buf text = {0};
	uint64_t uuid;
	int64_t cpu;

	if (path_split(interval->path, "cpu", &cpu, &rest)) {
		if (strcmp(rest, "thread") == 0 && perfetto_sched_has(perfetto, cpu))
			return true; /* drawn from its switches */
		name = called(perfetto, rest, interval);
		if (strcmp(rest, "frequency") == 0 &&
		    (interval->value.kind == VALUE_INT || interval->value.kind == VALUE_FLOAT))
			unit = "kHz";
	}
	if (!visible(perfetto, interval, &shown))
		return true;
	if (!take_track(perfetto, PLACE_PATH, unit != NULL, interval->path, &uuid) &&
	    !describe_path(perfetto, uuid, interval->path, unit, err))
		return false;
	if (unit)
		return add_counter(perfetto, uuid, &shown, err);
	convert_add_value(&text, name, &interval->value);
	bool ok = set_state(perfetto, uuid, &shown, buf_text(&text), NULL, err);
	buf_release(&text);
	return ok;
}

/* ---- losses ---- */

static bool describe_losses(struct perfetto *perfetto, uint64_t uuid, const struct event *loss,
			    struct error *err)
{
	const struct stream *stream = loss->stream;
	struct description what = {.rank = -1, .state = true};
	struct buf name = {0};
	bool ok = loss->cpu >= 0 && perfetto->of_first_host[stream->part]
			  ? perfetto_track_cpu(perfetto, loss->cpu, &what.parent, err)
			  : perfetto_track_stream(perfetto, stream, &what.parent, err);

	buf_printf(&name, "losses of %s", stream->name);
	what.name = name.data;
	ok = ok && perfetto_tracks_describe(perfetto, uuid, &what, err);
	buf_release(&name);
	return ok;
}

bool perfetto_loss(struct perfetto *perfetto, const struct event *loss, struct error *err)
{
	bool until = loss->until != NSTIME_MIN && loss->until != NSTIME_MAX;
	struct interval lost = {.begin = loss->time, .end = until ? loss->until : loss->time};
	struct interval shown;
	struct buf name = {0};
	uint64_t uuid;

	if (!loss->stream->has_time || loss->time == NSTIME_MIN ||
	    !visible(perfetto, &lost, &shown))
		return true;
	if (!take_track(perfetto, PLACE_LOSSES, loss->stream->index, NULL, &uuid) &&
	    !describe_losses(perfetto, uuid, loss, err))
		return false;
	if (!loss->lost_unknown && loss->lost)
		buf_printf(&name, "%llu lost", (unsigned long long)loss->lost);
	bool ok = set_state(perfetto, uuid, &shown, name.len ? name.data : "lost", loss, err);
	buf_release(&name);
	return ok;
}

/* ---- threads ---- */

static void add_process(struct perfetto *perfetto, struct buf *out, int64_t pid)
{
	const char *name = track_name(perfetto->of.names, TRACK_THREAD, pid, NSTIME_MAX - 1);
	size_t process = protobuf_begin(out, 1);

	protobuf_int(out, 1, pid);
	if (name) {
		perfetto_text(out, 3, name, strlen(name));
		protobuf_uint(out, 9, true); /* only the command's name, not its command line */
	}
	protobuf_end(out, process);
}

static void add_tree_thread(struct perfetto *perfetto, struct buf *out, int64_t tid, int64_t pid)
{
	const char *name = track_name(perfetto->of.names, TRACK_THREAD, tid, NSTIME_MAX - 1);
	size_t thread = protobuf_begin(out, 2);

	protobuf_int(out, 1, tid);
	if (name)
		perfetto_text(out, 2, name, strlen(name));
	protobuf_int(out, 3, pid);
	protobuf_end(out, thread);
}

bool perfetto_threads(struct perfetto *perfetto, struct error *err)
{
	struct buf *out = perfetto_packet(perfetto, &perfetto->states, perfetto->of.options.first);
	size_t tree = protobuf_begin(out, TRACE_PROCESS_TREE);
	int64_t tid;

	for (size_t at = 0; track_next_thread(perfetto->of.names, &at, &tid);)
		if (is_pid(tid) && track_process(perfetto->of.names, tid) == tid)
			add_process(perfetto, out, tid);
	for (size_t at = 0; track_next_thread(perfetto->of.names, &at, &tid);) {
		int64_t pid = track_process(perfetto->of.names, tid);
		if (is_pid(tid) && is_pid(pid))
			add_tree_thread(perfetto, out, tid, pid);
	}
	protobuf_end(out, tree);
	return perfetto_packet_end(perfetto, err);
}
