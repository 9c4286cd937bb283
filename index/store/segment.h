/*
 * segment.h - a file of sorted keys and values that is written once
 *
 * docs/index-format.md has every byte. A segment of a store holds what its commits up to a number
 * left, tombstones too. A value has its checksum in the table at the end, the table in the head,
 * and the head in the next newer segment, or in the catalog. So one number makes a whole store
 * known. Head and table are compared when it is opened, a value when it is first looked at.
 */
#ifndef INDEX_STORE_SEGMENT_H
#define INDEX_STORE_SEGMENT_H

#include "index/store/store.h"

#include <stdatomic.h>

enum { SEGMENT_DAMAGED = -1, SEGMENT_NAME = 255 /* bytes of a name */ };

struct segment_id {
	uint64_t incarnation; /* of what it is of: when a store was begun, ns since 1970 */
	uint64_t to;          /* number of its newest commit */
	uint64_t size, check; /* of the file and of its head: writing tells them */
};

struct segment {
	struct segment_id id, before; /* before: the next older one of its store; all 0: none */
	struct segment *older;        /* that one; NULL: it is not open */
	unsigned owners;              /* a newer one, and who holds it; to be locked by them */
	struct row *rows; /* of each key; keys fall. Of a file: a copy that was compared */
	uint32_t count;
	const uint8_t *keys, *values; /* where rows point to */
	struct source *source;        /* NULL: it is in memory, or read */
	bool read;                    /* by pread, each value when it is found: */
	int fd;                       /* from here */
	uint8_t *verified;            /* of each row: its value was; by __atomic operations */
	atomic_bool damaged;
	struct buf
		memory; /* keys and values of one in memory; of one that is read its last value */
	size_t capacity;
};

struct entry { /* borrowed from a segment or memory */
	struct bytes key, value;
	bool deleted; /* a tombstone: the key is gone, whatever older segments say */
};

enum key_match { KEY_SAME, KEY_UP_TO, KEY_BELOW };

/* The path of a segment of the store at `path`; the caller frees. */
char *segment_path(const char *path, uint64_t to);
/* Is a file of that name a segment? Then of which store, and up to which commit; 0: not yet whole.
 */
bool segment_is_file(const char *file, char name[SEGMENT_NAME + 1], uint64_t *to);

/* 0, SEGMENT_DAMAGED or an errno. `name` stands in its head. `id` NULL: whichever it is. */
int segment_open(const char *path, const char *name, const struct segment_id *id,
		 struct segment **out);
/*
 * The same of a file on any file system, also one whose maps are not to be trusted: a value is read
 * and compared each time, by one thread, and valid until the next.
 */
int segment_open_read(const char *path, const char *name, const struct segment_id *id,
		      struct segment **out);
struct segment *segment_hold(struct segment *segment); /* one more owner; NULL is fine */
/* One less; without any it goes, and is no owner of the older one any more. NULL is fine. */
void segment_close(struct segment *segment);
/* False: something did not agree, or the file was cut: what was not found may have been there. */
bool segment_sound(const struct segment *segment);
/* Compares all values. */
bool segment_verify(struct segment *segment);

/* The greatest key that matches; false: there is none, or damage. */
bool segment_find(struct segment *segment, struct bytes key, enum key_match match,
		  struct entry *out);

/*
 * To one in memory, which is empty when all of it is 0, in the place of what it has under that key;
 * less than 4 GB in all, which id.size tells. What it gave out is not valid any more.
 */
void segment_put(struct segment *segment, const struct entry *entry);

struct segment_parts { /* of one that is written */
	const char *name;
	struct segment_id before;
	const struct entry *entries; /* keys fall */
	size_t count;
};
/*
 * Writes it as PATH.SUFFIX, which then gets its name; `sync`: it is on the disk then. id->size and
 * id->check are filled in. 0, or an errno, and then there is no file.
 */
int segment_write(const char *path, const char *suffix, const struct segment_parts *parts,
		  bool sync, struct segment_id *id);

/*
 * Copies one that was opened by segment_open_read() to a file of this file system, as the only
 * segment of the store `name`: id->incarnation and id->to are its own, the rest is filled in. All
 * of the copy is compared. 0, SEGMENT_DAMAGED or an errno, and then there is no file.
 */
int segment_copy(const struct segment *segment, const char *to, const char *name,
		 struct segment_id *id);

/* As memcmp(), and a key is less than the longer ones that begin with it. */
int key_compare(struct bytes a, struct bytes b);

#endif
