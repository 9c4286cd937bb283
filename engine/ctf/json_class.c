/*
 * json_class.c - field classes to nodes: every use of an alias becomes a tree of its own
 *
 * The tree of a scope is built in the order of decoding. The frames are the unfinished nodes, from
 * the scope's root to the current one; a field location may refer to them and to finished nodes.
 */
#include "engine/ctf/ctf2.h"

#include "engine/base/mem.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { NODES_AT_LEAST = 1 << 20, BYTE = 8 };

enum kind {
	BIT_ARRAY,
	BIT_MAP,
	BOOLEAN,
	UINT,
	SINT,
	FLOAT,
	VAR_UINT,
	VAR_SINT,
	ENDED_STRING,
	STATIC_STRING,
	DYNAMIC_STRING,
	STATIC_BLOB,
	DYNAMIC_BLOB,
	STRUCTURE,
	STATIC_ARRAY,
	DYNAMIC_ARRAY,
	OPTIONAL,
	VARIANT
};

static const struct kind_name {
	const char *name;
	enum kind kind;
	enum dialect dialect;
} kinds[] = {
	{"fixed-length-bit-array", BIT_ARRAY, DIALECT_ANY},
	{"fixed-length-bit-map", BIT_MAP, DIALECT_ANY},
	{"fixed-length-boolean", BOOLEAN, DIALECT_ANY},
	{"fixed-length-unsigned-integer", UINT, DIALECT_ANY},
	{"fixed-length-signed-integer", SINT, DIALECT_ANY},
	{"fixed-length-floating-point-number", FLOAT, DIALECT_ANY},
	{"variable-length-unsigned-integer", VAR_UINT, DIALECT_ANY},
	{"variable-length-signed-integer", VAR_SINT, DIALECT_ANY},
	{"null-terminated-string", ENDED_STRING, DIALECT_ANY},
	{"static-length-string", STATIC_STRING, DIALECT_ANY},
	{"dynamic-length-string", DYNAMIC_STRING, DIALECT_ANY},
	{"static-length-blob", STATIC_BLOB, DIALECT_ANY},
	{"dynamic-length-blob", DYNAMIC_BLOB, DIALECT_ANY},
	{"structure", STRUCTURE, DIALECT_ANY},
	{"static-length-array", STATIC_ARRAY, DIALECT_ANY},
	{"dynamic-length-array", DYNAMIC_ARRAY, DIALECT_ANY},
	{"optional", OPTIONAL, DIALECT_ANY},
	{"variant", VARIANT, DIALECT_ANY},
	{"fixed-length-unsigned-enumeration", UINT, DIALECT_RC7},
	{"fixed-length-signed-enumeration", SINT, DIALECT_RC7},
	{"variable-length-unsigned-enumeration", VAR_UINT, DIALECT_RC7},
	{"variable-length-signed-enumeration", VAR_SINT, DIALECT_RC7},
};

#define BIT(kind) (UINT32_C(1) << (kind))
#define FIXED (BIT(BIT_ARRAY) | BIT(BIT_MAP) | BIT(BOOLEAN) | BIT(UINT) | BIT(SINT) | BIT(FLOAT))
#define NUMBERS (BIT(UINT) | BIT(SINT) | BIT(VAR_UINT) | BIT(VAR_SINT))
#define STRINGS (BIT(ENDED_STRING) | BIT(STATIC_STRING) | BIT(DYNAMIC_STRING))
#define BLOBS (BIT(STATIC_BLOB) | BIT(DYNAMIC_BLOB))
#define STATICS (BIT(STATIC_STRING) | BIT(STATIC_BLOB) | BIT(STATIC_ARRAY))
#define DYNAMICS (BIT(DYNAMIC_STRING) | BIT(DYNAMIC_BLOB) | BIT(DYNAMIC_ARRAY))
#define ARRAYS (BIT(STATIC_ARRAY) | BIT(DYNAMIC_ARRAY))

enum {
	P_LENGTH,
	P_BYTE_ORDER,
	P_BIT_ORDER,
	P_ALIGNMENT,
	P_FLAGS,
	P_BASE,
	P_MAPPINGS,
	P_ROLES,
	P_ENCODING,
	P_LENGTH_LOCATION,
	P_MEDIA_TYPE,
	P_MEMBERS,
	P_MINIMUM_ALIGNMENT,
	P_ELEMENT,
	P_FIELD_CLASS,
	P_SELECTOR,
	P_RANGES,
	P_OPTIONS,
	P_PROPERTIES
};

