/*
 * rfc_parse.c - the blocks of the 2010 proposal's metadata: trace, section, event (proposal, 7)
 *
 * Sections and events may come in any order; types are declared before they are used. Rules of the
 * state stand in the block of the event or section that they are of, as the requirements (1.2)
 * write them, alone or as `rule = "..."`.
 */
#include "engine/ctf/rfc_language.h"

#include "engine/base/mem.h"
#include "engine/ctf/ctf_internal.h"

#include <inttypes.h>
#include <string.h>

enum { MAJOR_MOST = 1, HEADER_1 = 1, HEADER_2 = 2 };

bool rfc_parse_word(struct rfc *r, const char *what, const char **out)
{
	const struct tsdl_token *token = peek(&r->t);

	*out = token->kind == TOKEN_STRING ? token->text : rfc_word(token);
	if (!**out)
		return tsdl_expected(&r->t, what);
	r->t.pos++;
	return true;
}

bool rfc_skip_value(struct rfc *r)
{
	struct tsdl *t = &r->t;
	size_t depth = 0;

	for (; peek(t)->kind != TOKEN_END; t->pos++) {
		int kind = peek(t)->kind;
		if (!depth && kind == '}')
			return true;
		if (!depth && kind == ';') {
			t->pos++;
			return true;
		}
		depth += kind == '{';
		if (kind == '}' && --depth == 0) {
			t->pos++;
			accept_token(t, ';');
			return true;
		}
	}
	return tsdl_expected(t, "'}'");
}

bool rfc_end_value(struct rfc *r)
{
	struct tsdl *t = &r->t;

	return accept_token(t, ';') || peek(t)->kind == '}' || t->tokens[t->pos - 1].kind == '}' ||
	       tsdl_expected(t, "';'");
}

/* `NAME =` in a block, passed; *name is "" at a text in quotes. */
static bool parse_key(struct rfc *r, const char **name)
{
	struct tsdl *t = &r->t;

	accept_token(t, '.');
	*name = rfc_word(peek(t));
	if (!**name)
		return peek(t)->kind == TOKEN_STRING || tsdl_expected(t, "a name");
	t->pos++;
	return accept_token(t, '=') || peek(t)->kind == '{' || tsdl_expected(t, "'='");
}

/* A rule on a line of its own; one may be broken where it has blanks. */
static bool parse_rule(struct rfc *r, struct buf *out)
{
	const char *rule;

	if (!rfc_parse_word(r, "a rule in quotes", &rule))
		return false;
	buf_add_char(out, '\t');
	for (; *rule; rule++)
		buf_add_char(out, *rule == '\n' || *rule == '\r' ? ' ' : *rule);
	buf_add_char(out, '\n');
	accept_token(&r->t, ';');
	return true;
}

static bool unknown_key(struct rfc *r, uint32_t at, const char *key)
{
	tsdl_warn(&r->t, at, "unknown attribute %.100s", key);
	return rfc_skip_value(r);
}

/* A key of some kind of block; a NULL name ends a list. `parse` reads what follows the name. */
struct block_key {
	const char *name;
	bool (*parse)(struct rfc *r, void *block);
};

/* `{ KEY ... }`: the keys of `block` and rules, which go to `rules`. */
static bool parse_keys(struct rfc *r, const struct block_key *keys, void *block, struct buf *rules)
{
	struct tsdl *t = &r->t;

	if (!expect_token(t, '{', "'{'"))
		return false;
	while (!accept_token(t, '}')) {
		const struct block_key *key = keys;
		uint32_t at = peek(t)->at;
		const char *name;
		if (!parse_key(r, &name))
			return false;
		while (key->name && strcmp(key->name, name))
			key++;
		if (!(key->name                         ? key->parse(r, block)
		      : !*name || !strcmp(name, "rule") ? parse_rule(r, rules)
							: unknown_key(r, at, name)))
			return false;
	}
	return true;
}

/* ---- trace ---- */

static void rfc_parse_add_env(struct rfc *r, const char *name, const struct tsdl_value *value)
{
	struct tsdl *t = &r->t;
	struct env_entry entry = {.name = name, .text = value->text};

	if (value->kind == VALUE_INT)
		entry.number = (int64_t)(value->negative ? 0 - value->magnitude : value->magnitude);
	*mem_push(t->env, t->nenv, t->env_capacity) = entry;
}

