/*
 * notes_vtab.c - the table `notes`: what was said about the rows of this connection so far
 *
 *     notes(note; hidden: trace)
 */
#include "sql/tables/notes.h"
#include "sql/tables/rows.h"

static bool fill(struct sql_host *host, struct row_list *list, struct error *err)
{
	const char *text;

	(void)err;
	for (size_t i = 0; (text = sql_note_at(host, i)); i++)
		cell_text(&row_list_add(list)[0], text);
	return true;
}

const struct rows_kind rows_notes = {
	.declaration = "CREATE TABLE x(note TEXT, trace TEXT HIDDEN)", .ncolumns = 2, .fill = fill};