static const struct property table[P_PROPERTIES] = {
	[P_LENGTH] = {"length", VALUE_UNSIGNED, 0, FIXED | STATICS, FIXED | STATICS},
	[P_BYTE_ORDER] = {"byte-order", VALUE_STRING, 0, FIXED, FIXED},
	[P_BIT_ORDER] = {"bit-order", VALUE_STRING, 0, FIXED, 0},
	[P_ALIGNMENT] = {"alignment", VALUE_UNSIGNED, 0, FIXED, 0},
	[P_FLAGS] = {"flags", VALUE_OBJECT, 0, BIT(BIT_MAP), BIT(BIT_MAP)},
	[P_BASE] = {"preferred-display-base", VALUE_UNSIGNED, 0, NUMBERS, 0},
	[P_MAPPINGS] = {"mappings", VALUE_OBJECT, 0, NUMBERS, 0},
	[P_ROLES] = {"roles", VALUE_ARRAY, 0, BIT(UINT) | BIT(VAR_UINT) | BIT(STATIC_BLOB), 0},
	[P_ENCODING] = {"encoding", VALUE_STRING, 0, STRINGS, 0},
	[P_LENGTH_LOCATION] = {"length-field-location", VALUE_ARRAY_OR_OBJECT, 0, DYNAMICS,
			       DYNAMICS},
	[P_MEDIA_TYPE] = {"media-type", VALUE_STRING, 0, BLOBS, 0},
	[P_MEMBERS] = {"member-classes", VALUE_ARRAY, 0, BIT(STRUCTURE), 0},
	[P_MINIMUM_ALIGNMENT] = {"minimum-alignment", VALUE_UNSIGNED, 0, BIT(STRUCTURE) | ARRAYS,
				 0},
	[P_ELEMENT] = {"element-field-class", VALUE_STRING_OR_OBJECT, 0, ARRAYS, ARRAYS},
	[P_FIELD_CLASS] = {"field-class", VALUE_STRING_OR_OBJECT, 0, BIT(OPTIONAL), BIT(OPTIONAL)},
	[P_SELECTOR] = {"selector-field-location", VALUE_ARRAY_OR_OBJECT, 0,
			BIT(OPTIONAL) | BIT(VARIANT), BIT(OPTIONAL) | BIT(VARIANT)},
	[P_RANGES] = {"selector-field-ranges", VALUE_ARRAY, 0, BIT(OPTIONAL), 0},
	[P_OPTIONS] = {"options", VALUE_ARRAY, 0, BIT(VARIANT), BIT(VARIANT)},
};

static struct arena *memory(const struct ctf2 *t)
{
	return t->dry ? t->scratch : t->arena;
}

static bool new_node(struct ctf2 *t, const struct item *item, enum field_kind kind,
		     struct field_class **out)
{
	struct field_class *node = arena_alloc(memory(t), sizeof *node);

	if (++t->nodes > NODES_AT_LEAST + t->size)
		return item_fail(t, item, "the field classes of this stream are too large");
	node->kind = kind;
	node->align = 1;
	node->clock = -1;
	node->base = 10;
	*out = node;
	return true;
}

static bool push(struct ctf2 *t, const struct item *item, struct field_class *node)
{
	if (t->nframes > CTF2_MAX_DEPTH)
		return item_fail(t, item, "field classes are nested more than %d deep",
				 CTF2_MAX_DEPTH);
	t->frames[t->nframes++] = (struct json_frame){node, 0};
	return true;
}

/* ---- scalars ---- */

static bool take_alignment(struct ctf2 *t, const struct item *item, uint32_t *out)
{
	uint64_t bits = *out;

	if (!item_unsigned(t, item, 1, UINT64_C(1) << 31, &bits))
		return false;
	if (bits & (bits - 1))
		return item_fail(t, item, "%" PRIu64 " is no power of two", bits);
	*out = (uint32_t)bits;
	return true;
}

/* "Fixed-length bit array field class": without a bit order it is that of the byte order. */
static bool take_order(struct ctf2 *t, const struct item *p, struct field_class *node)
{
	static const char *const byte_orders[] = {"little-endian", "big-endian", NULL};
	static const char *const bit_orders[] = {"first-to-last", "last-to-first", NULL};
	unsigned byte_order = 0, bit_order;

	if (!item_word(t, &p[P_BYTE_ORDER], byte_orders, &byte_order))
		return false;
	bit_order = byte_order;
	if (!item_word(t, &p[P_BIT_ORDER], bit_orders, &bit_order))
		return false;
	node->big_endian = byte_order;
	node->is_reversed = bit_order != byte_order;
	return true;
}

static bool take_base(struct ctf2 *t, const struct item *item, struct field_class *node)
{
	uint64_t base = node->base;

	if (!item_unsigned(t, item, 2, 16, &base))
		return false;
	if (base != 2 && base != 8 && base != 10 && base != 16)
		return item_fail(t, item, "%" PRIu64 " is none of 2, 8, 10 and 16", base);
	node->base = (uint8_t)base;
	return true;
}

