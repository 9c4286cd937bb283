/*
 * print_run.c - runs a compiled print format on a record's bytes
 *
 * Expressions are small trees; the parser bounded their depth. Each read of the record is checked
 * against its size; values outside of it are 0, or an empty text.
 */
#include "engine/kernel/print.h"

#include "engine/base/quote.h"

#include <string.h>

uint64_t print_load(const struct print_record *record, size_t at, uint32_t bytes)
{
	if (at > record->size || bytes > record->size - at)
		return 0;
	const uint8_t *from = record->data + at;
	bool swap = record->tracing->big_endian;
	switch (bytes) {
	case 1:
		return from[0];
	case 2:
		return get16(from, swap);
	case 4:
		return get32(from, swap);
	case 8:
		return get64(from, swap);
	default:
		return 0;
	}
}
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "print_load() swaps elsewhere");

uint64_t print_field(const struct print_record *record, const struct kernel_field *field)
{
	uint32_t bytes = field->size;

	return bytes <= 8 && !(bytes & (bytes - 1)) ? print_load(record, field->offset, bytes) : 0;
}

void print_locate(const struct print_record *record, const struct kernel_field *field, size_t *at,
		  size_t *len)
{
	uint64_t word = print_field(record, field);

	*at = word & 0xffff;
	if (field->size == 2) /* old kernels: an offset without a length */
		*len = record->size > *at ? record->size - *at : 0;
	else
		*len = word >> 16 & 0xffff;
	if (field->is_relative)
		*at += field->offset + field->size;
	if (*at > record->size || *len > record->size - *at)
		*at = *len = 0;
}

/* Finds the bytes of a field or located array, through casts. */
static bool find_bytes(const struct print_record *record, const struct print_node *node, size_t *at,
		       size_t *len, uint32_t *element)
{
	while (node->kind == NODE_CAST)
		node = node->a;
	if (node->kind == NODE_LOCATED) {
		print_locate(record, node->field, at, len);
		*element = node->field->element_bytes ? node->field->element_bytes
						      : record->tracing->long_bytes;
		return true;
	}
	if (node->kind != NODE_FIELD)
		return false;
	*at = node->field->offset;
	if (*at > record->size)
		*at = record->size;
	*len = record->size - *at;
	if (node->field->size && node->field->size < *len)
		*len = node->field->size;
	*element = node->field->element_bytes;
	return true;
}

static uint64_t index_value(const struct print_record *record, const struct print_node *node)
{
	uint64_t index = print_value(record, node->b), mask = UINT64_MAX;
	uint32_t element;
	size_t at, len;

	if (node->a->kind == NODE_CAST && node->a->pointed)
		mask = node->a->pointed;
	if (!find_bytes(record, node->a, &at, &len, &element) || index > record->size)
		return 0;
	return print_load(record, at + index * element, element) & mask;
}

static uint64_t le16_value(const struct print_record *record, const struct print_node *bytes)
{
	uint32_t element;
	size_t at, len;

	if (!find_bytes(record, bytes, &at, &len, &element) || len < 2)
		return 0;
	return get16(record->data + at, false);
}

static uint64_t binary_value(enum binary op, uint64_t a, uint64_t b)
{
	switch (op) {
	case BINARY_OR_ELSE:
		return a || b;
	case BINARY_AND_THEN:
		return a && b;
	case BINARY_OR:
		return a | b;
	case BINARY_XOR:
		return a ^ b;
	case BINARY_AND:
		return a & b;
	case BINARY_EQUAL:
		return a == b;
	case BINARY_UNEQUAL:
		return a != b;
	case BINARY_LESS:
		return a < b;
	case BINARY_GREATER:
		return a > b;
	case BINARY_LESS_EQUAL:
		return a <= b;
	case BINARY_GREATER_EQUAL:
		return a >= b;
	case BINARY_LEFT:
		return a << (b & 63);
	case BINARY_RIGHT:
		return a >> (b & 63);
	case BINARY_ADD:
		return a + b;
	case BINARY_SUBTRACT:
		return a - b;
	case BINARY_MULTIPLY:
		return a * b;
	case BINARY_DIVIDE:
		return b ? a / b : 0;
	case BINARY_REMAINDER:
		return b ? a % b : 0;
	}
	return 0;
}

