/*
 * values.c - formats bytes of a DWARF type as a debugger prints the value
 *
 *     42   -1.5   0x4040a0 <items>   97 'a'   "text"   RED   {id = 3, tag = "it0"}   {1, 2, 3}
 *
 * Each byte has a state: known, not collected, or optimized out. For a part whose bytes are not all
 * known, its state is printed, as <not collected>; the other parts are printed as values.
 *
 * The file may be damaged, so the nesting of types, the number of elements and the length of the
 * text are limited, and each size is compared with the number of bytes.
 */
#include "engine/base/cursor.h"
#include "engine/base/quote.h"
#include "engine/symbols/dwarf/debug.h"

#include <dwarf.h>
#include <inttypes.h>

enum { TYPE_DEPTH = 20, PEEL_MAX = 64, ELEMENTS_SHOWN = 200, TEXT_MAX = 1 << 16, DIMENSIONS = 16 };

/* Replaces a typedef or qualified type by the type that it names; false: there is none. */
static bool value_peel(Dwarf_Die *type)
{
	Dwarf_Attribute attribute;

	for (unsigned i = 0; i < PEEL_MAX; i++)
		switch (dwarf_tag(type)) {
		case DW_TAG_typedef:
		case DW_TAG_const_type:
		case DW_TAG_volatile_type:
		case DW_TAG_restrict_type:
		case DW_TAG_atomic_type:
		case DW_TAG_immutable_type:
		case DW_TAG_packed_type:
		case DW_TAG_shared_type:
			if (!dwarf_attr(type, DW_AT_type, &attribute) ||
			    !dwarf_formref_die(&attribute, type))
				return false;
			break;
		default:
			return true;
		}
	return false;
}

bool value_type(Dwarf_Die *die, Dwarf_Die *out)
{
	Dwarf_Attribute attribute;

	return dwarf_attr_integrate(die, DW_AT_type, &attribute) &&
	       dwarf_formref_die(&attribute, out) && value_peel(out);
}

static bool unsigned_of(Dwarf_Die *die, unsigned name, uint64_t *out)
{
	Dwarf_Attribute attribute;
	Dwarf_Word value;

	if (!dwarf_attr(die, name, &attribute) || dwarf_formudata(&attribute, &value) != 0)
		return false;
	*out = value;
	return true;
}

/* ---- sizes ---- */

/* Elements of an array in one direction; false: not known. */
static bool count_of(const struct value_context *context, Dwarf_Die *range, uint64_t *out)
{
	Dwarf_Attribute attribute;
	uint64_t low = 0, high;

	unsigned_of(range, DW_AT_lower_bound, &low);
	if (dwarf_attr(range, DW_AT_count, &attribute))
		return context->number(context->arg, &attribute, out);
	if (!dwarf_attr(range, DW_AT_upper_bound, &attribute) ||
	    !context->number(context->arg, &attribute, &high))
		return false;
	*out = high + 1 - low;
	return (int64_t)*out >= 0;
}

struct dimensions {
	uint64_t counts[DIMENSIONS];
	size_t n;
};

static bool dimensions_of(const struct value_context *context, Dwarf_Die *type,
			  struct dimensions *out)
{
	Dwarf_Die child;

	out->n = 0;
	if (dwarf_child(type, &child) != 0)
		return false;
	do {
		if (dwarf_tag(&child) != DW_TAG_subrange_type)
			continue;
		if (out->n == DIMENSIONS || !count_of(context, &child, &out->counts[out->n++]))
			return false;
	} while (dwarf_siblingof(&child, &child) == 0);
	return out->n != 0;
}

static bool size_of(const struct value_context *context, Dwarf_Die *type, unsigned depth,
		    uint64_t *out)
{
	struct dimensions all;
	Dwarf_Die element;

	if (unsigned_of(type, DW_AT_byte_size, out))
		return true;
	switch (dwarf_tag(type)) {
	case DW_TAG_pointer_type:
	case DW_TAG_reference_type:
	case DW_TAG_rvalue_reference_type:
		*out = context->address_bytes;
		return true;
	case DW_TAG_array_type:
		break;
	default:
		return false;
	}
	if (depth == TYPE_DEPTH || !value_type(type, &element) ||
	    !size_of(context, &element, depth + 1, out) || !dimensions_of(context, type, &all))
		return false;
	for (size_t i = 0; i < all.n; i++)
		if (__builtin_mul_overflow(*out, all.counts[i], out))
			return false;
	return true;
}

