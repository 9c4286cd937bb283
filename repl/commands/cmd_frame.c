/*
 * cmd_frame.c - finds a trace frame of GDB as `tfind` does, and shows it in full as `tdump` does
 *
 * A frame has a number and no time. The current frame is the one at the prompt's moment; a search
 * begins behind it and makes the frame that it finds the current one.
 */
#include "engine/base/mem.h"
#include "engine/event.h"
#include "engine/symbols/symbols.h"
#include "index/events.h"
#include "repl/commands/cmds.h"
#include "repl/render/render.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES_A_LINE = 16 };

/* ---- one value ---- */

static bool register_value(const struct fields *fields, const char *name, struct buf *out)
{
	struct field field;

	if (!fields_get(fields, 1u << SCOPE_STREAM_EVENT_CONTEXT, &name, 1, &field) ||
	    field.class->kind != FIELD_INT)
		return false;
	if (field.class->is_address) {
		buf_printf(out, "0x%" PRIx64, field.slot.u);
	} else {
		unsigned unused = 64 - field.class->bits;
		buf_printf(out, "%" PRId64, (int64_t)(field.slot.u << unused) >> unused);
	}
	return true;
}

/* Is this item of the list the variable `name`? Then sets *value. */
static bool state_item(const struct field *item, const char *name, int64_t *value)
{
	struct field_iter members;
	bool is = false;

	field_iter_begin(&members, item);
	while (field_iter_next(&members)) {
		uint32_t next = 0;
		const char *label;

		if (!members.item.class->is_enum) {
			*value = members.item.slot.s;
			continue;
		}
		label = field_label(members.item.class, members.item.slot.u, &next);
		is = label && !strcmp(label, name);
	}
	field_iter_end(&members);
	return is;
}

static bool state_value(const struct fields *fields, const char *name, struct buf *out)
{
	static const char *const member = "variables";
	struct field_iter iter;
	struct field field;
	int64_t value = 0;
	bool found = false;

	if (!fields_get(fields, 1u << SCOPE_PAYLOAD, &member, 1, &field))
		return false;
	field_iter_begin(&iter, &field);
	while (!found && field_iter_next(&iter))
		found = state_item(&iter.item, name, &value);
	field_iter_end(&iter);
	if (found)
		buf_printf(out, "%" PRId64, value);
	return found;
}

/*
 * Appends the value of `name`, as GDB writes it: "$rdi", "$hits", or with debug information of
 * --program a variable in scope at the frame's pc, "n", "*it". False: the frame does not have it.
 */
static bool frame_value(struct session *session, nstime number, const struct fields *fields,
			const char *name, struct buf *out)
{
	struct symbols *symbols = session->options->program ? session_symbols(session) : NULL;
	const struct variable *items = NULL;
	size_t n = 0;

	buf_clear(out);
	if (*name == '$')
		return state_value(fields, name + 1, out) || register_value(fields, name + 1, out);
	if (symbols)
		n = symbols_variables(symbols, number, fields, &items);
	for (size_t i = 0; i < n; i++)
		if (!strcmp(items[i].name, name)) {
			buf_add_text(out, items[i].value);
			return true;
		}
	return false;
}

/* ---- a condition ---- */

/* NAME OP NUMBER */
struct frame_condition {
	char *name; /* to be freed by mem_free() */
	char op[3]; /* == != < <= > >= */
	int64_t than;
};

static bool frame_condition_parse(const char *text, struct frame_condition *out, struct error *err)
{
	size_t len = strcspn(text, "=!<>"), nop = strspn(text + len, "=!<>");
	const char *number = text + len + nop;
	char *end = NULL;

	while (len && text[len - 1] == ' ')
		len--;
	*out = (struct frame_condition){.name = mem_strdup(text)};
	out->name[len] = 0;
	if (nop && nop < sizeof out->op)
		memcpy(out->op, number - nop, nop);
	errno = 0;
	out->than = strtoll(number, &end, 0);
	if (len && end != number && !*end && !errno &&
	    (!strcmp(out->op, "==") || !strcmp(out->op, "!=") || !strcmp(out->op, "<") ||
	     !strcmp(out->op, "<=") || !strcmp(out->op, ">") || !strcmp(out->op, ">=")))
		return true;
	mem_free(out->name);
	out->name = NULL;
	return error_set(err, ERR_QUERY,
			 "frame where: '%s' is not NAME OP NUMBER, such as 'counter > 5'", text);
}

