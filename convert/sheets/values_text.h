/* values_text.h - a value of a column as text: exact numbers, bytes in hexadecimal, lists as JSON
 */
#ifndef CONVERT_SHEETS_VALUES_TEXT_H
#define CONVERT_SHEETS_VALUES_TEXT_H

#include "engine/columns/sheet.h"

/* Are texts of all values plain numbers or booleans, which need no quotes? */
bool values_are_numbers(const struct sheet_values *values);
/* Appends the value of a row; the row must have one. */
void values_add_text(const struct sheet_values *values, size_t row, struct buf *out);

#endif
