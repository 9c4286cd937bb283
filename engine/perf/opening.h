/*
 * opening.h - a perf.data that is being opened, for the files that share it
 *
 *     header.c    head, attributes and features of its files
 *     metadata.c  what records in front of the first sample say: attributes of a pipe, ids, CPUs
 */
#ifndef ENGINE_PERF_OPENING_H
#define ENGINE_PERF_OPENING_H

#include "engine/perf/record_view.h"

#include <xxhash.h>

enum { PERF_CPUS_MOST = 1 << 16 };

struct file_head {
	uint64_t attr_entry, attr_off, attr_size, data_off, data_size;
	uint64_t types_off, types_size; /* version 1 */
	uint64_t features[4];
};

struct renaming { /* what EVENT_UPDATE says, until all ids are known and sorted */
	uint64_t id;
	const char *name; /* in the arena */
};

struct perf_opening {
	struct perf_part *part;
	const char *path;
	enum source_mode mode;
	struct perf_turns turns; /* none: it is no such folder */
	uint32_t turn;           /* the file in hand */
	bool headless;           /* it is, see struct perf_turn */
	uint32_t file;           /* whose head and features are read, in part->sources */
	struct file_head head;
	bool compressed;
	uint64_t id_bytes; /* of all attributes */
	struct renaming *renamings;
	size_t nrenamings, renamings_capacity;
	XXH3_state_t *identity;
};

static inline struct perf_source *file_of(const struct perf_opening *o)
{
	return &o->part->sources[o->file];
}

/* Whom messages about the file in hand name. */
static inline const char *path_of(const struct perf_opening *o)
{
	return o->turns.count ? file_of(o)->name : o->path;
}

/* header.c */
void perf_add_id(struct perf_part *part, uint64_t id, uint32_t attr);
/* An attribute at `off` of the file; *used: its bytes. False: it cannot be. */
bool perf_read_attr(struct perf_part *part, const uint8_t *data, size_t size, uint64_t off,
		    uint32_t *used, struct perf_attr **out);
void perf_take_feature(struct perf_opening *o, uint32_t feature, const uint8_t *data, size_t size,
		       uint64_t off);

/* metadata.c */
static inline bool perf_is_compressed(uint32_t type)
{
	return type == PERF_COMPRESSED || type == PERF_COMPRESSED2;
}

/* Records of the first file up to its first sample or, `all`, every one: for ID_INDEX. */
void perf_read_metadata(struct perf_opening *o, bool all);
void perf_rename_events(const struct perf_opening *o); /* once ids are sorted */
/* CPUs: from every record, else by id where ID_INDEX knows them. */
void perf_find_cpus(struct perf_opening *o);
/* Where neither ID_INDEX nor features tell the CPUs, all records do. */
void perf_look_for_cpus(struct perf_part *part);

#endif
