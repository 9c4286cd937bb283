/*
 * tsdl_type.c - types made of parts, and the paths by which they name lengths and tags
 *
 * A relative path is bound to (struct type, member) where its type is declared, if it is found
 * there. Else tsdl_build.c searches it at each use of the type; a path that is never found, as its
 * type is not used, is an error at the end.
 */
#include "engine/ctf/tsdl.h"

#include "engine/base/buf.h"
#include "engine/base/mem.h"

#include <string.h>

struct type *type_new(struct tsdl *t, enum field_kind kind)
{
	struct type *type = arena_alloc(t->scratch, sizeof *type);

	type->shape.kind = kind;
	type->shape.align = 1;
	type->shape.clock = -1;
	type->depth = 1;
	return type;
}

const char *without_underscore(struct tsdl *t, const char *name)
{
	return name[0] == '_' ? names_intern(&t->names, name + 1, strlen(name + 1))->text : name;
}

const char *path_text(struct tsdl *t, const struct tsdl_path *path)
{
	static const char *const scopes[] = {"trace.packet.header",
					     "stream.packet.context",
					     "stream.event.header",
					     "stream.event.context",
					     "event.context",
					     "event.fields",
					     "env"};
	struct buf text = {0};

	if (path->scope != PATH_RELATIVE)
		buf_add_text(&text, scopes[path->scope]);
	for (uint32_t i = 0; i < path->count; i++) {
		if (text.len)
			buf_add_char(&text, '.');
		buf_add_text(&text, path->parts[i]);
	}
	const char *copy = arena_strdup(t->scratch, buf_text(&text));
	buf_release(&text);
	return copy;
}

/* Consumes `text`, words joined by dots, when these are the next tokens. */
static bool accept_words(struct tsdl *t, const char *text)
{
	size_t pos = t->pos;

	while (*text) {
		size_t len = strcspn(text, ".");
		const struct tsdl_token *token = &t->tokens[pos];
		if ((token->kind != TOKEN_NAME && token->kind != TOKEN_KEYWORD) ||
		    strlen(token->text) != len || strncmp(token->text, text, len) != 0 ||
		    token[1].kind != '.')
			return false;
		pos += 2;
		text += len + (text[len] == '.');
	}
	t->pos = pos;
	return true;
}