static bool set_trace_key(struct rfc *r, const char *key, const struct tsdl_value *value)
{
	static const char *const aligns[] = {"packed", "natural32", "natural64", NULL};
	struct tsdl *t = &r->t;

	if (!strcmp(key, "major"))
		return value_unsigned(t, value, key, &r->major) &&
		       (r->major <= MAJOR_MOST ||
			tsdl_fail(t, value->at,
				  "version %" PRIu64 " of the format is not supported, 0 and 1 are",
				  r->major));
	if (!strcmp(key, "minor"))
		return value_unsigned(t, value, key, &r->minor);
	if (!strcmp(key, "arch_align"))
		return (value->kind != VALUE_INT && attribute_index(aligns, value->text) >= 0) ||
		       tsdl_fail(t, value->at, "expected natural32, natural64 or packed");
	if (!strcmp(key, "clock_freq"))
		return value_unsigned(t, value, key, &r->frequency) &&
		       (r->frequency || tsdl_fail(t, value->at, "clock_freq must not be 0"));
	if (!strcmp(key, "clock_offset")) {
		r->has_offset = true;
		return value_signed(t, value, key, &r->offset);
	}
	rfc_parse_add_env(r, key, value);
	return true;
}

static bool parse_trace(struct rfc *r)
{
	struct tsdl *t = &r->t;
	struct tsdl_value value;

	if (!expect_token(t, '{', "'{'"))
		return false;
	while (!accept_token(t, '}')) {
		const char *key;
		if (!rfc_parse_word(r, "a name", &key) || !expect_token(t, '=', "'='") ||
		    !parse_value(t, &value) || !set_trace_key(r, key, &value) || !rfc_end_value(r))
			return false;
	}
	return true;
}

/* ---- section ---- */

static bool add_context(struct rfc *r, struct rfc_members *to, const struct rfc_member *member,
			uint32_t at)
{
	if (!names_add(&r->t.names, to, name_key(member->name), 0))
		return tsdl_fail(&r->t, at, "a field %.100s is there already", member->name);
	*mem_push(to->items, to->count, to->capacity) = *member;
	return true;
}

/* `context = TYPE`, a struct */
static bool parse_context_type(struct rfc *r, struct rfc_members *to)
{
	uint32_t at = peek(&r->t)->at;
	const struct rfc_type *type;

	if (!rfc_parse_type(r, &type))
		return false;
	if (type->kind != RFC_STRUCT)
		return tsdl_fail(&r->t, at, "a context is a struct");
	for (uint32_t i = 0; i < type->nmembers; i++)
		if (!add_context(r, to, &type->members[i], at))
			return false;
	return rfc_end_value(r);
}

static bool parse_event_size(struct rfc *r, struct rfc_section *section)
{
	static const char name[] = "event_size";
	struct tsdl *t = &r->t;
	struct tsdl_value value;
	uint32_t at = peek(t)->at;

	t->pos++;
	if (!expect_token(t, '=', "'='") || !parse_value(t, &value) ||
	    !value_bool(t, &value, &section->has_size) || !rfc_end_value(r))
		return false;
	struct rfc_member member = {
		names_intern(&t->names, name, strlen(name))->text,
		rfc_predeclared(r, names_intern(&t->names, "uint32_t", strlen("uint32_t"))->text)};
	if (section->has_size && section->context.count)
		return tsdl_fail(t, at, "event_size stands before all other members");
	return !section->has_size || add_context(r, &section->context, &member, at);
}

/* `context { event_size = BOOL; { TYPE, NAME } ... }` */
static bool parse_context(struct rfc *r, void *block)
{
	struct rfc_section *section = block;
	struct tsdl *t = &r->t;

	if (!accept_token(t, '{'))
		return parse_context_type(r, &section->context);
	while (!accept_token(t, '}')) {
		struct rfc_member member;
		const struct tsdl_token *token = peek(t);
		bool good;
		if (token->kind == '{')
			good = rfc_parse_member(r, &member) &&
			       add_context(r, &section->context, &member, token->at) &&
			       (accept_token(t, ',') || rfc_end_value(r));
		else if (!strcmp(rfc_word(token), "event_size"))
			good = parse_event_size(r, section);
		else
			good = tsdl_expected(t, "event_size or '{'");
		if (!good)
			return false;
	}
	accept_token(t, ';');
	return true;
}

static bool parse_header_type(struct rfc *r, void *block)
{
	static const char *const types[] = {"type1", "type2", NULL};
	struct rfc_section *section = block;
	uint32_t at = peek(&r->t)->at;
	const char *word;

	if (!rfc_parse_word(r, "type1 or type2", &word))
		return false;
	int i = attribute_index(types, word);
	if (i < 0)
		return tsdl_fail(&r->t, at, "expected type1 or type2");
	section->header_type = (uint8_t)(HEADER_1 + i);
	return rfc_end_value(r);
}

