/* wanted.c - what a set of queries names: attributes at once, lists when attributes are known */
#include "engine/base/mem.h"
#include "state/expr.h"
#include "state/state_internal.h"

#include <string.h>

bool wanted_by_name(const struct wanted *wanted, uint32_t attr)
{
	return attr < wanted->nnamed && wanted->named[attr];
}

static void add_attr(struct wanted *wanted, uint32_t attr)
{
	uint32_t room = attr + attr / 2 + 64;

	if (wanted_by_name(wanted, attr))
		return;
	if (attr >= wanted->nnamed) {
		wanted->named = mem_resize(wanted->named, room, 1);
		memset(wanted->named + wanted->nnamed, 0, room - wanted->nnamed);
		wanted->nnamed = room;
	}
	wanted->named[attr] = 1;
	wanted->attrs =
		mem_grow(wanted->attrs, wanted->nattrs, &wanted->capacity, sizeof *wanted->attrs);
	wanted->attrs[wanted->nattrs++] = attr;
}

void wanted_init(struct state *state, const struct query *const *queries, size_t nqueries,
		 struct wanted *out)
{
	*out = (struct wanted){.queries = queries, .nqueries = nqueries, .lists = nqueries == 0};
	for (size_t i = 0; i < nqueries; i++) {
		if (query_has_wildcard(queries[i]))
			out->lists = true;
		else
			add_attr(out, query_attr(queries[i], state->attrs));
	}
}

void wanted_release(struct wanted *wanted)
{
	mem_free(wanted->attrs);
	mem_free(wanted->matches);
	mem_free(wanted->named);
}

static bool matches_some(struct state *state, const struct wanted *wanted, uint32_t attr)
{
	if (wanted->nqueries == 0)
		return true;
	for (size_t i = 0; i < wanted->nqueries; i++)
		if (query_has_wildcard(wanted->queries[i]) &&
		    query_matches(wanted->queries[i], state->attrs, attr))
			return true;
	return false;
}

bool wanted_lists(struct state *state, struct wanted *wanted, uint32_t attr)
{
	uint32_t count = attrs_count(state->attrs);

	if (!wanted->lists)
		return false;
	if (attr >= wanted->nmatches) {
		wanted->matches = mem_resize(wanted->matches, count + count / 2, 1);
		memset(wanted->matches + wanted->nmatches, 0, count + count / 2 - wanted->nmatches);
		wanted->nmatches = count + count / 2;
	}
	if (wanted->matches[attr] == 0)
		wanted->matches[attr] = 1 + matches_some(state, wanted, attr);
	return wanted->matches[attr] == 2;
}

bool wanted_lists_shape(struct state *state, const struct wanted *wanted, uint32_t shape)
{
	if (!wanted->lists)
		return false;
	if (wanted->nqueries == 0)
		return true;
	for (size_t i = 0; i < wanted->nqueries; i++)
		if (query_has_wildcard(wanted->queries[i]) &&
		    query_matches_shape(wanted->queries[i], state->attrs, shape))
			return true;
	return false;
}

/* ---- lists that can be told without reading ---- */

struct list {
	struct state *state;
	struct wanted wanted; /* the attributes found so far */
	int32_t *cpus;
	size_t ncpus, cpus_capacity;
	bool known;
	uint32_t cpu_section;
};

static void add_cpu(struct list *list, int32_t cpu)
{
	for (size_t i = list->ncpus; i-- > 0;)
		if (list->cpus[i] == cpu)
			return;
	list->cpus = mem_grow(list->cpus, list->ncpus, &list->cpus_capacity, sizeof *list->cpus);
	list->cpus[list->ncpus++] = cpu;
}

/* A stream whose packets say which CPU they are of. */
static bool cpus_of_packets(struct list *list, const struct stream *stream, struct error *err)
{
	enum { FEW = 1 << 17 };
	struct packet_info info;
	struct table *table;

	if (!list->state->index)
		return true;
	if (!index_table(list->state->index, stream, &table, err))
		return false;
	if (table_count(table) > FEW)
		list->known = false;
	for (uint64_t i = 0; i < table_count(table) && list->known; i++) {
		if (!table_get(table, i, &info, err))
			return false;
		if (info.rec.cpu >= 0)
			add_cpu(list, info.rec.cpu);
	}
	return true;
}

static bool find_cpus(struct list *list, struct error *err)
{
	const struct trace *trace = list->state->feed->trace;

	for (size_t i = 0; i < trace->nstreams; i++) {
		if (trace->streams[i]->cpu >= 0)
			add_cpu(list, trace->streams[i]->cpu);
		else if (!cpus_of_packets(list, trace->streams[i], err))
			return false;
	}
	return true;
}

static bool is_cpu_key(const struct list *list, const struct atom *atom)
{
	return atom->kind == ATOM_EXPR && atom->expr->kind == EXPR_SECTION_OWN &&
	       atom->expr->index == list->cpu_section;
}

/* All attributes of the path with every CPU in place of section/cpu. */
static void expand(struct list *list, const struct path *path, uint32_t i, uint32_t attr)
{
	struct attrs *attrs = list->state->attrs;
	const struct atom *atom = &path->atoms[i];

	if (i == path->natoms) {
		add_attr(&list->wanted, attr);
		return;
	}
	if (atom->kind == ATOM_NAME)
		expand(list, path, i + 1,
		       attr_name(attrs, attr, atom->value.text, atom->value.len));
	else if (atom->kind == ATOM_KEY)
		expand(list, path, i + 1, attr_key(attrs, attr, &atom->value));
	else if (!is_cpu_key(list, atom))
		list->known = false;
	else
		for (size_t c = 0; c < list->ncpus; c++) {
			struct value key = {.kind = VALUE_INT, .u = (uint64_t)list->cpus[c]};
			expand(list, path, i + 1, attr_key(attrs, attr, &key));
		}
}

static void expand_line(void *arg, const struct line *line)
{
	struct list *list = arg;
	bool names = line->verb == VERB_SET || line->verb == VERB_WAS || line->verb == VERB_ADD ||
		     line->verb == VERB_PUSH;

	if (!list->known || !names || line->flags & (LINE_SECTION | LINE_FAILS) ||
	    !wanted_lists_shape(list->state, &list->wanted, line->target.shape))
		return;
	if (line->verb == VERB_PUSH)
		list->known = false;
	else
		expand(list, &line->target, 0, ATTR_ROOT);
}

bool wanted_enumerate(struct state *state, const struct wanted *wanted, uint32_t **out,
		      size_t *count, struct error *err)
{
	struct list list = {.state = state, .wanted = *wanted, .known = true};
	bool ok;

	*out = NULL;
	*count = 0;
	list.wanted.attrs = NULL;
	list.wanted.nattrs = list.wanted.capacity = 0;
	list.wanted.named = NULL;
	list.wanted.nnamed = 0;
	for (uint32_t i = 0; i < program_sections(state->program); i++)
		if (!strcmp(program_section_name(state->program, i), "cpu"))
			list.cpu_section = i;
	for (uint32_t i = 0; i < program_views(state->program); i++)
		if (wanted_lists_shape(state, wanted, program_view(state->program, i)->path.shape))
			list.known = false;
	ok = find_cpus(&list, err);
	if (ok)
		catalog_lines(state->catalog, expand_line, &list);
	mem_free(list.cpus);
	mem_free(list.wanted.named);
	if (ok && list.known) {
		*out = list.wanted.attrs;
		*count = list.wanted.nattrs;
		return true;
	}
	mem_free(list.wanted.attrs);
	return false;
}
