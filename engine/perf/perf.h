/* perf.h - the reader of perf.data: files, pipes, directories */
#ifndef ENGINE_PERF_PERF_H
#define ENGINE_PERF_PERF_H

#include "engine/reader.h"

extern const struct reader perf_reader;

/* For tests: most bytes of records in a packet. Not to be changed while traces are open. */
extern uint32_t perf_packet_bytes;
/* Bytes from which on the decompressed copy of a file is kept; tests set fewer. */
extern uint32_t perf_keep_least;

#endif
