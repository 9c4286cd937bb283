/*
 * cycles.c - finds statements that depend on themselves
 *
 * A statement depends on every statement that may write what it reads. Tarjan's algorithm finds the
 * cycles (iterative, since rule files may be long).
 *
 * A shape that is read is a vertex between its readers and writers, so that a hundred of each need
 * two hundred edges, not ten thousand.
 */
#include "state/rules/reads.h"

bool shape_written(const struct attrs *attrs, uint32_t target, enum verb verb, bool below,
		   uint32_t shape)
{
	if (verb_buries(verb))
		return shape_is_within(attrs, shape, target) && !(below && shape == target);
	if (shape == target)
		return true;
	/* target[*] */
	return verb_stacks(verb) && shape != 0 && shape_parent(attrs, shape) == target &&
	       shape_is_key(attrs, shape);
}

struct vertex {
	uint32_t order, low; /* order 0: not seen */
	bool on_stack;
	size_t first_edge, nedges, at_edge;
};

struct graph {
	struct arena *arena;
	struct analysis *analysis;
	struct by_shape writers; /* index by place: shapes, then section values */
	uint32_t *edges;
	size_t nedges, edges_capacity;
	uint32_t nstatements; /* vertices are statements, then shapes, then section values */
	uint32_t nshapes;
	struct vertex *vertices;
	uint32_t *stack, *path;
	size_t nstack, npath;
	uint32_t order;
};

static uint32_t place_of_section(const struct graph *graph, uint32_t section)
{
	return graph->nshapes + section;
}

static uint32_t place_of_read(const struct graph *graph, const struct line_read *read)
{
	return read->shape == ATTR_ABSENT ? place_of_section(graph, read->section) : read->shape;
}

/* Indexes statements by what they write; a stack statement i has an item n + i for its values. */
static void index_writers(struct graph *graph)
{
	struct analysis *analysis = graph->analysis;
	uint32_t n = graph->nstatements;

	for (uint32_t i = 0; i < n; i++) /* adds the shapes of stacks' values first */
		if (verb_stacks(analysis->rules->statements[i]->verb))
			shape_key(analysis->attrs, analysis->statements[i].shape);
	graph->nshapes = shape_count(analysis->attrs);
	graph->writers = by_shape_new(graph->arena, graph->nshapes + (uint32_t)analysis->nsections,
				      (size_t)2 * n);
	for (uint32_t i = 0; i < n; i++) {
		const struct statement_info *info = &analysis->statements[i];
		if (info->flags & LINE_SECTION) {
			by_shape_add(&graph->writers, place_of_section(graph, info->section), i);
			continue;
		}
		by_shape_add(&graph->writers, info->shape, i);
		if (verb_stacks(analysis->rules->statements[i]->verb))
			by_shape_add(&graph->writers, shape_key(analysis->attrs, info->shape),
				     n + i);
	}
}

static void add_edge(struct graph *graph, uint32_t to)
{
	*arena_push(graph->arena, graph->edges, graph->nedges, graph->edges_capacity) = to;
}

static void add_edges(struct graph *graph, uint32_t place, uint32_t shape)
{
	const struct analysis *analysis = graph->analysis;

	for (uint32_t w = by_shape_last(&graph->writers, place); w--;
	     w = graph->writers.before[w]) {
		uint32_t to = w % graph->nstatements;
		const struct statement *statement = analysis->rules->statements[to];
		if (shape != ATTR_ABSENT &&
		    !shape_written(analysis->attrs, analysis->statements[to].shape, statement->verb,
				   statement->target->below, shape))
			continue;
		add_edge(graph, to);
	}
}

static uint32_t vertex_of_read(const struct graph *graph, const struct line_read *read)
{
	return graph->nstatements + place_of_read(graph, read);
}

