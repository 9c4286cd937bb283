/* sel4.h - the reader of logs of kernel entries that seL4's trace buffer holds */
#ifndef ENGINE_SEL4_SEL4_H
#define ENGINE_SEL4_SEL4_H

#include "engine/reader.h"

extern const struct reader sel4_reader;

#endif
