/*
 * lookup_path.c - checks a PATH against what the rules can write; see lookup.h
 *
 * Compares the steps of the path with every shape to which a rule gives a value. Where no shape
 * agrees with the next step, the error proposes the names that are possible there.
 */
#include "state/program/lookup.h"

#include "engine/base/mem.h"
#include "engine/base/nameset.h"
#include "engine/base/nearest.h"
#include "state/program/internal.h"

#include <string.h>

enum { NAMES_MOST = 16, EVENTS_MOST = 4 };

struct path_lookup {
	const struct program *program;
	struct index *index; /* NULL: CPUs are not looked up */
	const struct attrs *attrs;
	const struct query *query;
	const struct pattern *path;
	const char *text;       /* of the path, canonical */
	uint32_t steps, agreed; /* of the path; the most leading steps that agree with some shape */
	bool found, beyond;     /* a shape matches the whole path, or continues behind it */
};

static bool has_initial(const struct program *program, uint32_t shape)
{
	for (size_t i = 0; i < program->ninitials; i++)
		if (program->initials[i].shape == shape)
			return true;
	return false;
}

bool lookup_has_shape(const struct program *program, uint32_t shape)
{
	return program_writes_shape(program, shape) || program_views_shape(program, shape) ||
	       has_initial(program, shape);
}

/* The first view that computes attributes of the shape; NULL: none does. */
static const struct view *view_of_shape(const struct program *program, uint32_t shape)
{
	uint32_t v = by_shape_last(&program->analysis->views_by, shape);

	return v ? &program->views[v - 1] : NULL;
}

/* Appends "'yore rules linux' lists all", or the names of the rule files. */
static void rules_hint(const struct rules *rules, struct buf *out)
{
	size_t count;
	const struct rules_builtin *sets = rules_builtins(&count);

	for (size_t i = 0; i < count && rules->nfiles == 1; i++)
		if (!strcmp(rules->files[0]->text, sets[i].text)) {
			buf_printf(out, "'yore rules %s' lists all", sets[i].name);
			return;
		}
	for (size_t i = 0; i < rules->nfiles; i++)
		buf_printf(out, "%s%s", i ? ", " : "all stand in ", rules->files[i]->name);
}

static uint32_t shape_depth(const struct path_lookup *look, uint32_t shape)
{
	return attr_depth(look->attrs, shape_attr(look->attrs, shape));
}

/* The node of the shape's first `steps` steps. */
static uint32_t beginning(const struct path_lookup *look, uint32_t shape, uint32_t steps)
{
	return attr_up(look->attrs, shape_attr(look->attrs, shape), steps);
}

static bool step_agrees(const struct path_lookup *look, uint32_t shape, uint32_t i)
{
	const struct pattern_atom *step = &look->path->atoms[i];
	uint32_t node = beginning(look, shape, i + 1);

	if (attr_is_key(look->attrs, node))
		return step->kind != PATTERN_NAME;
	struct value name = attr_atom(look->attrs, node);
	return step->kind == PATTERN_NAME && value_equal(&step->value, &name);
}

/* How many leading steps of the path agree with the shape. */
static uint32_t agree(const struct path_lookup *look, uint32_t shape)
{
	uint32_t depth = shape_depth(look, shape), i = 0;

	while (i < depth && i < look->steps && step_agrees(look, shape, i))
		i++;
	return i;
}

/* The next shape behind *shape that has a value by some rule and agrees with `steps` steps. */
static bool next_shape(const struct path_lookup *look, uint32_t steps, uint32_t *shape)
{
	while (++*shape < shape_count(look->attrs))
		if (lookup_has_shape(look->program, *shape) && agree(look, *shape) >= steps)
			return true;
	return false;
}

static void compare(struct path_lookup *look)
{
	for (uint32_t shape = 0; next_shape(look, look->agreed, &shape);)
		look->agreed = agree(look, shape);
	for (uint32_t shape = 0; next_shape(look, look->steps, &shape);) {
		look->found |= query_matches_shape(look->query, look->attrs, shape);
		look->beyond |= shape_depth(look, shape) > look->steps;
	}
}

