/*
 * tree_write.c - the nodes that a transaction changed, and how they are written
 *
 * A node that changes is loaded into memory, and so are all above it. Keys and values of the
 * transaction are in its arena; what is stored stays where it is, since files are only appended to.
 * A key above a node is one that no key of it is less than; it may be less than all of them.
 */
#include "engine/base/mem.h"
#include "index/store/internal.h"

#include <string.h>
#include <xxhash.h>

struct branch {
	bool leaf;
	uint32_t count, last; /* `last`: where an entry was put most recently */
	size_t capacity, bytes;
	struct entry *entries;
	struct branch **below; /* beside entries: those that changed */
};

static void make_room(struct tree *tree, struct branch *branch)
{
	size_t capacity = branch->capacity; /* of both arrays */

	branch->entries = arena_grow(tree->arena, branch->entries, branch->count, &capacity,
				     sizeof *branch->entries);
	branch->below = arena_grow(tree->arena, branch->below, branch->count, &branch->capacity,
				   sizeof *branch->below);
}

static struct branch *branch_new(struct tree *tree, bool leaf)
{
	struct branch *branch = arena_alloc(tree->arena, sizeof *branch);

	branch->leaf = leaf;
	return branch;
}

static void insert_at(struct tree *tree, struct branch *branch, uint32_t i,
		      const struct entry *entry, struct branch *below)
{
	make_room(tree, branch);
	memmove(branch->entries + i + 1, branch->entries + i,
		(branch->count - i) * sizeof *branch->entries);
	memmove(branch->below + i + 1, branch->below + i,
		(branch->count - i) * sizeof(struct branch *));
	branch->entries[i] = *entry;
	branch->below[i] = below;
	branch->count++;
	branch->last = i;
	branch->bytes += entry_size(entry);
}

static void remove_at(struct branch *branch, uint32_t i)
{
	branch->bytes -= entry_size(&branch->entries[i]);
	branch->count--;
	memmove(branch->entries + i, branch->entries + i + 1,
		(branch->count - i) * sizeof *branch->entries);
	memmove(branch->below + i, branch->below + i + 1,
		(branch->count - i) * sizeof(struct branch *));
}

/*
 * A copy. If the file is cut after the node was verified, its pages turn to zeros: written further,
 * these would be taken for a node.
 */
static const uint8_t *load_node(struct tree *tree, const struct store_ref *ref)
{
	const uint8_t *node = store_node(&tree->space, ref);
	uint8_t *copy;

	if (!node)
		return NULL;
	copy = arena_alloc(tree->arena, (size_t)ref->size);
	memcpy(copy, node, (size_t)ref->size);
	return XXH3_64bits(copy, (size_t)ref->size) == ref->sum ? copy : NULL;
}

static struct branch *branch_load(struct tree *tree, const struct store_ref *ref)
{
	const uint8_t *node = load_node(tree, ref);

	if (!node) {
		tree->damaged = true;
		return NULL;
	}
	struct branch *branch = branch_new(tree, node_is_leaf(node));
	uint32_t count = node_count(node);
	for (uint32_t i = 0; i < count; i++) {
		struct entry entry;
		node_entry(node, i, &entry);
		insert_at(tree, branch, i, &entry, NULL);
	}
	branch->last = UINT32_MAX;
	tree->freed += ref->size;
	return branch;
}

/* Reading */

bool tree_top(struct tree *tree, struct place *out)
{
	*out = (struct place){.changed = tree->top};
	if (tree->top) {
		out->count = tree->top->count;
		out->leaf = tree->top->leaf;
		return out->count != 0;
	}
	if (tree->damaged || !tree->space.top.size)
		return false;
	out->node = store_node(&tree->space, &tree->space.top);
	tree->damaged |= !out->node;
	if (!out->node)
		return false;
	out->count = node_count(out->node);
	out->leaf = node_is_leaf(out->node);
	return true;
}

void place_entry(const struct place *place, uint32_t i, struct entry *out)
{
	if (place->changed)
		*out = place->changed->entries[i];
	else
		node_entry(place->node, i, out);
}

bool tree_below(struct tree *tree, const struct place *place, uint32_t i, struct place *out)
{
	struct branch *changed = place->changed ? place->changed->below[i] : NULL;
	struct entry entry;

	if (changed) {
		*out = (struct place){changed, NULL, changed->count, changed->leaf};
		return true;
	}
	place_entry(place, i, &entry);
	const uint8_t *node = store_node(&tree->space, &entry.ref);
	tree->damaged |= !node;
	if (!node)
		return false;
	*out = (struct place){NULL, node, node_count(node), node_is_leaf(node)};
	return true;
}

/* Changing */

static struct branch *top_to_change(struct tree *tree)
{
	if (!tree->top)
		tree->top = tree->space.top.size ? branch_load(tree, &tree->space.top)
						 : branch_new(tree, true);
	return tree->top;
}

