/* store_place.h - a folder of stores, and work that writes and reads values in them */
#ifndef TESTS_INDEX_STORE_PLACE_H
#define TESTS_INDEX_STORE_PLACE_H

#include "index/store/store.h"

#include <sys/types.h>

struct place {
	char *dir;
	char path[4096];
};

/* Setup and teardown of each test. */
int place_setup(void **state);
int place_teardown(void **state);
#define STORE_ROW(name) cmocka_unit_test_setup_teardown(name, place_setup, place_teardown)

struct store *open_store(const char *path);
struct bytes text(const char *words);
void in_folder(const char *dir, const char *name, char path[300]);
/* Lists the folder's segments in `names`, the newest last. */
size_t list_segments(const char *dir, char names[64][300]);
void newest_segment(const char *dir, char path[300]);
/* The size of all segments in bytes; *count: their number. */
off_t bytes_on_disk(const char *dir, size_t *count);
void spoil(const char *path, off_t at, uint8_t bits);

/*
 * Work for store_write(): puts a1, a2 and b1; deletes keys that begin with a; puts 59 MB and raises
 * *arg.
 */
bool put_some(struct store_txn *txn, void *arg, struct error *err);
bool drop_a(struct store_txn *txn, void *arg, struct error *err);
bool put_much(struct store_txn *txn, void *arg, struct error *err);

/*
 * Makes the i-th key and value, short or long; returns the value's size. Keys are not ordered by i.
 */
enum { MANY = 3000 };
size_t numbered(uint32_t i, uint8_t key[8], uint8_t *value);
bool put_numbered(struct store_txn *txn, void *arg, struct error *err); /* [begin, end) in *arg */
void write_numbered(struct store *store, uint32_t begin, uint32_t end);
/*
 * Checks that values [0, there) are right, and no others exist. False: the store says that it is
 * damaged.
 */
bool is_right(struct store *store, uint32_t there);

#endif
