/*
 * tree.c - nodes as they are stored
 *
 * A node is believed when its parent's checksum agrees and its shape is right, once, when it is
 * first looked at: then whatever is read of it lies inside it, and what it leads to lies before it.
 */
#include "index/store/internal.h"

#include <string.h>

enum { NODE_HEAD = 8, ENTRY_HEAD = 8, ENTRY_REF = 16 };

static uint16_t get16(const uint8_t *at)
{
	uint16_t number;

	memcpy(&number, at, sizeof number);
	return number;
}

static uint32_t get32(const uint8_t *at)
{
	uint32_t number;

	memcpy(&number, at, sizeof number);
	return number;
}

static uint64_t get64(const uint8_t *at)
{
	uint64_t number;

	memcpy(&number, at, sizeof number);
	return number;
}

int key_compare(const uint8_t *a, size_t na, const uint8_t *b, size_t nb)
{
	int order = memcmp(a, b, na < nb ? na : nb);

	return order ? order : (na > nb) - (na < nb);
}

uint32_t node_count(const uint8_t *node)
{
	return get16(node + 2);
}

bool node_is_leaf(const uint8_t *node)
{
	return get16(node) == 1;
}

void node_entry(const uint8_t *node, uint32_t i, struct entry *out)
{
	const uint8_t *at = node + get16(node + NODE_HEAD + 2 * (size_t)i);

	*out = (struct entry){.nkey = get16(at), .kind = at[2], .size = get32(at + 4)};
	if (out->kind == ENTRY_SHORT) {
		out->key = at + ENTRY_HEAD;
		out->value = out->key + out->nkey;
		return;
	}
	out->ref = (struct store_ref){get64(at + 8), out->size, get64(at + 16)};
	out->key = at + ENTRY_HEAD + ENTRY_REF;
}

/* The entry lies in [at, end) and fills it. */
static bool entry_is_whole(const uint8_t *at, const uint8_t *end, bool leaf, uint64_t off)
{
	size_t room = (size_t)(end - at), nkey;
	uint64_t size, place;

	if (room < ENTRY_HEAD)
		return false;
	nkey = get16(at);
	size = get32(at + 4);
	if (!nkey || nkey > STORE_KEY_MAX || at[2] > ENTRY_NODE || leaf != (at[2] != ENTRY_NODE))
		return false;
	if (at[2] == ENTRY_SHORT)
		return size <= STORE_SHORT && room == ENTRY_HEAD + nkey + size;
	if (room != ENTRY_HEAD + ENTRY_REF + nkey)
		return false;
	place = get64(at + 8);
	return size && place >= STORE_HEAD && place < off && size <= off - place &&
	       place % STORE_GRAIN == (at[2] == ENTRY_LONG ? STORE_SHIFT : 0);
}

bool node_is_whole(const uint8_t *node, uint64_t off, size_t size)
{
	struct entry entry, last = {0};

	if (size < NODE_HEAD || size > UINT16_MAX || get16(node) < 1 || get16(node) > 2)
		return false;
	uint32_t count = node_count(node);
	size_t at = NODE_HEAD + 2 * (size_t)count;
	if (!count || at > size)
		return false;
	for (uint32_t i = 0; i < count; i++) {
		size_t end = i + 1 < count ? get16(node + NODE_HEAD + 2 * (size_t)(i + 1)) : size;
		if (get16(node + NODE_HEAD + 2 * (size_t)i) != at || end < at || end > size ||
		    !entry_is_whole(node + at, node + end, node_is_leaf(node), off))
			return false;
		node_entry(node, i, &entry);
		if (i && key_compare(last.key, last.nkey, entry.key, entry.nkey) >= 0)
			return false;
		last = entry;
		at = end;
	}
	return true;
}

size_t entry_size(const struct entry *entry)
{
	size_t fixed = 2 + ENTRY_HEAD + entry->nkey;

	return fixed + (entry->kind == ENTRY_SHORT ? entry->size : ENTRY_REF);
}