/* ---- ranges ---- */

struct label_list {
	struct enum_label *items;
	uint32_t count;
	size_t capacity;
};

enum range_of { RANGE_UNSIGNED, RANGE_SIGNED, RANGE_EITHER };

/* Reads one bound of a range. Sets *fits to false if it is negative and the range unsigned. */
static bool take_end(struct ctf2 *t, const struct item *pair, size_t i, enum range_of of,
		     uint64_t *out, bool *fits)
{
	struct item end = item_element(pair, i);
	bool negative = item_is(&end, VALUE_INTEGER) && !item_is(&end, VALUE_UNSIGNED);
	int64_t number = 0;

	if (of == RANGE_SIGNED || negative) {
		*fits = *fits && (of != RANGE_UNSIGNED || !negative);
		if (!item_integer(t, &end, &number))
			return false;
		*out = (uint64_t)number;
		return end.value || item_fail(t, &end, "expected an integer");
	}
	return end.value ? item_unsigned(t, &end, 0, UINT64_MAX, out)
			 : item_fail(t, &end, "expected an integer");
}

/*
 * Adds the ranges of an array of pairs under that name. A negative bound in a range of an unsigned
 * integer is an error; if `lenient` (ranges only name values), a warning, and the range is dropped.
 */
static bool add_ranges(struct ctf2 *t, const struct item *array, const char *name, enum range_of of,
		       bool lenient, struct label_list *out)
{
	if (!item_is(array, VALUE_ARRAY) || !item_count(array))
		return item_fail(t, array, "expected an array of ranges that is not empty");
	for (size_t i = 0; i < item_count(array); i++) {
		struct item pair = item_element(array, i);
		uint64_t low = 0, high = 0;
		bool fits = true;
		if (!item_is(&pair, VALUE_ARRAY) || item_count(&pair) != 2)
			return item_fail(t, &pair, "expected a lowest and a highest value");
		if (!take_end(t, &pair, 0, of, &low, &fits) ||
		    !take_end(t, &pair, 1, of, &high, &fits))
			return false;
		if (!fits && !lenient)
			return item_fail(t, &pair, "negative, but the integer has no sign");
		if (!fits) {
			item_warn(t, &pair, "negative, but the integer has no sign: never matches");
			continue;
		}
		if (of == RANGE_SIGNED ? (int64_t)low > (int64_t)high
				       : of == RANGE_UNSIGNED && low > high)
			return item_fail(t, &pair, "the range ends before it begins");
		*mem_push(out->items, out->count, out->capacity) =
			(struct enum_label){name, low, high};
	}
	return true;
}

static bool above(uint64_t a, uint64_t b, bool is_signed)
{
	return is_signed ? (int64_t)a > (int64_t)b : a > b;
}

static int by_low(const void *a, const void *b, void *of)
{
	uint64_t x = ((const struct enum_label *)a)->low, y = ((const struct enum_label *)b)->low;
	bool is_signed = *(const bool *)of;

	return above(x, y, is_signed) - above(y, x, is_signed);
}

/* Joins overlapping ranges of one name, from `first` on, so that a value has the name once. */
static void join_ranges(struct label_list *ranges, uint32_t first, bool is_signed)
{
	uint32_t n = 0, count = ranges->count - first;

	if (!count)
		return;
	struct enum_label *items = ranges->items + first;
	qsort_r(items, count, sizeof *items, by_low, &is_signed);
	for (uint32_t i = 0; i < count; i++) {
		if (!n || above(items[i].low, items[n - 1].high, is_signed))
			items[n++] = items[i];
		else if (above(items[i].high, items[n - 1].high, is_signed))
			items[n - 1].high = items[i].high;
	}
	ranges->count = first + n;
}

static const struct enum_label *keep_labels(struct ctf2 *t, struct label_list *ranges, bool done)
{
	struct enum_label *items = arena_array(memory(t), ranges->count, sizeof *items);

	if (done && ranges->count)
		memcpy(items, ranges->items, ranges->count * sizeof *items);
	mem_free(ranges->items);
	return items;
}

static bool take_mappings(struct ctf2 *t, const struct item *item, struct field_class *node)
{
	struct label_list ranges = {0};
	bool done = true;

	if (!item->value)
		return true;
	json_object_object_foreach(item->value, key, value)
	{
		const struct item inner = {value, item, key, 0};
		const char *name = names_intern(&t->names, key, strlen(key))->text;
		uint32_t first = ranges.count;
		done = add_ranges(t, &inner, name, node->is_signed ? RANGE_SIGNED : RANGE_UNSIGNED,
				  true, &ranges);
		if (!done)
			break;
		join_ranges(&ranges, first, node->is_signed);
	}
	node->nlabels = ranges.count;
	node->labels = keep_labels(t, &ranges, done);
	node->is_enum = node->nlabels > 0;
	return done;
}