/* Does the condition hold in the frame? False if the value is no number, or was not collected. */
static bool frame_condition_holds(struct session *session, nstime number,
				  const struct fields *fields,
				  const struct frame_condition *condition)
{
	const char *op = condition->op;
	struct buf text = {0};
	bool holds = false;
	char *end = NULL;
	int64_t value;

	if (frame_value(session, number, fields, condition->name, &text)) {
		errno = 0;
		value = strtoll(buf_text(&text), &end, 0);
		/* a character's text is 65 'A': its number comes first */
		holds = end != buf_text(&text) && (!*end || *end == ' ') && !errno &&
			((*op == '=' && value == condition->than) ||
			 (*op == '!' && value != condition->than) ||
			 (*op == '<' && value < condition->than) ||
			 (*op == '>' && value > condition->than) ||
			 (op[1] == '=' && *op != '!' && value == condition->than));
	}
	buf_release(&text);
	return holds;
}

/* ---- the list ---- */

/*
 * Writes a line per frame that has one of the variables: "N  FUNCTION  NAME = VALUE  ...".
 * `changes`: only if one has another value than in the last frame that had it.
 */
struct frame_list {
	struct session *session;
	struct sink *out;
	const char *const *names;
	size_t nnames;
	bool changes;
	char **last; /* by name: its value in the last frame that had it; NULL: none */
	uint64_t lines;
};

/* Is the value another than the last one? Stores it as the last one. */
static bool turn_value(struct frame_list *list, size_t i, const char *value)
{
	if (!list->last)
		list->last = mem_new_array(list->nnames, sizeof *list->last);
	if (list->last[i] && !strcmp(list->last[i], value))
		return false;
	mem_free(list->last[i]);
	list->last[i] = mem_strdup(value);
	return true;
}

static bool list_frame(void *arg, nstime number, const struct fields *fields)
{
	struct frame_list *list = arg;
	struct sink *out = list->out;
	struct buf line = {0}, value = {0};
	bool wanted = false;

	for (size_t i = 0; i < list->nnames; i++) {
		if (!frame_value(list->session, number, fields, list->names[i], &value) ||
		    !strcmp(buf_text(&value), "<not collected>"))
			continue;
		buf_printf(&line, "  %s = %s", list->names[i], buf_text(&value));
		wanted = turn_value(list, i, buf_text(&value)) || !list->changes || wanted;
	}
	if (wanted) {
		sink_printf(out, "%" PRId64 "  ", number);
		sink_name(out, fields->class->name);
		sink_name(out, buf_text(&line));
		sink_char(out, '\n');
		sink_row(out);
		list->lines++;
	}
	buf_release(&line);
	buf_release(&value);
	return true;
}

static void frame_list_release(struct frame_list *list)
{
	for (size_t i = 0; list->last && i < list->nnames; i++)
		mem_free(list->last[i]);
	mem_free(list->last);
}

/* ---- words of a search ---- */

enum frame_want {
	WANT_NEXT,
	WANT_PREV,
	WANT_NUMBER,
	WANT_TRACEPOINT,
	WANT_INSIDE,
	WANT_OUTSIDE,
	WANT_LINE,
	WANT_CONDITION
};

struct frame_search {
	enum frame_want want;
	nstime number;
	uint64_t tracepoint, low, high; /* addresses, inclusive */
	const char *file; /* of LINE: the file's name or whole path, `nfile` bytes; 0: any */
	size_t nfile;
	uint64_t line;
	struct frame_condition condition;
};

static bool parse_number(const char *word, uint64_t *out)
{
	char *end;

	*out = strtoull(word, &end, 0);
	return *word >= '0' && *word <= '9' && !*end;
}

static bool parse_address(const char *word, uint64_t *out, struct error *err)
{
	return parse_number(word, out) ||
	       error_set(err, ERR_QUERY, "frame: '%s' is no address (0x... or decimal)", word);
}

static bool rises(const struct words *words, const struct frame_search *range, struct error *err)
{
	return range->low <= range->high ||
	       error_set(err, ERR_QUERY, "frame %s: 0x%" PRIx64 " is above 0x%" PRIx64,
			 words->items[0], range->low, range->high);
}

