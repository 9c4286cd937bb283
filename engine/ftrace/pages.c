/*
 * pages.c - runs of ring-buffer pages → packet records
 *
 *     page 0 ......... 15 | 16 ......... 31 | 32 ...        a packet is a run of 64 KB,
 *     | 16 ..... 20 | 21* ..... 31 |                        cut where events were lost (*)
 *
 * Without such cuts, record i is pages 16 i to 16 i + 15, so that records need no scan: a record
 * begins at the stamp of its first page, and ends at that of the next record's first page, or
 * before. In front of a loss, and at the end of the stream, the last page is decoded instead. If
 * stamps fall or events were lost inside a run, ftrace_packet_at() fails, and a scan makes the
 * records and cuts there.
 */
#include "engine/ftrace/ftrace_internal.h"

#include <string.h>

enum { MISSED = 1u << 31, COUNTED = 1 << 30, USED_MASK = 0xFFFFF, HEAD_MAX = 64 };

struct ftrace_scan_state { /* in scan.priv */
	nstime last;
	bool any;
};
_Static_assert(sizeof(struct ftrace_scan_state) <= SCAN_PRIV_MAX, "it rides in the scan");

/* Pages [first, end), by their heads. */
struct page_run {
	uint64_t first, end;
	uint64_t last_page; /* the last page with entries */
	struct page_head head,
		last;          /* heads of the first and last page with entries; used 0: none */
	struct page_head next; /* head of page `end`; used 0: no such page, or an empty one */
};

void page_head_parse(const struct ftrace_file *file, const uint8_t *bytes, struct page_head *out)
{
	const struct tracing_page *page = &file->page;
	uint64_t commit =
		ftrace_load(bytes + page->commit_at, page->commit_bytes, file->big_endian);

	out->stamp = ftrace_load(bytes + page->time_at, 8, file->big_endian);
	out->used = (uint32_t)(commit & USED_MASK);
	out->missed = commit & MISSED;
	out->counted = commit & COUNTED;
}

/* Reads the head of the page at `offset` of the source; false: the file is too short or broken. */
static bool page_head_read(const struct stream *stream, uint64_t offset, struct page_head *out)
{
	const struct ftrace_file *file = ftrace_own(stream)->file;
	uint8_t bytes[HEAD_MAX];
	struct error ignored;

	if (!source_peek(stream->sources[0], offset, bytes, file->page.data_at, &ignored))
		return false;
	page_head_parse(file, bytes, out);
	return true;
}

uint64_t page_lost(const struct ftrace_file *file, const uint8_t *data, size_t bytes,
		   const struct page_head *head)
{
	uint64_t at = (uint64_t)file->page.data_at + head->used;

	if (!head->missed || !head->counted || at > bytes || bytes - at < file->long_bytes)
		return 0;
	return ftrace_load(data + at, file->long_bytes, file->big_endian);
}

uint64_t pages_count(const struct ftrace_stream *own)
{
	uint64_t whole = own->size / own->page_bytes, rest = own->size % own->page_bytes;

	return whole + (rest >= own->file->page.data_at);
}

static uint64_t page_offset(const struct ftrace_stream *own, uint64_t page)
{
	return own->offset + page * own->page_bytes;
}

static uint64_t pages_per_run(const struct ftrace_stream *own)
{
	uint32_t bytes = ftrace_packet_bytes(own);

	return own->page_bytes < bytes ? bytes / own->page_bytes : 1;
}

/* Bytes of pages [first, end), of which the last may be cut off. */
static uint64_t run_bytes(const struct ftrace_stream *own, uint64_t first, uint64_t end)
{
	uint64_t to = end * own->page_bytes;

	return (to < own->size ? to : own->size) - first * own->page_bytes;
}

static void head_at(const struct stream *stream, uint64_t page, struct page_head *out)
{
	const struct ftrace_stream *own = ftrace_own(stream);

	*out = (struct page_head){0};
	if (page < pages_count(own))
		page_head_read(stream, page_offset(own, page), out);
}

/* Finds the run from page `first` to the next multiple of a run's length, a loss, or a fall. */
static void run_look(const struct stream *stream, uint64_t first, struct page_run *out)
{
	const struct ftrace_stream *own = ftrace_own(stream);
	uint64_t length = pages_per_run(own), count = pages_count(own);
	uint64_t end = (first / length + 1) * length;

	*out = (struct page_run){.first = first, .end = end < count ? end : count};
	for (uint64_t page = first; page < out->end; page++) {
		struct page_head head;
		head_at(stream, page, &head);
		bool falls = out->last.used && head.used && head.stamp < out->last.stamp;
		if (page > first && (head.missed || falls)) {
			out->end = page;
			break;
		}
		if (!head.used)
			continue;
		if (!out->head.used)
			out->head = head;
		out->last = head;
		out->last_page = page;
	}
	head_at(stream, out->end, &out->next);
}

