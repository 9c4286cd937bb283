/*
 * tsdl_block.c - the blocks of a description: trace, env, clock, stream, event, callsite
 *
 * Blocks may stand in any order, so they are read in an order of their own: the byte order first,
 * on which all types depend, then the environment and the clocks, which types name, then the
 * declarations outside of blocks, then the rest.
 */
#include "engine/ctf/tsdl.h"

#include "engine/base/mem.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

struct block_kind {
	const char *const *names; /* of the attributes; the first `ntypes` are assigned by ":=" */
	unsigned ntypes;
	bool (*set)(struct tsdl *t, int index, const struct tsdl_value *value, void *arg);
	bool (*set_type)(struct tsdl *t, int index, const struct type *type, void *arg);
};

static bool entry_type(struct tsdl *t, const struct block_kind *block, int index, const char *name,
		       uint32_t at, void *arg)
{
	const struct type *type;

	if (!parse_type(t, &type))
		return false;
	if (index < 0) {
		tsdl_warn(t, at, "unknown attribute %s", name);
		return true;
	}
	if (index >= (int)block->ntypes)
		return tsdl_fail(t, at, "expected '=' after %s", name);
	if (type->shape.kind != FIELD_STRUCT)
		return tsdl_fail(t, at, "%s must be a struct", name);
	return block->set_type(t, index, type, arg);
}

static bool entry_value(struct tsdl *t, const struct block_kind *block, int index, const char *name,
			uint32_t at, void *arg)
{
	struct tsdl_value value;

	if (!parse_value(t, &value))
		return false;
	if (index < 0) {
		tsdl_warn(t, at, "unknown attribute %s", name);
		return true;
	}
	if (index < (int)block->ntypes)
		return tsdl_fail(t, at, "expected ':=' after %s", name);
	return block->set(t, index, &value, arg);
}

static bool parse_entry(struct tsdl *t, const struct block_kind *block, unsigned *seen, void *arg)
{
	const char *name;
	uint32_t at = peek(t)->at;
	bool done;

	if (starts_declaration(t))
		return parse_declaration(t);
	if (!parse_dotted(t, &name))
		return false;
	int index = attribute_index(block->names, name);
	if (index >= 0 && *seen & 1U << index)
		return tsdl_fail(t, at, "%s stands twice", name);
	*seen |= index >= 0 ? 1U << index : 0;
	if (accept_token(t, '='))
		done = entry_value(t, block, index, name, at, arg);
	else if (accept_token(t, TOKEN_TYPE_ASSIGN))
		done = entry_type(t, block, index, name, at, arg);
	else
		return tsdl_expected(t, "'=' or ':='");
	return done && expect_token(t, ';', "';' after the value");
}

/* From the "{" up to the ";"; *seen has a bit for each attribute that was there. */
static bool parse_block(struct tsdl *t, const struct block_kind *block, unsigned *seen, void *arg)
{
	*seen = 0;
	if (!expect_token(t, '{', "'{'"))
		return false;
	lexical_open(t);
	while (!accept_token(t, '}'))
		if (!parse_entry(t, block, seen, arg))
			return false;
	lexical_close(t);
	return expect_token(t, ';', "';' after the block");
}

static bool set_uuid(struct tsdl *t, const struct tsdl_value *value, uint8_t uuid[16])
{
	size_t bad;

	if (ctf_uuid_parse(value->kind == VALUE_STRING ? value->text : "", uuid, &bad))
		return true;
	if (!bad)
		return tsdl_fail(t, value->at, "expected a UUID of 36 characters");
	return tsdl_fail(t, value->at, "this is no UUID: character %zu", bad);
}

static bool value_text(struct tsdl *t, const struct tsdl_value *value, const char *what,
		       const char **out)
{
	*out = value->text;
	return value->kind != VALUE_INT ||
	       tsdl_fail(t, value->at, "%s must be a string or a name", what);
}

/* trace */