uint64_t print_value(const struct print_record *record, const struct print_node *node)
{
	size_t at, len;

	switch ((enum node_kind)node->kind) {
	case NODE_NUMBER:
	case NODE_TEXT:
		return node->number;
	case NODE_FIELD:
		return print_field(record, node->field);
	case NODE_INDEX:
		return index_value(record, node);
	case NODE_CAST:
		return print_value(record, node->a) & node->number;
	case NODE_INVERT:
		return ~print_value(record, node->a);
	case NODE_NOT:
		return !print_value(record, node->a);
	case NODE_BINARY:
		return binary_value((enum binary)node->op, print_value(record, node->a),
				    print_value(record, node->b));
	case NODE_CHOICE:
		return print_value(record, print_value(record, node->a) ? node->b : node->c);
	case NODE_LENGTH:
		print_locate(record, node->field, &at, &len);
		return len;
	case NODE_LOCATED:
		print_locate(record, node->field, &at, &len);
		return at;
	case NODE_LE16:
		return le16_value(record, node->a);
	case NODE_FLAGS:
	case NODE_SYMBOL:
	case NODE_HEX:
	case NODE_NUMBERS:
	case NODE_SCSI:
	case NODE_UNKNOWN:
	case NODE_STRING:
	case NODE_BITMASK:
	case NODE_CPUMASK:
	case NODE_DEVICE:
		return 0;
	}
	return 0;
}

static void print_bytes(struct buf *out, const struct print_spec *spec,
			const struct print_record *record, size_t at, size_t len)
{
	const char *text = (const char *)record->data + at;
	const char *zero = len ? memchr(text, 0, len) : NULL;

	print_text(out, spec, text, zero ? (size_t)(zero - text) : len);
}

/* Prints the string of a pointer, by printk_formats, or else the address. */
static void pointed_text(struct buf *out, const struct print_record *record,
			 const struct kernel_field *field)
{
	uint64_t address = print_field(record, field);
	const char *text = printk_find(record->tracing, address);

	if (text)
		buf_add_text(out, text);
	else
		print_hex(out, address);
}

static void field_text(struct buf *out, const struct print_spec *spec,
		       const struct print_record *record, const struct print_node *node)
{
	const struct kernel_field *field = node->field;
	size_t at, len;
	uint32_t element;

	if (!field->is_array && field->size == record->tracing->long_bytes) {
		pointed_text(out, record, field);
	} else if (find_bytes(record, node, &at, &len, &element)) {
		print_bytes(out, spec, record, at, len);
	}
}

static void number_in_hex(struct buf *out, uint64_t value)
{
	buf_add(out, "0x", 2);
	print_hex(out, value);
}

static void flags_text(struct buf *out, const struct print_spec *spec,
		       const struct print_record *record, const struct print_node *node)
{
	uint64_t value = print_value(record, node->a);
	bool more = false;

	for (uint32_t i = 0; i < node->nlabels; i++) {
		const struct label *label = &node->labels[i];
		if (!value && label->value < 0) {
			print_text(out, spec, label->text, strlen(label->text));
			break;
		}
		uint64_t mask = (uint64_t)label->value;
		if (label->value <= 0 || (value & mask) != mask)
			continue;
		if (more)
			buf_add_text(out, node->text);
		print_text(out, spec, label->text, strlen(label->text));
		more = true;
		value &= ~mask;
	}
	if (!value)
		return;
	if (more)
		buf_add_text(out, node->text);
	number_in_hex(out, value);
}

static void symbol_text(struct buf *out, const struct print_spec *spec,
			const struct print_record *record, const struct print_node *node)
{
	uint64_t value = print_value(record, node->a);

	for (uint32_t i = 0; i < node->nlabels; i++)
		if ((uint64_t)node->labels[i].value == value) {
			const char *text = node->labels[i].text;
			print_text(out, spec, text, strlen(text));
			return;
		}
	if (node->text)
		buf_add_text(out, node->text);
	else
		number_in_hex(out, value);
}