static void look_begin(struct path_lookup *look, const struct program *program, struct index *index,
		       const struct query *query)
{
	*look = (struct path_lookup){.program = program,
				     .index = index,
				     .attrs = program->attrs,
				     .query = query,
				     .path = query_pattern(query),
				     .text = query_text(query),
				     .steps = query_pattern(query)->natoms};
	compare(look);
}

/* ---- what stands where the path leaves the rules ---- */

struct names {
	struct value items[NAMES_MOST];
	size_t count;
	bool key; /* a key is possible there, too */
	bool more;
};

static void lookup_path_add_name(struct names *names, struct value name)
{
	for (size_t i = 0; i < names->count; i++)
		if (value_equal(&names->items[i], &name))
			return;
	if (names->count == NAMES_MOST)
		names->more = true;
	else
		names->items[names->count++] = name;
}

/* Collects the possible steps behind the first `agreed` ones. */
static void names_behind(const struct path_lookup *look, struct names *out)
{
	*out = (struct names){0};
	for (uint32_t shape = 0; next_shape(look, look->agreed, &shape);) {
		uint32_t node = beginning(look, shape, look->agreed + 1);
		if (attr_depth(look->attrs, node) <= look->agreed)
			continue;
		if (attr_is_key(look->attrs, node))
			out->key = true;
		else
			lookup_path_add_name(out, attr_atom(look->attrs, node));
	}
}

static void names_words(const struct names *names, struct buf *out)
{
	for (size_t i = 0; i < names->count; i++)
		buf_printf(out, "%s%.*s", i ? ", " : "", (int)names->items[i].len,
			   names->items[i].text);
	buf_add_text(out, names->more ? ", ..." : "");
}

/* Appends the agreed steps as a shape; "" at the root. */
static void agreed_words(const struct path_lookup *look, struct buf *out)
{
	uint32_t shape = 0;

	if (look->agreed && next_shape(look, look->agreed, &shape))
		attr_add_text(look->attrs, beginning(look, shape, look->agreed), out);
}

/* Is this text a path of the rules? */
static bool is_path(const struct program *program, const char *text)
{
	struct query *query;
	struct error ignored;
	struct path_lookup look;

	if (!query_parse(text, &query, &ignored))
		return false;
	look_begin(&look, program, NULL, query);
	bool found = look.found || look.beyond;
	query_free(query);
	return found;
}

/* Reports a path with host["NAME"] in a trace of one host, or without it in one of several. */
static bool wrong_host(const struct path_lookup *look, struct error *err)
{
	const struct trace *trace = look->program->trace;
	struct buf text = {0};
	bool wrong;

	if (look->program->hosts) {
		buf_printf(&text, "host[*]/%s", look->text);
		wrong = is_path(look->program, buf_text(&text));
		if (wrong)
			error_set(err, ERR_RANGE,
				  "path '%s': the trace is of several hosts, and paths are below "
				  "host[NAME]/: did you mean '%s'? 'yore info %s' lists hosts",
				  look->text, buf_text(&text), trace->path);
	} else {
		const char *rest = strstr(look->text, "]/");
		wrong = !strncmp(look->text, "host[", 5) && rest &&
			is_path(look->program, rest + 2);
		if (wrong)
			error_set(
				err, ERR_RANGE,
				"path '%s': the trace is of one host, and paths do not begin with "
				"it: did you mean '%s'? 'yore info %s' says the host",
				look->text, rest + 2, trace->path);
	}
	buf_release(&text);
	return wrong;
}

static bool unknown_step(const struct path_lookup *look, struct error *err)
{
	const char *name = query_name(look->query, look->agreed), *where, *list, *rules;
	struct names names;
	struct nearest nearest;
	char near[NEAREST_WORDS_MAX];
	struct buf where_text = {0}, list_text = {0}, rules_text = {0};

	names_behind(look, &names);
	agreed_words(look, &where_text);
	names_words(&names, &list_text);
	rules_hint(look->program->rules, &rules_text);
	where = buf_text(&where_text);
	list = buf_text(&list_text);
	rules = buf_text(&rules_text);
	nearest_begin(&nearest, name ? name : "");
	for (size_t i = 0; i < names.count; i++)
		nearest_offer(&nearest, names.items[i].text);
	nearest_hint(&nearest, near, sizeof near);
	if (look->agreed == look->steps || (!names.count && !names.key))
		error_set(err, ERR_RANGE, "path '%s': nothing is below %s: ask for '%s'; %s",
			  look->text, where, where, rules);
	else if (!names.count)
		error_set(err, ERR_RANGE, "path '%s': %s needs a key: %s[N], or %s[*] for all; %s",
			  look->text, where, where, where, rules);
	else if (!name)
		error_set(err, ERR_RANGE, "path '%s': %s takes no key: below it are %s; %s",
			  look->text, where, list, rules);
	else
		error_set(err, ERR_RANGE, "path '%s': %s%sno attribute '%s': %sthere %s %s; %s",
			  look->text, where, *where ? " has " : "", name, near,
			  names.count == 1 ? "is" : "are", list, rules);
	buf_release(&where_text);
	buf_release(&list_text);
	buf_release(&rules_text);
	return false;
}

