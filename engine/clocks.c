/*
 * clocks.c - see clocks.h
 *
 * Two clocks are the same when they have the same UUID (LTTng's is the boot's id, equal for kernel
 * and user space), or are the same kernel clock of the same host. Only LTTng records the boot; for
 * other formats yore assumes that the traces are of one boot, and `info` says so. The distance to
 * the Unix epoch that LTTng measured differs by some ns between the traces of a session; one of the
 * distances is used for all.
 *
 * A set of same clocks is found by two keys: "u" and the UUID; "c", kernel clock and host. It is
 * identified by its first clock.
 */
#include "engine/clocks.h"

#include "engine/base/mem.h"
#include "engine/base/nameset.h"

#include <inttypes.h>
#include <string.h>

/* ---- hosts ---- */

/* Is `full` the name `host` with a domain behind it? */
static bool is_full_name(const char *full, const char *host)
{
	size_t len = strlen(host);

	return len && strncmp(full, host, len) == 0 && full[len] == '.';
}

void hosts_complete(struct trace *trace)
{
	struct nameset shorts = {0};
	const char *only = "";
	size_t hosts = 0;

	for (size_t i = 0; i < trace->nparts; i++) {
		struct part *part = trace->parts[i];
		uint32_t first;
		if (!*part_host(part))
			continue;
		const char *name =
			arena_strndup(trace->arena, part->host, strcspn(part->host, "."));
		if (nameset_add(&shorts, name, (uint32_t)i)) {
			only = part->host;
			hosts++;
			continue;
		}
		nameset_find(&shorts, name, &first);
		const char *known = trace->parts[first]->host;
		if (is_full_name(part->host, known) || is_full_name(known, part->host))
			part->host = known;
		else
			hosts += strcmp(part->host, known) != 0;
	}
	for (size_t i = 0; hosts == 1 && i < trace->nparts; i++)
		if (!*part_host(trace->parts[i]))
			trace->parts[i]->host = only;
	nameset_release(&shorts);
}

/* ---- clocks ---- */

#define NS_PER_S UINT64_C(1000000000)

struct relate {
	struct trace *trace;
	const char **hosts; /* of each clock; NULL: no stream with times uses it */
	uint32_t *sets;     /* of each clock: the first clock of its set */
	bool *booted;       /* of each set: one of its clocks has a UUID, and so a known boot */
	struct nameset names;
	uint32_t path; /* the first path with a clock in use: others are related to it */
};

static void find_hosts(struct relate *relate)
{
	const struct trace *trace = relate->trace;

	for (size_t i = 0; i < trace->nstreams; i++) {
		const struct stream *stream = trace->streams[i];
		if (stream->clock >= 0 && stream->has_time && !relate->hosts[stream->clock])
			relate->hosts[stream->clock] = part_host(trace->parts[stream->part]);
	}
}

/* The keys below contain the group, so that clocks of a path with an --offset match no others. */
static const char *uuid_key(struct trace *trace, const struct clock *clock, uint32_t group)
{
	uint64_t half[2];

	memcpy(half, clock->uuid, sizeof half);
	return arena_printf(trace->arena, "u%" PRIu32 ":%016" PRIx64 "%016" PRIx64, group, half[0],
			    half[1]);
}

static const char *counter_key(struct trace *trace, const struct clock *clock, const char *host,
			       uint32_t group)
{
	return arena_printf(trace->arena, "c%" PRIu32 ":%s:%s", group, clock->counter, host);
}

/* The key of the clock's origin, the Unix epoch or one that CTF 2 names; NULL: not known. */
static const char *origin_key(struct trace *trace, const struct clock *clock)
{
	const struct full_name *origin = &clock->origin;

	if (clock->epoch)
		return "o";
	if (!origin->name || !origin->uid)
		return NULL;
	return arena_printf(trace->arena, "o:%s:%s:%s", origin->space ? origin->space : "",
			    origin->name, origin->uid);
}

/* Gives the clock the origin of `to`, if both have one frequency and the origin is in range. */
static void move(struct clock *clock, const struct clock *to)
{
	struct error ignored;
	nstime origin;

	if (clock->base.frequency != to->base.frequency ||
	    !timebase_to_ns(&to->base, 0, &origin, &ignored))
		return;
	clock->moved |=
		clock->epoch != to->epoch || memcmp(&clock->base, &to->base, sizeof to->base) != 0;
	clock->base = to->base;
	clock->epoch = to->epoch;
}

/* Moves a set's clocks before `end` to the origin of its first clock that counts from the epoch. */
static void move_set(struct relate *relate, uint32_t set, size_t end, const struct clock *to)
{
	for (size_t i = set; i < end; i++)
		if (relate->sets[i] == set)
			move(&relate->trace->clocks[i], to);
}