static struct branch *below_to_change(struct tree *tree, struct branch *branch, uint32_t i)
{
	if (!branch->below[i])
		branch->below[i] = branch_load(tree, &branch->entries[i].ref);
	return branch->below[i];
}

static uint32_t search(const struct branch *branch, struct bytes key)
{
	struct place place = {.changed = (struct branch *)(uintptr_t)branch,
			      .count = branch->count};

	return place_search(&place, key, true);
}

static struct bytes key_of(const struct entry *entry)
{
	return (struct bytes){entry->key, entry->nkey};
}

static const uint8_t *keep_bytes(struct tree *tree, struct bytes bytes)
{
	uint8_t *copy = arena_alloc(tree->arena, bytes.size);

	memcpy(copy, bytes.data, bytes.size);
	return copy;
}

/* The later half goes to a new node; of one that grows at its end, only the last entry. */
static struct branch *split(struct tree *tree, struct branch *branch)
{
	struct branch *later = branch_new(tree, branch->leaf);
	bool at_end = branch->last == branch->count - 1;
	uint32_t from = branch->count - 1;
	size_t bytes = entry_size(&branch->entries[from]);

	while (!at_end && from > 1 && bytes < branch->bytes / 2)
		bytes += entry_size(&branch->entries[--from]);
	for (uint32_t i = from; i < branch->count; i++)
		insert_at(tree, later, i - from, &branch->entries[i], branch->below[i]);
	branch->count = from;
	branch->bytes -= later->bytes;
	branch->last = UINT32_MAX;
	return later;
}

static bool is_full(const struct branch *branch)
{
	return branch->bytes > STORE_NODE && branch->count > 1;
}

/* Entry i of the branch has grown too much. */
static void split_below(struct tree *tree, struct branch *branch, uint32_t i)
{
	struct branch *later = split(tree, branch->below[i]);
	struct entry entry = {
		.kind = ENTRY_NODE, .key = later->entries[0].key, .nkey = later->entries[0].nkey};

	insert_at(tree, branch, i + 1, &entry, later);
}

static void drop_value(struct tree *tree, const struct entry *entry)
{
	if (entry->kind == ENTRY_LONG && !entry->value)
		tree->freed += entry->ref.size;
}

static void put_in_leaf(struct tree *tree, struct branch *leaf, const struct entry *entry)
{
	uint32_t i = search(leaf, key_of(entry)), at = i == leaf->count ? 0 : i + 1;

	if (i < leaf->count &&
	    !key_compare(leaf->entries[i].key, leaf->entries[i].nkey, entry->key, entry->nkey)) {
		drop_value(tree, &leaf->entries[i]);
		remove_at(leaf, i);
		at = i;
	}
	insert_at(tree, leaf, at, entry, NULL);
}

static bool put_below(struct tree *tree, struct branch *branch, const struct entry *entry,
		      unsigned depth)
{
	if (branch->leaf) {
		put_in_leaf(tree, branch, entry);
		return true;
	}
	uint32_t i = search(branch, key_of(entry));
	if (i == branch->count) { /* less than all */
		i = 0;
		branch->bytes += entry->nkey - branch->entries[0].nkey;
		branch->entries[0].key = entry->key;
		branch->entries[0].nkey = entry->nkey;
	}
	struct branch *below = depth < STORE_DEPTH ? below_to_change(tree, branch, i) : NULL;
	if (!below || !put_below(tree, below, entry, depth + 1))
		return false;
	if (is_full(below))
		split_below(tree, branch, i);
	return true;
}

/* A new top above the one that has grown too much. */
static void split_top(struct tree *tree)
{
	struct branch *top = branch_new(tree, false);
	struct entry entry = {.kind = ENTRY_NODE,
			      .key = tree->top->entries[0].key,
			      .nkey = tree->top->entries[0].nkey};

	insert_at(tree, top, 0, &entry, tree->top);
	tree->top = top;
	split_below(tree, top, 0);
}

bool tree_put(struct tree *tree, struct bytes key, size_t size, uint8_t **value)
{
	struct branch *top = top_to_change(tree);

	*value = NULL;
	if (!top)
		return false;
	*value = arena_alloc(tree->arena, size + 1);
	struct entry entry = {.key = keep_bytes(tree, key),
			      .nkey = key.size,
			      .kind = size > STORE_SHORT ? ENTRY_LONG : ENTRY_SHORT,
			      .value = *value,
			      .size = size};
	if (!put_below(tree, top, &entry, 0))
		return false;
	if (is_full(top))
		split_top(tree);
	return true;
}

