/* perf.h - the reader of perf.data: files, pipes, directories */
#ifndef ENGINE_PERF_PERF_H
#define ENGINE_PERF_PERF_H

#include "engine/reader.h"

extern const struct reader perf_reader;

#endif
