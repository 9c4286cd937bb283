/*
 * cells_bytes.c - encodes a state as the bytes of a checkpoint, and decodes it
 *
 * Numbers and values are encoded as in value_bytes.h. Times are stored as a difference: `since`
 * from that of the cell or tombstone before, all others from `since`. In this order:
 *
 *     MEANING
 *     version, names (statements, sections, streams) that must be equal when read
 *     nodes      count; each: parent (number of the node + 1, 0 the root), is key, value
 *     cells      count; each: node, flags (HAS_*), since, value, last, then what flags say
 *     tombstones count; each: flags (TOMBSTONE_*), since, seq less that of the one before, writer,
 *                the same tombstone's earlier write, then node or pattern
 *     sections   per stream and section: 0, or 1 and a value
 *     until      per stream
 *
 * Nodes come with parents first, so that one pass interns them. After the nodes, the same functions
 * write and read.
 */
#include "engine/base/mem.h"
#include "state/model/value_bytes.h"
#include "state/replay/cells_internal.h"

#include <string.h>

enum { CELLS_VERSION = 4 };

enum {
	HAS_WRITTEN = 1,   /* cell.written */
	HAS_NAMED = 2,     /* cell.named */
	HAS_RUN = 4,       /* a time; else `since` */
	HAS_LAST_RUN = 8,  /* a time; else NSTIME_MIN */
	HAS_NAMED_AT = 16, /* a time; else `since` */
	HAS_PLACE = 32     /* of its writer; else its event is that of the cell before */
};

enum {
	TOMBSTONE_BELOW = 1,
	TOMBSTONE_PATTERN = 2,
	TOMBSTONE_NONE = 4,
	TOMBSTONE_PLACE = 8,      /* as HAS_PLACE */
	TOMBSTONE_AGAIN = 16,     /* a time and a seq; else it was placed at one time */
	TOMBSTONE_AGAIN_NONE = 32 /* as TOMBSTONE_NONE, of that time */
};

/* ---- both ways: see value_bytes.h ---- */

/* Differences wrap: every pair of times has one. */
static nstime io_time(struct io *io, nstime t, nstime near)
{
	int64_t difference = (int64_t)((uint64_t)t - (uint64_t)near);

	return (nstime)((uint64_t)io_signed(io, difference) + (uint64_t)near);
}

struct order io_order(struct io *io, struct order order, nstime near)
{
	order.time = io_time(io, order.time, near);
	order.rank = (uint32_t)io_number(io, order.rank);
	order.source = (uint32_t)io_number(io, order.source);
	order.offset = io_number(io, order.offset);
	order.index = (uint32_t)io_number(io, order.index);
	return order;
}

/* All but the line. */
static struct writer io_place(struct io *io, struct writer writer, nstime since)
{
	writer.order = io_order(io, writer.order, since);
	writer.at = io_number(io, writer.at);
	writer.class_index = (uint32_t)io_number(io, writer.class_index);
	return writer;
}

static bool is_same_event(const struct writer *a, const struct writer *b)
{
	return !order_compare(&a->order, &b->order) && a->at == b->at &&
	       a->class_index == b->class_index;
}

/* ---- nodes ---- */

/* Marks the attribute and what it stands below. */
static void need(const struct cells *cells, uint32_t *nodes, uint32_t attr)
{
	while (attr != ATTR_ROOT && !nodes[attr]) {
		nodes[attr] = 1;
		attr = attr_parent(cells->attrs, attr);
	}
}

static void put_nodes(struct io *io, const struct cells *cells, uint32_t *nodes)
{
	uint32_t count = 0;

	for (uint32_t a = 1; a < cells->nplaces; a++) {
		if (cells->places[a] != NOWHERE || number_map_get(&cells->hanging, a))
			need(cells, nodes, a);
	}
	for (uint32_t a = 1; a < cells->nplaces; a++)
		if (nodes[a])
			nodes[a] = ++count;
	io_count(io, count);
	for (uint32_t a = 1; a < cells->nplaces; a++) {
		if (!nodes[a])
			continue;
		io_number(io, nodes[attr_parent(cells->attrs, a)]);
		io_number(io, attr_is_key(cells->attrs, a));
		io_value(io, attr_atom(cells->attrs, a));
	}
}

static uint32_t *get_nodes(struct io *io, size_t *count)
{
	uint32_t *nodes;

	*count = io_count(io, 0);
	nodes = mem_new_array(*count + 1, sizeof *nodes);
	nodes[0] = ATTR_ROOT;
	for (size_t i = 1; i <= *count && !io->failed; i++) {
		uint64_t parent = io_number(io, 0);
		bool key = io_number(io, 0) != 0;
		struct value atom = io_value(io, (struct value){0});

		if (parent >= i || atom.kind < VALUE_INT || (!key && atom.kind != VALUE_STRING)) {
			io->failed = true;
			break;
		}
		nodes[i] = attr_child(io->attrs, nodes[parent], key, &atom);
	}
	return nodes;
}

