/*
 * notes.h - what is to be said about rows: a notice, and a row of the table `notes`
 *
 * Programs that load the module do not see notices; the table has them, each text once.
 */
#ifndef SQL_TABLES_NOTES_H
#define SQL_TABLES_NOTES_H

#include "sql/sql_internal.h"

/* Says the text, and keeps it for the table; what was said before is not said again. */
void sql_note(struct sql_host *host, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void sql_notes_free(struct sql_notes *notes); /* NULL is fine */

#endif
