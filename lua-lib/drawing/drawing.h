/*
 * drawing.h - the frame of a picture that explains itself: one SVG file with its style and its
 * script
 *
 *     drawing_begin()   the head of the file, style, patterns, title
 *     ...               the caller's elements; texts through drawing_text()
 *     drawing_end()     the script that zooms and searches
 *
 * Names in a trace are somebody else's bytes. They reach the file only through drawing_text() and
 * drawing_json().
 */
#ifndef LUA_LIB_DRAWING_DRAWING_H
#define LUA_LIB_DRAWING_DRAWING_H

#include "engine/base/buf.h"
#include "engine/base/error.h"
#include "state/model/value.h"

#include <stdbool.h>
#include <stddef.h>

/* A file of this folder, embedded when the program is built: "picture.css". NULL: there is none. */
const char *drawing_part(const char *name);

/*
 * Character data or the value of an attribute between '"'. What XML 1.0 (2.2) does not allow, what
 * is not UTF-8, marks that turn the direction of writing, and characters without width are question
 * marks.
 */
void drawing_text(struct buf *out, const char *text, size_t len);
/* A JSON string of the same characters, whose text needs no escape in XML. */
void drawing_json(struct buf *out, const char *text, size_t len);

/* Units are pixels. */
void drawing_begin(struct buf *out, size_t width, size_t height, const char *title);
/* `kind` is the name of its script without ".js", which comes after "picture.js". */
void drawing_end(struct buf *out, const char *kind);

/*
 * Classes of colour, "t0" to "t12" in picture.css. Values of a thread's state have their own; what
 * is still ("idle", "dead", 0, false) is pale; any other has one of eight by its hash.
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
/* Of a value whose text is `text` (NULL: no text) or that is `still`. */
enum drawing_tone drawing_tone(const char *text, size_t len, bool still, uint64_t hash);
enum drawing_tone value_tone(const struct value *value);

#endif
