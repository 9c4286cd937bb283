/* write.h - stores steps of scans, and the note that identifies the files of a store */
#ifndef INDEX_TABLES_WRITE_H
#define INDEX_TABLES_WRITE_H

#include "index/tables/internal.h"

/*
 * Stores all steps in one transaction. *again: a step was left out, since another builder has
 * stored those records already. `grown`: of a growing trace; also stores the marks of its files as
 * they are now. The list may be empty.
 */
MUST_CHECK bool write_steps(struct index *index, const struct steps *steps, bool grown, bool *again,
			    struct error *err);

/*
 * Compares the note of the index's store with the trace. NOTE_GROWN: the store is of this trace
 * while it grew; NOTE_OF + enum sameness: the result of marks_compare().
 */
enum note { NOTE_NONE, NOTE_OTHER_VERSION, NOTE_GROWN, NOTE_OF };
enum note note_judge(const struct index *index, struct store_txn *txn);
/* The note's texts: the trace's path, then each incomplete scan; *grows: of a growing trace. False:
 * there is no note. */
bool note_texts(struct store_txn *txn, struct bytes *texts, bool *grows);
extern const struct bytes note_key;

/* store_read() and store_write(), if the store's note is of the trace's files. */
MUST_CHECK bool index_read(struct index *index, struct store_txn **out, struct error *err);
MUST_CHECK bool index_write(struct index *index,
			    bool (*work)(struct store_txn *txn, void *arg, struct error *err),
			    void *arg, struct error *err);

#endif
