/*
 * cells_bytes.c - a state as bytes: what a checkpoint holds
 *
 * All numbers are LEB128, signed ones zigzag. A time is its difference from another that is near:
 * `since` from that of the cell or tombstone before, all others from `since`. In this order:
 *
 *     MEANING
 *     version, names (statements, sections, streams) that must be equal when read
 *     nodes      count; each: parent (number of the node + 1, 0 the root), is key, value
 *     cells      count; each: node, flags (HAS_*), since, value, last, then what flags say
 *     tombstones count; each: flags (TOMBSTONE_*), since, seq less that of the one before, writer,
 *                what the same tombstone was before, then node or pattern
 *     sections   per stream and section: 0, or 1 and a value
 *     until      per stream
 *
 * Nodes come with parents first, so that reading interns them in one go.
 */
#include "engine/base/mem.h"
#include "engine/base/varint.h"
#include "state/model/value_bytes.h"
#include "state/replay/cells_internal.h"

#include <string.h>

enum { CELLS_VERSION = 3 };

enum {
	HAS_WRITTEN = 1,   /* it was */
	HAS_NAMED = 2,     /* it is */
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

/* ---- writing ---- */

static void put_signed(struct buf *out, int64_t number)
{
	buf_add_varint(out, zigzag(number));
}

/* Differences wrap: every pair of times has one. */
static void put_time(struct buf *out, nstime t, nstime near)
{
	put_signed(out, (int64_t)((uint64_t)t - (uint64_t)near));
}

static void put_writer(struct buf *out, const struct writer *writer, nstime since)
{
	put_time(out, writer->order.time, since);
	buf_add_varint(out, writer->order.rank);
	buf_add_varint(out, writer->order.source);
	buf_add_varint(out, writer->order.offset);
	buf_add_varint(out, writer->order.index);
	buf_add_varint(out, writer->at);
	buf_add_varint(out, writer->class_index);
}

/* Marks the attribute and what it stands below. */
static void need(const struct cells *cells, uint32_t *nodes, uint32_t attr)
{
	while (attr != ATTR_ROOT && !nodes[attr]) {
		nodes[attr] = 1;
		attr = attr_parent(cells->attrs, attr);
	}
}

static void put_nodes(const struct cells *cells, uint32_t *nodes, struct buf *out)
{
	uint32_t count = 0;

	for (uint32_t a = 1; a < cells->nslots; a++) {
		if (cells->slots[a].cell != NOWHERE || cells->slots[a].tombstone != NOWHERE)
			need(cells, nodes, a);
	}
	for (uint32_t a = 1; a < cells->nslots; a++)
		if (nodes[a])
			nodes[a] = ++count;
	buf_add_varint(out, count);
	for (uint32_t a = 1; a < cells->nslots; a++) {
		if (!nodes[a])
			continue;
		buf_add_varint(out, nodes[attr_parent(cells->attrs, a)]);
		buf_add_varint(out, attr_is_key(cells->attrs, a));
		value_write(out, attr_atom(cells->attrs, a));
	}
}

static bool is_same_event(const struct writer *a, const struct writer *b)
{
	return !order_compare(&a->order, &b->order) && a->at == b->at &&
	       a->class_index == b->class_index;
}

static void put_cell(const struct cell *cell, const struct cell *before, struct buf *out)
{
	bool place = !is_same_event(&cell->writer, &before->writer);
	unsigned flags = (cell->written ? HAS_WRITTEN : 0) | (cell->named ? HAS_NAMED : 0) |
			 (cell->run != cell->since ? HAS_RUN : 0) |
			 (cell->last_run != NSTIME_MIN ? HAS_LAST_RUN : 0) |
			 (cell->named_at != cell->since ? HAS_NAMED_AT : 0) |
			 (place ? HAS_PLACE : 0);

	buf_add_varint(out, flags);
	put_time(out, cell->since, before->since);
	value_write(out, &cell->value);
	value_write(out, &cell->last);
	if (flags & HAS_RUN)
		put_time(out, cell->run, cell->since);
	if (flags & HAS_LAST_RUN)
		put_time(out, cell->last_run, cell->since);
	if (flags & HAS_NAMED_AT)
		put_time(out, cell->named_at, cell->since);
	if (place)
		put_writer(out, &cell->writer, cell->since);
	buf_add_varint(out, cell->writer.line);
}

static void put_cells(const struct cells *cells, const uint32_t *nodes, struct buf *out)
{
	struct cell cell, before = {0};
	size_t count = 0;

	for (uint32_t a = ATTR_ROOT; cells_next(cells, &a);)
		count += !cells_is_deleted(cells, a);
	buf_add_varint(out, count);
	for (uint32_t a = ATTR_ROOT; cells_next(cells, &a);) {
		if (cells_is_deleted(cells, a))
			continue;
		cells_get(cells, a, &cell);
		buf_add_varint(out, nodes[a]);
		put_cell(&cell, &before, out);
		before = cell;
	}
}

static void put_tombstone(const struct tombstone *tombstone, const struct tombstone *before,
			  uint32_t node, struct buf *out)
{
	bool place = !is_same_event(&tombstone->writer, &before->writer);

	buf_add_varint(out, (tombstone->below ? TOMBSTONE_BELOW : 0) |
				    (tombstone->pattern ? TOMBSTONE_PATTERN : 0) |
				    (tombstone->kind == VALUE_NONE ? TOMBSTONE_NONE : 0) |
				    (place ? TOMBSTONE_PLACE : 0) |
				    (tombstone->again ? TOMBSTONE_AGAIN : 0) |
				    (tombstone->again && tombstone->again_kind == VALUE_NONE
					     ? TOMBSTONE_AGAIN_NONE
					     : 0));
	put_time(out, tombstone->since, before->since);
	put_signed(out, (int64_t)(tombstone->seq - before->seq));
	if (place)
		put_writer(out, &tombstone->writer, tombstone->since);
	buf_add_varint(out, tombstone->writer.line);
	if (tombstone->again) {
		put_time(out, tombstone->again_since, tombstone->since);
		buf_add_varint(out, tombstone->seq - tombstone->again_seq);
	}
	if (tombstone->pattern)
		pattern_write(out, tombstone->pattern);
	else
		buf_add_varint(out, node);
}

static void put_tombstones(const struct cells *cells, const uint32_t *nodes, struct buf *out)
{
	static const struct tombstone none;
	const struct tombstone *before = &none, *tombstone = NULL;

	buf_add_varint(out, cells->ntombstones);
	while ((tombstone = cells_next_tombstone(cells, tombstone))) {
		put_tombstone(tombstone, before, tombstone->pattern ? 0 : nodes[tombstone->attr],
			      out);
		before = tombstone;
	}
}

void cells_write_streams(const struct cells *cells, struct buf *out)
{
	for (size_t i = 0; i < cells->nstreams * cells->nsections; i++) {
		buf_add_varint(out, cells->sections[i].written);
		if (cells->sections[i].written)
			value_write(out, &cells->sections[i].value);
	}
	for (size_t i = 0; i < cells->nstreams; i++)
		put_signed(out, cells->until[i]);
}

void cells_write(const struct cells *cells, struct buf *out)
{
	uint32_t *nodes = mem_new_array((size_t)cells->nslots + 1, sizeof *nodes);

	buf_add_varint(out, CELLS_VERSION);
	buf_add_varint(out, program_statements(cells->program));
	buf_add_varint(out, cells->nsections);
	buf_add_varint(out, cells->nstreams);
	put_nodes(cells, nodes, out);
	put_cells(cells, nodes, out);
	put_tombstones(cells, nodes, out);
	cells_write_streams(cells, out);
	mem_free(nodes);
}

/* ---- reading: sticky failure, then zeros ---- */

struct in {
	const uint8_t *at, *end;
	bool failed;
};

/* Goes on behind what was read; NULL: that failed. */
static bool go_on(struct in *in, const uint8_t *at)
{
	in->failed = in->failed || !at;
	if (!in->failed)
		in->at = at;
	return !in->failed;
}

static uint64_t get(struct in *in)
{
	uint64_t number;

	return go_on(in, varint_get(in->at, in->end, &number)) ? number : 0;
}

static int64_t get_signed(struct in *in)
{
	return unzigzag(get(in));
}

/* A count of things that take at least a byte each. */
static size_t get_count(struct in *in)
{
	uint64_t count = get(in);

	if (count > (uint64_t)(in->end - in->at)) {
		in->failed = true;
		return 0;
	}
	return (size_t)count;
}

static struct value get_value(struct in *in, struct attrs *attrs)
{
	struct value value;

