/* row_host.c - see row_host.h */
#include "rows/row_host.h"
#include "rows/comms.h"
#include "rows/lookup.h"
#include "rows/row_table.h"

#include "state/state.h"

#include <stdarg.h>
#include <stdio.h>

void row_host_release(struct row_host *host)
{
	lookups_free(host->lookups);
	comms_free(host->comms);
	threads_free(host->threads);
	host->lookups = NULL;
	host->comms = NULL;
	host->threads = NULL;
}

bool row_host_bounds(struct row_host *host, nstime *first, nstime *last, struct error *err)
{
	if (!host->bounds_known && !events_range(host->index, &host->first, &host->last, err))
		return false;
	host->bounds_known = true;
	*first = host->first;
	*last = host->last;
	return true;
}

bool row_host_state(struct row_host *host, struct state **out, struct error *err)
{
	return host->get_state(host->arg, out, err);
}

void row_note(struct row_host *host, const char *fmt, ...)
{
	char text[1024];
	va_list args;

	if (!host->say)
		return;
	va_start(args, fmt);
	vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	host->say(host->arg, text);
}

bool row_host_look_up(struct row_host *host, struct state *state, const struct query *query,
		      bool *noted, struct error *err)
{
	struct buf note = {0};
	bool ok = state_lookup(state, query, NULL, &note, err);

	if (noted)
		*noted = ok && note.len;
	if (ok && note.len)
		row_note(host, "%s", buf_text(&note));
	buf_release(&note);
	return ok;
}