/* One label for each flag; its `low` is the mask of its bits. */
static bool take_flags(struct ctf2 *t, const struct item *item, struct field_class *node)
{
	struct enum_label *labels = arena_array(
		memory(t), (size_t)json_object_object_length(item->value) + 1, sizeof *labels);

	json_object_object_foreach(item->value, key, value)
	{
		const struct item inner = {value, item, key, 0};
		const char *name = names_intern(&t->names, key, strlen(key))->text;
		struct label_list ranges = {0};
		uint64_t mask = 0;
		bool done = add_ranges(t, &inner, name, RANGE_UNSIGNED, false, &ranges);
		for (uint32_t i = 0; i < ranges.count; i++)
			for (uint64_t bit = ranges.items[i].low;
			     bit < node->bits && bit <= ranges.items[i].high; bit++)
				mask |= UINT64_C(1) << bit;
		mem_free(ranges.items);
		if (!done)
			return false;
		if (!mask)
			item_warn(t, &inner, "no bit of the field: never set");
		labels[node->nlabels++] = (struct enum_label){name, mask, mask};
	}
	node->labels = labels;
	node->is_enum = true;
	return node->nlabels || item_fail(t, item, "a bit map without flags");
}

/* ---- roles ---- */

struct role_name {
	const char *name;
	uint16_t role;
	uint8_t scopes; /* 1 << scope */
	bool clock, blob;
};

static const struct role_name role_names[] = {
	{"packet-magic-number", ROLE_MAGIC, 1 << SCOPE_PACKET_HEADER, false, false},
	{"metadata-stream-uuid", ROLE_UUID, 1 << SCOPE_PACKET_HEADER, false, true},
	{"data-stream-class-id", ROLE_STREAM_ID, 1 << SCOPE_PACKET_HEADER, false, false},
	{"data-stream-id", ROLE_STREAM_INSTANCE, 1 << SCOPE_PACKET_HEADER, false, false},
	{"packet-total-length", ROLE_PACKET_SIZE, 1 << SCOPE_PACKET_CONTEXT, false, false},
	{"packet-content-length", ROLE_CONTENT_SIZE, 1 << SCOPE_PACKET_CONTEXT, false, false},
	{"default-clock-timestamp", ROLE_BEGIN, 1 << SCOPE_PACKET_CONTEXT | 1 << SCOPE_EVENT_HEADER,
	 true, false},
	{"packet-end-default-clock-timestamp", ROLE_END, 1 << SCOPE_PACKET_CONTEXT, true, false},
	{"discarded-event-record-counter-snapshot", ROLE_DISCARDED, 1 << SCOPE_PACKET_CONTEXT,
	 false, false},
	{"packet-sequence-number", ROLE_SEQUENCE, 1 << SCOPE_PACKET_CONTEXT, false, false},
	{"event-record-class-id", ROLE_EVENT_ID, 1 << SCOPE_EVENT_HEADER, false, false},
	{NULL, 0, 0, false, false},
};

static bool in_array(const struct ctf2 *t)
{
	for (unsigned i = 0; i < t->nframes; i++)
		if (t->frames[i].node->kind == FIELD_ARRAY ||
		    t->frames[i].node->kind == FIELD_SEQUENCE)
			return true;
	return false;
}

static bool take_role(struct ctf2 *t, const struct item *item, struct field_class *node)
{
	const struct role_name *role = role_names;
	const char *name = NULL;

	if (!item->value)
		return item_fail(t, item, "expected a string");
	if (!item_string(t, item, &name))
		return false;
	while (role->name && strcmp(role->name, name) != 0)
		role++;
	if (!role->name || t->dry)
		return true; /* other roles may be anybody's */
	if (role->blob != (node->kind == FIELD_ARRAY))
		return item_fail(t, item, "%s is no role of this field class", name);
	if (!(role->scopes >> t->scope & 1) || in_array(t)) {
		item_warn(t, item, "%s has no effect here", name);
		return true;
	}
	if (role->clock && t->clock < 0)
		return item_fail(t, item, "%s, but the data stream class has no default clock",
				 name);
	if (role->role == ROLE_UUID && node->length != 16)
		return item_fail(t, item, "%s is of 16 bytes", name);
	if (role->role == ROLE_UUID && !t->out->has_uuid)
		return item_fail(t, item, "%s, but the preamble has no uuid", name);
	node->roles |= role->role;
	if (role->clock)
		node->clock = t->clock;
	return true;
}

static bool take_roles(struct ctf2 *t, const struct item *array, struct field_class *node)
{
	for (size_t i = 0; i < item_count(array); i++) {
		struct item role = item_element(array, i);
		if (!take_role(t, &role, node))
			return false;
	}
	return true;
}