/* Parses a range: A B, or A,B as in GDB. */
static bool parse_range(const struct words *words, struct frame_search *out, struct error *err)
{
	char *copy = NULL, *second = NULL;
	bool good;

	if (words->count == 3)
		return parse_address(words->items[1], &out->low, err) &&
		       parse_address(words->items[2], &out->high, err) && rises(words, out, err);
	if (words->count == 2) {
		copy = mem_strdup(words->items[1]);
		second = strchr(copy, ',');
	}
	if (second)
		*second++ = 0;
	good = second ? parse_address(copy, &out->low, err) &&
				parse_address(second, &out->high, err)
		      : error_set(err, ERR_QUERY, "frame %s: two addresses are expected, A B",
				  words->items[0]);
	mem_free(copy);
	return good && rises(words, out, err);
}

/* Parses a line: N, or FILE:N. */
static bool parse_line(struct session *session, const char *word, struct frame_search *out,
		       struct error *err)
{
	const char *colon = strrchr(word, ':'), *number = colon ? colon + 1 : word;
	const char *end = number;

	out->want = WANT_LINE;
	out->file = word;
	out->nfile = colon ? (size_t)(colon - word) : 0;
	out->line = decimal_take(&end, NULL);
	if (end == number || *end)
		return error_set(err, ERR_QUERY, "frame line: '%s' is neither N nor FILE:N", word);
	return session->options->program ||
	       error_set(err, ERR_QUERY,
			 "frame line: the program's lines are not known: "
			 "--program FILE");
}

static bool parse_words(struct session *session, const struct words *words,
			struct frame_search *out, struct error *err)
{
	const char *first = words->count ? words->items[0] : NULL;
	bool one = words->count == 1;

	*out = (struct frame_search){.want = WANT_NUMBER};
	if (!first) {
		if (session->has_moment)
			out->number = session->moment;
		return true;
	}
	if (one && (!strcmp(first, "next") || !strcmp(first, "prev"))) {
		out->want = *first == 'n' ? WANT_NEXT : WANT_PREV;
		return true;
	}
	if (!strcmp(first, "range") || !strcmp(first, "outside")) {
		out->want = *first == 'r' ? WANT_INSIDE : WANT_OUTSIDE;
		return parse_range(words, out, err);
	}
	if (words->count == 2 && !strcmp(first, "tracepoint")) {
		out->want = WANT_TRACEPOINT;
		return parse_number(words->items[1], &out->tracepoint) ||
		       error_set(err, ERR_QUERY, "frame tracepoint: '%s' is no number",
				 words->items[1]);
	}
	if (words->count == 2 && !strcmp(first, "where")) {
		out->want = WANT_CONDITION;
		return frame_condition_parse(words->items[1], &out->condition, err);
	}
	if (words->count == 2 && !strcmp(first, "line"))
		return parse_line(session, words->items[1], out, err);
	if (words->count == 2 && !strcmp(first, "pc")) {
		out->want = WANT_INSIDE;
		if (!parse_address(words->items[1], &out->low, err))
			return false;
		out->high = out->low;
		return true;
	}
	if (one && first[strspn(first, "+-")] >= '0' && first[strspn(first, "+-")] <= '9')
		return session_time(session, first, &out->number, err);
	return error_set(err, ERR_QUERY,
			 "frame: a number is expected, or next, prev, tracepoint N, pc ADDRESS, "
			 "range A B, outside A B, line [FILE:]N, where 'NAME > NUMBER', values "
			 "NAME..., changes NAME...");
}

/* ---- fields ---- */

static bool payload_field(const struct fields *fields, const char *name, struct field *out)
{
	return fields_get(fields, 1u << SCOPE_PAYLOAD, &name, 1, out);
}

/* Sets *out to the frame's pc; false: it is not known. */
static bool frame_pc(const struct fields *fields, uint64_t *out)
{
	struct field field;

	if (!fields->class->address || !payload_field(fields, fields->class->address, &field))
		return false;
	*out = field.slot.u;
	return true;
}

