/*
 * value_bytes.h - values as they are stored, in checkpoints, timelines and summaries of shards
 *
 *     kind << 1 | negative, then: a number; the length of a text and its bytes; 0 or 1     (varints)
 */
#ifndef STATE_MODEL_VALUE_BYTES_H
#define STATE_MODEL_VALUE_BYTES_H

#include "state/model/attr.h"
#include "state/model/value.h"

void value_write(struct buf *out, const struct value *value);
/* Behind it; its text is kept by the attribute table. NULL: it is damaged, or does not end in time. */
const uint8_t *value_read(const uint8_t *at, const uint8_t *end, struct attrs *attrs,
			  struct value *out);

#endif
