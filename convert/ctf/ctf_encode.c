/* ctf_encode.c - values of wires as bits of a packet */
#include "convert/ctf/ctf_wire.h"

#include "engine/layout.h"

#include <string.h>

void encoder_release(struct encoder *encoder)
{
	buf_release(&encoder->out);
	buf_release(&encoder->scratch);
}

/* Appends `bits` zero bits and returns the byte in which they begin. */
static uint8_t *extend(struct encoder *e, uint64_t bits)
{
	size_t from = (size_t)(e->at / 8 - e->gone);
	size_t size = (size_t)((e->at + bits + 7) / 8 - e->gone);

	if (size > e->out.len) {
		memset(buf_room(&e->out, size - e->out.len), 0, size - e->out.len);
		e->out.len = size;
	}
	e->at += bits;
	return (uint8_t *)e->out.data + from;
}

void encode_align(struct encoder *e, uint32_t bits)
{
	uint64_t aligned = (e->at + bits - 1) / bits * bits;

	if (aligned != e->at)
		extend(e, aligned - e->at);
}

void encode_bytes(struct encoder *e, const void *bytes, size_t count)
{
	encode_align(e, 8);
	uint8_t *to = extend(e, (uint64_t)count * 8);
	if (count)
		memcpy(to, bytes, count);
}

/*
 * Writes bits that begin or end inside a byte. Bit 0 is the byte's lowest, or highest if
 * big-endian.
 */
static void put_bits(uint8_t *to, unsigned first, uint64_t value, uint32_t bits, bool big_endian)
{
	for (uint32_t i = 0; i < bits; i++) {
		uint32_t place = first + i;
		unsigned bit = value >> (big_endian ? bits - 1 - i : i) & 1;
		to[place / 8] |= (uint8_t)(bit << (big_endian ? 7 - place % 8 : place % 8));
	}
}

static void ctf_encode_put_number(struct encoder *e, uint64_t value, uint32_t bits, bool big_endian)
{
	unsigned first = e->at % 8;
	uint8_t *to = extend(e, bits);

	if (first || bits % 8) {
		put_bits(to, first, value, bits, big_endian);
		return;
	}
	if (big_endian)
		value = __builtin_bswap64(value) >> (64 - bits);
	for (uint32_t i = 0; i < bits / 8; i++)
		to[i] = (uint8_t)(value >> i * 8);
}

void encode_number(struct encoder *e, uint64_t value, uint32_t bits)
{
	encode_align(e, 8);
	ctf_encode_put_number(e, value, bits, false);
}

/* LEB128: seven bits a byte, lowest first; the top bit of the last byte is 0 (CTF 2, 6.3.8). */
static void put_variable(struct encoder *e, uint64_t value, bool is_signed)
{
	uint8_t bytes[10];
	size_t n = 0;
	bool more;

	do {
		uint8_t low = value & 0x7f;
		bool negative = is_signed && (int64_t)value < 0;
		value = value >> 7 | (negative ? UINT64_C(0x7f) << 57 : 0);
		more = is_signed ? value != (low & 0x40 ? UINT64_MAX : 0) : value != 0;
		bytes[n++] = (uint8_t)(low | (more ? 0x80 : 0));
	} while (more);
	encode_bytes(e, bytes, n);
}

/* Converts back to IEEE 754 binary16 a number that came from one; a NaN keeps its highest bits. */
static uint64_t half_of(double number)
{
	uint64_t bits, sign;
	int exponent;

	memcpy(&bits, &number, sizeof bits);
	sign = bits >> 63 << 15;
	exponent = (int)(bits >> 52 & 0x7ff) - 1023;
	if (exponent == 1024)
		return sign | 0x7c00 | (bits >> 42 & 0x3ff);
	if (exponent >= -14)
		return sign | (uint64_t)(exponent + 15) << 10 | (bits >> 42 & 0x3ff);
	if (exponent < -24)
		return sign;
	return sign | (UINT64_C(0x400) | (bits >> 42 & 0x3ff)) >> (-14 - exponent);
}

static uint64_t float_bits(const struct slot *slot, uint32_t bits)
{
	float narrow = (float)slot->f;
	uint32_t single;

	if (bits == 64)
		return slot->u;
	if (bits == 16)
		return half_of(slot->f);
	memcpy(&single, &narrow, sizeof single);
	return single;
}

static void ctf_encode_put(struct encoder *e, const struct wire *wire, const struct field *field);

static void ctf_encode_put_text(struct encoder *e, const struct field *field)
{
	size_t len;
	const uint8_t *bytes = field_bytes(field, &e->scratch, &len);

	encode_bytes(e, bytes, len);
	*extend(e, 8) = 0;
}