/* ---- CPUs in keys ---- */

static bool gives_value(const struct line *line)
{
	return !verb_buries(line->verb) && line->verb != VERB_POP &&
	       !(line->flags & (LINE_SECTION | LINE_FAILS));
}

/* Kinds of keys at step i of a line's path, as bits. */
enum keyed { KEYED_OPEN = 1, KEYED_CPU = 2, KEYED_NUMBER = 4, KEYED_TEXT = 8 };

static enum keyed keyed_by(const struct line *line, uint32_t i)
{
	const struct path *path = &line->target;
	bool is_expr = i < path->natoms && path->atoms[i].kind == ATOM_EXPR;
	const struct expr *expr = is_expr ? path->atoms[i].expr : NULL;

	if (expr && expr->kind == EXPR_SECTION_OWN && expr->index == SECTION_CPU)
		return KEYED_CPU;
	if (!expr || (expr->kind != EXPR_FIELD && expr->kind != EXPR_FIELD_PACKET))
		return KEYED_OPEN;
	return expr->field.class->kind == FIELD_INT ? KEYED_NUMBER : KEYED_TEXT;
}

/* The kinds of keys in event lines that give the shape's attributes a value; 0: no such line. */
static unsigned keyed_in_lines(const struct program *program, uint32_t shape, uint32_t i)
{
	unsigned all = 0;

	for (size_t c = 0; c < program->trace->nclasses && program->sections.count; c++) {
		const struct class_program *class = &program->classes[c];
		for (uint32_t n = 0; n < class->nevent; n++)
			if (gives_value(&class->event[n]) &&
			    line_may_write(&class->event[n], program->attrs, shape))
				all |= keyed_by(&class->event[n], i);
	}
	return all;
}

/* Is step i of a view a variable that takes its values from a key that is a CPU? */
static bool is_cpu_computed(const struct program *program, const struct view *view, uint32_t i)
{
	const struct atom *atom = i < view->path.natoms ? &view->path.atoms[i] : NULL;

	if (!atom || atom->kind != ATOM_VARIABLE)
		return false;
	for (uint32_t s = 0; s < view->nsources; s++)
		if (view->sources[s].variable == atom->variable &&
		    keyed_in_lines(program, view->sources[s].shape, view->sources[s].atom) ==
			    KEYED_CPU)
			return true;
	return false;
}

/* Is step i a CPU in every shape of the path that events of the trace write? */
static bool all_cpu(const struct path_lookup *look, uint32_t i)
{
	bool some = false;

	for (uint32_t shape = 0; next_shape(look, look->steps, &shape);) {
		const struct view *view = view_of_shape(look->program, shape);
		unsigned keyed = keyed_in_lines(look->program, shape, i);
		if (view ? is_cpu_computed(look->program, view, i) : keyed == KEYED_CPU)
			some = true;
		else if (keyed)
			return false;
	}
	return some;
}

static bool check_cpus(const struct path_lookup *look, struct error *err)
{
	for (uint32_t i = 0; i < look->steps; i++) {
		const struct value *key = query_key(look->query, i);
		if (!key || key->kind != VALUE_INT || !look->index || !all_cpu(look, i))
			continue;
		if (key->negative)
			return error_set(
				err, ERR_RANGE,
				"path '%s': a CPU is a number from 0 on; 'yore info %s' lists "
				"streams and CPUs",
				look->text, look->program->trace->path);
		if (!lookup_cpu(look->index, key->u, key->u, NULL, err))
			return error_while(err, "path '%s'", look->text);
	}
	return true;
}

