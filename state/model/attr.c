/*
 * attr.c - the table of attributes
 *
 * Nodes stand in one array in order of creation; a chained hash table finds a node by (parent,
 * atom). An integer atom from 0 to 2^31 - 1 is stored in the node itself; any other is interned in
 * `values`, and the node has its index. A shape is a node, too: the same names, and a key of kind
 * none for `*`, which no attribute can have. So shapes need no tree of their own, and every new
 * node gets its shape at once:
 *
 *     node   root   thread   thread[42]   thread[42]/name   thread[*]   thread[*]/name
 *     shape  root   thread   thread[*]    thread[*]/name
 */
#include "state/model/attr.h"

#include "engine/base/arena.h"
#include "engine/base/budget.h"
#include "engine/base/digits.h"
#include "engine/base/hash_index.h"
#include "engine/base/mem.h"

enum { RECENT_BITS = 10, RECENT = 1 << RECENT_BITS };
#define ATOM_SMALL 0x80000000u /* the rest is the integer */

struct attr_node {     /* there may be millions */
	uint32_t atom; /* ATOM_SMALL and an integer, or a place in `values` */
	uint32_t parent, shape;
	uint32_t next; /* in its hash chain; 0: none (the root is in no chain) */
};

struct attr_shape { /* with what all its attributes share */
	uint32_t node, depth;
	bool is_key;
	struct number_map *keys; /* NULL: not made yet, see attrs_keys() */
};

struct attrs {
	struct attr_node *nodes;
	size_t count, capacity;
	uint32_t *chains; /* by hash: the newest node; 0: none */
	size_t nchains;   /* a power of two, at least as many as nodes */
	struct attr_shape *shapes;
	size_t nshapes, shapes_capacity;
	struct value *values; /* strings, and atoms that are not small */
	size_t nvalues, values_capacity;
	struct hash_index by_value;
	struct arena *arena;     /* texts, maps of keys */
	uint32_t recent[RECENT]; /* nodes found lately, 0 none; see recent_place() */
};

static struct value atom_value(const struct attrs *attrs, uint32_t atom)
{
	return atom & ATOM_SMALL ? value_u64(atom & ~ATOM_SMALL) : attrs->values[atom];
}

static bool is_child(const struct attrs *attrs, uint32_t attr, uint32_t parent,
		     const struct value *atom, bool is_key)
{
	const struct attr_node *node = &attrs->nodes[attr];
	struct value own = atom_value(attrs, node->atom);

	return node->parent == parent && value_equal(&own, atom) &&
	       attrs->shapes[node->shape].is_key == is_key;
}

enum { CHAINS_LEAST = 64, LINE_CHAINS = 64 / sizeof(uint32_t) };
/* Memory of one value with its slots in the hash index, without its text. */
enum { VALUE_BYTES = sizeof(struct value) + 2 * sizeof(struct hash_slot) };

static struct grown grown = {.what = "attributes of the state"};

/*
 * Children whose atoms differ only in the last bits, such as neighbouring numbers, have their
 * chains in one cache line: they are added and looked up one after the other.
 */
static uint32_t *chain_of(struct attrs *attrs, uint32_t parent, uint32_t atom)
{
	uint64_t hash = hash_number((uint64_t)parent << 32 | atom / LINE_CHAINS);

	return &attrs->chains[(hash ^ atom % LINE_CHAINS) & (attrs->nchains - 1)];
}

static void chain_add(struct attrs *attrs, uint32_t attr)
{
	struct attr_node *node = &attrs->nodes[attr];
	uint32_t *chain = chain_of(attrs, node->parent, node->atom);

	node->next = *chain;
	*chain = attr;
}

static void chains_grow(struct attrs *attrs)
{
	size_t before = attrs->nchains;

	attrs->nchains = before ? before * 2 : CHAINS_LEAST;
	mem_free(attrs->chains);
	attrs->chains = mem_new_array(attrs->nchains, sizeof *attrs->chains);
	grown_add(&grown, (long long)((attrs->nchains - before) * sizeof *attrs->chains));
	for (uint32_t i = 1; i < attrs->count; i++)
		chain_add(attrs, i);
}

