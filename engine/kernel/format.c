/*
 * format.c - one format file: name, ID, two blocks of fields, the print format
 *
 *     name: sched_switch
 *     ID: 314
 *     format:
 *     	field:unsigned short common_type;	offset:0;	size:2;	signed:0;
 *     	...
 *     (blank)
 *     	field:char prev_comm[16];	offset:8;	size:16;	signed:0;
 *     	...
 *     (blank)
 *     print fmt: "prev_comm=%s ...", REC->prev_comm, ...
 *
 * The text comes from the trace and is not trusted: names and numbers are bounded, and a block of
 * another form makes the format unusable.
 */
#include "engine/kernel/tracing_internal.h"

#include <string.h>

struct format_scan {
	const char *at, *end;
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static void skip_blanks(struct format_scan *scan)
{
	while (scan->at < scan->end && is_blank(*scan->at))
		scan->at++;
}

/* Consumes `text` and blanks in front of it, if it comes next. */
static bool accept(struct format_scan *scan, const char *text)
{
	size_t len = strlen(text);

	skip_blanks(scan);
	if ((size_t)(scan->end - scan->at) < len || memcmp(scan->at, text, len) != 0)
		return false;
	scan->at += len;
	return true;
}

static bool read_number(struct format_scan *scan, uint32_t max, uint32_t *out)
{
	skip_blanks(scan);
	const char *start = scan->at;
	uint64_t value = decimal_take(&scan->at, scan->end);
	*out = (uint32_t)value;
	return scan->at > start && value <= max;
}

static struct format_scan take_line(struct format_scan *scan)
{
	const char *stop = memchr(scan->at, '\n', (size_t)(scan->end - scan->at));
	struct format_scan line = {scan->at, stop ? stop : scan->end};

	scan->at = stop ? stop + 1 : scan->end;
	skip_blanks(&line);
	while (line.end > line.at && is_blank(line.end[-1]))
		line.end--;
	return line;
}

static char *copy(struct tracing *tracing, struct format_scan part)
{
	return arena_strndup(tracing->arena, part.at, (size_t)(part.end - part.at));
}

static void trim(struct format_scan *part)
{
	while (part->end > part->at && is_blank(part->end[-1]))
		part->end--;
	skip_blanks(part);
}

/* Cuts `[...]` off the end of `part`, and returns the number inside, or 0. False: no brackets. */
static bool take_brackets(struct format_scan *part, uint32_t *number)
{
	const char *open = part->end;

	*number = 0;
	if (part->end == part->at || part->end[-1] != ']')
		return false;
	while (open > part->at && *--open != '[')
		;
	if (*open != '[')
		return false;
	struct format_scan inside = {open + 1, part->end - 1};
	if (!read_number(&inside, RECORD_MAX, number))
		*number = 0;
	part->end = open;
	trim(part);
	return true;
}

/* "char comm[16]", "__data_loc char[] name", "const char *const name" */
static bool read_declaration(struct tracing *tracing, struct format_scan part,
			     struct kernel_field *field)
{
	struct format_scan type = part, name;
	uint32_t length;

	trim(&type);
	field->is_array = take_brackets(&type, &field->array_length);
	name.end = type.end;
	while (type.end > type.at && char_is_word(type.end[-1]))
		type.end--;
	name.at = type.end;
	trim(&type);
	if (name.at == name.end || type.at == type.end)
		return false;
	field->name = copy(tracing, name);
	field->is_pointer = memchr(type.at, '*', (size_t)(type.end - type.at)) != NULL;
	if (field->is_array) {
		field->type = arena_printf(tracing->arena, "%.*s[%u]", (int)(type.end - type.at),
					   type.at, field->array_length);
		return true;
	}
	field->type = copy(tracing, type);
	field->is_array = take_brackets(&type, &length);
	field->array_length = length;
	return true;
}

/* Returns the size of an item of REC->name[i] by the last word of the type; 0: unknown. */
static uint32_t dynamic_element(const char *type)
{
	static const struct {
		const char *word;
		uint32_t bytes;
	} words[] = {{"u8[]", 1},  {"s8[]", 1},  {"char[]", 1}, {"u16[]", 2}, {"s16[]", 2},
		     {"u32[]", 4}, {"s32[]", 4}, {"u64[]", 8},  {"s64[]", 8}};
	size_t len = strlen(type);

	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		size_t n = strlen(words[i].word);
		if (len >= n && !strcmp(type + len - n, words[i].word) &&
		    (len == n || type[len - n - 1] == ' '))
			return words[i].bytes;
	}
	return 0;
}