enum { TRACE_PACKET_HEADER, TRACE_MAJOR, TRACE_MINOR, TRACE_BYTE_ORDER, TRACE_UUID };

static bool trace_set_type(struct tsdl *t, int index, const struct type *type, void *arg)
{
	(void)index;
	(void)arg;
	if (t->packet_header)
		return tsdl_fail(t, peek(t)->at, "packet.header stands in two trace blocks");
	t->packet_header = type;
	return true;
}

static bool byte_order_of(struct tsdl *t, const struct tsdl_value *value, bool *big_endian)
{
	static const char *const words[] = {"le", "be", "network", NULL};
	int i = value->kind == VALUE_INT ? -1 : attribute_index(words, value->text);

	*big_endian = i > 0;
	return i >= 0 || tsdl_fail(t, value->at, "byte_order must be le or be");
}

static bool trace_set(struct tsdl *t, int index, const struct tsdl_value *value, void *arg)
{
	static const uint64_t versions[] = {[TRACE_MAJOR] = 1, [TRACE_MINOR] = 8};
	bool big_endian;
	uint64_t number = 0;

	(void)arg;
	switch (index) {
	case TRACE_MAJOR:
	case TRACE_MINOR:
		if (!value_unsigned(t, value, "a version", &number))
			return false;
		return number == versions[index] ||
		       tsdl_fail(t, value->at, "expected version 1.8 of CTF");
	case TRACE_BYTE_ORDER:
		if (!byte_order_of(t, value, &big_endian))
			return false;
		return big_endian == t->out->big_endian ||
		       tsdl_fail(t, value->at, "two trace blocks differ in byte order");
	default:
		t->out->has_uuid = true;
		return set_uuid(t, value, t->out->uuid);
	}
}

static bool parse_trace(struct tsdl *t)
{
	static const char *const names[] = {"packet.header", "major", "minor",
					    "byte_order",    "uuid",  NULL};
	static const struct block_kind block = {names, 1, trace_set, trace_set_type};
	uint32_t at = peek(t)->at;
	unsigned seen;

	t->pos++;
	if (!parse_block(t, &block, &seen, NULL))
		return false;
	if (t->has_trace)
		tsdl_warn(t, at, "another trace block; both count");
	for (int i = TRACE_MAJOR; i <= TRACE_BYTE_ORDER; i++)
		if (!t->has_trace && !(seen & 1U << i))
			return tsdl_fail(t, at, "the trace block has no %s", names[i]);
	t->has_trace = true;
	return true;
}

/* env */

static bool env_set(struct tsdl *t, const char *name, uint32_t at, const struct tsdl_value *value)
{
	struct env_entry entry = {.name = name, .text = value->text};
	uintptr_t old;

	if (value->kind == VALUE_INT && !value_signed(t, value, name, &entry.number))
		return false;
	if (names_find(&t->names, &t->env, name_key(name), &old)) {
		tsdl_warn(t, at, "%s stands twice; the last one counts", name);
		t->env[old] = entry;
		return true;
	}
	names_add(&t->names, &t->env, name_key(name), t->nenv);
	*mem_push(t->env, t->nenv, t->env_capacity) = entry;
	return true;
}

static bool parse_env(struct tsdl *t)
{
	if (t->has_env)
		tsdl_warn(t, peek(t)->at, "another env block; both count");
	t->has_env = true;
	t->pos++;
	if (!expect_token(t, '{', "'{'"))
		return false;
	while (!accept_token(t, '}')) {
		uint32_t at = peek(t)->at;
		const char *name;
		struct tsdl_value value;
		if (!parse_dotted(t, &name) || !expect_token(t, '=', "'='") ||
		    !parse_value(t, &value) || !env_set(t, name, at, &value) ||
		    !expect_token(t, ';', "';' after the value"))
			return false;
		if (!strcmp(name, "tracer_name")) {
			t->is_lttng = value.text && !strncmp(value.text, "lttng-", 6);
			t->is_barectf = value.text && !strcmp(value.text, "barectf");
		}
	}
	return expect_token(t, ';', "';' after the block");
}

