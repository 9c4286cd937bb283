/*
 * layout_run.c - the loops that run steps over a packet
 *
 * take_step() runs one step of any kind at any bit. Layouts whose steps all begin on a byte, as
 * those of real tracers do, have a faster loop, compiled once to decode and once to skip, with the
 * frequent steps inline. Every read is bounds-checked, and no step moves backwards. Elements of
 * size 0 are decoded once and then only counted, so that no loop runs without end.
 */
#include "engine/base/cursor.h"
#include "engine/layout_fast.h"

#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

/* The first zero; most texts end within 16 bytes. NULL: there is none. */
static inline const uint8_t *find_zero(const uint8_t *p, size_t room)
{
#ifdef __SSE2__
	if (room >= 16) {
		__m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)p);
		int zeros = _mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_setzero_si128()));
		if (zeros)
			return p + __builtin_ctz((unsigned)zeros);
		p += 16;
		room -= 16;
	}
#endif
	return memchr(p, 0, room);
}

static uint64_t sign_extend(uint64_t value, unsigned bits)
{
	unsigned unused = 64 - bits;

	return unused ? (uint64_t)((int64_t)(value << unused) >> unused) : value;
}

/* CTF 1.8, 4.1.5: little-endian fills bytes from the lowest bit, big-endian from the highest. */
static uint64_t load_bits(const uint8_t *data, uint64_t at, unsigned bits, bool big_endian)
{
	uint64_t value = 0;

	if (at % 8 == 0 && bits % 8 == 0)
		return big_endian ? load_be(data + at / 8, bits / 8)
				  : load_native(data + at / 8, bits / 8);
	for (unsigned done = 0; done < bits;) {
		unsigned in_byte = (unsigned)(at % 8), take = 8 - in_byte;
		if (take > bits - done)
			take = bits - done;
		uint64_t byte = data[at / 8], mask = (1u << take) - 1;
		if (big_endian)
			value = value << take | (byte >> (8 - in_byte - take) & mask);
		else
			value |= (byte >> in_byte & mask) << done;
		done += take;
		at += take;
	}
	return value;
}

static double half_to_double(uint64_t half)
{
	uint64_t sign = half >> 15, exponent = half >> 10 & 31, fraction = half & 1023;
	double value = (double)fraction / 1024;

	if (exponent == 31)
		value = fraction ? __builtin_nan("") : __builtin_inf();
	else if (exponent)
		value = __builtin_ldexp(1 + value, (int)exponent - 15);
	else
		value = __builtin_ldexp(value, -14);
	return sign ? -value : value;
}

static uint64_t float_bits(uint64_t raw, unsigned bits)
{
	double value;
	uint64_t out;

	if (bits == 64)
		return raw;
	if (bits == 32) {
		uint32_t word = (uint32_t)raw;
		float single;
		memcpy(&single, &word, sizeof single);
		value = (double)single;
	} else {
		value = half_to_double(raw);
	}
	memcpy(&out, &value, sizeof out);
	return out;
}

static uint64_t reverse_bits(uint64_t value, unsigned bits)
{
	uint64_t out = 0;

	for (unsigned i = 0; i < bits; i++)
		out = out << 1 | (value >> i & 1);
	return out;
}

/* The value of a scalar with reversed bits, or of a boolean of several bits: both are rare. */
static __attribute__((noinline)) uint64_t rare_scalar(const struct field_class *class, uint64_t raw)
{
	if (class->is_reversed)
		raw = reverse_bits(raw, class->bits);
	if (class->form == FORM_BOOL)
		return raw != 0;
	if (class->kind == FIELD_FLOAT)
		return float_bits(raw, class->bits);
	return class->is_signed ? sign_extend(raw, class->bits) : raw;
}

