/*
 * rfc_type.c - types of the 2010 proposal's language, and what they inherit (proposal, 4)
 *
 * A type is a copy of its parent with some attributes changed; a struct adds fields to its
 * parent's. Names are declared before use, in one flat scope, and override the predeclared ones:
 * intN_t and uintN_t, int, uint, float, double, char, and the eight abstract types.
 */
#include "engine/ctf/rfc_language.h"

#include "engine/base/mem.h"

#include <inttypes.h>
#include <string.h>

enum { ALIGN_MAX = 1 << 20, WIDE_BITS_MAX = 1 << 20, INTEGER_BITS_MAX = 64 };

enum attribute {
	ATTRIBUTE_SIGNED,
	ATTRIBUTE_BYTE_ORDER,
	ATTRIBUTE_SIZE,
	ATTRIBUTE_ALIGN,
	ATTRIBUTE_UNIT_SIZE,
	ATTRIBUTE_EXP_DIG,
	ATTRIBUTE_MANT_DIG,
	ATTRIBUTE_MAP,
	ATTRIBUTE_ENCODING,
	ATTRIBUTE_FIELDS,
	ATTRIBUTE_LENGTH,
	ATTRIBUTE_ELEM_TYPE,
	ATTRIBUTE_LENGTH_TYPE,
	ATTRIBUTE_TAG_TYPE,
	ATTRIBUTE_BASE,
	ATTRIBUTE_MEANING,
	ATTRIBUTE_PARENT
};

enum {
	OF_INTEGERS = 1 << RFC_INTEGER | 1 << RFC_BITFIELD | 1 << RFC_ENUM,
	OF_NUMBERS = OF_INTEGERS | 1 << RFC_FLOAT,
	OF_LISTS = 1 << RFC_ARRAY | 1 << RFC_SEQUENCE,
	OF_CHOICES = 1 << RFC_OPTIONAL | 1 << RFC_VARIANT
};

static const struct {
	const char *name;
	unsigned kinds; /* bits: the kinds of types that have it */
} attributes[] = {
	[ATTRIBUTE_SIGNED] = {"signed", OF_INTEGERS},
	[ATTRIBUTE_BYTE_ORDER] = {"byte_order", OF_NUMBERS},
	[ATTRIBUTE_SIZE] = {"size", OF_INTEGERS},
	[ATTRIBUTE_ALIGN] = {"align", OF_NUMBERS},
	[ATTRIBUTE_UNIT_SIZE] = {"unit_size", 1 << RFC_BITFIELD},
	[ATTRIBUTE_EXP_DIG] = {"exp_dig", 1 << RFC_FLOAT},
	[ATTRIBUTE_MANT_DIG] = {"mant_dig", 1 << RFC_FLOAT},
	[ATTRIBUTE_MAP] = {"map", 1 << RFC_ENUM},
	[ATTRIBUTE_ENCODING] = {"encoding", 1 << RFC_STRING},
	[ATTRIBUTE_FIELDS] = {"fields", 1 << RFC_STRUCT | 1 << RFC_VARIANT},
	[ATTRIBUTE_LENGTH] = {"length", 1 << RFC_ARRAY},
	[ATTRIBUTE_ELEM_TYPE] = {"elem_type", OF_LISTS | 1 << RFC_OPTIONAL},
	[ATTRIBUTE_LENGTH_TYPE] = {"length_type", 1 << RFC_SEQUENCE},
	[ATTRIBUTE_TAG_TYPE] = {"tag_type", OF_CHOICES},
	[ATTRIBUTE_BASE] = {"base", OF_INTEGERS},
	[ATTRIBUTE_MEANING] = {"meaning", OF_INTEGERS | OF_LISTS},
	[ATTRIBUTE_PARENT] = {"parent", ~0u},
};

/* ---- alignment ---- */

uint32_t rfc_natural(const struct rfc *r, uint64_t bits)
{
	if (bits % 8)
		return 1;
	if (bits & (bits - 1))
		return 8;
	return bits < r->word ? (uint32_t)bits : r->word;
}

