/*
 * internal.h - the file of a store: objects that are named by place and checksum
 *
 * docs/index-format.md has every byte. An object is a node of the tree or a long value. What
 * names an object (its parent, the root) has its place, its size and its checksum, so that one look
 * at the root makes everything below it known: what was changed by anybody does not agree, and what
 * was swapped does neither. Nothing is ever overwritten but the two roots: a commit appends what is
 * new and then writes the older root. So what a reader has verified stays true while it is mapped.
 */
#ifndef INDEX_STORE_INTERNAL_H
#define INDEX_STORE_INTERNAL_H

#include "engine/base/arena.h"
#include "engine/base/buf.h"
#include "engine/base/source.h"
#include "index/store/store.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

enum {
	STORE_HEAD = 8192,  /* bytes for the two roots */
	STORE_GRAIN = 64,   /* objects begin at multiples of it, */
	STORE_SHIFT = 16,   /* ... long values so many bytes behind one */
	STORE_NODE = 4096,  /* bytes of a node, about */
	STORE_SHORT = 1024, /* bytes of a value that stands in its leaf */
	STORE_DEPTH = 32
};

struct store_ref {          /* of an object */
	uint64_t off, size; /* size 0: none */
	uint64_t sum;       /* XXH3 of its bytes */
};

struct store_root { /* stored as it is */
	char magic[8];
	uint32_t order, version;
	uint64_t name;   /* XXH3 of the file's own name: no other one takes its place */
	uint64_t number; /* of the commit, from 1 on */
	uint64_t end;    /* bytes of the file that it needs */
	uint64_t live;   /* bytes of all objects that it leads to */
	struct store_ref top;
	uint64_t check; /* XXH3 of all before */
};
_Static_assert(sizeof(struct store_root) == 80, "the root is stored as it is");

struct store_map { /* of a file, from its beginning; kept until the store is closed */
	struct store_map *older;
	struct source *source;
	const uint8_t *base;
	uint64_t size;
	uint8_t *verified; /* two bits per grain: a value, a node; by __atomic operations */
};

struct store_file {
	struct store_file *older; /* what values may still lie in */
	int fd;
	dev_t device;
	ino_t inode;
	uint64_t name;
	bool read_only;
	struct store_map *map; /* the newest */
	struct store_root root;
	atomic_bool damaged;
};

/* file.c: one file. */

/* Opens `path`; -1: it is damaged or of another kind, an errno otherwise. Makes none. */
int store_file_open(const char *path, struct store_file **out);
/* Makes an empty one where there is none. 0 or an errno. */
int store_file_make(const char *path);
/* An empty one of its own, at a temporary path; its root is written by store_file_end(). */
int store_file_begin(const char *path, const char *temporary, struct store_file **out);
void store_file_close(struct store_file *file); /* and older ones */
/* Looks at the roots; false: they are damaged. The newest map reaches to the root's end. */
bool store_file_look(struct store_file *file);
bool store_file_is(const struct store_file *file, const char *path);
bool store_file_broken(const struct store_file *file); /* cut under its map */

/* An object's bytes, compared with its checksum when it is first looked at; NULL: damaged. */
struct store_space { /* where a reader looks */
	struct store_file *file;
	const struct store_map *map;
	struct store_ref top;
	uint64_t end;
};
const uint8_t *store_value(const struct store_space *space, const struct store_ref *ref);
const uint8_t *store_node(const struct store_space *space, const struct store_ref *ref);

/* The bytes that one commit appends. */
struct store_out {
	struct store_file *file;
	struct store_root base; /* the commit before */
	struct buf bytes;
	uint64_t at;   /* where they go */
	uint64_t live; /* bytes of objects that were added */
	int failed;    /* errno */
};
void store_out_begin(struct store_out *out, struct store_file *file, const struct store_root *base);
struct store_ref store_out_add(struct store_out *out, const void *bytes, size_t size, bool value);
/*
 * Writes what is left, and makes `root` the file's root: its `top` and `live` are the caller's.
 * `late`: it may be lost in a power cut. 0, or an errno, and nothing has changed.
 */
int store_out_commit(struct store_out *out, struct store_root *root, bool late);
void store_out_cancel(struct store_out *out);

/* tree.c: nodes as they are stored. */

enum entry_kind { ENTRY_SHORT, ENTRY_LONG, ENTRY_NODE };

struct entry { /* of a node; borrowed */
	const uint8_t *key;
	size_t nkey;
	enum entry_kind kind;
	struct store_ref ref; /* LONG, NODE */
	const uint8_t *value; /* SHORT, or LONG when it is not stored yet */
	size_t size;          /* of a value */
};

bool node_is_whole(const uint8_t *node, uint64_t off, size_t size);
uint32_t node_count(const uint8_t *node);
bool node_is_leaf(const uint8_t *node);
void node_entry(const uint8_t *node, uint32_t i, struct entry *out);
size_t entry_size(const struct entry *entry); /* with its place in the list */
void node_encode(const struct entry *entries, uint32_t count, bool leaf, struct buf *out);
int key_compare(const uint8_t *a, size_t na, const uint8_t *b, size_t nb);

/* tree_write.c: the nodes that a transaction changed. */

struct branch; /* a changed node */

struct tree {
	struct store_space space;
	struct branch *top;  /* NULL: unchanged */
	struct arena *arena; /* NULL: of a reader */
	uint64_t freed;      /* bytes of objects that it no longer leads to */
	bool damaged;
};

/* A step of a path: a changed node, or one as it is stored. */
struct place {
	struct branch *changed;
	const uint8_t *node;
	uint32_t count;
	bool leaf;
};
bool tree_top(struct tree *tree, struct place *out); /* false: empty, or damaged */
void place_entry(const struct place *place, uint32_t i, struct entry *out);
bool tree_below(struct tree *tree, const struct place *place, uint32_t i, struct place *out);
/* The last entry whose key is <= key (< without `equal`); count: none. */
uint32_t place_search(const struct place *place, struct bytes key, bool equal);

bool tree_get(struct tree *tree, struct bytes key, struct bytes *value);
bool tree_before(struct tree *tree, struct bytes key, bool equal, struct bytes *found,
		 struct bytes *value);
/* `value` is the tree's to fill. */
bool tree_put(struct tree *tree, struct bytes key, size_t size, uint8_t **value);
bool tree_delete(struct tree *tree, struct bytes key); /* none is fine */
bool tree_delete_prefix(struct tree *tree, struct bytes prefix);
/* Writes what changed. */
struct store_ref tree_commit(struct tree *tree, struct store_out *out);
/* Writes everything that it leads to; false: damaged. */
bool tree_copy(struct tree *tree, struct store_out *out, struct store_ref *top);

#endif
