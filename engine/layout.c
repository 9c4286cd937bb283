/*
 * layout.c - the compiler: from a tree of field classes to steps
 *
 * One walk over the tree emits the decode list. A second pass over that list makes the skip list,
 * in which neighbours of constant size become one OP_SKIP. The compiler tracks the alignment of the
 * position (struct layout_grid), so that it emits OP_ALIGN only where padding is possible.
 */
#include "engine/layout.h"

#include "engine/base/mem.h"
#include "engine/layout_internal.h"

enum { DEPTH_MAX = 1100, STEPS_MAX = 1 << 20, ARRAY_BITS_LOG = 56, LOCATION_BITS = 32 };

struct compiler {
	struct arena *arena;
	struct error *err;
	struct layout_step *steps;
	size_t nsteps, capacity;
	uint32_t slot;      /* next in this root or element */
	uint32_t slot_base; /* of this root */
	struct layout_grid grid;
	bool bytewise;
};

static void mark_refs(const struct field_class *class, struct layout_registers *regs)
{
	struct field_class *ref = class->ref ? field_same(class->ref) : NULL;

	if (ref && !ref->value_register)
		ref->value_register = ++regs->count;
	if (ref && class->may_lack && !ref->there_register)
		ref->there_register = ++regs->count;
	for (uint32_t i = 0; i < class->nmembers; i++)
		mark_refs(class->members[i].class, regs);
	if (class->element)
		mark_refs(class->element, regs);
}

void layout_allot(struct field_class *const *roots, size_t nroots, struct layout_registers *regs)
{
	for (size_t i = 0; i < nroots; i++)
		if (roots[i])
			mark_refs(roots[i], regs);
}

static struct layout_step *emit(struct compiler *c, enum op op, const struct field_class *class)
{
	struct layout_step *step = mem_push(c->steps, c->nsteps, c->capacity);

	*step = (struct layout_step){.op = (uint8_t)op, .class = class};
	return step;
}

static bool at_byte(const struct compiler *c)
{
	return c->grid.grid >= 8 && c->grid.offset % 8 == 0;
}

static void layout_advance(struct compiler *c, uint64_t bits)
{
	c->grid.offset += bits;
}

/* Updates c->grid behind a field whose size is an unknown multiple of `unit` bits. */
static void advance_unknown(struct compiler *c, uint64_t unit)
{
	unit &= -unit; /* grids are powers of two */
	uint64_t grid = c->grid.grid < unit ? c->grid.grid : unit;

	while (grid > 1 && c->grid.offset % grid)
		grid /= 2;
	c->grid = (struct layout_grid){grid, 0};
}

static void align(struct compiler *c, uint32_t bits)
{
	if (bits <= 1 || (bits <= c->grid.grid && c->grid.offset % bits == 0))
		return;
	if (bits <=
	    c->grid.grid) { /* the padding has a known size, and so has the position behind it */
		emit(c, OP_ALIGN, NULL)->count = bits;
		c->grid.offset = (c->grid.offset + bits - 1) / bits * bits;
		return;
	}
	if (!at_byte(c) && c->nsteps)
		c->bytewise = false;
	emit(c, OP_ALIGN, NULL)->count = bits;
	c->grid = (struct layout_grid){bits, 0};
}

static uint32_t next_slot(struct compiler *c, struct field_class *class)
{
	class->slot = c->slot++;
	return c->slot_base + class->slot;
}

static enum op integer_op(const struct field_class *class, bool byte)
{
	if (!byte || (class->big_endian && class->bits > 8) || class->is_reversed ||
	    class->form == FORM_BOOL)
		return OP_INT;
	switch (class->bits) {
	case 8:
		return class->is_signed ? OP_S8 : OP_U8;
	case 16:
		return class->is_signed ? OP_S16 : OP_U16;
	case 32:
		return class->is_signed ? OP_S32 : OP_U32;
	case 64:
		return OP_64;
	default:
		return OP_INT;
	}
}

