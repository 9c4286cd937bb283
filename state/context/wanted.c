/* wanted.c - see wanted.h */
#include "state/context/wanted.h"
#include "engine/base/mem.h"
#include "state/context/answers.h"
#include "state/events/closure.h"
#include "state/program/cpus.h"
#include "state/program/expr.h"
#include "state/rules/reads.h"

#include <string.h>

bool wanted_by_name(const struct wanted *wanted, uint32_t attr)
{
	return attr < wanted->nnamed && wanted->named[attr];
}

void wanted_add(struct wanted *wanted, uint32_t attr)
{
	if (wanted_by_name(wanted, attr))
		return;
	wanted->named = mem_reach(wanted->named, attr, &wanted->nnamed, 1);
	wanted->named[attr] = 1;
	*mem_push(wanted->attrs, wanted->nattrs, wanted->capacity) = attr;
}

void wanted_init(struct state *state, const struct query *const *queries, size_t nqueries,
		 struct wanted *out)
{
	*out = (struct wanted){.queries = queries, .nqueries = nqueries, .lists = nqueries == 0};
	for (size_t i = 0; i < nqueries; i++) {
		if (query_has_wildcard(queries[i]))
			out->lists = true;
		else
			wanted_add(out, query_attr(queries[i], state->attrs));
	}
}

void wanted_release(struct wanted *wanted)
{
	mem_free(wanted->attrs);
	mem_free(wanted->matches);
	mem_free(wanted->named);
}

/* Does a query with wildcards match the attribute (or, if ATTR_ABSENT, some of the shape)? */
static bool matches_some(const struct state *state, const struct wanted *wanted, uint32_t attr,
			 uint32_t shape)
{
	bool some = wanted->nqueries == 0;

	for (size_t i = 0; i < wanted->nqueries && !some; i++)
		some = query_has_wildcard(wanted->queries[i]) &&
		       (attr == ATTR_ABSENT
				? query_matches_shape(wanted->queries[i], state->attrs, shape)
				: query_matches(wanted->queries[i], state->attrs, attr));
	return some;
}

bool wanted_lists(struct state *state, struct wanted *wanted, uint32_t attr)
{
	if (!wanted->lists)
		return false;
	wanted->matches = mem_reach(wanted->matches, attr, &wanted->nmatches, 1);
	if (wanted->matches[attr] == 0)
		wanted->matches[attr] = 1 + matches_some(state, wanted, attr, ATTR_ABSENT);
	return wanted->matches[attr] == 2;
}

bool wanted_lists_shape(const struct state *state, const struct wanted *wanted, uint32_t shape)
{
	return wanted->lists && matches_some(state, wanted, ATTR_ABSENT, shape);
}

static bool shape_is_late(const struct state *state, uint32_t shape)
{
	const struct program *program = state->program;

	if (catalog_was(state->catalog, shape))
		return true;
	for (uint32_t i = 0; i < program_views(program); i++)
		if (program_view(program, i)->path.shape == shape &&
		    view_is_late(state, program_view(program, i)))
			return true;
	return false;
}

bool view_is_late(const struct state *state, const struct view *view)
{
	bool late = false;

	for (uint32_t r = 0; r < view->nreads && !late; r++)
		late = shape_is_late(state, view->reads[r].shape);
	for (uint32_t s = 0; s < view->nsources && !late; s++)
		late = shape_is_late(state, view->sources[s].shape);
	return late;
}

bool wanted_lists_view(const struct state *state, const struct wanted *wanted,
		       const struct view *view)
{
	return wanted_lists_shape(state, wanted, view->path.shape) &&
	       !(wanted->settled && view_is_late(state, view));
}

/* ---- lists whose attributes are known without reading ---- */

struct wanted_list {
	struct state *state;
	struct wanted wanted; /* attributes found so far */
	struct cpus cpus;
	bool known;
	bool some;      /* leave out what is not known */
	uint32_t shape; /* list attributes of this shape; ATTR_ABSENT: all that are wanted */
	const struct query *query; /* query to take keys from; NULL: none */
};

static bool is_cpu_key(const struct atom *atom)
{
	return atom->kind == ATOM_EXPR && atom->expr->kind == EXPR_SECTION_OWN &&
	       atom->expr->index == SECTION_CPU;
}

static void expand_cpus(struct wanted_list *list, const struct path *path, uint32_t i,
			uint32_t attr);

/*
 * Adds all attributes of the path. Keys come from the rules, the query, or all CPUs for
 * section/cpu.
 */
