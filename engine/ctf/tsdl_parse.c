/*
 * tsdl_parse.c - declarations: structs, variants, enumerations, typedef, typealias
 *
 * Names of types are looked up where they stand, from the innermost scope out. A name of several
 * words ("unsigned long", "struct page *") is one name, its words joined by single blanks.
 */
#include "engine/ctf/tsdl.h"
#include "engine/ctf_own.h"

#include "engine/base/buf.h"
#include "engine/base/mem.h"

#include <string.h>

enum { MAX_STARS = 8 };

/* What stands left of a declarator: a type, or the name of one that may not exist. */
struct specifier {
	const char *name; /* interned; NULL for a type without one */
	const struct type *type;
	uint32_t at;
};

struct dimension {
	struct dimension *next; /* the one to its left */
	struct tsdl_path *path; /* NULL: a constant */
	uint64_t length;
	uint32_t at;
};

struct declarator {
	const char *name; /* NULL: abstract */
	uint32_t at, stars;
	struct dimension *dimensions; /* the rightmost */
	struct declarator *inner;     /* in parentheses */
};

static bool parse_specifier(struct tsdl *t, struct specifier *out);

void lexical_open(struct tsdl *t)
{
	struct lexical *lexical = arena_alloc(t->scratch, sizeof *lexical);

	lexical->parent = t->lexical;
	t->lexical = lexical;
}

void lexical_close(struct tsdl *t)
{
	t->lexical = t->lexical->parent;
}

static const void *name_space(const struct lexical *lexical, enum word word)
{
	switch (word) {
	case WORD_STRUCT:
		return &lexical->structs;
	case WORD_VARIANT:
		return &lexical->variants;
	case WORD_ENUM:
		return &lexical->enums;
	default:
		return &lexical->types;
	}
}

static bool declare(struct tsdl *t, enum word word, const char *name, const struct type *type,
		    uint32_t at)
{
	return names_add(&t->names, name_space(t->lexical, word), name_key(name),
			 (uintptr_t)type) ||
	       tsdl_fail(t, at, "%s is declared already in this scope", name);
}

static const struct type *find_type(struct tsdl *t, enum word word, const char *name)
{
	uintptr_t found;

	for (const struct lexical *l = t->lexical; l; l = l->parent)
		if (names_find(&t->names, name_space(l, word), name_key(name), &found))
			return (const struct type *)found;
	return NULL;
}

static bool specifier_type(struct tsdl *t, const struct specifier *spec, const struct type **out)
{
	*out = spec->type;
	return spec->type || tsdl_fail(t, spec->at, "%s is no type that was declared", spec->name);
}

/* The name of a pointer to what `spec` names. */
static void specifier_point(struct tsdl *t, struct specifier *spec)
{
	char *name = arena_printf(t->scratch, "%s *", spec->name);

	spec->name = names_intern(&t->names, name, strlen(name))->text;
	spec->type = find_type(t, WORD_NONE, spec->name);
}

static bool parse_dimension(struct tsdl *t, struct dimension **out)
{
	struct dimension *dimension = arena_alloc(t->scratch, sizeof *dimension);

	dimension->at = peek(t)->at;
	t->pos++;
	if (peek(t)->kind == TOKEN_INT)
		dimension->length = t->tokens[t->pos++].number;
	else if (!tsdl_path(t, "a length: an integer or the name of a field", &dimension->path))
		return false;
	dimension->next = *out;
	*out = dimension;
	return expect_token(t, ']', "']' after the length");
}

/* { "*" [ "const" ] } */
static bool parse_stars(struct tsdl *t, uint32_t *stars)
{
	for (*stars = 0; accept_token(t, '*'); ++*stars) {
		if (*stars == MAX_STARS)
			return tsdl_fail(t, peek(t)->at, "pointers are nested too deep");
		if (is_word(peek(t), WORD_CONST))
			t->pos++;
	}
	return true;
}

