/* trace.c - opening a trace, and its flat tables, which readers fill part by part */
#include "engine/trace.h"

#include "engine/base/buf.h"
#include "engine/base/mem.h"
#include "engine/base/nameset.h"
#include "engine/base/nearest.h"
#include "engine/clocks.h"
#include "engine/reader.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

/* Tables grow by doubling: the capacity is the next power of two of the count. */
static void *room_for_one(void *array, size_t count, size_t size)
{
	if (count & (count - 1))
		return array;
	return mem_resize(array, count ? count * 2 : 1, size);
}

struct part *trace_add_part(struct trace *trace, const struct reader *reader, const char *path)
{
	struct part *part = arena_alloc(trace->arena, sizeof *part);

	part->reader = reader;
	part->path = arena_strdup(trace->arena, path);
	part->version = part->host = part->domain = "";
	part->big_endian = -1;
	part->index = (uint32_t)trace->nparts;
	trace->parts = room_for_one(trace->parts, trace->nparts, sizeof *trace->parts);
	trace->parts[trace->nparts++] = part;
	return part;
}

uint8_t machine_word_bits(const char *machine)
{
	static const char *const narrow[] = {"i386", "i486", "i586", "i686",  "arm",     "x86",
					     "ppc",  "mips", "s390", "sparc", "riscv32", "m68k"};

	if (strstr(machine, "64") || !strcmp(machine, "s390x") || !strcmp(machine, "alpha"))
		return 64;
	for (size_t i = 0; i < sizeof narrow / sizeof *narrow; i++)
		if (!strncmp(machine, narrow[i], strlen(narrow[i])))
			return 32;
	return 0;
}

void part_set_recording(struct trace *trace, struct part *part, enum recording recording,
			const int64_t *tasks, size_t ntasks)
{
	part->recording = recording;
	part->tasks = arena_copy(trace->arena, tasks, ntasks, sizeof *tasks);
	part->ntasks = ntasks;
}

struct stream *trace_add_stream(struct trace *trace, const struct part *part, const char *name)
{
	struct stream *stream = arena_alloc(trace->arena, sizeof *stream);

	stream->index = (uint32_t)trace->nstreams;
	stream->part = part->index;
	stream->name = arena_strdup(trace->arena, name);
	stream->section = stream->loom = "";
	stream->cpu = stream->clock = -1;
	stream->tid = stream->pid = stream->rank = stream->app = -1;
	trace->streams = room_for_one(trace->streams, trace->nstreams, sizeof(struct stream *));
	trace->streams[trace->nstreams++] = stream;
	return stream;
}

struct event_class *trace_add_class(struct trace *trace, const struct part *part, const char *name)
{
	struct event_class *class = arena_alloc(trace->arena, sizeof *class);

	class->index = (uint32_t)trace->nclasses;
	class->part = part->index;
	class->name = arena_strdup(trace->arena, name);
	class->loglevel = -1;
	trace->classes =
		room_for_one(trace->classes, trace->nclasses, sizeof(struct event_class *));
	trace->classes[trace->nclasses++] = class;
	return class;
}

int32_t trace_add_clock(struct trace *trace, const struct clock *clock)
{
	trace->clocks = room_for_one(trace->clocks, trace->nclocks, sizeof *trace->clocks);
	trace->clocks[trace->nclocks] = *clock;
	return (int32_t)trace->nclocks++;
}

void trace_add_source(struct trace *trace, struct source *source)
{
	trace->sources = room_for_one(trace->sources, trace->nsources, sizeof(struct source *));
	trace->sources[trace->nsources++] = source;
}

void trace_add_copy(struct trace *trace, const char *path)
{
	trace->copies = room_for_one(trace->copies, trace->ncopies, sizeof *trace->copies);
	trace->copies[trace->ncopies++] = arena_strdup(trace->arena, path);
}

/* Adds a message to trace->damages if there is room. False: it was there before. */
static bool remember_damage(struct trace *trace, const char *text)
{
	struct buf *texts = &trace->damages;
	bool known = false;

	pthread_mutex_lock(&trace->told_lock);
	for (size_t at = 0; at < texts->len && !known; at += strlen(texts->data + at) + 1)
		known = !strcmp(texts->data + at, text);
	if (!known && texts->len < TRACE_DAMAGES)
		buf_add(texts, text, strlen(text) + 1);
	pthread_mutex_unlock(&trace->told_lock);
	return !known;
}