/* Emits a step that marks the node as present, if a length or tag may refer to it while absent. */
static void note_there(struct compiler *c, const struct field_class *class)
{
	uint32_t reg = field_same(class)->there_register;

	if (!reg)
		return;
	struct layout_step *step = emit(c, OP_NOTE, NULL);
	step->reg = reg;
	step->count = 1;
}

/* Emits a step that fails when the length or tag, which may be absent, is. */
static void check_there(struct compiler *c, const struct field_class *class)
{
	if (class->ref && class->may_lack)
		emit(c, OP_THERE, NULL)->reg = field_same(class->ref)->there_register;
}

static uint32_t ref_register(const struct field_class *class)
{
	return class->ref ? field_same(class->ref)->value_register : 0;
}

static bool compile_leb128(struct compiler *c, struct field_class *class)
{
	align(c, 8);
	if (!at_byte(c))
		c->bytewise = false;
	struct layout_step *step = emit(c, OP_LEB128, class);
	step->slot = next_slot(c, class);
	step->reg = field_same(class)->value_register;
	advance_unknown(c, 8);
	note_there(c, class);
	return true;
}

/* A bit-field moves to the next unit of its C type where it does not fit in the current one. */
static void keep_in_unit(struct compiler *c, const struct field_class *class)
{
	if (!class->unit)
		return;
	if (class->unit <= c->grid.grid) {
		if (c->grid.offset % class->unit + class->bits > class->unit)
			align(c, class->unit);
		return;
	}
	emit(c, OP_UNIT, class)->count = class->unit;
	c->bytewise = false;
	advance_unknown(c, 1);
}

static bool compile_scalar(struct compiler *c, struct field_class *class)
{
	if (class->is_variable)
		return compile_leb128(c, class);
	align(c, class->align);
	keep_in_unit(c, class);
	bool byte = at_byte(c);
	enum op op;

	if (class->kind == FIELD_INT)
		op = integer_op(class, byte);
	else if (byte && !class->big_endian && class->bits != 16 && !class->is_reversed)
		op = class->bits == 32 ? OP_F32 : OP_F64;
	else
		op = OP_FLOAT;
	struct layout_step *step = emit(c, op, class);
	step->slot = next_slot(c, class);
	step->reg = field_same(class)->value_register;
	step->stride = class->bits;
	step->bytes = byte && class->bits % 8 == 0 ? (uint8_t)(class->bits / 8) : 0;
	if (!step->bytes)
		c->bytewise = false;
	layout_advance(c, class->bits);
	note_there(c, class);
	return true;
}

uint64_t layout_stride(const struct field_class *element)
{
	if (element->kind != FIELD_INT && element->kind != FIELD_FLOAT)
		return 0;
	if (element->value_register || element->gap || element->unit || element->is_variable ||
	    element->same)
		return 0;
	uint64_t align_bits = element->align ? element->align : 1;
	return (element->bits + align_bits - 1) / align_bits * align_bits;
}

static bool compile_root(struct compiler *c, struct field_class *class, unsigned depth);
static struct layout *finish_layout(struct compiler *c);

/* Elements that are not plain scalars get a layout of their own, with slots of their own. */
static bool compile_element_from(struct compiler *c, struct field_class *class, unsigned depth,
				 uint64_t grid)
{
	struct compiler inner = {.arena = c->arena, .err = c->err, .grid = {grid, 0}};

	inner.bytewise = grid >= 8;
	bool ok = compile_root(&inner, class->element, depth + 1);
	if (!at_byte(&inner))
		inner.bytewise = false;
	if (ok)
		class->element_layout = finish_layout(&inner);
	mem_free(inner.steps);
	return ok;
}

/*
 * Compiles an element for a start at a byte; where it may then end inside a byte, the next element
 * begins there, and so it is compiled again for a start at any bit. For nested arrays this takes
 * time by the square of their depth.
 */
static bool compile_element(struct compiler *c, struct field_class *class, unsigned depth)
{
	if (at_byte(c)) {
		if (!compile_element_from(c, class, depth, 8))
			return false;
		if (class->element_layout->bytewise) {
			advance_unknown(c, 8);
			return true;
		}
	}
	c->grid = (struct layout_grid){1, 0};
	c->bytewise = false;
	return compile_element_from(c, class, depth, 1);
}