static bool parse_declarator(struct tsdl *t, bool abstract, struct declarator *out)
{
	bool done;

	if (!parse_stars(t, &out->stars))
		return false;
	out->at = peek(t)->at;
	if (peek(t)->kind == TOKEN_NAME && !abstract) {
		out->name = t->tokens[t->pos++].text;
	} else if (accept_token(t, '(')) {
		if (++t->depth > TSDL_MAX_DEPTH)
			return tsdl_fail(t, out->at, "parentheses are nested too deep");
		out->inner = arena_alloc(t->scratch, sizeof *out->inner);
		done = parse_declarator(t, abstract, out->inner) &&
		       expect_token(t, ')', "')' after the declarator");
		t->depth--;
		if (!done)
			return false;
	} else if (!abstract) {
		return tsdl_expected(t, "a name");
	}
	while (peek(t)->kind == '[')
		if (!parse_dimension(t, &out->dimensions))
			return false;
	return true;
}

/* The type of what is declared, from the outside in: "T *a[2][3]" is 2 of 3 of pointers to T. */
static bool apply_declarator(struct tsdl *t, struct specifier spec, const struct declarator *d,
			     const char **name, const struct type **out)
{
	for (; d; d = d->inner) {
		for (uint32_t i = 0; i < d->stars; i++) {
			if (!spec.name)
				return tsdl_fail(t, d->at, "a pointer to a type without a name");
			specifier_point(t, &spec);
		}
		for (const struct dimension *dim = d->dimensions; dim; dim = dim->next) {
			const struct type *element;
			if (!specifier_type(t, &spec, &element))
				return false;
			if (dim->path ? !type_sequence(t, element, dim->path, &spec.type)
				      : !type_array(t, element, dim->length, dim->at, &spec.type))
				return false;
			spec.name = NULL;
		}
		if (name && !d->inner)
			*name = d->name;
	}
	return specifier_type(t, &spec, out);
}

static bool parse_align(struct tsdl *t, uint32_t *align)
{
	*align = 0;
	if (!is_word(peek(t), WORD_ALIGN))
		return true;
	t->pos++;
	if (!expect_token(t, '(', "'(' after align"))
		return false;
	const struct tsdl_token *token = peek(t);
	if (!expect_token(t, TOKEN_INT, "an alignment"))
		return false;
	if (!token->number || (token->number & (token->number - 1)) ||
	    token->number > UINT32_C(1) << 31)
		return tsdl_fail(t, token->at, "an alignment must be a power of two");
	*align = (uint32_t)token->number;
	return expect_token(t, ')', "')' after the alignment");
}

/* "T a, b[2], c:3;" */
static bool parse_members(struct tsdl *t)
{
	struct specifier spec;

	if (!parse_specifier(t, &spec))
		return false;
	do {
		struct declarator d = {0};
		const struct type *type;
		const char *name;
		if (!parse_declarator(t, false, &d) || !apply_declarator(t, spec, &d, &name, &type))
			return false;
		if (accept_token(t, ':')) {
			const struct tsdl_token *bits = peek(t);
			if (!expect_token(t, TOKEN_INT, "a number of bits") ||
			    !type_bit_field(t, type, bits->number, bits->at, &type))
				return false;
		}
		if (!body_add(t, name, type, d.at))
			return false;
	} while (accept_token(t, ','));
	return expect_token(t, ';', "';' after the field");
}

static bool parse_body(struct tsdl *t, struct type *type)
{
	struct body body;
	uint32_t at = peek(t)->at;

	t->pos++;
	if (!body_open(t, &body, type))
		return false;
	while (!accept_token(t, '}')) {
		bool done = is_word(peek(t), WORD_TYPEDEF) || is_word(peek(t), WORD_TYPEALIAS)
				    ? parse_declaration(t)
				    : parse_members(t);
		if (!done)
			return false;
	}
	return body_close(t, type, at);
}

