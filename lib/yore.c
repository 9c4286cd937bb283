/*
 * yore.c - opens a trace, and lists its parts, clocks, streams and event classes
 *
 * The public types of streams, clocks and classes are opaque: their pointers are those of the
 * engine's structures. Options carry their size: a program that was compiled with an older header
 * passes a shorter structure, and the missing members keep their defaults.
 */
#include "lib/lib_internal.h"

#include "engine/base/mem.h"
#include "engine/reader.h"
#include "index/tables/location.h"

#include <stdatomic.h>
#include <string.h>

_Static_assert((int)YORE_ERROR_QUERY == (int)ERR_QUERY, "kinds of errors are the engine's");
_Static_assert((int)YORE_DAMAGE == (int)NOTICE_DAMAGE, "kinds of notices are the engine's");
_Static_assert(sizeof(((struct yore_error *)0)->text) == sizeof(((struct error *)0)->text),
	       "a message fits");

const char *yore_version(void)
{
	return YORE_VERSION;
}

int lib_fail(struct yore_error *to, const struct error *err)
{
	if (to) {
		to->kind = (enum yore_error_kind)err->kind;
		memcpy(to->text, err->text, sizeof to->text);
	}
	return -1;
}

void lib_take_options(void *to, size_t known, const void *from, size_t size)
{
	if (from)
		memcpy(to, from, size < known ? size : known);
}

static void say(void *arg, enum notice_kind kind, const char *text)
{
	const struct yore *yore = arg;

	if (yore->options.say)
		yore->options.say(yore->options.arg, (enum yore_notice)kind, text);
}

struct notices lib_notices(struct yore *yore)
{
	return (struct notices){.say = say, .arg = yore};
}

static bool open_trace(struct yore *yore, const char *path, const struct index_options *index,
		       bool grows, const struct yore *before, struct error *err)
{
	const struct yore_options *asked = &yore->options;
	size_t count = 1 + asked->nmore;
	const char **paths = mem_new_array(count, sizeof *paths);
	char *spill_dir = index_folder(index);
	struct trace_options open = {.paths = paths,
				     .offsets = asked->offsets,
				     .npaths = count,
				     .input = asked->input,
				     .strict = asked->strict != 0,
				     .mode = asked->no_map ? SOURCE_READ : SOURCE_AUTO,
				     .spill_dir = spill_dir,
				     .grows = grows,
				     .before = before ? before->trace : NULL,
				     .notices = lib_notices(yore)};

	paths[0] = path;
	for (size_t i = 0; i < asked->nmore; i++)
		paths[1 + i] = asked->more[i];
	bool ok = trace_open(&open, &yore->trace, err);
	mem_free(spill_dir);
	mem_free(paths);
	return ok;
}

bool lib_open(struct yore *yore, const char *path, bool follows, bool grows,
	      const struct yore *before, struct error *err)
{
	struct index_options index = {.dir = yore->options.index_dir,
				      .none = yore->options.no_index != 0 || follows,
				      .before = before ? before->index : NULL,
				      .jobs = 1, /* no thread is started */
				      .notices = lib_notices(yore)};

	yore->owners = 1;
	if (!open_trace(yore, path, &index, grows, before, err))
		return false;
	if (index_open(yore->trace, &index, &yore->index, err))
		return true;
	trace_close(yore->trace);
	return false;
}

int yore_open(const char *path, const struct yore_options *options, struct yore **out,
	      struct yore_error *err)
{
	struct yore *yore = mem_new(sizeof *yore);
	struct error cause;

	*out = NULL;
	lib_take_options(&yore->options, sizeof yore->options, options,
			 options ? options->size : 0);
	if (!lib_open(yore, path, false, false, NULL, &cause)) {
		mem_free(yore);
		return lib_fail(err, &cause);
	}
	*out = yore;
	return 0;
}

void lib_release(struct yore *yore)
{
	if (atomic_fetch_sub(&yore->owners, 1) != 1)
		return;
	index_close(yore->index);
	trace_close(yore->trace);
	mem_free(yore);
}

void yore_close(struct yore *yore)
{
	if (yore)
		lib_release(yore);
}

int yore_range(struct yore *yore, int64_t *first, int64_t *last, struct yore_error *err)
{
	struct error cause;

	if (!events_range(yore->index, first, last, &cause))
		return lib_fail(err, &cause);
	return *first <= *last;
}

uint64_t yore_damaged(const struct yore *yore)
{
	return atomic_load(&yore->trace->damaged);
}

int yore_absorb_fault(const void *address)
{
	return source_absorb_fault(address);
}

void yore_on_no_memory(void (*hook)(size_t bytes))
{
	mem_on_failure(hook);
}

/* Parts --------------------------------------------------------------------------------------- */

static const struct part *yore_part_of(const struct yore_part *part)
{
	return (const void *)part;
}

static const void *part_at(const struct yore *yore, size_t i)
{
	return i < yore->trace->nparts ? yore->trace->parts[i] : NULL;
}

size_t yore_part_count(const struct yore *yore)
{
	return yore->trace->nparts;
}

const struct yore_part *yore_part(const struct yore *yore, size_t i)
{
	return part_at(yore, i);
}

const char *yore_part_path(const struct yore_part *part)
{
	return yore_part_of(part)->path;
}

