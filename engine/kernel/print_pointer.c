/*
 * print_pointer.c - the kernel's extensions of %p: symbols and addresses of all kinds
 *
 *     s f: symbol    S F: symbol+offset    M m: hardware address    I4 I6 IS: internet address
 *     U: UUID    h: bytes    b bl: bits set    nothing: the pointer
 */
#include "engine/kernel/print.h"

#include <string.h>

static const struct print_node *bare(const struct print_node *node)
{
	while (node->kind == NODE_CAST)
		node = node->a;
	return node;
}

/* Returns the bytes of a field of `size` bytes; else NULL, and adds the tools' text for that. */
static const uint8_t *field_of(const struct print_record *record, const struct print_node *node,
			       uint32_t size, const char *otherwise, struct buf *out)
{
	node = bare(node);
	if (node->kind != NODE_FIELD) {
		buf_add_text(out, "ARG TYPE NOT FIELD");
		return NULL;
	}
	if (node->field->size != size || node->field->offset + size > record->size) {
		buf_add_text(out, otherwise);
		return NULL;
	}
	return record->data + node->field->offset;
}

static void byte_in_hex(struct buf *out, uint8_t byte, bool upper)
{
	const char *digits = upper ? "0123456789ABCDEF" : "0123456789abcdef";
	const char both[] = {digits[byte >> 4], digits[byte & 15]};

	buf_add(out, both, 2);
}

static void symbol(const struct print_record *record, uint64_t address, bool offset,
		   struct buf *out)
{
	uint64_t start = 0;
	const char *name = tracing_symbol(record->tracing, address, &start);

	if (!name) {
		buf_add_text(out, "0x");
		print_hex(out, address);
		return;
	}
	buf_add_text(out, name);
	if (offset) {
		buf_add_text(out, "+0x");
		print_hex(out, address - start);
	}
}

static void hardware_address(const struct print_record *record, const struct print_piece *piece,
			     struct buf *out)
{
	const uint8_t *bytes = field_of(record, piece->arg, 6, "INVALIDMAC", out);
	char between = piece->text[0] == 'm' ? 0 : piece->text[1] == 'F' ? '-' : ':';

	for (int i = 0; bytes && i < 6; i++) {
		if (i && between)
			buf_add_char(out, between);
		byte_in_hex(out, bytes[piece->text[1] == 'R' ? 5 - i : i], false);
	}
}

static void ip4(struct buf *out, const uint8_t *bytes, bool padded, bool reverse)
{
	const struct print_spec spec = {
		.conversion = 'd', .zero = true, .width = padded ? 3 : -1, .precision = -1};

	for (int i = 0; i < 4; i++) {
		if (i)
			buf_add_char(out, '.');
		print_number(out, &spec, bytes[reverse ? 3 - i : i]);
	}
}

static void ip6_plain(struct buf *out, const uint8_t *bytes, bool colons)
{
	for (int i = 0; i < 16; i++) {
		if (colons && i && i % 2 == 0)
			buf_add_char(out, ':');
		byte_in_hex(out, bytes[i], false);
	}
}

/* Returns the start of the longest run of two or more zero words among `count`; -1: none. */
static int zero_run(const uint16_t *words, int count, int *length)
{
	int start = -1;

	*length = 1;
	for (int i = 0; i < count; i++) {
		int run = 0;
		while (i + run < count && !words[i + run])
			run++;
		if (run > *length) {
			*length = run;
			start = i;
		}
	}
	return start;
}