uint64_t layout_scalar(const struct field_class *class, const uint8_t *data, uint64_t at)
{
	uint64_t raw = load_bits(data, at, class->bits, class->big_endian);

	if (__builtin_expect(class->is_reversed || class->form == FORM_BOOL, 0))
		return rare_scalar(class, raw);
	if (class->kind == FIELD_FLOAT)
		return float_bits(raw, class->bits);
	return class->is_signed ? sign_extend(raw, class->bits) : raw;
}

/* *bits: the size of `count` elements; false when that is more than `room` bits. */
static inline bool elements_fit(const struct layout_step *step, uint64_t count, uint64_t room,
				uint64_t *bits)
{
	uint64_t size = step->class->element->bits;

	*bits = 0;
	if (!count)
		return true;
	if (count - 1 > room / step->stride)
		return false;
	*bits = (count - 1) * step->stride + size;
	return *bits <= room;
}

/*
 * A LEB128: 7 bits a byte, low ones first, bit 7 says that more follow; bit 6 of the last byte is
 * the sign of a signed one. Returns its bytes, 0 when it is too long or reaches behind the end.
 */
static unsigned load_leb128(const struct field_class *class, const uint8_t *p, uint64_t room,
			    struct layout_input *in, uint64_t *out)
{
	enum { LEB128_MOST = 10 }; /* bytes of 64 bits */
	uint64_t value = 0;
	unsigned n = 0;
	uint8_t byte;

	do {
		if (n == LEB128_MOST) {
			in->progress.oversized = true;
			return 0;
		}
		if (n == room)
			return 0;
		byte = p[n];
		value |= n < LEB128_MOST - 1 ? (uint64_t)(byte & 0x7f) << 7 * n
					     : (uint64_t)byte << 63;
		n++;
	} while (byte & 0x80);
	if (n == LEB128_MOST && /* of the last byte one bit counts; a signed one repeats it */
	    byte != (class->is_signed && byte ? 0x7f : byte & 1)) {
		in->progress.oversized = true;
		return 0;
	}
	*out = class->is_signed && n < LEB128_MOST ? sign_extend(value, 7 * n) : value;
	return n;
}

/* Bytes of text before its first code unit that is zero; false: there is none. */
static bool find_ended(const uint8_t *p, uint64_t room, unsigned unit, uint64_t *bytes)
{
	static const uint8_t zero[4];

	for (*bytes = 0; room - *bytes >= unit; *bytes += unit)
		if (!memcmp(p + *bytes, zero, unit))
			return true;
	return false;
}

static bool skip_on(const struct layout *layout, struct layout_input *in);

/* Counts `count` elements of size 0, each with `inside` more inside it; false: too many. */
static bool count_empty(struct layout_input *in, uint64_t count, uint64_t inside)
{
	uint64_t all;

	if (__builtin_mul_overflow(count, inside + 1, &all) ||
	    all > LAYOUT_EMPTY_MAX - in->progress.empty) {
		in->progress.empty = LAYOUT_EMPTY_MAX + 1;
		return false;
	}
	in->progress.empty += (uint32_t)all;
	return true;
}

/* Skips elements that have a layout of their own; a struct field_iter decodes them when visited. */
static bool pass_elements(const struct layout_step *step, uint64_t count, struct layout_input *in)
{
	for (uint64_t i = 0; i < count; i++) {
		uint64_t before = in->at;
		uint32_t empty = in->progress.empty;
		if (!skip_on(step->sub, in))
			return false;
		if (in->at == before) { /* size 0: so are all others */
			uint32_t inside = in->progress.empty - empty;
			in->progress.empty = empty;
			return count_empty(in, count - i, inside);
		}
	}
	return true;
}

/*
 * Makes the slot of an array whose 32-bit word (PLACE_DATA_LOC, PLACE_REL_LOC) is at bit `at`, in a
 * layout that began at bit `begin`. False: the elements reach behind the end of the data.
 */