/* The tag of a struct, variant or enum, NULL when it has none. */
static bool parse_tag_name(struct tsdl *t, const char **name)
{
	*name = NULL;
	if (peek(t)->kind == TOKEN_NAME)
		*name = t->tokens[t->pos++].text;
	else if (peek(t)->kind == TOKEN_KEYWORD)
		return tsdl_expected(t, "a name, which a keyword is not,");
	return true;
}

/* "struct x" names a type by its tag. */
static void specify_tag(struct tsdl *t, enum word word, const char *name, struct specifier *out)
{
	static const char *const words[] = {
		[WORD_STRUCT] = "struct", [WORD_VARIANT] = "variant", [WORD_ENUM] = "enum"};
	const char *text = arena_printf(t->scratch, "%s %s", words[word], name);

	out->name = names_intern(&t->names, text, strlen(text))->text;
	out->type = find_type(t, word, name);
}

static bool parse_struct(struct tsdl *t, struct specifier *out)
{
	const char *name;
	uint32_t align;
	struct type *type;

	t->pos++;
	if (!parse_tag_name(t, &name))
		return false;
	if (peek(t)->kind == '{') {
		type = type_new(t, FIELD_STRUCT);
		if (!parse_body(t, type) || !parse_align(t, &align))
			return false;
		if (align > type->shape.align)
			type->shape.align = align;
		out->type = type;
		if (name && !declare(t, WORD_STRUCT, name, type, out->at))
			return false;
	}
	if (!name)
		return out->type || tsdl_expected(t, "'{' or the name of a struct");
	specify_tag(t, WORD_STRUCT, name, out);
	if (!is_word(peek(t), WORD_ALIGN))
		return true;
	if (!out->type)
		return tsdl_fail(t, out->at, "%s is no type that was declared", out->name);
	type = type_new(t, FIELD_STRUCT);
	*type = *out->type;
	if (!parse_align(t, &align))
		return false;
	if (align > type->shape.align)
		type->shape.align = align;
	out->name = NULL;
	out->type = type;
	return true;
}

/* "<" path ">", or nothing */
static bool parse_variant_tag(struct tsdl *t, struct tsdl_path **path)
{
	*path = NULL;
	return !accept_token(t, '<') || (tsdl_path(t, "the name of the tag", path) &&
					 expect_token(t, '>', "'>' after the tag"));
}

static bool parse_variant(struct tsdl *t, struct specifier *out)
{
	struct tsdl_path *path;
	const char *name;

	t->pos++;
	if (!parse_tag_name(t, &name) || !parse_variant_tag(t, &path))
		return false;
	if (peek(t)->kind == '{') {
		struct type *type = type_new(t, FIELD_VARIANT);
		if (!parse_body(t, type))
			return false;
		out->type = type;
		if (path && !type_tagged(t, type, path, &out->type))
			return false;
		return !name || declare(t, WORD_VARIANT, name, out->type, out->at);
	}
	if (!name)
		return tsdl_expected(t, "'{' or the name of a variant");
	specify_tag(t, WORD_VARIANT, name, out);
	if (!path)
		return true;
	out->name = NULL;
	if (!out->type)
		return tsdl_fail(t, out->at, "variant %s is no type that was declared", name);
	if (out->type->path)
		return tsdl_fail(t, path->at, "variant %s has a tag already", name);
	return type_tagged(t, out->type, path, &out->type);
}

struct labels { /* of the enumeration that is being read */
	struct enum_label *items;
	size_t count, capacity;
	size_t said;        /* also those that the container cannot hold */
	__int128 low, high; /* of the container */
	__int128 next;
};

/*
 * LTTng-UST writes the mappings of an enumeration as the program declares them, also those that
 * the field's integer cannot hold, and a label without a value after the greatest one.
 */
static bool accept_misfit(struct tsdl *t, uint32_t at, const char *what)
{
	if (!t->is_lttng || t->strict)
		return tsdl_fail(t, at, "%s", what);
	tsdl_warn(t, at, "%s; the label matches nothing", what);
	return true;
}

