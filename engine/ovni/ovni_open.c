/*
 * ovni_open.c - a folder → parts, clocks, streams
 *
 * A part is a host, as each host has its own numbers of threads, processes and CPUs, and one clock.
 * An unusable stream is reported as damage of the trace; the others are read.
 */
#include "engine/base/folder.h"
#include "engine/ovni/ovni_internal.h"

#include <inttypes.h>
#include <sys/stat.h>
#include <xxhash.h>

#define HOUR INT64_C(3600000000000)

struct ovni_opening {
	struct trace *trace;
	enum source_mode mode;
	struct ovni_metadata *streams;
	size_t count, capacity;
	size_t tried;
	struct error first; /* of the first unusable stream; reported when a usable one is found */
	struct ovni_offsets offsets;
	const struct ovni_loom **looms; /* per stream, in order */
};

static void ovni_open_refuse(struct ovni_opening *opening, const struct error *cause)
{
	opening->trace->awaited++; /* in a growing trace its files may not be complete yet */
	if (opening->first.kind == ERR_NONE)
		opening->first = *cause;
	else
		trace_damage(opening->trace, "", cause);
}

static void found(void *arg, const char *folder, const char *name)
{
	struct ovni_opening *opening = arg;
	struct ovni_metadata one;
	struct error cause = {0};

	opening->tried++;
	if (!ovni_read_metadata(opening->trace->arena, folder, name, &one, &cause)) {
		ovni_open_refuse(opening, &cause);
		mem_free(one.cpus);
		mem_free(one.models);
		mem_free(one.settings);
		return;
	}
	*mem_push(opening->streams, opening->count, opening->capacity) = one;
}

/* Opens stream.obs and finds its byte order; false: it is unreadable. */
static bool open_obs(struct ovni_opening *opening, const struct ovni_metadata *one,
		     struct source **source, bool *big_endian, struct error *err)
{
	char *path = folder_join(one->path, "stream.obs");
	uint8_t head[OBS_HEAD];
	bool ok = source_open(path, opening->mode, source, err);

	if (ok) {
		trace_add_source(opening->trace, *source);
		ok = source_size(*source) >= OBS_HEAD ||
		     error_set(err, ERR_FORMAT, "%s",
			       source_size(*source) ? "it is shorter than its header"
						    : "it is empty");
		ok = ok && source_peek(*source, 0, head, sizeof head, err);
	}
	if (ok && memcmp(head, "ovni", 4) != 0)
		ok = error_set(err, ERR_FORMAT, "it does not begin with \"ovni\"");
	if (ok) {
		uint32_t little = ovni_load32(head + 4, false), big = ovni_load32(head + 4, true);
		*big_endian = big == 1;
		ok = little == 1 || big == 1 ||
		     error_set(err, ERR_FORMAT, "stream version %" PRIu32 " is not known (1 is)",
			       little < big ? little : big);
	}
	if (!ok && !strstr(err->text, path))
		error_while(err, "%s", path);
	mem_free(path);
	return ok;
}

static struct part *ovni_open_part_of(struct ovni_opening *opening, const struct ovni_metadata *one,
				      const char *path, size_t first_part)
{
	struct trace *trace = opening->trace;

	for (size_t i = first_part; i < trace->nparts; i++)
		if (!strcmp(trace->parts[i]->host, one->host))
			return trace->parts[i];
	struct part *part = trace_add_part(trace, &ovni_reader, path);
	part->host = one->host;
	part->version = "3";
	/* the identity is a digest of all streams' metadata and of the clock offsets */
	XXH64_hash_t digest = opening->offsets.digest;
	for (size_t i = 0; i < opening->count; i++)
		digest = XXH3_64bits_withSeed(&opening->streams[i].digest, 8, digest);
	part->identity[0] = digest;
	part->identity[1] = opening->count;
	return part;
}

/* A part with its clock, and its classes per byte order. */
struct host {
	struct part *part;
	int32_t clock;
	const struct ovni_classes *classes[2];
	int64_t first; /* clock of the earliest event */
};

