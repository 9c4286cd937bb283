/*
 * scan_numbers.h - integers of a scan's rows, loaded many rows at a time instead of decoding each
 *
 * SQLite asks for a value of a row, and then for one of the next. The values of one field of the
 * events ahead in the same batch are loaded at once, where the field lies at a fixed place, and
 * wait for the rows to come; a merge may turn to other streams meanwhile.
 */
#ifndef SQL_SCAN_NUMBERS_H
#define SQL_SCAN_NUMBERS_H

#include "sql/plan.h"

struct scan_numbers;

/* Both are borrowed. */
struct scan_numbers *scan_numbers_new(const struct shape *shape, const struct trace *trace);
void scan_numbers_free(struct scan_numbers *numbers); /* NULL is fine */

/*
 * The integer in a field, by number, of entry i of the run's batch, whose class has the field;
 * `backward`: lower entries come next. False: the event must be decoded.
 */
bool scan_number(struct scan_numbers *numbers, const struct run *run, uint32_t i, uint32_t field,
		 bool backward, int64_t *out);

#endif
