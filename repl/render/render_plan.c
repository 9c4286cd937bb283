/* render_plan.c - see render_event_internal.h */
#include "repl/render/render_event_internal.h"

#include "engine/base/mem.h"

#include <string.h>

struct planner {
	struct arena *arena;
	bool json;
	const struct field_class *without;
	struct render_plan *plan;
	struct buf text;                  /* constant text since the last value */
	struct buf name;                  /* of cells: the column's name so far */
	const struct field_class *beside; /* a scope that may have the same names; NULL: none */
	uint32_t base;
	bool more; /* a separator goes before the next member */
};

static enum leaf leaf_of(const struct planner *planner, const struct field_class *class)
{
	if (class->kind == FIELD_STRING)
		return LEAF_STRING;
	bool labelled = !planner->plan->cells && (class->is_enum || class->nlabels);

	if (class->kind != FIELD_INT || labelled || class->form == FORM_BOOL)
		return LEAF_ANY;
	if (!planner->json && (class->base == 16 || class->is_address))
		return LEAF_HEX;
	if (!planner->json && class->base == 8 && !planner->plan->cells)
		return LEAF_ANY;
	return class->is_signed ? LEAF_SIGNED : LEAF_UNSIGNED;
}

static const char *render_plan_take_text(struct planner *planner, size_t *len)
{
	*len = planner->text.len;
	const char *text =
		arena_padded(planner->arena, buf_text(&planner->text), planner->text.len);
	planner->plan->room += *len;
	buf_clear(&planner->text);
	return text;
}

static void plan_struct(struct planner *planner, const struct field_class *class);

static void plan_value(struct planner *planner, const struct field_class *class)
{
	struct render_plan *plan = planner->plan;
	size_t len;

	if (class->kind == FIELD_STRUCT && plan->cells) {
		buf_add_char(&planner->name, '_');
		plan_struct(planner, class);
		return;
	}
	if (class->kind == FIELD_STRUCT) {
		bool more = planner->more;
		const struct field_class *beside = planner->beside;
		planner->more = false;
		planner->beside = NULL;
		buf_add_char(&planner->text, '{');
		plan_struct(planner, class);
		buf_add_char(&planner->text, '}');
		planner->beside = beside;
		planner->more = more;
		return;
	}
	struct render_token *token = mem_push(plan->tokens, plan->count, plan->capacity);
	token->text = render_plan_take_text(planner, &len);
	token->len = (uint32_t)len;
	token->leaf = leaf_of(planner, class);
	token->base = planner->base;
	token->slot = planner->base + class->slot;
	token->mask = class->bits < 64 ? (UINT64_C(1) << class->bits) - 1 : UINT64_MAX;
	token->class = class;
	token->name = plan->cells ? arena_strdup(planner->arena, buf_text(&planner->name)) : NULL;
	plan->room += NUMBER_ROOM;
	plan->plain = plan->plain && (class->kind == FIELD_INT || class->kind == FIELD_FLOAT);
}

static void plan_name(struct planner *planner, const char *name)
{
	struct sink quoted;

	if (planner->plan->cells) {
		buf_add_text(&planner->name, name);
		return;
	}
	if (!planner->json) {
		buf_add_text(&planner->text, planner->more ? ", " : "");
		buf_add_text(&planner->text, name);
		buf_add_text(&planner->text, " = ");
		return;
	}
	sink_init(&quoted, -1);
	json_text(&quoted, name);
	buf_add_text(&planner->text, planner->more ? "," : "");
	buf_add(&planner->text, quoted.data, quoted.len);
	buf_add_char(&planner->text, ':');
	sink_release(&quoted);
}

/* Is it a copy of a user's stack, from which a call chain was made? It has kilobytes. */
static bool is_long(const struct planner *planner, const struct member *member)
{
	return !planner->json && !planner->plan->cells && member->class->is_blob &&
	       !strcmp(member->name, "stack_user");
}