bool value_size(const struct value_context *context, Dwarf_Die *type, uint64_t *out)
{
	return size_of(context, type, 0, out);
}

/* ---- what is known ---- */

/* The state that all of the bytes have, MIXED when they differ. */
enum { MIXED = BYTE_STATES };

static unsigned state_of(const uint8_t *states, uint64_t size)
{
	for (uint64_t i = 1; i < size; i++)
		if (states[i] != states[0])
			return MIXED;
	return size ? states[0] : BYTE_KNOWN;
}

static const char *const state_texts[] = {[BYTE_UNKNOWN] = "<not collected>",
					  [BYTE_ABSENT] = "<optimized out>",
					  [BYTE_POINTER] = "<synthetic pointer>",
					  [BYTE_ENTRY] = "<value at entry, which the caller has>",
					  [BYTE_ODD] = "<location not understood>"};

/* ---- numbers ---- */

static uint64_t load_number(const struct value_context *context, const uint8_t *bytes,
			    unsigned size)
{
	return context->big_endian ? load_be(bytes, size) : load_le(bytes, size);
}

static int64_t extend(uint64_t value, unsigned bits)
{
	unsigned unused = 64 - bits;

	return bits ? (int64_t)(value << unused) >> unused : 0;
}

static void put_bytes(const uint8_t *bytes, uint64_t size, struct buf *out)
{
	buf_add_char(out, '<');
	for (uint64_t i = 0; i < size && i < ELEMENTS_SHOWN; i++)
		buf_printf(out, i ? " %02x" : "%02x", bytes[i]);
	buf_add_text(out, size > ELEMENTS_SHOWN ? " ...>" : ">");
}

/* Prints a NaN with its payload bits, as GDB does. */
static bool put_nan(uint64_t bits, unsigned fraction, unsigned width, struct buf *out)
{
	uint64_t low = bits & ((UINT64_C(1) << fraction) - 1);
	uint64_t exponent = (UINT64_C(1) << (width - 1 - fraction)) - 1;

	if (!low || (bits >> fraction & exponent) != exponent)
		return false;
	buf_printf(out, "%snan(0x%" PRIx64 ")", bits >> (width - 1) ? "-" : "", low);
	return true;
}

static void put_float(const struct value_context *context, const uint8_t *bytes, uint64_t size,
		      struct buf *out)
{
	uint64_t bits = size == 4 || size == 8 ? load_number(context, bytes, (unsigned)size) : 0;
	uint32_t narrow = (uint32_t)bits;
	float single;
	double wide;

	if ((size == 4 && put_nan(bits, 23, 32, out)) || (size == 8 && put_nan(bits, 52, 64, out)))
		return;
	if (size == 4) {
		memcpy(&single, &narrow, sizeof single);
		quote_number(out, "%.9g", (double)single);
	} else if (size == 8) {
		memcpy(&wide, &bits, sizeof wide);
		quote_number(out, "%.17g", wide);
#ifdef __x86_64__
	} else if (size == 16 && !context->big_endian && context->is_x86) {
		long double extended = 0; /* 80 bits of the 16 bytes */
		memcpy(&extended, bytes, 10);
		quote_number(out, "%.21Lg", extended);
#endif
	} else {
		put_bytes(bytes, size, out);
	}
}

/* A character as C writes it: 97 'a'. */
static void put_character(int64_t value, struct buf *out)
{
	char c = (char)value;

	buf_printf(out, "%" PRId64 " '", value);
	if (c == '\'' || c == '\\')
		buf_printf(out, "\\%c", c);
	else if (c >= ' ' && c <= '~')
		buf_add_char(out, c);
	else
		buf_printf(out, "\\%03o", (unsigned)(uint8_t)c);
	buf_add_char(out, '\'');
}

/* `bits` fewer than the bytes have: of a bit field. */
static void put_integer(uint64_t value, unsigned bits, uint64_t encoding, struct buf *out)
{
	bool is_signed = encoding == DW_ATE_signed || encoding == DW_ATE_signed_char;

	if (encoding == DW_ATE_boolean && value <= 1)
		buf_add_text(out, value ? "true" : "false");
	else if (encoding == DW_ATE_signed_char || encoding == DW_ATE_unsigned_char)
		put_character(is_signed ? extend(value, bits) : (int64_t)value, out);
	else if (is_signed)
		buf_add_i64(out, extend(value, bits));
	else
		buf_add_u64(out, value);
}

