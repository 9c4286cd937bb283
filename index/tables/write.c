/*
 * write.c - see write.h
 *
 * The note of an index, under the key "N":
 *
 *     SIZE  MEANING
 *        8  version of all that is stored
 *        8  mark of all files of the trace (marks_fold()); 1: it grows, see below
 *        …  where the trace is (an absolute path, where there is one), then STREAM: file F, byte B
 *           for each stream whose scan is half done, and goes on there: texts that end with a zero
 *
 * The marks of single files, under the key "I", only tell how other files differ from these. Of a
 * trace that grows there are marks of files as far as their packets are stored, under "G".
 */
#include "index/tables/write.h"

#include "engine/base/mem.h"
#include "index/tables/build.h"
#include "index/tables/identity.h"
#include "index/tables/scan.h"

#include <stdlib.h>
#include <string.h>

const struct bytes note_key = {(const uint8_t *)"N", 1};
static const struct bytes marks_key = {(const uint8_t *)"I", 1};
static const struct bytes grown_key = {(const uint8_t *)"G", 1};

enum { NOTE_MARKS_GROWN = 1 /* in the place of the mark of all files */ };

struct note_head { /* stored as it is */
	uint64_t version, marks;
};

static bool note_read(struct bytes note, struct note_head *head)
{
	if (note.size < sizeof *head)
		return false;
	memcpy(head, note.data, sizeof *head);
	return head->version == DATA_VERSION;
}

/* Do the scans of all streams go on where those that are stored end? */
static bool scans_go_on(const struct index *index, struct store_txn *txn)
{
	const struct trace *trace = index->trace;
	bool go_on = true;

	for (size_t i = 0; i < trace->nstreams && go_on; i++) {
		const struct stream *stream = trace->streams[i];
		struct stored_table stored;

		if (!pages_load(txn, identity_stream(stream), &stored))
			continue;
		go_on = reader_goes_on(trace->parts[stream->part]->reader, stream,
				       &stored.head.scan);
		stored_release(&stored);
	}
	return go_on;
}

enum note note_judge(const struct index *index, struct store_txn *txn)
{
	struct note_head head;
	struct bytes note, marks;

	if (!store_get(txn, note_key, &note))
		return NOTE_NONE;
	if (!note_read(note, &head))
		return NOTE_OTHER_VERSION;
	if (head.marks == NOTE_MARKS_GROWN) {
		enum sameness same =
			store_get(txn, grown_key, &marks)
				? grown_marks_compare(index->trace, marks.data, marks.size)
				: SOURCES_TOUCHED;
		if (same == SOURCES_SAME && !scans_go_on(index, txn))
			same = SOURCES_TOUCHED;
		return same == SOURCES_SAME ? NOTE_GROWN : NOTE_OF + same;
	}
	if (head.marks && head.marks == marks_fold(index->trace))
		return NOTE_OF + SOURCES_SAME;
	return NOTE_OF + (store_get(txn, marks_key, &marks)
				  ? marks_compare(index->trace, marks.data, marks.size)
				  : SOURCES_TOUCHED);
}

bool note_texts(struct store_txn *txn, struct bytes *texts, bool *grows)
{
	struct note_head head;
	struct bytes note;

	if (!store_get(txn, note_key, &note) || !note_read(note, &head))
		return false;
	*texts = (struct bytes){note.data + sizeof head, note.size - sizeof head};
	*grows = head.marks == NOTE_MARKS_GROWN;
	return true;
}

/* Is what is written of a trace that grows? */
static bool is_growing(const struct index *index)
{
	return index->options.keeps && index->trace->grows;
}

/* Writes the note. `steps` are those of this transaction. */
static bool note_write(const struct index *index, const struct steps *steps, struct store_txn *txn,
		       struct error *err)
{
	struct note_head head = {DATA_VERSION,
				 is_growing(index) ? NOTE_MARKS_GROWN : marks_fold(index->trace)};
	char *path = realpath(index->trace->path, NULL);
	struct buf note = {0};

	buf_add(&note, &head, sizeof head);
	buf_printf(&note, "%s%c", path ? path : index->trace->path, 0);
	for (; steps && !is_growing(index); steps = steps->next) {
		const struct build_step *step = &steps->step;
		if (!step->complete)
			buf_printf(&note, "%s: file %u, byte %llu%c", step->stream->name,
				   step->to.source, (unsigned long long)step->to.next, 0);
	}
	bool good =
		store_put(txn, note_key, (struct bytes){(const uint8_t *)note.data, note.len}, err);
	buf_release(&note);
	free(path);
	return good;
}

static bool marks_write(const struct index *index, struct store_txn *txn, struct error *err)
{
	struct buf marks = {0};

	marks_take(index->trace, false, &marks);
	bool good = store_put(txn, marks_key,
			      (struct bytes){(const uint8_t *)marks.data, marks.len}, err);
	buf_release(&marks);
	return good;
}