static void plan_struct(struct planner *planner, const struct field_class *class)
{
	struct buf scratch = {0};

	for (uint32_t i = 0; i < class->nmembers; i++) {
		const struct member *member = &class->members[i];
		size_t nname = planner->name.len;
		if (member->hidden || member->class == planner->without || is_long(planner, member))
			continue;
		plan_name(planner,
			  field_context_name(class, planner->beside, member->name, &scratch));
		if (planner->plan->cells && member->class->kind != FIELD_STRUCT)
			buf_add_char(&planner->text, ',');
		plan_value(planner, member->class);
		planner->name.len = nname;
		planner->more = true;
	}
	buf_release(&scratch);
}

void plan_make(struct arena *arena, bool json, struct render_plan *plan,
	       const struct field_class *a, uint32_t base_a, const struct field_class *b,
	       uint32_t base_b)
{
	struct planner planner = {
		.arena = arena, .json = json, .without = plan->without, .plan = plan};

	plan->plain = true;
	plan->json = json;
	plan->room = COPY_PAD;
	if (plan->cells)
		buf_add_text(&planner.name, plan->cells);
	if (json)
		buf_add_char(&planner.text, '{');
	planner.beside = b;
	planner.base = base_a;
	if (a)
		plan_struct(&planner, a);
	planner.beside = NULL;
	planner.base = base_b;
	if (b)
		plan_struct(&planner, b);
	if (json)
		buf_add_char(&planner.text, '}');
	plan->tail = render_plan_take_text(&planner, &plan->ntail);
	buf_release(&planner.text);
	buf_release(&planner.name);
}

static void render_plan_put_cell(struct sink *out, const struct field *field);

/* Writes the option that the variant holds. */
static void put_option(struct sink *out, const struct field *variant)
{
	struct field_iter iter;

	field_iter_begin(&iter, variant);
	if (field_iter_next(&iter))
		render_plan_put_cell(out, &iter.item);
	field_iter_end(&iter);
}

/* Writes a text as it is, and a field with members as JSON. */
static void render_plan_put_cell(struct sink *out, const struct field *field)
{
	struct buf scratch = {0};
	struct sink text;
	size_t len;

	if (field->class->kind == FIELD_VARIANT) {
		put_option(out, field);
		return;
	}
	if (field_is_text(field)) {
		const uint8_t *bytes = field_bytes(field, &scratch, &len);
		csv_cell(out, bytes, len);
		buf_release(&scratch);
		return;
	}
	sink_init(&text, -1);
	json_field(&text, field);
	csv_cell(out, text.data, text.len);
	sink_release(&text);
}

static void put_any(struct sink *out, const struct render_plan *plan,
		    const struct render_token *token, const struct fields *fields,
		    const struct slot *slots)
{
	const struct slot *slot = &slots[token->slot];
	struct field field = {
		.class = token->class, .in = fields, .slot = *slot, .inside = slots + token->base};

	if (token->leaf == LEAF_STRING && plan->cells)
		csv_cell(out, slot->bytes, (size_t)slot->n);
	else if (plan->cells)
		render_plan_put_cell(out, &field);
	else if (token->leaf == LEAF_STRING && plan->json)
		json_string(out, slot->bytes, (size_t)slot->n);
	else if (token->leaf == LEAF_STRING)
		text_string(out, slot->bytes, (size_t)slot->n);
	else if (plan->json)
		json_field(out, &field);
	else
		text_field(out, &field);
}

void plan_put(struct sink *out, const struct render_plan *plan, const struct fields *fields,
	      const struct slot *slots)
{
	const struct render_token *token = plan->tokens;
	const struct render_token *const end = plan->count ? token + plan->count : token;
	char *to = sink_room(out, plan->room);

	for (; token < end; token++) {
		const struct slot *slot = &slots[token->slot];
		to = copy_padded(to, token->text, token->len);
		if (token->leaf <= LEAF_HEX) {
			to = leaf_put(to, token->leaf, slot->u, token->mask);
			continue;
		}
		sink_end(out, to);
		put_any(out, plan, token, fields, slots);
		to = sink_room(out, plan->room);
	}
	sink_end(out, copy_padded(to, plan->tail, plan->ntail));
}
