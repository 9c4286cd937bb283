/*
 * ctf.c - the CTF writer: data streams while events come, metadata at the end
 *
 * Events are decoded and encoded again, so the source may be any format. Each stream of the source
 * becomes a file with packets of its own. The source's packet context members are kept, except
 * those with a role (sizes, times, counters), which are computed anew.
 *
 *     OUT/metadata  OUT/channel0_0  OUT/index/channel0_0.idx       of several parts a folder each
 *
 * Streams of one part share a stream class if their packet contexts have the same members. Clocks
 * keep frequency and offset; a clock that cannot express the times is replaced by one of
 * nanoseconds.
 */
#include "convert/ctf/ctf_internal.h"

#include "convert/ctf/ctf_names.h"
#include "engine/base/mem.h"
#include "engine/field_make.h"
#include "index/tables/recorded.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

enum { WAIT_ALL = 64 << 20, WAIT_MOST = 256 << 10, WAIT_LEAST = 4 << 10 };

/* ---- names of folders and files ---- */

bool ctf_is_path(const struct stream *stream)
{
	size_t len = strlen(stream->name);

	for (uint32_t i = 0; i < stream->nsources; i++) {
		const char *file = source_name(stream->sources[i]);
		size_t all = strlen(file);
		if (all > len && file[all - len - 1] == '/' &&
		    !strcmp(file + all - len, stream->name))
			return true;
	}
	return false;
}

const char *ctf_base_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

void ctf_add_plain(struct buf *out, const char *name)
{
	for (const char *c = name; *c; c++) {
		bool plain = char_is_word(*c) || *c == '-' || *c == '+' || (*c == '.' && c > name);
		buf_add_char(out, plain ? *c : *c == ':' || *c == '/' ? '.' : '_');
	}
	if (out->len > 200)
		out->len = 200;
}

/* 2010: appends the section's name and a number. */
static void add_section_file(struct buf *out, const struct ctf_folder *folder,
			     const struct written_stream_class *class, const struct stream *stream)
{
	struct buf section = {0};
	int64_t number;

	ctf_2010_section(folder, stream, &section, &number);
	buf_add_text(out, class->name);
	if (number >= 0)
		buf_printf(out, "_%lld", (long long)number);
	buf_release(&section);
}

static char *file_of(struct ctf_folder *folder, const struct written_stream_class *class,
		     const struct stream *stream)
{
	struct buf name = {0}, path = {0};

	if (folder->writer->language->packing->is_2010)
		add_section_file(&name, folder, class, stream);
	else
		ctf_add_plain(&name,
			      ctf_is_path(stream) ? ctf_base_of(stream->name) : stream->name);
	buf_add_char(&name, 0);
	name.len--;
	if (!name.len || !strcmp(name.data, "metadata") || !strcmp(name.data, "index"))
		buf_add_text(&name, "_");
	nameset_make_free(&folder->files, &name, 0, "-");
	nameset_add(&folder->files, name.data, 2);
	buf_printf(&path, "%s%s%s", folder->path, *folder->path ? "/" : "", name.data);
	buf_release(&name);
	return path.data;
}

/* The folder that the names of all streams of a part share, else the part's own name. */
static const char *folder_of(struct ctf_writer *writer, const struct part *part)
{
	const struct trace *trace = writer->of.options.trace;
	struct buf name = {0};
	const char *kept;

	for (size_t i = 0; i < trace->nstreams; i++) {
		const struct stream *stream = trace->streams[i];
		const char *slash = strrchr(stream->name, '/');
		if (stream->part != part->index)
			continue;
		if (!slash || !ctf_is_path(stream))
			break;
		return arena_strndup(writer->arena, stream->name, (size_t)(slash - stream->name));
	}
	ctf_add_plain(&name, ctf_base_of(part->path));
	kept = arena_strdup(writer->arena, buf_text(&name));
	buf_release(&name);
	return kept;
}

/*
 * Is `a` before `b` in the order in which readers list folders: folder by folder, numbers by value?
 */
