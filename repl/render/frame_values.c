/* frame_values.c - see frame_values.h */
#include "repl/render/frame_values.h"

#include "engine/base/mem.h"
#include "engine/symbols/symbols.h"
#include "repl/render/render.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

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

/* One item of the list: is it the variable of that name? */
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

bool frame_value(struct session *session, nstime number, const struct fields *fields,
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

bool frame_condition_parse(const char *text, struct frame_condition *out, struct error *err)
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

bool frame_condition_holds(struct session *session, nstime number, const struct fields *fields,
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
		/* a character is written behind its number, 65 'A' */
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

/* Is it another value than the last one? It is the last one from then on. */
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

void frame_list_add(struct session *session, nstime number, const struct fields *fields,
		    struct frame_list *list, struct sink *out)
{
	struct buf line = {0}, value = {0};
	bool wanted = false;

	for (size_t i = 0; i < list->nnames; i++) {
		if (!frame_value(session, number, fields, list->names[i], &value) ||
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
}

void frame_list_release(struct frame_list *list)
{
	for (size_t i = 0; list->last && i < list->nnames; i++)
		mem_free(list->last[i]);
	mem_free(list->last);
}
