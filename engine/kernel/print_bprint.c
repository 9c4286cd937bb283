/*
 * print_bprint.c - binary trace_printk(): the record has the address of a format in printk_formats,
 * and its arguments one behind the other, each at a multiple of 4 bytes, texts as bytes. So the
 * format is parsed for each event.
 */
#include "engine/kernel/print.h"

#include <string.h>

struct packed {
	const struct print_record *record;
	size_t at;
};

static size_t text_length(const struct packed *packed)
{
	const uint8_t *from = packed->record->data + packed->at;
	size_t left = packed->record->size - packed->at;
	const uint8_t *zero = left ? memchr(from, 0, left) : NULL;

	return zero ? (size_t)(zero - from) : left;
}

/* Reads a number of `bytes` bytes; false: no bytes are left. */
static bool take_number(struct packed *packed, uint32_t bytes, struct print_node *out)
{
	size_t at = (packed->at + 3) & ~(size_t)3;

	if (packed->at >= packed->record->size)
		return false;
	*out = (struct print_node){.kind = NODE_NUMBER,
				   .number = print_load(packed->record, at, bytes)};
	packed->at = at + bytes < packed->record->size ? at + bytes : packed->record->size;
	return true;
}

static void print_bprint_take_text(struct packed *packed, const struct print_spec *spec,
				   struct buf *out)
{
	size_t len = text_length(packed);

	print_text(out, spec, (const char *)packed->record->data + packed->at, len);
	packed->at += len < packed->record->size - packed->at ? len + 1 : len;
}

/* Does the record have a text for this %p? Newer kernels print the target when they record. */
static bool is_text_pointer(const struct packed *packed, const struct print_piece *piece)
{
	uint8_t first = packed->at < packed->record->size ? packed->record->data[packed->at] : 0;

	return piece->len && !strchr("sSfFx", piece->text[0]) && first >= ' ' && first <= '~';
}

static bool star(struct packed *packed, bool wanted, struct print_node *node,
		 const struct print_node **out)
{
	*out = wanted ? node : NULL;
	return !wanted || take_number(packed, 4, node);
}

static void one(struct packed *packed, const char **at, struct buf *out)
{
	struct print_node width, precision, value;
	bool star_width, star_precision;
	struct print_piece piece;

	if (!print_conversion(at, &piece, &star_width, &star_precision) ||
	    !star(packed, star_width, &width, &piece.width) ||
	    !star(packed, star_precision, &precision, &piece.precision))
		return;
	if (piece.kind == PIECE_STRING || is_text_pointer(packed, &piece)) {
		struct print_spec spec = piece.spec;
		if (piece.precision)
			spec.precision = (int)(precision.number & 0xfff);
		print_bprint_take_text(packed, &spec, out);
		return;
	}
	uint32_t bytes = piece.kind == PIECE_POINTER || piece.spec.longs == 1
				 ? packed->record->tracing->long_bytes
			 : piece.spec.longs == 2 ? 8
						 : 4;
	if (!take_number(packed, bytes, &value))
		return;
	piece.arg = &value;
	print_piece(&piece, packed->record, out);
}

static void unescape(const char **at, struct buf *out)
{
	char character = **at;

	if (character == '\\' && (*at)[1]) {
		character = *++*at;
		character = character == 'n' ? '\n' : character == 't' ? '\t' : character;
	} else if (character == '%') {
		++*at;
	}
	buf_add_char(out, character);
	++*at;
}

void print_bprint(const struct print_record *record, const struct tracing_text *text,
		  struct buf *out)
{
	const struct kernel_field *ip = format_field(text, "ip"), *fmt = format_field(text, "fmt");
	const struct kernel_field *field = format_field(text, "buf");
	struct packed packed = {.record = record};

	if (!ip || !fmt || !field || field->offset > record->size) {
		print_raw(record, text, out);
		return;
	}
	struct print_node address = {.kind = NODE_NUMBER, .number = print_field(record, ip)};
	struct print_piece symbol = {.kind = PIECE_POINTER, .text = "s", .len = 1, .arg = &address};
	print_piece(&symbol, record, out);
	buf_add_text(out, ": ");
	const char *at = printk_find(record->tracing, print_field(record, fmt));
	if (!at) {
		buf_add_text(out, "(NO FORMAT FOUND at ");
		print_hex(out, print_field(record, fmt));
		buf_add_text(out, ")");
		return;
	}
	packed.at = field->offset;
	while (*at) {
		if (at[0] == '%' && at[1] != '%')
			one(&packed, &at, out);
		else
			unescape(&at, out);
	}
}
