/* dump_cells.h - a whole state as text: equal texts are equal in all that a later event can see */
#ifndef TESTS_STATE_DUMP_CELLS_H
#define TESTS_STATE_DUMP_CELLS_H

#include "state/replay/cells.h"

void dump_value(const struct value *value, struct buf *out);
/* Cells by path, tombstones by age, section values, ends of losses. */
void dump_cells(const struct cells *cells, struct buf *out);

#endif