/* Arrays with `place` PLACE_DATA_LOC, PLACE_REL_LOC or PLACE_REST. */
static bool compile_placed(struct compiler *c, struct field_class *class)
{
	uint64_t stride = layout_stride(class->element);
	bool located = class->place != PLACE_REST;

	if (class->kind != FIELD_ARRAY || !stride || stride % 8 || stride != class->element->bits)
		return error_set(c->err, ERR_FORMAT,
				 "elements of an array placed apart are no plain scalars");
	align(c, located ? class->align : class->element->align);
	if (!at_byte(c))
		c->bytewise = false;
	struct layout_step *step = emit(c, located ? OP_LOCATED : OP_REST, class);
	step->slot = next_slot(c, class);
	step->stride = stride;
	if (located)
		layout_advance(c, LOCATION_BITS);
	else
		advance_unknown(c, stride);
	return true;
}

/* Bytes of a code unit. */
static unsigned unit_of(enum text_encoding encoding)
{
	if (encoding == ENCODING_UTF8)
		return 1;
	return encoding == ENCODING_UTF16BE || encoding == ENCODING_UTF16LE ? 2 : 4;
}

static bool compile_ended(struct compiler *c, struct field_class *class)
{
	align(c, 8);
	if (!at_byte(c))
		c->bytewise = false;
	struct layout_step *step = emit(c, OP_ENDED, class);
	step->slot = next_slot(c, class);
	step->bytes = (uint8_t)unit_of(class->encoding);
	advance_unknown(c, 8);
	return true;
}

static bool compile_array(struct compiler *c, struct field_class *class, unsigned depth)
{
	if (class->place == PLACE_ENDED)
		return compile_ended(c, class);
	if (class->place != PLACE_HERE)
		return compile_placed(c, class);
	bool sequence = class->kind == FIELD_SEQUENCE;
	uint64_t stride = layout_stride(class->element);

	align(c, class->is_wide || class->align > class->element->align ? class->align
									: class->element->align);
	if (!at_byte(c))
		c->bytewise = false;
	check_there(c, class);
	struct layout_step *step = emit(c,
					stride ? (sequence ? OP_SEQUENCE : OP_ARRAY)
					       : (sequence ? OP_SEQUENCE_OF : OP_ARRAY_OF),
					class);
	size_t here = c->nsteps - 1;
	step->slot = next_slot(c, class);
	step->reg = sequence ? ref_register(class) : 0;
	step->count = class->length;
	step->stride = stride;
	if (sequence && !step->reg)
		return error_set(c->err, ERR_FORMAT, "a sequence has no length field");
	if (!stride) {
		if (!compile_element(c, class, depth))
			return false;
		c->steps[here].sub = class->element_layout;
		return true;
	}
	uint64_t total;
	if (stride != class->element->bits || stride % 8)
		c->bytewise = false; /* the last element has no padding behind it: the array may end
					inside a byte */
	if (sequence)
		advance_unknown(c, stride == class->element->bits ? stride : 1);
	else if (__builtin_mul_overflow(class->length, stride, &total) || total >> ARRAY_BITS_LOG)
		return error_set(c->err, ERR_FORMAT, "an array of %llu elements is too long",
				 (unsigned long long)class->length);
	else if (total)
		layout_advance(c, total - stride + class->element->bits);
	return true;
}

uint32_t layout_option(const struct field_class *variant, uint64_t value)
{
	bool is_signed = variant->ref && variant->ref->is_signed;

	for (uint32_t i = 0; i < variant->nmembers; i++)
		for (uint32_t k = 0; k < variant->members[i].nranges; k++)
			if (enum_label_holds(&variant->members[i].ranges[k], is_signed, value))
				return i;
	return variant->nmembers;
}

/* The alignment that holds for both of two positions: behind options of a variant. */
static struct layout_grid grid_common(struct layout_grid a, struct layout_grid b)
{
	uint64_t grid = a.grid < b.grid ? a.grid : b.grid;

	while (grid > 1 && a.offset % grid != b.offset % grid)
		grid /= 2;
	return (struct layout_grid){grid, a.offset % grid};
}