	if (!go_on(in, value_read(in->at, in->end, attrs, &value)))
		value.kind = VALUE_UNKNOWN;
	return value;
}

static nstime get_time(struct in *in, nstime near)
{
	return (nstime)((uint64_t)get_signed(in) + (uint64_t)near);
}

/* All but the line. */
static struct writer get_writer(struct in *in, nstime since)
{
	struct writer writer = {.order.time = get_time(in, since)};

	writer.order.rank = (uint32_t)get(in);
	writer.order.source = (uint32_t)get(in);
	writer.order.offset = get(in);
	writer.order.index = (uint32_t)get(in);
	writer.at = get(in);
	writer.class_index = (uint32_t)get(in);
	return writer;
}

static uint32_t *get_nodes(struct in *in, struct cells *cells, size_t *count)
{
	uint32_t *nodes;

	*count = get_count(in);
	nodes = mem_new_array(*count + 1, sizeof *nodes);
	nodes[0] = ATTR_ROOT;
	for (size_t i = 1; i <= *count && !in->failed; i++) {
		uint64_t parent = get(in);
		bool key = get(in) != 0;
		struct value atom = get_value(in, cells->attrs);

		if (parent >= i || atom.kind < VALUE_INT || (!key && atom.kind != VALUE_STRING)) {
			in->failed = true;
			break;
		}
		nodes[i] = key ? attr_key(cells->attrs, nodes[parent], &atom)
			       : attr_name(cells->attrs, nodes[parent], atom.text, atom.len);
	}
	return nodes;
}

static uint32_t get_node(struct in *in, const uint32_t *nodes, size_t count)
{
	uint64_t i = get(in);

	if (i <= count && !in->failed)
		return nodes[i];
	in->failed = true;
	return ATTR_ROOT;
}

static struct cell get_cell(struct in *in, const struct cell *before, struct attrs *attrs)
{
	uint64_t flags = get(in);
	struct cell cell = {.named = flags & HAS_NAMED, .written = flags & HAS_WRITTEN};