static bool rises(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	if (*a == '/' || *b == '/')
		return !*a || (*a == '/' && *b);
	return strverscmp(a, b) < 0;
}

static bool make_folders(struct ctf_writer *writer, struct error *err)
{
	const struct trace *trace = writer->of.options.trace;
	bool plain = true;

	bool ok = true;

	if (trace->nparts < 2)
		return true;
	for (size_t i = 0; i < trace->nparts; i++) {
		struct ctf_folder *folder = &writer->folders[i];
		folder->path = folder_of(writer, trace->parts[i]);
		plain = plain && *folder->path && strcmp(folder->path, ".") &&
			(!i || rises(folder[-1].path, folder->path));
	}
	for (size_t i = 0; !plain && i < trace->nparts; i++) {
		struct buf name = {0};
		buf_printf(&name, "%06zu-", i);
		ctf_add_plain(&name, ctf_base_of(writer->folders[i].path));
		writer->folders[i].path = arena_strdup(writer->arena, buf_text(&name));
		buf_release(&name);
	}
	for (size_t i = 0; ok && i < trace->nparts; i++)
		ok = out_folder_make(&writer->of.folder, writer->folders[i].path, err);
	return ok;
}

/* ---- clocks ---- */

static void name_clocks(struct ctf_writer *writer)
{
	const struct trace *trace = writer->of.options.trace;
	struct ctf_names names = {.arena = writer->arena, .identifiers = true};

	for (size_t i = 0; i <= trace->nclocks; i++) {
		struct ctf_clock *clock = &writer->clocks[i];
		const struct clock *from = i < trace->nclocks ? &trace->clocks[i] : NULL;
		const char *name = from && *from->name ? from->name : "time";
		*clock = (struct ctf_clock){
			.from = from,
			.base = {.frequency = 1000000000},
			.name = ctf_member_name(&names, name, name),
		};
		if (from)
			clock->base = from->base;
	}
	ctf_names_release(&names);
}

/*
 * The index of the clock that writes the stream's times. Where its origin is after the first event,
 * or other readers would compute other times, it is the clock of nanoseconds.
 */
static int32_t clock_of(struct ctf_writer *writer, const struct stream *stream)
{
	const struct trace *trace = writer->of.options.trace;
	bool exact = strcmp(trace->parts[stream->part]->reader->format, "ctf") == 0;
	struct ctf_folder *folder = &writer->folders[stream->part];
	int32_t index = stream->clock >= 0 ? stream->clock : (int32_t)trace->nclocks;
	struct timebase *base = &writer->clocks[index].base;
	nstime origin;
	struct error ignored;

	if (!stream->has_time)
		return -1;
	if (writer->language->packing->is_2010) {
		if (folder->has_clock)
			return folder->clock;
		folder->has_clock = true;
		folder->clock = index;
		exact = false;
		if (!writer->clocks[index].from || !writer->clocks[index].from->epoch)
			*base = (struct timebase){.frequency = 1000000000};
	}
	if (!exact && base->frequency != 1000000000)
		*base = (struct timebase){.frequency = 1000000000};
	if (!timebase_to_ns(base, 0, &origin, &ignored) || origin > writer->of.options.first) {
		nstime second = writer->of.options.first / 1000000000;
		base->offset_s = second - (writer->of.options.first % 1000000000 < 0);
		base->offset_cycles = 0;
	}
	return index;
}

const struct written_stream *ctf_next_shown(const struct ctf_folder *folder,
					    const struct written_stream *before)
{
	const struct ctf_writer *writer = folder->writer;
	size_t count = writer->of.options.trace->nstreams + 1;

	for (uint64_t i = before ? ctf_number(before) + 1 : 0; i < count; i++) {
		const struct written_stream *stream = writer->streams[i ? i - 1 : count - 1];
		if (stream && stream->class->folder == folder && stream->shown)
			return stream;
	}
	return NULL;
}

bool *ctf_clocks_used(const struct ctf_folder *folder)
{
	bool *used = mem_new_array(folder->writer->of.options.trace->nclocks + 1, sizeof *used);

	for (size_t i = 0; i < folder->nclasses; i++)
		if (folder->classes[i]->clock >= 0)
			used[folder->classes[i]->clock] = true;
	return used;
}