/* ---- integers, floats ---- */

enum { LONG_FLOAT = 128 }; /* bits from which a float is shown as its bytes */

/* IEEE 754 interchange formats of 128 bits and more: the bytes as they are. */
static bool build_long_float(struct ctf2 *t, const struct item *item, struct field_class *node,
			     uint64_t bits)
{
	if (bits % 32 || bits > 1 << 16)
		return item_fail(t, item, "a float of %" PRIu64 " bits is none of IEEE 754", bits);
	if (node->is_reversed || node->align < BYTE)
		return item_fail(t, item, "a float of %" PRIu64 " bits is read as whole bytes only",
				 bits);
	node->kind = FIELD_ARRAY;
	node->is_blob = true;
	node->length = bits / BYTE;
	if (!new_node(t, item, FIELD_INT, &node->element))
		return false;
	node->element->bits = node->element->align = BYTE;
	node->element->big_endian = node->big_endian;
	return true;
}

enum { SCALAR_BITS_MAX = 64, WIDE_BITS_MAX = 1 << 20 };

/* What is wider than a register: an array, of bytes where it can be, else of bits. */
static bool build_wide(struct ctf2 *t, const struct item *item, const struct item *p,
		       struct field_class *node, uint64_t bits)
{
	static const int scalars[] = {P_MAPPINGS, P_ROLES};
	static const char *const names[] = {"mappings", "roles"};

	for (size_t i = 0; i < sizeof scalars / sizeof *scalars; i++)
		if (p[scalars[i]].value)
			return item_fail(t, &p[scalars[i]],
					 "an integer of %" PRIu64 " bits has no %s", bits,
					 names[i]);
	if (node->is_reversed)
		return item_fail(t, item,
				 "an integer of %" PRIu64
				 " bits is read in the bit order of its byte order only",
				 bits);
	bool bytes = bits % BYTE == 0;
	node->kind = FIELD_ARRAY;
	node->is_wide = true;
	node->length = bytes ? bits / BYTE : bits;
	if (!new_node(t, item, FIELD_INT, &node->element))
		return false;
	node->element->bits = bytes ? BYTE : 1;
	node->element->align = bytes && node->align % BYTE == 0 ? BYTE : 1;
	node->element->base = 16;
	node->element->big_endian = node->big_endian;
	return true;
}

/* Returns the greatest length in bits of a field class of that kind. */
static uint64_t most_bits(enum kind kind)
{
	if (kind == FLOAT)
		return UINT32_MAX;
	return kind == UINT || kind == SINT || kind == BIT_ARRAY ? WIDE_BITS_MAX : SCALAR_BITS_MAX;
}

static bool build_fixed(struct ctf2 *t, const struct item *item, const struct item *p,
			enum kind kind, struct field_class *node)
{
	static const enum int_form forms[] = {[BIT_ARRAY] = FORM_BITS,
					      [BIT_MAP] = FORM_FLAGS,
					      [BOOLEAN] = FORM_BOOL,
					      [UINT] = FORM_NUMBER,
					      [SINT] = FORM_NUMBER};
	uint64_t bits = 0;

	if (!item_unsigned(t, &p[P_LENGTH], 1, most_bits(kind), &bits) ||
	    !take_alignment(t, &p[P_ALIGNMENT], &node->align) || !take_order(t, p, node))
		return false;
	node->bits = (uint32_t)bits;
	if (kind == FLOAT) {
		node->kind = FIELD_FLOAT;
		if (bits >= LONG_FLOAT)
			return build_long_float(t, item, node, bits);
		return bits == 16 || bits == 32 || bits == 64 ||
		       item_fail(t, &p[P_LENGTH], "a float of %" PRIu64 " bits is none of IEEE 754",
				 bits);
	}
	if (bits > SCALAR_BITS_MAX)
		return build_wide(t, item, p, node, bits);
	node->form = forms[kind];
	node->is_signed = kind == SINT;
	if (kind == BIT_ARRAY || kind == BIT_MAP)
		node->base = 16;
	if (kind == BIT_MAP)
		return take_flags(t, &p[P_FLAGS], node);
	return take_base(t, &p[P_BASE], node) && take_mappings(t, &p[P_MAPPINGS], node) &&
	       take_roles(t, &p[P_ROLES], node);
}

static bool build_variable(struct ctf2 *t, const struct item *p, enum kind kind,
			   struct field_class *node)
{
	node->is_variable = true;
	node->is_signed = kind == VAR_SINT;
	node->bits = 64;
	node->align = BYTE;
	return take_base(t, &p[P_BASE], node) && take_mappings(t, &p[P_MAPPINGS], node) &&
	       take_roles(t, &p[P_ROLES], node);
}