static uint32_t node_append(struct attrs *attrs, const struct attr_node *node)
{
	size_t before = attrs->capacity;

	*mem_push(attrs->nodes, attrs->count, attrs->capacity) = *node;
	if (attrs->capacity != before)
		grown_add(&grown,
			  (long long)((attrs->capacity - before) * sizeof *attrs->nodes));
	return (uint32_t)attrs->count - 1;
}

/* Index of the interned value in `values`, which has a copy of its text. */
static uint32_t value_place(struct attrs *attrs, const struct value *value)
{
	uint64_t hash = value_hash(value);
	uint32_t at =
		hash_index_find(&attrs->by_value, hash, i, value_equal(&attrs->values[i], value));

	if (at != HASH_INDEX_NONE)
		return at;
	struct value own = *value;
	size_t before = attrs->values_capacity;
	if (own.kind == VALUE_STRING)
		own.text = arena_strndup(attrs->arena, own.len ? own.text : "", own.len);
	*mem_push(attrs->values, attrs->nvalues, attrs->values_capacity) = own;
	if (attrs->values_capacity != before)
		grown_add(&grown, (long long)(attrs->values_capacity - before) * VALUE_BYTES);
	return hash_index_add(&attrs->by_value, hash, attrs->nvalues - 1);
}

static uint32_t shape_append(struct attrs *attrs, uint32_t node, uint32_t depth, bool is_key)
{
	*mem_push(attrs->shapes, attrs->nshapes, attrs->shapes_capacity) =
		(struct attr_shape){node, depth, is_key, NULL};
	return (uint32_t)attrs->nshapes - 1;
}

struct attrs *attrs_new(void)
{
	struct attrs *attrs = mem_new(sizeof *attrs);
	struct attr_node root = {.parent = ATTR_ABSENT};

	attrs->arena = arena_new();
	root.atom = value_place(attrs, &(struct value){.kind = VALUE_UNKNOWN});
	node_append(attrs, &root);
	shape_append(attrs, ATTR_ROOT, 0, false);
	return attrs;
}

void attrs_free(struct attrs *attrs)
{
	if (!attrs)
		return;
	for (size_t i = 0; i < attrs->nshapes; i++)
		if (attrs->shapes[i].keys)
			mem_free(attrs->shapes[i].keys->items);
	arena_free(attrs->arena);
	grown_add(&grown, -(long long)(attrs->capacity * sizeof *attrs->nodes +
				       attrs->nchains * sizeof *attrs->chains +
				       attrs->values_capacity * VALUE_BYTES));
	mem_free(attrs->nodes);
	mem_free(attrs->chains);
	hash_index_release(&attrs->by_value);
	mem_free(attrs->shapes);
	mem_free(attrs->values);
	mem_free(attrs);
}

uint32_t attrs_count(const struct attrs *attrs)
{
	return (uint32_t)attrs->count;
}

/* ---- texts ---- */

const char *attrs_text(struct attrs *attrs, const char *text, size_t len)
{
	struct value value = value_text(len ? text : "", len);
	uint32_t place = value_place(attrs, &value); /* moves the values */

	return attrs->values[place].text;
}

void attrs_keep(struct attrs *attrs, struct value *value)
{
	if (value->kind == VALUE_STRING)
		value->text = attrs_text(attrs, value->text, value->len);
}

/* ---- nodes ---- */

static uint32_t child_interned(struct attrs *attrs, uint32_t parent, const struct value *atom,
			       bool is_key);