/* Emits steps that mark the nodes inside a variant as absent, until an option's steps decode them.
 */
static void forget_inside(struct compiler *c, const struct field_class *class)
{
	uint32_t reg = field_same(class)->there_register;

	if (reg) {
		struct layout_step *step = emit(c, OP_NOTE, NULL);
		step->reg = reg;
		step->count = 0;
	}
	for (uint32_t i = 0; i < class->nmembers; i++)
		forget_inside(c, class->members[i].class);
	if (class->element)
		forget_inside(c, class->element);
}

static bool compile_variant(struct compiler *c, struct field_class *class, unsigned depth)
{
	uint32_t noptions = class->nmembers + class->is_optional;
	uint32_t *options = arena_array(c->arena, noptions, sizeof *options);
	size_t *jumps = mem_new_array(class->nmembers, sizeof *jumps);
	bool ok = true;

	forget_inside(c, class);
	check_there(c, class);
	struct layout_grid start = c->grid, end = start;
	size_t here = c->nsteps;
	struct layout_step *step = emit(c, OP_VARIANT, class);
	step->slot = next_slot(c, class);
	step->reg = ref_register(class);
	step->options = options;
	if (!step->reg)
		ok = error_set(c->err, ERR_FORMAT, "a variant has no tag field");
	for (uint32_t i = 0; ok && i < class->nmembers; i++) {
		c->grid = start;
		options[i] = (uint32_t)c->nsteps;
		ok = compile_root(c, class->members[i].class, depth + 1);
		jumps[i] = c->nsteps;
		emit(c, OP_JUMP, NULL);
		end = i ? grid_common(end, c->grid) : c->grid;
	}
	for (uint32_t i = 0; ok && i < class->nmembers; i++)
		c->steps[jumps[i]].jump = (uint32_t)c->nsteps;
	if (class->is_optional) {
		options[class->nmembers] = (uint32_t)c->nsteps;
		end = grid_common(end, start);
	}
	c->grid = end;
	c->steps[here].count = noptions;
	mem_free(jumps);
	return ok;
}

static bool compile_root(struct compiler *c, struct field_class *class, unsigned depth)
{
	if (depth > DEPTH_MAX || c->nsteps > STEPS_MAX)
		return error_set(c->err, ERR_FORMAT, "a field class is nested too deeply");
	if (class->gap) {
		if (class->gap % 8)
			return error_set(c->err, ERR_FORMAT, "a gap is not of whole bytes");
		emit(c, OP_SKIP, NULL)->count = class->gap;
		layout_advance(c, class->gap);
	}
	switch (class->kind) {
	case FIELD_INT:
	case FIELD_FLOAT:
		return compile_scalar(c, class);
	case FIELD_STRING:
		align(c, 8);
		if (!at_byte(c))
			c->bytewise = false;
		emit(c, OP_STRING, class)->slot = next_slot(c, class);
		advance_unknown(c, 8);
		return true;
	case FIELD_STRUCT:
		align(c, class->align);
		for (uint32_t i = 0; i < class->nmembers; i++)
			if (!compile_root(c, class->members[i].class, depth + 1))
				return false;
		return true;
	case FIELD_ARRAY:
	case FIELD_SEQUENCE:
		return compile_array(c, class, depth);
	case FIELD_VARIANT:
		return compile_variant(c, class, depth);
	}
	return error_set(c->err, ERR_FORMAT, "a field class of no known kind");
}

bool layout_step_bits(const struct layout_step *step, uint64_t *bits)
{
	switch ((enum op)step->op) {
	case OP_U8:
	case OP_S8:
	case OP_U16:
	case OP_S16:
	case OP_U32:
	case OP_S32:
	case OP_64:
	case OP_INT:
	case OP_F32:
	case OP_F64:
	case OP_FLOAT:
		*bits = step->class->bits;
		return true;
	case OP_ARRAY:
		*bits = step->count ? (step->count - 1) * step->stride + step->class->element->bits
				    : 0;
		return true;
	case OP_SKIP:
		*bits = step->count;
		return true;
	case OP_LOCATED:
		*bits = 32;
		return true;
	default:
		return false;
	}
}

