/*
 * plan.h - what a scan of events was told at planning: constraints that it takes, order, columns
 *
 * A plan is made by xBestIndex, kept by its table, and named by idxNum; idxStr says the same in
 * words, for EXPLAIN QUERY PLAN.
 */
#ifndef SQL_TABLES_PLAN_H
#define SQL_TABLES_PLAN_H

#include "sql/sql_internal.h"

struct term { /* argument i of xFilter */
	enum column_kind on;
	bool limit, offset; /* then `on` means nothing */
	unsigned char op;   /* SQLITE_INDEX_CONSTRAINT_... */
	bool in;            /* the argument is a list */
	bool constant;      /* it stands in the query: what is odd of it is worth a note */
	uint32_t column;
};

struct plan {
	struct term *terms;
	size_t count, capacity;
	bool ordered, backward; /* by ts, and which way */
	bool timed;             /* some term leaves only events with a time */
	bool fields;            /* some column or term is of a field */
	/*
	 * Each scan may be asked for another value of an integer field, and differs in nothing else
	 * but times: the term; PLAN_NO_KEY: not so. With `indexed` the columns that are read are
	 * what a struct key_row has, and integers.
	 */
	size_t key;
	bool indexed;
	uint64_t columns; /* that are read; the last bit is of all from 63 on */
	char *words;
};

enum { PLAN_NO_KEY = 1 << 30 };

struct plans {
	bool of_groups; /* their scans do not test yore_where */
	struct plan **items;
	size_t count, capacity;
};

/* xBestIndex: fills `info`; the plan is among `plans` afterwards, numbered idxNum. */
int scan_plan_make(struct plans *plans, const struct shape *shape, struct sql_table *table,
		   sqlite3_index_info *info);
void scan_plans_release(struct plans *plans);

/* The meaning of the arguments of a scan. */
struct field_filter { /* a condition on one field */
	uint32_t field;
	bool is_text;
	int64_t low, high;    /* inclusive, as far as terms were read; */
	struct ranges ranges; /* what passes, of an integer */
	const void *text;     /* is_text: equal to this */
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
	uint64_t limit; /* rows */
	bool nothing;   /* no row can come */
};

/* Reads xFilter's arguments, and the host's range; constraints->arena is the caller's. */
void constraints_read(struct constraints *constraints, const struct plan *plan,
		      const struct shape *shape, const struct sql_host *host, sqlite3_value **argv);

static inline bool constraints_cpu(const struct constraints *constraints, int32_t cpu)
{
	return constraints->any_cpu ||
	       (cpu >= 0 && cpu >= constraints->cpu_low && cpu <= constraints->cpu_high);
}

/* Do an event's fields hold all conditions on fields? Its class has them (constraints->classes). */
bool constraints_fields(const struct constraints *constraints, const struct shape *shape,
			uint32_t class, const struct fields *fields);

/*
 * CREATE TABLE x(...) as sqlite3_declare_vtab() wants it, ended by EVENTS_KEY. `timed`: no row's
 * ts is NULL; SQLite asks for rows in order for min(ts) only then.
 */
void events_declare(const struct shape *shape, bool timed, struct buf *out);
/* The key is what OR over several scans tells rows by. */
#define EVENTS_KEY "PRIMARY KEY(stream, at_file, at_offset, at_index)) WITHOUT ROWID"

#endif
