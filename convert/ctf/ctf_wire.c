/*
 * ctf_wire.c - see ctf_wire.h
 *
 * The home of a wire is the innermost element of an array, option of a variant, or scope around it.
 * A path can name a length or selector that is in an earlier scope, in the same home, or in one
 * around it.
 */
#include "convert/ctf/ctf_wire.h"

#include "convert/ctf/ctf_names.h"
#include "engine/base/buf.h"
#include "engine/ctf_own.h"

#include <string.h>

struct written_integer { /* an integer of the source and its wire */
	const struct field_class *node;
	struct wire *wire;
	struct written_integer *before;
};

struct wires {
	struct arena *arena;
	const struct ctf_means *means;
	struct written_integer *known; /* newest first: a length is just before its array */
	uint64_t wrapped;
};

struct wires *wires_new(struct arena *arena, const struct ctf_means *means)
{
	struct wires *wires = arena_alloc(arena, sizeof *wires);

	wires->arena = arena;
	wires->means = means;
	return wires;
}

struct wires *wires_after(struct arena *arena, const struct wires *earlier)
{
	struct wires *wires = wires_new(arena, earlier->means);

	wires->known = earlier->known;
	return wires;
}

uint64_t wires_wrapped(const struct wires *wires)
{
	return wires->wrapped;
}

static struct wire *wire_new(struct wires *w, enum wire_kind kind, const struct field_class *from,
			     const char *name, struct wire *parent)
{
	struct wire *wire = arena_alloc(w->arena, sizeof *wire);

	wire->kind = kind;
	wire->from = from;
	wire->name = name;
	wire->parent = parent;
	wire->align = 1;
	if (parent) {
		wire->scope = parent->scope;
		wire->source = parent->source;
	}
	return wire;
}

static void add_member(struct wires *w, struct wire *to, struct wire *member)
{
	to->members = arena_grow(w->arena, to->members, to->nmembers, &to->capacity,
				 sizeof(struct wire *));
	to->members[to->nmembers++] = member;
	if (to->kind == WIRE_STRUCT && member->align > to->align)
		to->align = member->align;
}

static bool is_home(const struct wire *wire)
{
	return !wire->parent || wire->parent->kind != WIRE_STRUCT;
}

static const struct wire *home_of(const struct wire *wire)
{
	while (!is_home(wire))
		wire = wire->parent;
	return wire;
}

/* Is `inner` in the home `outer`, or in one inside of it? */
static bool is_within(const struct wire *inner, const struct wire *outer)
{
	for (; inner; inner = inner->parent)
		if (inner == outer)
			return true;
	return false;
}

/*
 * The innermost structure around `from` that has a member of this name, where readers look first.
 */
static const struct wire *owner_of_name(const struct wire *from, const char *name)
{
	for (const struct wire *at = from->parent; at; at = at->parent) {
		for (size_t i = 0; at->kind == WIRE_STRUCT && i < at->nmembers; i++)
			if (strcmp(at->members[i]->name, name) == 0)
				return at;
	}
	return NULL;
}

static unsigned structures_up(const struct wire *from, const struct wire *owner)
{
	unsigned up = 0;

	for (const struct wire *at = from->parent; at && at != owner; at = at->parent)
		up += at->kind == WIRE_STRUCT;
	return up;
}

static void reverse(const char **names, size_t count)
{
	for (size_t i = 0; i < count / 2; i++) {
		const char *swapped = names[i];
		names[i] = names[count - 1 - i];
		names[count - 1 - i] = swapped;
	}
}

/*
 * Finds the path to `target`: from a structure that also holds `user`, else from the top of the
 * target's home. *owner is the structure with the path's first name. False: no path.
 */
static bool find_path(const struct wire *user, const struct wire *target, struct wire_path *out,
		      const struct wire **owner)
{
	const struct wire *home = home_of(target), *at = target;

	*out = (struct wire_path){.absolute = !is_within(user, home), .scope = target->scope};
	if (home == target || (out->absolute && home->parent))
		return false;
	do {
		if (out->count == sizeof out->names / sizeof *out->names)
			return false;
		out->names[out->count++] = at->name;
		at = at->parent;
	} while (at != home && (out->absolute || !is_within(user, at)));
	reverse(out->names, out->count);
	out->up = structures_up(user, at);
	*owner = at;
	return true;
}