/* True, and *bits, when the step has a constant size and nothing refers to its value. */
static bool step_constant(const struct layout_step *step, uint64_t *bits)
{
	return step->op != OP_LOCATED && !step->reg && layout_step_bits(step, bits);
}

/* Makes the skip list: neighbours of constant size become one step; jumps are adjusted. */
static const struct layout_step *fold(struct compiler *c, size_t *count)
{
	struct layout_step *skips = arena_array(c->arena, c->nsteps + 1, sizeof *skips);
	uint32_t *moved = mem_new_array(c->nsteps + 1, sizeof *moved);
	bool *target = mem_new_array(c->nsteps + 1, sizeof *target);
	size_t n = 0;

	for (size_t i = 0; i < c->nsteps; i++) {
		const struct layout_step *step = &c->steps[i];
		if (step->op == OP_JUMP)
			target[step->jump] = true;
		for (uint64_t k = 0; step->op == OP_VARIANT && k < step->count; k++)
			target[step->options[k]] = true;
	}
	for (size_t i = 0; i < c->nsteps; i++) {
		uint64_t bits;
		moved[i] = (uint32_t)n;
		if (!step_constant(&c->steps[i], &bits)) {
			skips[n++] = c->steps[i];
		} else if (n && skips[n - 1].op == OP_SKIP && !target[i] &&
			   skips[n - 1].count < UINT64_MAX / 2 - bits) {
			skips[n - 1].count += bits;
		} else {
			skips[n++] = (struct layout_step){.op = OP_SKIP, .count = bits};
		}
	}
	moved[c->nsteps] = (uint32_t)n;
	for (size_t i = 0; i < n; i++) {
		if (skips[i].op == OP_JUMP)
			skips[i].jump = moved[skips[i].jump];
		if (skips[i].op != OP_VARIANT)
			continue;
		uint32_t *options = arena_array(c->arena, skips[i].count, sizeof *options);
		for (uint64_t k = 0; k < skips[i].count; k++)
			options[k] = moved[skips[i].options[k]];
		skips[i].options = options;
	}
	skips[n] = (struct layout_step){.op = OP_END};
	mem_free(moved);
	mem_free(target);
	*count = n;
	return skips;
}

/* An integer of the prefix; false when the step needs more than a load, a shift and a mask. */
static bool plain_integer(const struct layout_step *step, struct layout_integer *out)
{
	const struct field_class *class = step->class;

	switch ((enum op)step->op) {
	case OP_U8:
	case OP_S8:
	case OP_U16:
	case OP_S16:
	case OP_U32:
	case OP_S32:
	case OP_64:
	case OP_F64:
		*out = (struct layout_integer){
			.mask = UINT64_MAX >> (64 - class->bits),
			.sign = class->is_signed ? UINT64_C(1) << (class->bits - 1) : 0,
			.slot = step->slot,
		};
		return true;
	default:
		return false;
	}
}

/* Moves the last integers' eight bytes so that none of them ends behind the prefix. */
static void shift_last(struct layout_prefix *prefix, struct layout_integer *integers)
{
	prefix->need = prefix->bytes > 8 ? prefix->bytes : 8;
	for (uint32_t i = prefix->nintegers; i-- > 0;) {
		struct layout_integer *integer = &integers[i];
		uint32_t over = integer->offset + 8u;
		if (over <= prefix->need)
			break;
		over -= prefix->need;
		integer->offset = (uint16_t)(integer->offset - over);
		integer->shift = (uint16_t)(over * 8);
	}
}

