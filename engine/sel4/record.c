/*
 * record.c - the bytes or the line of one kernel entry → a record
 *
 *     binary  OFF  SIZE  MEANING                       (the driver's file "tracedata", no header)
 *               0     8  start: ticks at the entry
 *               8     4  duration: ticks until the exit
 *              12     1  path: kind in the low 4 bits, the rest 0
 *              13     8  detail word, unaligned; 4 bytes in records of 20
 *              21     3  padding
 *     text    "%25s -- %12llu -- %12u -- 0x%10llx\n": kind, start, duration, detail word, padded
 *             with blanks                                        (the driver's file "trace")
 */
#include "engine/base/cursor.h"
#include "engine/sel4/sel4_internal.h"

#include <string.h>

static const char *const names[] = {
	"Entry_Interrupt", "Entry_UnknownSyscall", "Entry_UserLevelFault",      "Entry_DebugFault",
	"Entry_VMFault",   "Entry_Syscall",        "Entry_UnimplementedDevice", "Entry_VCPUFault",
	"Entry_Switch",    "Wrong_Entry_Type"};
static const char vm_exit[] = "Entry_VMExit";

const char *entry_name(const struct sel4_log *log, enum entry_kind kind)
{
	return kind == ENTRY_VCPU_FAULT && log->x86 ? vm_exit : names[kind];
}

static bool is_zero(const uint8_t *data, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (data[i])
			return false;
	return true;
}

static enum record_step binary_record(const struct sel4_log *log, const uint8_t *data, size_t size,
				      bool last, struct sel4_record *out, size_t *bytes,
				      const char **why)
{
	const unsigned wide = log->record_bytes == RECORD_BYTES ? 8 : 4;

	if (size < log->record_bytes) {
		*bytes = size;
		*why = "it is cut off";
		return last ? RECORD_BAD : RECORD_MORE;
	}
	*bytes = log->record_bytes;
	if (is_zero(data, *bytes))
		return RECORD_EMPTY;
	unsigned path = data[12] & 15;
	*out = (struct sel4_record){
		.start = load_le(data, 8),
		.duration = (uint32_t)load_le(data + 8, 4),
		.kind = path < ENTRY_WRONG ? (enum entry_kind)path : ENTRY_WRONG,
		.detail = load_le(data + 13, wide),
	};
	return RECORD_GOOD;
}

/* ---- text ---- */

static void pass_blanks(struct cursor *line)
{
	while (line->pos < line->size && line->data[line->pos] == ' ')
		line->pos++;
}

static bool pass_text(struct cursor *line, const char *text)
{
	size_t len = strlen(text);

	if (line->size - line->pos < len || memcmp(line->data + line->pos, text, len) != 0)
		return false;
	line->pos += len;
	return true;
}

static unsigned digit_of(uint8_t c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10u : 99;
}

/* Parses a number of at least one digit and at most 64 bits. */
static bool pass_number(struct cursor *line, unsigned base, uint64_t *out)
{
	size_t begin = line->pos;

	for (*out = 0; line->pos < line->size && digit_of(line->data[line->pos]) < base;
	     line->pos++)
		if (__builtin_mul_overflow(*out, (uint64_t)base, out) ||
		    __builtin_add_overflow(*out, (uint64_t)digit_of(line->data[line->pos]), out))
			return false;
	return line->pos > begin;
}

static bool pass_kind(struct cursor *line, enum entry_kind *out)
{
	for (unsigned kind = 0; kind < ENTRY_KINDS; kind++)
		if (pass_text(line, names[kind])) {
			*out = (enum entry_kind)kind;
			return true;
		}
	*out = ENTRY_VCPU_FAULT;
	return pass_text(line, vm_exit);
}

static bool parse_line(struct cursor line, struct sel4_record *out)
{
	uint64_t duration;

	pass_blanks(&line);
	if (!pass_kind(&line, &out->kind) || !pass_text(&line, " --"))
		return false;
	pass_blanks(&line);
	if (!pass_number(&line, 10, &out->start) || !pass_text(&line, " --"))
		return false;
	pass_blanks(&line);
	if (!pass_number(&line, 10, &duration) || duration > UINT32_MAX ||
	    !pass_text(&line, " -- 0x"))
		return false;
	out->duration = (uint32_t)duration;
	pass_blanks(&line);
	return pass_number(&line, 16, &out->detail) && line.pos == line.size;
}

static enum record_step text_record(const uint8_t *data, size_t size, bool last,
				    struct sel4_record *out, size_t *bytes, const char **why)
{
	const uint8_t *end = memchr(data, '\n', size);

	if (!end) {
		*bytes = size;
		*why = "the line has no end";
		return last || size > LINE_MAX_BYTES ? RECORD_BAD : RECORD_MORE;
	}
	*bytes = (size_t)(end - data) + 1;
	*why = "the line is not \"ENTRY -- START -- DURATION -- 0xDETAIL\"";
	return parse_line(cursor_over(data, *bytes - 1), out) ? RECORD_GOOD : RECORD_BAD;
}

enum record_step sel4_record(const struct sel4_log *log, const uint8_t *data, size_t size,
			     bool last, struct sel4_record *out, size_t *bytes, const char **why)
{
	return log->text ? text_record(data, size, last, out, bytes, why)
			 : binary_record(log, data, size, last, out, bytes, why);
}

/* ---- is it one? ---- */

bool sel4_looks_text(const uint8_t *data, size_t size)
{
	struct sel4_record record;
	const char *why;
	size_t bytes;

	return size && text_record(data, size, true, &record, &bytes, &why) == RECORD_GOOD;
}

/*
 * There is no magic number. In each record the path must be a kind and the padding zero; starts
 * must rise, or fall by less than 2^32, as cores wait for one another.
 */
bool sel4_looks_binary(const uint8_t *data, size_t size)
{
	uint64_t before = 0;
	size_t n = size / RECORD_BYTES;

	for (size_t i = 0; i < n; i++) {
		const uint8_t *record = data + i * RECORD_BYTES;
		uint64_t start = load_le(record, 8);
		if (i && is_zero(record, RECORD_BYTES))
			continue;
		if (!start || record[12] >= ENTRY_WRONG || !is_zero(record + 21, 3) ||
		    (start < before && before - start > UINT32_MAX))
			return false;
		before = start;
	}
	return n > 0;
}