/* Copies array elements whose bytes are the same in source and output: whole bytes without gaps. */
static bool put_copied(struct encoder *e, const struct wire *wire, const struct field *field)
{
	const struct wire *element = wire->element;
	const struct field_class *from = element->from;
	bool plain = (element->kind == WIRE_INT || element->kind == WIRE_FLOAT) && from &&
		     !field->class->element_layout;

	if (!plain || from->bits % 8 || element->bits != from->bits || from->is_variable ||
	    from->is_reversed || from->form == FORM_BOOL || field->slot.at % 8 ||
	    layout_stride(from) != from->bits || from->bits % element->align)
		return false;
	uint64_t bits = field->slot.n * from->bits;
	if (bits)
		memcpy(extend(e, bits), field->in->data + field->slot.at / 8, (size_t)(bits / 8));
	return true;
}

static void put_array(struct encoder *e, const struct wire *wire, const struct field *field)
{
	struct field_iter iter;

	encode_align(e, wire->align);
	if (e->at % 8 == 0 && put_copied(e, wire, field))
		return;
	field_iter_begin(&iter, field);
	while (field_iter_next(&iter))
		ctf_encode_put(e, wire->element, &iter.item);
	field_iter_end(&iter);
}

/* The value of a length or selector; 0: an optional that is absent. */
static uint64_t count_of(const struct wire *of, const struct slot *slot)
{
	if (of->kind == WIRE_OPTIONAL)
		return slot->n < of->nmembers;
	return slot->n;
}

static void put_member(struct encoder *e, const struct wire *member, const struct fields *in,
		       const struct slot *inside)
{
	const struct field_class *class = member->of ? member->of->from : member->from;
	struct field field;

	if (member->of) {
		encode_number(e, count_of(member->of, &inside[class->slot]), member->bits);
		return;
	}
	if (!class) /* the writer's own structure: the class of its inner value */
		class = member->members[1]->from;
	field_view(class, in, inside, &field);
	ctf_encode_put(e, member, &field);
}

static void put_struct(struct encoder *e, const struct wire *wire, const struct field *field)
{
	encode_align(e, wire->align);
	if (!wire->from) {
		encode_number(e, count_of(wire->members[1], &field->slot), wire->members[0]->bits);
		ctf_encode_put(e, wire->members[1], field);
		return;
	}
	for (size_t i = 0; i < wire->nmembers; i++)
		put_member(e, wire->members[i], field->in, field->inside);
}

static void put_option(struct encoder *e, const struct wire *wire, const struct field *field)
{
	if (field->slot.n < wire->nmembers)
		put_member(e, wire->members[field->slot.n], field->in, field->inside);
}

static void ctf_encode_put(struct encoder *e, const struct wire *wire, const struct field *field)
{
	const uint8_t *bytes;
	size_t len;

	switch (wire->kind) {
	case WIRE_INT:
		encode_align(e, wire->align);
		if (wire->is_variable)
			put_variable(e, field->slot.u, wire->is_signed);
		else
			ctf_encode_put_number(e, field->slot.u, wire->bits, wire->big_endian);
		break;
	case WIRE_FLOAT:
		encode_align(e, wire->align);
		ctf_encode_put_number(e, float_bits(&field->slot, wire->bits), wire->bits,
				      wire->big_endian);
		break;
	case WIRE_STRING:
		ctf_encode_put_text(e, field);
		break;
	case WIRE_BYTES:
		bytes = field_bytes(field, &e->scratch, &len);
		encode_bytes(e, bytes, len);
		break;
	case WIRE_ARRAY:
		put_array(e, wire, field);
		break;
	case WIRE_STRUCT:
		put_struct(e, wire, field);
		break;
	case WIRE_VARIANT:
	case WIRE_OPTIONAL:
		put_option(e, wire, field);
		break;
	}
}

void encode_root(struct encoder *e, const struct wire *root, const struct fields *fields)
{
	encode_align(e, root->align);
	encode_members(e, root, fields);
}

void encode_members(struct encoder *e, const struct wire *root, const struct fields *fields)
{
	struct field scope = {0};
	enum scope at = SCOPE_COUNT;

	for (size_t i = 0; i < root->nmembers; i++) {
		const struct wire *member = root->members[i];
		if (member->is_context) {
			encode_root(e, member, fields);
			continue;
		}
		if (member->source != at && !fields_scope(fields, member->source, &scope))
			continue;
		at = member->source;
		put_member(e, member, scope.in, scope.inside);
	}
}
