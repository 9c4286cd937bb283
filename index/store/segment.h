/*
 * segment.h - a file of sorted keys and values that is written once
 *
 * docs/index-format.md describes the format. A segment has the entries, tombstones included, of one
 * or more commits of a store. The checksum of a value is in the table at the file's end, that of
 * the table in the head, and that of the head in the next newer segment or, for the newest, in the
 * catalog: so one checksum verifies a whole store. Head and table are verified when the segment is
 * opened, a value when it is first read.
 */
#ifndef INDEX_STORE_SEGMENT_H
#define INDEX_STORE_SEGMENT_H

#include "index/store/store.h"

#include <stdatomic.h>

enum { SEGMENT_DAMAGED = -1, SEGMENT_NAME = 255 /* bytes of a name */ };

struct segment_id {
	uint64_t incarnation; /* when its store was begun, ns since 1970 */
	uint64_t to;          /* number of its newest commit */
	uint64_t size, check; /* size of the file, checksum of its head; set by segment_write() */
};

struct segment {
	struct segment_id id, before; /* before: the next older one of its store; all 0: none */
	struct segment *older;        /* that one; NULL: it is not open */
	unsigned owners; /* a newer segment and other holders; their lock protects it */
	struct row *rows; /* one for each key, keys falling; a verified copy of the file's table */
	uint32_t count;
	const uint8_t *keys, *values; /* rows have offsets into these */
	struct source *source;        /* the mapped file; NULL: in memory, or `read` */
	bool read;                    /* values are read by pread, each time, */
	int fd;                       /* from this descriptor */
	uint8_t *verified; /* by row: 1 when its value was verified; by __atomic operations */
	atomic_bool damaged;
	struct buf memory; /* in memory: its keys and values; with `read`: the value read last */
	size_t capacity;
};

struct entry { /* borrowed from a segment or memory */
	struct bytes key, value;
	bool deleted; /* a tombstone: the key is gone, whatever older segments say */
};

enum key_match { KEY_SAME, KEY_UP_TO, KEY_BELOW };

/* The path of the store's segment up to commit `to`; the caller frees it. */
char *segment_path(const char *path, uint64_t to);
/* Is `file` the name of a segment? `name`: of its store; *to: its newest commit, 0: it is a
 * temporary file. */
bool segment_is_file(const char *file, char name[SEGMENT_NAME + 1], uint64_t *to);

/* Opens a segment. Returns 0, SEGMENT_DAMAGED or an errno. Its head must have this `name` and `id`
 * (NULL: any). */
int segment_open(const char *path, const char *name, const struct segment_id *id,
		 struct segment **out);
/*
 * The same on any file system, also a network one, where maps cannot be trusted: each value is read
 * and verified when it is found, and valid until the next is. For one thread at a time.
 */
int segment_open_read(const char *path, const char *name, const struct segment_id *id,
		      struct segment **out);
struct segment *segment_hold(struct segment *segment); /* adds an owner; NULL is fine */
/* Removes an owner; the last one frees it, and closes its older segment. NULL is fine. */
void segment_close(struct segment *segment);
/* False: a checksum was wrong, or the file was truncated: entries may not have been found. */
bool segment_sound(const struct segment *segment);
/* Verifies all values. */
bool segment_verify(struct segment *segment);

/* The greatest key that matches; false: there is none, or damage. */
bool segment_find(struct segment *segment, struct bytes key, enum key_match match,
		  struct entry *out);

/*
 * Adds or replaces an entry of a segment in memory (an empty one is all zeros), which may have less
 * than 4 GB, counted in id.size. Invalidates entries found before.
 */
void segment_put(struct segment *segment, const struct entry *entry);

struct segment_parts { /* content of a segment that is to be written */
	const char *name;
	struct segment_id before;
	const struct entry *entries; /* keys fall */
	size_t count;
};
/*
 * Writes a segment as PATH.SUFFIX and renames it to PATH; `sync`: and waits until it is on the
 * disk. Sets id->size and id->check. Returns 0, or an errno, and then there is no file.
 */
int segment_write(const char *path, const char *suffix, const struct segment_parts *parts,
		  bool sync, struct segment_id *id);

/*
 * Copies a segment opened by segment_open_read() to the file `to`, as the only segment of the store
 * `name`, with id->incarnation and id->to; sets the rest of *id. Verifies the whole copy. Returns
 * 0, SEGMENT_DAMAGED or an errno, and then there is no file.
 */
int segment_copy(const struct segment *segment, const char *to, const char *name,
		 struct segment_id *id);

/* Compares as memcmp(); a key is less than longer ones that begin with it. */
int key_compare(struct bytes a, struct bytes b);

#endif