static void put_base(const struct value_context *context, Dwarf_Die *type, const uint8_t *bytes,
		     uint64_t size, struct buf *out)
{
	uint64_t encoding = 0;

	unsigned_of(type, DW_AT_encoding, &encoding);
	switch (encoding) {
	case DW_ATE_float:
		put_float(context, bytes, size, out);
		return;
	case DW_ATE_complex_float:
		put_float(context, bytes, size / 2, out);
		buf_add_text(out, " + ");
		put_float(context, bytes + size / 2, size / 2, out);
		buf_add_char(out, 'i');
		return;
	case DW_ATE_signed:
	case DW_ATE_signed_char:
	case DW_ATE_unsigned:
	case DW_ATE_unsigned_char:
	case DW_ATE_boolean:
	case DW_ATE_UTF:
	case DW_ATE_address:
		if (size && size <= 8) {
			put_integer(load_number(context, bytes, (unsigned)size), (unsigned)size * 8,
				    encoding, out);
			return;
		}
		break;
	default:
		break;
	}
	put_bytes(bytes, size, out);
}

/* The enumerator of the value; none: the number. */
static void put_enum(Dwarf_Die *type, uint64_t value, unsigned bits, struct buf *out)
{
	Dwarf_Attribute attribute;
	Dwarf_Die child;
	Dwarf_Sword constant;
	uint64_t mask = bits < 64 ? (UINT64_C(1) << bits) - 1 : UINT64_MAX;

	if (dwarf_child(type, &child) == 0) {
		do {
			const char *name = dwarf_diename(&child);
			if (dwarf_tag(&child) != DW_TAG_enumerator || !name ||
			    !dwarf_attr(&child, DW_AT_const_value, &attribute) ||
			    dwarf_formsdata(&attribute, &constant) != 0 ||
			    (((uint64_t)constant ^ value) & mask))
				continue;
			buf_add_text(out, name);
			return;
		} while (dwarf_siblingof(&child, &child) == 0);
	}
	buf_add_i64(out, extend(value, bits));
}

/* ---- pointers ---- */

static bool is_character(Dwarf_Die *type)
{
	uint64_t encoding = 0, size = 0;

	return dwarf_tag(type) == DW_TAG_base_type && unsigned_of(type, DW_AT_byte_size, &size) &&
	       size == 1 && unsigned_of(type, DW_AT_encoding, &encoding) &&
	       (encoding == DW_ATE_signed_char || encoding == DW_ATE_unsigned_char);
}

/* The text at an address, as far as it is known; false: not even its first byte. */
static bool put_text_at(const struct value_context *context, uint64_t address, struct buf *out)
{
	uint8_t bytes[ELEMENTS_SHOWN], states[ELEMENTS_SHOWN] = {0};
	size_t n = 0;

	context->memory(context->arg, address, sizeof bytes, bytes, states);
	while (n < sizeof bytes && states[n] == BYTE_KNOWN && bytes[n])
		n++;
	if (!n && states[0] != BYTE_KNOWN)
		return false;
	buf_add_char(out, ' ');
	quote_text(out, bytes, n);
	if (n == sizeof bytes || states[n] != BYTE_KNOWN)
		buf_add_text(out, "...");
	return true;
}

static void put_pointer(const struct value_context *context, Dwarf_Die *type, uint64_t address,
			struct buf *out)
{
	Dwarf_Die to;

	buf_printf(out, "0x%" PRIx64, address);
	context->name(context->arg, address, out);
	if (address && value_type(type, &to) && is_character(&to))
		put_text_at(context, address, out);
}

/* ---- parts ---- */

struct value_bytes {
	const uint8_t *data, *states;
	uint64_t size;
	bool known; /* all of them */
};

static struct value_bytes values_part_of(const struct value_bytes *whole, uint64_t at,
					 uint64_t size)
{
	return (struct value_bytes){whole->data + at, whole->states + at, size, whole->known};
}

/* Says why the bytes are not known; false: they are. MIXED is said of what has no parts. */
static bool say_state(const struct value_bytes *bytes, bool has_parts, struct buf *out)
{
	unsigned state = bytes->known ? BYTE_KNOWN : state_of(bytes->states, bytes->size);

	if (state == BYTE_KNOWN || (state == MIXED && has_parts))
		return false;
	buf_add_text(out, state_texts[state == MIXED ? BYTE_UNKNOWN : state]);
	return true;
}

static void values_put(const struct value_context *context, Dwarf_Die *type,
		       const struct value_bytes *bytes, unsigned depth, struct buf *out);