/* ---- classes ---- */

/* Do all classes of that stream class have one stream event context? Else each has its own. */
static bool has_one_common(const struct trace *trace, const struct event_class *of)
{
	for (size_t i = 0; i < trace->nclasses; i++) {
		const struct event_class *class = trace->classes[i];
		if (class->part == of->part && class->stream_id == of->stream_id &&
		    class->scope[SCOPE_STREAM_EVENT_CONTEXT] !=
			    of->scope[SCOPE_STREAM_EVENT_CONTEXT])
			return false;
	}
	return true;
}

/* Any event class of the stream; its packet context is that of all. NULL: the part has none. */
static const struct event_class *any_class(const struct trace *trace, const struct stream *stream)
{
	for (size_t i = 0; i < trace->nclasses; i++)
		if (trace->classes[i]->part == stream->part &&
		    trace->classes[i]->stream_id == stream->id)
			return trace->classes[i];
	return NULL;
}

static unsigned numbers_of(const struct ctf_folder *folder, const struct stream *stream,
			   int32_t clock, int32_t cpu, bool before_all)
{
	const struct ctf_packing *packing = folder->writer->language->packing;
	bool named = packing->is_2010 && !folder->numbered; /* the CPU is in the file's name */
	unsigned numbers = 1u << NUMBER_CONTENT | 1u << NUMBER_PACKET | 1u << NUMBER_DISCARDED |
			   1u << NUMBER_SEQUENCE;

	if (clock >= 0)
		numbers |= 1u << NUMBER_BEGIN | 1u << NUMBER_END;
	numbers |= (cpu >= 0 && !named ? 1u : 0u) << NUMBER_CPU;
	numbers |= (before_all ? 1u : 0u) << NUMBER_BEFORE_ALL;
	numbers |= (stream->tid >= 0 ? 1u : 0u) << NUMBER_TID;
	numbers |= (stream->pid >= 0 ? 1u : 0u) << NUMBER_PID;
	numbers |= (stream->rank >= 0 ? 1u : 0u) << NUMBER_RANK;
	numbers |= (stream->app >= 0 ? 1u : 0u) << NUMBER_APP;
	return numbers & packing->numbers;
}

/*
 * The section's name where the file's name does not have it (engine/ctf/sections.c reads it there);
 * else NULL.
 */
static const char *class_name(const struct stream *stream)
{
	const char *section = stream->section, *base = ctf_base_of(stream->name);

	return *section && strncmp(base, section, strlen(section)) != 0 ? section : NULL;
}

/* Returns a name that no section has; changes the text of `name`. */
static const char *new_section(struct ctf_folder *folder, struct buf *name)
{
	nameset_make_free(&folder->sections, name, 0, "-");
	nameset_add(&folder->sections, buf_text(name), 2);
	return arena_strdup(folder->writer->arena, buf_text(name));
}

static void set_scopes(struct ctf_writer *writer, struct written_stream_class *class,
		       const struct event_class *from)
{
	static const enum scope packet = SCOPE_PACKET_CONTEXT, common = SCOPE_STREAM_EVENT_CONTEXT;
	const struct field_class *tree = from ? from->scope[packet] : NULL;

	class->wires = wires_new(writer->arena, &writer->language->means);
	class->context = wires_add(class->wires, packet, &tree, &packet, 1);
	class->own_common = from && has_one_common(writer->of.options.trace, from);
	class->common_from = class->own_common ? from->scope[common] : NULL;
	class->common = wires_add(class->wires, common, &class->common_from, &common, 1);
	writer->wrapped += wires_wrapped(class->wires);
}

