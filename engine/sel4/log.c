/*
 * log.c - opening a log of kernel entries: settings, event classes, the stream
 *
 * The file does not have the length of a tick, the architecture, or the size of a record; settings
 * give them: `--input sel4,KEY=VALUE,...`.
 *
 *     frequency=HZ     ticks a second (default: a tick is a nanosecond)
 *     mult=M,div=D     the same, exactly: ns = ticks * M / D
 *     record=20|24     bytes of a record
 *     arch=arm|x86     kind 7 is Entry_VCPUFault or Entry_VMExit
 */
#include "engine/field_make.h"
#include "engine/sel4/sel4_internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { NS_PER_S = 1000000000 };

const struct sel4_log *sel4_log_of(const struct stream *stream)
{
	return stream->priv;
}

/* ---- settings ---- */

static bool setting_number(const char *key, const char *value, uint64_t *out, struct error *err)
{
	char *end;

	*out = strtoull(value, &end, 10);
	if (*value < '0' || *value > '9' || *end || !*out || *out > INT64_MAX)
		return error_set(err, ERR_QUERY,
				 "sel4: %s=%s: a number from 1 to 2^63 - 1 is expected", key,
				 value);
	return true;
}

static bool take_setting(struct sel4_log *log, const char *key, const char *value,
			 struct error *err)
{
	uint64_t number;

	if (!strcmp(key, "mult"))
		return setting_number(key, value, &log->mult, err);
	if (!strcmp(key, "div"))
		return setting_number(key, value, &log->div, err);
	if (!strcmp(key, "frequency")) {
		log->mult = NS_PER_S;
		return setting_number(key, value, &log->div, err);
	}
	if (!strcmp(key, "record")) {
		if (!setting_number(key, value, &number, err))
			return false;
		if (number != RECORD_BYTES && number != RECORD_BYTES_32)
			return error_set(err, ERR_QUERY,
					 "sel4: record=%s: records have 20 or 24 bytes", value);
		log->record_bytes = (uint32_t)number;
		return true;
	}
	if (strcmp(key, "arch") != 0)
		return error_set(
			err, ERR_QUERY,
			"sel4: there is no setting \"%s\"; there are frequency, mult, div, "
			"record and arch",
			key);
	log->x86 = !strcmp(value, "x86");
	return log->x86 || !strcmp(value, "arm") ||
	       error_set(err, ERR_QUERY, "sel4: arch=%s: arm or x86 is expected", value);
}

static bool take_settings(struct sel4_log *log, const char *settings, struct error *err)
{
	struct arena *arena = log->trace->arena;

	log->record_bytes = RECORD_BYTES;
	log->mult = log->div = 1;
	while (settings && *settings) {
		size_t len = strcspn(settings, ",");
		char *key = arena_strndup(arena, settings, len);
		char *value = strchr(key, '=');
		settings += len + (settings[len] == ',');
		if (!value)
			return error_set(err, ERR_QUERY, "sel4: setting \"%s\" is not KEY=VALUE",
					 key);
		*value++ = 0;
		if (!take_setting(log, key, value, err))
			return false;
	}
	return true;
}

/* ---- event classes ---- */

static void add_int(struct arena *arena, struct field_class *structure, const char *name,
		    uint32_t bits)
{
	field_make_member(structure, name, field_make_int(arena, bits, false));
}

static void add_hex(struct arena *arena, struct field_class *structure, const char *name)
{
	struct field_class *class = field_make_int(arena, 64, false);

	class->base = 16;
	field_make_member(structure, name, class);
}

static struct field_class *entry_fields(struct arena *arena, enum entry_kind kind)
{
	struct field_class *fields = field_make_struct(arena, 7);

	add_int(arena, fields, "start", 64);
	add_int(arena, fields, "duration", 32);
	add_int(arena, fields, "lane", 32);
	if (kind == ENTRY_SWITCH) {
		field_make_member(fields, "next", field_make_address(arena, 64));
	} else if (kind == ENTRY_WRONG) {
		add_hex(arena, fields, "detail");
	} else if (kind == ENTRY_SYSCALL) {
		add_int(arena, fields, "syscall_no", 8);
		add_int(arena, fields, "cap_type", 8);
		add_int(arena, fields, "is_fastpath", 8);
		add_int(arena, fields, "invocation_tag", 32);
	} else {
		add_int(arena, fields, "core", 8);
		add_int(arena, fields, "word", 32);
	}
	return fields;
}

/* Makes the field of `kernel_exit` that is the kind of the entry. */
static struct field_class *kind_class(const struct sel4_log *log)
{
	struct arena *arena = log->trace->arena;
	struct field_class *class = field_make_int(arena, 8, false);
	struct enum_label *labels = arena_array(arena, ENTRY_KINDS, sizeof *labels);

	for (unsigned kind = 0; kind < ENTRY_KINDS; kind++)
		labels[kind] =
			(struct enum_label){entry_name(log, (enum entry_kind)kind), kind, kind};
	class->is_enum = true;
	class->labels = labels;
	class->nlabels = ENTRY_KINDS;
	class->labels_rise = true;
	return class;
}

