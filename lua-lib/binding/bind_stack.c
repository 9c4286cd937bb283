/*
 * bind_stack.c - ev:stack(): numbers of call chains, equal for chains of the same frames
 *
 * Making a list of frames takes longer than all else that a profile does with a sample, and few
 * chains differ. A script makes the frames of each number once. Where many differ, as with code
 * that was made at run time, all are forgotten now and then, and get new numbers.
 */
#include "lua-lib/binding/bind_stack.h"

#include "engine/base/arena.h"
#include "engine/base/hash_index.h"
#include "engine/base/mem.h"
#include "engine/symbols/symbols.h"

#include <string.h>

enum { BYTES_MOST = 32 << 20 /* of keys */ };

struct bind_stacks {
	uint64_t before; /* how many chains are forgotten, whose numbers are not given again */
	struct hash_index index;
	struct arena *arena; /* keys */
	struct stack_key {
		const char *bytes;
		size_t len;
	} * items;
	size_t count, capacity;
	struct buf key;
};

void bind_stacks_free(struct bind_stacks *stacks)
{
	if (!stacks)
		return;
	hash_index_release(&stacks->index);
	arena_free(stacks->arena);
	mem_free(stacks->items);
	buf_release(&stacks->key);
	mem_free(stacks);
}

/*
 * Texts of symbols live as long as the symbols, so their addresses stand for them. The place of a
 * frame without a function is its name, so it belongs to the key.
 */
static void add_key(struct buf *key, const struct frame *frame)
{
	const struct symbol *symbol = &frame->symbol;
	const struct {
		const char *function, *object, *file;
		uint64_t place;
		uint32_t line, flags;
	} item = {symbol->function,
		  symbol->object,
		  symbol->file,
		  symbol->function ? 0
		  : symbol->object ? symbol->file_offset
				   : frame->address,
		  symbol->file ? symbol->line : 0,
		  (uint32_t)frame->kernel | (uint32_t)frame->nameless << 1 |
			  (uint32_t)(frame->address != 0) << 2};

	buf_add(key, &item, sizeof item);
}

static void bind_stack_forget(struct bind_stacks *stacks)
{
	stacks->before += stacks->count;
	stacks->count = 0;
	hash_index_release(&stacks->index);
	stacks->index = (struct hash_index){0};
	arena_reset(stacks->arena);
}

uint64_t bind_stacks_number(struct bind_stacks **of, const struct frame *frames, size_t count)
{
	if (!*of) {
		*of = mem_new(sizeof **of);
		(*of)->arena = arena_new();
	}
	struct bind_stacks *stacks = *of;
	struct buf *key = &stacks->key;

	buf_clear(key);
	for (size_t i = 0; i < count; i++)
		add_key(key, &frames[i]);
	const struct stack_key *items = stacks->items;
	uint64_t hash = hash_bytes(buf_text(key), key->len);
	uint32_t at = hash_index_find(&stacks->index, hash, i,
				      items[i].len == key->len &&
					      !memcmp(items[i].bytes, buf_text(key), key->len));
	if (at != HASH_INDEX_NONE)
		return stacks->before + at + 1;
	if (arena_used(stacks->arena) + key->len > BYTES_MOST)
		bind_stack_forget(stacks);
	*mem_push(stacks->items, stacks->count, stacks->capacity) =
		(struct stack_key){arena_copy(stacks->arena, buf_text(key), key->len, 1), key->len};
	return stacks->before + hash_index_add(&stacks->index, hash, stacks->count - 1) + 1;
}