/* clock */

enum {
	CLOCK_NAME,
	CLOCK_UUID,
	CLOCK_DESCRIPTION,
	CLOCK_FREQ,
	CLOCK_PRECISION,
	CLOCK_OFFSET_S,
	CLOCK_OFFSET,
	CLOCK_ABSOLUTE
};

static bool clock_set(struct tsdl *t, int index, const struct tsdl_value *value, void *arg)
{
	struct clock *clock = arg;

	switch (index) {
	case CLOCK_NAME:
		return value_text(t, value, "a clock's name", &clock->name);
	case CLOCK_UUID:
		clock->has_uuid = true;
		return set_uuid(t, value, clock->uuid);
	case CLOCK_DESCRIPTION:
		return value_text(t, value, "a description", &clock->description);
	case CLOCK_FREQ:
		if (!value_unsigned(t, value, "a frequency", &clock->base.frequency))
			return false;
		return clock->base.frequency || tsdl_fail(t, value->at, "a frequency of 0 Hz");
	case CLOCK_PRECISION:
		return value_unsigned(t, value, "a precision", &clock->precision);
	case CLOCK_OFFSET_S:
		return value_signed(t, value, "offset_s", &clock->base.offset_s);
	case CLOCK_OFFSET:
		return value_signed(t, value, "offset", &clock->base.offset_cycles);
	default:
		return value_bool(t, value, &clock->epoch);
	}
}

static bool parse_clock(struct tsdl *t)
{
	static const char *const names[] = {"name",   "uuid",      "description",
					    "freq",   "precision", "offset_s",
					    "offset", "absolute",  NULL};
	static const struct block_kind block = {names, 0, clock_set, NULL};
	struct clock clock = {.name = "", .description = "", .base.frequency = 1000000000};
	uint32_t at = peek(t)->at;
	unsigned seen;

	t->pos++;
	if (!parse_block(t, &block, &seen, &clock))
		return false;
	if (!(seen & 1U << CLOCK_NAME))
		return tsdl_fail(t, at, "this clock has no name");
	if (!names_add(&t->names, &t->clocks, name_key(clock.name), 1))
		return tsdl_fail(t, at, "there is a clock %s already", clock.name);
	/* LTTng's offset counts from the epoch, which old versions forgot to say */
	if (t->is_lttng && !strcmp(clock.name, "monotonic")) {
		clock.epoch = true;
		clock.counter = clock.name;
	}
	*mem_push(t->clocks, t->nclocks, t->clock_capacity) = clock;
	return true;
}

/* stream */

enum { STREAM_PACKET_CONTEXT, STREAM_EVENT_HEADER, STREAM_EVENT_CONTEXT, STREAM_ID };

static bool stream_set_type(struct tsdl *t, int index, const struct type *type, void *arg)
{
	struct stream_block *stream = arg;

	(void)t;
	*(index == STREAM_PACKET_CONTEXT ? &stream->packet_context
	  : index == STREAM_EVENT_HEADER ? &stream->event_header
					 : &stream->event_context) = type;
	return true;
}

static bool stream_set(struct tsdl *t, int index, const struct tsdl_value *value, void *arg)
{
	struct stream_block *stream = arg;

	(void)index;
	stream->stream.has_id = true;
	return value_unsigned(t, value, "a stream's id", &stream->stream.id);
}

static bool stream_add(struct tsdl *t, const struct stream_block *stream)
{
	if (!names_add(&t->names, &t->streams, stream->stream.id, t->nstreams))
		return tsdl_fail(t, stream->at, "there is a stream with the id %" PRIu64 " already",
				 stream->stream.id);
	*mem_push(t->streams, t->nstreams, t->stream_capacity) = *stream;
	t->streams[t->nstreams - 1].ids = arena_alloc(t->scratch, 1);
	return true;
}