static void hex_text(struct buf *out, const struct print_record *record,
		     const struct print_node *node)
{
	uint64_t count = print_value(record, node->b) & UINT32_MAX;
	uint32_t element;
	size_t at, len;

	if (!find_bytes(record, node->a, &at, &len, &element))
		return;
	/* the length argument may exceed the field: print up to the record's end */
	if (count > record->size - at)
		count = record->size - at;
	for (size_t i = 0; i < count; i++) {
		if (i)
			buf_add_text(out, node->text);
		quote_hex(out, record->data + at + i, 1);
	}
}

/* Prints {0x1,0xffff} as the kernel does. A wrong item size is noted; items are then bytes. */
static void numbers_text(struct buf *out, const struct print_record *record,
			 const struct print_node *node)
{
	uint64_t size = print_value(record, node->c), wrong = 0, count;
	uint32_t element;
	size_t at, len;

	if (!find_bytes(record, node->a, &at, &len, &element))
		return;
	if (size != 1 && size != 2 && size != 4 && size != 8) {
		wrong = size;
		size = 1;
	}
	count = node->b ? print_value(record, node->b) & UINT32_MAX : len / size;
	if (count > (record->size - at) / size)
		count = (record->size - at) / size;
	buf_add_char(out, '{');
	for (size_t i = 0; i < count; i++) {
		buf_add_text(out, i ? "," : "");
		if (wrong && !i)
			buf_printf(out, "BAD SIZE:%llu ", (unsigned long long)wrong);
		number_in_hex(out, print_load(record, at + i * size, (uint32_t)size));
	}
	buf_add_char(out, '}');
}

static void scsi_text(struct buf *out, const struct print_record *record,
		      const struct print_node *node)
{
	uint32_t element;
	size_t at, len;

	if (find_bytes(record, node->a, &at, &len, &element))
		print_scsi(out, record->data + at, len);
}

/* Prints an expression for %s; a mere number prints nothing. */
static void string(struct buf *out, const struct print_spec *spec,
		   const struct print_record *record, const struct print_node *node)
{
	size_t at = 0, len = 0;

	while (node->kind == NODE_CHOICE)
		node = print_value(record, node->a) ? node->b : node->c;
	if (node->kind >= NODE_STRING && node->kind <= NODE_CPUMASK && node->field)
		print_locate(record, node->field, &at, &len);
	switch ((enum node_kind)node->kind) {
	case NODE_NUMBER:
		print_text(out, spec, node->text ? node->text : "",
			   node->text ? strlen(node->text) : 0);
		break;
	case NODE_TEXT:
		print_text(out, spec, node->text, strlen(node->text));
		break;
	case NODE_FIELD:
		if (!node->field->is_item)
			field_text(out, spec, record, node);
		break;
	case NODE_FLAGS:
		flags_text(out, spec, record, node);
		break;
	case NODE_SYMBOL:
		symbol_text(out, spec, record, node);
		break;
	case NODE_HEX:
		hex_text(out, record, node);
		break;
	case NODE_NUMBERS:
		numbers_text(out, record, node);
		break;
	case NODE_SCSI:
		scsi_text(out, record, node);
		break;
	case NODE_STRING:
		if (len)
			print_bytes(out, spec, record, at, len);
		break;
	case NODE_BITMASK:
		print_bitmask(out, spec, record, at, len);
		break;
	case NODE_CPUMASK:
		print_cpumask(out, spec, record, at, len, len * 8);
		break;
	case NODE_DEVICE:
		print_decimal(out, false, (uint32_t)print_value(record, node->a) >> 20);
		buf_add_char(out, ':');
		print_decimal(out, false, print_value(record, node->a) & 0xfffff);
		break;
	default:
		break;
	}
}

static void general_piece(const struct print_piece *piece, const struct print_record *record,
			  struct buf *out)
{
	struct print_spec spec = piece->spec;

	if (piece->width) {
		int width = (int)print_value(record, piece->width);
		spec.left = spec.left || width < 0;
		spec.width = width < -4096 || width > 4096 ? 4096 : width < 0 ? -width : width;
	}
	if (piece->precision) {
		int precision = (int)print_value(record, piece->precision);
		spec.precision = precision < 0 ? -1 : precision > 4096 ? 4096 : precision;
	}
	if (piece->kind == PIECE_NUMBER)
		print_number(out, &spec, print_value(record, piece->arg));
	else if (piece->kind == PIECE_STRING)
		string(out, &spec, record, piece->arg);
	else
		print_pointer(piece, &spec, record, out);
}