static bool log_add_class(struct sel4_log *log, const struct part *part, const char *name,
			  uint64_t id, struct field_class *payload, uint32_t *index,
			  struct error *err)
{
	struct event_class *class = trace_add_class(log->trace, part, name);
	uint32_t registers; /* none: no field refers to another */

	class->id = id;
	class->scope[SCOPE_PAYLOAD] = payload;
	*index = class->index;
	if (!field_make_layout(log->trace->arena, class, &registers, err))
		return false;
	if (class->nslots > log->greatest_slots)
		log->greatest_slots = class->nslots;
	return true;
}

static bool add_classes(struct sel4_log *log, const struct part *part, struct error *err)
{
	struct arena *arena = log->trace->arena;

	for (unsigned i = 0; i < ENTRY_KINDS; i++) {
		enum entry_kind kind = (enum entry_kind)i;
		if (!log_add_class(log, part, entry_name(log, kind), i, entry_fields(arena, kind),
				   &log->class_of[i], err))
			return false;
	}
	for (unsigned core = 0; core < 2; core++) {
		struct field_class *fields = field_make_struct(arena, 4);
		field_make_member(fields, "entry", kind_class(log));
		add_int(arena, fields, "start", 64);
		add_int(arena, fields, "lane", 32);
		if (core)
			add_int(arena, fields, "core", 8);
		if (!log_add_class(log, part, "kernel_exit", ENTRY_KINDS, fields,
				   &log->exit_class[core], err))
			return false;
	}
	return true;
}

/* ---- the part ---- */

static void add_log_stream(struct sel4_log *log, struct part *part, struct source *source)
{
	struct arena *arena = log->trace->arena;
	struct stream *stream = trace_add_stream(log->trace, part, "kernel");
	bool plain = log->mult == log->div;
	struct clock clock = {
		.name = "sel4",
		.description = plain ? "ticks of the kernel's timer, taken as ns"
				     : arena_printf(arena,
						    "ns: ticks of the kernel's timer * %" PRIu64
						    " / %" PRIu64,
						    log->mult, log->div),
		.precision = 1,
		.base = {.frequency = NS_PER_S},
	};

	stream->clock = trace_add_clock(log->trace, &clock);
	stream->section = "kernel";
	stream->has_time = true;
	stream->sources = arena_alloc(arena, sizeof(struct source *));
	stream->sources[0] = source;
	stream->nsources = 1;
	stream->bytes = source_size(source);
	stream->priv = log;
}

static bool log_is_text(struct source *source, struct error *err, bool *out)
{
	uint64_t size = source_size(source);
	uint8_t head[LINE_MAX_BYTES];
	size_t n = size < sizeof head ? (size_t)size : sizeof head;

	if (!source_peek(source, 0, head, n, err))
		return false;
	*out = sel4_looks_text(head, n);
	return true;
}

/* Sets log->end, where the zeros begin in which a buffer that was not full ends. */
static bool find_end(struct sel4_log *log, struct source *source, struct error *err)
{
	uint8_t bytes[4096];
	uint64_t end = source_size(source);

	while (!log->text && end) {
		size_t n = end < sizeof bytes ? (size_t)end : sizeof bytes, left = n;
		if (!source_peek(source, end - n, bytes, n, err))
			return false;
		while (left && !bytes[left - 1])
			left--;
		end -= n - left;
		if (left)
			break;
	}
	log->end = end;
	return true;
}

bool sel4_open(struct trace *trace, const char *path, const char *settings, enum source_mode mode,
	       struct error *err)
{
	struct sel4_log *log = arena_alloc(trace->arena, sizeof *log);
	struct source *source;

	log->trace = trace;
	if (!take_settings(log, settings, err) || !source_open(path, mode, &source, err))
		return false;
	trace_add_source(trace, source);
	if (!log_is_text(source, err, &log->text))
		return false;
	struct part *part = trace_add_part(trace, &sel4_reader, path);
	part->priv = log;
	part->version = log->text ? "text" : "binary";
	part->identity[0] = log->mult;
	part->identity[1] = log->div ^ (uint64_t)log->record_bytes << 56 ^ (uint64_t)log->x86 << 63;
	if (!add_classes(log, part, err) || !find_end(log, source, err))
		return false;
	add_log_stream(log, part, source);
	return true;
}

/* ---- time ---- */

void sel4_clock_of(const struct stream *stream, struct sel4_clock *out)
{
	const struct sel4_log *log = sel4_log_of(stream);
	const struct timebase *base = &log->trace->clocks[stream->clock].base;

	*out = (struct sel4_clock){.mult = log->mult, .div = log->div};
	out->origin = (__int128)base->offset_s * NS_PER_S + base->offset_cycles;
}

bool sel4_times(const struct sel4_clock *clock, const struct sel4_record *record, nstime out[2])
{
	for (unsigned i = 0; i < 2; i++) {
		/* below 2^65 * 2^63: --input refuses factors of 2^63 and more */
		unsigned __int128 ticks =
			(unsigned __int128)record->start + (i ? record->duration : 0);
		unsigned __int128 scaled = ticks * clock->mult / clock->div;
		if (scaled >> 64)
			return false;
		__int128 ns = (__int128)scaled + clock->origin;
		if (ns <= NSTIME_MIN || ns >= NSTIME_MAX)
			return false;
		out[i] = (nstime)ns;
	}
	return true;
}