/* barectf 3 tells the name of a stream type in the comment before its block, and nowhere else. */
static const char *commented_name(struct tsdl *t, uint32_t at)
{
	static const char before[] = "tream type `";
	const char *text = t->text, *end = text + at, *from;

	while (end > text && strchr(" \t\r\n", end[-1]))
		end--;
	if (end - text < 4 || strncmp(end - 4, "` */", 4) != 0)
		return NULL;
	end -= 4;
	for (from = end; from > text && from[-1] != '`' && from[-1] != '\n';)
		from--;
	if (from == end || from - text < (ptrdiff_t)sizeof before - 1 ||
	    strncmp(from - (sizeof before - 1), before, sizeof before - 1) != 0)
		return NULL;
	return names_intern(&t->names, from, (size_t)(end - from))->text;
}

static bool parse_stream(struct tsdl *t)
{
	static const char *const names[] = {"packet.context", "event.header", "event.context", "id",
					    NULL};
	static const struct block_kind block = {names, 3, stream_set, stream_set_type};
	struct stream_block stream = {.at = peek(t)->at, .stream.clock = -1};
	unsigned seen;

	if (t->is_barectf)
		stream.stream.name = commented_name(t, stream.at);
	t->pos++;
	return parse_block(t, &block, &seen, &stream) && stream_add(t, &stream);
}

/* event */

enum {
	EVENT_CONTEXT,
	EVENT_FIELDS,
	EVENT_NAME,
	EVENT_ID,
	EVENT_STREAM_ID,
	EVENT_LOGLEVEL,
	EVENT_URI
};

static bool event_set_type(struct tsdl *t, int index, const struct type *type, void *arg)
{
	struct tsdl_event *event = arg;

	(void)t;
	*(index == EVENT_CONTEXT ? &event->context : &event->payload) = type;
	return true;
}

static bool set_loglevel(struct tsdl *t, const struct tsdl_value *value, int32_t *level)
{
	int64_t number = 0;

	if (!value_signed(t, value, "a log level", &number))
		return false;
	if (number < 0 || number > 14)
		tsdl_warn(t, value->at, "there are the log levels 0 to 14");
	else
		*level = (int32_t)number;
	return true;
}

static bool event_set(struct tsdl *t, int index, const struct tsdl_value *value, void *arg)
{
	struct tsdl_event *event = arg;

	switch (index) {
	case EVENT_NAME:
		return value_text(t, value, "an event's name", &event->event.name);
	case EVENT_ID:
		return value_unsigned(t, value, "an event's id", &event->event.id);
	case EVENT_STREAM_ID:
		event->has_stream_id = true;
		return value_unsigned(t, value, "stream_id", &event->stream_id);
	case EVENT_LOGLEVEL:
		return set_loglevel(t, value, &event->event.loglevel);
	default:
		return value_text(t, value, "model.emf.uri", &event->event.emf_uri);
	}
}

static bool event_add(struct tsdl *t, struct tsdl_event *event)
{
	uintptr_t stream = 0;

	if (!event->has_stream_id && t->nstreams > 1)
		return tsdl_fail(t, event->at,
				 "this event needs a stream_id: there are %zu streams",
				 t->nstreams);
	if (event->has_stream_id && !names_find(&t->names, &t->streams, event->stream_id, &stream))
		return tsdl_fail(t, event->at, "there is no stream with the id %" PRIu64,
				 event->stream_id);
	event->stream_id = stream; /* from here on, its index */
	if (!names_add(&t->names, t->streams[stream].ids, event->event.id, 1))
		return tsdl_fail(t, event->at,
				 "there is an event with the id %" PRIu64 " in this stream already",
				 event->event.id);
	t->streams[stream].nevents++;
	*mem_push(t->events, t->nevents, t->event_capacity) = *event;
	return true;
}

