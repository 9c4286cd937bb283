/* trace_facts.h - what a trace tells of the machine and of the clock that it was recorded with */
#ifndef CONVERT_TRACE_FACTS_H
#define CONVERT_TRACE_FACTS_H

#include "engine/trace.h"

/* The release of the kernel, by the environment of the first part that has it; NULL: none. */
const char *trace_kernel_release(const struct trace *trace);
/*
 * The clock of the kernel ("monotonic") whose stamps the trace's times are; NULL: they are of none,
 * or shifted, or of several.
 */
const char *trace_counter(const struct trace *trace);

#endif
