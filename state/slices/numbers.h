/*
 * numbers.h - small numbers for attributes, such that attributes of one shape are neighbours
 *
 *     thread[42]/state    class thread[*]/state, entity thread[42], the 7th thread: number 512 + 7
 *
 * A class is a shape, or the tombstones of a shape. An entity is a node that ends in a key (or the
 * root); entities of a class have ordinals in order of appearance. A chunk is 256 consecutive
 * numbers for 256 consecutive ordinals of a class; chunks are allocated on demand. So names are
 * stored per entity, not per attribute, and a block of a slice holds values of one kind.
 *
 * Writers and readers have this table. A writer allocates numbers, so its table is complete. A
 * reader loads the classes, chunks and patterns of its store at once, and entities when first
 * needed: one list to find the name of a number, all of a class to find the number of a name. A
 * resumed build takes over the table of the shard that it continues.
 */
#ifndef STATE_SLICES_NUMBERS_H
#define STATE_SLICES_NUMBERS_H

#include "engine/base/hash_index.h"
#include "index/store/store.h"
#include "state/model/number_map.h"
#include "state/program/program.h"
#include "state/slices/slice.h"

#define NUMBER_ABSENT UINT32_MAX

enum { CHUNK = 256 };

enum class_kind {
	CLASS_ATTR,            /* attributes of a shape */
	CLASS_TOMBSTONE,       /* `delete P`, `unknown P` of paths of a shape: P and all below */
	CLASS_TOMBSTONE_BELOW, /* the same of all below P and not of P itself */
	CLASS_PATTERN,         /* tombstones of paths with `*`; entities are these patterns */
	CLASS_TEXT             /* text values: slices store their ordinals; no numbers */
};

/* Classes that always exist and are not stored; those of shapes follow. */
enum { ROOT_CLASS, PATTERN_CLASS, TEXT_CLASS, SHAPE_CLASSES };

struct number_class {
	enum class_kind kind;
	uint32_t parent; /* class of the parent shape; of a tombstone's: its attributes' class */
	uint32_t shape;  /* ATTR_ABSENT: of patterns and texts */
	uint32_t entity_class;      /* the class whose ordinals it uses */
	struct number_map chunks;   /* ordinal / CHUNK → 1 + chunk */
	struct number_map entities; /* ordinal → 1 + attribute */
	uint32_t given, stored;     /* writer: how many ordinals are given, and stored */
	bool taken;                 /* reader: all its entities are loaded */
};

struct number_chunk {
	uint32_t class, first; /* ordinal */
};

struct numbers {
	struct attrs *attrs;
	struct store_txn *txn; /* reader: where names are read; NULL for a writer */
	struct number_class *classes;
	size_t nclasses, classes_capacity, classes_stored;
	struct number_chunk *chunks;
	size_t nchunks, chunks_capacity, chunks_stored;
	struct number_map of_shape[CLASS_PATTERN]; /* shape → 1 + class */
	/* by kind: attribute → 1 + number; reader: NUMBER_ABSENT means none */
	struct number_map numbers[CLASS_PATTERN];
	struct number_map ordinals; /* entity → 1 + ordinal */
	struct pattern *patterns;   /* by ordinal */
	size_t npatterns, patterns_capacity;
	struct value *texts; /* by ordinal; reader: UNKNOWN: not loaded */
	size_t texts_room;
	struct hash_index by_text; /* writer: of the texts */
};

struct numbers *numbers_new(struct attrs *attrs);
void numbers_free(struct numbers *numbers); /* NULL is fine */

/* ---- the table ---- */

uint32_t numbers_class_add(struct numbers *numbers, enum class_kind kind, uint32_t parent,
			   uint32_t shape);
void numbers_chunk_add(struct numbers *numbers, uint32_t class, uint32_t first);
void numbers_pattern_add(struct numbers *numbers, const struct pattern *pattern);
void numbers_text_set(struct numbers *numbers, uint32_t ordinal, const struct value *text);
/* The number of an ordinal of a class; NUMBER_ABSENT: no chunk has it. */
uint32_t numbers_in(const struct numbers *numbers, uint32_t class, uint32_t ordinal);
/* The nearest of the attribute and its ancestors that ends in a key, else the root. */
uint32_t numbers_entity(const struct numbers *numbers, uint32_t attr);

/* One more than the greatest number. */
static inline uint32_t numbers_next(const struct numbers *numbers)
{
	return (uint32_t)numbers->nchunks * CHUNK;
}

static inline const struct number_class *numbers_class(const struct numbers *numbers,
						       uint32_t number)
{
	return &numbers->classes[numbers->chunks[number / CHUNK].class];
}

static inline bool numbers_is_tombstone(const struct numbers *numbers, uint32_t number)
{
	enum class_kind kind = numbers_class(numbers, number)->kind;

	return kind == CLASS_TOMBSTONE || kind == CLASS_TOMBSTONE_BELOW || kind == CLASS_PATTERN;
}

static inline uint32_t numbers_ordinal(const struct numbers *numbers, uint32_t number)
{
	return numbers->chunks[number / CHUNK].first + number % CHUNK;
}

/* ---- giving them out, or finding them ---- */

/*
 * The number of an attribute, or of its tombstone. A writer allocates it; for a reader
 * NUMBER_ABSENT: the store has none.
 */
uint32_t numbers_of(struct numbers *numbers, enum class_kind kind, uint32_t attr);
static inline uint32_t numbers_attr(struct numbers *numbers, uint32_t attr)
{
	uint32_t known = number_map_get(&numbers->numbers[CLASS_ATTR], attr);

	return known ? known - 1 : numbers_of(numbers, CLASS_ATTR, attr);
}
uint32_t numbers_tombstone(struct numbers *numbers, const struct pattern *pattern);
/* The stored form of a value; text must be interned by attrs_text(). */
struct slice_value numbers_value(struct numbers *numbers, const struct value *value);

/* ---- into the store, and back: numbers_store.c ---- */

/*
 * The names that are new since the last call, to be stored with a slice by any thread while this
 * one allocates further numbers.
 */
struct fresh_names;
struct fresh_names *numbers_take(struct numbers *numbers);
void fresh_names_free(struct fresh_names *names); /* NULL is fine */
/* May be called again when a transaction is repeated. */
MUST_CHECK bool fresh_names_put(const struct fresh_names *names, uint32_t slice,
				struct store_txn *txn, struct error *err);

/* Adds the classes and chunks that were stored with a slice. False: damage. */
bool numbers_get_classes(struct numbers *numbers, struct bytes bytes);

/* Appends how many ordinals each class has, for `resume`. */
void numbers_counts(const struct numbers *numbers, struct buf *out);
/* Deletes stored entities that were added after numbers_counts(). */
void numbers_cut(const struct numbers *numbers, struct store_txn *txn);

/* Reads the list of a class's entities that has `ordinal`; NULL: there is none. To be freed. */
struct name_entity;
struct name_entity *numbers_list(const struct numbers *numbers, uint32_t class, uint32_t ordinal,
				 uint32_t *first, size_t *count);
/* The node of an ordinal of a class; ATTR_ABSENT: damage. */
uint32_t numbers_entity_at(struct numbers *numbers, uint32_t class, uint32_t ordinal);
/* Loads all entities of a class, once, so that their ordinals are known. */
void numbers_take_all(struct numbers *numbers, uint32_t class);
/* The node of `shape` below `attr`, which has the shape `above`; only names may lie between. */
uint32_t numbers_below(struct numbers *numbers, uint32_t attr, uint32_t shape, uint32_t above);

#endif