static int64_t decimal_value(const struct print_piece *piece, const struct print_record *record)
{
	uint64_t value = print_field(record, piece->arg->field);

	if (piece->spec.longs)
		return (int64_t)value;
	return piece->spec.conversion == 'd' ? (int32_t)value : (int64_t)(uint32_t)value;
}

static char *put_decimal(char *to, const struct print_piece *piece,
			 const struct print_record *record)
{
	int64_t value = decimal_value(piece, record);

	return piece->spec.conversion == 'd' ? decimal_put_signed(to, value)
					     : decimal_put(to, (uint64_t)value);
}

static char *put_hex(char *to, const struct print_piece *piece, const struct print_record *record)
{
	uint64_t value = print_field(record, piece->arg->field);

	return hex_put(to, piece->spec.longs ? value : (uint32_t)value, 1);
}

void print_piece(const struct print_piece *piece, const struct print_record *record,
		 struct buf *out)
{
	char *to = buf_room(out, NUMBER_ROOM);

	switch ((enum piece_kind)piece->kind) {
	case PIECE_LITERAL:
		print_add(out, piece->text, piece->len);
		break;
	case PIECE_DECIMAL:
		out->len += (size_t)(put_decimal(to, piece, record) - to);
		break;
	case PIECE_HEX:
		out->len += (size_t)(put_hex(to, piece, record) - to);
		break;
	case PIECE_FIELD_TEXT:
		if (piece->arg->field->offset + piece->arg->field->size > record->size)
			break;
		print_bytes(out, &piece->spec, record, piece->arg->field->offset,
			    piece->arg->field->size);
		break;
	case PIECE_NUMBER:
	case PIECE_STRING:
	case PIECE_POINTER:
		general_piece(piece, record, out);
		break;
	}
}

static inline uint64_t load_plain(const struct print_piece *piece, const uint8_t *data)
{
	uint64_t value = get64(data + piece->at, false) >> piece->shift & piece->mask;

	return (value ^ piece->sign) - piece->sign;
}

/* Writes a plain piece; the record has all its bytes. NULL: there is no prepared text. */
static inline char *put_plain(char *to, const struct print_piece *piece,
			      const struct print_record *record)
{
	if (piece->kind == PIECE_FIELD_TEXT) {
		memcpy(to, record->data + piece->at, 16);
		return to + length16(record->data + piece->at);
	}
	uint64_t value = load_plain(piece, record->data);
	if (piece->kind == PIECE_HEX)
		return hex_put(to, value, 1);
	if (piece->kind == PIECE_DECIMAL)
		return piece->spec.conversion == 'd' ? decimal_put_signed(to, (int64_t)value)
						     : decimal_put(to, value);
	size_t i = ready_place(value);
	if (i == READY_SMALL + READY_BITS || piece->texts->len[i] > READY_TEXT)
		return NULL;
	memcpy(to, piece->texts->text[i], READY_TEXT);
	return to + piece->texts->len[i];
}

void print_prepared(const struct print_program *program, const struct print_piece *piece,
		    const struct print_record *record, struct buf *out)
{
	char *to = buf_room(out, NUMBER_ROOM), *next = NULL;

	if (piece->plain && record->size >= program->need)
		next = put_plain(to, piece, record);
	if (next)
		out->len += (size_t)(next - to);
	else
		print_piece(piece, record, out);
}

/* Reserves program->room bytes at once, and again behind each piece that is not plain. */
void print_run(const struct print_program *program, const struct print_record *record,
	       struct buf *out)
{
	const bool plain = record->size >= program->need;
	char *to, *next;

	if (!program->count)
		return; /* an empty print format */
	to = buf_room(out, program->room);
	const struct print_piece *end = program->pieces + program->count;
	for (const struct print_piece *piece = program->pieces; piece < end; piece++) {
		if (piece->kind == PIECE_LITERAL) {
			to = copy_padded(to, piece->text, piece->len);
		} else if (plain && piece->plain && (next = put_plain(to, piece, record))) {
			to = next;
		} else {
			out->len = (size_t)(to - out->data);
			print_piece(piece, record, out);
			to = buf_room(out, program->room);
		}
	}
	out->len = (size_t)(to - out->data);
}
