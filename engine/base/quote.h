/*
 * quote.h - bytes as text for other programs: JSON strings, CSV cells, base64, numbers
 *
 * Most traces have many strings. They are scanned eight bytes at a time for characters that need an
 * escape; a string without any, as nearly all are, is copied as a whole.
 */
#ifndef ENGINE_BASE_QUOTE_H
#define ENGINE_BASE_QUOTE_H

#include "engine/base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Length of the UTF-8 character at `at`, where `left` >= 1 bytes are left; 0: invalid (RFC 3629).
 */
size_t utf8_length(const uint8_t *at, size_t left);
bool utf8_is(const uint8_t *at, size_t len); /* are all of the bytes valid UTF-8? */
/* Appends the bytes as UTF-8; invalid ones become the characters U+0080 to U+00FF. */
void utf8_mend(struct buf *out, const uint8_t *at, size_t len);
void utf8_add(struct buf *out, uint32_t code); /* a code point */

/* Between '"': control characters escaped, each byte that is not UTF-8 as \u00XX. */
void quote_json(struct buf *out, const void *bytes, size_t len);
/* Between '"', for people: \n \t \" \\, others and bytes that are not UTF-8 as \xHH. */
void quote_text(struct buf *out, const void *bytes, size_t len);
/* A cell of RFC 4180: between '"' where it must be. */
void quote_csv(struct buf *out, const void *bytes, size_t len);
/*
 * Text for a terminal: control characters (C0, DEL, C1), marks that turn the direction of writing,
 * characters without width (U+00AD, U+200B to U+200D, U+2060 to U+2064, U+FEFF), separators of
 * lines and bytes that are not UTF-8 become \xHH, \uHHHH, \n, \t; all else stays as it is.
 * `lines`: '\n' and '\t' stay, too.
 */
void quote_printable(struct buf *out, const void *bytes, size_t len, bool lines);
/* How many bytes quote_printable() with `lines` leaves unchanged at the beginning. */
size_t printable_length(const void *bytes, size_t len);

/* Appends the character at `at` escaped; `left` >= 1 bytes are left. Returns its length there. */
size_t quote_character(struct buf *out, const void *at, size_t left);

/* Appends two hexadecimal digits for each byte. */
void quote_hex(struct buf *out, const void *bytes, size_t len);
/* A UUID as 8-4-4-4-12 digits; returns them. */
enum { UUID_TEXT = 37 };
char *uuid_put(const uint8_t uuid[16], char text[UUID_TEXT]);
/* Base64 (RFC 4648, section 4) between '"'. */
void quote_base64(struct buf *out, const void *bytes, size_t len);
/*
 * Numbers with a decimal point, whatever the locale of the program that uses the library: printed,
 * and read as by strtod().
 */
void quote_number(struct buf *out, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
double read_number(const char *text, char **end);
/* The shortest decimal that reads back as the same double, a finite one; it has a '.' or an 'e'. */
void add_shortest(struct buf *out, double number);

#endif