void wire_path_of(const struct wire *from, struct wire_path *out)
{
	const struct wire *owner;

	find_path(from, from->count, out, &owner);
}

/* The wire of the source's own length or selector, if `user` can name it by a path; else NULL. */
static struct wire *known_wire(const struct wires *w, const struct wire *user,
			       const struct field_class *node)
{
	const struct written_integer *known = w->known;
	const struct wire *owner;
	struct wire_path path;

	if (!node || node->same || w->means->in_front)
		return NULL;
	while (known && known->node != node)
		known = known->before;
	if (!known || !find_path(user, known->wire, &path, &owner) ||
	    (!path.absolute && owner_of_name(user, path.names[0]) != owner))
		return NULL;
	return known->wire;
}

static bool is_length(const struct wire *wire)
{
	return wire && wire->kind == WIRE_INT && !wire->is_signed &&
	       wire->from->form == FORM_NUMBER;
}

/* Do the labels of the tag select the same options as the variant's ranges? */
static bool labels_select(const struct field_class *tag, const struct field_class *variant)
{
	if (!tag->is_enum)
		return false;
	for (uint32_t i = 0; i < variant->nmembers; i++) {
		const struct member *option = &variant->members[i];
		if (!ctf_name_stays(option->name, option->written))
			return false;
		for (uint32_t k = 0; k < option->nranges; k++)
			if (!option->ranges[k].name || !*option->ranges[k].name)
				return false;
	}
	return true;
}

/* Does every option have a range? babeltrace2 2.0.4 aborts on one without, and CTF 2 forbids it. */
static bool all_selected(const struct field_class *variant)
{
	for (uint32_t i = 0; i < variant->nmembers; i++)
		if (!variant->members[i].nranges)
			return false;
	return true;
}

static bool is_selector(const struct wires *w, const struct wire *wire,
			const struct field_class *variant)
{
	if (!wire || wire->kind != WIRE_INT ||
	    (wire->from->form != FORM_NUMBER && wire->from->form != FORM_BOOL))
		return false;
	if (variant->is_optional)
		return w->means->optionals;
	if (!all_selected(variant))
		return false;
	return w->means->any_tag ? wire->from->form == FORM_NUMBER
				 : labels_select(wire->from, variant);
}

static void add_count(struct wires *w, struct wire *of, const char *what, const char *name,
		      uint32_t bits)
{
	struct wire *parent = of->parent;
	struct wire *count = wire_new(w, WIRE_INT, NULL, NULL, parent);

	count->name = arena_printf(w->arena, "%s%s", what, name);
	count->bits = bits;
	count->align = 8;
	count->of = of;
	add_member(w, parent, count);
	of->count = count;
}

/*
 * Puts a value that is no member into a structure, in which the writer's own length or selector can
 * stand before it.
 */
static struct wire *wrap(struct wires *w, struct wire *inner)
{
	struct wire *outer = wire_new(w, WIRE_STRUCT, NULL, inner->name, inner->parent);

	inner->parent = outer;
	inner->name = "value";
	w->wrapped++;
	return outer;
}

static struct wire *make(struct wires *w, const struct field_class *class, const char *name,
			 struct wire *parent);

static uint32_t align_of(const struct wires *w, const struct field_class *class)
{
	return w->means->packed && class->align > 8 ? 8 : class->align;
}

static struct wire *make_int(struct wires *w, const struct field_class *class, const char *name,
			     struct wire *parent)
{
	struct wire *wire = wire_new(w, WIRE_INT, class, name, parent);
	struct written_integer *known = arena_alloc(w->arena, sizeof *known);

