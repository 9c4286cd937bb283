/* write.h - committing steps of scans */
#ifndef INDEX_TABLES_WRITE_H
#define INDEX_TABLES_WRITE_H

#include "index/tables/internal.h"

/*
 * All steps in one transaction. *again when one of them did not fit what is stored, because some
 * other builder was faster: that one was left out. `grown`: of a trace that grows, with what its
 * files are now; no steps are fine.
 */
MUST_CHECK bool write_steps(struct index *index, const struct steps *steps, bool grown, bool *again,
			    struct error *err);

/*
 * What its note says of the index's store; NOTE_GROWN: it is of a trace that grows, which
 * has grown since or not; NOTE_OF and above: as marks_compare() does.
 */
enum note { NOTE_NONE, NOTE_OTHER_VERSION, NOTE_GROWN, NOTE_OF };
enum note note_judge(const struct index *index, struct store_txn *txn);
/* Where the trace was, then what is half done; *grows: it is a trace that grows. False: no note. */
bool note_texts(struct store_txn *txn, struct bytes *texts, bool *grows);
extern const struct bytes note_key;

/* store_read() and store_write() of a store that is of these files, which its note tells. */
MUST_CHECK bool index_read(struct index *index, struct store_txn **out, struct error *err);
MUST_CHECK bool index_write(struct index *index,
			    bool (*work)(struct store_txn *txn, void *arg, struct error *err),
			    void *arg, struct error *err);

#endif