/* The shape of the new child. Adds the shape's node, unless the child is that node itself. */
static uint32_t child_shape(struct attrs *attrs, uint32_t parent, const struct value *atom,
			    bool is_key)
{
	static const struct value any = {.kind = VALUE_NONE};
	struct attr_shape above = attrs->shapes[attrs->nodes[parent].shape];

	if (above.node == parent && (!is_key || atom->kind == VALUE_NONE))
		return shape_append(attrs, (uint32_t)attrs->count, above.depth + 1,
				    is_key); /* of the node to be made */
	uint32_t twin = attr_child(attrs, above.node, is_key, is_key ? &any : atom);
	return attrs->nodes[twin].shape;
}

/*
 * A small cache, since rules look up the same few hundred nodes again and again: indexed by a hash
 * of the text's address or the number. attr_child() compares the entry, so a stale address does no
 * harm.
 */
static uint32_t *recent_place(struct attrs *attrs, uint32_t parent, const struct value *atom)
{
	uint64_t mark = atom->u + (uint64_t)parent * UINT64_C(0x9e3779b97f4a7c15);

	return &attrs->recent[mark * UINT64_C(0xd6e8feb86659fd93) >> (64 - RECENT_BITS)];
}

uint32_t attr_child(struct attrs *attrs, uint32_t parent, bool is_key, const struct value *atom)
{
	uint32_t *recent = recent_place(attrs, parent, atom);

	if (!*recent || !is_child(attrs, *recent, parent, atom, is_key))
		*recent = child_interned(attrs, parent, atom, is_key);
	return *recent;
}

static uint32_t child_interned(struct attrs *attrs, uint32_t parent, const struct value *atom,
			       bool is_key)
{
	struct attr_node node = {.parent = parent};
	uint32_t attr;

	node.atom = value_is_index(atom) && atom->u < ATOM_SMALL ? ATOM_SMALL | (uint32_t)atom->u
								 : value_place(attrs, atom);
	if (attrs->count >= attrs->nchains)
		chains_grow(attrs);
	attr = *chain_of(attrs, parent, node.atom);
	for (; attr; attr = attrs->nodes[attr].next) {
		const struct attr_node *old = &attrs->nodes[attr];
		if (old->parent == parent && old->atom == node.atom &&
		    attrs->shapes[old->shape].is_key == is_key)
			return attr;
	}
	node.shape = child_shape(attrs, parent, atom, is_key);
	attr = node_append(attrs, &node);
	chain_add(attrs, attr);
	return attr;
}

struct number_map *attrs_keys(struct attrs *attrs, uint32_t shape)
{
	struct attr_shape *of = &attrs->shapes[shape];

	if (!of->keys)
		of->keys = arena_alloc(attrs->arena, sizeof *of->keys);
	return of->keys;
}

uint32_t attr_name(struct attrs *attrs, uint32_t parent, const char *name, size_t len)
{
	struct value atom = value_text(len ? name : "", len);

	return attr_child(attrs, parent, false, &atom);
}

uint32_t attr_parent(const struct attrs *attrs, uint32_t attr)
{
	return attrs->nodes[attr].parent;
}

uint32_t attr_depth(const struct attrs *attrs, uint32_t attr)
{
	return attrs->shapes[attrs->nodes[attr].shape].depth;
}

bool attr_is_key(const struct attrs *attrs, uint32_t attr)
{
	return attrs->shapes[attrs->nodes[attr].shape].is_key;
}

bool attr_has_step(const struct attrs *attrs, uint32_t attr, const struct value *step)
{
	uint32_t atom = attrs->nodes[attr].atom;

	if (atom & ATOM_SMALL)
		return value_is_index(step) && step->u == (atom & ~ATOM_SMALL);
	return attrs->values[atom].kind == VALUE_NONE || value_equal(&attrs->values[atom], step);
}

struct value attr_atom(const struct attrs *attrs, uint32_t attr)
{
	return atom_value(attrs, attrs->nodes[attr].atom);
}

/* ---- text and order ---- */