static uint32_t get_node(struct io *io, const uint32_t *nodes, size_t count)
{
	uint64_t i = io_number(io, 0);

	if (i <= count && !io->failed)
		return nodes[i];
	io->failed = true;
	return ATTR_ROOT;
}

/* ---- cells ---- */

static void io_cell(struct io *io, struct cell *cell, const struct cell *before)
{
	uint32_t line = cell->writer.line;
	bool place = !is_same_event(&cell->writer, &before->writer);
	uint64_t flags =
		io_number(io, (cell->written ? HAS_WRITTEN : 0) | (cell->named ? HAS_NAMED : 0) |
				      (cell->run != cell->since ? HAS_RUN : 0) |
				      (cell->last_run != NSTIME_MIN ? HAS_LAST_RUN : 0) |
				      (cell->named_at != cell->since ? HAS_NAMED_AT : 0) |
				      (place ? HAS_PLACE : 0));

	cell->written = flags & HAS_WRITTEN;
	cell->named = flags & HAS_NAMED;
	cell->since = io_time(io, cell->since, before->since);
	cell->value = io_value(io, cell->value);
	cell->last = io_value(io, cell->last);
	cell->run = flags & HAS_RUN ? io_time(io, cell->run, cell->since) : cell->since;
	cell->last_run =
		flags & HAS_LAST_RUN ? io_time(io, cell->last_run, cell->since) : NSTIME_MIN;
	cell->named_at =
		flags & HAS_NAMED_AT ? io_time(io, cell->named_at, cell->since) : cell->since;
	cell->writer = flags & HAS_PLACE ? io_place(io, cell->writer, cell->since) : before->writer;
	cell->writer.line = (uint32_t)io_number(io, line);
}

static void put_cells(struct io *io, const struct cells *cells, const uint32_t *nodes)
{
	struct cell cell, before = {0};
	size_t count = 0;

	for (uint32_t a = ATTR_ROOT; cells_next(cells, &a);)
		count += !cells_is_deleted(cells, a);
	io_count(io, count);
	for (uint32_t a = ATTR_ROOT; cells_next(cells, &a);) {
		if (cells_is_deleted(cells, a))
			continue;
		cells_get(cells, a, &cell);
		io_number(io, nodes[a]);
		io_cell(io, &cell, &before);
		before = cell;
	}
}

static void get_cells(struct io *io, struct cells *cells, const uint32_t *nodes, size_t nnodes)
{
	size_t count = io_count(io, 0);
	struct cell before = {0};

	for (size_t i = 0; i < count && !io->failed; i++) {
		uint32_t attr = get_node(io, nodes, nnodes);
		struct cell cell = {0};

		io_cell(io, &cell, &before);
		if (!io->failed)
			cells_set(cells, attr, &cell);
		before = cell;
	}
}

/* ---- tombstones ---- */

/* Returns its flags. */
static uint64_t io_tombstone(struct io *io, struct tombstone *tombstone,
			     const struct tombstone *before)
{
	struct placing *now = &tombstone->now, *again = &tombstone->before;
	uint32_t line = tombstone->writer.line;
	bool place = !is_same_event(&tombstone->writer, &before->writer);
	uint64_t flags = io_number(
		io, (tombstone->below ? TOMBSTONE_BELOW : 0) |
			    (tombstone->pattern ? TOMBSTONE_PATTERN : 0) |
			    (now->kind == VALUE_NONE ? TOMBSTONE_NONE : 0) |
			    (place ? TOMBSTONE_PLACE : 0) | (again->seq ? TOMBSTONE_AGAIN : 0) |
			    (again->seq && again->kind == VALUE_NONE ? TOMBSTONE_AGAIN_NONE : 0));

	now->kind = flags & TOMBSTONE_NONE ? VALUE_NONE : VALUE_UNKNOWN;
	now->since = io_time(io, now->since, before->now.since);
	now->seq = before->now.seq + (uint64_t)io_signed(io, (int64_t)(now->seq - before->now.seq));
	tombstone->writer = flags & TOMBSTONE_PLACE ? io_place(io, tombstone->writer, now->since)
						    : before->writer;
	tombstone->writer.line = (uint32_t)io_number(io, line);
	if (flags & TOMBSTONE_AGAIN) {
		again->kind = flags & TOMBSTONE_AGAIN_NONE ? VALUE_NONE : VALUE_UNKNOWN;
		again->since = io_time(io, again->since, now->since);
		again->seq = now->seq - io_number(io, now->seq - again->seq);
	}
	return flags;
}