static struct written_stream_class *stream_class(struct ctf_writer *writer,
						 const struct stream *stream, int32_t cpu,
						 bool before_all, const struct event_class *event)
{
	struct ctf_folder *folder = &writer->folders[stream->part];
	int32_t clock = clock_of(writer, stream);
	unsigned numbers = numbers_of(folder, stream, clock, cpu, before_all);
	bool sections = writer->language->packing->is_2010;
	struct written_stream_class *class;
	struct buf key = {0}, section = {0};
	int64_t number;
	uint32_t known;

	if (sections)
		ctf_2010_section(folder, stream, &section, &number);
	buf_printf(&key, "%llu/%d/%x/%s", (unsigned long long)stream->id, clock, numbers,
		   buf_text(&section));
	bool found = nameset_find(&folder->keys, key.data, &known);
	if (!found)
		nameset_add(&folder->keys, key.data, (uint32_t)folder->nclasses);
	buf_release(&key);
	if (found) {
		buf_release(&section);
		return folder->classes[known];
	}
	class = arena_alloc(writer->arena, sizeof *class);
	class->folder = folder;
	class->id = (uint32_t)folder->nclasses;
	class->clock = clock;
	class->numbers = numbers;
	class->name = sections ? new_section(folder, &section) : class_name(stream);
	buf_release(&section);
	class->wide_ids = writer->of.options.trace->nclasses > UINT16_MAX;
	set_scopes(writer, class, event ? event : any_class(writer->of.options.trace, stream));
	*mem_push(folder->classes, folder->nclasses, folder->capacity) = class;
	return class;
}

static struct written_class *new_class(struct ctf_writer *writer,
				       struct written_stream_class *stream,
				       const struct event_class *from)
{
	struct wires *wires = wires_after(writer->arena, stream->wires);
	struct written_class *class = arena_alloc(writer->arena, sizeof *class);
	struct written_class **place = &stream->first;

	class->from = from;
	class->stream = stream;
	class->id = stream->nclasses++;
	wires_add_event(wires, from, stream->own_common, &class->context, &class->payload);
	writer->wrapped += wires_wrapped(wires);
	class->other = writer->classes[from->index];
	writer->classes[from->index] = class;
	while (*place &&
	       (*place)->from->index < from->index) /* in the order of the trace's classes */
		place = &(*place)->next;
	class->next = *place;
	*place = class;
	return class;
}

/* Finds or makes the event class. NULL: its stream event context is not the stream class's. */
static struct written_class *find_class(struct ctf_writer *writer,
					struct written_stream_class *stream,
					const struct event_class *from)
{
	struct written_class *class = writer->classes[from->index];

	while (class && class->stream != stream)
		class = class->other;
	if (class)
		return class;
	if (stream->own_common && stream->common_from != from->scope[SCOPE_STREAM_EVENT_CONTEXT])
		return NULL;
	return new_class(writer, stream, from);
}

/* ---- streams ---- */

/* The part of the requested range that the stream recorded; *end NSTIME_MIN: not known. */
static bool covered(struct ctf_writer *writer, const struct stream *stream, nstime *begin,
		    nstime *end, struct error *err)
{
	const struct convert_options *options = &writer->of.options;
	struct recorded recorded;
	nstime first, last;

	*begin = *end = NSTIME_MIN;
	if (!options->index || !stream->has_time)
		return true;
	if (!index_recorded(options->index, &first, &last, err))
		return false;
	if (stream == &writer->state_stream)
		recorded = (struct recorded){.begin = first, .end = last};
	else if (!stream_recorded(options->index, stream, &recorded, err))
		return false;
	if (recorded.end == NSTIME_MIN || recorded.begin == NSTIME_MIN)
		return true;
	*begin = recorded.begin > options->begin ? recorded.begin : options->begin;
	*end = recorded.ended ? recorded.end : last;
	if (options->end != NSTIME_MAX && *end >= options->end)
		*end = options->end - 1;
	if (*end < *begin)
		*begin = *end = NSTIME_MIN;
	return true;
}