/* Where a member begins, in bits. */
static bool member_place(Dwarf_Die *member, const struct value_context *context, uint64_t *bit,
			 uint64_t *bits)
{
	uint64_t at = 0, offset, storage;
	Dwarf_Attribute attribute;
	Dwarf_Die type;

	*bits = 0;
	if (dwarf_attr(member, DW_AT_data_member_location, &attribute) &&
	    !unsigned_of(member, DW_AT_data_member_location, &at))
		return false; /* it depends on the object: a virtual base */
	if (at > UINT64_MAX / 8)
		return false;
	*bit = at * 8;
	if (!unsigned_of(member, DW_AT_bit_size, bits))
		return true;
	if (!*bits || *bits > 64)
		return false;
	if (unsigned_of(member, DW_AT_data_bit_offset, &offset)) {
		*bit = offset;
		return true;
	}
	if (!unsigned_of(member, DW_AT_bit_offset, &offset))
		return true;
	/* DWARF 2 and 3: from the most significant bit of the storage unit */
	if (!unsigned_of(member, DW_AT_byte_size, &storage) &&
	    (!value_type(member, &type) || !value_size(context, &type, &storage)))
		return false;
	if (storage > 8 || offset + *bits > storage * 8)
		return false;
	*bit += context->big_endian ? offset : storage * 8 - offset - *bits;
	return true;
}

static void put_bit_field(const struct value_context *context, Dwarf_Die *type,
			  const struct value_bytes *bytes, uint64_t bit, unsigned bits,
			  struct buf *out)
{
	uint64_t encoding = 0, value = 0;

	if (bit / 8 >= bytes->size || (bit + bits + 7) / 8 > bytes->size) {
		buf_add_text(out, state_texts[BYTE_ODD]);
		return;
	}
	struct value_bytes own = values_part_of(bytes, bit / 8, (bit + bits + 7) / 8 - bit / 8);
	if (say_state(&own, false, out))
		return;
	for (unsigned i = 0; i < bits; i++) {
		uint64_t at = bit + i;
		unsigned within = at % 8;
		unsigned one =
			bytes->data[at / 8] >> (context->big_endian ? 7 - within : within) & 1;
		value |= (uint64_t)one << (context->big_endian ? bits - 1 - i : i);
	}
	unsigned_of(type, DW_AT_encoding, &encoding);
	if (dwarf_tag(type) == DW_TAG_enumeration_type)
		put_enum(type, value, bits, out);
	else
		put_integer(value, bits, encoding, out);
}

static void put_member(const struct value_context *context, Dwarf_Die *member,
		       const struct value_bytes *bytes, unsigned depth, struct buf *out)
{
	uint64_t bit, bits, size;
	Dwarf_Die type;

	if (!value_type(member, &type) || !member_place(member, context, &bit, &bits)) {
		buf_add_text(out, state_texts[BYTE_ODD]);
		return;
	}
	if (bits) {
		put_bit_field(context, &type, bytes, bit, (unsigned)bits, out);
		return;
	}
	if (!value_size(context, &type, &size) || bit / 8 > bytes->size ||
	    size > bytes->size - bit / 8) {
		buf_add_text(out, state_texts[BYTE_ODD]);
		return;
	}
	struct value_bytes part = values_part_of(bytes, bit / 8, size);
	values_put(context, &type, &part, depth + 1, out);
}

static void put_structure(const struct value_context *context, Dwarf_Die *type,
			  const struct value_bytes *bytes, unsigned depth, struct buf *out)
{
	Dwarf_Attribute attribute;
	Dwarf_Die child;
	bool first = true;

	buf_add_char(out, '{');
	if (dwarf_child(type, &child) == 0) {
		do {
			int tag = dwarf_tag(&child);
			bool is_base = tag == DW_TAG_inheritance;
			const char *name = dwarf_diename(&child);
			Dwarf_Die base;
			if ((tag != DW_TAG_member && !is_base) ||
			    dwarf_attr(&child, DW_AT_external, &attribute) ||
			    dwarf_attr(&child, DW_AT_declaration, &attribute))
				continue; /* a static member is none of the object's bytes */
			if (!first)
				buf_add_text(out, ", ");
			first = false;
			if (is_base && value_type(&child, &base) && dwarf_diename(&base))
				buf_printf(out, "<%s> = ", dwarf_diename(&base));
			else if (name)
				buf_printf(out, "%s = ", name);
			put_member(context, &child, bytes, depth, out);
		} while (out->len < TEXT_MAX && dwarf_siblingof(&child, &child) == 0);
	}
	buf_add_char(out, '}');
}

