/*
 * json_parse.c - fragments to a description: preamble, aliases, trace, clock, stream, event classes
 *
 * A class comes after those that it names ("Metadata stream"), so one pass over the fragments is
 * enough.
 */
#include "engine/ctf/ctf2.h"

#include "engine/base/mem.h"

#include <inttypes.h>
#include <string.h>

enum fragment_kind { PREAMBLE, ALIAS, TRACE_CLASS, CLOCK_CLASS, STREAM_CLASS, EVENT_CLASS };

#define BIT(kind) (UINT32_C(1) << (kind))
#define NAMED (BIT(TRACE_CLASS) | BIT(CLOCK_CLASS) | BIT(STREAM_CLASS) | BIT(EVENT_CLASS))

enum {
	P_VERSION,
	P_UUID,
	P_NAME,
	P_FIELD_CLASS,
	P_NAMESPACE,
	P_UID,
	P_PACKET_HEADER,
	P_ENVIRONMENT,
	P_ID,
	P_CLOCK_ID,
	P_FREQUENCY,
	P_DESCRIPTION,
	P_ORIGIN,
	P_ORIGIN_IS_EPOCH,
	P_OFFSET,
	P_OLD_OFFSET,
	P_PRECISION,
	P_ACCURACY,
	P_DEFAULT_CLOCK,
	P_OLD_DEFAULT_CLOCK,
	P_PACKET_CONTEXT,
	P_EVENT_HEADER,
	P_EVENT_COMMON_CONTEXT,
	P_STREAM_ID,
	P_EVENT_CONTEXT,
	P_PAYLOAD,
	P_PROPERTIES
};

static const struct property table[P_PROPERTIES] = {
	[P_VERSION] = {"version", VALUE_UNSIGNED, 0, BIT(PREAMBLE), BIT(PREAMBLE)},
	[P_UUID] = {"uuid", VALUE_ARRAY, 0, BIT(PREAMBLE) | BIT(TRACE_CLASS) | BIT(CLOCK_CLASS), 0},
	[P_NAME] = {"name", VALUE_STRING, 0, BIT(ALIAS) | NAMED, BIT(ALIAS)},
	[P_FIELD_CLASS] = {"field-class", VALUE_STRING_OR_OBJECT, 0, BIT(ALIAS), BIT(ALIAS)},
	[P_NAMESPACE] = {"namespace", VALUE_STRING, 0, NAMED, 0},
	[P_UID] = {"uid", VALUE_STRING, DIALECT_FINAL, NAMED, 0},
	[P_PACKET_HEADER] = {"packet-header-field-class", VALUE_STRING_OR_OBJECT, 0,
			     BIT(TRACE_CLASS), 0},
	[P_ENVIRONMENT] = {"environment", VALUE_OBJECT, 0, BIT(TRACE_CLASS), 0},
	[P_ID] = {"id", VALUE_UNSIGNED, 0, BIT(STREAM_CLASS) | BIT(EVENT_CLASS), 0},
	[P_CLOCK_ID] = {"id", VALUE_STRING, DIALECT_FINAL, BIT(CLOCK_CLASS), 0},
	[P_FREQUENCY] = {"frequency", VALUE_UNSIGNED, 0, BIT(CLOCK_CLASS), BIT(CLOCK_CLASS)},
	[P_DESCRIPTION] = {"description", VALUE_STRING, 0, BIT(CLOCK_CLASS), 0},
	[P_ORIGIN] = {"origin", VALUE_STRING_OR_OBJECT, 0, BIT(CLOCK_CLASS), 0},
	[P_ORIGIN_IS_EPOCH] = {"origin-is-unix-epoch", VALUE_BOOL, DIALECT_RC7, BIT(CLOCK_CLASS),
			       0},
	[P_OFFSET] = {"offset-from-origin", VALUE_OBJECT, 0, BIT(CLOCK_CLASS), 0},
	[P_OLD_OFFSET] = {"offset", VALUE_OBJECT, DIALECT_RC7, BIT(CLOCK_CLASS), 0},
	[P_PRECISION] = {"precision", VALUE_UNSIGNED, 0, BIT(CLOCK_CLASS), 0},
	[P_ACCURACY] = {"accuracy", VALUE_UNSIGNED, 0, BIT(CLOCK_CLASS), 0},
	[P_DEFAULT_CLOCK] = {"default-clock-class-id", VALUE_STRING, DIALECT_FINAL,
			     BIT(STREAM_CLASS), 0},
	[P_OLD_DEFAULT_CLOCK] = {"default-clock-class-name", VALUE_STRING, DIALECT_RC7,
				 BIT(STREAM_CLASS), 0},
	[P_PACKET_CONTEXT] = {"packet-context-field-class", VALUE_STRING_OR_OBJECT, 0,
			      BIT(STREAM_CLASS), 0},
	[P_EVENT_HEADER] = {"event-record-header-field-class", VALUE_STRING_OR_OBJECT, 0,
			    BIT(STREAM_CLASS), 0},
	[P_EVENT_COMMON_CONTEXT] = {"event-record-common-context-field-class",
				    VALUE_STRING_OR_OBJECT, 0, BIT(STREAM_CLASS), 0},
	[P_STREAM_ID] = {"data-stream-class-id", VALUE_UNSIGNED, 0, BIT(EVENT_CLASS), 0},
	[P_EVENT_CONTEXT] = {"specific-context-field-class", VALUE_STRING_OR_OBJECT, 0,
			     BIT(EVENT_CLASS), 0},
	[P_PAYLOAD] = {"payload-field-class", VALUE_STRING_OR_OBJECT, 0, BIT(EVENT_CLASS), 0},
};

