/* dump_cells.h - prints a whole state: texts are equal if no later event can see a difference */
#ifndef TESTS_STATE_DUMP_CELLS_H
#define TESTS_STATE_DUMP_CELLS_H

#include "state/replay/cells.h"

void dump_value(const struct value *value, struct buf *out);
/* Cells by path, tombstones by age, section values, ends of losses. */
void dump_cells(const struct cells *cells, struct buf *out);

#endif
