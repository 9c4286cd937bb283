/*
 * drawing.h - the frame of an SVG picture: one file with its own style sheet and script
 *
 *     drawing_begin()   the head of the file, style, patterns, title
 *     ...               the caller's elements; texts through drawing_text()
 *     drawing_end()     the script that zooms and searches
 *
 * Names in a trace are untrusted bytes. They are written to the file only by drawing_text() and
 * drawing_json(), which escape them.
 */
#ifndef LUA_LIB_DRAWING_DRAWING_H
#define LUA_LIB_DRAWING_DRAWING_H

#include "engine/base/buf.h"
#include "engine/base/error.h"
#include "state/model/value.h"

#include <stdbool.h>
#include <stddef.h>

/* The text of a file of this folder ("picture.css"), embedded at build time. NULL: no such file. */
const char *drawing_part(const char *name);

/*
 * Appends a text as XML character data or attribute value in '"'. Bytes that are not UTF-8,
 * characters that XML 1.0 (2.2) does not allow, marks of writing direction and characters without
 * width become question marks.
 */
void drawing_text(struct buf *out, const char *text, size_t len);
/* Appends a JSON string with the same replacements, which needs no further escaping in XML. */
void drawing_json(struct buf *out, const char *text, size_t len);

/* Units are pixels. */
void drawing_begin(struct buf *out, size_t width, size_t height, const char *title);
/* Appends the scripts "picture.js" and `kind`.js, and ends the file. */
void drawing_end(struct buf *out, const char *kind);

/*
 * Classes of colour, "t0" to "t12" in picture.css. Each state of a thread has its own; values that
 * mean inactive ("idle", "dead", 0, false) are pale; any other has one of eight, by its hash.
 */
enum drawing_tone {
	TONE_RUNNING,
	TONE_READY,
	TONE_SLEEPING,
	TONE_BLOCKED,
	TONE_STILL,
	TONE_OTHERS,
	TONES = TONE_OTHERS + 8
};
/* The colour of a value; `text` NULL: it is no text; `still`: it means inactive. */
enum drawing_tone drawing_tone(const char *text, size_t len, bool still, uint64_t hash);
enum drawing_tone value_tone(const struct value *value);

#endif