/* A block inside of a section; a semicolon may follow. */
static bool parse_inner_block(struct rfc *r, const struct block_key *keys,
			      struct rfc_section *section)
{
	if (!parse_keys(r, keys, section, &section->rules))
		return false;
	accept_token(&r->t, ';');
	return true;
}

/* `event { header_type = ...; context ... }` inside of a section. */
static bool parse_section_event(struct rfc *r, void *block)
{
	static const struct block_key keys[] = {
		{"header_type", parse_header_type},
		{"context", parse_context},
		{NULL, NULL},
	};

	return parse_inner_block(r, keys, block);
}

static bool parse_packet_context(struct rfc *r, void *block)
{
	struct rfc_section *section = block;

	return parse_context_type(r, &section->packet);
}

/* Ours: `packet { context = TYPE }` inside of a section. */
static bool parse_section_packet(struct rfc *r, void *block)
{
	static const struct block_key keys[] = {
		{"context", parse_packet_context},
		{NULL, NULL},
	};

	return parse_inner_block(r, keys, block);
}

/* Ours: a key that has one value besides what the proposal has. */
static bool parse_only(struct rfc *r, const char *value, bool *out)
{
	uint32_t at = peek(&r->t)->at;
	const char *word;

	if (!rfc_parse_word(r, value, &word))
		return false;
	*out = !strcmp(word, value);
	return (*out || tsdl_fail(&r->t, at, "expected %s", value)) && rfc_end_value(r);
}

static bool parse_no_cpu(struct rfc *r, void *block)
{
	struct rfc_section *section = block;

	return parse_only(r, "none", &section->no_cpu);
}

static bool parse_no_clock(struct rfc *r, void *block)
{
	struct rfc_section *section = block;

	return parse_only(r, "none", &section->no_clock);
}

static bool parse_discarded(struct rfc *r, void *block)
{
	struct rfc_section *section = block;

	return parse_only(r, "end", &section->lost_at_end);
}

static bool parse_section_name(struct rfc *r, void *block)
{
	struct rfc_section *section = block;

	return rfc_parse_word(r, "the section's name", &section->name) && rfc_end_value(r);
}

static bool parse_section(struct rfc *r)
{
	static const struct block_key keys[] = {
		{"name", parse_section_name},
		{"event", parse_section_event},
		{"packet", parse_section_packet},
		{"cpu", parse_no_cpu},
		{"clock", parse_no_clock},
		{"discarded", parse_discarded},
		{NULL, NULL},
	};
	struct tsdl *t = &r->t;
	uint32_t begin = t->tokens[t->pos - 1].at;

	struct rfc_section *section = arena_alloc(t->scratch, sizeof *section);
	*mem_push(r->sections, r->nsections, r->section_capacity) = section;
	section->at = begin;
	if (!parse_keys(r, keys, section, &section->rules))
		return false;
	if (!section->name)
		return tsdl_fail(t, begin, "this section has no name");
	return names_add(&t->names, &r->section_names, name_key(section->name), r->nsections - 1) ||
	       tsdl_fail(t, begin, "the section %.100s is there already", section->name);
}

/* ---- event ---- */

static bool parse_fields(struct rfc *r, void *block)
{
	struct rfc_event *event = block;
	uint32_t at = peek(&r->t)->at;

	return rfc_parse_type(r, &event->fields) &&
	       (event->fields->kind == RFC_STRUCT ||
		tsdl_fail(&r->t, at, "the fields of an event are a struct")) &&
	       rfc_end_value(r);
}

static bool parse_id(struct rfc *r, void *block)
{
	struct rfc_event *event = block;
	struct tsdl_value value;

	event->has_id = true;
	return parse_value(&r->t, &value) && value_unsigned(&r->t, &value, "an id", &event->id) &&
	       (event->id <= UINT32_MAX || tsdl_fail(&r->t, value.at, "an id has up to 32 bits")) &&
	       rfc_end_value(r);
}

static bool parse_event_name(struct rfc *r, void *block)
{
	struct rfc_event *event = block;

	return rfc_parse_word(r, "the event's name", &event->name) && rfc_end_value(r);
}

static bool parse_event_section(struct rfc *r, void *block)
{
	struct rfc_event *event = block;

	return rfc_parse_word(r, "a section's name", &event->section) && rfc_end_value(r);
}

/* Ours. */
static bool parse_loglevel(struct rfc *r, void *block)
{
	struct rfc_event *event = block;
	struct tsdl_value value;
	uint64_t level;

	if (!parse_value(&r->t, &value) || !value_unsigned(&r->t, &value, "a log level", &level))
		return false;
	event->loglevel = level <= INT32_MAX ? (int32_t)level : -1;
	return rfc_end_value(r);
}