/* ---- strings, BLOBs ---- */

static bool build_bytes(struct ctf2 *t, const struct item *item, const struct item *p,
			enum kind kind, struct field_class *node)
{
	static const char *const encodings[] = {"utf-8",    "utf-16be", "utf-16le",
						"utf-32be", "utf-32le", NULL};
	bool blob = kind == STATIC_BLOB || kind == DYNAMIC_BLOB;
	bool dynamic = kind == DYNAMIC_STRING || kind == DYNAMIC_BLOB;
	unsigned encoding = 0;

	node->align = BYTE;
	if (!item_word(t, &p[P_ENCODING], encodings, &encoding))
		return false;
	if (kind == ENDED_STRING && !encoding) {
		node->kind = FIELD_STRING;
		return true;
	}
	node->kind = dynamic ? FIELD_SEQUENCE : FIELD_ARRAY;
	node->place = kind == ENDED_STRING ? PLACE_ENDED : PLACE_HERE;
	node->encoding = (enum text_encoding)encoding;
	node->is_blob = blob;
	if (!new_node(t, item, FIELD_INT, &node->element))
		return false;
	node->element->bits = node->element->align = BYTE;
	node->element->is_text = !blob;
	if (blob)
		node->media_type = "application/octet-stream";
	return item_string(t, &p[P_MEDIA_TYPE], &node->media_type) &&
	       item_unsigned(t, &p[P_LENGTH], 0, UINT64_MAX, &node->length) &&
	       take_roles(t, &p[P_ROLES], node) &&
	       (!dynamic || location_resolve(t, &p[P_LENGTH_LOCATION], LOCATION_LENGTH, node));
}

/* ---- what holds others ---- */

enum { MEMBER_NAME, MEMBER_CLASS, MEMBER_RANGES, MEMBER_PROPERTIES };
enum { OF_STRUCTURE, OF_VARIANT };

static const struct property member_table[MEMBER_PROPERTIES] = {
	[MEMBER_NAME] = {"name", VALUE_STRING, 0, BIT(OF_STRUCTURE) | BIT(OF_VARIANT),
			 BIT(OF_STRUCTURE)},
	[MEMBER_CLASS] = {"field-class", VALUE_STRING_OR_OBJECT, 0,
			  BIT(OF_STRUCTURE) | BIT(OF_VARIANT), BIT(OF_STRUCTURE) | BIT(OF_VARIANT)},
	[MEMBER_RANGES] = {"selector-field-ranges", VALUE_ARRAY, 0, BIT(OF_VARIANT),
			   BIT(OF_VARIANT)},
};

/* Properties of member or option i; its name is unique among them. */
static bool take_member(struct ctf2 *t, const struct item *element, unsigned of,
			struct field_class *node, uint32_t i, struct item *p)
{
	const char *name = NULL;

	if (!item_properties(t, element, of, member_table, MEMBER_PROPERTIES, p) ||
	    !item_string(t, &p[MEMBER_NAME], &name))
		return false;
	if (name && !names_add(&t->names, node, name_key(name), i))
		return item_fail(t, &p[MEMBER_NAME], "%.100s is there already", name);
	node->members[i].name = node->members[i].written = name;
	return true;
}

static bool build_structure(struct ctf2 *t, const struct item *item, const struct item *p,
			    struct field_class *node)
{
	size_t count = item_count(&p[P_MEMBERS]);

	node->kind = FIELD_STRUCT;
	node->members = arena_array(memory(t), count, sizeof *node->members);
	if (!take_alignment(t, &p[P_MINIMUM_ALIGNMENT], &node->align) || !push(t, item, node))
		return false;
	for (uint32_t i = 0; i < count; i++) {
		struct item element = item_element(&p[P_MEMBERS], i), own[MEMBER_PROPERTIES];
		struct json_frame *frame = &t->frames[t->nframes - 1];
		struct field_class **slot = &node->members[i].class;
		frame->current = i;
		if (!take_member(t, &element, OF_STRUCTURE, node, i, own))
			return false;
		node->nmembers = i + 1;
		if (!class_build(t, &own[MEMBER_CLASS], slot))
			return false;
		if ((*slot)->align > node->align)
			node->align = (*slot)->align;
	}
	t->nframes--;
	return true;
}

static bool build_array(struct ctf2 *t, const struct item *item, const struct item *p,
			enum kind kind, struct field_class *node)
{
	node->kind = kind == DYNAMIC_ARRAY ? FIELD_SEQUENCE : FIELD_ARRAY;
	if (!take_alignment(t, &p[P_MINIMUM_ALIGNMENT], &node->align) ||
	    !item_unsigned(t, &p[P_LENGTH], 0, UINT64_MAX, &node->length) ||
	    (kind == DYNAMIC_ARRAY &&
	     !location_resolve(t, &p[P_LENGTH_LOCATION], LOCATION_LENGTH, node)) ||
	    !push(t, item, node) || !class_build(t, &p[P_ELEMENT], &node->element))
		return false;
	if (node->element->align > node->align)
		node->align = node->element->align;
	t->nframes--;
	return true;
}