static void join_set(struct relate *relate, size_t i, uint32_t set, enum clock_relation relation)
{
	struct clock *clock = &relate->trace->clocks[i];
	struct clock *first = &relate->trace->clocks[set];

	relate->sets[i] = set;
	clock->relation = relation;
	clock->same_as = (int32_t)set;
	if (clock->epoch && !first->epoch)
		move_set(relate, set, i, clock);
	else
		move(clock, first);
	relate->booted[set] |= clock->has_uuid;
}

/* Adds clock i to the set that it belongs to. False: there is none, and the clock begins one. */
static bool find_set(struct relate *relate, size_t i, uint32_t group)
{
	struct trace *trace = relate->trace;
	struct clock *clock = &trace->clocks[i];
	const char *uuid = clock->has_uuid ? uuid_key(trace, clock, group) : NULL;
	const char *counter =
		clock->counter ? counter_key(trace, clock, relate->hosts[i], group) : NULL;
	uint32_t set = (uint32_t)i;

	relate->sets[i] = set;
	relate->booted[i] = clock->has_uuid;
	if (uuid && nameset_find(&relate->names, uuid, &set)) {
		join_set(relate, i, set, CLOCK_SAME_UUID);
		return true;
	}
	bool same = counter && nameset_find(&relate->names, counter, &set) &&
		    !(uuid && relate->booted[set]);
	if (same)
		join_set(relate, i, set, CLOCK_SAME_COUNTER);
	else if (counter)
		nameset_add(&relate->names, counter, (uint32_t)i);
	if (uuid)
		nameset_add(&relate->names, uuid, same ? set : (uint32_t)i);
	return same;
}

/* The relation of a clock that is the same as no earlier one. */
static enum clock_relation relation_without(const struct relate *relate, const struct clock *clock,
					    const struct clock_group *groups)
{
	const char *origin = origin_key(relate->trace, clock);

	if (clock->path == relate->path)
		return CLOCK_FIRST;
	if (groups[clock->path].shifted || groups[relate->path].shifted)
		return CLOCK_SHIFTED;
	return origin && nameset_find(&relate->names, origin, NULL) ? CLOCK_SAME_ORIGIN
								    : CLOCK_UNRELATED;
}

/* Sets clock->path of all clocks, and relate->path: that of the first clock that a stream uses. */
static void find_paths(struct relate *relate, const struct clock_group *groups)
{
	uint32_t path = 0;

	relate->path = UINT32_MAX;
	for (size_t i = 0; i < relate->trace->nclocks; i++) {
		struct clock *clock = &relate->trace->clocks[i];
		while (i >= groups[path].nclocks)
			path++;
		clock->path = path;
		if (!relate->hosts[i])
			continue;
		if (relate->path == UINT32_MAX)
			relate->path = path;
		const char *origin = origin_key(relate->trace, clock);
		if (origin && path == relate->path)
			nameset_add(&relate->names, origin, 0);
	}
}

/* Sets part->origin, once origins are final: readers whose timestamps are ns add it to them. */
static void tell_parts(struct trace *trace)
{
	for (size_t i = 0; i < trace->nstreams; i++) {
		const struct stream *stream = trace->streams[i];
		const struct timebase *base =
			stream->clock >= 0 ? &trace->clocks[stream->clock].base : NULL;
		if (base && base->frequency == NS_PER_S)
			trace->parts[stream->part]->origin = timebase_to_ns_clamped(base, 0);
	}
}

void clocks_relate(struct trace *trace, const struct clock_group *groups)
{
	struct relate relate = {.trace = trace};

	relate.hosts = mem_new_array(trace->nclocks + 1, sizeof *relate.hosts);
	relate.sets = mem_new_array(trace->nclocks + 1, sizeof *relate.sets);
	relate.booted = mem_new_array(trace->nclocks + 1, sizeof *relate.booted);
	find_hosts(&relate);
	find_paths(&relate, groups);
	for (size_t i = 0; i < trace->nclocks; i++) {
		struct clock *clock = &trace->clocks[i];
		relate.sets[i] = (uint32_t)i;
		clock->same_as = -1;
		if (relate.hosts[i] &&
		    !find_set(&relate, i, groups[clock->path].shifted ? clock->path + 1 : 0))
			clock->relation = relation_without(&relate, clock, groups);
	}
	tell_parts(trace);
	nameset_release(&relate.names);
	mem_free(relate.hosts);
	mem_free(relate.sets);
	mem_free(relate.booted);
}

const struct clock *clocks_unrelated(const struct trace *trace)
{
	for (size_t i = 0; i < trace->nclocks; i++)
		if (trace->clocks[i].relation == CLOCK_UNRELATED)
			return &trace->clocks[i];
	return NULL;
}
