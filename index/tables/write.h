/* write.h - committing steps of scans */
#ifndef INDEX_TABLES_WRITE_H
#define INDEX_TABLES_WRITE_H

#include "index/tables/internal.h"

/*
 * All steps in one transaction. *again when one of them did not fit what is stored, because some
 * other builder was faster: that one was left out.
 */
MUST_CHECK bool write_steps(struct index *index, struct build_step *const *steps, size_t count,
			    bool *again, struct error *err);

/* The first bytes of every stored file: magic, byte order, version. */
enum header { HEADER_NONE, HEADER_GOOD, HEADER_OTHER };
enum header header_look(struct store_txn *txn);
MUST_CHECK bool header_write(struct store_txn *txn, struct error *err); /* unless it is there */

#endif