static enum range_of selector_ranges(const struct field_class *node)
{
	if (!node->ref) /* an alias that is only looked at */
		return RANGE_EITHER;
	return node->ref->is_signed ? RANGE_SIGNED : RANGE_UNSIGNED;
}

/* "Optional field class": a boolean selects what is true, an integer what is in the ranges. */
static bool optional_ranges(struct ctf2 *t, const struct item *item, const struct item *ranges_item,
			    struct field_class *node)
{
	bool boolean = node->ref && node->ref->form == FORM_BOOL;
	struct label_list ranges = {0};
	bool done = true;

	if (boolean && ranges_item->value)
		return item_fail(t, ranges_item, "a boolean selector has no ranges");
	if (!boolean && !ranges_item->value && !t->dry)
		return item_fail(t, item,
				 "the selector is an integer: "
				 "selector-field-ranges is missing");
	if (boolean) {
		ranges.items = mem_grow(NULL, 0, &ranges.capacity, sizeof *ranges.items);
		ranges.items[ranges.count++] = (struct enum_label){"", 1, UINT64_MAX};
	} else if (ranges_item->value) {
		done = add_ranges(t, ranges_item, "", selector_ranges(node), false, &ranges);
	}
	node->members[0].nranges = ranges.count;
	node->members[0].ranges = keep_labels(t, &ranges, done);
	return done;
}

static bool build_optional(struct ctf2 *t, const struct item *item, const struct item *p,
			   struct field_class *node)
{
	node->kind = FIELD_VARIANT;
	node->is_optional = true;
	node->members = arena_array(memory(t), 1, sizeof *node->members);
	node->members[0].name = node->members[0].written = "";
	if (!location_resolve(t, &p[P_SELECTOR], LOCATION_SELECTOR, node) ||
	    !optional_ranges(t, item, &p[P_RANGES], node))
		return false;
	node->nmembers = 1;
	if (!push(t, item, node) || !class_build(t, &p[P_FIELD_CLASS], &node->members[0].class))
		return false;
	t->nframes--;
	return true;
}

/* No value selects two options. */
static bool check_overlap(struct ctf2 *t, const struct item *item, const struct field_class *node)
{
	bool is_signed = node->ref && node->ref->is_signed, done = true;
	struct label_list all = {0};

	for (uint32_t i = 0; i < node->nmembers; i++)
		for (uint32_t k = 0; k < node->members[i].nranges; k++) {
			*mem_push(all.items, all.count, all.capacity) = node->members[i].ranges[k];
			all.items[all.count - 1].name = (const char *)&node->members[i];
		}
	if (all.count)
		qsort_r(all.items, all.count, sizeof *all.items, by_low, &is_signed);
	for (uint32_t i = 1; i < all.count && done; i++)
		if (!above(all.items[i].low, all.items[i - 1].high, is_signed) &&
		    all.items[i].name != all.items[i - 1].name)
			done = item_fail(t, item, "the ranges of two options overlap");
	mem_free(all.items);
	return done;
}

static bool take_option(struct ctf2 *t, const struct item *options, struct field_class *node,
			uint32_t i, struct item *field_class)
{
	struct item element = item_element(options, i), *kept, p[MEMBER_PROPERTIES];
	struct label_list ranges = {0};

	if (!take_member(t, &element, OF_VARIANT, node, i, p))
		return false;
	bool done = add_ranges(t, &p[MEMBER_RANGES], "", selector_ranges(node), false, &ranges);
	join_ranges(&ranges, 0, node->ref && node->ref->is_signed);
	node->members[i].nranges = ranges.count;
	node->members[i].ranges = keep_labels(t, &ranges, done);
	*field_class = p[MEMBER_CLASS];
	kept = arena_alloc(t->scratch, sizeof *kept); /* its way is told when the class is wrong */
	*kept = element;
	field_class->up = kept;
	return done;
}

/* An option without a name is shown under its number. */
static void name_options(struct ctf2 *t, struct field_class *node)
{
	for (uint32_t i = 0; i < node->nmembers; i++) {
		struct member *option = &node->members[i];
		const char *tail = "";
		while (!option->name) {
			const char *name = arena_printf(t->scratch, "%" PRIu32 "%s", i, tail);
			name = names_intern(&t->names, name, strlen(name))->text;
			if (names_add(&t->names, node, name_key(name), i))
				option->name = option->written = name;
			tail = arena_printf(t->scratch, "%s_", tail);
		}
	}
}