static bool find_located(const struct layout_step *step, const struct layout_input *in,
			 uint64_t begin, uint64_t at, struct slot *out)
{
	const struct field_class *class = step->class;
	uint64_t word = load_bits(in->data, at, 32, class->big_endian);
	uint64_t from = class->place == PLACE_REL_LOC ? at + 32 : begin;
	uint64_t start = from + (word & 0xffff) * 8, bits = (word >> 16) * 8;

	if (start > in->bits || bits > in->bits - start)
		return false;
	*out = (struct slot){.at = start, .n = bits / step->stride};
	return true;
}

/* OP_THERE: is the length or tag of the next step present? */
static inline bool layout_run_is_there(const struct layout_step *step, struct layout_input *in)
{
	if (in->registers[step->reg - 1])
		return true;
	in->progress.lacks = true;
	return false;
}

/* One step of each kind, at any bit: in->at moves behind it. False: it does not fit. */

static void keep_register(const struct layout_step *step, struct layout_input *in, uint64_t value)
{
	if (step->reg)
		in->registers[step->reg - 1] = value;
}

/*
 * A field that begins inside a byte must have the byte order of the field before it (CTF 1.8,
 * 4.1.6), which may be in the last element of an array. in->progress.order is only read inside a
 * byte, so fields that end on a byte's border need not set it.
 */
static bool follow_order(struct layout_input *in, bool big_endian)
{
	uint16_t order = big_endian ? ORDER_BIG : ORDER_LITTLE;

	if (in->at % 8 && in->progress.order && order != in->progress.order) {
		in->progress.mixed = true;
		return false;
	}
	in->progress.order = order;
	return true;
}

static bool step_align(const struct layout_step *step, struct layout_input *in)
{
	uint64_t to = (in->at + step->count - 1) & ~(step->count - 1);

	if (to < in->at || to > in->bits)
		return false;
	in->at = to;
	return true;
}

static bool step_unit(const struct layout_step *step, struct layout_input *in)
{
	uint64_t left = step->count - in->at % step->count; /* bits of the unit */

	if (left >= step->class->bits)
		return true;
	if (left > in->bits - in->at)
		return false;
	in->at += left;
	return true;
}

static bool step_string(struct layout_input *in, struct slot *out)
{
	const uint8_t *text = in->data + in->at / 8;
	const uint8_t *zero = find_zero(text, (size_t)((in->bits - in->at) / 8));

	if (!zero)
		return false;
	*out = (struct slot){.bytes = text, .n = (uint64_t)(zero - text)};
	in->at += (out->n + 1) * 8;
	return true;
}

static bool step_leb128(const struct layout_step *step, struct layout_input *in, struct slot *out)
{
	out->n = load_leb128(step->class, in->data + in->at / 8, (in->bits - in->at) / 8, in,
			     &out->u);
	if (!out->n)
		return false;
	keep_register(step, in, out->u);
	in->at += out->n * 8;
	return true;
}

static bool step_ended(const struct layout_step *step, struct layout_input *in, struct slot *out)
{
	out->at = in->at;
	if (!find_ended(in->data + in->at / 8, (in->bits - in->at) / 8, step->bytes, &out->n))
		return false;
	in->at += (out->n + step->bytes) * 8;
	return true;
}

static bool step_elements(const struct layout_step *step, uint64_t count, struct layout_input *in,
			  struct slot *out)
{
	uint64_t bits;

	*out = (struct slot){.at = in->at, .n = count};
	if (!elements_fit(step, count, in->bits - in->at, &bits))
		return false;
	if (count && !follow_order(in, step->class->element->big_endian))
		return false;
	in->at += bits;
	return true;
}

static bool step_scalar(const struct layout_step *step, struct layout_input *in, struct slot *out)
{
	if (step->class->bits > in->bits - in->at || !follow_order(in, step->class->big_endian))
		return false;
	out->u = layout_scalar(step->class, in->data, in->at);
	keep_register(step, in, out->u);
	in->at += step->class->bits;
	return true;
}

/* The option that the tag selects; false: there is none. */
static inline bool find_option(const struct layout_step *step, const struct layout_input *in,
			       uint32_t *out)
{
	*out = layout_option(step->class, in->registers[step->reg - 1]);
	return *out < step->class->nmembers || step->class->is_optional;
}

