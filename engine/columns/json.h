/*
 * json.h - fields as JSON text: integers exact whatever their size, bytes that are not UTF-8 as
 * \u00XX, NaN and infinities as strings, an enumeration as {"value":...,"labels":[...]}
 */
#ifndef ENGINE_COLUMNS_JSON_H
#define ENGINE_COLUMNS_JSON_H

#include "engine/base/buf.h"
#include "engine/event.h"

void json_add_text(struct buf *out, const char *text); /* with its quotes */
/* A member's name and colon, with a comma in front unless '{' or '[' was added last. */
void json_add_key(struct buf *out, const char *key);
/*
 * Appends JSON by a format in which ' stands for ". Conversions: %s and %.*s a text, with its
 * quotes; %i a boolean; %d %u %lld %llu %zu numbers. A comma that the format begins with is left
 * out at the beginning of `out`, and behind '{', '[' and ':'.
 */
void json_printf(struct buf *out, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void json_add_float(struct buf *out, double number);
void json_add_field(struct buf *out, const struct field *field);
/* One object with the members of all scopes whose bit (1 << scope) is set and that the event has.
 */
void json_add_scopes(struct buf *out, const struct fields *fields, unsigned scopes);

#endif