static struct written_stream *stream_of(struct ctf_writer *writer, const struct stream *from,
					int32_t cpu, bool before_all,
					const struct event_class *event, struct error *err)
{
	struct written_stream *stream = writer->streams[from->index];
	nstime begin, end;

	if (stream)
		return stream;
	if (!covered(writer, from, &begin, &end, err))
		return NULL;
	stream = mem_new(sizeof *stream);
	writer->streams[from->index] = stream;
	cpu = from->cpu >= 0 ? from->cpu : cpu;
	stream->from = from;
	stream->class = stream_class(writer, from, cpu, before_all, event);
	stream->file = file_of(&writer->folders[from->part], stream->class, from);
	bool same = ctf_is_path(from) ? !strcmp(ctf_base_of(stream->file), ctf_base_of(from->name))
				      : !strcmp(stream->file, from->name);
	stream->shown = same ? NULL : from->name;
	stream->cpu = cpu;
	stream->begin = before_all ? NSTIME_MIN : begin;
	stream->first = stream->last = begin != NSTIME_MIN ? begin : writer->of.options.first;
	stream->end = NSTIME_MAX;
	stream->covers = end;
	stream->before_all = before_all;
	return stream;
}

/* ---- the format ---- */

static bool make_uuids(struct ctf_writer *writer, struct error *err)
{
	const struct trace *trace = writer->of.options.trace;

	for (size_t i = 0; i < trace->nparts; i++) {
		struct ctf_folder *folder = &writer->folders[i];
		const struct part *part = trace->parts[i];
		folder->part = part;
		folder->writer = writer;
		folder->path = "";
		if (writer->of.options.whole && part->has_uuid) {
			memcpy(folder->uuid, part->uuid, sizeof folder->uuid);
			continue;
		}
		if (getrandom(folder->uuid, sizeof folder->uuid, 0) != sizeof folder->uuid)
			return error_set(err, ERR_IO, "random numbers: %s", strerror(errno));
		folder->uuid[6] = (uint8_t)((folder->uuid[6] & 0x0f) | 0x40); /* RFC 4122, 4.4 */
		folder->uuid[8] = (uint8_t)((folder->uuid[8] & 0x3f) | 0x80);
	}
	return true;
}

static void ctf_close(void *self)
{
	struct ctf_writer *writer = self;
	const struct trace *trace = writer->of.options.trace;

	for (size_t i = 0; i <= trace->nstreams; i++) {
		if (writer->streams[i])
			ctf_stream_release(writer->streams[i]);
		mem_free(writer->streams[i]);
	}
	for (size_t i = 0; i < trace->nparts; i++) {
		nameset_release(&writer->folders[i].keys);
		nameset_release(&writer->folders[i].files);
		nameset_release(&writer->folders[i].sections);
		mem_free(writer->folders[i].classes);
	}
	mem_free(writer->streams);
	mem_free(writer->folders);
	mem_free(writer->classes);
	mem_free(writer->clocks);
	encoder_release(&writer->scratch);
	arena_free(writer->arena);
}

static const struct ctf_language *language_of(const char *format)
{
	return !strcmp(format, "ctf") ? &ctf_tsdl : !strcmp(format, "ctf2") ? &ctf_json : &ctf_2010;
}

static bool ctf_open(void *self, struct error *err)
{
	struct ctf_writer *writer = self;
	struct convert_options *options = &writer->of.options;
	const struct trace *trace = options->trace;
	size_t share = WAIT_ALL / (trace->nstreams + 1);

	writer->language = language_of(options->to);
	if (options->first > options->last || options->first == NSTIME_MIN) /* no times */
		options->first = options->last = 0;
	writer->arena = arena_new();
	writer->folders = mem_new_array(trace->nparts + 1, sizeof *writer->folders);
	/* the last one is for state */
	writer->streams = mem_new_array(trace->nstreams + 1, sizeof(struct written_stream *));
	writer->classes =
		mem_new_array(trace->nclasses + STATE_CLASSES, sizeof(struct written_class *));
	writer->clocks = mem_new_array(trace->nclocks + 1, sizeof *writer->clocks);
	writer->flush_at = share > WAIT_MOST ? WAIT_MOST : share < WAIT_LEAST ? WAIT_LEAST : share;
	name_clocks(writer);
	if (!out_folder_open(&writer->of.folder, options->path, err) || !make_uuids(writer, err) ||
	    !make_folders(writer, err))
		return false;
	if (writer->language->packing->is_2010)
		ctf_2010_number_files(writer);
	return true;
}