/*
 * Runs the step *at of `list`, whose layout began at bit `begin`, and moves *at to the next step.
 * `slots` NULL: skips. False: failed.
 */
static bool take_step(const struct layout_step **at, const struct layout_step *list,
		      struct layout_input *in, uint64_t begin, struct slot *slots)
{
	const struct layout_step *s = (*at)++;
	struct slot slot = {0};
	uint32_t option;
	bool ok = true;

	switch ((enum op)s->op) {
	case OP_ALIGN:
		return step_align(s, in);
	case OP_UNIT:
		return step_unit(s, in);
	case OP_SKIP:
		in->at += s->count;
		return s->count <= in->bits - (in->at - s->count);
	case OP_NOTE:
		in->registers[s->reg - 1] = s->count;
		return true;
	case OP_THERE:
		return layout_run_is_there(s, in);
	case OP_JUMP:
		*at = list + s->jump;
		return true;
	case OP_VARIANT:
		ok = find_option(s, in, &option);
		if (ok)
			*at = list + s->options[option];
		slot.n = option;
		break;
	case OP_STRING:
		ok = step_string(in, &slot);
		break;
	case OP_LEB128:
		ok = step_leb128(s, in, &slot);
		break;
	case OP_ENDED:
		ok = step_ended(s, in, &slot);
		break;
	case OP_ARRAY:
		ok = step_elements(s, s->count, in, &slot);
		break;
	case OP_SEQUENCE:
		ok = step_elements(s, in->registers[s->reg - 1], in, &slot);
		break;
	case OP_ARRAY_OF:
	case OP_SEQUENCE_OF:
		slot = (struct slot){.at = in->at, .n = s->count};
		if (s->op == OP_SEQUENCE_OF)
			slot.n = in->registers[s->reg - 1];
		ok = pass_elements(s, slot.n, in);
		break;
	case OP_LOCATED:
		ok = in->bits - in->at >= 32 && find_located(s, in, begin, in->at, &slot);
		in->at += ok ? 32 : 0;
		break;
	case OP_REST:
		slot = (struct slot){.at = in->at, .n = (in->bits - in->at) / s->stride};
		in->at += slot.n * s->stride;
		break;
	default:
		ok = step_scalar(s, in, &slot);
		break;
	}
	if (ok && slots)
		slots[s->slot] = slot;
	return ok;
}

static bool run_bits(const struct layout *layout, struct layout_input *in, struct slot *slots)
{
	const struct layout_step *s = layout->steps;
	const uint64_t begin = in->at;

	while (s->op != OP_END)
		if (!take_step(&s, layout->steps, in, begin, slots))
			return false;
	return true;
}

/* The loop over bytes: frequent steps inline, all others by take_step(). */

#define ROOM(count)                                                               \
	do {                                                                      \
		if (__builtin_expect((uint64_t)(end - p) < (uint64_t)(count), 0)) \
			goto cut;                                                 \
	} while (0)

/* An integer of `count` bytes at p. */
#define WORD(count, value)                       \
	do {                                     \
		ROOM(count);                     \
		uint64_t word = (value);         \
		if (decodes)                     \
			slots[s->slot].u = word; \
		keep_register(s, in, word);      \
		p += (count);                    \
		s++;                             \
	} while (0)

/* Decodes the prefix, whose first byte is p, bit `at`. False: an array is outside of the data. */
static inline bool decode_prefix(const struct layout_prefix *prefix, const uint8_t *p, uint64_t at,
				 const struct layout_input *in, struct slot *slots)
{
	layout_load(prefix, p, at, in->registers, slots);
	for (uint32_t i = 0; i < prefix->nlocated; i++) {
		const struct layout_located *located = &prefix->located[i];
		if (!find_located(located->step, in, at, at + located->offset * UINT64_C(8),
				  &slots[located->step->slot]))
			return false;
	}
	return true;
}