static int32_t ovni_open_add_clock(struct ovni_opening *opening, const char *host)
{
	struct trace *trace = opening->trace;
	int64_t offset;
	bool known = ovni_offset_of(&opening->offsets, host, &offset);
	struct clock clock = {
		.name = *host ? arena_printf(trace->arena, "monotonic of %s", host) : "monotonic",
		.description = known ? arena_printf(trace->arena,
						    "CLOCK_MONOTONIC, moved by %" PRId64
						    " ns as clock-offsets.txt says",
						    offset)
				     : "CLOCK_MONOTONIC",
		.counter = "monotonic",
		.precision = 1,
		.base = {.frequency = 1000000000,
			 .offset_s = offset / 1000000000,
			 .offset_cycles = offset % 1000000000},
	};

	return trace_add_clock(trace, &clock);
}

static struct host *host_of(struct ovni_opening *opening, struct host *hosts, size_t *count,
			    struct part *part)
{
	for (size_t i = 0; i < *count; i++)
		if (hosts[i].part == part)
			return &hosts[i];
	hosts[*count] = (struct host){.part = part,
				      .clock = ovni_open_add_clock(opening, part->host),
				      .first = INT64_MAX};
	return &hosts[(*count)++];
}

static const struct ovni_loom *loom_of(struct ovni_opening *opening, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (opening->looms[k] &&
		    !strcmp(opening->streams[k].loom, opening->streams[i].loom))
			return opening->looms[k];
	return ovni_make_loom(opening->trace, opening->streams, opening->count,
			      opening->streams[i].loom);
}

static void warn_of(const struct ovni_opening *opening, const struct ovni_metadata *one,
		    struct source *source)
{
	const struct notices *notices = &opening->trace->notices;

	if (!one->finished)
		notice(notices, NOTICE_WARNING,
		       "%s/stream.json: the stream did not finish (its program ended early?); it "
		       "is read as far as it goes",
		       one->path);
	if (source_size(source) == OBS_HEAD)
		notice(notices, NOTICE_WARNING, "%s: the stream has no events",
		       source_name(source));
}

static void note_first(struct host *host, struct source *source, bool big_endian)
{
	uint8_t head[EVENT_HEAD];
	struct error ignored;

	if (!source_peek(source, OBS_HEAD, head, sizeof head, &ignored))
		return;
	uint64_t clock = ovni_load64(head + 4, big_endian);
	if (clock <= OVNI_TIME_MAX && (int64_t)clock < host->first)
		host->first = (int64_t)clock;
}

static void add_thread_stream(struct ovni_opening *opening, size_t i, const struct host *host,
			      struct source *source, bool big_endian)
{
	const struct ovni_metadata *one = &opening->streams[i];
	struct trace *trace = opening->trace;
	struct stream *stream = trace_add_stream(trace, host->part, one->name);
	struct ovni_stream *own = arena_alloc(trace->arena, sizeof *own);

	own->trace = trace;
	own->big_endian = big_endian;
	own->finished = one->finished;
	own->classes = host->classes[big_endian];
	own->loom = opening->looms[i];
	stream->priv = own;
	stream->clock = host->clock;
	stream->has_time = true;
	stream->tid = one->tid;
	stream->pid = one->pid;
	stream->loom = one->loom;
	stream->rank = one->rank;
	stream->app = one->app;
	stream->sources = arena_alloc(trace->arena, sizeof(struct source *));
	stream->sources[0] = source;
	stream->nsources = 1;
	stream->bytes = source_size(source);
}

static bool ovni_open_add_streams(struct ovni_opening *opening, const char *path,
				  struct host *hosts, size_t *nhosts, struct error *err)
{
	size_t first_part = opening->trace->nparts;

	for (size_t i = 0; i < opening->count; i++) {
		const struct ovni_metadata *one = &opening->streams[i];
		struct error cause = {0};
		struct source *source;
		bool big_endian;
		if (!open_obs(opening, one, &source, &big_endian, &cause)) {
			ovni_open_refuse(opening, &cause);
			continue;
		}
		struct part *part = ovni_open_part_of(opening, one, path, first_part);
		struct host *host = host_of(opening, hosts, nhosts, part);
		if (!host->classes[big_endian])
			host->classes[big_endian] =
				ovni_add_classes(opening->trace, part, opening->streams,
						 opening->count, big_endian, err);
		if (!host->classes[big_endian])
			return false;
		opening->looms[i] = loom_of(opening, i);
		warn_of(opening, one, source);
		note_first(host, source, big_endian);
		add_thread_stream(opening, i, host, source, big_endian);
	}
	return true;
}