/* Adds edges to the writers of the shape, and to deletes of its ancestors. */
static void add_read_edges(struct graph *graph, const struct line_read *read)
{
	struct vertex *vertex = &graph->vertices[vertex_of_read(graph, read)];

	if (vertex->nedges)
		return; /* another line reads it, too */
	vertex->first_edge = graph->nedges;
	if (read->shape == ATTR_ABSENT)
		add_edges(graph, place_of_read(graph, read), ATTR_ABSENT);
	for (uint32_t above = read->shape; above != ATTR_ABSENT;
	     above = shape_parent(graph->analysis->attrs, above))
		add_edges(graph, above, read->shape);
	vertex->nedges = graph->nedges - vertex->first_edge;
}

static void index_edges(struct graph *graph)
{
	struct analysis *analysis = graph->analysis;

	for (size_t i = 0; i < analysis->rules->nstatements; i++) {
		const struct statement_info *info = &analysis->statements[i];
		for (size_t r = 0; r < info->reads.count; r++)
			add_read_edges(graph, &info->reads.items[r]);
		graph->vertices[i].first_edge = graph->nedges;
		for (size_t r = 0; r < info->reads.count; r++)
			add_edge(graph, vertex_of_read(graph, &info->reads.items[r]));
		graph->vertices[i].nedges = graph->nedges - graph->vertices[i].first_edge;
	}
}

/* Takes the vertices from `root` on off the stack: they are one cycle, or one vertex without. */
static void close_circle(struct graph *graph, uint32_t root)
{
	size_t first = graph->nstack;

	while (graph->stack[--first] != root)
		;
	for (size_t i = first; i < graph->nstack; i++) {
		uint32_t member = graph->stack[i];

		graph->vertices[member].on_stack = false;
		/* a line that reads what it writes has the read's vertex beside it */
		if (member < graph->nstatements && graph->nstack - first > 1)
			graph->analysis->statements[member].flags |= LINE_CYCLIC;
	}
	graph->nstack = first;
}

static void enter(struct graph *graph, uint32_t v)
{
	struct vertex *vertex = &graph->vertices[v];

	vertex->order = vertex->low = ++graph->order;
	vertex->on_stack = true;
	graph->stack[graph->nstack++] = v;
	graph->path[graph->npath++] = v;
}

static void leave(struct graph *graph)
{
	uint32_t v = graph->path[--graph->npath];
	struct vertex *vertex = &graph->vertices[v];

	if (vertex->low == vertex->order)
		close_circle(graph, v);
	if (graph->npath) {
		struct vertex *parent = &graph->vertices[graph->path[graph->npath - 1]];
		parent->low = vertex->low < parent->low ? vertex->low : parent->low;
	}
}

static void cycles_walk(struct graph *graph, uint32_t start)
{
	enter(graph, start);
	while (graph->npath) {
		struct vertex *vertex = &graph->vertices[graph->path[graph->npath - 1]];
		if (vertex->at_edge == vertex->nedges) {
			leave(graph);
			continue;
		}
		uint32_t to = graph->edges[vertex->first_edge + vertex->at_edge++];
		struct vertex *next = &graph->vertices[to];
		if (!next->order)
			enter(graph, to);
		else if (next->on_stack && next->order < vertex->low)
			vertex->low = next->order;
	}
}

void analysis_cycles(struct analysis *analysis)
{
	size_t n = analysis->rules->nstatements;
	struct graph graph = {
		.arena = arena_new(), .analysis = analysis, .nstatements = (uint32_t)n};

	index_writers(&graph);
	size_t all = n + graph.nshapes + analysis->nsections;
	graph.vertices = arena_array(graph.arena, all, sizeof *graph.vertices);
	graph.stack = arena_array(graph.arena, all, sizeof *graph.stack);
	graph.path = arena_array(graph.arena, all, sizeof *graph.path);
	index_edges(&graph);
	for (size_t i = 0; i < n; i++)
		if (!graph.vertices[i].order)
			cycles_walk(&graph, (uint32_t)i);
	arena_free(graph.arena);
}