static bool parse_event(struct rfc *r)
{
	static const struct block_key keys[] = {
		{"name", parse_event_name},
		{"section", parse_event_section},
		{"id", parse_id},
		{"fields", parse_fields},
		{"loglevel", parse_loglevel},
		{NULL, NULL},
	};
	struct tsdl *t = &r->t;

	struct rfc_event *event = mem_push(r->events, r->nevents, r->event_capacity);
	*event = (struct rfc_event){.at = t->tokens[t->pos - 1].at, .loglevel = -1};
	if (!parse_keys(r, keys, event, &event->rules))
		return false;
	if (!event->section)
		return tsdl_fail(t, event->at, "this event has no section");
	return event->has_id || tsdl_fail(t, event->at, "this event has no id");
}

/* ---- all ---- */

static bool parse_block(struct rfc *r)
{
	struct tsdl *t = &r->t;
	const char *word = rfc_word(peek(t));

	if (!strcmp(word, "type") || !strcmp(word, "abstract_type"))
		return rfc_declare_type(r);
	t->pos++;
	if (!strcmp(word, "trace"))
		return parse_trace(r);
	if (!strcmp(word, "section"))
		return parse_section(r);
	if (!strcmp(word, "event"))
		return parse_event(r);
	t->pos--;
	return tsdl_expected(t, "trace, section, event, type or abstract_type");
}

/* Events to their sections, once all are known. */
static bool place_events(struct rfc *r)
{
	struct tsdl *t = &r->t;

	for (size_t i = 0; i < r->nevents; i++) {
		struct rfc_event *event = &r->events[i];
		uintptr_t index;
		if (!names_find(&t->names, &r->section_names, name_key(event->section), &index))
			return tsdl_fail(t, event->at, "there is no section %.100s",
					 event->section);
		struct rfc_section *section = r->sections[index];
		if (!names_add(&t->names, &section->rules, event->id, 0))
			return tsdl_fail(t, event->at,
					 "the section %.100s has an event %" PRIu64 " already",
					 section->name, event->id);
		event->index = index;
		section->nevents++;
		section->most = event->id > section->most ? event->id : section->most;
	}
	return true;
}

static bool parse_all(struct rfc *r)
{
	if (!tsdl_lex(&r->t))
		return false;
	rfc_find_word(r);
	while (peek(&r->t)->kind != TOKEN_END) {
		if (accept_token(&r->t, ';'))
			continue;
		if (!parse_block(r))
			return false;
	}
	return place_events(r);
}

static void release_rfc(struct rfc *r)
{
	for (size_t i = 0; i < r->nsections; i++) {
		buf_release(&r->sections[i]->rules);
		mem_free(r->sections[i]->context.items);
		mem_free(r->sections[i]->packet.items);
	}
	for (size_t i = 0; i < r->nevents; i++)
		buf_release(&r->events[i].rules);
	mem_free(r->sections);
	mem_free(r->events);
	mem_free(r->t.env);
	mem_free(r->t.tokens);
	names_release(&r->t.names);
	arena_free(r->t.scratch);
}

/* Sets text and scratch memory. The lexer needs a zero behind the text, and none in it. */
static void begin_text(struct rfc *r, const char *text, size_t size)
{
	r->t.scratch = arena_new();
	char *copy = arena_strndup(r->t.scratch, text, size);
	for (char *zero = copy; (zero = memchr(zero, 0, size - (size_t)(zero - copy)));)
		*zero = '\n';
	r->t.text = copy;
	r->t.size = size;
}

bool rfc_is_text(const char *text, size_t size)
{
	struct error ignored; /* the tokens before a mistake tell as well */
	struct rfc r = {.t = {.name = "", .broken_strings = true, .err = &ignored}};
	bool found = false;

	begin_text(&r, text, size);
	names_init(&r.t.names, r.t.scratch);
	(void)tsdl_lex(&r.t);
	for (size_t i = 0; i + 1 < r.t.ntokens && !found; i++)
		found = r.t.tokens[i + 1].kind == '{' &&
			!strcmp(rfc_word(&r.t.tokens[i]), "section");
	release_rfc(&r);
	return found;
}

bool rfc_parse(const char *name, const char *text, size_t size, struct arena *arena,
	       const struct notices *notices, struct ctf_description *out, struct error *err)
{
	struct rfc r = {.t = {.name = name,
			      .broken_strings = true, /* rules are broken before their '=' */
			      .arena = arena,
			      .notices = notices,
			      .out = out,
			      .err = err},
			.minor = 1,
			.frequency = 1000000000};

	begin_text(&r, text, size);
	names_init(&r.t.names, arena);
	bool done = parse_all(&r) && rfc_build(&r);
	release_rfc(&r);
	return done;
}
