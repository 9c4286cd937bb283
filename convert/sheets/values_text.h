/* values_text.h - a value of a column as text: exact numbers, bytes in hexadecimal, lists as JSON
 */
#ifndef CONVERT_SHEETS_VALUES_TEXT_H
#define CONVERT_SHEETS_VALUES_TEXT_H

#include "engine/columns/sheet.h"

/* Is there nothing in the text of any value that would have to be quoted? */
bool values_are_numbers(const struct sheet_values *values);
/* Of a row that has a value. */
void values_add_text(const struct sheet_values *values, size_t row, struct buf *out);

#endif
