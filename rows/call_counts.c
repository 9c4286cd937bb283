/* call_counts.c - see call_counts.h */
#include "rows/call_counts.h"

#include <inttypes.h>

bool call_counts_unknown(struct call_counts *counts, const struct row_host *host, nstime t,
			 struct error *err)
{
	enum pair_end why;

	if (!pair_doubts_at(host->index, t, &why, err))
		return false;
	counts->without[why]++;
	return true;
}

enum { NOTED_THREADS = 3 }; /* a join may ask for each thread apart */

void call_counts_note(const struct call_counts *counts, struct row_host *host, const int64_t *tid)
{
	static const char *const texts[PAIR_ENDS] = {
		[PAIR_OPEN] = "have no end of their own in the range",
		[PAIR_OTHER] = "are followed by the end of another one",
		[PAIR_LOST] = "lasted while events were lost",
		[PAIR_UNRECORDED] = "lasted while a CPU was not recorded",
		[PAIR_SWITCH] = ("lasted while a switch is missing, and their events do not name "
				 "the thread (see 'yore check')")};
	struct buf why = {0}, of = {0}, text = {0};
	uint64_t without = 0;

	for (size_t i = PAIR_OPEN; i < PAIR_ENDS; i++) {
		if (!counts->without[i])
			continue;
		buf_printf(&why, "%s%" PRIu64 " %s", without ? "; " : "", counts->without[i],
			   texts[i]);
		without += counts->without[i];
	}
	if (tid)
		buf_printf(&of, " of thread %" PRId64, *tid);
	if (without)
		buf_printf(&text,
			   "%" PRIu64 " of %" PRIu64
			   " calls%s have no end that is known, and their dur is NULL: %s",
			   without, counts->all, buf_text(&of), buf_text(&why));
	if (counts->nameless && !tid)
		buf_printf(&text,
			   "%s%" PRIu64 " entries are of an unknown thread and have no row: they "
			   "do not name it, and it is not known who ran",
			   text.len ? "; " : "", counts->nameless);
	if (text.len && (!tid || host->noted_threads < NOTED_THREADS))
		row_note(host, "syscalls: %s", buf_text(&text));
	else if (text.len)
		row_note(host,
			 "syscalls: more threads have calls that have no end that is known, and "
			 "their dur is NULL");
	host->noted_threads += tid && text.len;
	buf_release(&text);
	buf_release(&why);
	buf_release(&of);
}