static bool ctf_event(void *self, nstime t, const struct stream *from, int32_t cpu,
		      const struct event_class *event, const struct fields *fields,
		      struct error *err)
{
	struct ctf_writer *writer = self;
	struct written_stream *stream = stream_of(writer, from, cpu, t == NSTIME_MIN, event, err);
	const struct written_class *class;

	if (!stream)
		return false;
	if (!fields) { /* undecodable, already reported as damage; count it as lost */
		stream->discarded++;
		return true;
	}
	class = find_class(writer, stream->class, event);
	if (!class)
		return error_set(err, ERR_FORMAT, "%s: %s has another context than the stream's",
				 from->name, event->name);
	return ctf_stream_event(writer, stream, class, t, cpu, fields, err);
}

static bool ctf_loss(void *self, const struct event *loss, struct error *err)
{
	struct ctf_writer *writer = self;
	struct written_stream *stream =
		stream_of(writer, loss->stream, loss->cpu, false, NULL, err);

	return stream && ctf_stream_loss(writer, stream, loss, err);
}

/* ---- state ---- */

/*
 * Besides the text for people, events of state have the fields that rules read
 * (state/rules/carried.c): one class for each combination of types of keys and value, all of one
 * name.
 */
enum { STATE_PATH, STATE_VALUE, STATE_SINCE, STATE_SHAPE, STATE_KEYS };
enum { KEYS_MOST = 3, STATE_SLOTS = STATE_KEYS + KEYS_MOST + 1 };
enum carried {
	CARRIED_NOTHING,
	CARRIED_INT,
	CARRIED_UNSIGNED,
	CARRIED_FLOAT,
	CARRIED_TEXT,
	CARRIED_BOOLEAN,
	CARRIED
};

/* Describes the stream of state, beside the source's. False: no stream has time. */
static bool describe_state(struct ctf_writer *writer)
{
	const struct trace *trace = writer->of.options.trace;
	struct stream *stream = &writer->state_stream;

	for (size_t i = 0; i < trace->nstreams && !stream->name; i++)
		if (trace->streams[i]->has_time)
			*stream = *trace->streams[i];
	if (!stream->name)
		return false;
	stream->index = (uint32_t)trace->nstreams;
	stream->id = UINT64_MAX;
	stream->name = stream->section = "yore_state";
	stream->cpu = -1;
	stream->tid = stream->pid = stream->rank = stream->app = -1;
	stream->nsources = 0;
	writer->folders[stream->part].numbered = true; /* it comes before all streams */
	return true;
}

static enum carried carried_as(const struct value *value)
{
	switch (value->kind) {
	case VALUE_INT:
		return value->negative || value->u <= INT64_MAX ? CARRIED_INT : CARRIED_UNSIGNED;
	case VALUE_FLOAT:
		return CARRIED_FLOAT;
	case VALUE_STRING:
		return CARRIED_TEXT;
	case VALUE_BOOL:
		return CARRIED_BOOLEAN;
	case VALUE_UNKNOWN:
	case VALUE_NONE:
		break;
	}
	return CARRIED_NOTHING;
}

static struct slot carried_slot(const struct value *value)
{
	if (value->kind == VALUE_STRING)
		return (struct slot){.bytes = (const uint8_t *)value->text, .n = value->len};
	if (value->kind == VALUE_BOOL)
		return (struct slot){.u = value->b};
	if (value->kind == VALUE_FLOAT)
		return (struct slot){.f = value->f};
	return (struct slot){.u = value->u};
}

static void add_carried(struct ctf_writer *writer, struct field_class *fields, const char *name,
			enum carried as)
{
	struct arena *arena = writer->arena;
	struct field_class *class = NULL;