/* ---- names in place of numbers ---- */

/* Is step i a number in every shape of the path, as far as event fields show? */
static bool all_numbers(const struct path_lookup *look, uint32_t i)
{
	unsigned keyed = 0;

	for (uint32_t shape = 0; next_shape(look, look->steps, &shape);)
		keyed |= keyed_in_lines(look->program, shape, i);
	return keyed & (KEYED_CPU | KEYED_NUMBER) && !(keyed & KEYED_TEXT);
}

/* Have the rules an attribute X[*]/name, X being the first i steps? */
static bool has_names(const struct path_lookup *look, uint32_t i)
{
	struct buf text = {0};

	path_add_steps(look->path, i, &text);
	buf_add_text(&text, "[*]/name");
	bool has = is_path(look->program, buf_text(&text));
	buf_release(&text);
	return has;
}

/* The step that is a thread's name where threads are numbers; 0: there is none. */
static uint32_t thread_name(const struct path_lookup *look)
{
	for (uint32_t i = 1; i < look->steps; i++) {
		const struct value *key = query_key(look->query, i);
		const char *name = query_name(look->query, i - 1);
		if (key && key->kind == VALUE_STRING && name && !strcmp(name, "thread") &&
		    all_numbers(look, i) && has_names(look, i))
			return i;
	}
	return 0;
}

uint32_t lookup_thread_name(const struct program *program, const struct query *query)
{
	struct path_lookup look;

	look_begin(&look, program, NULL, query);
	return thread_name(&look);
}

/* Reports `process[bash]/state`: a name as key where keys are numbers. */
static bool check_names(const struct path_lookup *look, struct error *err)
{
	uint32_t named = thread_name(look);

	for (uint32_t i = 1; i < look->steps; i++) {
		const struct value *key = query_key(look->query, i);
		const char *name = query_name(look->query, i - 1);
		if (i == named || !key || key->kind != VALUE_STRING || !name ||
		    !all_numbers(look, i))
			continue;
		return error_set(err, ERR_RANGE,
				 "path '%s': what stands behind %s is a number: ask for '%s[*]'",
				 look->text, name, name);
	}
	return true;
}

/* ---- attributes that no event writes ---- */

static bool is_written(const struct program *program, uint32_t shape)
{
	if (has_initial(program, shape) || keyed_in_lines(program, shape, 0))
		return true;
	for (size_t i = 0; i < program->nstart; i++)
		for (uint32_t n = 0; n < program->start[i].nevent; n++)
			if (line_may_write(&program->start[i].event[n], program->attrs, shape))
				return true;
	for (size_t i = 0; i < program->losses.count; i++)
		for (uint32_t n = 0; n < program->lost[i].nevent; n++)
			if (gives_value(&program->lost[i].event[n]) &&
			    line_may_write(&program->lost[i].event[n], program->attrs, shape))
				return true;
	return false;
}

/* May the attribute be known: is it, or for a view all that it reads, written? */
static bool can_be_known(const struct program *program, uint32_t shape)
{
	const struct view *view = view_of_shape(program, shape);

	if (!view)
		return is_written(program, shape);
	for (uint32_t i = 0; i < view->nreads; i++)
		if (view->reads[i].shape != ATTR_ABSENT &&
		    !program_views_shape(program, view->reads[i].shape) &&
		    !is_written(program, view->reads[i].shape))
			return false;
	return true;
}

struct heads {
	struct buf text; /* the first ones */
	struct nameset seen;
	uint32_t count;
};

/* Adds the names of events on which rules write the shape, without the head of all events. */
static void add_heads(const struct program *program, uint32_t shape, struct heads *heads)
{
	const struct rule_block *last = NULL;

	for (size_t i = 0; i < program->rules->nstatements; i++) {
		const struct statement *statement = program->rules->statements[i];
		const struct rule_block *block = statement->block;
		if (program->analysis->statements[i].shape != shape || block == last ||
		    verb_buries(statement->verb) || block->is_section)
			continue;
		last = block;
		for (size_t p = 0; p < block->npatterns; p++) {
			const char *name = block->patterns[p].text;
			if (block->patterns[p].kind > HEAD_LITERAL || !strcmp(name, "*") ||
			    !nameset_add(&heads->seen, name, 0))
				continue;
			if (++heads->count <= EVENTS_MOST)
				buf_printf(&heads->text, "%s%s", heads->count > 1 ? ", " : "",
					   name);
		}
	}
}