static void ip6_short(struct buf *out, const uint8_t *bytes)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
	uint16_t words[8];
	int length;

	for (int i = 0; i < 8; i++)
		words[i] = (uint16_t)load_be(bytes + 2 * i, 2);
	bool isatap = (words[4] | 0x0200) == 0x0200 && words[5] == 0x5efe;
	bool with_ip4 = !memcmp(bytes, mapped, 12) || isatap;
	int count = with_ip4 ? 6 : 8, gap = zero_run(words, count, &length);
	bool colon = false;

	for (int i = 0; i < count; i++) {
		if (i == gap) {
			buf_add_text(out, colon || i == 0 ? "::" : ":");
			colon = false;
			i += length - 1;
			continue;
		}
		if (colon)
			buf_add_char(out, ':');
		print_hex(out, words[i]);
		colon = true;
	}
	if (with_ip4) {
		if (colon)
			buf_add_char(out, ':');
		ip4(out, bytes + 12, false, false);
	}
}

/* A sockaddr of 16 bytes or more: the family in the machine's byte order, the rest in network's. */
static void socket_address(const struct print_record *record, const struct print_piece *piece,
			   struct buf *out)
{
	const struct print_node *node = bare(piece->arg);
	const char *letters = piece->text;
	bool port = strchr(letters, 'p') != NULL, brief = strchr(letters, 'c') != NULL;
	size_t at = 0, len = 0;

	if (node->kind == NODE_LOCATED) {
		print_locate(record, node->field, &at, &len);
	} else if (node->kind == NODE_FIELD) {
		at = node->field->offset;
		len = at + node->field->size <= record->size ? node->field->size : 0;
	} else {
		buf_add_text(out, "ARG NOT FIELD NOR DYNAMIC ARRAY");
		return;
	}
	const uint8_t *bytes = record->data + at;
	uint64_t family = len >= 2 ? print_load(record, at, 2) : 0;
	if (family == 2 && len < 16) {
		buf_add_text(out, "INVALIDIPv4");
	} else if (family == 2) {
		ip4(out, bytes + 4, letters[0] == 'i', strchr(letters, 'l') != NULL);
	} else if (family == 10 && len < 28) {
		buf_add_text(out, "INVALIDIPv6");
	} else if (family == 10) {
		buf_add_text(out, port ? "[" : "");
		if (brief)
			ip6_short(out, bytes + 8);
		else
			ip6_plain(out, bytes + 8, letters[0] == 'I');
		buf_add_text(out, port ? "]" : "");
	}
	if (port && ((family == 2 && len >= 16) || (family == 10 && len >= 28))) {
		buf_add_char(out, ':');
		print_decimal(out, false, load_be(bytes + 2, 2));
	}
}

static void internet_address(const struct print_record *record, const struct print_piece *piece,
			     struct buf *out)
{
	const char *letters = piece->text;
	const uint8_t *bytes;

	if (letters[1] == '4') {
		bool reverse =
			letters[2] == 'l' || (letters[2] == 'h' && !record->tracing->big_endian);
		if ((bytes = field_of(record, piece->arg, 4, "INVALIDIPv4", out)))
			ip4(out, bytes, letters[0] == 'i', reverse);
	} else if (letters[1] == '6') {
		if (!(bytes = field_of(record, piece->arg, 16, "INVALIDIPv6", out)))
			return;
		if (letters[2] == 'c' && letters[0] == 'I')
			ip6_short(out, bytes);
		else
			ip6_plain(out, bytes, letters[0] == 'I');
	} else if (letters[1] == 'S') {
		socket_address(record, piece, out);
	}
}

static void uuid(const struct print_record *record, const struct print_piece *piece,
		 struct buf *out)
{
	static const uint8_t little[16] = {3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15};
	const uint8_t *bytes = field_of(record, piece->arg, 16, "INVALIDUUID", out);
	char kind = piece->text[1];

	for (int i = 0; bytes && i < 16; i++) {
		if (i == 4 || i == 6 || i == 8 || i == 10)
			buf_add_char(out, '-');
		byte_in_hex(out, bytes[kind == 'L' || kind == 'l' ? little[i] : i],
			    kind == 'L' || kind == 'B');
	}
}