static void find_prefix(struct compiler *c, struct layout *layout)
{
	struct layout_prefix *prefix = &layout->prefix;
	struct layout_integer *integers =
		arena_array(c->arena, c->nsteps + LAYOUT_GROUP, sizeof *integers);
	struct layout_array *arrays = arena_array(c->arena, c->nsteps, sizeof *arrays);
	struct layout_located *located = arena_array(c->arena, c->nsteps, sizeof *located);
	struct layout_copy *copies = arena_array(c->arena, c->nsteps, sizeof *copies);
	uint64_t at = 0, bits;
	size_t n = 0;

	for (; c->bytewise && n < c->nsteps && at <= UINT16_MAX; n++) {
		const struct layout_step *step = &layout->steps[n];
		if (plain_integer(step, &integers[prefix->nintegers])) {
			integers[prefix->nintegers++].offset = (uint16_t)at;
			bits = step->class->bits;
		} else if (step->op == OP_ARRAY && step_constant(step, &bits) &&
			   bits / 8 <= UINT16_MAX) {
			arrays[prefix->narrays++] =
				(struct layout_array){step->count, (uint32_t)at, step->slot};
		} else if (step->op == OP_SKIP && step->count / 8 <= UINT16_MAX) {
			bits = step->count;
		} else if (step->op == OP_LOCATED) {
			located[prefix->nlocated++] = (struct layout_located){step, (uint32_t)at};
			bits = LOCATION_BITS;
		} else {
			break;
		}
		if (step->class && step->class->kind != FIELD_ARRAY && step->reg)
			copies[prefix->ncopies++] = (struct layout_copy){step->slot, step->reg};
		at += bits / 8;
	}
	prefix->integers = integers;
	prefix->arrays = arrays;
	prefix->located = located;
	prefix->copies = copies;
	prefix->others = prefix->narrays || prefix->ncopies;
	prefix->bytes = (uint32_t)at;
	shift_last(prefix, integers);
	for (uint32_t i = prefix->nintegers; i && i % LAYOUT_GROUP; i++)
		integers[i] = integers[i - 1];
	prefix->ngroups = (prefix->nintegers + LAYOUT_GROUP - 1) / LAYOUT_GROUP;
	prefix->rest = layout->steps + n;
}

static struct layout *finish_layout(struct compiler *c)
{
	struct layout *layout = arena_alloc(c->arena, sizeof *layout);
	size_t nskips;

	emit(c, OP_END, NULL);
	c->nsteps--; /* END is no step to fold */
	layout->steps = arena_copy(c->arena, c->steps, c->nsteps + 1, sizeof *c->steps);
	find_prefix(c, layout);
	layout->skips = fold(c, &nskips);
	layout->nslots = c->slot_base + c->slot;
	layout->bytewise = c->bytewise && c->nsteps; /* nothing may stand inside a byte */
	layout->constant = !nskips || (nskips == 1 && layout->skips[0].op == OP_SKIP);
	layout->constant_bits = nskips && layout->constant ? layout->skips[0].count : 0;
	layout->plain =
		layout->bytewise && layout->prefix.rest->op == OP_END && !layout->prefix.nlocated;
	for (size_t i = 0; i < c->nsteps; i++)
		layout->lazy |=
			layout->steps[i].op == OP_ARRAY_OF || layout->steps[i].op == OP_SEQUENCE_OF;
	return layout;
}

bool layout_compile(struct field_class *const *roots, size_t nroots, uint32_t *slot_base,
		    struct layout_grid *grid, struct arena *arena, struct layout **out,
		    struct error *err)
{
	struct compiler c = {.arena = arena, .err = err, .grid = *grid, .bytewise = true};
	bool ok = true;

	if (!c.grid.grid)
		c.grid.grid = 1;
	for (size_t i = 0; ok && i < nroots; i++) {
		if (slot_base)
			slot_base[i] = c.slot_base;
		if (!roots[i])
			continue;
		/* the first root may begin inside a byte, as the caller's *grid says */
		if (!c.nsteps && !at_byte(&c) && roots[i]->align < 8)
			c.bytewise = false;
		ok = compile_root(&c, roots[i], 0);
		c.slot_base += c.slot;
		c.slot = 0;
	}
	if (ok)
		*out = finish_layout(&c);
	*grid = c.grid;
	mem_free(c.steps);
	return ok;
}

uint32_t layout_slots(const struct layout *layout)
{
	return layout->nslots;
}

bool layout_is_lazy(const struct layout *layout)
{
	return layout->lazy;
}

bool layout_constant_bits(const struct layout *layout, uint64_t *bits)
{
	*bits = layout->constant_bits;
	return layout->constant;
}