static bool is_in_line(struct session *session, const struct frame_search *search, nstime number,
		       const struct fields *fields, uint64_t pc)
{
	struct symbols *symbols = session_symbols(session);
	struct symbol symbol;

	if (!symbols ||
	    !symbols_find(symbols, fields->class->part, number, SYMBOLS_PROGRAM, false, pc,
			  SYMBOLS_LINES, &symbol) ||
	    !symbol.file || symbol.line != search->line)
		return false;
	size_t len = strlen(symbol.file), n = search->nfile;
	return len >= n && !strncmp(symbol.file + len - n, search->file, n) &&
	       (!n || len == n || symbol.file[len - n - 1] == '/');
}

static bool matches(struct session *session, const struct frame_search *search, nstime number,
		    const struct fields *fields)
{
	struct field field;
	uint64_t pc;

	switch (search->want) {
	case WANT_NEXT:
	case WANT_PREV:
		return true;
	case WANT_NUMBER:
		return number == search->number;
	case WANT_TRACEPOINT:
		return payload_field(fields, "tracepoint", &field) &&
		       field.slot.u == search->tracepoint;
	case WANT_INSIDE:
		return frame_pc(fields, &pc) && pc >= search->low && pc <= search->high;
	case WANT_OUTSIDE:
		return frame_pc(fields, &pc) && (pc < search->low || pc > search->high);
	case WANT_LINE:
		return frame_pc(fields, &pc) && is_in_line(session, search, number, fields, pc);
	case WANT_CONDITION:
		return frame_condition_holds(session, number, fields, &search->condition);
	}
	return false;
}

/* ---- printing ---- */

/* Writes " <function+5>" if known. Returns the symbol; without one, its `function` is NULL. */
static struct symbol put_symbol(struct session *session, const struct fields *fields, nstime t,
				uint64_t address, struct sink *out)
{
	struct symbols *symbols = session->options->program ? session_symbols(session) : NULL;
	struct symbol symbol;

	if (!symbols || !symbols_find(symbols, fields->class->part, t, SYMBOLS_PROGRAM, false,
				      address, SYMBOLS_LINES, &symbol))
		return (struct symbol){0};
	if (symbol.function && symbol.offset)
		sink_printf(out, " <%s+%" PRIu64 ">", symbol.function, symbol.offset);
	else if (symbol.function)
		sink_printf(out, " <%s>", symbol.function);
	return symbol;
}

static void cmd_frame_put_head(struct session *session, const struct fields *fields, nstime number,
			       struct sink *out)
{
	struct field field;
	uint64_t pc;

	sink_printf(out, "frame %" PRId64 ", tracepoint ", number);
	sink_u64(out, payload_field(fields, "tracepoint", &field) ? field.slot.u : 0);
	sink_text(out, ", ");
	sink_name(out, fields->class->name);
	if (frame_pc(fields, &pc)) {
		sink_printf(out, ", pc 0x%" PRIx64, pc);
		struct symbol symbol = put_symbol(session, fields, number, pc, out);
		if (session->options->program && !symbol.function && !symbol.object)
			session_note(session,
				     "0x%" PRIx64 " is not in the file of --program: it is another "
				     "program, or FILE@ADDRESS says where it was loaded",
				     pc);
		if (symbol.function && symbol.file) {
			sink_text(out, " at ");
			sink_name(out, symbol.file);
			sink_printf(out, ":%u", symbol.line);
		}
	}
	sink_char(out, '\n');
}

/* The bytes of a field that is an array or sequence of bytes. */
static const uint8_t *cmd_frame_bytes_of(const struct field *field)
{
	return field->in->data + field->slot.at / 8;
}

static void put_register(struct session *session, const struct fields *fields, nstime t,
			 const char *name, const struct field *field, struct sink *out)
{
	const struct field_class *class = field->class;
	char hex[32];

	sink_printf(out, "%-14s ", name);
	if (class->kind == FIELD_FLOAT) {
		sink_printf(out, "%.17g", field->slot.f);
	} else if (class->kind == FIELD_INT) {
		unsigned unused = 64 - class->bits;
		snprintf(hex, sizeof hex, "0x%" PRIx64, field->slot.u);
		sink_printf(out, "%-18s ", hex);
		if (class->is_address) {
			sink_text(out, hex);
			put_symbol(session, fields, t, field->slot.u, out);
		} else {
			sink_i64(out, (int64_t)(field->slot.u << unused) >> unused);
		}
	} else {
		for (uint64_t i = 0; i < field->slot.n; i++)
			sink_printf(out, i ? " %02x" : "%02x", cmd_frame_bytes_of(field)[i]);
	}
	sink_char(out, '\n');
}

