/* notes.c - notes given about rows of a trace, and their table: notes(note; hidden: trace) */
#include "sql/sql_internal.h"

#include "engine/base/mem.h"
#include "rows/row_table.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct sql_notes {
	struct arena *arena;
	const char **texts; /* in order of time */
	size_t count, capacity;
};

static struct sql_notes *notes_of(struct sql_host *host)
{
	if (!host->notes) {
		host->notes = mem_new(sizeof *host->notes);
		host->notes->arena = arena_new();
	}
	return host->notes;
}

void sql_note(struct sql_host *host, const char *fmt, ...)
{
	struct sql_notes *notes = notes_of(host);
	char text[1024];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	for (size_t i = 0; i < notes->count; i++)
		if (!strcmp(notes->texts[i], text))
			return;
	*mem_push(notes->texts, notes->count, notes->capacity) = arena_strdup(notes->arena, text);
	notice(&host->trace->notices, NOTICE_INFO, "%s", text);
}

void sql_notes_free(struct sql_notes *notes)
{
	if (!notes)
		return;
	arena_free(notes->arena);
	mem_free(notes->texts);
	mem_free(notes);
}

static bool notes_fill(struct row_host *host, struct row_list *list, struct error *err)
{
	const struct sql_notes *notes = ((const struct sql_host *)host->arg)->notes;

	(void)err;
	for (size_t i = 0; notes && i < notes->count; i++)
		cell_text(&row_list_add(list)[0], notes->texts[i]);
	return true;
}

static const struct row_column columns[] = {{"note", .type = ROW_TEXT}, ROW_TRACE_COLUMN};
const struct row_table row_notes = {columns, 2, .fill = notes_fill};