static bool parse_event(struct tsdl *t)
{
	static const char *const names[] = {"context",   "fields",   "name",          "id",
					    "stream_id", "loglevel", "model.emf.uri", NULL};
	static const struct block_kind block = {names, 2, event_set, event_set_type};
	struct tsdl_event event = {.at = peek(t)->at, .event.loglevel = -1};
	unsigned seen;

	t->pos++;
	return parse_block(t, &block, &seen, &event) && event_add(t, &event);
}

/* callsite: it informs people only */

static bool callsite_set(struct tsdl *t, int index, const struct tsdl_value *value, void *arg)
{
	(void)t;
	(void)index;
	(void)value;
	(void)arg;
	return true;
}

static bool parse_callsite(struct tsdl *t)
{
	static const char *const names[] = {"name", "func", "file", "line", "ip", NULL};
	static const struct block_kind block = {names, 0, callsite_set, NULL};
	unsigned seen;

	t->pos++;
	return parse_block(t, &block, &seen, NULL);
}

/* all of them */

/* Goes to the end of the block or declaration that begins here: after a ";" outside of braces. */
static void skip_item(struct tsdl *t)
{
	for (size_t depth = 0; peek(t)->kind != TOKEN_END; t->pos++) {
		if (peek(t)->kind == '{')
			depth++;
		else if (peek(t)->kind == '}' && depth)
			depth--;
		else if (peek(t)->kind == ';' && !depth) {
			t->pos++;
			return;
		}
	}
}

static enum word block_word(const struct tsdl *t)
{
	const struct tsdl_token *token = peek(t);

	if (token->kind != TOKEN_KEYWORD)
		return WORD_NONE;
	switch (token->word) {
	case WORD_TRACE:
	case WORD_ENV:
	case WORD_CLOCK:
	case WORD_STREAM:
	case WORD_EVENT:
	case WORD_CALLSITE:
		return token->word;
	default:
		return WORD_NONE;
	}
}

/* Parses every block of one kind, or what is no block, and passes over the others. */
static bool parse_all(struct tsdl *t, enum word word, bool (*parse)(struct tsdl *t))
{
	t->pos = 0;
	while (peek(t)->kind != TOKEN_END) {
		if (block_word(t) != word)
			skip_item(t);
		else if (!parse(t))
			return false;
	}
	return true;
}

/* byte_order stands directly in a trace block: it decides how every integer before is read. */
static bool find_byte_order(struct tsdl *t)
{
	size_t depth = 0;

	t->pos += 1;
	for (; peek(t)->kind != TOKEN_END; t->pos++) {
		const struct tsdl_token *token = peek(t);
		if (token->kind == '{')
			depth++;
		else if (token->kind == '}' && depth)
			depth--;
		else if (token->kind == ';' && !depth)
			break;
		if (depth == 1 && token->kind == TOKEN_NAME && peek_next(t)->kind == '=' &&
		    !strcmp(token->text, "byte_order")) {
			struct tsdl_value value;
			t->pos += 2;
			if (!parse_value(t, &value) ||
			    !byte_order_of(t, &value, &t->out->big_endian))
				return false;
			t->pos--;
		}
	}
	t->pos += peek(t)->kind != TOKEN_END;
	return true;
}

static bool default_stream(struct tsdl *t)
{
	struct stream_block stream = {.stream.clock = -1};

	return t->nstreams || stream_add(t, &stream);
}

bool parse_blocks(struct tsdl *t)
{
	lexical_open(t);
	bool done = parse_all(t, WORD_TRACE, find_byte_order) &&
		    parse_all(t, WORD_ENV, parse_env) && parse_all(t, WORD_CLOCK, parse_clock) &&
		    parse_all(t, WORD_NONE, parse_declaration) &&
		    parse_all(t, WORD_TRACE, parse_trace);
	if (done && !t->has_trace)
		return tsdl_fail(t, (uint32_t)t->size, "there is no trace block");
	return done && parse_all(t, WORD_STREAM, parse_stream) && default_stream(t) &&
	       parse_all(t, WORD_EVENT, parse_event) && parse_all(t, WORD_CALLSITE, parse_callsite);
}