	cell.since = get_time(in, before->since);
	cell.value = get_value(in, attrs);
	cell.last = get_value(in, attrs);
	cell.run = flags & HAS_RUN ? get_time(in, cell.since) : cell.since;
	cell.last_run = flags & HAS_LAST_RUN ? get_time(in, cell.since) : NSTIME_MIN;
	cell.named_at = flags & HAS_NAMED_AT ? get_time(in, cell.since) : cell.since;
	cell.writer = flags & HAS_PLACE ? get_writer(in, cell.since) : before->writer;
	cell.writer.line = (uint32_t)get(in);
	return cell;
}

static void get_cells(struct in *in, struct cells *cells, const uint32_t *nodes, size_t nnodes)
{
	size_t count = get_count(in);
	struct cell cell = {0};

	for (size_t i = 0; i < count && !in->failed; i++) {
		uint32_t attr = get_node(in, nodes, nnodes);

		cell = get_cell(in, &cell, cells->attrs);
		if (!in->failed)
			cells_set(cells, attr, &cell);
	}
}

static void get_tombstones(struct in *in, struct cells *cells, const uint32_t *nodes, size_t nnodes)
{
	size_t count = get_count(in);
	struct pattern *pattern = mem_new(sizeof *pattern);
	struct tombstone read = {0};

	for (size_t i = 0; i < count && !in->failed; i++) {
		uint64_t flags = get(in);
		struct tombstone *tombstone;

		read.kind = flags & TOMBSTONE_NONE ? VALUE_NONE : VALUE_UNKNOWN;
		read.since = get_time(in, read.since);
		read.seq += (uint64_t)get_signed(in);
		if (flags & TOMBSTONE_PLACE)
			read.writer = get_writer(in, read.since);
		read.writer.line = (uint32_t)get(in);
		read.again = flags & TOMBSTONE_AGAIN;
		read.again_kind = flags & TOMBSTONE_AGAIN_NONE ? VALUE_NONE : VALUE_UNKNOWN;
		if (read.again) {
			read.again_since = get_time(in, read.since);
			read.again_seq = read.seq - get(in);
		}
		*pattern = (struct pattern){0};
		if (flags & TOMBSTONE_PATTERN)
			go_on(in, pattern_read(in->at, in->end, cells->attrs, pattern));
		else
			pattern->attr = get_node(in, nodes, nnodes);
		pattern->below = flags & TOMBSTONE_BELOW;
		if (in->failed)
			break;
		tombstone = cells_tombstone(cells, pattern);
		tombstone->kind = read.kind;
		tombstone->since = read.since;
		tombstone->seq = read.seq;
		tombstone->writer = read.writer;
		tombstone->again = read.again;
		tombstone->again_kind = read.again_kind;
		tombstone->again_since = read.again_since;
		tombstone->again_seq = read.again_seq;
		if (read.seq > cells->seq)
			cells->seq = read.seq;
	}
	mem_free(pattern);
}

static void get_streams(struct in *in, struct cells *cells)
{
	for (size_t i = 0; i < cells->nstreams * cells->nsections && !in->failed; i++) {
		cells->sections[i].written = get(in) != 0;
		if (cells->sections[i].written)
			cells->sections[i].value = get_value(in, cells->attrs);
	}
	for (size_t i = 0; i < cells->nstreams; i++)
		cells->until[i] = get_signed(in);
}

const uint8_t *cells_read_streams(struct cells *cells, const uint8_t *at, const uint8_t *end)
{
	struct in in = {.at = at, .end = end};

	get_streams(&in, cells);
	return in.failed ? NULL : in.at;
}

bool cells_read(struct cells *cells, const void *bytes, size_t len)
{
	struct in in = {.at = bytes, .end = (const uint8_t *)bytes + len};
	uint32_t *nodes;
	size_t nnodes;

	cells_clear(cells);
	if (get(&in) != CELLS_VERSION || get(&in) != program_statements(cells->program) ||
	    get(&in) != cells->nsections || get(&in) != cells->nstreams)
		return false;
	nodes = get_nodes(&in, cells, &nnodes);
	get_cells(&in, cells, nodes, nnodes);
	get_tombstones(&in, cells, nodes, nnodes);
	mem_free(nodes);
	get_streams(&in, cells);
	if (in.failed || in.at != in.end) {
		cells_clear(cells);
		return false;
	}
	return true;
}
