/*
 * json_location.c - field locations: which fields a length or a selector may be
 *
 *     { "origin": "event-record-payload", "path": ["args", "len"] }     from a scope's structure
 *     { "path": [null, "len"] }           from the structure that holds the user, its parent, ...
 *     ["event-record-payload", "args", "len"]                           the same in SPECRC-7.0
 *
 * `user` is the field class with the location. A path enters an array only if the user is inside
 * it, an optional or variant always: of a variant that the user is not in, it follows every option
 * that has such a field. All fields found share one register (field_same()); if all of them may be
 * absent, user->may_lack is set.
 */
#include "engine/ctf/ctf2.h"

enum { STEPS_MAX = 1 << 16 }; /* of all ways of one location together */

struct up { /* the structures around, inside out */
	struct field_class *node;
	const struct up *up;
};

/* Names follow parents, never the other way round: what goes there and back is left out. */
struct location_search {
	struct ctf2 *t;
	const struct item *item; /* for messages */
	enum location_use use;
	struct field_class *user;
	const char **parts; /* NULL: the parent structure */
	size_t nparts, steps;
	struct field_class *found;
};

static const char *const scope_names[] = {
	[SCOPE_PACKET_HEADER] = "packet-header",
	[SCOPE_PACKET_CONTEXT] = "packet-context",
	[SCOPE_EVENT_HEADER] = "event-record-header",
	[SCOPE_STREAM_EVENT_CONTEXT] = "event-record-common-context",
	[SCOPE_EVENT_CONTEXT] = "event-record-specific-context",
	[SCOPE_PAYLOAD] = "event-record-payload",
	[SCOPE_COUNT] = NULL,
};

static const struct json_frame *open_frame(const struct ctf2 *t, const struct field_class *node)
{
	for (unsigned i = t->nframes; i--;)
		if (t->frames[i].node == node)
			return &t->frames[i];
	return NULL;
}

/* Adds a field at the path's end, if it can be the length or selector and is like those before. */
static bool take_field(struct location_search *s, struct field_class *node)
{
	bool number = node->kind == FIELD_INT && node->form == FORM_NUMBER;

	if (s->use == LOCATION_LENGTH && (!number || node->is_signed))
		return item_fail(s->t, s->item, "the length is no unsigned integer");
	if (s->use == LOCATION_SELECTOR && !number &&
	    (node->kind != FIELD_INT || node->form != FORM_BOOL))
		return item_fail(s->t, s->item, "the selector is neither an integer nor a boolean");
	if (!s->found) {
		s->found = node;
		return true;
	}
	if (node->form != s->found->form || node->is_signed != s->found->is_signed)
		return item_fail(s->t, s->item, "the location has fields of different kinds");
	struct field_class *one = field_same(s->found), *other = field_same(node);
	if (one != other)
		other->same = one;
	return true;
}

static bool enter(struct location_search *s, struct field_class *node, const struct up *up,
		  size_t i);

static bool json_location_walk(struct location_search *s, struct field_class *node,
			       const struct up *up, size_t i)
{
	const struct up own = {node, up};

	if (++s->steps > STEPS_MAX)
		return item_fail(s->t, s->item, "the location has too many ways");
	if (i == s->nparts)
		return item_fail(s->t, s->item, "the location ends at a structure");
	if (!s->parts[i])
		return up ? json_location_walk(s, up->node, up->up, i + 1)
			  : item_fail(s->t, s->item, "the location goes above its scope");
	for (uint32_t k = 0; k < node->nmembers; k++)
		if (node->members[k].class && node->members[k].written == s->parts[i])
			return enter(s, node->members[k].class, &own, i + 1);
	return true; /* another option may have it */
}

static bool enter_options(struct location_search *s, struct field_class *node, const struct up *up,
			  size_t i)
{
	const struct json_frame *open = open_frame(s->t, node);

	if (open)
		return enter(s, node->members[open->current].class, up, i);
	s->user->may_lack = true;
	for (uint32_t k = 0; k < node->nmembers; k++)
		if (!enter(s, node->members[k].class, up, i))
			return false;
	return true;
}