	wire->bits = class->bits;
	wire->align = align_of(w, class);
	wire->is_signed = class->is_signed;
	wire->big_endian = class->big_endian;
	if (class->is_variable) {
		wire->is_variable = w->means->variable;
		wire->bits = 64;
		wire->align = 8;
	}
	*known = (struct written_integer){class, wire, w->known};
	w->known = known;
	return wire;
}

static struct wire *make_float(struct wires *w, const struct field_class *class, const char *name,
			       struct wire *parent)
{
	struct wire *wire = wire_new(w, WIRE_FLOAT, class, name, parent);

	wire->bits = class->bits == 16 && !w->means->half ? 32 : class->bits;
	wire->align = align_of(w, class);
	wire->big_endian = class->big_endian;
	return wire;
}

/* Sets the length: the source's own wire, one of the writer's, or a constant. */
static struct wire *set_length(struct wires *w, struct wire *wire)
{
	const struct field_class *class = wire->from;
	struct wire *outer = wire;

	if (class->kind == FIELD_ARRAY && class->place == PLACE_HERE) {
		wire->length = class->length;
		return outer;
	}
	struct wire *known = known_wire(w, wire, class->ref);
	if (is_length(known) && class->kind == FIELD_SEQUENCE) {
		wire->count = known;
		return outer;
	}
	const char *name = wire->name ? wire->name : "element";
	if (wire->parent->kind != WIRE_STRUCT)
		outer = wrap(w, wire);
	add_count(w, wire, OWN_LENGTH, name, 32);
	if (outer != wire)
		add_member(w, outer, wire);
	return outer;
}

static struct wire *make_array(struct wires *w, const struct field_class *class, const char *name,
			       struct wire *parent)
{
	const struct field text = {.class = class};
	struct wire *wire;

	if (field_is_text(&text) || class->is_blob) {
		wire = wire_new(w, class->is_blob ? WIRE_BYTES : WIRE_STRING, class, name, parent);
		wire->align = 8;
		return class->is_blob ? set_length(w, wire) : wire;
	}
	wire = wire_new(w, WIRE_ARRAY, class, name, parent);
	wire->element = make(w, class->element, NULL, wire);
	wire->align = wire->element->align;
	return set_length(w, wire);
}

static struct wire *make_variant(struct wires *w, const struct field_class *class, const char *name,
				 struct wire *parent)
{
	enum wire_kind kind = class->is_optional ? WIRE_OPTIONAL : WIRE_VARIANT;
	struct wire *wire = wire_new(w, kind, class, name, parent), *outer = wire;
	struct wire *known = known_wire(w, wire, class->ref);
	struct ctf_names names = {.arena = w->arena, .identifiers = w->means->identifiers};

	if (is_selector(w, known, class)) {
		wire->count = known;
	} else {
		const char *label = name ? name : "element";
		if (parent->kind != WIRE_STRUCT)
			outer = wrap(w, wire);
		add_count(w, wire, OWN_OPTION, label, class->nmembers > 255 ? 32 : 8);
		if (outer != wire)
			add_member(w, outer, wire);
	}
	for (uint32_t i = 0; i < class->nmembers; i++) {
		const struct member *member = &class->members[i];
		const char *option =
			class->is_optional ? OWN_SOME
					   : ctf_member_name(&names, member->name, member->written);
		add_member(w, wire, make(w, class->members[i].class, option, wire));
	}
	ctf_names_release(&names);
	return outer;
}

static void add_members(struct wires *w, struct wire *to, const struct field_class *class,
			const struct field_class *beside, bool roles, struct ctf_names *names)
{
	struct buf scratch = {0};

	for (uint32_t i = 0; i < class->nmembers; i++) {
		const struct member *member = &class->members[i];
		if (member->hidden || (!roles && member->class->roles))
			continue;
		const char *shown = field_context_name(class, beside, member->name, &scratch);
		const char *name = ctf_member_name(names, shown,
						   shown == member->name ? member->written : shown);
		add_member(w, to, make(w, member->class, name, to));
	}
	buf_release(&scratch);
}