const char *yore_part_format(const struct yore_part *part)
{
	return yore_part_of(part)->reader->format;
}

const char *yore_part_version(const struct yore_part *part)
{
	return yore_part_of(part)->version;
}

const char *yore_part_host(const struct yore_part *part)
{
	return part_host(yore_part_of(part));
}

const char *yore_part_domain(const struct yore_part *part)
{
	return yore_part_of(part)->domain;
}

const uint8_t *yore_part_uuid(const struct yore_part *part)
{
	return yore_part_of(part)->has_uuid ? yore_part_of(part)->uuid : NULL;
}

size_t yore_part_environment(const struct yore_part *part)
{
	return yore_part_of(part)->nenv;
}

const char *yore_part_variable(const struct yore_part *part, size_t i, const char **text,
			       int64_t *number)
{
	if (i >= yore_part_of(part)->nenv)
		return NULL;
	const struct env_entry *entry = &yore_part_of(part)->env[i];
	*text = entry->text;
	*number = entry->text ? 0 : entry->number;
	return entry->name;
}

/* Clocks -------------------------------------------------------------------------------------- */

static const struct clock *clock_of(const struct yore_clock *clock)
{
	return (const void *)clock;
}

size_t yore_clock_count(const struct yore *yore)
{
	return yore->trace->nclocks;
}

const struct yore_clock *yore_clock(const struct yore *yore, size_t i)
{
	return i < yore->trace->nclocks ? (const void *)&yore->trace->clocks[i] : NULL;
}

const char *yore_clock_name(const struct yore_clock *clock)
{
	return clock_of(clock)->name;
}

const char *yore_clock_description(const struct yore_clock *clock)
{
	return clock_of(clock)->description;
}

uint64_t yore_clock_frequency(const struct yore_clock *clock)
{
	return clock_of(clock)->base.frequency;
}

uint64_t yore_clock_precision(const struct yore_clock *clock)
{
	return clock_of(clock)->precision;
}

int64_t yore_clock_offset(const struct yore_clock *clock, int64_t *cycles)
{
	*cycles = clock_of(clock)->base.offset_cycles;
	return clock_of(clock)->base.offset_s;
}

int yore_clock_is_epoch(const struct yore_clock *clock)
{
	return clock_of(clock)->epoch;
}

const uint8_t *yore_clock_uuid(const struct yore_clock *clock)
{
	return clock_of(clock)->has_uuid ? clock_of(clock)->uuid : NULL;
}

/* Streams ------------------------------------------------------------------------------------- */

static const struct stream *stream_of(const struct yore_stream *stream)
{
	return (const void *)stream;
}

size_t yore_stream_count(const struct yore *yore)
{
	return yore->trace->nstreams;
}

const struct yore_stream *yore_stream(const struct yore *yore, size_t i)
{
	return i < yore->trace->nstreams ? (const void *)yore->trace->streams[i] : NULL;
}

size_t yore_stream_index(const struct yore_stream *stream)
{
	return stream_of(stream)->index;
}

const char *yore_stream_name(const struct yore_stream *stream)
{
	return stream_of(stream)->name;
}

const char *yore_stream_section(const struct yore_stream *stream)
{
	return stream_of(stream)->section;
}

uint64_t yore_stream_id(const struct yore_stream *stream)
{
	return stream_of(stream)->id;
}

int yore_stream_cpu(const struct yore_stream *stream)
{
	return stream_of(stream)->cpu;
}

int yore_stream_has_time(const struct yore_stream *stream)
{
	return stream_of(stream)->has_time;
}

uint64_t yore_stream_bytes(const struct yore_stream *stream)
{
	return stream_of(stream)->bytes;
}

const struct yore_clock *yore_stream_clock(const struct yore *yore,
					   const struct yore_stream *stream)
{
	int32_t clock = stream_of(stream)->clock;

	return clock < 0 ? NULL : yore_clock(yore, (size_t)clock);
}

const struct yore_part *yore_stream_part(const struct yore *yore, const struct yore_stream *stream)
{
	return part_at(yore, stream_of(stream)->part);
}

/* Event classes ------------------------------------------------------------------------------- */

static const struct event_class *yore_class_of(const struct yore_class *event_class)
{
	return (const void *)event_class;
}

size_t yore_class_count(const struct yore *yore)
{
	return yore->trace->nclasses;
}

const struct yore_class *yore_class(const struct yore *yore, size_t i)
{
	return i < yore->trace->nclasses ? (const void *)yore->trace->classes[i] : NULL;
}

size_t yore_class_index(const struct yore_class *event_class)
{
	return yore_class_of(event_class)->index;
}

const char *yore_class_name(const struct yore_class *event_class)
{
	return yore_class_of(event_class)->name;
}

uint64_t yore_class_id(const struct yore_class *event_class)
{
	return yore_class_of(event_class)->id;
}

uint64_t yore_class_stream_id(const struct yore_class *event_class)
{
	return yore_class_of(event_class)->stream_id;
}

int yore_class_loglevel(const struct yore_class *event_class)
{
	return yore_class_of(event_class)->loglevel;
}

const struct yore_part *yore_class_part(const struct yore *yore,
					const struct yore_class *event_class)
{
	return part_at(yore, yore_class_of(event_class)->part);
}