bool packet_times(const struct stream *stream, const struct packet_info *info, nstime *first,
		  nstime *last, bool *fell)
{
	struct decoder *decoder = ftrace_decoder_new(stream);
	struct batch *batch = batch_new(BATCH_MAX, 0, NULL);
	struct error ignored;
	bool any = false;
	nstime before = NSTIME_MIN;
	enum step step = STEP_ITEM;

	*fell = false;
	if (ftrace_decoder_open(decoder, info, &ignored)) {
		batch->capacity = BATCH_MAX;
		while (step == STEP_ITEM) { /* a batch that ends with damage may have events, too */
			step = ftrace_decoder_next(decoder, batch, &ignored);
			for (uint32_t i = 0; i < batch->count; i++) {
				nstime t = batch->time[i];
				*fell |= t < before;
				before = t;
				*first = !any || t < *first ? t : *first;
				*last = !any || t > *last ? t : *last;
				any = true;
			}
		}
	}
	batch_free(batch);
	ftrace_decoder_free(decoder);
	return any;
}

bool ftrace_watermark(const struct stream *stream, nstime *until)
{
	const struct ftrace_stream *own = ftrace_own(stream);
	struct packet_info page = {.rec.len = own->page_bytes};
	struct page_head head = {0};
	struct stamp_clock clock;
	nstime first;
	bool fell;

	*until = NSTIME_MAX;
	if (!own->file->grows || own->content != CONTENT_PAGES)
		return true;
	*until = NSTIME_MIN;
	for (uint64_t n = pages_count(own); n-- > 0 && !head.used;) {
		head_at(stream, n, &head);
		page.rec.off = page_offset(own, n);
	}
	if (!head.used)
		return true;
	stamp_clock_of(stream, &clock);
	if (!packet_times(stream, &page, &first, until, &fell))
		*until = stamp_to_ns_clamped(&clock, head.stamp);
	return true;
}

/* Sets the end of a run to the time of its last event, if no later stamp bounds it. */
static void end_by_events(const struct stream *stream, const struct page_run *run,
			  struct packet_info *out)
{
	const struct ftrace_stream *own = ftrace_own(stream);
	struct packet_info page = {0};
	nstime first, last;
	bool fell;

	page.rec.off = page_offset(own, run->last_page);
	page.rec.len = (uint32_t)run_bytes(own, run->last_page, run->last_page + 1);
	if (!packet_times(stream, &page, &first, &last, &fell))
		return;
	out->rec.max = last;
	out->rec.flags |= PACKET_EXACT_MAX;
}

/* Sets the range by decoding all events, if stamps and the last event give none. */
static void range_by_events(const struct stream *stream, struct packet_info *out)
{
	bool fell;

	if (packet_times(stream, out, &out->rec.min, &out->rec.max, &fell))
		out->rec.flags |=
			PACKET_EXACT_MIN | PACKET_EXACT_MAX | (fell ? PACKET_UNSORTED : 0);
	else
		out->rec.max = out->rec.min;
}

static void note_lost(const struct stream *stream, const struct page_run *run,
		      struct packet_info *out)
{
	const struct ftrace_stream *own = ftrace_own(stream);
	uint64_t at = page_offset(own, run->first) + own->file->page.data_at;
	struct page_head head;
	struct error ignored;
	uint8_t count[8];

	head_at(stream, run->first, &head);
	if (!head.missed)
		return;
	uint64_t room = own->page_bytes - own->file->page.data_at;
	if (head.counted && head.used <= room && room - head.used >= own->file->long_bytes &&
	    source_peek(stream->sources[0], at + head.used, count, own->file->long_bytes, &ignored))
		out->rec.lost = ftrace_load(count, own->file->long_bytes, own->file->big_endian);
	if (!out->rec.lost)
		out->rec.flags |= PACKET_LOST_UNKNOWN;
}

static void run_record(const struct stream *stream, const struct page_run *run,
		       struct packet_info *out)
{
	const struct ftrace_stream *own = ftrace_own(stream);
	struct stamp_clock clock;