static bool enter(struct location_search *s, struct field_class *node, const struct up *up,
		  size_t i)
{
	if (node == s->user)
		return true; /* the user itself is not decoded yet */
	switch (node->kind) {
	case FIELD_STRUCT:
		return json_location_walk(s, node, up, i);
	case FIELD_VARIANT:
		return enter_options(s, node, up, i);
	case FIELD_ARRAY:
	case FIELD_SEQUENCE:
		if (!open_frame(s->t, node))
			return item_fail(s->t, s->item,
					 "the location leads into an array that it does not stand "
					 "in");
		return enter(s, node->element, up, i);
	default:
		return i == s->nparts
			       ? take_field(s, node)
			       : item_fail(s->t, s->item,
					   "the location leads through what is no structure");
	}
}

/* From the structure that holds the user: the structures that are not finished are around it. */
static bool search_relative(struct location_search *s)
{
	struct up ups[CTF2_MAX_DEPTH + 1];
	const struct up *up = NULL;
	unsigned n = 0;

	for (unsigned i = 0; i < s->t->nframes; i++)
		if (s->t->frames[i].node->kind == FIELD_STRUCT) {
			ups[n] = (struct up){s->t->frames[i].node, up};
			up = &ups[n++];
		}
	return up ? json_location_walk(s, up->node, up->up, 0)
		  : item_fail(s->t, s->item, "no structure here");
}

static bool read_path(struct ctf2 *t, const struct item *path, size_t from,
		      struct location_search *s)
{
	size_t count = item_count(path);

	if (count <= from)
		return item_fail(t, path, "the path is empty");
	s->parts = arena_array(t->scratch, count, sizeof *s->parts);
	for (size_t i = from; i < count; i++) {
		struct item part = item_element(path, i);
		const char *name = NULL;
		if (!item_string(t, &part, &name))
			return false;
		if (!name && s->nparts && s->parts[s->nparts - 1])
			s->nparts--; /* there and back */
		else
			s->parts[s->nparts++] = name;
	}
	if (!s->nparts)
		return item_fail(t, path, "the path ends where it begins");
	return s->parts[s->nparts - 1] || item_fail(t, path, "the path ends with null");
}

static bool read_location(struct ctf2 *t, const struct item *item, int *scope,
			  struct location_search *s)
{
	static const struct property table[] = {{"origin", VALUE_STRING, DIALECT_FINAL, 1, 0},
						{"path", VALUE_ARRAY, DIALECT_ANY, 1, 1}};
	struct item found[2];
	unsigned word = 0;

	*scope = -1;
	if (item_is(item, VALUE_ARRAY)) {
		struct item first = item_element(item, 0);
		if (!item_dialect(t, item, DIALECT_RC7, "a location that is an array"))
			return false;
		if (!first.value)
			return item_fail(t, item, "the location has no scope");
		if (!item_word(t, &first, scope_names, &word) || !read_path(t, item, 1, s))
			return false;
		*scope = (int)word;
		return true;
	}
	if (!item_properties(t, item, 0, table, 2, found) ||
	    !item_word(t, &found[0], scope_names, &word) || !read_path(t, &found[1], 0, s))
		return false;
	if (found[0].value)
		*scope = (int)word;
	return true;
}

bool location_resolve(struct ctf2 *t, const struct item *item, enum location_use use,
		      struct field_class *user)
{
	struct location_search s = {.t = t, .item = item, .use = use, .user = user};
	int scope;

	if (!read_location(t, item, &scope, &s))
		return false;
	if (t->dry)
		return true;
	if (scope < 0 ? !search_relative(&s)
		      : scope <= t->scope && t->roots[scope] &&
				!json_location_walk(&s, t->roots[scope], NULL, 0))
		return false;
	user->ref = s.found;
	return s.found ||
	       item_fail(t, item, "no such field is decoded before the one that needs it");
}
