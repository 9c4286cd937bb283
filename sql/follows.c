/*
 * follows.c - may the rows of a statement come range after range, while the trace grows?
 *
 * They may if SQLite steps through one scan of events in order of time, and makes each row from one
 * event. This file reads that from SQLite's bytecode (EXPLAIN) and its plan:
 *
 *     AggStep, AggInverse, AggValue      a value of many rows
 *     DecrJumpZero, OffsetLimit          a number of rows
 *     VOpen, more than once or never     a join, a subquery, OR by several scans
 *     USE TEMP B-TREE FOR ...            rows are put in an order, or compared with each other
 *
 * A plan with an unknown line is refused, too. The order of the scan is part of its own plan
 * (plan.h); may_follow() of events_vtab.c checks it when the scan begins.
 */
#include "sql/extension.h"
#include "sql/sql_internal.h"

#include "engine/base/mem.h"

#include <string.h>

struct statement_traits {
	bool aggregate, limit;
	unsigned scans;  /* of virtual tables */
	char sorted[32]; /* what a temporary B-tree is for; "": there is none */
	char other[96];  /* the first unknown line of the plan; "": there is none */
};

static bool is_one_of(const char *word, const char *const *words)
{
	while (*words && strcmp(word, *words) != 0)
		words++;
	return *words != NULL;
}

static void note_opcode(struct statement_traits *found, sqlite3_stmt *explain)
{
	static const char *const aggregates[] = {"AggStep",  "AggStep1", "AggInverse",
						 "AggValue", "AggFinal", NULL};
	static const char *const limits[] = {"DecrJumpZero", "OffsetLimit", NULL};
	const char *opcode = (const char *)sqlite3_column_text(explain, 1);

	if (!opcode)
		return;
	found->aggregate |= is_one_of(opcode, aggregates);
	found->limit |= is_one_of(opcode, limits);
	found->scans += !strcmp(opcode, "VOpen");
}

static bool follows_begins(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

static void note_plan(struct statement_traits *found, sqlite3_stmt *explain)
{
	static const char tree[] = "USE TEMP B-TREE FOR ";
	const char *line = (const char *)sqlite3_column_text(explain, 3);

	if (!line)
		return;
	if (follows_begins(line, tree))
		sqlite3_snprintf(sizeof found->sorted, found->sorted, "%s", line + sizeof tree - 1);
	else if (!*found->other && !follows_begins(line, "SCAN ") &&
		 !follows_begins(line, "CO-ROUTINE ") && !follows_begins(line, "LIST SUBQUERY "))
		sqlite3_snprintf(sizeof found->other, found->other, "%s", line);
}

static int explain(sqlite3 *db, const char *how, const char *text, struct statement_traits *found,
		   void (*note)(struct statement_traits *found, sqlite3_stmt *explain))
{
	char *written = sqlite3_mprintf("%s %s", how, text);
	sqlite3_stmt *stmt = NULL;
	int code = sqlite3_prepare_v2(db, written, -1, &stmt, NULL);

	while (code == SQLITE_OK && sqlite3_step(stmt) == SQLITE_ROW)
		note(found, stmt);
	if (code == SQLITE_OK)
		code = sqlite3_finalize(stmt);
	sqlite3_free(written);
	return code;
}

/* Why the statement cannot be followed; NULL: it can. */
static const char *why_not(const struct statement_traits *found)
{
	if (found->aggregate || follows_begins(found->sorted, "GROUP BY"))
		return "a value of many rows is not known before the last of them: 'do' and "
		       "'stats' with --follow go on counting";
	if (strstr(found->sorted, "DISTINCT"))
		return "DISTINCT compares with all rows: 'do' with --follow counts by keys";
	if (*found->sorted)
		return "rows come in the order of ts, and would have to be sorted: ORDER BY ts "
		       "alone, or nothing";
	return found->limit ? "LIMIT: leave it out, and end with | head" : NULL;
}

bool sql_extension_follows(sqlite3 *db, struct sql_context *context, const char *text,
			   struct error *err)
{
	struct sql_host *host = context->hosts;
	struct statement_traits found = {0};

	host->planned = false;
	if (explain(db, "EXPLAIN", text, &found, note_opcode) != SQLITE_OK ||
	    explain(db, "EXPLAIN QUERY PLAN", text, &found, note_plan) != SQLITE_OK)
		return error_set(err, ERR_QUERY, "%s", sqlite3_errmsg(db));
	const char *why = why_not(&found);
	if (why)
		return error_set(err, ERR_QUERY, "--follow: %s", why);
	if (found.scans > 1 || *found.other)
		return error_set(err, ERR_QUERY,
				 "--follow: rows must be of one scan of events, without joins, "
				 "subqueries and UNION, and IN in the place of OR%s%s",
				 *found.other ? "; SQLite says: " : "", found.other);
	return (found.scans && host->planned) ||
	       error_set(err, ERR_QUERY,
			 "--follow: rows must be those of 'events' or of an event class: other "
			 "tables are not final event by event");
}