	*out = (struct packet_info){.rec = {.off = page_offset(own, run->first),
					    .len = (uint32_t)run_bytes(own, run->first, run->end),
					    .seq = PACKET_NONE,
					    .events = UINT32_MAX,
					    .cpu = stream->cpu}};
	stamp_clock_of(stream, &clock);
	note_lost(stream, run, out);
	out->rec.min = out->rec.max = stamp_to_ns_clamped(&clock, run->head.stamp);
	if (!run->head.used)
		out->rec.flags |= PACKET_EMPTY;
	else if (run->next.used && !run->next.missed && run->next.stamp >= run->last.stamp)
		out->rec.max = stamp_to_ns_clamped(&clock, run->next.stamp);
	else
		end_by_events(stream, run, out);
	if (own->cut && run->end == pages_count(own)) { /* not empty, so that decoding reports it */
		out->rec.flags &= ~(uint32_t)PACKET_EMPTY;
		out->rec.flags |= PACKET_DAMAGED;
	}
}

static void scan_pages(const struct stream *stream, uint64_t page, struct ftrace_scan_state *state,
		       struct packet_info *out)
{
	struct page_run run;

	run_look(stream, page, &run);
	run_record(stream, &run, out);
	if (!run.head.used) /* an empty page's stamp is no time */
		out->rec.min = out->rec.max = state->any ? state->last : out->rec.min;
	else if (out->rec.max < out->rec.min)
		range_by_events(stream, out);
}

static bool scan_done(const struct stream *stream, const struct scan *scan)
{
	const struct ftrace_stream *own = ftrace_own(stream);

	switch (own->content) {
	case CONTENT_CHUNKS:
		return scan->emitted >= own->npackets;
	case CONTENT_CMDLINES:
		return scan->emitted > 0;
	case CONTENT_PAGES:
		break;
	}
	return scan->next >= own->offset + run_bytes(own, 0, pages_count(own)) || !pages_count(own);
}

static void cmdlines_record(const struct ftrace_stream *own, struct packet_info *out)
{
	*out = (struct packet_info){.rec = {.min = INT64_MIN,
					    .max = INT64_MIN,
					    .off = own->offset,
					    .len = (uint32_t)own->size,
					    .seq = PACKET_NONE,
					    .events = UINT32_MAX,
					    .cpu = -1,
					    .flags = PACKET_BEFORE_ALL}};
}

enum step ftrace_scan(const struct stream *stream, struct scan *scan, struct packet_info *out,
		      struct error *err)
{
	const struct ftrace_stream *own = ftrace_own(stream);
	struct ftrace_scan_state state;

	(void)err;
	if (scan_done(stream, scan))
		return STEP_END;
	memcpy(&state, scan->priv, sizeof state);
	if (own->content == CONTENT_CMDLINES) {
		cmdlines_record(own, out);
	} else if (own->content == CONTENT_CHUNKS) {
		chunks_packet(stream, (uint32_t)scan->emitted, false,
			      state.any ? state.last : NSTIME_MIN, out);
	} else {
		uint64_t from = scan->next > own->offset ? scan->next - own->offset : 0;
		scan_pages(stream, from / own->page_bytes, &state, out);
	}
	state.last = out->rec.max;
	state.any = true;
	scan->next = out->rec.off + packet_bytes(out);
	for (uint32_t i = 0; i < out->nextents; i++)
		scan->next = out->extents[i].off + out->extents[i].len;
	scan->emitted++;
	memcpy(scan->priv, &state, sizeof state);
	return STEP_ITEM;
}

bool ftrace_computed(const struct stream *stream, uint64_t *count)
{
	const struct ftrace_stream *own = ftrace_own(stream);
	uint64_t length = pages_per_run(own);

	switch (own->content) {
	case CONTENT_CHUNKS:
		*count = own->npackets;
		return true;
	case CONTENT_CMDLINES:
		return false;
	case CONTENT_PAGES:
		break;
	}
	*count = (pages_count(own) + length - 1) / length;
	return true;
}

bool ftrace_packet_at(const struct stream *stream, uint64_t i, struct packet_info *out,
		      struct error *err)
{
	const struct ftrace_stream *own = ftrace_own(stream);
	uint64_t length = pages_per_run(own), first = i * length, count = pages_count(own);
	struct page_run run;

	if (own->content == CONTENT_CHUNKS)
		return (i < own->npackets &&
			chunks_packet(stream, (uint32_t)i, true, NSTIME_MIN, out)) ||
		       error_set(err, ERR_FORMAT, "packet %llu is not regular",
				 (unsigned long long)i);
	if (own->content != CONTENT_PAGES || i > count / length || first >= count)
		return error_set(err, ERR_RANGE, "no packet %llu", (unsigned long long)i);
	run_look(stream, first, &run);
	if (run.end != first + length && run.end != count)
		return error_set(err, ERR_FORMAT, "events were lost inside a run of pages");
	run_record(stream, &run, out);
	return (run.head.used && out->rec.max >= out->rec.min) ||
	       error_set(err, ERR_FORMAT, "the stamps of pages fall, or pages are empty");
}
