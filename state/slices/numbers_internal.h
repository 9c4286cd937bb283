/* numbers_internal.h - the writer's tables: for numbers.c, and numbers_store.c which keeps them */
#ifndef STATE_SLICES_NUMBERS_INTERNAL_H
#define STATE_SLICES_NUMBERS_INTERNAL_H

#include "state/slices/names.h"
#include "state/model/number_map.h"
#include "state/slices/numbers.h"

struct class
{
	enum class_kind kind;
	uint32_t parent;
	uint32_t shape;           /* of an attribute's or tombstone's */
	struct number_map chunks; /* ordinal / CHUNK → chunk */
	uint32_t entities;        /* ordinals given */
	uint32_t stored;          /* of them */
	uint32_t *fresh;          /* attributes (patterns: places) of those not stored */
	size_t nfresh, fresh_capacity;
};

struct string {
	const char *text;
	uint32_t len;
};

struct numbers {
	struct program *program;
	struct attrs *attrs;
	struct class *classes;
	size_t nclasses, classes_capacity, classes_stored;
	struct number_map of_shape[CLASS_PATTERN]; /* class */
	uint32_t pattern_class;                    /* 1 + it */
	struct number_map attr_numbers, tombstone_numbers[2], ordinals;
	struct name_chunk *chunks;
	size_t nchunks, chunks_capacity, chunks_stored;
	struct pattern **patterns;
	size_t npatterns, patterns_capacity;
	struct string *strings;
	size_t nstrings, strings_capacity, strings_stored;
	uint32_t *slots; /* 1 + string, by the text's address; a power of two, at most half full */
	size_t nslots;
};

uint32_t numbers_class_add(struct numbers *numbers, enum class_kind kind, uint32_t parent,
			   uint32_t shape);
uint32_t numbers_pattern_class(struct numbers *numbers);
void numbers_pattern_keep(struct numbers *numbers, const struct pattern *pattern);
void numbers_chunk_place(struct numbers *numbers, uint32_t chunk);
/* The attribute itself or what it stands below that ends in a key; else the root. */
uint32_t numbers_entity(const struct numbers *numbers, uint32_t attr);

#endif