static void put_registers(struct session *session, const struct fields *fields, nstime t,
			  struct sink *out)
{
	struct field_iter iter;
	struct field context;

	if (!fields_scope(fields, SCOPE_STREAM_EVENT_CONTEXT, &context)) {
		sink_text(out, "registers were not collected\n");
		return;
	}
	field_iter_begin(&iter, &context);
	while (field_iter_next(&iter))
		put_register(session, fields, t, iter.name, &iter.item, out);
	field_iter_end(&iter);
}

static void put_bytes(uint64_t address, const uint8_t *bytes, uint64_t count, struct sink *out)
{
	for (uint64_t at = 0; at < count; at += BYTES_A_LINE) {
		uint64_t n = count - at < BYTES_A_LINE ? count - at : BYTES_A_LINE;
		sink_printf(out, "0x%" PRIx64 ":", address + at);
		for (uint64_t i = 0; i < BYTES_A_LINE; i++)
			if (i < n)
				sink_printf(out, " %02x", bytes[at + i]);
			else
				sink_text(out, "   ");
		sink_text(out, "  ");
		for (uint64_t i = 0; i < n; i++) {
			char c = (char)bytes[at + i];
			sink_char(out, c >= ' ' && c <= '~' ? c : '.');
		}
		sink_char(out, '\n');
	}
}

static void put_memory(const struct field *memory, struct sink *out)
{
	struct field_iter iter, members;

	field_iter_begin(&iter, memory);
	while (field_iter_next(&iter)) {
		uint64_t start = 0;
		field_iter_begin(&members, &iter.item);
		while (field_iter_next(&members)) {
			if (members.item.class->kind == FIELD_INT)
				start = members.item.slot.u;
			else
				put_bytes(start, cmd_frame_bytes_of(&members.item),
					  members.item.slot.n, out);
		}
		field_iter_end(&members);
	}
	field_iter_end(&iter);
}

static void put_variables(const struct field *variables, struct sink *out)
{
	struct field_iter iter, members;

	field_iter_begin(&iter, variables);
	while (field_iter_next(&iter)) {
		field_iter_begin(&members, &iter.item);
		while (field_iter_next(&members)) {
			uint32_t next = 0;
			const char *name =
				field_label(members.item.class, members.item.slot.u, &next);
			if (!members.item.class->is_enum) {
				sink_printf(out, " = %" PRId64 "\n", members.item.slot.s);
			} else if (name) {
				sink_char(out, '$');
				sink_name(out, name);
			} else {
				sink_printf(out, "variable %" PRId64, members.item.slot.s);
			}
		}
		field_iter_end(&members);
	}
	field_iter_end(&iter);
}

static void put_texts(const struct field *texts, struct sink *out)
{
	struct buf scratch = {0};
	struct field_iter iter;
	size_t len;

	field_iter_begin(&iter, texts);
	while (field_iter_next(&iter)) {
		const uint8_t *bytes = field_bytes(&iter.item, &scratch, &len);
		sink_text(out, "static data ");
		text_string(out, (const char *)bytes, len);
		sink_char(out, '\n');
	}
	field_iter_end(&iter);
	buf_release(&scratch);
}

/* Writes variables of the function, by the program's debug information, then of the source file. */
static void put_program_variables(struct session *session, nstime number,
				  const struct fields *fields, struct sink *out)
{
	struct symbols *symbols = session->options->program ? session_symbols(session) : NULL;
	const struct variable *items = NULL;
	size_t n = symbols ? symbols_variables(symbols, number, fields, &items) : 0;

	for (size_t i = 0; i < n; i++) {
		sink_name(out, items[i].name);
		sink_text(out, " = ");
		sink_name(out, items[i].value);
		sink_char(out, '\n');
	}
}

static void cmd_frame_print(struct session *session, nstime number, const struct fields *fields,
			    struct sink *out)
{
	struct field field;

	cmd_frame_put_head(session, fields, number, out);
	put_registers(session, fields, number, out);
	if (payload_field(fields, "memory", &field))
		put_memory(&field, out);
	if (payload_field(fields, "variables", &field))
		put_variables(&field, out);
	if (payload_field(fields, "static_data", &field))
		put_texts(&field, out);
	put_program_variables(session, number, fields, out);
	sink_row(out);
}

