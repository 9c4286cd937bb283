/* ftrace.h - the reader of trace.dat and of raw ring-buffer pages beside a tracefs events folder */
#ifndef ENGINE_FTRACE_FTRACE_H
#define ENGINE_FTRACE_FTRACE_H

#include "engine/reader.h"

extern const struct reader ftrace_reader;

#endif