static bool build_variant(struct ctf2 *t, const struct item *item, const struct item *p,
			  struct field_class *node)
{
	uint32_t count = (uint32_t)item_count(&p[P_OPTIONS]);
	struct item *classes = arena_array(t->scratch, count, sizeof *classes);

	node->kind = FIELD_VARIANT;
	node->members = arena_array(memory(t), count, sizeof *node->members);
	if (!count)
		return item_fail(t, &p[P_OPTIONS], "a variant without options");
	if (!location_resolve(t, &p[P_SELECTOR], LOCATION_SELECTOR, node))
		return false;
	if (node->ref && node->ref->form == FORM_BOOL)
		return item_fail(t, &p[P_SELECTOR], "the selector of a variant is no integer");
	for (uint32_t i = 0; i < count; i++)
		if (!take_option(t, &p[P_OPTIONS], node, i, &classes[i]))
			return false;
	node->nmembers = count;
	name_options(t, node);
	if (!check_overlap(t, &p[P_OPTIONS], node) || !push(t, item, node))
		return false;
	for (uint32_t i = 0; i < count; i++) {
		t->frames[t->nframes - 1].current = i;
		if (!class_build(t, &classes[i], &node->members[i].class))
			return false;
	}
	t->nframes--;
	return true;
}

/* ---- any of them ---- */

static bool find_kind(struct ctf2 *t, const struct item *item, enum kind *out)
{
	struct item type = {NULL, item, "type", 0};
	const char *name = NULL;

	json_object_object_get_ex(item->value, "type", &type.value);
	if (!type.value)
		return item_fail(t, item, "type is missing");
	if (!item_string(t, &type, &name))
		return false;
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (!strcmp(kinds[i].name, name)) {
			*out = kinds[i].kind;
			return item_dialect(t, &type, kinds[i].dialect, kinds[i].name);
		}
	return item_fail(t, &type, "the field class %.100s is not known", name);
}

static bool build_kind(struct ctf2 *t, const struct item *item, enum kind kind,
		       struct field_class *node)
{
	struct item p[P_PROPERTIES];

	if (!item_properties(t, item, kind, table, P_PROPERTIES, p))
		return false;
	switch (kind) {
	case BIT_ARRAY:
	case BIT_MAP:
	case BOOLEAN:
	case UINT:
	case SINT:
	case FLOAT:
		return build_fixed(t, item, p, kind, node);
	case VAR_UINT:
	case VAR_SINT:
		return build_variable(t, p, kind, node);
	case ENDED_STRING:
	case STATIC_STRING:
	case DYNAMIC_STRING:
	case STATIC_BLOB:
	case DYNAMIC_BLOB:
		return build_bytes(t, item, p, kind, node);
	case STRUCTURE:
		return build_structure(t, item, p, node);
	case STATIC_ARRAY:
	case DYNAMIC_ARRAY:
		return build_array(t, item, p, kind, node);
	case OPTIONAL:
		return build_optional(t, item, p, node);
	case VARIANT:
		return build_variant(t, item, p, node);
	}
	return false;
}

/* The field class that an alias's name stands for; an alias may name another one. */
static bool find_alias(struct ctf2 *t, const struct item *item, struct item *out)
{
	const char *name = NULL;
	uintptr_t index;

	*out = *item;
	for (size_t steps = 0; item_is(out, VALUE_STRING); steps++) {
		if (!item_string(t, out, &name))
			return false;
		if (steps > t->naliases ||
		    !names_find(&t->names, alias_space(t), name_key(name), &index))
			return item_fail(t, item, "no field class alias %.100s before this", name);
		*out = (struct item){t->aliases[index], item, name, 0};
	}
	return true;
}

bool class_build(struct ctf2 *t, const struct item *item, struct field_class **out)
{
	struct field_class *node = NULL;
	struct item class;
	enum kind kind = STRUCTURE;

	if (!item->value)
		return item_fail(t, item, "expected a field class");
	if (!find_alias(t, item, &class))
		return false;
	if (!item_is(&class, VALUE_OBJECT))
		return item_fail(t, item, "expected a field class");
	if (!find_kind(t, &class, &kind) || !new_node(t, &class, FIELD_INT, &node))
		return false;
	*out = node;
	return build_kind(t, &class, kind, node);
}

bool class_scope(struct ctf2 *t, enum scope scope, const struct item *item,
		 struct field_class **out)
{
	t->scope = (int)scope;
	t->nframes = 0;
	t->roots[scope] = NULL;
	*out = NULL;
	if (!item->value)
		return true;
	if (!class_build(t, item, &t->roots[scope]))
		return false;
	*out = t->roots[scope];
	return (*out)->kind == FIELD_STRUCT || item_fail(t, item, "this is no structure");
}