static void say_damage(struct trace *trace, const char *text)
{
	bool unknown = *text == TRACE_UNKNOWN_MARK;

	atomic_fetch_add_explicit(unknown ? &trace->unknown : &trace->damaged, 1,
				  memory_order_relaxed);
	notice(&trace->notices, unknown ? NOTICE_WARNING : NOTICE_DAMAGE, "%s", text + unknown);
}

/* Does the text name the file already, alone or at the end of its path, before a colon? */
static bool names_file(const char *text, const char *file)
{
	size_t len = strlen(file);

	for (const char *at = text; len && (at = strstr(at, file)); at++)
		if ((at == text || at[-1] == '/') && at[len] == ':')
			return true;
	return false;
}

void trace_damage(struct trace *trace, const char *where, const struct error *cause)
{
	struct buf text = {0};

	if (cause->kind == ERR_UNKNOWN || names_file(cause->text, where))
		where = "";
	if (cause->kind == ERR_UNKNOWN)
		buf_add_char(&text, TRACE_UNKNOWN_MARK);
	buf_printf(&text, "%s%s%s", where, *where ? ": " : "", cause->text);
	if (remember_damage(trace, text.data) || cause->kind != ERR_UNKNOWN)
		say_damage(trace, text.data);
	buf_release(&text);
}

void trace_damages(struct trace *trace, struct buf *out)
{
	pthread_mutex_lock(&trace->told_lock);
	buf_add(out, trace->damages.data, trace->damages.len);
	pthread_mutex_unlock(&trace->told_lock);
}

void trace_damage_again(struct trace *trace, const char *text)
{
	if (remember_damage(trace, text))
		say_damage(trace, text);
}

/* Was damage at `where` reported lately? Several streams may read the same packet. */
static bool is_told(struct trace *trace, const char *where)
{
	uint64_t hash = XXH3_64bits(where, strlen(where));
	bool found = false;

	pthread_mutex_lock(&trace->told_lock);
	for (unsigned i = 0; i < TRACE_TOLD && i < trace->ntold; i++)
		found = found || trace->told[i] == hash;
	if (!found)
		trace->told[trace->ntold++ % TRACE_TOLD] = hash;
	pthread_mutex_unlock(&trace->told_lock);
	return found;
}

void trace_damage_at(struct trace *trace, const struct stream *stream, uint32_t source,
		     uint64_t offset, const struct error *cause)
{
	const struct source *of = stream_source(stream, source);
	const char *file = of ? source_name(of) : stream->name;
	char where[512];

	snprintf(where, sizeof where, "%s: packet at offset %llu", file,
		 (unsigned long long)offset);
	if (stream->shared && is_told(trace, where))
		return;
	trace_damage(trace, strstr(cause->text, file) ? "" : where, cause);
}

size_t trace_listed_classes(const struct trace *trace)
{
	size_t count = 0;

	for (size_t i = 0; i < trace->nclasses; i++)
		count += !trace->classes[i]->unlisted;
	return count;
}

uint64_t trace_disorder(const struct trace *trace)
{
	return atomic_load(&trace->late) + atomic_load(&trace->strayed);
}

uint64_t trace_events_decoded(const struct trace *trace)
{
	return atomic_load_explicit(&trace->events_decoded, memory_order_relaxed);
}

uint64_t trace_bytes_read(const struct trace *trace)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < trace->nsources; i++)
		sum += source_bytes_read(trace->sources[i]);
	return sum;
}

static void no_format(const char *format, struct error *err)
{
	const struct reader *reader;
	char hint[NEAREST_WORDS_MAX];
	struct nearest nearest;
	struct buf names = {0};

	nearest_begin(&nearest, format);
	for (size_t i = 0; (reader = reader_at(i)); i++)
		nearest_offer(&nearest, reader->format);
	reader_names(&names, ", ");
	error_set(err, ERR_QUERY, "no format is named \"%s\": %sthere are %s", format,
		  nearest_hint(&nearest, hint, sizeof hint), buf_text(&names));
	buf_release(&names);
}

/* Parses --input "ctf,key=value": returns the reader; *settings is the text behind the comma. */
static const struct reader *reader_asked_for(struct trace *trace, const char *input,
					     const char **settings, struct error *err)
{
	size_t len = strcspn(input, ",");
	const char *format = arena_strndup(trace->arena, input, len);
	const struct reader *reader = reader_named(format);

	*settings = input[len] ? arena_strdup(trace->arena, input + len + 1) : NULL;
	if (!reader)
		no_format(format, err);
	return reader;
}