/* ---- the search ---- */

/* The first stream of frames: one without a clock, whose events have the program's pc. */
static const struct stream *frames_of(const struct trace *trace)
{
	for (size_t i = 0; i < trace->nstreams; i++) {
		const struct stream *stream = trace->streams[i];
		for (size_t k = 0; !stream->has_time && k < trace->nclasses; k++)
			if (trace->classes[k]->part == stream->part && trace->classes[k]->address)
				return stream;
	}
	return NULL;
}

/* The error that no frame was found; `before`: the current or an earlier frame matches. */
static bool not_found(const struct session *session, const struct frame_search *search, bool before,
		      struct error *err)
{
	const char *outside = search->want == WANT_OUTSIDE ? "outside of " : "";
	const char *hint = session->options->program || (search->condition.name &&
							 *search->condition.name == '$')
				   ? ""
				   : ": variables of the program need --program FILE";

	if (search->want == WANT_NUMBER)
		return error_set(err, ERR_RANGE, "there is no frame %" PRId64, search->number);
	if (search->want == WANT_PREV)
		return error_set(err, ERR_RANGE, "there is no frame before");
	if (before || search->want == WANT_NEXT)
		return error_set(err, ERR_RANGE,
				 "there is no such frame behind the current one: "
				 "'frame 0' goes to the first");
	if (search->want == WANT_TRACEPOINT)
		return error_set(err, ERR_RANGE, "there is no frame of tracepoint %" PRIu64,
				 search->tracepoint);
	if (search->want == WANT_LINE)
		return error_set(err, ERR_RANGE, "there is no frame in line %" PRIu64 "%s%.*s",
				 search->line, search->nfile ? " of " : "", (int)search->nfile,
				 search->file);
	if (search->want == WANT_CONDITION)
		return error_set(err, ERR_RANGE, "there is no frame in which %s %s %" PRId64 "%s",
				 search->condition.name, search->condition.op,
				 search->condition.than, hint);
	if (search->low == search->high && !*outside)
		return error_set(err, ERR_RANGE, "there is no frame at 0x%" PRIx64, search->low);
	return error_set(err, ERR_RANGE, "there is no frame %s0x%" PRIx64 " to 0x%" PRIx64, outside,
			 search->low, search->high);
}

static void bound(const struct session *session, const struct frame_search *search,
		  struct events_options *open)
{
	bool here = session->has_moment;

	open->begin = NSTIME_MIN + 1;
	open->end = NSTIME_MAX;
	open->backward = search->want == WANT_PREV;
	if (!trace_has_ordinals(session->trace))
		return; /* the trace has times, too, which frame numbers cannot bound */
	if (search->want == WANT_NUMBER) {
		open->begin = search->number;
		open->end = search->number + 1;
	} else if (search->want == WANT_PREV) {
		open->end = here ? session->moment : NSTIME_MAX;
	} else if (here) {
		open->begin = session->moment + 1;
	}
}

/* Calls `see` for the frames of the range, until it returns false. */
static bool each_frame(struct session *session, const struct events_options *open,
		       bool (*see)(void *arg, nstime number, const struct fields *fields),
		       void *arg, struct error *err)
{
	enum step step = STEP_ITEM;
	struct events *events;
	struct fields fields;
	struct event event;
	bool more = true;

	if (!events_open(session->index, open, &events, err))
		return false;
	while (more && step == STEP_ITEM &&
	       (step = events_next(events, &event, err)) == STEP_ITEM) {
		if (!event.class || event.no_time)
			continue;
		if (!events_fields(events, &event, &fields, err)) {
			step = STEP_ERROR;
			break;
		}
		more = see(arg, event.time, &fields);
		if (more && signals_interrupted()) {
			error_set(err, ERR_INTERRUPTED, "interrupted");
			step = STEP_ERROR;
		}
	}
	events_close(events);
	return step != STEP_ERROR;
}

struct seeking {
	struct session *session;
	const struct frame_search *search;
	struct sink *out; /* NULL: search only */
	bool found;
};

/* Prints the first frame that matches, and makes it the current one. */
static bool see_frame(void *arg, nstime number, const struct fields *fields)
{
	struct seeking *seeking = arg;
	struct session *session = seeking->session;

	seeking->found = matches(session, seeking->search, number, fields);
	if (seeking->found && seeking->out) {
		cmd_frame_print(session, number, fields, seeking->out);
		session->moment = number;
		session->has_moment = true;
	}
	return !seeking->found;
}