/* Of the files of a stream, as far as its packets are stored. */
static void add_grown_marks(const struct stream *stream, struct store_txn *txn, struct buf *out)
{
	uint64_t id = identity_stream(stream);
	struct grown_mark mark;
	struct stored_table stored;

	if (!pages_load(txn, id, &stored))
		return;
	const struct scan *scan = &stored.head.scan;
	for (uint32_t i = 0; i < stream->nsources && i <= scan->source; i++) {
		uint64_t size = source_size(stream->sources[i]);

		size = i == scan->source && scan->next < size ? scan->next : size;
		grown_mark_take(stream, i, size, &mark);
		buf_add(out, &mark, sizeof mark);
	}
	stored_release(&stored);
}

static bool grown_marks_write(const struct index *index, struct store_txn *txn, struct error *err)
{
	struct buf marks = {0};

	for (size_t i = 0; i < index->trace->nstreams; i++)
		add_grown_marks(index->trace->streams[i], txn, &marks);
	bool good = store_put(txn, grown_key,
			      (struct bytes){(const uint8_t *)marks.data, marks.len}, err);
	buf_release(&marks);
	return good;
}

/* The trace has ended, and what is stored of it is of these very files from now on. */
static bool end_growth(struct index *index, struct store_txn *txn, struct error *err)
{
	store_delete(txn, grown_key);
	return marks_write(index, txn, err);
}

/* Is the store still of the trace's files? Another process may have begun it anew, for others. */
static bool accepts(struct index *index, struct store_txn *txn, struct error *err)
{
	enum note note = index->described ? NOTE_NONE : note_judge(index, txn);

	index->described |= note == NOTE_OF + SOURCES_SAME;
	index->foreign = note != NOTE_NONE && !index->described;
	return !index->foreign || error_set(err, ERR_IO, "%s: is of other files", index->path);
}

bool index_read(struct index *index, struct store_txn **out, struct error *err)
{
	if (!store_read(index->store, out, err))
		return false;
	if (accepts(index, *out, err))
		return true;
	store_read_end(*out);
	return false;
}

struct table_writing {
	struct index *index;
	const struct steps *steps;
	bool stale; /* one of them did not fit */
	bool (*work)(struct store_txn *txn, void *arg, struct error *err);
	void *arg;
	bool grown; /* the marks of files that grow are those that they have now */
};

static bool described_work(struct store_txn *txn, void *arg, struct error *err)
{
	const struct table_writing *writing = arg;
	struct index *index = writing->index;
	bool growing = is_growing(index), ends = index->grown && !growing, good = true;

	if (!accepts(index, txn, err))
		return false;
	if (writing->steps || !index->described || ends || writing->grown)
		good = note_write(index, writing->steps, txn, err);
	if (good && ends)
		good = end_growth(index, txn, err);
	else if (good && !growing && !index->described)
		good = marks_write(index, txn, err);
	return good && writing->work(txn, writing->arg, err) &&
	       (!growing || (index->described && !writing->grown) ||
		grown_marks_write(index, txn, err));
}

static bool write_described(struct table_writing *writing, struct error *err)
{
	bool good = store_write(writing->index->store, described_work, writing, err);

	writing->index->described |= good;
	if (good)
		writing->index->grown = is_growing(writing->index);
	return good;
}

bool index_write(struct index *index,
		 bool (*work)(struct store_txn *txn, void *arg, struct error *err), void *arg,
		 struct error *err)
{
	struct table_writing writing = {.index = index, .work = work, .arg = arg};

	if (!index->store)
		return error_set(err, ERR_IO, "the index is kept in memory");
	return write_described(&writing, err);
}

static bool steps_work(struct store_txn *txn, void *arg, struct error *err)
{
	struct table_writing *writing = arg;

	for (const struct steps *one = writing->steps; one; one = one->next) {
		bool stale;
		if (!pages_apply(txn, &one->step, &stale, err))
			return error_while(err, "storing %s", one->step.stream->name);
		writing->stale |= stale;
	}
	return true;
}

bool write_steps(struct index *index, const struct steps *steps, bool grown, bool *again,
		 struct error *err)
{
	struct table_writing writing = {
		.index = index, .steps = steps, .work = steps_work, .grown = grown};

	writing.arg = &writing;
	bool good = write_described(&writing, err);
	*again = writing.stale;
	return good;
}

bool build_flush(struct index *index, struct error *err)
{
	bool again;

	pthread_mutex_lock(&index->pending_lock);
	struct steps *all = index->pending;
	index->pending = NULL;
	index->npending = 0;
	pthread_mutex_unlock(&index->pending_lock);
	if (!all)
		return true;
	bool good = write_steps(index, all, false, &again, err);
	for (struct steps *one = all; one; one = one->next)
		one->step.record_list = (struct record_list){0}; /* the table's */
	steps_free(all);
	return good;
}
