/*
 * keep.c - index_keep(): appends new records of a growing trace to its store
 *
 *     file    |── packets ──|── packets ──|─ open ─        written to
 *     stored  |── records ──|── step ────>|                 its table goes on behind what is firm
 *
 * A step is scanned from the end of the stored table up to the first packet that may change. The
 * table stays incomplete, and the key "G" has marks of its files up to the last byte scanned: a
 * process that opens the longer trace scans only what follows. When the recording has ended, `yore
 * index` scans the rest and makes the table complete.
 */
#include "engine/base/mem.h"
#include "index/tables/build.h"
#include "index/tables/identity.h"
#include "index/tables/scan.h"
#include "index/tables/write.h"

#include <errno.h>
#include <string.h>

bool index_is_kept(const struct index *index)
{
	return index->grown;
}

bool index_can_keep(const struct index *index)
{
	bool can = true;

	for (size_t i = 0; i < index->trace->nstreams && can; i++) {
		const struct table *table = index->slots[i].table;
		const struct record_list *rows = table ? table_rows(table) : NULL;

		can = !rows || !rows->count || !(rows->recs[0].flags & PACKET_FOREIGN);
	}
	return can;
}

/* Where the stored table ends; false: damage. */
static bool keep_load(struct index *index, const struct stream *stream, struct stored_table *out,
		      struct error *err)
{
	struct store_txn *txn;

	if (!index_read(index, &txn, err))
		return false;
	if (!pages_load(txn, identity_stream(stream), out))
		*out = (struct stored_table){0};
	bool sound = store_sound(txn);
	store_read_end(txn);
	return sound || error_set(err, ERR_IO, "%s: is damaged", index->path);
}

/* Does the table in memory have records behind those that are stored? */
static bool has_more(const struct index *index, const struct stream *stream,
		     const struct stored_table *stored)
{
	const struct index_slot *slot = &index->slots[stream->index];

	return slot->nfirm > stored->head.count;
}

/* The stream's next step. *any: it has records. */
static bool next_step(struct index *index, const struct stream *stream, struct build_step *out,
		      bool *any, struct error *err)
{
	struct scanner scanner;
	struct stored_table stored;
	bool ok;

	*any = false;
	if (stream->gathered) /* a list of its packets is made first, of all of the file */
		return true;
	ok = keep_load(index, stream, &stored, err);
	if (!ok)
		return false;
	if (!stored.head.complete && has_more(index, stream, &stored)) {
		scanner_init(&scanner, index, stream, &stored);
		scanner.alone = scanner.firm_only = true;
		ok = scanner_step(&scanner, index->step_records, out, err);
		*any = ok && out->record_list.count > 0;
		if (ok && !*any)
			step_release(out);
	}
	stored_release(&stored);
	return ok;
}

/* One step of each stream, in one commit. *more: some may have another. */
static bool keep_steps(struct index *index, bool *more, struct error *err)
{
	const struct trace *trace = index->trace;
	struct steps *all = NULL;
	bool ok = true, any, again;

	*more = false;
	for (size_t i = 0; i < trace->nstreams && ok; i++) {
		struct build_step step;

		ok = next_step(index, trace->streams[i], &step, &any, err);
		if (!ok || !any)
			continue;
		struct steps *one = mem_new(sizeof *one);
		*one = (struct steps){.next = all, .step = step};
		all = one;
		*more |= step.record_list.count >= index->step_records;
	}
	if (ok && (all || !index->described))
		ok = write_steps(index, all, true, &again, err);
	steps_free(all);
	return ok;
}

bool index_keep(struct index *index, bool *busy, struct error *err)
{
	bool more = true;
	int code;

	*busy = index->kept_out;
	if (!index->store)
		return *busy || error_set(err, ERR_IO, "there is no place for an index");
	code = store_lock(index->store);
	if (code) {
		*busy = code == EWOULDBLOCK;
		return *busy ||
		       error_set(err, ERR_IO, "%s: %s", index->path,
				 code == EROFS ? "the index is read-only" : strerror(code));
	}
	while (more)
		if (!keep_steps(index, &more, err)) {
			/* one that asked has left its own there just now; or it begins anew */
			*busy = index->foreign || store_damaged(index->store);
			return *busy;
		}
	return true;
}