/* Applies --offset to the clocks from `first_clock` on and to the parts from `first_part` on. */
static bool shift_clocks(struct trace *trace, size_t first_clock, size_t first_part, nstime offset,
			 struct error *err)
{
	for (size_t i = first_clock; i < trace->nclocks; i++) {
		struct timebase *base = &trace->clocks[i].base;
		int64_t s = offset / 1000000000;
		__int128 cycles = (__int128)(offset % 1000000000) * base->frequency / 1000000000;
		if (__builtin_add_overflow(base->offset_s, s, &base->offset_s) ||
		    __builtin_add_overflow(base->offset_cycles, (int64_t)cycles,
					   &base->offset_cycles))
			return error_set(err, ERR_RANGE, "the offset does not fit in nanoseconds");
	}
	for (size_t i = first_part; i < trace->nparts; i++)
		trace->parts[i]->offset = offset;
	return true;
}

static bool has_offset(const struct trace_options *options, size_t i)
{
	return options->offsets && options->offsets[i] != NSTIME_MIN;
}

static char *(*locates)(const char *path, const char *keep, struct error *err);

void trace_locate_by(char *(*locate)(const char *path, const char *keep, struct error *err))
{
	locates = locate;
}

/* The local path of options->paths[i], see trace_locate_by(); NULL: *err. */
static const char *locate(struct trace *trace, const struct trace_options *options, size_t i,
			  struct error *err)
{
	const char *path = options->paths[i];
	char *other = NULL;

	err->kind = ERR_NONE;
	if (locates && !options->grows)
		other = locates(path, options->spill_dir, err);
	if (other)
		path = arena_strdup(trace->arena, other);
	mem_free(other);
	return err->kind == ERR_NONE ? path : NULL;
}

static bool open_one(struct trace *trace, const struct trace_options *options, size_t i,
		     struct error *err)
{
	const char *settings = NULL, *path = locate(trace, options, i, err);
	size_t parts = trace->nparts, clocks = trace->nclocks;
	const struct reader *reader, *beside = NULL;

	if (!path)
		return false;
	reader = options->input ? reader_asked_for(trace, options->input, &settings, err)
				: reader_detect(path, &beside, err);
	if (beside)
		notice(&trace->notices, NOTICE_WARNING,
		       "%s: read as %s; a trace of %s is also there, and is not read: name its "
		       "folder, or --input %s",
		       path, reader->format, beside->format, beside->format);
	if (!reader || !reader->open(trace, path, settings, options->mode, err))
		return false;
	for (size_t p = parts; p < trace->nparts; p++)
		trace->parts[p]->settings = settings;
	return !has_offset(options, i) ||
	       shift_clocks(trace, clocks, parts, options->offsets[i], err);
}

/* Merged traces may both have a "channel0_0": later ones are renamed "PART:NAME". */
static void make_names_unique(struct trace *trace)
{
	struct nameset names = {0};

	if (trace->nparts < 2)
		return;
	for (size_t i = 0; i < trace->nstreams; i++) {
		struct stream *stream = trace->streams[i];
		if (nameset_add(&names, stream->name, (uint32_t)i))
			continue;
		stream->name =
			arena_printf(trace->arena, "%u:%s", stream->part, stream->name);
		nameset_add(&names, stream->name, (uint32_t)i);
	}
	nameset_release(&names);
}

/* Drops damage reported while a growing trace was opened: it may be complete the next time. */
static void begin_telling(struct trace *trace, const struct notices *notices)
{
	trace->notices = *notices;
	buf_clear(&trace->damages);
	atomic_store(&trace->damaged, 0);
	atomic_store(&trace->unknown, 0);
}

/* A path for messages: a URL without user name, password and query (a signature). */
static const char *trace_shown(struct arena *arena, const char *path)
{
	const char *host = strstr(path, "://");

	if (!host)
		return arena_strdup(arena, path);
	host += 3;
	const char *name = memchr(host, '@', strcspn(host, "/?"));
	const char *rest = name ? name + 1 : host;
	return arena_printf(arena, "%.*s%.*s", (int)(host - path), path, (int)strcspn(rest, "?"),
			    rest);
}

