/*
 * plan.h - the plan of a scan of events: constraints that it takes, order, columns
 *
 * xBestIndex makes a plan, its table owns it, and idxNum is its number; idxStr has it in words, for
 * EXPLAIN QUERY PLAN.
 */
#ifndef SQL_TABLES_PLAN_H
#define SQL_TABLES_PLAN_H

#include "sql/sql_internal.h"

struct term { /* argument i of xFilter */
	enum column_kind on;
	bool limit, offset; /* LIMIT or OFFSET: `on` and `column` are unused */
	unsigned char op;   /* SQLITE_INDEX_CONSTRAINT_... */
	bool in;            /* the argument is a list, of IN */
	bool constant;      /* a literal of the query: notes on likely mistakes are given */
	uint32_t column;
};

struct plan {
	struct term *terms;
	size_t count, capacity;
	bool ordered, backward; /* by ts, and which way */
	bool timed;             /* some term excludes events without a time */
	bool fields;            /* some column or term needs decoded fields */
	/*
	 * The term `integer field = ?`, if its value and those of terms on ts are all that differ
	 * between scans of a statement; PLAN_NO_KEY: there is none. `indexed`: all columns that the
	 * query reads are members of struct key_row or integer fields.
	 */
	size_t key;
	bool indexed;
	uint64_t columns; /* bit per column that is read; bit 63: any column from 63 on */
	char *words;
};

enum { PLAN_NO_KEY = 1 << 30 };

struct plans {
	bool of_groups; /* of a folded table: scans cannot test yore_where */
	struct plan **items;
	size_t count, capacity;
};

/* xBestIndex: fills `info`, and adds the plan to `plans` at info->idxNum, unless it is there. */
int scan_plan_make(struct plans *plans, const struct shape *shape, struct sql_table *table,
		   sqlite3_index_info *info);
void scan_plans_release(struct plans *plans);

/* The arguments of a scan, parsed. */
struct field_filter { /* a condition on one field */
	uint32_t field;
	bool is_text;
	int64_t low, high;    /* bounds of an integer, inclusive, while terms are read; then */
	struct ranges ranges; /* the integers that pass */
	const void *text;     /* is_text: the field must be equal to this */
	size_t len;
};

struct constraints {
	struct arena *arena; /* reset by constraints_read() */
	nstime begin, end;
	uint64_t *classes, *streams; /* bits */
	int64_t cpu_low, cpu_high;
	int32_t *cpus;
	size_t ncpus;
	bool any_cpu;
	struct field_filter *filters;
	size_t nfilters;
	uint64_t limit; /* rows; UINT64_MAX: no limit */
	bool nothing;   /* no row can meet the constraints */
};

/* Parses xFilter's arguments, and applies sql_host_range(). The caller sets constraints->arena. */
void constraints_read(struct constraints *constraints, const struct plan *plan,
		      const struct shape *shape, const struct sql_host *host, sqlite3_value **argv);

static inline bool constraints_cpu(const struct constraints *constraints, int32_t cpu)
{
	return constraints->any_cpu ||
	       (cpu >= 0 && cpu >= constraints->cpu_low && cpu <= constraints->cpu_high);
}

/* Do the fields meet all conditions on fields? The class must be one of constraints->classes. */
bool constraints_fields(const struct constraints *constraints, const struct shape *shape,
			uint32_t class, const struct fields *fields);

/*
 * Appends CREATE TABLE x(...) for sqlite3_declare_vtab(), with EVENTS_KEY. `timed`: ts is declared
 * NOT NULL, because no row lacks it; only then SQLite requests order for min(ts).
 */
void events_declare(const struct shape *shape, bool timed, struct buf *out);
/* The primary key: SQLite drops duplicate rows of several scans (OR) by it. */
#define EVENTS_KEY "PRIMARY KEY(stream, at_file, at_offset, at_index)) WITHOUT ROWID"

#endif