/* Name spaces of struct tsdl_names: addresses that nothing else has. */
static const void *clock_space(const struct ctf2 *t)
{
	return &t->clocks;
}

static const void *stream_space(const struct ctf2 *t)
{
	return &t->streams;
}

static bool take_uuid(struct ctf2 *t, const struct item *item, uint8_t uuid[16], bool *has)
{
	if (!item->value)
		return true;
	if (item_count(item) != 16)
		return item_fail(t, item, "a UUID is of 16 integers");
	for (size_t i = 0; i < 16; i++) {
		struct item byte = item_element(item, i);
		uint64_t value = 0;
		if (!byte.value)
			return item_fail(t, &byte, "expected an unsigned integer");
		if (!item_unsigned(t, &byte, 0, UINT8_MAX, &value))
			return false;
		uuid[i] = (uint8_t)value;
	}
	*has = true;
	return true;
}

static bool take_identity(struct ctf2 *t, const struct item *p, struct full_name *out)
{
	return item_string(t, &p[P_NAMESPACE], &out->space) &&
	       item_string(t, &p[P_NAME], &out->name) && item_string(t, &p[P_UID], &out->uid);
}

/* ---- preamble, aliases, trace class ---- */

static bool read_preamble(struct ctf2 *t, const struct item *fragment, const struct item *p)
{
	uint64_t version = 0;

	if (t->fragment != 1)
		return item_fail(t, fragment, "a second preamble");
	if (!item_unsigned(t, &p[P_VERSION], 0, UINT64_MAX, &version))
		return false;
	if (version != 2)
		return item_fail(t, &p[P_VERSION], "CTF %" PRIu64 " is not supported, only 2 is",
				 version);
	return take_uuid(t, &p[P_UUID], t->out->uuid, &t->out->has_uuid);
}

/* What an alias holds is checked now; what its locations mean, where it is used. */
static bool read_alias(struct ctf2 *t, const struct item *fragment, const struct item *p)
{
	struct field_class *ignored;
	const char *name = NULL;

	(void)fragment;
	t->dry = true;
	t->nframes = 0;
	bool done =
		item_string(t, &p[P_NAME], &name) && class_build(t, &p[P_FIELD_CLASS], &ignored);
	t->dry = false;
	if (!done)
		return false;
	if (!names_add(&t->names, alias_space(t), name_key(name), t->naliases))
		return item_fail(t, &p[P_NAME], "the alias %.100s is there already", name);
	*mem_push(t->aliases, t->naliases, t->alias_capacity) =
		json_object_get(p[P_FIELD_CLASS].value);
	return true;
}