static struct wire *make_struct(struct wires *w, const struct field_class *class, const char *name,
				struct wire *parent)
{
	struct wire *wire = wire_new(w, WIRE_STRUCT, class, name, parent);
	struct ctf_names names = {.arena = w->arena, .identifiers = w->means->identifiers};

	wire->align = w->means->packed ? 1 : class->align;
	add_members(w, wire, class, NULL, true, &names);
	ctf_names_release(&names);
	return wire;
}

static struct wire *make(struct wires *w, const struct field_class *class, const char *name,
			 struct wire *parent)
{
	struct wire *wire;

	switch (class->kind) {
	case FIELD_INT:
		return make_int(w, class, name, parent);
	case FIELD_FLOAT:
		return make_float(w, class, name, parent);
	case FIELD_STRUCT:
		return make_struct(w, class, name, parent);
	case FIELD_VARIANT:
		return make_variant(w, class, name, parent);
	case FIELD_ARRAY:
	case FIELD_SEQUENCE:
		return make_array(w, class, name, parent);
	case FIELD_STRING:
		break;
	}
	wire = wire_new(w, WIRE_STRING, class, name, parent);
	wire->align = 8;
	return wire;
}

/* Makes the members of a root, or of a context that becomes a member of another root. */
static void fill_root(struct wires *wires, struct wire *root,
		      const struct field_class *const *classes, const enum scope *sources,
		      size_t count)
{
	struct ctf_names names = {.arena = wires->arena, .identifiers = wires->means->identifiers};

	for (size_t i = 0; i < count; i++) {
		const struct field_class *beside = i + 1 < count ? classes[i + 1] : NULL;
		if (!classes[i])
			continue;
		root->source = sources[i];
		if (!wires->means->packed && classes[i]->align > root->align)
			root->align = classes[i]->align;
		add_members(wires, root, classes[i], beside, root->scope != SCOPE_PACKET_CONTEXT,
			    &names);
	}
	ctf_names_release(&names);
}

struct wire *wires_add(struct wires *wires, enum scope scope,
		       const struct field_class *const *classes, const enum scope *sources,
		       size_t count)
{
	struct wire *root = wire_new(wires, WIRE_STRUCT, NULL, NULL, NULL);

	root->scope = scope;
	fill_root(wires, root, classes, sources, count);
	return root->nmembers || root->align > 1 ? root : NULL;
}

/* Does `wire` use a length or tag of its own scope? */
static bool counts_inside(const struct wire *wire)
{
	if (wire->count && wire->count->scope == wire->scope)
		return true;
	for (size_t i = 0; i < wire->nmembers; i++)
		if (counts_inside(wire->members[i]))
			return true;
	return wire->element && counts_inside(wire->element);
}

void wires_add_event(struct wires *wires, const struct event_class *class, bool common,
		     struct wire **context, struct wire **payload)
{
	static const enum scope both[] = {SCOPE_STREAM_EVENT_CONTEXT, SCOPE_EVENT_CONTEXT},
				own = SCOPE_PAYLOAD;
	const struct field_class *fields = class->scope[own];
	const struct field_class *contexts[] = {common ? NULL : class->scope[both[0]],
						class->scope[both[1]]};
	uint64_t wrapped = wires->wrapped;
	struct wire *root;

	*context = wires_add(wires, SCOPE_EVENT_CONTEXT, contexts, both, 2);
	bool stays = wires->means->own_context || (*context && !counts_inside(*context));
	if (!*context || (stays && !wires->means->no_context)) {
		*payload = wires_add(wires, own, &fields, &own, 1);
		return;
	}
	wires->wrapped = wrapped;
	*payload = root = wire_new(wires, WIRE_STRUCT, NULL, NULL, NULL);
	root->scope = own;
	*context = wire_new(wires, WIRE_STRUCT, NULL, OWN_CONTEXT, root);
	(*context)->is_context = true;
	fill_root(wires, *context, contexts, both, 2);
	add_member(wires, root, *context);
	fill_root(wires, root, &fields, &own, 1);
	*context = NULL;
}