static void put_tombstones(struct io *io, const struct cells *cells, const uint32_t *nodes)
{
	const struct tombstone *tombstone = NULL;
	struct tombstone copy, before = {0};

	io_count(io, cells->ntombstones);
	while ((tombstone = cells_next_tombstone(cells, tombstone))) {
		copy = *tombstone;
		io_tombstone(io, &copy, &before);
		if (copy.pattern)
			io_pattern(io, copy.pattern);
		else
			io_number(io, nodes[copy.attr]);
		before = copy;
	}
}

static void get_tombstones(struct io *io, struct cells *cells, const uint32_t *nodes, size_t nnodes)
{
	size_t count = io_count(io, 0);
	struct pattern *pattern = mem_new(sizeof *pattern);
	struct tombstone *own, before = {0};

	for (size_t i = 0; i < count && !io->failed; i++) {
		struct tombstone read = {0};
		uint64_t flags = io_tombstone(io, &read, &before);

		*pattern = (struct pattern){0};
		if (flags & TOMBSTONE_PATTERN)
			io_pattern(io, pattern);
		else
			pattern->attr = get_node(io, nodes, nnodes);
		pattern->below = flags & TOMBSTONE_BELOW;
		if (io->failed)
			break;
		own = cells_tombstone(cells, pattern);
		own->now = read.now;
		own->before = read.before;
		own->writer = read.writer;
		if (read.now.seq > cells->seq)
			cells->seq = read.now.seq;
		before = read;
	}
	mem_free(pattern);
}

/* ---- streams, and the whole ---- */

static void io_section(struct io *io, struct section_value *section)
{
	section->written = io_number(io, section->written) != 0;
	if (section->written)
		section->value = io_value(io, section->value);
}

void io_streams(struct io *io, const struct cells *cells)
{
	for (size_t i = 0; i < cells->nstreams * cells->nsections && !io->failed; i++)
		io_section(io, &cells->sections[i]);
	for (size_t i = 0; i < cells->nstreams; i++)
		cells->until[i] = io_signed(io, cells->until[i]);
}

/* Stream i of those that are read is streams[i]. */
static void get_streams(struct io *io, struct cells *cells, const uint32_t *streams, size_t count)
{
	for (size_t i = 0; i < count && !io->failed; i++)
		for (uint32_t k = 0; k < cells->nsections && !io->failed; k++) {
			struct section_value section = {0};

			io_section(io, &section);
			if (streams[i] < cells->nstreams)
				cells->sections[(size_t)streams[i] * cells->nsections + k] =
					section;
		}
	for (size_t i = 0; i < count; i++) {
		nstime until = io_signed(io, 0);

		if (streams[i] < cells->nstreams)
			cells->until[streams[i]] = until;
	}
}

/* False: what is read is not of this program, and of so many streams. */
static bool io_head(struct io *io, const struct cells *cells, size_t nstreams)
{
	uint32_t statements = program_statements(cells->program);

	return io_number(io, CELLS_VERSION) == CELLS_VERSION &&
	       io_number(io, statements) == statements &&
	       io_number(io, cells->nsections) == cells->nsections &&
	       io_number(io, nstreams) == nstreams;
}

void cells_write(const struct cells *cells, struct buf *out)
{
	uint32_t *nodes = mem_new_array((size_t)cells->nplaces + 1, sizeof *nodes);
	struct io io = {.out = out};

	io_head(&io, cells, cells->nstreams);
	put_nodes(&io, cells, nodes);
	put_cells(&io, cells, nodes);
	put_tombstones(&io, cells, nodes);
	io_streams(&io, cells);
	mem_free(nodes);
}

static bool cells_bytes_read_all(struct cells *cells, struct io *io, const uint32_t *streams,
				 size_t count)
{
	uint32_t *nodes;
	size_t nnodes;

	cells_clear(cells);
	if (!io_head(io, cells, count))
		return false;
	nodes = get_nodes(io, &nnodes);
	get_cells(io, cells, nodes, nnodes);
	get_tombstones(io, cells, nodes, nnodes);
	mem_free(nodes);
	if (streams)
		get_streams(io, cells, streams, count);
	else
		io_streams(io, cells);
	if (!io_ended(io))
		cells_clear(cells);
	return io_ended(io);
}

static struct io io_of(const struct cells *cells, const void *bytes, size_t len)
{
	return (struct io){.at = bytes, .end = (const uint8_t *)bytes + len, .attrs = cells->attrs};
}

bool cells_read(struct cells *cells, const void *bytes, size_t len)
{
	struct io io = io_of(cells, bytes, len);

	return cells_bytes_read_all(cells, &io, NULL, cells->nstreams);
}

bool cells_read_moved(struct cells *cells, const void *bytes, size_t len, const uint32_t *streams,
		      size_t count)
{
	struct io io = io_of(cells, bytes, len);

	return cells_bytes_read_all(cells, &io, streams, count);
}
