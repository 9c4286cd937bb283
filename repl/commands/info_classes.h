/* info_classes.h - stream classes and event classes as `info` prints them */
#ifndef REPL_COMMANDS_INFO_CLASSES_H
#define REPL_COMMANDS_INFO_CLASSES_H

#include "engine/trace.h"
#include "repl/sink.h"

/* What packets and events of a stream share: the member "stream_classes" of a JSON object. */
void info_json_stream_classes(const struct trace *trace, struct sink *out);
void info_text_stream_classes(const struct trace *trace, struct sink *out);
/* Event classes: the member "classes". */
void info_json_classes(const struct trace *trace, struct sink *out);
void info_text_classes(const struct trace *trace, struct sink *out);

#endif