static uint32_t greater(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

/* Proposal, 4.1.2 and 4.2.1: what is given, else natural; structs are aligned as their fields. */
static void find_boundary(const struct rfc *r, struct rfc_type *type)
{
	uint32_t boundary = 1;

	switch (type->kind) {
	case RFC_INTEGER:
	case RFC_ENUM:
		boundary = type->align ? type->align : rfc_natural(r, type->size);
		break;
	case RFC_BITFIELD:
		boundary = type->align ? type->align : 1;
		break;
	case RFC_FLOAT:
		boundary =
			type->align ? type->align : rfc_natural(r, type->exp_dig + type->mant_dig);
		break;
	case RFC_STRING:
		boundary = 8;
		break;
	case RFC_STRUCT:
		for (uint32_t i = 0; i < type->nmembers; i++)
			boundary = greater(boundary, type->members[i].type->boundary);
		break;
	case RFC_ARRAY:
	case RFC_SEQUENCE:
		if (type->element)
			boundary = type->element->boundary;
		if (type->length_type)
			boundary = greater(boundary, type->length_type->boundary);
		break;
	case RFC_OPTIONAL:
	case RFC_VARIANT: /* the option is aligned behind the tag */
		boundary = type->tag_type ? type->tag_type->boundary : 1;
		break;
	}
	type->boundary = boundary;
}

/* ---- names ---- */

static struct rfc_type *type_new_of(struct rfc *r, enum rfc_kind kind)
{
	struct rfc_type *type = arena_alloc(r->t.scratch, sizeof *type);

	type->kind = kind;
	type->big_endian = r->t.out->big_endian;
	type->depth = 1;
	return type;
}

/* Returns N of intN_t and uintN_t; 0: another name. */
static uint64_t bits_of_name(const char *name, bool *is_signed)
{
	*is_signed = *name != 'u';
	name += *name == 'u';
	if (strncmp(name, "int", 3) != 0)
		return 0;
	name += 3;
	uint64_t bits = decimal_take(&name, NULL);
	return strcmp(name, "_t") || bits > INTEGER_BITS_MAX ? 0 : bits;
}

static struct rfc_type *predeclare(struct rfc *r, const char *name)
{
	static const char *const abstract[] = {
		"integer", "gcc_bitfield", "floating_point", "enum",    "string", "struct",
		"array",   "sequence",     "optional",       "variant", NULL};
	static const char *const concrete[] = {"int", "uint", "char", "float", "double", NULL};
	enum { INT, UINT, CHAR, FLOAT, DOUBLE };
	int i = attribute_index(abstract, name);
	struct rfc_type *type;
	bool is_signed = false;

	if (i >= 0) {
		type = type_new_of(r, (enum rfc_kind)(RFC_INTEGER + i));
		type->is_abstract = type->kind != RFC_STRING; /* which lacks no attribute */
		return type;
	}
	i = attribute_index(concrete, name);
	uint64_t bits = i == INT || i == UINT ? 32 : i == CHAR ? 8 : bits_of_name(name, &is_signed);
	if (bits) {
		type = type_new_of(r, RFC_INTEGER);
		type->size = bits;
		type->is_signed = i < 0 ? is_signed : i != UINT;
		type->is_text = i == CHAR;
		return type;
	}
	if (i != FLOAT && i != DOUBLE)
		return NULL;
	type = type_new_of(r, RFC_FLOAT);
	type->exp_dig = i == FLOAT ? 8 : 11;
	type->mant_dig = i == FLOAT ? 24 : 53;
	return type;
}

const struct rfc_type *rfc_predeclared(struct rfc *r, const char *name)
{
	uintptr_t found;

	if (names_find(&r->t.names, &r->predeclared, name_key(name), &found))
		return (const struct rfc_type *)found;
	struct rfc_type *type = predeclare(r, name);
	if (!type)
		return NULL;
	find_boundary(r, type);
	names_add(&r->t.names, &r->predeclared, name_key(name), (uintptr_t)type);
	return type;
}

/* Consumes the name of a type and returns the type; NULL and the error: there is none. */
static const struct rfc_type *find_type(struct rfc *r)
{
	static const char *const undefined[] = {"vector", "complex", "_Complex",
						"_Fract", "_Accum",  NULL};
	const struct tsdl_token *token = peek(&r->t);
	const char *name = rfc_word(token);
	const struct rfc_type *type;
	uintptr_t found;

	if (!*name)
		return tsdl_expected(&r->t, "a type"), NULL;
	r->t.pos++;
	if (names_find(&r->t.names, &r->types, name_key(name), &found))
		return (const struct rfc_type *)found;
	type = rfc_predeclared(r, name);
	if (type)
		return type;
	if (attribute_index(undefined, name) >= 0)
		tsdl_fail(&r->t, token->at,
			  "the requirements name the type %s, and nothing defines it", name);
	else
		tsdl_fail(&r->t, token->at, "no type %.100s is declared before this", name);
	return NULL;
}

/* ---- attributes ---- */

static bool set_number(struct rfc *r, const char *what, uint64_t *out)
{
	struct tsdl_value value;

	return parse_value(&r->t, &value) && value_unsigned(&r->t, &value, what, out);
}

static bool set_align(struct rfc *r, struct rfc_type *type)
{
	uint32_t at = peek(&r->t)->at;
	uint64_t align;

	if (!set_number(r, "an alignment", &align))
		return false;
	if (!align || (align & (align - 1)) || align > ALIGN_MAX)
		return tsdl_fail(&r->t, at, "an alignment must be a power of two up to %d bits",
				 ALIGN_MAX);
	type->align = (uint32_t)align;
	return true;
}

static bool set_byte_order(struct rfc *r, struct rfc_type *type)
{
	static const char *const words[] = {"le", "native", "be", "network", NULL};
	uint32_t at = peek(&r->t)->at;
	const char *word;

	if (!rfc_parse_word(r, "native, network, be or le", &word))
		return false;
	int i = attribute_index(words, word);
	if (i < 0)
		return tsdl_fail(&r->t, at, "expected native, network, be or le");
	type->big_endian = i == 1 ? r->t.out->big_endian : i >= 2;
	return true;
}

static bool check_encoding(struct rfc *r)
{
	static const char *const words[] = {"UTF8", "ASCII", NULL};
	uint32_t at = peek(&r->t)->at;
	const char *word;

	return rfc_parse_word(r, "UTF8 or ASCII", &word) &&
	       (attribute_index(words, word) >= 0 ||
		tsdl_fail(&r->t, at, "expected UTF8 or ASCII"));
}

static bool parse_bound(struct rfc *r, uint64_t *out, bool *negative)
{
	struct tsdl *t = &r->t;
	struct tsdl_value value;

	if (!parse_value(t, &value))
		return false;
	if (value.kind != VALUE_INT)
		return tsdl_fail(t, value.at, "expected an integer");
	if (value.negative && value.magnitude > UINT64_C(1) << 63)
		return tsdl_fail(t, value.at, "this integer needs more than 64 bits");
	*negative = value.negative && value.magnitude;
	*out = value.negative ? 0 - value.magnitude : value.magnitude;
	return true;
}

static bool is_backwards(const struct rfc_label *label)
{
	if (label->low_negative != label->high_negative)
		return label->high_negative;
	return label->low > label->high;
}

/* `{ VALUE, NAME }`, ours: `{ VALUE ... VALUE, NAME }` */
static bool parse_label(struct rfc *r, struct rfc_label *out)
{
	struct tsdl *t = &r->t;

	if (!expect_token(t, '{', "'{' before a value and its name"))
		return false;
	out->at = peek(t)->at;
	if (!parse_bound(r, &out->low, &out->low_negative))
		return false;
	out->high = out->low;
	out->high_negative = out->low_negative;
	if (accept_token(t, TOKEN_ELLIPSIS) && !parse_bound(r, &out->high, &out->high_negative))
		return false;
	if (is_backwards(out))
		return tsdl_fail(t, out->at, "the range ends before it begins");
	accept_token(t, ',');
	if (!rfc_parse_word(r, "a name for the value", &out->name))
		return false;
	accept_token(t, ',');
	return expect_token(t, '}', "'}' behind a value and its name");
}

static bool set_map(struct rfc *r, struct rfc_type *type)
{
	struct rfc_label *labels = NULL;
	size_t n = 0, capacity = 0;
	bool done = expect_token(&r->t, '{', "'{'");

	while (done && !accept_token(&r->t, '}')) {
		done = parse_label(r, mem_push(labels, n, capacity));
		accept_token(&r->t, ',');
	}
	type->labels = arena_copy(r->t.scratch, labels, n, sizeof *labels);
	type->nlabels = (uint32_t)n;
	mem_free(labels);
	return done;
}

/* Whatever contains `inner` is nested one deeper. */
static bool nest(struct rfc *r, struct rfc_type *type, const struct rfc_type *inner)
{
	if (inner->depth >= type->depth)
		type->depth = inner->depth + 1;
	return type->depth <= RFC_MAX_DEPTH ||
	       tsdl_fail(&r->t, peek(&r->t)->at, "types are nested over %d deep", RFC_MAX_DEPTH);
}

bool rfc_parse_member(struct rfc *r, struct rfc_member *out)
{
	struct tsdl *t = &r->t;

	if (!expect_token(t, '{', "'{' before a field's type and name") ||
	    !rfc_parse_type(r, &out->type))
		return false;
	accept_token(t, ',');
	if (!rfc_parse_word(r, "a field's name", &out->name))
		return false;
	accept_token(t, ',');
	return expect_token(t, '}', "'}' behind a field's type and name");
}

static bool set_fields(struct rfc *r, struct rfc_type *type)
{
	struct rfc_member *members = NULL;
	size_t n = 0, capacity = 0;
	bool done = expect_token(&r->t, '{', "'{'");

	for (; n < type->nmembers; n++) { /* the parent's */
		members = mem_grow(members, n, &capacity, sizeof *members);
		members[n] = type->members[n];
		names_add(&r->t.names, type, name_key(members[n].name), 0);
	}
	while (done && !accept_token(&r->t, '}')) {
		uint32_t at = peek(&r->t)->at;
		members = mem_grow(members, n, &capacity, sizeof *members);
		done = rfc_parse_member(r, &members[n]) && nest(r, type, members[n].type);
		if (done && !names_add(&r->t.names, type, name_key(members[n].name), 0))
			done = tsdl_fail(&r->t, at, "a field %.100s is there already",
					 members[n].name);
		n++;
		accept_token(&r->t, ',');
	}
	type->members = arena_copy(r->t.scratch, members, n, sizeof *members);
	type->nmembers = (uint32_t)n;
	mem_free(members);
	return done;
}

static bool set_inner(struct rfc *r, struct rfc_type *type, const struct rfc_type **out)
{
	return rfc_parse_type(r, out) && nest(r, type, *out);
}

static bool set_base(struct rfc *r, struct rfc_type *type)
{
	uint32_t at = peek(&r->t)->at;
	uint64_t base;

	if (!set_number(r, "a base", &base))
		return false;
	if (base != 2 && base != 8 && base != 10 && base != 16)
		return tsdl_fail(&r->t, at, "a base is 2, 8, 10 or 16");
	type->base = (uint8_t)base;
	return true;
}

static bool set_meaning(struct rfc *r, struct rfc_type *type)
{
	static const char *const words[] = {"number", "boolean", "bits", "flags", "blob", NULL};
	uint32_t at = peek(&r->t)->at;
	const char *word;

	if (!rfc_parse_word(r, "a meaning", &word))
		return false;
	int i = attribute_index(words, word);
	if (i < 0 || (i == MEANS_BLOB) != (OF_LISTS >> type->kind & 1))
		return tsdl_fail(&r->t, at,
				 "expected number, boolean, bits or flags of an integer, "
				 "blob of an array or sequence");
	type->meaning = (enum rfc_meaning)i;
	return true;
}

static bool set_attribute(struct rfc *r, enum attribute attribute, struct rfc_type *type)
{
	struct tsdl_value value;

	switch (attribute) {
	case ATTRIBUTE_SIGNED:
		return parse_value(&r->t, &value) && value_bool(&r->t, &value, &type->is_signed);
	case ATTRIBUTE_BYTE_ORDER:
		return set_byte_order(r, type);
	case ATTRIBUTE_SIZE:
		return set_number(r, "a size", &type->size);
	case ATTRIBUTE_ALIGN:
		return set_align(r, type);
	case ATTRIBUTE_UNIT_SIZE:
		return set_number(r, "unit_size", &type->unit_size);
	case ATTRIBUTE_EXP_DIG:
		return set_number(r, "exp_dig", &type->exp_dig);
	case ATTRIBUTE_MANT_DIG:
		return set_number(r, "mant_dig", &type->mant_dig);
	case ATTRIBUTE_MAP:
		return set_map(r, type);
	case ATTRIBUTE_ENCODING:
		return check_encoding(r);
	case ATTRIBUTE_FIELDS:
		return set_fields(r, type);
	case ATTRIBUTE_LENGTH:
		type->has_length = true;
		return set_number(r, "a length", &type->length);
	case ATTRIBUTE_ELEM_TYPE:
		return set_inner(r, type, &type->element);
	case ATTRIBUTE_LENGTH_TYPE:
		return set_inner(r, type, &type->length_type);
	case ATTRIBUTE_TAG_TYPE:
		return set_inner(r, type, &type->tag_type);
	case ATTRIBUTE_BASE:
		return set_base(r, type);
	case ATTRIBUTE_MEANING:
		return set_meaning(r, type);
	case ATTRIBUTE_PARENT:
		r->t.pos++; /* find_parent() has seen it */
		return true;
	}
	return false;
}

/* One attribute; a leading dot may stand before its name. */
static bool parse_attribute(struct rfc *r, struct rfc_type *type, unsigned *seen)
{
	struct tsdl *t = &r->t;
	enum { COUNT = sizeof attributes / sizeof *attributes };
	unsigned i = 0;

	accept_token(t, '.');
	const struct tsdl_token *token = peek(t);
	const char *name = rfc_word(token);
	if (!*name)
		return tsdl_expected(t, "an attribute");
	t->pos++;
	if (!expect_token(t, '=', "'='"))
		return false;
	while (i < COUNT && strcmp(attributes[i].name, name) != 0)
		i++;
	if (i == COUNT || !(attributes[i].kinds >> type->kind & 1)) {
		tsdl_warn(t, token->at, "unknown attribute %.100s", name);
		return rfc_skip_value(r);
	}
	if (*seen >> i & 1)
		return tsdl_fail(t, token->at, "%s is given twice", name);
	*seen |= 1u << i;
	return set_attribute(r, (enum attribute)i, type) && rfc_end_value(r);
}

/* ---- declarations ---- */

/* Searches the attributes of the body that begins here, not of nested bodies, for its parent. */
static bool find_parent(struct rfc *r, const char *name, const struct rfc_type **out)
{
	struct tsdl *t = &r->t;
	size_t begin = t->pos, depth = 0;
	bool is_float = false;

	for (size_t i = begin; t->tokens[i].kind != TOKEN_END; i++) {
		const struct tsdl_token *token = &t->tokens[i];
		if (token->kind == '}' && !depth--)
			break;
		depth += token->kind == '{';
		if (depth || token[1].kind != '=')
			continue;
		is_float |= !strcmp(rfc_word(token), "exp_dig");
		if (strcmp(rfc_word(token), "parent") != 0)
			continue;
		t->pos = i + 2;
		*out = find_type(r);
		t->pos = begin;
		return *out;
	}
	/* the proposal's own examples leave it out, of `float` and of the abstract types */
	if (is_float)
		name = names_intern(&t->names, "floating_point", strlen("floating_point"))->text;
	*out = name ? rfc_predeclared(r, name) : NULL;
	return *out || tsdl_fail(t, peek(t)->at, "a type needs a parent");
}

static bool check_integer(struct rfc *r, const struct rfc_type *type, uint32_t at)
{
	uint64_t unit = type->unit_size;
	uint64_t most = type->kind == RFC_INTEGER ? WIDE_BITS_MAX : INTEGER_BITS_MAX;

	if (!type->size)
		return tsdl_fail(&r->t, at, "this integer has no size");
	if (type->size > most)
		return tsdl_fail(&r->t, at, "over %" PRIu64 " bits", most);
	if (type->kind != RFC_BITFIELD)
		return true;
	if (!unit || (unit & (unit - 1)) || unit > INTEGER_BITS_MAX)
		return tsdl_fail(&r->t, at, "unit_size must be a power of two up to %d bits",
				 INTEGER_BITS_MAX);
	return type->size <= unit ||
	       tsdl_fail(&r->t, at, "%" PRIu64 " bits do not fit in a unit of %" PRIu64, type->size,
			 unit);
}

static bool check_float(struct rfc *r, const struct rfc_type *type, uint32_t at)
{
	static const uint64_t formats[][2] = {{5, 11}, {8, 24}, {11, 53}, {15, 113}};

	for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
		if (type->exp_dig == formats[i][0] && type->mant_dig == formats[i][1])
			return true;
	return tsdl_fail(&r->t, at,
			 "no format of IEEE 754 has exp_dig %" PRIu64 " and mant_dig %" PRIu64,
			 type->exp_dig, type->mant_dig);
}

/* Checks the type of a length or tag. */
static bool check_count(struct rfc *r, const struct rfc_type *type, const char *what, uint32_t at)
{
	if (!type)
		return tsdl_fail(&r->t, at, "%s_type is missing", what);
	if (!(OF_INTEGERS >> type->kind & 1) || type->is_signed || type->meaning != MEANS_NUMBER ||
	    type->size > INTEGER_BITS_MAX)
		return tsdl_fail(&r->t, at, "a %s is an unsigned integer of up to %d bits", what,
				 INTEGER_BITS_MAX);
	return true;
}

static bool check_list(struct rfc *r, const struct rfc_type *type, uint32_t at)
{
	if (!type->element)
		return tsdl_fail(&r->t, at, "elem_type is missing");
	if (type->meaning == MEANS_BLOB &&
	    (type->element->kind != RFC_INTEGER || type->element->size != 8))
		return tsdl_fail(&r->t, at, "a blob has elements of 8 bits");
	if (type->kind == RFC_ARRAY)
		return type->has_length || tsdl_fail(&r->t, at, "length is missing");
	return check_count(r, type->length_type, "length", at);
}

static bool check_choice(struct rfc *r, const struct rfc_type *type, uint32_t at)
{
	if (type->kind == RFC_OPTIONAL && !type->element)
		return tsdl_fail(&r->t, at, "elem_type is missing");
	if (type->kind == RFC_VARIANT && !type->nmembers)
		return tsdl_fail(&r->t, at, "a variant has fields to choose from");
	return check_count(r, type->tag_type, "tag", at);
}

/* Does the type have all attributes that a binary representation needs? */
static bool check_type(struct rfc *r, const struct rfc_type *type, uint32_t at)
{
	switch (type->kind) {
	case RFC_INTEGER:
	case RFC_BITFIELD:
	case RFC_ENUM:
		return check_integer(r, type, at);
	case RFC_FLOAT:
		return check_float(r, type, at);
	case RFC_ARRAY:
	case RFC_SEQUENCE:
		return check_list(r, type, at);
	case RFC_OPTIONAL:
	case RFC_VARIANT:
		return check_choice(r, type, at);
	case RFC_STRING:
	case RFC_STRUCT:
		break;
	}
	return true;
}

/* At the '{' of a type of that name, NULL: nameless. */
static bool parse_body(struct rfc *r, const char *name, bool is_abstract,
		       const struct rfc_type **out)
{
	struct tsdl *t = &r->t;
	uint32_t at = peek(t)->at;
	size_t first = t->pos;
	const struct rfc_type *parent;
	unsigned seen = 0;

	if (!expect_token(t, '{', "'{'"))
		return false;
	if (r->depth++ >= RFC_MAX_DEPTH)
		return tsdl_fail(t, at, "types are nested over %d deep", RFC_MAX_DEPTH);
	if (!find_parent(r, name, &parent))
		return false;
	if (is_abstract && !parent->is_abstract && parent->kind != RFC_STRING)
		return tsdl_fail(t, at, "an abstract type inherits from abstract types alone");
	struct rfc_type *type = arena_alloc(t->scratch, sizeof *type);
	*type = *parent;
	type->is_abstract = is_abstract;
	while (!accept_token(t, '}'))
		if (!parse_attribute(r, type, &seen))
			return false;
	r->depth--;
	type->first = first;
	type->end = t->pos;
	find_boundary(r, type);
	*out = type;
	return is_abstract || check_type(r, type, at);
}

bool rfc_parse_type(struct rfc *r, const struct rfc_type **out)
{
	struct tsdl *t = &r->t;
	const struct tsdl_token *token = peek(t);

	if (!strcmp(rfc_word(token), "type") && peek_next(t)->kind == '{') {
		t->pos++;
		return parse_body(r, NULL, false, out);
	}
	*out = find_type(r);
	return *out &&
	       (!(*out)->is_abstract ||
		tsdl_fail(t, token->at, "%.100s is abstract: a type is to be derived from it",
			  rfc_word(token)));
}

/* Word by word. */
static bool are_alike(const struct rfc *r, const struct rfc_type *a, const struct rfc_type *b)
{
	const struct tsdl_token *tokens = r->t.tokens;

	if (a->is_abstract != b->is_abstract || a->end - a->first != b->end - b->first)
		return false;
	for (size_t i = 0; i < a->end - a->first; i++) {
		const struct tsdl_token *x = &tokens[a->first + i], *y = &tokens[b->first + i];
		bool has_text = x->kind != TOKEN_INT && x->kind >= TOKEN_NAME;
		if (x->kind != y->kind || (has_text && x->text != y->text) ||
		    (x->kind == TOKEN_INT && x->number != y->number))
			return false;
	}
	return true;
}

bool rfc_declare_type(struct rfc *r)
{
	struct tsdl *t = &r->t;
	bool is_abstract = !strcmp(rfc_word(peek(t)), "abstract_type"), is_signed;
	const struct rfc_type *type;
	uintptr_t found;

	t->pos++;
	uint32_t at = peek(t)->at;
	const char *name = rfc_word(peek(t));
	if (!*name)
		return tsdl_expected(t, "the name of a type");
	t->pos++;
	if (!parse_body(r, name, is_abstract, &type))
		return false;
	accept_token(t, ';');
	uint64_t bits = bits_of_name(name, &is_signed);
	if (bits && OF_INTEGERS >> type->kind & 1 && type->size && type->size != bits)
		tsdl_warn(t, at, "%s has %" PRIu64 " bits", name, type->size);
	if (names_add(&t->names, &r->types, name_key(name), (uintptr_t)type))
		return true;
	names_find(&t->names, &r->types, name_key(name), &found);
	return are_alike(r, (const struct rfc_type *)found, type) ||
	       tsdl_fail(t, at, "the type %.100s is declared otherwise before this", name);
}

/* Sets r->word: by `arch_align`, else to the greatest `align` of all declarations, at most 64. */
void rfc_find_word(struct rfc *r)
{
	static const char *const words[] = {"packed", "natural32", "natural64", NULL};
	static const uint32_t bits[] = {RFC_PACKED, 32, 64};
	uint64_t most = RFC_PACKED;
	int asked = -1;

	for (size_t i = 0; i + 2 < r->t.ntokens; i++) {
		const struct tsdl_token *token = &r->t.tokens[i];
		if (token[1].kind != '=')
			continue;
		if (!strcmp(rfc_word(token), "align") && token[2].kind == TOKEN_INT &&
		    token[2].number > most && !(token[2].number & (token[2].number - 1)))
			most = token[2].number;
		if (!strcmp(rfc_word(token), "arch_align"))
			asked = attribute_index(words, rfc_word(&token[2]));
	}
	r->word = asked >= 0 ? bits[asked] : most < 64 ? (uint32_t)most : 64;
}
