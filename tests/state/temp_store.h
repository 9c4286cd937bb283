/* temp_store.h - a store in a temporary folder, which is deleted when the store is closed */
#ifndef TESTS_STATE_TEMP_STORE_H
#define TESTS_STATE_TEMP_STORE_H

#include "index/store/store.h"

struct temp_store {
	char folder[32], path[48];
	struct store *store;
};

void temp_store_open(struct temp_store *out);
void temp_store_close(struct temp_store *temp);
struct store_txn *temp_store_read(const struct temp_store *temp);
void temp_store_write(const struct temp_store *temp,
		      bool (*work)(struct store_txn *, void *, struct error *), void *arg);

#endif