static void encode_entry(const struct entry *entry, struct buf *out)
{
	bool is_short = entry->kind == ENTRY_SHORT;
	uint16_t nkey = (uint16_t)entry->nkey;
	uint8_t kind[2] = {(uint8_t)entry->kind, 0};
	uint32_t size = (uint32_t)(is_short ? entry->size : entry->ref.size);

	buf_add(out, &nkey, sizeof nkey);
	buf_add(out, kind, sizeof kind);
	buf_add(out, &size, sizeof size);
	if (!is_short) {
		buf_add(out, &entry->ref.off, sizeof entry->ref.off);
		buf_add(out, &entry->ref.sum, sizeof entry->ref.sum);
	}
	buf_add(out, entry->key, entry->nkey);
	if (is_short)
		buf_add(out, entry->value, entry->size);
}

void node_encode(const struct entry *entries, uint32_t count, bool leaf, struct buf *out)
{
	uint16_t head[4] = {leaf ? 1 : 2, (uint16_t)count};
	size_t at = NODE_HEAD + 2 * (size_t)count;

	buf_clear(out);
	buf_add(out, head, sizeof head);
	for (uint32_t i = 0; i < count; i++) {
		uint16_t place = (uint16_t)at;
		buf_add(out, &place, sizeof place);
		at += entry_size(&entries[i]) - 2;
	}
	for (uint32_t i = 0; i < count; i++)
		encode_entry(&entries[i], out);
}

/* Searching */

bool tree_below(struct tree *tree, const struct place *place, uint32_t i, struct place *out);

uint32_t place_search(const struct place *place, struct bytes key, bool equal)
{
	uint32_t low = 0, high = place->count;
	struct entry entry;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		place_entry(place, middle, &entry);
		int order = key_compare(entry.key, entry.nkey, key.data, key.size);
		if (order < 0 || (equal && !order))
			low = middle + 1;
		else
			high = middle;
	}
	return low ? low - 1 : place->count;
}

static bool take_value(struct tree *tree, const struct entry *entry, struct bytes *value)
{
	*value = (struct bytes){entry->value, entry->size};
	if (entry->kind == ENTRY_SHORT || entry->value)
		return true;
	value->data = store_value(&tree->space, &entry->ref);
	tree->damaged |= !value->data;
	return value->data != NULL;
}

bool tree_get(struct tree *tree, struct bytes key, struct bytes *value)
{
	struct place place;
	struct entry entry;
	uint32_t i;

	if (!tree_top(tree, &place))
		return false;
	for (unsigned depth = 0; !place.leaf; depth++) {
		i = place_search(&place, key, true);
		if (i == place.count || depth == STORE_DEPTH ||
		    !tree_below(tree, &place, i, &place))
			return false;
	}
	i = place_search(&place, key, true);
	if (i == place.count)
		return false;
	place_entry(&place, i, &entry);
	return !key_compare(entry.key, entry.nkey, key.data, key.size) &&
	       take_value(tree, &entry, value);
}

/* The greatest entry below `place` with a key < `key`, or <= with `equal`. */
static bool before(struct tree *tree, const struct place *place, struct bytes key, bool equal,
		   unsigned depth, struct entry *out)
{
	uint32_t i = place_search(place, key, equal);
	struct place below;

	if (i == place->count)
		return false;
	if (place->leaf) {
		place_entry(place, i, out);
		return true;
	}
	/* a leaf may begin with a greater key than its parent says: then the one before has it */
	for (uint32_t n = i + 1; depth < STORE_DEPTH && n-- > 0 && !tree->damaged;)
		if (tree_below(tree, place, n, &below) &&
		    before(tree, &below, key, equal, depth + 1, out))
			return true;
	return false;
}

bool tree_before(struct tree *tree, struct bytes key, bool equal, struct bytes *found,
		 struct bytes *value)
{
	struct place place;
	struct entry entry;

	if (!tree_top(tree, &place) || !before(tree, &place, key, equal, 0, &entry) ||
	    tree->damaged)
		return false;
	*found = (struct bytes){entry.key, entry.nkey};
	return take_value(tree, &entry, value);
}