static bool parse_label_value(struct tsdl *t, const struct labels *labels, __int128 *out)
{
	uint32_t at = peek(t)->at;
	struct tsdl_value value;

	if (peek(t)->kind == TOKEN_NAME || peek(t)->kind == TOKEN_KEYWORD)
		return tsdl_expected(t, "an integer");
	if (!parse_value(t, &value))
		return false;
	if (value.kind != VALUE_INT)
		return tsdl_fail(t, at, "the value of a label must be an integer");
	*out = value.negative ? -(__int128)value.magnitude : (__int128)value.magnitude;
	return (*out >= labels->low && *out <= labels->high) ||
	       accept_misfit(t, at, "this value does not fit the enumeration's integer type");
}

/* ( name | string ) [ "=" value [ "..." value ] ] */
static bool parse_label(struct tsdl *t, struct labels *labels)
{
	const struct tsdl_token *token = peek(t);
	__int128 low = labels->next, high;

	if (token->kind != TOKEN_NAME && token->kind != TOKEN_STRING)
		return tsdl_expected(t, "a label");
	t->pos++;
	high = low;
	if (accept_token(t, '=')) {
		uint32_t at = peek(t)->at;
		if (!parse_label_value(t, labels, &low))
			return false;
		high = low;
		if (accept_token(t, TOKEN_ELLIPSIS) && !parse_label_value(t, labels, &high))
			return false;
		if (high < low)
			return tsdl_fail(t, at, "this range ends before it begins");
	} else if (low > labels->high &&
		   !accept_misfit(t, token->at, "the label after the greatest value has none")) {
		return false;
	}
	labels->next = high + 1;
	labels->said++;
	low = low < labels->low ? labels->low : low;
	high = high > labels->high ? labels->high : high;
	if (high < low)
		return true;
	*mem_push(labels->items, labels->count, labels->capacity) =
		(struct enum_label){token->text, (uint64_t)low, (uint64_t)high};
	return true;
}

static bool parse_labels(struct tsdl *t, struct type *type)
{
	unsigned bits = type->shape.bits - type->shape.is_signed;
	struct labels labels = {.low = type->shape.is_signed ? -((__int128)1 << bits) : 0,
				.high = ((__int128)1 << bits) - 1};
	bool done = true;

	t->pos++;
	do {
		if (labels.said && peek(t)->kind == '}')
			break;
		done = parse_label(t, &labels);
	} while (done && accept_token(t, ','));
	if (done)
		done = expect_token(t, '}', "',' or '}' after the label");
	if (done) {
		type->shape.labels =
			arena_copy(t->arena, labels.items, labels.count, sizeof *labels.items);
		type->shape.nlabels = (uint32_t)labels.count;
	}
	mem_free(labels.items);
	return done;
}

/* [ ":" type ]; without it, the type that is named int */
static bool parse_container(struct tsdl *t, const struct type **out)
{
	struct specifier spec = {.at = peek(t)->at};

	if (accept_token(t, ':')) {
		if (++t->depth > TSDL_MAX_DEPTH)
			return tsdl_fail(t, spec.at, "types are nested too deep");
		bool done = parse_specifier(t, &spec);
		t->depth--;
		if (!done)
			return false;
	} else {
		spec.name = names_intern(&t->names, "int", 3)->text;
		spec.type = find_type(t, WORD_NONE, spec.name);
	}
	if (!specifier_type(t, &spec, out))
		return false;
	return ((*out)->shape.kind == FIELD_INT && !(*out)->shape.is_enum) ||
	       tsdl_fail(t, spec.at, "an enumeration must be of an integer type");
}

static bool parse_enum(struct tsdl *t, struct specifier *out)
{
	const struct type *container = NULL;
	const char *name;

	t->pos++;
	if (!parse_tag_name(t, &name))
		return false;
	if (peek(t)->kind != '{' && peek(t)->kind != ':') {
		if (!name)
			return tsdl_expected(t, "'{', ':' or the name of an enumeration");
		specify_tag(t, WORD_ENUM, name, out);
		return true;
	}
	if (!parse_container(t, &container))
		return false;
	if (peek(t)->kind != '{')
		return tsdl_expected(t, "'{' before the labels");
	struct type *type = type_new(t, FIELD_INT);
	*type = *container;
	type->shape.is_enum = true;
	type->shape.is_text = false;
	if (!parse_labels(t, type))
		return false;
	out->type = type;
	return !name || declare(t, WORD_ENUM, name, type, out->at);
}