static void expand(struct wanted_list *list, const struct path *path, uint32_t i, uint32_t attr)
{
	struct attrs *attrs = list->state->attrs;
	const struct atom *atom = &path->atoms[i];
	const struct value *key = list->query ? query_key(list->query, i) : NULL;

	if (i == path->natoms) {
		wanted_add(&list->wanted, attr);
		return;
	}
	if (atom->kind == ATOM_NAME)
		expand(list, path, i + 1,
		       attr_name(attrs, attr, atom->value.text, atom->value.len));
	else if (atom->kind == ATOM_KEY)
		expand(list, path, i + 1, attr_key(attrs, attr, &atom->value));
	else if (is_cpu_key(atom))
		expand_cpus(list, path, i, attr);
	else if (key)
		expand(list, path, i + 1, attr_key(attrs, attr, key));
	else
		list->known = list->some;
}

static void expand_cpus(struct wanted_list *list, const struct path *path, uint32_t i,
			uint32_t attr)
{
	for (size_t c = 0; c < list->cpus.count; c++) {
		struct value key = value_u64((uint64_t)list->cpus.items[c]);
		expand(list, path, i + 1, attr_key(list->state->attrs, attr, &key));
	}
}

/* Expands the target once per query that lists attributes of its shape. */
static void expand_target(struct wanted_list *list, const struct path *target)
{
	const struct wanted *wanted = &list->wanted;

	if (list->shape != ATTR_ABSENT || wanted->nqueries == 0) {
		expand(list, target, 0, ATTR_ROOT);
		return;
	}
	for (size_t i = 0; i < wanted->nqueries; i++) {
		list->query = wanted->queries[i];
		if (query_has_wildcard(list->query) &&
		    query_matches_shape(list->query, list->state->attrs, target->shape))
			expand(list, target, 0, ATTR_ROOT);
	}
	list->query = NULL;
}

static bool wanted_is_listed(const struct wanted_list *list, uint32_t shape)
{
	return list->shape == ATTR_ABSENT ? wanted_lists_shape(list->state, &list->wanted, shape)
					  : list->shape == shape;
}

/* Expands a line's target. A `push` has no known attributes: its lines do not limit the depth. */
static void expand_line(void *arg, const struct line *line)
{
	struct wanted_list *list = arg;
	uint32_t shape = line->target.shape;
	bool names = line->verb == VERB_SET || line->verb == VERB_WAS || line->verb == VERB_ADD;

	if (!list->known || line->flags & (LINE_SECTION | LINE_FAILS))
		return;
	if (line->verb == VERB_PUSH && !list->some)
		list->known = !wanted_is_listed(list, shape) &&
			      !wanted_is_listed(list, shape_key(list->state->attrs, shape));
	else if (names && wanted_is_listed(list, shape))
		expand_target(list, &line->target);
}

struct listed_attrs {
	struct listed *items;
	size_t count, capacity;
};

/* Adds the expanded attributes to the listing; with a view, what it computes from them. */
static void take_expanded(struct wanted_list *list, struct wanted *wanted, const struct view *view,
			  uint32_t atom, struct listed_attrs *out)
{
	struct attrs *attrs = list->state->attrs;

	for (size_t i = 0; i < list->wanted.nattrs; i++) {
		struct listed item = {list->wanted.attrs[i], ATTR_ABSENT};
		struct value values[ENV_VARIABLES];

		if (view) {
			values[0] = attr_atom(attrs, attr_up(attrs, item.attr, atom + 1));
			item.source = item.attr;
			item.attr = view_attr(attrs, view, values);
		}
		if (!wanted_lists(list->state, wanted, item.attr))
			continue;
		*mem_push(out->items, out->count, out->capacity) = item;
	}
	mem_free(list->wanted.attrs);
	mem_free(list->wanted.named);
	list->wanted.attrs = NULL;
	list->wanted.named = NULL;
	list->wanted.nattrs = list->wanted.capacity = list->wanted.nnamed = 0;
}

static void expand_views(struct wanted_list *list, struct wanted *wanted, struct listed_attrs *out)
{
	struct state *state = list->state;
	uint32_t atom;

	for (uint32_t i = 0; i < program_views(state->program); i++) {
		const struct view *view = program_view(state->program, i);

		if (!wanted_lists_view(state, wanted, view))
			continue;
		if (view->nvariables != 1 || !view_source(view, 0, &list->shape, &atom)) {
			list->known = false;
			return;
		}
		catalog_lines(state->catalog, expand_line, list);
		take_expanded(list, wanted, view, atom, out);
	}
}

/* Begins a list of the queries without attributes. The caller releases its CPUs. */
static bool list_begin(struct state *state, const struct wanted *wanted, bool some,
		       struct wanted_list *out, struct error *err)
{
	*out = (struct wanted_list){.state = state,
				    .wanted = {.queries = wanted->queries,
					       .nqueries = wanted->nqueries,
					       .lists = wanted->lists},
				    .known = true,
				    .some = some,
				    .shape = ATTR_ABSENT};
	return cpus_find(state->event_source->trace, state->index, &out->cpus, err);
}

