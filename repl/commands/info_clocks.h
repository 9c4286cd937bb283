/* info_clocks.h - the clocks of a trace as `info` prints them, and names of traces and clocks */
#ifndef REPL_COMMANDS_INFO_CLOCKS_H
#define REPL_COMMANDS_INFO_CLOCKS_H

#include "engine/trace.h"
#include "repl/sink.h"

void info_json_uuid(bool has, const uint8_t uuid[16], struct sink *out);
/* What CTF 2 calls a trace, a clock or its origin; nothing is written when it has no name. */
void info_json_full_name(const char *key, const struct full_name *name, struct sink *out);
void info_text_full_name(const char *label, const struct full_name *name, struct sink *out);

/* The member "clocks" of a JSON object; the lines of the text. */
void info_json_clocks(const struct trace *trace, struct sink *out);
void info_text_clocks(const struct trace *trace, struct sink *out);

#endif
