/* temp_store.c - see temp_store.h */
#include "tests/state/temp_store.h"

#include "engine/base/folder.h"
#include "tests/harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

void temp_store_open(struct temp_store *out)
{
	struct error err;
	bool remade;

	snprintf(out->folder, sizeof out->folder, "/tmp/yore-store-XXXXXX");
	assert_non_null(mkdtemp(out->folder));
	snprintf(out->path, sizeof out->path, "%s/x", out->folder);
	if (!store_open(out->path, &out->store, &remade, &err))
		fail_msg("%s", err.text);
	assert_int_equal(store_lock(out->store), 0);
}

void temp_store_close(struct temp_store *temp)
{
	struct error err;

	store_close(temp->store);
	if (!store_remove(temp->path, &err))
		fail_msg("%s", err.text);
	snprintf(temp->path, sizeof temp->path, "%s/catalog.", temp->folder);
	if (!folder_remove_beside(temp->path, &err))
		fail_msg("%s", err.text);
	assert_int_equal(rmdir(temp->folder), 0);
}

struct store_txn *temp_store_read(const struct temp_store *temp)
{
	struct store_txn *txn;
	struct error err;

	if (!store_read(temp->store, &txn, &err))
		fail_msg("%s", err.text);
	return txn;
}

void temp_store_write(const struct temp_store *temp,
		      bool (*work)(struct store_txn *, void *, struct error *), void *arg)
{
	struct error err;

	if (!store_write(temp->store, work, arg, &err))
		fail_msg("%s", err.text);
}
