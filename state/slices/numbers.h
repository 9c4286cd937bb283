/*
 * numbers.h - attributes as small numbers, such that alike ones are neighbours
 *
 *     thread[42]/state    class thread[*]/state, entity thread[42], the 7th thread: number 512 + 7
 *
 * A class is a shape, or what deletes do to a shape. An entity is a node that ends in a key (or the
 * root); entities of a class have ordinals in order of appearance. 256 consecutive ordinals of one
 * class have 256 consecutive numbers, a chunk; chunks are given out on demand. So names are
 * stored per entity and not per attribute, and a block of a slice holds values of one kind.
 *
 * Both sides have this table. A writer gives numbers out, and so has all of it. A reader has the
 * classes, chunks and patterns of its store, and reads the rest there when it is first needed:
 * entities list by list where numbers are to be named, and all of a class where names are to have
 * their numbers. A build that goes on takes over the table of the shard that it goes on with.
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
	CLASS_PATTERN,         /* targets with a `*`; entities are these patterns */
	CLASS_TEXT             /* values that are text: ordinals alone, by which they are stored */
};

/* Classes that are always there, and not stored; those of shapes come behind them. */
enum { ROOT_CLASS, PATTERN_CLASS, TEXT_CLASS, SHAPE_CLASSES };

struct number_class {
	enum class_kind kind;
	uint32_t parent; /* of an attribute's, the one above; of a tombstone's, the attribute's */
	uint32_t shape;  /* ATTR_ABSENT: of patterns and texts */
	uint32_t entity_class;      /* whose ordinals it counts */
	struct number_map chunks;   /* ordinal / CHUNK → 1 + chunk */
	struct number_map entities; /* ordinal → 1 + attribute */
	uint32_t given, stored;     /* writer: ordinals, from 0 on */
	bool taken;                 /* reader: all its entities were read */
};

struct number_chunk {
	uint32_t class, first; /* ordinal */
};

struct numbers {
	struct attrs *attrs;
	struct store_txn *txn; /* reader: where names are found; NULL: numbers are given */
	struct number_class *classes;
	size_t nclasses, classes_capacity, classes_stored;
	struct number_chunk *chunks;
	size_t nchunks, chunks_capacity, chunks_stored;
	struct number_map of_shape[CLASS_PATTERN]; /* shape → 1 + class */
	/* attribute → 1 + number, of itself and of tombstones; reader: NUMBER_ABSENT as it is */
	struct number_map numbers[CLASS_PATTERN];
	struct number_map ordinals; /* entity → 1 + ordinal */
	struct pattern *patterns;   /* by ordinal */
	size_t npatterns, patterns_capacity;
	struct value *texts; /* by ordinal; reader: of kind UNKNOWN, not looked at */
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
/* The number of a class's ordinal; NUMBER_ABSENT: it has none. */
uint32_t numbers_in(const struct numbers *numbers, uint32_t class, uint32_t ordinal);
/* The attribute itself or what it stands below that ends in a key; else the root. */
uint32_t numbers_entity(const struct numbers *numbers, uint32_t attr);

/* All numbers are below. */
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

/* Of an attribute, or of a tombstone that hangs there. Reader: NUMBER_ABSENT, there is none. */
uint32_t numbers_of(struct numbers *numbers, enum class_kind kind, uint32_t attr);
static inline uint32_t numbers_attr(struct numbers *numbers, uint32_t attr)
{
	uint32_t known = number_map_get(&numbers->numbers[CLASS_ATTR], attr);

	return known ? known - 1 : numbers_of(numbers, CLASS_ATTR, attr);
}
uint32_t numbers_tombstone(struct numbers *numbers, const struct pattern *pattern);
/* Text as attrs_text() gives it. */
struct slice_value numbers_value(struct numbers *numbers, const struct value *value);

/* ---- into the store, and back: numbers_store.c ---- */

/* What is new since the last call, to be put under a slice: by any thread, while numbers are given.
 */
struct fresh_names;
struct fresh_names *numbers_take(struct numbers *numbers);
void fresh_names_free(struct fresh_names *names); /* NULL is fine */
/* May be called again. */
MUST_CHECK bool fresh_names_put(const struct fresh_names *names, uint32_t slice,
				struct store_txn *txn, struct error *err);

/* Classes and chunks that came with a slice, behind those there are. False: damage. */
bool numbers_get_classes(struct numbers *numbers, struct bytes bytes);

/* Ordinals given so far, per class, for `resume`. */
void numbers_counts(const struct numbers *numbers, struct buf *out);
/* Drops what is stored of entities that came after numbers_counts(). */
void numbers_cut(const struct numbers *numbers, struct store_txn *txn);

/* Entities of a class from a list that holds `ordinal`; NULL: there is none. To be freed. */
struct name_entity;
struct name_entity *numbers_list(const struct numbers *numbers, uint32_t class, uint32_t ordinal,
				 uint32_t *first, size_t *count);
/* The node that is a class's ordinal; ATTR_ABSENT: damage. */
uint32_t numbers_entity_at(struct numbers *numbers, uint32_t class, uint32_t ordinal);
/* Reads all entities of a class, once: from then on they have their ordinals. */
void numbers_take_all(struct numbers *numbers, uint32_t class);
/* The node below `attr`, of the shape `above`, that has the shape: only names lie between. */
uint32_t numbers_below(struct numbers *numbers, uint32_t attr, uint32_t shape, uint32_t above);

#endif