/* Lists the values of variables over all frames. */
static bool list_values(struct events_options *open, struct frame_list *list, struct error *err)
{
	struct session *session = list->session;

	open->begin = NSTIME_MIN + 1;
	open->end = NSTIME_MAX;
	if (!each_frame(session, open, list_frame, list, err))
		return false;
	if (!list->lines)
		session_note(session, "no frame has a value of %s%s", list->names[0],
			     session->options->program || *list->names[0] == '$'
				     ? ""
				     : ": variables of the program need --program FILE");
	return true;
}

/* Searches for a frame and prints it. */
static bool find_frame(struct session *session, struct events_options *open,
		       const struct frame_search *search, struct sink *sink, struct error *err)
{
	struct seeking seeking = {session, search, sink, false};

	bound(session, search, open);
	if (!each_frame(session, open, see_frame, &seeking, err))
		return false;
	if (seeking.found)
		return true;
	seeking.out = NULL;
	open->end = open->begin;
	open->begin = NSTIME_MIN + 1;
	if (search->want >= WANT_TRACEPOINT && open->begin < open->end &&
	    !each_frame(session, open, see_frame, &seeking, err))
		return false;
	return not_found(session, search, seeking.found, err);
}

static bool run_frame(struct session *session, const struct options *options, struct sink *sink,
		      struct error *err)
{
	struct events_options open = {.progress = session_progress_time, .progress_arg = session};
	const struct words *words = &options->words;
	struct index *index = session_index(session, err);
	bool changes = words->count > 1 && !strcmp(words->items[0], "changes"), good;
	struct frame_search search = {0};

	if (!index)
		return false;
	open.only = frames_of(session->trace);
	if (!open.only)
		return error_set(err, ERR_RANGE,
				 "%s: the trace has no trace frames of GDB, which tsave writes",
				 session->path);
	if (changes || (words->count > 1 && !strcmp(words->items[0], "values"))) {
		struct frame_list list = {.session = session,
					  .out = sink,
					  .names = words->items + 1,
					  .nnames = words->count - 1,
					  .changes = changes};
		good = list_values(&open, &list, err);
		frame_list_release(&list);
		return good;
	}
	good = parse_words(session, words, &search, err) &&
	       find_frame(session, &open, &search, sink, err);
	mem_free(search.condition.name);
	return good;
}

const struct cmd cmd_frame = {
	/* clang-format off */
	.name = "frame",
	.args = "[N | next | prev | tracepoint N | pc ADDRESS | range A B | outside A B | line "
		"[FILE:]N | where CONDITION | values NAME... | changes NAME...]",
	.summary = "a trace frame of GDB in full: registers, memory, variables",
	.help = "Prints all that GDB's tracepoints collected in a frame, as its tdump does: frame N, the\n"
		"next or previous one, or the next of a tracepoint (the target's number), at an address, or\n"
		"inside or outside of a range of addresses, both ends included, or in a source line, N of any\n"
		"file or of FILE. At the prompt a search begins\n"
		"behind the current frame, which is the one at the prompt's moment; else at the first.\n"
		"--program FILE is the program that was traced, for names of functions and source lines;\n"
		"FILE@ADDRESS a position-independent one that was loaded there.\n"
		"\n"
		"`values` prints what variables are in each frame that has them, `changes` only where one is\n"
		"another than before, and `where 'NAME > NUMBER'` looks for the next frame in which that holds\n"
		"(== != < <= > >=). $NAME is a register or a trace state variable, NAME one of the program, by\n"
		"the debug information of --program.\n"
		"\n"
		"Examples:\n"
		"  $ yore frame fixtures/golden/gdb-demo/trace.tf 0\n"
		"  $ yore frame fixtures/golden/gdb-demo/trace.tf tracepoint 2\n"
		"  $ yore frame fixtures/golden/gdb-demo/trace.tf range 0x401001 0x402004\n"
		"  $ yore frame fixtures/golden/gdb-demo/trace.tf changes '$rip'\n",
	.options = OPT_TRACE,
	.max_words = 16,
	.run = run_frame,
}; /* clang-format on */