static bool read_environment(struct ctf2 *t, const struct item *item)
{
	size_t count = item->value ? (size_t)json_object_object_length(item->value) : 0;
	struct env_entry *entries = arena_array(t->arena, count, sizeof *entries), *entry = entries;

	t->out->env = entries;
	if (!item->value)
		return true;
	json_object_object_foreach(item->value, key, value)
	{
		const struct item inner = {value, item, key, 0};
		entry->name = names_intern(&t->names, key, strlen(key))->text;
		if (item_is(&inner, VALUE_STRING) ? !item_string(t, &inner, &entry->text)
		    : item_is(&inner, VALUE_INTEGER)
			    ? !item_integer(t, &inner, &entry->number)
			    : !item_fail(t, &inner, "expected an integer or a string"))
			return false;
		entry++;
	}
	t->out->nenv = count;
	return true;
}

static unsigned count_role(const struct field_class *tree, uint16_t role)
{
	unsigned count = (tree->roles & role) != 0;

	for (uint32_t i = 0; i < tree->nmembers; i++)
		count += count_role(tree->members[i].class, role);
	return count;
}

/* "packet-magic-number": the first field, of 32 bits, once. */
static bool check_magic(struct ctf2 *t, const struct item *item)
{
	const struct field_class *header = t->out->packet_header;
	unsigned count = header ? count_role(header, ROLE_MAGIC) : 0;

	if (!count)
		return true;
	const struct field_class *first = header->members[0].class;
	return (count == 1 && first->roles & ROLE_MAGIC && first->bits == 32 &&
		!first->is_variable) ||
	       item_fail(t, item,
			 "packet-magic-number is the role of one field, the first, of 32 bits");
}

static bool read_trace_class(struct ctf2 *t, const struct item *fragment, const struct item *p)
{
	struct ctf_description *out = t->out;
	uint8_t uuid[16];
	bool has_uuid = false;

	if (t->has_trace)
		return item_fail(t, fragment, "a second trace class");
	if (t->nstreams)
		return item_fail(t, fragment, "the trace class comes after a data stream class");
	t->has_trace = true;
	if (!take_identity(t, p, &out->full_name) || !take_uuid(t, &p[P_UUID], uuid, &has_uuid) ||
	    !read_environment(t, &p[P_ENVIRONMENT]))
		return false;
	if (has_uuid && !item_dialect(t, &p[P_UUID], DIALECT_RC7, "uuid of a trace class"))
		return false;
	if (has_uuid && !out->has_uuid)
		memcpy(out->uuid, uuid, sizeof uuid);
	out->has_uuid |= has_uuid;
	for (size_t i = 0; i < out->nenv; i++)
		if (!strcmp(out->env[i].name, "tracer_name") && out->env[i].text)
			t->is_lttng = !strncmp(out->env[i].text, "lttng", 5);
	t->clock = -1;
	return class_scope(t, SCOPE_PACKET_HEADER, &p[P_PACKET_HEADER], &out->packet_header) &&
	       check_magic(t, &p[P_PACKET_HEADER]);
}

/* ---- clock classes ---- */

static bool read_origin(struct ctf2 *t, const struct item *item, struct clock *clock)
{
	static const struct property of_origin[] = {{"namespace", VALUE_STRING, 0, 1, 0},
						    {"name", VALUE_STRING, 0, 1, 1},
						    {"uid", VALUE_STRING, 0, 1, 1}};
	static const char *const words[] = {"unix-epoch", NULL};
	struct item p[3];
	unsigned word;

	if (!item->value)
		return true;
	if (item_is(item, VALUE_STRING)) {
		clock->epoch = true;
		return item_word(t, item, words, &word);
	}
	return item_properties(t, item, 0, of_origin, 3, p) &&
	       item_string(t, &p[0], &clock->origin.space) &&
	       item_string(t, &p[1], &clock->origin.name) &&
	       item_string(t, &p[2], &clock->origin.uid);
}

static bool read_offset(struct ctf2 *t, const struct item *item, struct timebase *base)
{
	static const struct property of_offset[] = {{"seconds", VALUE_INTEGER, 0, 1, 0},
						    {"cycles", VALUE_UNSIGNED, 0, 1, 0}};
	uint64_t cycles = 0;
	struct item p[2];

	if (!item->value)
		return true;
	if (!item_properties(t, item, 0, of_offset, 2, p) ||
	    !item_integer(t, &p[0], &base->offset_s) ||
	    !item_unsigned(t, &p[1], 0, INT64_MAX, &cycles))
		return false;
	if (cycles >= base->frequency)
		return item_fail(t, &p[1], "as many cycles as a second has, or more");
	base->offset_cycles = (int64_t)cycles;
	return true;
}

