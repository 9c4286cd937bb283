/*
 * opening.h - a perf.data that is being opened, for the files that share it
 *
 *     header.c    head, attributes and features of its files
 *     metadata.c  records in front of the first sample → attributes of a pipe, ids, CPUs
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

struct renaming { /* a name by EVENT_UPDATE, kept until all ids are known and sorted */
	uint64_t id;
	const char *name; /* in the arena */
};

struct perf_opening {
	struct perf_part *part;
	const char *path;
	enum source_mode mode;
	struct perf_turns turns; /* empty: the path is no folder of turns */
	uint32_t turn;           /* index of the current turn */
	bool headless;           /* of the current turn, see struct perf_turn */
	uint32_t file;           /* index in part->sources of the file whose head is read */
	struct file_head head;
	bool compressed;
	uint64_t id_bytes; /* bytes of the ids of all attributes so far */
	struct renaming *renamings;
	size_t nrenamings, renamings_capacity;
	XXH3_state_t *identity;
};

static inline struct perf_source *file_of(const struct perf_opening *o)
{
	return &o->part->sources[o->file];
}

/* The name of the current file, for messages. */
static inline const char *path_of(const struct perf_opening *o)
{
	return o->turns.count ? file_of(o)->name : o->path;
}

/* header.c */
void perf_add_id(struct perf_part *part, uint64_t id, uint32_t attr);
/* Parses the attribute at byte `off` of the file; *used is its size. False: it is impossible. */
bool perf_read_attr(struct perf_part *part, const uint8_t *data, size_t size, uint64_t off,
		    uint32_t *used, struct perf_attr **out);
void perf_take_feature(struct perf_opening *o, uint32_t feature, const uint8_t *data, size_t size,
		       uint64_t off);

/* metadata.c */
static inline bool perf_is_compressed(uint32_t type)
{
	return type == PERF_COMPRESSED || type == PERF_COMPRESSED2;
}

/* Reads records of the first file up to its first sample, or `all`, which finds every ID_INDEX. */
void perf_read_metadata(struct perf_opening *o, bool all);
void perf_rename_events(const struct perf_opening *o); /* once ids are sorted */
/* Sets by_cpu: does every record have its CPU, or an id whose CPU ID_INDEX gives? And most_cpu. */
void perf_find_cpus(struct perf_opening *o);
/* Sets most_cpu by reading all records, if neither ID_INDEX nor features give it. */
void perf_look_for_cpus(struct perf_part *part);

#endif