/* Elements of the dimensions from `at` on. */
static void put_elements(const struct value_context *context, Dwarf_Die *element,
			 const struct dimensions *all, size_t at, const struct value_bytes *bytes,
			 unsigned depth, struct buf *out)
{
	uint64_t count = all->counts[at], size = count ? bytes->size / count : 0;

	if (at + 1 == all->n && is_character(element) &&
	    (bytes->known || state_of(bytes->states, bytes->size) == BYTE_KNOWN)) {
		uint64_t len = bytes->size;
		while (len && !bytes->data[len - 1])
			len--;
		quote_text(out, bytes->data, len);
		return;
	}
	if (say_state(bytes, true, out))
		return;
	buf_add_char(out, '{');
	for (uint64_t i = 0; i < count; i++) {
		struct value_bytes part = values_part_of(bytes, i * size, size);
		if (i)
			buf_add_text(out, ", ");
		if (i == ELEMENTS_SHOWN || out->len >= TEXT_MAX) {
			buf_add_text(out, "...");
			break;
		}
		if (at + 1 < all->n)
			put_elements(context, element, all, at + 1, &part, depth, out);
		else
			values_put(context, element, &part, depth + 1, out);
	}
	buf_add_char(out, '}');
}

static void put_array(const struct value_context *context, Dwarf_Die *type,
		      const struct value_bytes *bytes, unsigned depth, struct buf *out)
{
	struct dimensions all;
	Dwarf_Die element;

	if (!value_type(type, &element) || !dimensions_of(context, type, &all)) {
		put_bytes(bytes->data, bytes->size, out);
		return;
	}
	put_elements(context, &element, &all, 0, bytes, depth, out);
}

static void put_scalar(const struct value_context *context, Dwarf_Die *type,
		       const struct value_bytes *bytes, struct buf *out)
{
	uint64_t value = bytes->size && bytes->size <= 8
				 ? load_number(context, bytes->data, (unsigned)bytes->size)
				 : 0;

	switch (bytes->size <= 8 ? dwarf_tag(type) : DW_TAG_base_type) {
	case DW_TAG_enumeration_type:
		put_enum(type, value, (unsigned)bytes->size * 8, out);
		break;
	case DW_TAG_pointer_type:
		put_pointer(context, type, value, out);
		break;
	case DW_TAG_reference_type:
	case DW_TAG_rvalue_reference_type:
		buf_printf(out, "@0x%" PRIx64, value);
		break;
	case DW_TAG_base_type:
		put_base(context, type, bytes->data, bytes->size, out);
		break;
	default:
		put_bytes(bytes->data, bytes->size, out);
	}
}

static void values_put(const struct value_context *context, Dwarf_Die *type,
		       const struct value_bytes *bytes, unsigned depth, struct buf *out)
{
	int tag = dwarf_tag(type);
	bool is_structure = tag == DW_TAG_structure_type || tag == DW_TAG_class_type ||
			    tag == DW_TAG_union_type;
	bool has_parts = is_structure || tag == DW_TAG_array_type;

	if (say_state(bytes, has_parts, out))
		return;
	if (has_parts && (depth >= TYPE_DEPTH || out->len >= TEXT_MAX))
		buf_add_text(out, "{...}");
	else if (is_structure)
		put_structure(context, type, bytes, depth, out);
	else if (tag == DW_TAG_array_type)
		put_array(context, type, bytes, depth, out);
	else
		put_scalar(context, type, bytes, out);
}

void value_text(const struct value_context *context, Dwarf_Die *type, const uint8_t *data,
		const uint8_t *states, uint64_t size, struct buf *out)
{
	struct value_bytes bytes = {data, states, size, state_of(states, size) == BYTE_KNOWN};

	values_put(context, type, &bytes, 0, out);
}

bool value_target(const struct value_context *context, Dwarf_Die *type, const uint8_t *data,
		  const uint8_t *states, uint64_t size, Dwarf_Die *to, uint64_t *address)
{
	int tag = dwarf_tag(type);

	if ((tag != DW_TAG_pointer_type && tag != DW_TAG_reference_type &&
	     tag != DW_TAG_rvalue_reference_type) ||
	    !size || size > 8 || state_of(states, size) != BYTE_KNOWN || !value_type(type, to) ||
	    is_character(to))
		return false;
	*address = load_number(context, data, (unsigned)size);
	return *address != 0;
}
