/* scan.c - see scan.h */
#include "index/tables/scan.h"

#include "index/tables/identity.h"

#include <string.h>

enum { TELL_EVERY = 1024 };

void scanner_init(struct scanner *scanner, struct index *index, const struct stream *stream,
		  const struct stored_table *stored)
{
	*scanner = (struct scanner){
		.index = index,
		.stream = stream,
		.reader = index->trace->parts[stream->part]->reader,
		.id = identity_stream(stream),
	};
	if (!stored)
		return;
	scanner->at = scanner->firm = stored->head.scan;
	for (uint32_t i = 0; i < stored->head.nerrors; i++)
		scanner->texts += stored->errors[i] == 0;
}

void step_release(struct build_step *step)
{
	record_list_release(&step->record_list);
	buf_release(&step->errors);
}

void steps_free(struct steps *steps)
{
	for (struct steps *next; steps; steps = next) {
		next = steps->next;
		step_release(&steps->step);
		mem_free(steps);
	}
}

/* How many of the stream's bytes are behind; its share, where it has its files with others. */
static uint64_t position(const struct scanner *scanner)
{
	const struct stream *stream = scanner->stream;
	uint64_t behind = scanner->at.next, all = 0;

	for (uint32_t i = 0; i < stream->nsources; i++) {
		behind += i < scanner->at.source ? source_size(stream->sources[i]) : 0;
		all += source_size(stream->sources[i]);
	}
	if (all <= stream->bytes)
		return behind;
	return (uint64_t)((double)behind / (double)all * (double)stream->bytes);
}

static bool tell_progress(struct scanner *scanner, struct error *err)
{
	struct index *index = scanner->index;
	uint64_t now = position(scanner);

	if (now > scanner->told) {
		index->scanned += now - scanner->told;
		scanner->told = now;
	}
	uint64_t done = index->scanned < index->all ? index->scanned : index->all;
	if (scanner->alone && !index->quiet && index->options.progress &&
	    !index->options.progress(index->options.progress_arg, done, index->all))
		index->stop = 1;
	return !index->stop || error_set(err, ERR_INTERRUPTED, "interrupted");
}

void damage_tell(struct index *index, const struct stream *stream, uint32_t number,
		 const struct error *cause)
{
	struct index_slot *slot = &index->slots[stream->index];

	if (number < slot->told)
		return;
	slot->told = number + 1;
	trace_damage(index->trace, stream->name, cause);
}

/* True when the scan may go on with another source. */
static bool note_failure(struct scanner *scanner, struct build_step *out, const struct error *cause)
{
	bool unknown = cause->kind == ERR_UNKNOWN;

	damage_tell(scanner->index, scanner->stream, scanner->texts++, cause);
	if (unknown)
		buf_add_char(&out->errors, TRACE_UNKNOWN_MARK);
	buf_add(&out->errors, cause->text, strlen(cause->text) + 1);
	scanner->failures += !unknown;
	return scanner->failures <= scanner->stream->nsources;
}

static void note_firm(struct scanner *scanner, const struct packet_info *info)
{
	bool open = info->rec.flags & PACKET_OPEN;

	scanner->nclosed += !open;
	scanner->met_open |= open;
	if (scanner->met_open)
		return;
	scanner->nfirm++;
	scanner->firm = scanner->at;
}

/* Records whose bytes lie among those of others are made anew while a trace grows. */
static bool may_change(const struct packet_info *info)
{
	return info->rec.flags & (PACKET_OPEN | PACKET_FOREIGN);
}

bool scanner_step(struct scanner *scanner, size_t limit, struct build_step *out, struct error *err)
{
	struct packet_info info;
	struct error cause;

	*out = (struct build_step){
		.stream = scanner->stream, .id = scanner->id, .from = scanner->at};
	out->complete = scanner->stream->nsources == 0 && !scanner->firm_only;
	while (!out->complete && out->record_list.count < limit) {
		enum step step =
			scanner->reader->scan(scanner->stream, &scanner->at, &info, &cause);
		if (scanner->firm_only && (step != STEP_ITEM || may_change(&info)))
			break;
		if (step == STEP_ITEM) {
			record_list_add(&out->record_list, &info);
			note_firm(scanner, &info);
		} else {
			out->complete = step == STEP_END || !note_failure(scanner, out, &cause);
		}
		if (out->record_list.count % TELL_EVERY == 0 && !tell_progress(scanner, err)) {
			step_release(out);
			return false;
		}
	}
	record_list_sort(&out->record_list);
	out->to = scanner->firm_only ? scanner->firm : scanner->at;
	return tell_progress(scanner, err) || (step_release(out), false);
}