static bool read_clock_class(struct ctf2 *t, const struct item *fragment, const struct item *p)
{
	struct clock clock = {.name = "", .description = "", .base.frequency = 1};
	const struct item *offset = p[P_OFFSET].value ? &p[P_OFFSET] : &p[P_OLD_OFFSET];
	const char *id = NULL;
	size_t ignored;

	if (p[P_UUID].value && !item_dialect(t, &p[P_UUID], DIALECT_RC7, "uuid of a clock class"))
		return false;
	if (!p[P_CLOCK_ID].value && (!p[P_NAME].value || !item_dialect(t, fragment, DIALECT_RC7,
								       "a clock class without id")))
		return item_fail(t, fragment, "id is missing");
	if (!item_string(t, &p[P_CLOCK_ID], &id) || !take_identity(t, p, &clock.full_name) ||
	    !take_uuid(t, &p[P_UUID], clock.uuid, &clock.has_uuid) ||
	    !item_string(t, &p[P_DESCRIPTION], &clock.description) ||
	    !item_unsigned(t, &p[P_FREQUENCY], 1, UINT64_MAX, &clock.base.frequency) ||
	    !item_unsigned(t, &p[P_PRECISION], 0, UINT64_MAX, &clock.precision) ||
	    !item_unsigned(t, &p[P_ACCURACY], 0, UINT64_MAX, &clock.accuracy) ||
	    !read_origin(t, &p[P_ORIGIN], &clock) || !read_offset(t, offset, &clock.base))
		return false;
	if (p[P_ORIGIN_IS_EPOCH].value)
		clock.epoch = json_object_get_boolean(p[P_ORIGIN_IS_EPOCH].value);
	if (clock.full_name.uid) /* free text; most are UUIDs */
		clock.has_uuid = ctf_uuid_parse(clock.full_name.uid, clock.uuid, &ignored);
	id = id ? id : clock.full_name.name;
	clock.name = clock.full_name.name && clock.full_name.name[0] ? clock.full_name.name : id;
	if (!names_add(&t->names, clock_space(t), name_key(id), t->nclocks))
		return item_fail(t, fragment, "the clock class %.100s is there already", id);
	t->has_origin =
		mem_grow(t->has_origin, t->nclocks, &t->origin_capacity, sizeof *t->has_origin);
	t->has_origin[t->nclocks] = p[P_ORIGIN].value || p[P_ORIGIN_IS_EPOCH].value;
	*mem_push(t->clocks, t->nclocks, t->clock_capacity) = clock;
	return true;
}

/* ---- data stream classes ---- */

static bool find_clock(struct ctf2 *t, const struct item *item, int32_t *out)
{
	const char *id = NULL;
	uintptr_t index;

	if (!item->value)
		return true;
	if (!item_string(t, item, &id))
		return false;
	if (!names_find(&t->names, clock_space(t), name_key(id), &index))
		return item_fail(t, item, "no clock class %.100s before this", id);
	*out = (int32_t)index;
	return true;
}

/* CTF 2 has no role for it; LTTng's name is what other tracers took over. */
static void find_cpu(struct field_class *context)
{
	for (uint32_t i = 0; context && i < context->nmembers; i++) {
		struct field_class *member = context->members[i].class;
		if (member->kind == FIELD_INT && member->form == FORM_NUMBER &&
		    !strcmp(context->members[i].name, "cpu_id"))
			member->roles |= ROLE_CPU;
	}
}

