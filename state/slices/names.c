/* names.c - see names.h */
#include "state/slices/names.h"

#include "engine/base/cursor.h"
#include "engine/base/mem.h"
#include "state/model/value_bytes.h"

static void add_be(struct name_key *key, uint64_t number, unsigned bytes)
{
	while (bytes-- > 0)
		key->bytes[key->size++] = (uint8_t)(number >> 8 * bytes);
}

struct bytes name_key_numbers(struct name_key *key, char letter, const uint32_t *numbers,
			      size_t count)
{
	key->bytes[0] = (uint8_t)letter;
	key->size = 1;
	for (size_t i = 0; i < count; i++)
		add_be(key, numbers[i], 4);
	return name_key_bytes(key);
}

/* ---- patterns ---- */

static void io_name_pattern(struct io *io, struct pattern *pattern)
{
	bool below = io_number(io, pattern->below) != 0;

	io_pattern(io, pattern);
	pattern->below = below;
}

void name_put_pattern(struct buf *out, const struct pattern *pattern)
{
	struct pattern copy = *pattern;

	io_name_pattern(&(struct io){.out = out}, &copy);
}

bool name_get_pattern(const uint8_t *at, size_t size, struct attrs *attrs, struct pattern *out)
{
	struct io io = {.at = at, .end = at + size, .attrs = attrs};

	*out = (struct pattern){0};
	io_name_pattern(&io, out);
	return io_ended(&io);
}

/* ---- entities ---- */

enum { ENTITIES_INTS = 1, ENTITIES_PARENTS = 2 };

/* Reads or writes a number as the difference from *last; fails above `most`. */
static uint64_t io_difference(struct io *io, uint64_t number, uint64_t most, uint64_t *last)
{
	*last += (uint64_t)io_signed(io, (int64_t)(number - *last));
	io->failed = io->failed || *last > most;
	return *last;
}

/* Reads or writes entities; fails where a key is unknown or none. */
static void io_entities(struct io *io, unsigned flags, struct name_entity *entities, size_t count)
{
	uint64_t parent = 0, key = 0;

	for (size_t i = 0; i < count && flags & ENTITIES_PARENTS && !io->failed; i++)
		entities[i].parent =
			(uint32_t)io_difference(io, entities[i].parent, UINT32_MAX, &parent);
	for (size_t i = 0; i < count && !io->failed; i++) {
		struct value *atom = &entities[i].atom;

		if (flags & ENTITIES_INTS)
			*atom = value_u64(io_difference(io, atom->u, INT64_MAX, &key));
		else
			*atom = io_value(io, *atom);
		io->failed = io->failed || !value_exists(atom);
	}
}

void name_put_entities(struct buf *out, struct name_entity *entities, size_t count)
{
	struct io io = {.out = out};
	unsigned flags = ENTITIES_INTS;

	for (size_t i = 0; i < count; i++) {
		if (entities[i].atom.kind != VALUE_INT || entities[i].atom.u > INT64_MAX)
			flags &= ~(unsigned)ENTITIES_INTS;
		if (entities[i].parent)
			flags |= ENTITIES_PARENTS;
	}
	io_number(&io, flags);
	io_count(&io, count);
	io_entities(&io, flags, entities, count);
}

struct name_entity *name_get_entities(struct bytes bytes, struct attrs *attrs, size_t *count)
{
	struct io io = {.at = bytes.data, .end = bytes.data + bytes.size, .attrs = attrs};
	unsigned flags = (unsigned)io_number(&io, 0);
	struct name_entity *entities;

	*count = io_count(&io, 0);
	entities = mem_new_array(*count + 1, sizeof *entities);
	io_entities(&io, flags, entities, *count);
	if (!io.failed)
		return entities;
	mem_free(entities);
	return NULL;
}

bool name_list_before(struct store_txn *txn, uint32_t class, uint32_t ordinal, struct name_key *key,
		      uint32_t *first, struct bytes *value)
{
	struct bytes found,
		last = name_key_numbers(key, KEY_KEYS, (const uint32_t[]){class, ordinal}, 2);

	if (!store_before(txn, last, true, &found, value) || found.size != key->size ||
	    memcmp(found.data, key->bytes, 5) != 0)
		return false;
	memcpy(key->bytes, found.data, found.size);
	*first = (uint32_t)load_be(key->bytes + 5, 4);
	return true;
}