/* Warns of clocks of several hosts that no table relates. */
static void warn_clocks(const struct ovni_opening *opening, const struct host *hosts, size_t count)
{
	const struct notices *notices = &opening->trace->notices;
	const struct ovni_offsets *offsets = &opening->offsets;
	int64_t ns;

	for (size_t i = 0; i < offsets->count; i++) {
		bool known = false;
		for (size_t k = 0; k < count; k++)
			known |= !strcmp(hosts[k].part->host, offsets->items[i].host);
		if (!known)
			notice(notices, NOTICE_WARNING, "%s: host %s has no stream of events here",
			       offsets->path, offsets->items[i].host);
	}
	for (size_t i = 1; i < count; i++) {
		if (hosts[0].first == INT64_MAX || hosts[i].first == INT64_MAX)
			continue;
		if (offsets->path && !ovni_offset_of(offsets, hosts[i].part->host, &ns))
			notice(notices, NOTICE_WARNING, "%s: host %s has no offset; 0 is taken",
			       offsets->path, hosts[i].part->host);
		int64_t apart = hosts[i].first - hosts[0].first;
		if (!offsets->path && (apart > HOUR || apart < -HOUR))
			notice(notices, NOTICE_WARNING,
			       "%s: the clocks of hosts %s and %s are more than an hour apart, and "
			       "there is no clock-offsets.txt: their times cannot be compared",
			       opening->trace->path, hosts[0].part->host, hosts[i].part->host);
	}
}

/* Warns of two threads with one number on a host: the state cannot tell them apart. */
static void warn_twins(const struct ovni_opening *opening)
{
	for (size_t i = 0; i < opening->count; i++) {
		const struct ovni_metadata *a = &opening->streams[i];
		for (size_t k = 0; k < i && a->tid > 0; k++) {
			const struct ovni_metadata *b = &opening->streams[k];
			if (a->tid != b->tid || strcmp(a->host, b->host) != 0)
				continue;
			notice(&opening->trace->notices, NOTICE_WARNING,
			       "%s and %s are both of thread %" PRId64
			       " on host \"%s\": its state is mixed from both",
			       b->path, a->path, a->tid, a->host);
			return;
		}
	}
}

static void release_opening(struct ovni_opening *opening)
{
	for (size_t i = 0; i < opening->count; i++) {
		mem_free(opening->streams[i].cpus);
		mem_free(opening->streams[i].models);
		mem_free(opening->streams[i].settings);
	}
	mem_free(opening->streams);
	mem_free(opening->offsets.items);
	mem_free(opening->looms);
}

/* Returns the stream's folder if the path is a file in it. */
static char *folder_of(const char *path)
{
	struct stat st;

	return stat(path, &st) != 0 || S_ISDIR(st.st_mode) ? mem_strdup(path) : folder_above(path);
}

bool ovni_open(struct trace *trace, const char *path, const char *settings, enum source_mode mode,
	       struct error *err)
{
	struct ovni_opening opening = {.trace = trace, .mode = mode};
	char *folder = folder_of(path);
	size_t before = trace->nstreams, nhosts = 0;

	(void)settings;
	ovni_find(trace, folder, found, &opening);
	ovni_read_offsets(trace, folder, opening.streams, opening.count, &opening.offsets);
	ovni_merge(trace, opening.streams, opening.count);
	ovni_warn_models(trace, opening.streams, opening.count);
	opening.looms = mem_new_array(opening.count + 1, sizeof *opening.looms);
	struct host *hosts = mem_new_array(opening.count + 1, sizeof *hosts);
	bool ok = ovni_open_add_streams(&opening, path, hosts, &nhosts, err);
	for (size_t i = 0; i < nhosts; i++)
		ovni_describe(trace, hosts[i].part, opening.streams, opening.looms, opening.count);
	if (ok) {
		warn_clocks(&opening, hosts, nhosts);
		warn_twins(&opening);
	}
	if (ok && trace->nstreams > before && opening.first.kind != ERR_NONE)
		trace_damage(trace, "", &opening.first);
	if (ok && trace->nstreams == before) {
		ok = false;
		if (opening.first.kind != ERR_NONE)
			*err = opening.first;
		else
			error_set(err, ERR_FORMAT,
				  "%s: no folder with stream.json and stream.obs is there", path);
	}
	mem_free(hosts);
	release_opening(&opening);
	mem_free(folder);
	return ok;
}