static bool read_stream_class(struct ctf2 *t, const struct item *fragment, const struct item *p)
{
	struct stream_class *class = arena_alloc(t->scratch, sizeof *class);
	struct ctf_stream *stream = &class->stream;
	struct full_name identity = {0};

	stream->clock = -1;
	stream->has_id = p[P_ID].value;
	if (!item_unsigned(t, &p[P_ID], 0, UINT64_MAX, &stream->id) ||
	    !take_identity(t, p, &identity) ||
	    !find_clock(t, &p[P_DEFAULT_CLOCK], &stream->clock) ||
	    !find_clock(t, &p[P_OLD_DEFAULT_CLOCK], &stream->clock))
		return false;
	stream->name = identity.name;
	if (!names_add(&t->names, stream_space(t), stream->id, t->nstreams))
		return item_fail(t, fragment, "the data stream class %" PRIu64 " is there already",
				 stream->id);
	t->clock = stream->clock;
	if (!class_scope(t, SCOPE_PACKET_CONTEXT, &p[P_PACKET_CONTEXT], &stream->packet_context) ||
	    !class_scope(t, SCOPE_EVENT_HEADER, &p[P_EVENT_HEADER], &stream->event_header) ||
	    !class_scope(t, SCOPE_STREAM_EVENT_CONTEXT, &p[P_EVENT_COMMON_CONTEXT],
			 &stream->event_context))
		return false;
	find_cpu(stream->packet_context);
	*mem_push(t->streams, t->nstreams, t->stream_capacity) = class;
	return true;
}

/* ---- event record classes ---- */

static const char *const log_levels[] = {
	"emergency",      "alert",         "critical",     "error",
	"warning",        "notice",        "info",         "debug:system",
	"debug:program",  "debug:process", "debug:module", "debug:unit",
	"debug:function", "debug:line",    "debug",        NULL};

/* LTTng's and babeltrace's attributes of an event record class; others are anybody's. */
static void read_attributes(struct ctf2 *t, const struct item *fragment, struct ctf_event *event)
{
	static const char *const properties[] = {"attributes", "user-attributes"};
	static const char *const spaces[] = {"lttng.org,2009", "babeltrace.org,2020"};
	struct json_object *all, *own, *value;

	for (unsigned i = 0; i < 4; i++) {
		struct item text = {0};
		if (!json_object_object_get_ex(fragment->value, properties[i / 2], &all) ||
		    !json_object_object_get_ex(all, spaces[i % 2], &own) ||
		    json_object_get_type(own) != json_type_object)
			continue;
		if (json_object_object_get_ex(own, "emf-uri", &text.value) &&
		    item_is(&text, VALUE_STRING))
			event->emf_uri = arena_strdup(t->arena, json_object_get_string(text.value));
		if (!json_object_object_get_ex(own, "log-level", &value))
			continue;
		for (int32_t k = 0; log_levels[k]; k++)
			if (json_object_get_type(value) == json_type_int
				    ? json_object_get_int64(value) == k
				    : !strcmp(json_object_get_string(value), log_levels[k]))
				event->loglevel = k;
	}
}

static bool read_event_class(struct ctf2 *t, const struct item *fragment, const struct item *p)
{
	struct ctf_event event = {.loglevel = -1};
	struct full_name identity = {0};
	uint64_t stream_id = 0;
	uintptr_t index;

	if (!t->has_events)
		t->head = t->at;
	t->has_events = true;
	if (!item_unsigned(t, &p[P_ID], 0, UINT64_MAX, &event.id) ||
	    !item_unsigned(t, &p[P_STREAM_ID], 0, UINT64_MAX, &stream_id) ||
	    !take_identity(t, p, &identity))
		return false;
	if (!names_find(&t->names, stream_space(t), stream_id, &index))
		return item_fail(t, fragment, "no data stream class %" PRIu64 " before this",
				 stream_id);
	struct stream_class *class = t->streams[index];
	struct ctf_stream *stream = &class->stream;
	if (!names_add(&t->names, class, event.id, 0))
		return item_fail(t, fragment,
				 "the data stream class has an event record class %" PRIu64
				 " already",
				 event.id);
	event.name = identity.name && identity.name[0] ? identity.name : NULL;
	read_attributes(t, fragment, &event);
	t->roots[SCOPE_PACKET_HEADER] = t->out->packet_header;
	t->roots[SCOPE_PACKET_CONTEXT] = stream->packet_context;
	t->roots[SCOPE_EVENT_HEADER] = stream->event_header;
	t->roots[SCOPE_STREAM_EVENT_CONTEXT] = stream->event_context;
	t->clock = stream->clock;
	if (!class_scope(t, SCOPE_EVENT_CONTEXT, &p[P_EVENT_CONTEXT], &event.context) ||
	    !class_scope(t, SCOPE_PAYLOAD, &p[P_PAYLOAD], &event.payload))
		return false;
	*mem_push(stream->events, stream->nevents, class->event_capacity) = event;
	return true;
}