	switch (as) {
	case CARRIED_NOTHING:
	case CARRIED:
		return;
	case CARRIED_INT:
	case CARRIED_UNSIGNED:
		class = field_make_int(arena, 64, as == CARRIED_INT);
		break;
	case CARRIED_FLOAT:
		class = field_make(arena, FIELD_FLOAT);
		class->bits = 64;
		break;
	case CARRIED_TEXT:
		class = field_make(arena, FIELD_STRING);
		break;
	case CARRIED_BOOLEAN:
		class = field_make_int(arena, 8, false);
		break;
	}
	class->slot = fields->nmembers;
	field_make_member(fields, name, class);
}

/* Finds or makes the class for keys and a value of these types. */
static const struct event_class *state_class(struct ctf_writer *writer, const enum carried *keys,
					     enum carried value)
{
	static const char *const names[] = {"key1", "key2", "key3"};
	const struct trace *trace = writer->of.options.trace;
	struct field_class *fields;
	unsigned number = value;

	for (size_t i = 0; i < KEYS_MOST; i++)
		number = number * CARRIED + keys[i];
	struct event_class **class = &writer->state_classes[number];
	if (*class)
		return *class;
	fields = field_make_struct(writer->arena, STATE_SLOTS);
	add_carried(writer, fields, "path", CARRIED_TEXT);
	add_carried(writer, fields, "value", CARRIED_TEXT);
	add_carried(writer, fields, "since", CARRIED_INT);
	add_carried(writer, fields, "shape", CARRIED_TEXT);
	for (size_t i = 0; i < KEYS_MOST; i++)
		add_carried(writer, fields, names[i], keys[i]);
	add_carried(writer, fields, value == CARRIED_BOOLEAN ? "boolean" : "is", value);
	*class = arena_alloc(writer->arena, sizeof **class);
	**class = (struct event_class){.index = (uint32_t)trace->nclasses + number,
				       .part = writer->state_stream.part,
				       .stream_id = UINT64_MAX,
				       .name = "yore:state",
				       .loglevel = -1,
				       .nslots = fields->nmembers};
	(*class)->scope[SCOPE_PAYLOAD] = fields;
	return *class;
}

/*
 * Appends the path with a star for each key to `shape`; keys are borrowed from the query. False:
 * more than KEYS_MOST, and no rule reads such events.
 */
static bool take_apart(const struct query *query, struct buf *shape, const struct value **keys)
{
	size_t count = 0;
	bool fits = true;

	for (uint32_t i = 0; i < query_pattern(query)->natoms; i++) {
		const char *name = query_name(query, i);
		if (name) {
			buf_printf(shape, "%s%s", i ? "/" : "", name);
			continue;
		}
		buf_add_text(shape, "[*]");
		fits = fits && count < KEYS_MOST;
		if (fits)
			keys[count++] = query_key(query, i);
	}
	if (!fits)
		buf_clear(shape);
	return fits;
}

/* Fills the slots of an event and returns its class. Texts are borrowed from the arguments. */
static const struct event_class *fill_state(struct ctf_writer *writer, const struct query *query,
					    struct buf *shape, const struct value *value,
					    struct slot *slots)
{
	const struct value *keys[KEYS_MOST] = {NULL};
	enum carried types[KEYS_MOST] = {CARRIED_NOTHING}, type = CARRIED_NOTHING;
	size_t n = STATE_KEYS;

	if (take_apart(query, shape, keys)) {
		for (size_t i = 0; i < KEYS_MOST && keys[i]; i++) {
			types[i] = carried_as(keys[i]);
			slots[n++] = carried_slot(keys[i]);
		}
		type = carried_as(value);
		slots[n] = carried_slot(value);
	}
	slots[STATE_SHAPE] =
		(struct slot){.bytes = (const uint8_t *)buf_text(shape), .n = shape->len};
	return state_class(writer, types, type);
}