/* Decodes into `slots`, or skips. */
static inline __attribute__((always_inline)) bool
run_bytes(const struct layout *layout, struct layout_input *in, struct slot *slots, bool decodes)
{
	const uint8_t *data = in->data, *end = data + in->bits / 8, *zero;
	const uint8_t *p = data + (in->at + 7) / 8;
	const struct layout_step *list = decodes ? layout->steps : layout->skips, *s = list;
	const uint64_t begin = (uint64_t)(p - data) * 8;

	if (p > end)
		return false;
	if (decodes && (uint64_t)(end - p) >= layout->prefix.need) {
		if (!decode_prefix(&layout->prefix, p, begin, in, slots))
			goto cut;
		p += layout->prefix.bytes;
		s = layout->prefix.rest;
	}
	for (;;) {
		switch ((enum op)s->op) {
		case OP_END:
			in->at = (uint64_t)(p - data) * 8;
			return true;
		case OP_SKIP:
			ROOM(s->count / 8);
			p += s->count / 8;
			s++;
			break;
		case OP_U8:
			WORD(1, (uint64_t)*p);
			break;
		case OP_S8:
			WORD(1, (uint64_t)(int64_t)(int8_t)*p);
			break;
		case OP_U16:
			WORD(2, load_native(p, 2));
			break;
		case OP_S16:
			WORD(2, sign_extend(load_native(p, 2), 16));
			break;
		case OP_U32:
			WORD(4, load_native(p, 4));
			break;
		case OP_S32:
			WORD(4, sign_extend(load_native(p, 4), 32));
			break;
		case OP_64:
		case OP_F64:
			WORD(8, load_native(p, 8));
			break;
		case OP_INT:
		case OP_FLOAT:
			WORD(s->bytes, layout_scalar(s->class, p, 0));
			break;
		case OP_STRING:
			zero = find_zero(p, (size_t)(end - p));
			if (!zero)
				goto cut;
			if (decodes)
				slots[s->slot] =
					(struct slot){.bytes = p, .n = (uint64_t)(zero - p)};
			p = zero + 1;
			s++;
			break;
		default: /* by bits, from p on */
			in->at = (uint64_t)(p - data) * 8;
			if (!take_step(&s, list, in, begin, decodes ? slots : NULL))
				return false;
			p = data + in->at / 8;
			break;
		}
	}
cut:
	in->at = (uint64_t)(p - data) * 8;
	return false;
}

#undef ROOM
#undef WORD

bool layout_decode(const struct layout *layout, struct layout_input *in, struct slot *slots)
{
	in->progress = (struct layout_progress){0};
	return layout->bytewise ? run_bytes(layout, in, slots, true) : run_bits(layout, in, slots);
}

/* layout_skip() that goes on with in->progress: for elements inside a layout. */
static bool skip_on(const struct layout *layout, struct layout_input *in)
{
	return layout->bytewise ? run_bytes(layout, in, NULL, false) : run_bits(layout, in, NULL);
}

bool layout_skip(const struct layout *layout, struct layout_input *in)
{
	in->progress = (struct layout_progress){0};
	return skip_on(layout, in);
}

const char *layout_complaint(const struct layout *layout, struct layout_input in)
{
	if (layout_skip(layout, &in))
		return "is whole";
	if (in.progress.mixed)
		return "has a field that begins inside a byte of the other byte order";
	if (in.progress.empty > LAYOUT_EMPTY_MAX)
		return "has over 4,096 elements that take no space";
	if (in.progress.oversized)
		return "has an integer of variable length that does not fit in 64 bits";
	if (in.progress.lacks)
		return "has a length or selector that is not there";
	for (const struct layout_step *s = layout->steps; s->op != OP_END; s++) {
		if (s->op == OP_VARIANT && !s->class->is_optional &&
		    layout_option(s->class, in.registers[s->reg - 1]) == s->class->nmembers)
			return "has a variant whose tag selects no option, or crosses the end";
	}
	return "crosses the end of what the packet holds";
}