/* ---- all ---- */

static bool read_one(struct ctf2 *t, const struct item *fragment)
{
	static const char *const names[] = {
		"preamble",          "field-class-alias",  "trace-class", "clock-class",
		"data-stream-class", "event-record-class", NULL};
	static bool (*const readers[])(struct ctf2 *, const struct item *, const struct item *) = {
		read_preamble,    read_alias,        read_trace_class,
		read_clock_class, read_stream_class, read_event_class};
	struct item type = {NULL, fragment, "type", 0}, p[P_PROPERTIES];
	unsigned kind = 0;

	json_object_object_get_ex(fragment->value, "type", &type.value);
	if (!type.value)
		return item_fail(t, fragment, "type is missing");
	if (!item_word(t, &type, names, &kind))
		return false;
	if (t->fragment == 1 && kind != PREAMBLE)
		return item_fail(t, fragment, "the first fragment is no preamble");
	return item_properties(t, fragment, kind, table, P_PROPERTIES, p) &&
	       readers[kind](t, fragment, p);
}

/* LTTng's 1.8 clocks, whose offset is from the epoch, lost the word for it in SPECRC-7.0. */
static void set_origins(struct ctf2 *t)
{
	for (size_t i = 0; t->is_lttng && i < t->nclocks; i++) {
		if (t->dialect == DIALECT_RC7 && !t->has_origin[i])
			t->clocks[i].epoch = true;
		if (!strcmp(t->clocks[i].name, "monotonic"))
			t->clocks[i].counter = "monotonic";
	}
}

static void finish_description(struct ctf2 *t)
{
	struct ctf_description *out = t->out;

	set_origins(t);
	out->clocks = arena_copy(t->arena, t->clocks, t->nclocks, sizeof *t->clocks);
	out->nclocks = t->nclocks;
	out->streams = arena_array(t->arena, t->nstreams, sizeof *out->streams);
	out->nstreams = t->nstreams;
	for (size_t i = 0; i < t->nstreams; i++) {
		struct ctf_stream *stream = &out->streams[i];
		*stream = t->streams[i]->stream;
		stream->events = arena_copy(t->arena, stream->events, stream->nevents,
					    sizeof *stream->events);
	}
}

static void release_parse(struct ctf2 *t)
{
	for (size_t i = 0; i < t->naliases; i++)
		json_object_put(t->aliases[i]);
	for (size_t i = 0; i < t->nstreams; i++)
		mem_free(t->streams[i]->stream.events);
	mem_free(t->aliases);
	mem_free(t->clocks);
	mem_free(t->has_origin);
	mem_free(t->streams);
	names_release(&t->names);
	arena_free(t->scratch);
}

/* Up to where no more than blanks and record separators come. */
static size_t trimmed(const char *text, size_t size)
{
	while (size && strchr(" \t\r\n\x1e", text[size - 1]))
		size--;
	return size;
}

bool ctf2_parse(const char *name, const char *text, size_t size, struct arena *arena,
		const struct notices *notices, struct ctf_description *out, size_t *head,
		struct error *err)
{
	struct ctf2 *t;

	*out = (struct ctf_description){.major = 2, .minor = 0};
	struct arena *scratch = arena_new();
	t = arena_alloc(scratch, sizeof *t);
	t->scratch = scratch;
	t->name = name;
	t->size = size;
	t->arena = arena;
	t->notices = notices;
	t->err = err;
	t->out = out;
	t->clock = -1;
	t->head = size;
	names_init(&t->names, arena);
	bool done = fragments_read(t, text, read_one);
	if (done && !t->fragment)
		done = error_set(err, ERR_FORMAT, "%s: no fragment: CTF 2 metadata has a preamble",
				 name);
	if (done)
		finish_description(t);
	if (head)
		*head = trimmed(text, t->head);
	release_parse(t);
	return done;
}