static void add_heads_of_reads(const struct program *program, const struct view *view,
			       struct heads *heads)
{
	for (uint32_t i = 0; i < view->nreads; i++)
		if (view->reads[i].shape != ATTR_ABSENT &&
		    !is_written(program, view->reads[i].shape))
			add_heads(program, view->reads[i].shape, heads);
}

/* The last name of a shape's text. */
static const char *last_name(const char *text)
{
	const char *slash = strrchr(text, '/');

	return slash ? slash + 1 : text;
}

/* Has b the same parent and last name, with steps between? a: t[*]/state, b: t[*]/ovni/state */
static bool is_alike(const char *a, const char *b)
{
	size_t len = (size_t)(last_name(a) - a);

	return len && !strncmp(a, b, len) && !strcmp(last_name(a), last_name(b));
}

/* Proposes the shortest path with the same last name that events of the trace write. */
static void note_alike(const struct path_lookup *look, uint32_t shape, struct buf *note)
{
	struct buf own = {0}, text = {0}, best = {0};

	shape_add_text(look->attrs, shape, &own);
	for (uint32_t other = 1; other < shape_count(look->attrs); other++) {
		buf_clear(&text);
		shape_add_text(look->attrs, other, &text);
		if (other == shape || !is_alike(buf_text(&own), buf_text(&text)) ||
		    (best.len && best.len <= text.len) || !can_be_known(look->program, other))
			continue;
		buf_clear(&best);
		buf_add_text(&best, buf_text(&text));
	}
	if (best.len)
		buf_printf(note, "; did you mean '%s'?", buf_text(&best));
	buf_release(&own);
	buf_release(&text);
	buf_release(&best);
}

static void note_unwritten(const struct path_lookup *look, struct buf *note)
{
	const struct program *program = look->program;
	struct heads heads = {0};
	uint32_t asked = ATTR_ABSENT;
	bool known = false;

	for (uint32_t shape = 0; !known && next_shape(look, look->steps, &shape);) {
		if (!query_matches_shape(look->query, look->attrs, shape))
			continue;
		asked = shape;
		known = can_be_known(program, shape);
		add_heads(program, shape, &heads);
		for (size_t v = 0; v < program->nviews; v++)
			if (program->views[v].path.shape == shape)
				add_heads_of_reads(program, &program->views[v], &heads);
	}
	if (!known) {
		buf_printf(note, "%s never has a value: no event of the trace gives it one",
			   look->text);
		if (heads.count)
			buf_printf(note, ", rules do on %s%s", buf_text(&heads.text),
				   heads.count > EVENTS_MOST ? ", ..." : "");
		if (asked != ATTR_ABSENT)
			note_alike(look, asked, note);
		buf_printf(note, "%s 'yore info %s' says what can be asked",
			   note->data[note->len - 1] == '?' ? "" : ";", program->trace->path);
	}
	buf_release(&heads.text);
	nameset_release(&heads.seen);
}

static void note_inner(const struct path_lookup *look, struct buf *note)
{
	struct names names;
	struct buf list = {0};

	names_behind(look, &names);
	names_words(&names, &list);
	if (names.count)
		buf_printf(note, "%s has no value of its own, below it are %s: ask for '%s/**'",
			   look->text, buf_text(&list), look->text);
	else
		buf_printf(note, "%s has no value of its own, it takes keys: ask for '%s[*]'",
			   look->text, look->text);
	buf_release(&list);
}

bool lookup_path(const struct program *program, struct index *index, const struct query *query,
		 struct buf *note, struct error *err)
{
	struct path_lookup looked, *look = &looked;

	look_begin(look, program, index, query);
	if (!look->steps)
		return true; /* `**` is all there is */
	if (!look->found && (!look->beyond || look->path->below))
		return wrong_host(look, err) ? false : unknown_step(look, err);
	if (!check_cpus(look, err) || !check_names(look, err))
		return false;
	if (note && look->found)
		note_unwritten(look, note);
	else if (note)
		note_inner(look, note);
	return true;
}