static bool ctf_carry(void *self, nstime t, const char *path, const struct value *value,
		      nstime since, struct error *err)
{
	struct ctf_writer *writer = self;
	struct slot slots[STATE_SLOTS];
	struct buf text = {0}, shape = {0};
	struct query *query;

	if (!writer->state_stream.name && !describe_state(writer))
		return error_set(err, ERR_QUERY, "--with-state: no stream of the trace has time");
	if (!query_parse(path, &query, err))
		return false;
	value_add_json(value, &text);
	slots[STATE_PATH] = (struct slot){.bytes = (const uint8_t *)path, .n = strlen(path)};
	slots[STATE_VALUE] = (struct slot){.bytes = (const uint8_t *)text.data, .n = text.len};
	slots[STATE_SINCE] = (struct slot){.s = since};
	const struct event_class *class = fill_state(writer, query, &shape, value, slots);
	const struct fields fields = {.class = class, .slots = slots};
	bool ok = ctf_event(writer, t > writer->of.options.first ? t : writer->of.options.first,
			    &writer->state_stream, -1, class, &fields, err);
	query_free(query);
	buf_release(&text);
	buf_release(&shape);
	return ok;
}

/*
 * Writes empty packets for streams without events, so that readers see their recorded range; not
 * where packet contexts need other values.
 */
static bool add_silent(struct ctf_writer *writer, struct error *err)
{
	const struct trace *trace = writer->of.options.trace;

	for (size_t i = 0; i < trace->nstreams; i++) {
		struct written_stream *stream;
		nstime begin, end;
		if (writer->streams[i])
			continue;
		if (!covered(writer, trace->streams[i], &begin, &end, err))
			return false;
		if (end == NSTIME_MIN)
			continue;
		stream = stream_of(writer, trace->streams[i], -1, false, NULL, err);
		if (!stream)
			return false;
		stream->unsaid = stream->class->context != NULL;
	}
	return true;
}

static bool write_metadata(struct ctf_writer *writer, struct ctf_folder *folder, struct error *err)
{
	struct buf text = {0}, name = {0};

	buf_printf(&name, "%s%smetadata", folder->path, *folder->path ? "/" : "");
	writer->language->metadata(folder, &text);
	bool ok = (!writer->language->pack || writer->language->pack(folder, &text, err)) &&
		  out_write_inside(&writer->of.folder, name.data, &text, err);
	buf_release(&text);
	buf_release(&name);
	return ok;
}

static void tell_wrapped(const struct ctf_writer *writer)
{
	const struct notices *notices = &writer->of.options.trace->notices;

	if (writer->wrapped)
		notice(notices, NOTICE_WARNING,
		       "%llu field%s in arrays or variants became a structure of a length or "
		       "option and a value, since CTF has no other place for these",
		       (unsigned long long)writer->wrapped, writer->wrapped == 1 ? "" : "s");
}

static bool ctf_finish(void *self, struct error *err)
{
	struct ctf_writer *writer = self;
	const struct trace *trace = writer->of.options.trace;

	if (writer->of.options.all_streams && !add_silent(writer, err))
		return false;
	for (size_t i = 0; i <= trace->nstreams; i++) {
		struct written_stream *stream = writer->streams[i];
		if (stream && !stream->unsaid &&
		    !ctf_stream_finish(writer, stream, stream->covers, err))
			return false;
	}
	for (size_t i = 0; i < trace->nparts; i++)
		if (!write_metadata(writer, &writer->folders[i], err))
			return false;
	tell_wrapped(writer);
	return out_folder_finish(&writer->of.folder, err);
}

#define CTF_FORMAT(...)                                                                         \
	{                                                                                       \
		.kind = {.endings = "",                                                         \
			 .folder = true,                                                        \
			 .all_losses = true,                                                    \
			 .carries_state = true,                                                 \
			 __VA_ARGS__},                                                          \
		.size = sizeof(struct ctf_writer), .open = ctf_open, .event = ctf_event,        \
		.loss = ctf_loss, .carry = ctf_carry, .finish = ctf_finish, .close = ctf_close, \
	}

const struct convert_format convert_ctf = CTF_FORMAT(.name = "ctf", .also = "ctf1.8");
const struct convert_format convert_ctf2 = CTF_FORMAT(.name = "ctf2");
const struct convert_format convert_ctf2010 =
	CTF_FORMAT(.name = "ctf2010", .compressions = "gzip, bzip2", .checksums = "md5, sha1");