bool trace_open(const struct trace_options *options, struct trace **out, struct error *err)
{
	struct trace *trace = mem_new(sizeof *trace);

	pthread_mutex_init(&trace->told_lock, NULL);

	trace->arena = arena_new();
	trace->notices = options->notices;
	trace->strict = options->strict;
	trace->packet_bytes = options->packet_bytes;
	trace->cache_least = options->cache_least;
	trace->path = options->npaths ? trace_shown(trace->arena, options->paths[0]) : "";
	if (options->key_file)
		trace->key_file = arena_strdup(trace->arena, options->key_file);
	if (options->spill_dir)
		trace->spill_dir = arena_strdup(trace->arena, options->spill_dir);
	trace->grows = options->grows;
	trace->before = options->before;
	if (options->grows)
		trace->notices = (struct notices){0};
	struct clock_group *groups = arena_array(trace->arena, options->npaths + 1, sizeof *groups);
	for (size_t i = 0; i < options->npaths; i++) {
		bool good = open_one(trace, options, i, err);
		groups[i] = (struct clock_group){trace->nclocks, has_offset(options, i)};
		if (good)
			continue;
		/* most causes name the file already */
		const char *path = trace_shown(trace->arena, options->paths[i]);
		if (strncmp(err->text, path, strlen(path)) != 0)
			error_while(err, "opening %s", path);
		trace_close(trace);
		return false;
	}
	make_names_unique(trace);
	hosts_complete(trace);
	clocks_relate(trace, groups);
	if (options->grows)
		begin_telling(trace, &options->notices);
	else
		sources_wait_tick(trace->sources, trace->nsources);
	*out = trace;
	return true;
}

void trace_close(struct trace *trace)
{
	if (!trace)
		return;
	for (size_t i = 0; i < trace->nparts; i++)
		if (trace->parts[i]->reader->close)
			trace->parts[i]->reader->close(trace->parts[i]);
	for (size_t i = 0; i < trace->nsources; i++)
		source_close(trace->sources[i]);
	pthread_mutex_destroy(&trace->told_lock);
	buf_release(&trace->damages);
	mem_free(trace->sources);
	mem_free(trace->copies);
	mem_free(trace->empties);
	mem_free(trace->parts);
	mem_free(trace->clocks);
	mem_free(trace->streams);
	mem_free(trace->classes);
	arena_free(trace->arena);
	mem_free(trace);
}

static int by_address(const void *a, const void *b)
{
	uintptr_t x = (uintptr_t) * (struct source *const *)a;
	uintptr_t y = (uintptr_t) * (struct source *const *)b;

	return (x > y) - (x < y);
}

static uint64_t sum_bytes(const struct trace *trace)
{
	size_t count = 0, n = 0;
	struct source **sources;
	uint64_t sum = 0;

	for (size_t i = 0; i < trace->nstreams; i++)
		count += trace->streams[i]->nsources;
	sources = mem_new_array(count + 1, sizeof(struct source *));
	for (size_t i = 0; i < trace->nstreams; i++)
		for (uint32_t k = 0; k < trace->streams[i]->nsources; k++)
			sources[n++] = trace->streams[i]->sources[k];
	qsort(sources, count, sizeof(struct source *), by_address);
	for (size_t i = 0; i < count; i++)
		if (i == 0 || sources[i] != sources[i - 1])
			sum += source_size(sources[i]);
	mem_free(sources);
	return sum;
}

uint64_t trace_bytes(const struct trace *trace)
{
	/* cached, since a scan may call it for every packet */
	struct trace *kept = (struct trace *)(uintptr_t)trace;
	uint64_t bytes = atomic_load(&kept->bytes);

	if (!bytes) {
		bytes = sum_bytes(trace);
		atomic_store(&kept->bytes, bytes);
	}
	return bytes;
}

bool trace_has_ordinals(const struct trace *trace)
{
	for (size_t i = 0; i < trace->nstreams; i++)
		if (trace->streams[i]->has_time)
			return false;
	return trace->nstreams > 0;
}

const char *trace_host(const struct trace *trace)
{
	const char *host = "";

	for (size_t i = 0; i < trace->nparts && !*host; i++)
		host = part_host(trace->parts[i]);
	return host;
}

int64_t trace_clock_offset(const struct trace *trace)
{
	for (size_t i = 0; i < trace->nstreams; i++) {
		int32_t clock = trace->streams[i]->clock;
		if (clock >= 0)
			return timebase_to_ns_clamped(&trace->clocks[clock].base, 0);
	}
	return 0;
}

const char *part_env_text(const struct part *part, const char *name)
{
	for (size_t i = 0; i < part->nenv; i++)
		if (!strcmp(part->env[i].name, name) && part->env[i].text)
			return part->env[i].text;
	return NULL;
}

bool trace_has_epoch(const struct trace *trace)
{
	bool any = false;

	for (size_t i = 0; i < trace->nstreams; i++) {
		int32_t clock = trace->streams[i]->clock;
		if (clock < 0)
			continue;
		if (!trace->clocks[clock].epoch)
			return false;
		any = true;
	}
	return any;
}