static bool attr_is_word(const struct value *name)
{
	for (uint32_t i = 0; i < name->len; i++)
		if (!(i ? char_is_word : char_begins_word)(name->text[i]))
			return false;
	return name->len > 0;
}

void path_add_step(bool first, bool is_key, const struct value *step, struct buf *out)
{
	if (!is_key) {
		if (!first)
			buf_add_char(out, '/');
		if (attr_is_word(step))
			buf_add(out, step->text, step->len);
		else
			value_add_key(step, out);
		return;
	}
	buf_add_char(out, '[');
	if (step->kind == VALUE_NONE)
		buf_add_char(out, '*');
	else
		value_add_key(step, out);
	buf_add_char(out, ']');
}

void attr_add_text(const struct attrs *attrs, uint32_t attr, struct buf *out)
{
	const struct attr_node *node = &attrs->nodes[attr];
	const struct attr_shape *shape = &attrs->shapes[node->shape];

	if (attr == ATTR_ROOT)
		return;
	attr_add_text(attrs, node->parent, out); /* as deep as the path: bounded by the grammar */
	struct value atom = atom_value(attrs, node->atom);
	path_add_step(shape->depth == 1, shape->is_key, &atom, out);
}

int attr_compare(const struct attrs *attrs, uint32_t a, uint32_t b)
{
	uint32_t depth_a = attr_depth(attrs, a), depth_b = attr_depth(attrs, b);

	a = attr_up(attrs, a, depth_b);
	b = attr_up(attrs, b, depth_a);
	if (a == b)
		return (depth_a > depth_b) - (depth_a < depth_b);
	while (attrs->nodes[a].parent != attrs->nodes[b].parent) {
		a = attrs->nodes[a].parent;
		b = attrs->nodes[b].parent;
	}
	if (attr_is_key(attrs, a) != attr_is_key(attrs, b))
		return attr_is_key(attrs, a) ? 1 : -1;
	uint32_t x = attrs->nodes[a].atom, y = attrs->nodes[b].atom;
	if (x & y & ATOM_SMALL)
		return (x > y) - (x < y);
	struct value atom_a = atom_value(attrs, x), atom_b = atom_value(attrs, y);
	return value_compare(&atom_a, &atom_b);
}

/* ---- shapes ---- */

uint32_t attr_shape(const struct attrs *attrs, uint32_t attr)
{
	return attrs->nodes[attr].shape;
}

uint32_t shape_count(const struct attrs *attrs)
{
	return (uint32_t)attrs->nshapes;
}

uint32_t shape_parent(const struct attrs *attrs, uint32_t shape)
{
	uint32_t parent = attrs->nodes[attrs->shapes[shape].node].parent;

	return parent == ATTR_ABSENT ? ATTR_ABSENT : attrs->nodes[parent].shape;
}

uint32_t shape_attr(const struct attrs *attrs, uint32_t shape)
{
	return attrs->shapes[shape].node;
}

bool shape_is_key(const struct attrs *attrs, uint32_t shape)
{
	return attrs->shapes[shape].is_key;
}

bool shape_is_within(const struct attrs *attrs, uint32_t shape, uint32_t above)
{
	return attr_up(attrs, attrs->shapes[shape].node, attrs->shapes[above].depth) ==
	       attrs->shapes[above].node;
}

uint32_t shape_name(struct attrs *attrs, uint32_t parent, const char *name, size_t len)
{
	uint32_t node = attr_name(attrs, attrs->shapes[parent].node, name, len); /* moves the nodes */

	return attrs->nodes[node].shape;
}

uint32_t shape_key(struct attrs *attrs, uint32_t parent)
{
	struct value any = {.kind = VALUE_NONE};
	uint32_t node = attr_key(attrs, attrs->shapes[parent].node, &any);

	return attrs->nodes[node].shape;
}

void shape_add_text(const struct attrs *attrs, uint32_t shape, struct buf *out)
{
	attr_add_text(attrs, attrs->shapes[shape].node, out);
}