static void find_kind(const struct tracing *tracing, struct kernel_field *field)
{
	const char *type = field->type;

	field->is_relative = !strncmp(type, "__rel_loc", 9);
	field->is_located = field->is_relative || !strncmp(type, "__data_loc", 10);
	field->is_text = field->is_array &&
			 (strstr(type, "char") || strstr(type, "u8") || strstr(type, "s8"));
	field->is_long = strstr(type, "long") != NULL;
	if (!field->is_array && !field->is_located)
		field->element_bytes = field->size;
	else if (field->array_length)
		field->element_bytes = field->size / field->array_length;
	else if (field->is_located)
		field->element_bytes = dynamic_element(type);
	else if (field->is_text)
		field->element_bytes = 1;
	else if (field->is_long)
		field->element_bytes = tracing->long_bytes;
}

static bool read_field(struct tracing *tracing, struct format_scan line, struct kernel_field *field)
{
	uint32_t is_signed = 0;

	*field = (struct kernel_field){0};
	if (!accept(&line, "field"))
		return false;
	(void)accept(&line, "special"); /* old ftrace formats */
	if (!accept(&line, ":"))
		return false;
	const char *stop = memchr(line.at, ';', (size_t)(line.end - line.at));
	if (!stop || !read_declaration(tracing, (struct format_scan){line.at, stop}, field))
		return false;
	line.at = stop;
	if (!accept(&line, ";") || !accept(&line, "offset:") ||
	    !read_number(&line, RECORD_MAX, &field->offset) || !accept(&line, ";") ||
	    !accept(&line, "size:") || !read_number(&line, RECORD_MAX, &field->size) ||
	    !accept(&line, ";"))
		return false;
	if (accept(&line, "signed:") && !read_number(&line, 1, &is_signed))
		return false;
	field->is_signed = is_signed;
	find_kind(tracing, field);
	return true;
}

/* Parses field lines up to a blank line; false: one of them is no field. */
static bool read_fields(struct tracing *tracing, struct format_scan *scan,
			struct kernel_field *fields, uint32_t *count)
{
	while (scan->at < scan->end) {
		struct format_scan before = *scan, line = take_line(scan);
		if (line.at == line.end)
			return true;
		if (accept(&line, "print")) { /* a missing blank line: the block ends here */
			*scan = before;
			return true;
		}
		if (*count == FIELDS_MAX || !read_field(tracing, line, &fields[*count]))
			return false;
		++*count;
	}
	return true;
}

static uint32_t count_lines(struct format_scan scan)
{
	uint32_t count = 0;

	for (; scan.at < scan.end && count < FIELDS_MAX; count++)
		take_line(&scan);
	return count;
}

static bool format_read_head(struct tracing *tracing, struct format_scan *scan,
			     struct tracing_format *out)
{
	struct format_scan line = take_line(scan);

	if (!accept(&line, "name:"))
		return false;
	trim(&line);
	out->name = copy(tracing, line);
	line = take_line(scan);
	if (line.at == line.end || !*out->name || !accept(&line, "ID:") ||
	    !read_number(&line, INT32_MAX, &out->id))
		return false;
	line = take_line(scan);
	return accept(&line, "format:");
}

bool format_parse(struct tracing *tracing, const char *system, const char *text, size_t len,
		  struct tracing_format *out, struct error *err)
{
	const char *zero = len ? memchr(text, 0, len) : NULL;
	struct format_scan scan = {text, zero ? zero : text + len};