static int parse_path_scope(struct tsdl *t)
{
	static const struct {
		const char *text;
		int scope;
	} prefixes[] = {
		{"trace.packet.header", SCOPE_PACKET_HEADER},
		{"stream.packet.context", SCOPE_PACKET_CONTEXT},
		{"stream.event.header", SCOPE_EVENT_HEADER},
		{"stream.event.context", SCOPE_STREAM_EVENT_CONTEXT},
		{"event.context", SCOPE_EVENT_CONTEXT},
		{"event.fields", SCOPE_PAYLOAD},
		{"env", PATH_ENV},
	};

	if (peek(t)->kind == TOKEN_KEYWORD)
		for (unsigned i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
			if (accept_words(t, prefixes[i].text))
				return prefixes[i].scope;
	return PATH_RELATIVE;
}

bool tsdl_path(struct tsdl *t, const char *what, struct tsdl_path **out)
{
	struct tsdl_path *path = arena_alloc(t->scratch, sizeof *path);
	size_t first;

	path->at = peek(t)->at;
	path->scope = parse_path_scope(t);
	first = t->pos;
	do {
		/* a name in the env block may be any word */
		bool is_name = peek(t)->kind == TOKEN_NAME ||
			       (path->scope == PATH_ENV && peek(t)->kind == TOKEN_KEYWORD);
		if (!is_name)
			return tsdl_expected(t, what);
		t->pos++;
		path->count++;
	} while (accept_token(t, '.'));
	path->parts = arena_array(t->scratch, path->count, sizeof *path->parts);
	for (uint32_t i = 0; i < path->count; i++)
		path->parts[i] = t->tokens[first + 2 * i].text;
	*out = path;
	return true;
}

bool check_length_type(struct tsdl *t, const struct tsdl_path *path,
		       const struct field_class *target)
{
	if (target->kind != FIELD_INT)
		return tsdl_fail(t, path->at, "the length %s is no integer", path_text(t, path));
	return !target->is_signed ||
	       tsdl_fail(t, path->at, "the length %s is a signed integer", path_text(t, path));
}

bool check_tag_type(struct tsdl *t, const struct tsdl_path *path, const struct field_class *target)
{
	return (target->kind == FIELD_INT && target->is_enum) ||
	       tsdl_fail(t, path->at, "the tag %s is no enumeration", path_text(t, path));
}

/* The name space of a struct's names as shown; its address is that of written names plus one. */
static const void *shown_space(const void *identity)
{
	return (const char *)identity + 1;
}

bool member_find(struct tsdl *t, const void *identity, const char *name, bool shown,
		 uint32_t *index)
{
	uintptr_t value;

	if (!shown && !names_find(&t->names, identity, name_key(name), &value))
		return false;
	if (shown && !names_find(&t->names, shown_space(identity),
				 name_key(without_underscore(t, name)), &value))
		return false;
	*index = (uint32_t)value;
	return true;
}

/* Finds the member that a relative path begins with in the open bodies, innermost first. */
static const struct type *find_open(struct tsdl *t, struct tsdl_path *path, bool shown)
{
	for (const struct body *body = t->body; body; body = body->parent) {
		if (body->is_variant ||
		    !member_find(t, body->identity, path->parts[0], shown, &path->index))
			continue;
		path->owner = body->identity;
		return t->pending[body->first + path->index].type;
	}
	return NULL;
}

/* Returns the type that the path names, if all of it is in parsed types; NULL: unknown here. */
static const struct type *path_bind(struct tsdl *t, struct tsdl_path *path)
{
	const struct type *type = find_open(t, path, false);
	uint32_t index;

	if (!type)
		type = find_open(t, path, true);
	for (uint32_t i = 1; type && i < path->count; i++) {
		if (type->shape.kind != FIELD_STRUCT ||
		    (!member_find(t, type->identity, path->parts[i], false, &index) &&
		     !member_find(t, type->identity, path->parts[i], true, &index)))
			type = NULL;
		else
			type = type->members[index].type;
	}
	if (!type)
		path->owner = NULL;
	return type;
}

static bool is_type_name(struct tsdl *t, const char *name)
{
	uintptr_t found;

	for (const struct lexical *l = t->lexical; l; l = l->parent)
		if (names_find(&t->names, &l->types, name_key(name), &found))
			return true;
	return false;
}

typedef bool check_target(struct tsdl *t, const struct tsdl_path *path,
			  const struct field_class *target);

/* Binds and checks; what cannot be bound now is remembered. */
static bool path_declare(struct tsdl *t, struct tsdl_path *path, check_target *check,
			 const struct type **target)
{
	*target = NULL;
	if (path->scope == PATH_ENV)
		return tsdl_fail(t, path->at, "a constant of the env block cannot stand here");
	if (path->scope != PATH_RELATIVE)
		return true;
	*target = path_bind(t, path);
	if (*target)
		return check(t, path, &(*target)->shape);
	if (path->count == 1 && is_type_name(t, path->parts[0]))
		return tsdl_fail(t, path->at, "%s is a type, expected a field", path->parts[0]);
	path->index = (uint32_t)t->nunbound;
	*mem_push(t->unbound, t->nunbound, t->unbound_capacity) = (struct unbound){path, false};
	return true;
}

static bool type_deeper(struct tsdl *t, struct type *type, const struct type *inner, uint32_t at)
{
	if (inner->depth >= TSDL_MAX_DEPTH)
		return tsdl_fail(t, at, "types are nested more than %d deep", TSDL_MAX_DEPTH);
	if (inner->depth >= type->depth)
		type->depth = inner->depth + 1;
	if (inner->shape.kind == FIELD_VARIANT && !inner->path)
		return tsdl_fail(t, at, "this variant has no tag");
	return true;
}

bool type_array(struct tsdl *t, const struct type *element, uint64_t length, uint32_t at,
		const struct type **out)
{
	struct type *type = type_new(t, FIELD_ARRAY);

	type->shape.align = element->shape.align;
	type->shape.length = length;
	type->shape.is_blob = element->shape.kind == FIELD_INT && element->shape.is_blob;
	type->element = element;
	*out = type;
	return type_deeper(t, type, element, at);
}

static bool env_length(struct tsdl *t, const struct tsdl_path *path, uint64_t *length)
{
	for (size_t i = 0; path->count == 1 && i < t->nenv; i++) {
		if (strcmp(t->env[i].name, path->parts[0]) != 0)
			continue;
		if (t->env[i].text || t->env[i].number < 0)
			return tsdl_fail(t, path->at, "env.%s is no length", path->parts[0]);
		*length = (uint64_t)t->env[i].number;
		return true;
	}
	return tsdl_fail(t, path->at, "the env block has no %s", path_text(t, path));
}

bool type_sequence(struct tsdl *t, const struct type *element, struct tsdl_path *path,
		   const struct type **out)
{
	const struct type *target;
	uint64_t length = 0;

	if (path->scope == PATH_ENV)
		return env_length(t, path, &length) &&
		       type_array(t, element, length, path->at, out);
	struct type *type = type_new(t, FIELD_SEQUENCE);
	type->shape.align = element->shape.align;
	type->shape.is_blob = element->shape.kind == FIELD_INT && element->shape.is_blob;
	type->element = element;
	type->path = path;
	*out = type;
	return path_declare(t, path, check_length_type, &target) &&
	       type_deeper(t, type, element, path->at);
}

/* The option that a label selects: equal as written, else equal as shown. */
static bool option_of(struct tsdl *t, const struct type *variant, const char *label,
		      uint32_t *index)
{
	return member_find(t, variant->identity, label, false, index) ||
	       member_find(t, variant->identity, label, true, index);
}

/* Counts each option's labels, gives each room for their ranges, then fills them in. */
static struct member *match_labels(struct tsdl *t, const struct type *variant,
				   const struct field_class *tag)
{
	struct member *options = arena_array(t->arena, variant->shape.nmembers, sizeof *options);
	struct enum_label *ranges = arena_array(t->arena, tag->nlabels, sizeof *ranges);
	uint32_t option;

	t->nodes += variant->shape.nmembers + tag->nlabels;
	for (uint32_t i = 0; i < tag->nlabels; i++)
		if (option_of(t, variant, tag->labels[i].name, &option))
			options[option].nranges++;
	for (uint32_t i = 0, used = 0; i < variant->shape.nmembers; i++) {
		options[i].ranges = ranges + used;
		used += options[i].nranges;
		options[i].nranges = 0;
	}
	for (uint32_t i = 0; i < tag->nlabels; i++) {
		if (!option_of(t, variant, tag->labels[i].name, &option))
			continue;
		ranges[options[option].ranges - ranges + options[option].nranges] = tag->labels[i];
		options[option].nranges++;
	}
	return options;
}

bool variant_match(struct tsdl *t, const struct type *variant, const struct field_class *tag,
		   const struct member **out)
{
	struct matched *matched = variant->matched;

	if (matched->labels != tag->labels)
		*matched = (struct matched){tag->labels, match_labels(t, variant, tag)};
	*out = matched->options;
	for (uint32_t i = 0; i < variant->shape.nmembers; i++)
		if (matched->options[i].nranges)
			return true;
	return tsdl_fail(t, variant->path->at, "no label of the tag %s is an option's name",
			 path_text(t, variant->path));
}

bool type_tagged(struct tsdl *t, const struct type *variant, struct tsdl_path *path,
		 const struct type **out)
{
	struct type *type = type_new(t, FIELD_VARIANT);
	const struct type *target;
	const struct member *options;

	*type = *variant;
	type->path = path;
	type->matched = arena_alloc(t->scratch, sizeof *type->matched);
	*out = type;
	return path_declare(t, path, check_tag_type, &target) &&
	       (!target || variant_match(t, type, &target->shape, &options));
}

bool type_bit_field(struct tsdl *t, const struct type *base, uint64_t bits, uint32_t at,
		    const struct type **out)
{
	struct type *type = type_new(t, FIELD_INT);

	if (base->shape.kind != FIELD_INT || base->shape.is_enum || base->unit_bits)
		return tsdl_fail(t, at, "only an integer can be a bit-field");
	if (!bits || bits > base->shape.bits)
		return tsdl_fail(t, at, "a bit-field of this type has 1 to %u bits",
				 base->shape.bits);
	*type = *base;
	type->unit_align = base->shape.align;
	type->unit_bits = base->shape.bits;
	type->shape.align = 1;
	type->shape.bits = (uint32_t)bits;
	type->shape.is_text = false;
	*out = type;
	return true;
}

bool body_open(struct tsdl *t, struct body *body, struct type *type)
{
	if (++t->depth > TSDL_MAX_DEPTH)
		return tsdl_fail(t, peek(t)->at, "types are nested more than %d deep",
				 TSDL_MAX_DEPTH);
	type->identity = type;
	*body = (struct body){t->body, type, type->shape.kind == FIELD_VARIANT, t->npending};
	t->body = body;
	lexical_open(t);
	return true;
}

bool body_add(struct tsdl *t, const char *name, const struct type *type, uint32_t at)
{
	size_t index = t->npending - t->body->first;

	if (type->shape.kind == FIELD_VARIANT && !type->path)
		return tsdl_fail(t, at, "this variant has no tag");
	if (!names_add(&t->names, t->body->identity, name_key(name), index))
		return tsdl_fail(t, at, "%s stands twice in this %s", name,
				 t->body->is_variant ? "variant" : "struct");
	names_add(&t->names, shown_space(t->body->identity), name_key(without_underscore(t, name)),
		  index);
	*mem_push(t->pending, t->npending, t->pending_capacity) =
		(struct type_member){name, name, type, at};
	return true;
}

/*
 * Drops one leading underscore of every name, then restores it where two names became equal, until
 * all differ. Each round settles at least one name; a chain (a, _a, __a) that costs n rounds has a
 * name of n characters, so the text's length bounds the work.
 */
static void show_names(struct tsdl *t, struct type_member *members, uint32_t count)
{
	bool again = true;

	for (uint32_t i = 0; i < count; i++)
		members[i].name = without_underscore(t, members[i].written);
	while (again) {
		const void *space = arena_alloc(t->scratch, 1);
		again = false;
		for (uint32_t i = 0; i < count; i++) {
			uintptr_t first;
			uint64_t key = name_key(members[i].name);
			if (names_add(&t->names, space, key, i) ||
			    !names_find(&t->names, space, key, &first))
				continue;
			members[i].name = members[i].written;
			members[first].name = members[first].written;
			again = true;
		}
	}
}

static bool has_underscore(const struct type_member *members, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (members[i].written[0] == '_')
			return true;
	return false;
}

bool body_close(struct tsdl *t, struct type *type, uint32_t at)
{
	const struct body *body = t->body;
	size_t count = t->npending - body->first;
	const struct type_member *own = count ? t->pending + body->first : NULL;
	struct type_member *members = arena_copy(t->scratch, own, count, sizeof *members);

	t->npending = body->first;
	t->body = body->parent;
	t->depth--;
	lexical_close(t);
	type->members = members;
	type->shape.nmembers = (uint32_t)count;
	if (body->is_variant && !count)
		return tsdl_fail(t, at, "a variant without options");
	if (has_underscore(members, (uint32_t)count))
		show_names(t, members, (uint32_t)count);
	for (size_t i = 0; i < count; i++) {
		const struct type *member = members[i].type;
		if (!type_deeper(t, type, member, at))
			return false;
		if (!body->is_variant && member->shape.align > type->shape.align)
			type->shape.align = member->shape.align;
	}
	return true;
}