static void add_word(struct buf *to, const char *word)
{
	if (to->len)
		buf_add_char(to, ' ');
	buf_add_text(to, word);
}

/* Words of a type's name, joined by blanks; *with_const is NULL when there is no const among them.
 */
static bool parse_words(struct tsdl *t, const char **out, const char **with_const)
{
	struct buf all = {0}, plain = {0};
	bool constant = false, named = false;

	for (;; t->pos++) {
		const struct tsdl_token *token = peek(t);
		bool is_const = is_word(token, WORD_CONST);
		if (!is_const && !is_word(token, WORD_C_TYPE) &&
		    (token->kind != TOKEN_NAME || plain.len))
			break;
		if (named && !is_const)
			break;
		named |= token->kind == TOKEN_NAME;
		constant |= is_const;
		add_word(&all, token->text);
		if (!is_const)
			add_word(&plain, token->text);
	}
	bool done = plain.len || tsdl_expected(t, "a type");
	if (done) {
		*out = names_intern(&t->names, plain.data, plain.len)->text;
		*with_const = constant ? names_intern(&t->names, all.data, all.len)->text : NULL;
	}
	buf_release(&all);
	buf_release(&plain);
	return done;
}

static bool specify_words(struct tsdl *t, struct specifier *out)
{
	const char *with_const;

	if (!parse_words(t, &out->name, &with_const))
		return false;
	out->type = with_const ? find_type(t, WORD_NONE, with_const) : NULL;
	if (out->type)
		out->name = with_const;
	else
		out->type = find_type(t, WORD_NONE, out->name);
	return true;
}

static bool parse_specifier(struct tsdl *t, struct specifier *out)
{
	size_t first = t->pos;
	bool done;

	*out = (struct specifier){.at = peek(t)->at};
	while (is_word(peek(t), WORD_CONST))
		t->pos++;
	switch (peek(t)->kind == TOKEN_KEYWORD ? peek(t)->word : WORD_NONE) {
	case WORD_STRUCT:
		done = parse_struct(t, out);
		break;
	case WORD_VARIANT:
		done = parse_variant(t, out);
		break;
	case WORD_ENUM:
		done = parse_enum(t, out);
		break;
	case WORD_INTEGER:
		done = parse_integer(t, &out->type);
		break;
	case WORD_FLOATING_POINT:
		done = parse_float(t, &out->type);
		break;
	case WORD_STRING:
		done = parse_string(t, &out->type);
		break;
	default:
		t->pos = first;
		done = specify_words(t, out);
	}
	while (done && is_word(peek(t), WORD_CONST))
		t->pos++;
	return done;
}

bool parse_type(struct tsdl *t, const struct type **out)
{
	struct specifier spec;

	return parse_specifier(t, &spec) && specifier_type(t, &spec, out);
}

static bool parse_typedef(struct tsdl *t)
{
	struct specifier spec;

	t->pos++;
	if (!parse_specifier(t, &spec))
		return false;
	do {
		struct declarator d = {0};
		const struct type *type;
		const char *name;
		if (!parse_declarator(t, false, &d) ||
		    !apply_declarator(t, spec, &d, &name, &type) ||
		    !declare(t, WORD_NONE, name, type, d.at))
			return false;
	} while (accept_token(t, ','));
	return true;
}