static void bytes_in_hex(const struct print_record *record, const struct print_piece *piece,
			 const struct print_spec *spec, struct buf *out)
{
	const struct print_node *node = bare(piece->arg);
	char kind = piece->text[1], between = kind == 'C' ? ':' : kind == 'D' ? '-' : ' ';
	size_t wanted = spec->width < 0 ? 1 : (size_t)spec->width, at = 0, len = 0;

	if (node->kind != NODE_LOCATED) {
		buf_add_text(out, "ARG TYPE NOT DYNAMIC ARRAY");
		return;
	}
	print_locate(record, node->field, &at, &len);
	for (size_t i = 0; i < len && i < wanted; i++) {
		if (i && kind != 'N')
			buf_add_char(out, between);
		byte_in_hex(out, record->data[at + i], false);
	}
}

/* Returns byte `i` of a mask, from the lowest: it has longs in the machine's byte order. */
static uint8_t mask_byte(const struct print_record *record, size_t at, size_t len, size_t i)
{
	return record->data[at + (record->tracing->big_endian ? len - 1 - i : i)];
}

void print_bitmask(struct buf *out, const struct print_spec *spec,
		   const struct print_record *record, size_t at, size_t len)
{
	struct buf text = {0};

	for (size_t i = len; i-- > 0;) {
		byte_in_hex(&text, mask_byte(record, at, len, i), false);
		if (i && i % 4 == 0)
			buf_add_char(&text, ',');
	}
	print_text(out, spec, buf_text(&text), text.len);
	buf_release(&text);
}

void print_cpumask(struct buf *out, const struct print_spec *spec,
		   const struct print_record *record, size_t at, size_t len, size_t nbits)
{
	struct buf text = {0};
	size_t bits = nbits < len * 8 ? nbits : len * 8;

	for (size_t i = 0; i < bits;) {
		size_t end = i;
		while (end < bits && mask_byte(record, at, len, end / 8) >> end % 8 & 1)
			end++;
		if (end > i) {
			buf_add_text(&text, text.len ? "," : "");
			print_decimal(&text, false, i);
		}
		if (end > i + 1) {
			buf_add_char(&text, '-');
			print_decimal(&text, false, end - 1);
		}
		i = end + 1;
	}
	print_text(out, spec, buf_text(&text), text.len);
	buf_release(&text);
}

/* %*pb, %*pbl: the width is the number of bits, of a field or a located array. */
static void bits(const struct print_record *record, const struct print_piece *piece,
		 const struct print_spec *spec, struct buf *out)
{
	const struct print_node *node = bare(piece->arg);
	const struct print_spec plain = {.width = -1, .precision = -1};
	size_t at = 0, len = 0, count = spec->width < 0 ? 0 : (size_t)spec->width;

	if (node->kind == NODE_LOCATED || (node->kind == NODE_FIELD && node->field->is_located)) {
		print_locate(record, node->field, &at, &len);
	} else if (node->kind == NODE_FIELD &&
		   node->field->offset + node->field->size <= record->size) {
		at = node->field->offset;
		len = node->field->size;
	}
	if (piece->text[1] == 'l')
		print_cpumask(out, &plain, record, at, len, count);
	else
		print_bitmask(out, &plain, record, at, len);
}

void print_pointer(const struct print_piece *piece, const struct print_spec *spec,
		   const struct print_record *record, struct buf *out)
{
	uint64_t value;

	switch (piece->text[0]) {
	case 'F':
	case 'f':
	case 'S':
	case 's':
		symbol(record, print_value(record, piece->arg),
		       piece->text[0] == 'F' || piece->text[0] == 'S', out);
		break;
	case 'M':
	case 'm':
		hardware_address(record, piece, out);
		break;
	case 'I':
	case 'i':
		internet_address(record, piece, out);
		break;
	case 'U':
		uuid(record, piece, out);
		break;
	case 'h':
		bytes_in_hex(record, piece, spec, out);
		break;
	case 'b':
		bits(record, piece, spec, out);
		break;
	default:
		value = print_value(record, piece->arg);
		buf_add_text(out, value ? "0x" : "(nil)");
		if (value)
			print_hex(out, value);
	}
}
