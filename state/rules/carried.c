/*
 * carried.c - lines that restore the state from before the trace's beginning
 *
 * A part that `yore convert --with-state` cut out of a trace begins with an event `yore:state` for
 * each attribute (docs/convert.md): `shape` is its path with a star for each key, key1 and so on
 * are the keys, `is` or `boolean` the value; without either it is none. For attributes that a rule
 * set writes, lines like these are added:
 *
 *     event "yore:state" when has(field/shape)
 *         thread[field/key1]/name = field/is when field/shape == "thread[*]/name" && has(field/is)
 */
#include "state/rules/ast.h"

#include "engine/base/quote.h"
#include "engine/trace.h"
#include "state/model/attr.h"

#include <string.h>

struct carried { /* the fields of yore:state events */
	bool any, is, boolean, none;
	unsigned keys;
};

static void look_for(const struct trace *trace, struct carried *out)
{
	static const char *const keys[] = {"key1", "key2", "key3"};

	for (size_t i = 0; trace && i < trace->nclasses; i++) {
		const struct event_class *class = trace->classes[i];
		const struct field_class *fields = class->scope[SCOPE_PAYLOAD];
		if (strcmp(class->name, "yore:state") != 0 || !fields ||
		    !field_member(fields, "shape"))
			continue;
		bool is = field_member(fields, "is"), boolean = field_member(fields, "boolean");
		out->any = true;
		out->is |= is;
		out->boolean |= boolean;
		out->none |= !is && !boolean;
		for (unsigned k = 0; k < 3; k++)
			if (field_member(fields, keys[k]) && out->keys <= k)
				out->keys = k + 1;
	}
}

/*
 * Appends the path with the event's key fields to *out, and its shape as conversion writes it to
 * *shape: [*] for keys, names as they are. Returns the number of keys.
 */
static unsigned carried_add_path(const struct ast_path *path, struct buf *out, struct buf *shape)
{
	unsigned keys = 0;

	for (uint32_t i = 0; i < path->natoms; i++) {
		const struct ast_atom *atom = &path->atoms[i];
		if (atom->kind == ATOM_NAME) {
			const struct value name = value_text(atom->name, strlen(atom->name));
			path_add_step(i == 0, false, &name, out);
			buf_printf(shape, "%s%s", i ? "/" : "", atom->name);
		} else {
			buf_printf(out, "[field/key%u]", ++keys);
			buf_add_text(shape, "[*]");
		}
	}
	return keys;
}

static void add_line(struct buf *out, const char *before, const char *path, const char *value,
		     const char *shape, const char *when)
{
	buf_printf(out, "\t%s%s = %s when field/shape == ", before, path, value);
	quote_text(out, shape, strlen(shape));
	buf_printf(out, " && %s\n", when);
}

static void carried_add_lines(struct buf *out, const struct carried *carried, const char *path,
			      const char *shape)
{
	if (carried->is)
		add_line(out, "", path, "field/is", shape, "has(field/is)");
	if (carried->boolean)
		add_line(out, "", path, "field/boolean != 0", shape, "has(field/boolean)");
	if (carried->none)
		add_line(out, "", path, "none", shape,
			 carried->is && carried->boolean ? "!has(field/is) && !has(field/boolean)"
			 : carried->is                   ? "!has(field/is)"
			 : carried->boolean              ? "!has(field/boolean)"
							 : "true");
}

static void add_statement(struct buf *out, const struct carried *carried, struct nameset *seen,
			  const struct statement *statement)
{
	bool pushes = statement->verb == VERB_PUSH;
	struct buf shape = {0}, path = {0};

	if (ast_root(statement->target) != ROOT_STATE || statement->verb == VERB_POP ||
	    verb_buries(statement->verb))
		return;
	unsigned keys = carried_add_path(statement->target, &path, &shape);
	if (pushes)
		buf_add_text(&shape, "[*]");
	if (keys + pushes <= carried->keys && nameset_add(seen, buf_text(&shape), 0)) {
		if (pushes && carried->is)
			add_line(out, "push ", buf_text(&path), "field/is", buf_text(&shape),
				 "has(field/is)");
		else if (!pushes)
			carried_add_lines(out, carried, buf_text(&path), buf_text(&shape));
	}
	buf_release(&shape);
	buf_release(&path);
}

bool rules_add_carried(struct rules *rules, const struct trace *trace, struct error *err)
{
	static const char head[] = "event \"yore:state\" when has(field/shape)\n";
	struct carried carried = {0};
	struct nameset seen = {0};
	struct buf text = {0};

	look_for(trace, &carried);
	if (!carried.any)
		return true;
	buf_add_text(&text, head);
	for (uint32_t i = 0; i < rules->nstatements; i++)
		add_statement(&text, &carried, &seen, rules->statements[i]);
	bool ok = text.len == sizeof head - 1 ||
		  rules_add(rules, "yore:state", text.data, text.len, err);
	nameset_release(&seen);
	buf_release(&text);
	return ok;
}
