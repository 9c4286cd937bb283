/*
 * told_condition.h - the hidden column yore_where of tables of events: a condition of a scan
 *
 *     SELECT * FROM sched_switch WHERE yore_where MATCH 'next_pid in (1, 2) && prev_comm ~ "demo*"'
 *
 * The scan decides it as --where does: by classes and times first, then for many events at once.
 */
#ifndef SQL_TOLD_CONDITION_H
#define SQL_TOLD_CONDITION_H

#include "sql/tables/plan.h"
#include "state/condition.h"

struct told_condition { /* {0}: none */
	struct condition own;
	char *text;      /* NULL: there is none */
	uint64_t number; /* changes with each text */
};

/*
 * Reads what the terms of a scan tell, of which all must hold, and narrows the constraints. What
 * the scan before was told stays compiled. False: *err, and there is none.
 */
MUST_CHECK bool told_condition_begin(struct told_condition *told, struct sql_host *host,
				     const struct plan *plan, sqlite3_value **argv,
				     struct constraints *constraints, struct error *err);
void told_condition_end(struct told_condition *told);

#endif