/* False: damaged. */
static bool delete_below(struct tree *tree, struct branch *branch, struct bytes key, unsigned depth)
{
	uint32_t i = search(branch, key);

	if (i == branch->count)
		return true;
	if (branch->leaf) {
		const struct entry *entry = &branch->entries[i];
		if (!key_compare(entry->key, entry->nkey, key.data, key.size)) {
			drop_value(tree, entry);
			remove_at(branch, i);
		}
		return true;
	}
	struct branch *below = depth < STORE_DEPTH ? below_to_change(tree, branch, i) : NULL;
	if (!below || !delete_below(tree, below, key, depth + 1))
		return false;
	if (!below->count)
		remove_at(branch, i);
	return true;
}

bool tree_delete(struct tree *tree, struct bytes key)
{
	struct bytes value;

	if (!tree_get(tree, key, &value))
		return !tree->damaged;
	struct branch *top = top_to_change(tree);
	if (!top || !delete_below(tree, top, key, 0))
		return false;
	if (!top->count)
		top->leaf = true;
	return true;
}

/* The least key that begins so; false: there is none. */
static bool first_with(struct tree *tree, const struct place *place, struct bytes prefix,
		       unsigned depth, struct bytes *out)
{
	uint32_t i = place_search(place, prefix, false);
	struct place below;
	struct entry entry;

	i = i == place->count ? 0 : i;
	for (; i < place->count && !tree->damaged; i++) {
		place_entry(place, i, &entry);
		size_t shared = entry.nkey < prefix.size ? entry.nkey : prefix.size;
		int order = memcmp(entry.key, prefix.data, shared);
		if (order > 0)
			return false;
		if (place->leaf) {
			*out = key_of(&entry);
			if (!order && entry.nkey >= prefix.size)
				return true;
		} else if (depth < STORE_DEPTH && tree_below(tree, place, i, &below) &&
			   first_with(tree, &below, prefix, depth + 1, out)) {
			return true;
		}
	}
	return false;
}

bool tree_delete_prefix(struct tree *tree, struct bytes prefix)
{
	struct place place;
	struct bytes key;

	while (tree_top(tree, &place) && first_with(tree, &place, prefix, 0, &key)) {
		uint8_t copy[STORE_KEY_MAX];
		struct bytes own = {copy, key.size}, value;

		memcpy(copy, key.data, key.size);
		tree->damaged |= !tree_get(tree, own, &value); /* it is there, but not in order */
		if (tree->damaged || !tree_delete(tree, own))
			return false;
	}
	return !tree->damaged;
}

/* Writing */

static struct store_ref write_branch(struct branch *branch, struct store_out *out)
{
	struct buf bytes = {0};

	for (uint32_t i = 0; i < branch->count; i++) {
		struct entry *entry = &branch->entries[i];
		if (branch->below[i])
			entry->ref = write_branch(branch->below[i], out);
		else if (entry->kind == ENTRY_LONG && entry->value)
			entry->ref = store_out_add(out, entry->value, entry->size, true);
	}
	node_encode(branch->entries, branch->count, branch->leaf, &bytes);
	struct store_ref ref = store_out_add(out, bytes.data, bytes.len, false);
	buf_release(&bytes);
	return ref;
}

struct store_ref tree_commit(struct tree *tree, struct store_out *out)
{
	struct branch *top = tree->top;

	if (!top)
		return tree->space.top;
	if (!top->count)
		return (struct store_ref){0};
	return write_branch(top, out);
}

static bool copy_node(struct tree *tree, const struct store_ref *ref, unsigned depth,
		      struct store_out *out, struct store_ref *to)
{
	const uint8_t *node = depth < STORE_DEPTH ? store_node(&tree->space, ref) : NULL;
	struct buf bytes = {0};

	if (!node)
		return false;
	uint32_t count = node_count(node);
	struct entry *entries = mem_new_array(count, sizeof *entries);
	bool good = true;
	for (uint32_t i = 0; good && i < count; i++) {
		struct entry *entry = &entries[i];
		node_entry(node, i, entry);
		if (entry->kind == ENTRY_NODE) {
			struct store_ref old = entry->ref;
			good = copy_node(tree, &old, depth + 1, out, &entry->ref);
		} else if (entry->kind == ENTRY_LONG) {
			const uint8_t *value = store_value(&tree->space, &entry->ref);
			good = value != NULL;
			if (good)
				entry->ref = store_out_add(out, value, entry->ref.size, true);
		}
	}
	if (good) {
		node_encode(entries, count, node_is_leaf(node), &bytes);
		*to = store_out_add(out, bytes.data, bytes.len, false);
	}
	buf_release(&bytes);
	mem_free(entries);
	return good;
}

bool tree_copy(struct tree *tree, struct store_out *out, struct store_ref *top)
{
	*top = (struct store_ref){0};
	return !tree->space.top.size || copy_node(tree, &tree->space.top, 0, out, top);
}