	if (!len || !format_read_head(tracing, &scan, out))
		return error_set(err, ERR_FORMAT, "a format without name or ID");
	struct tracing_text *said = arena_alloc(tracing->arena, sizeof *said);
	said->fields = arena_array(tracing->arena, count_lines(scan) + 1, sizeof *said->fields);
	out->system = system;
	out->text = said;
	if (!read_fields(tracing, &scan, said->fields, &said->ncommon))
		return error_set(err, ERR_FORMAT, "%s: its common fields cannot be read",
				 out->name);
	said->nfields = said->ncommon;
	if (!read_fields(tracing, &scan, said->fields, &said->nfields))
		return error_set(err, ERR_FORMAT, "%s: its fields cannot be read", out->name);
	while (scan.at < scan.end && (is_blank(*scan.at) || *scan.at == '\n'))
		scan.at++;
	said->print = accept(&scan, "print") && accept(&scan, "fmt") && accept(&scan, ":")
			      ? copy(tracing, scan)
			      : "";
	said->is_ftrace = !strcmp(system, "ftrace");
	said->is_bprint = said->is_ftrace && !strcmp(out->name, "bprint");
	return true;
}

const struct kernel_field *format_field(const struct tracing_text *text, const char *name)
{
	for (uint32_t i = 0; i < text->nfields; i++)
		if (!strcmp(text->fields[i].name, name))
			return &text->fields[i];
	return NULL;
}

/* Finds the field of that name in header_page; false: there is none. */
static bool page_field(struct tracing *tracing, struct format_scan scan, const char *name,
		       uint32_t *at, uint32_t *bytes)
{
	struct kernel_field field;

	while (scan.at < scan.end) {
		struct format_scan line = take_line(&scan);
		if (read_field(tracing, line, &field) && !strcmp(field.name, name)) {
			*at = field.offset;
			*bytes = field.size;
			return true;
		}
	}
	return false;
}

bool tracing_header_page(struct tracing *tracing, const char *text, size_t len, struct error *err)
{
	struct format_scan scan = {text, text + len};
	struct tracing_page page = tracing->page;

	if (!len) /* kernels without header_page have pages as tracing->page is initialized */
		return true;
	if (!page_field(tracing, scan, "timestamp", &page.time_at, &page.time_bytes) ||
	    !page_field(tracing, scan, "commit", &page.commit_at, &page.commit_bytes) ||
	    !page_field(tracing, scan, "data", &page.data_at, &page.data_bytes))
		return error_set(err, ERR_FORMAT, "header_page lacks timestamp, commit or data");
	if (page.time_bytes != 8 || (page.commit_bytes != 4 && page.commit_bytes != 8) ||
	    !page.data_bytes)
		return error_set(err, ERR_FORMAT, "header_page says sizes that cannot be");
	tracing->page = page;
	return true;
}

/* header_event describes the bits of an entry's head, which all kernels split alike: ignored. */
bool tracing_header_event(struct tracing *tracing, const char *text, size_t len, struct error *err)
{
	(void)tracing;
	(void)text;
	(void)len;
	(void)err;
	return true;
}

/* Adds "char comm[16]" for the type "char[16]"; a length that was no number is 0. */
static void add_declaration(const struct kernel_field *field, struct buf *out)
{
	const char *bracket = field->is_located ? NULL : strchr(field->type, '[');

	if (!bracket)
		buf_printf(out, "%s %s", field->type, field->name);
	else if (field->array_length)
		buf_printf(out, "%.*s %s%s", (int)(bracket - field->type), field->type, field->name,
			   bracket);
	else
		buf_printf(out, "%.*s %s[]", (int)(bracket - field->type), field->type,
			   field->name);
}

void tracing_format_text(const struct tracing_format *format, uint32_t id, struct buf *out)
{
	const struct tracing_text *text = format->text;

	buf_printf(out, "name: %s\nID: %u\nformat:\n", format->name, id);
	for (uint32_t i = 0; i < text->nfields; i++) {
		const struct kernel_field *field = &text->fields[i];
		buf_add_text(out, i == text->ncommon ? "\n\tfield:" : "\tfield:");
		add_declaration(field, out);
		buf_printf(out, ";\toffset:%u;\tsize:%u;\tsigned:%d;\n", field->offset, field->size,
			   field->is_signed);
	}
	buf_printf(out, "\nprint fmt: %s\n", text->print);
}
