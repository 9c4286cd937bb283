/* class_lines.c - see class_lines.h */
#include "state/context/class_lines.h"

#include "engine/base/hash_index.h"
#include "engine/base/mem.h"
#include "state/program/internal.h"

#include <stdlib.h>
#include <string.h>

struct class_lines {           /* both are stored as bytes */
	uint64_t class, lines; /* hashes of the class, and of its lines */
};

struct all_lines { /* of all classes that have lines, sorted */
	struct class_lines *items;
	size_t count;
};

static uint64_t hash_lines(uint64_t hash, const struct line *lines, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		hash = hash_number(hash + lines[i].id);
		hash = hash_number(hash + lines[i].flags + (lines[i].when ? 1u << 30 : 0));
		hash = hash_number(hash + (lines[i].value ? (uint64_t)lines[i].value->kind : 99));
	}
	return hash;
}

static uint64_t hash_class(const struct event_class *class)
{
	uint64_t hash = hash_bytes(class->name, strlen(class->name));

	return hash_number(hash_number(hash_number(hash + class->part) + class->stream_id) +
			   class->id);
}

static int by_class(const void *a, const void *b)
{
	const struct class_lines *x = a, *y = b;

	return x->class != y->class ? (x->class < y->class ? -1 : 1)
				    : (x->lines > y->lines) - (x->lines < y->lines);
}

/* Lists each class with lines, for each kind of stream. */
static struct all_lines class_lines_list(const struct program *program)
{
	const struct trace *trace = program->trace;
	struct all_lines all = {0};
	size_t capacity = 0;

	for (size_t g = 0; g < program->sections.count; g++)
		for (uint32_t c = program->rows[g].first; c < program->rows[g].end; c++) {
			const struct class_program *class =
				&program->classes[program->rows[g].at + c];
			uint64_t hash = hash_lines(1, class->section, class->nsection);

			if (!class->nsection && !class->nevent)
				continue;
			*mem_push(all.items, all.count, capacity) = (struct class_lines){
				hash_class(trace->classes[c]),
				hash_lines(hash_number(hash), class->event, class->nevent)};
		}
	if (all.count)
		qsort(all.items, all.count, sizeof *all.items, by_class);
	return all;
}

void class_lines_put(const struct program *program, struct buf *out)
{
	struct all_lines all = class_lines_list(program);

	buf_add(out, all.items, all.count * sizeof *all.items);
	mem_free(all.items);
}

bool class_lines_agree(const struct program *program, const void *bytes, size_t size)
{
	struct all_lines now = class_lines_list(program);
	struct class_lines then;
	bool agree = size % sizeof then == 0;
	size_t at = 0;

	for (size_t i = 0; i < size / sizeof then && agree; i++) {
		memcpy(&then, (const uint8_t *)bytes + i * sizeof then, sizeof then);
		while (at < now.count && by_class(&now.items[at], &then) < 0)
			at++;
		agree = at < now.count && !by_class(&now.items[at], &then);
	}
	mem_free(now.items);
	return agree;
}