/* Right of a typealias: words, or the tag of a struct, variant or enum, then stars. */
static bool parse_alias_name(struct tsdl *t, struct specifier *out)
{
	const struct tsdl_token *first = peek(t);
	const char *tag, *with_const;
	uint32_t stars;

	*out = (struct specifier){.at = first->at};
	if (is_word(first, WORD_STRUCT) || is_word(first, WORD_VARIANT) ||
	    is_word(first, WORD_ENUM)) {
		t->pos++;
		if (peek(t)->kind != TOKEN_NAME)
			return tsdl_expected(t, "a name");
		tag = t->tokens[t->pos++].text;
		specify_tag(t, first->word, tag, out);
		if (peek(t)->kind != '*')
			return tsdl_expected(t, "'*': only a pointer to it can be an alias");
	} else if (!parse_words(t, &out->name, &with_const)) {
		return false;
	} else if (with_const) {
		out->name = with_const;
	}
	if (!parse_stars(t, &stars))
		return false;
	while (stars--)
		specifier_point(t, out);
	return true;
}

/* Types that yore itself declares mean what their names say: engine/ctf_own.h. */
static const struct type *with_meaning(struct tsdl *t, const char *name, const struct type *type)
{
	static const char *const prefixes[] = {
		[FORM_BOOL] = OWN_BOOL, [FORM_BITS] = OWN_BITS, [FORM_FLAGS] = OWN_FLAGS};
	struct type *copy;

	if (strncmp(name, OWN_PREFIX, strlen(OWN_PREFIX)) != 0 || type->shape.kind != FIELD_INT)
		return type;
	copy = arena_alloc(t->scratch, sizeof *copy);
	*copy = *type;
	copy->shape.is_blob = strncmp(name, OWN_BLOB, strlen(OWN_BLOB)) == 0;
	for (int form = FORM_BOOL; form <= FORM_FLAGS; form++)
		if (strncmp(name, prefixes[form], strlen(prefixes[form])) == 0)
			copy->shape.form = (enum int_form)form;
	if (copy->shape.form == FORM_FLAGS)
		copy->shape.labels_rise = false;
	return copy;
}

static bool parse_typealias(struct tsdl *t)
{
	struct specifier spec, alias;
	struct declarator d = {0};
	const struct type *type;

	t->pos++;
	return parse_specifier(t, &spec) && parse_declarator(t, true, &d) &&
	       apply_declarator(t, spec, &d, NULL, &type) &&
	       expect_token(t, TOKEN_TYPE_ASSIGN, "':='") && parse_alias_name(t, &alias) &&
	       declare(t, WORD_NONE, alias.name, with_meaning(t, alias.name, type), alias.at);
}

static bool starts_tagged(const struct tsdl *t)
{
	const struct tsdl_token *token = peek(t);

	return is_word(token, WORD_STRUCT) || is_word(token, WORD_VARIANT) ||
	       is_word(token, WORD_ENUM);
}

bool starts_declaration(const struct tsdl *t)
{
	const struct tsdl_token *token = peek(t);

	return (is_word(token, WORD_TYPEDEF) || is_word(token, WORD_TYPEALIAS) ||
		starts_tagged(t)) &&
	       peek_next(t)->kind != '=' && peek_next(t)->kind != '.' &&
	       peek_next(t)->kind != TOKEN_TYPE_ASSIGN;
}

static bool parse_bare_type(struct tsdl *t)
{
	struct specifier spec;
	const struct type *type;

	if (!parse_specifier(t, &spec))
		return false;
	if (peek(t)->kind == TOKEN_END)
		return tsdl_expected(t, "';' after the declaration");
	if (!specifier_type(t, &spec, &type))
		return false;
	while (starts_tagged(t)) {
		tsdl_warn(t, peek(t)->at, "expected ';' before this declaration");
		if (!parse_specifier(t, &spec) || !specifier_type(t, &spec, &type))
			return false;
	}
	return true;
}

bool parse_declaration(struct tsdl *t)
{
	bool done = is_word(peek(t), WORD_TYPEDEF)     ? parse_typedef(t)
		    : is_word(peek(t), WORD_TYPEALIAS) ? parse_typealias(t)
						       : parse_bare_type(t);

	return done && expect_token(t, ';', "';' after the declaration");
}
