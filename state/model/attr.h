/*
 * attr.h - attributes: nodes of the state tree, interned to small numbers
 *
 * Each name and each key is a node: thread[42]/name is root → thread → 42 → name. A path keeps its
 * id for as long as the table lives. A shape is a path with `*` in place of every key. Shapes are
 * numbered densely, so "may this line write that attribute" compares two numbers.
 */
#ifndef STATE_MODEL_ATTR_H
#define STATE_MODEL_ATTR_H

#include "engine/base/buf.h"
#include "state/model/number_map.h"
#include "state/model/value.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ATTR_ROOT 0
#define ATTR_ABSENT UINT32_MAX

struct attrs; /* the table; belongs to one thread */

struct attrs *attrs_new(void);
void attrs_free(struct attrs *attrs);            /* NULL is fine */
uint32_t attrs_count(const struct attrs *attrs); /* ids are 0 .. count-1; the root is 0 */

/*
 * Returns the child of `parent` at `step`; adds it when it is new. A key is an integer, string or
 * boolean, a name is a string. The table copies the text.
 */
uint32_t attr_child(struct attrs *attrs, uint32_t parent, bool is_key, const struct value *step);
static inline uint32_t attr_key(struct attrs *attrs, uint32_t parent, const struct value *key)
{
	return attr_child(attrs, parent, true, key);
}
uint32_t attr_name(struct attrs *attrs, uint32_t parent, const char *name, size_t len);

uint32_t attr_parent(const struct attrs *attrs, uint32_t attr); /* of the root: ATTR_ABSENT */
uint32_t attr_depth(const struct attrs *attrs, uint32_t attr);  /* of the root: 0 */
bool attr_is_key(const struct attrs *attrs, uint32_t attr);     /* a key, not a name */
/* The last step of its path: the key, or the name as a string; text lives as long as the table. */
struct value attr_atom(const struct attrs *attrs, uint32_t attr);
/* Is `step` the last step of its path? True for every step when that is a shape's `[*]`. */
bool attr_has_step(const struct attrs *attrs, uint32_t attr, const struct value *step);
/* The attribute itself, or its ancestor at that depth. */
static inline uint32_t attr_up(const struct attrs *attrs, uint32_t attr, uint32_t depth)
{
	while (attr_depth(attrs, attr) > depth)
		attr = attr_parent(attrs, attr);
	return attr;
}

/*
 * The map from key to attribute of a shape with one key, for keys below KEYS_MAX: rules write the
 * same few thousand attributes again and again. It begins empty; callers add what they looked up in
 * the table. It lives as long as the table.
 */
enum { KEYS_MAX = 1 << 18 };
struct number_map *attrs_keys(struct attrs *attrs, uint32_t shape);

/* Canonical text: cpu[3]/thread, file["/etc/passwd"], "nr-pages"[true]. */
void attr_add_text(const struct attrs *attrs, uint32_t attr, struct buf *out);
/* One step of such a text: a name, or a key; a key of kind none is written as `*`. */
void path_add_step(bool first, bool is_key, const struct value *step, struct buf *out);
/* Path order, step by step: names by bytes, then keys by value_compare(); parents come first. */
int attr_compare(const struct attrs *attrs, uint32_t a, uint32_t b);

/* Shapes: 0 is the root's. */
uint32_t attr_shape(const struct attrs *attrs, uint32_t attr);
uint32_t shape_count(const struct attrs *attrs);
uint32_t shape_parent(const struct attrs *attrs, uint32_t shape); /* of the root: ATTR_ABSENT */
uint32_t shape_attr(const struct attrs *attrs,
		    uint32_t shape); /* its node, whose keys have kind none */
bool shape_is_key(const struct attrs *attrs, uint32_t shape); /* ends in [*] */
bool shape_is_within(const struct attrs *attrs, uint32_t shape, uint32_t above);
uint32_t shape_name(struct attrs *attrs, uint32_t parent, const char *name, size_t len);
uint32_t shape_key(struct attrs *attrs, uint32_t parent);                        /* parent[*] */
void shape_add_text(const struct attrs *attrs, uint32_t shape, struct buf *out); /* cpu[*]/thread */

/* Interns the text: equal texts give the same pointer, which lives as long as the table. */
const char *attrs_text(struct attrs *attrs, const char *text, size_t len);
/* Replaces a string's value->text by the interned copy. */
void attrs_keep(struct attrs *attrs, struct value *value);

#endif