bool wanted_enumerate(struct state *state, struct wanted *wanted, struct listed **out,
		      size_t *count, struct error *err)
{
	struct listed_attrs listing = {0};
	struct wanted_list list;
	bool ok = list_begin(state, wanted, false, &list, err);

	list.known = !list.cpus.many;
	if (ok) {
		catalog_lines(state->catalog, expand_line, &list);
		take_expanded(&list, wanted, NULL, 0, &listing);
		expand_views(&list, wanted, &listing);
	}
	cpus_release(&list.cpus);
	*out = listing.items;
	*count = listing.count;
	if (ok && list.known)
		return true;
	mem_free(listing.items);
	*out = NULL;
	*count = 0;
	return false;
}

struct closure *wanted_closure(struct state *state, const struct wanted *wanted)
{
	uint32_t nshapes = shape_count(state->attrs);
	uint32_t *roots = mem_new_array(nshapes + wanted->nattrs, sizeof *roots);
	struct closure *closure;
	size_t count = 0;

	for (size_t i = 0; i < wanted->nattrs; i++)
		roots[count++] = attr_shape(state->attrs, wanted->attrs[i]);
	for (uint32_t shape = 0; shape < nshapes; shape++)
		if (wanted_lists_shape(state, wanted, shape) ||
		    wanted_is_source(state, wanted, shape))
			roots[count++] = shape;
	closure = closure_new(state->catalog, roots, count);
	mem_free(roots);
	return closure;
}

bool wanted_is_source(struct state *state, const struct wanted *wanted, uint32_t shape)
{
	for (uint32_t i = 0; i < program_views(state->program); i++) {
		const struct view *view = program_view(state->program, i);

		for (uint32_t s = 0; s < view->nsources; s++)
			if (view->sources[s].shape == shape &&
			    wanted_lists_view(state, wanted, view))
				return true;
	}
	return false;
}

bool wanted_enumerate_some(struct state *state, struct wanted *wanted, uint32_t **out,
			   size_t *count, struct error *err)
{
	struct wanted_list list;

	*out = NULL;
	*count = 0;
	if (!list_begin(state, wanted, true, &list, err))
		return false;
	if (!list.cpus.many) {
		catalog_lines(state->catalog, expand_line, &list);
		for (uint32_t shape = 0; shape < shape_count(state->attrs); shape++) {
			list.shape = shape;
			if (wanted_is_source(state, wanted, shape))
				catalog_lines(state->catalog, expand_line, &list);
		}
	}
	cpus_release(&list.cpus);
	*out = list.wanted.attrs;
	*count = list.wanted.nattrs;
	mem_free(list.wanted.named);
	return true;
}

/* ---- lists of computed attributes ---- */

struct binding {
	struct state *state;
	struct wanted *wanted;
	const struct named_attrs *named;
	const struct view *view;
	struct value values[ENV_VARIABLES]; /* by variable */
	uint32_t sources[ENV_VARIABLES];
};

/* Binds all unbound variables whose source is of this shape to their values in `attr`. */
static void bind_found(struct binding *binding, uint32_t shape, uint32_t attr, uint32_t *bound)
{
	struct attrs *attrs = binding->state->attrs;
	uint32_t own, atom;

	for (uint32_t v = 0; v < binding->view->nvariables; v++)
		if (!(*bound >> v & 1) && view_source(binding->view, v, &own, &atom) &&
		    own == shape) {
			binding->values[v] = attr_atom(attrs, attr_up(attrs, attr, atom + 1));
			binding->sources[v] = attr;
			*bound |= UINT32_C(1) << v;
		}
}

/* Tries all bindings of the variables that are not in the bits `bound`. */
static void bind_views(struct binding *binding, uint32_t bound)
{
	const struct named_attrs *named = binding->named;
	const struct view *view = binding->view;
	uint32_t variable = 0, shape, atom, attr;

	while (bound >> variable & 1)
		variable++;
	if (variable == view->nvariables) {
		attr = view_attr(binding->state->attrs, view, binding->values);
		if (wanted_lists(binding->state, binding->wanted, attr))
			named->each(named->arg, attr, binding->sources, variable);
		return;
	}
	if (!view_source(view, variable, &shape, &atom))
		return;
	for (uint64_t at = 0; named->next(named->arg, shape, &at, &attr);) {
		uint32_t more = bound;

		bind_found(binding, shape, attr, &more);
		bind_views(binding, more);
	}
}

void wanted_views(struct state *state, struct wanted *wanted, const struct named_attrs *named)
{
	struct binding binding = {.state = state, .wanted = wanted, .named = named};

	for (uint32_t i = 0; i < program_views(state->program); i++) {
		binding.view = program_view(state->program, i);
		if (wanted_lists_view(state, wanted, binding.view))
			bind_views(&binding, 0);
	}
}
