/*
 * ovni_classes.c - models → event classes, and the table by MCV
 *
 * A class is named by its MCV and has the arguments of its model's table as payload. Events that
 * name a CPU by the loom's index have the CPU's physical number as `phyid` in their context; where
 * the loom has no such CPU (or the stream that lists them is not there) they are of a second class
 * of that name, without it. All that no table knows, or whose payload is too short for it, is
 * "#unknown": the MCV and the payload's bytes.
 */
#include "engine/ovni/ovni_internal.h"

#include "engine/layout.h"

static struct field_class *new_field(struct arena *arena, enum field_kind kind, uint32_t bits)
{
	struct field_class *class = arena_alloc(arena, sizeof *class);

	class->kind = kind;
	class->align = 8;
	class->bits = bits;
	class->base = 10;
	class->clock = -1;
	return class;
}

static struct field_class *new_struct(struct arena *arena, uint32_t room)
{
	struct field_class *class = new_field(arena, FIELD_STRUCT, 0);

	class->members = arena_array(arena, room + 1, sizeof *class->members);
	return class;
}

static void add_member(struct field_class *structure, const char *name, struct field_class *class)
{
	structure->members[structure->nmembers++] =
		(struct member){.name = name, .written = name, .class = class};
}

static const uint8_t least_bytes[] = {[OVNI_I32] = 4, [OVNI_U32] = 4, [OVNI_I64] = 8,
				      [OVNI_U64] = 8, [OVNI_STR] = 1, [OVNI_I64S] = 8};

/* `least`: bytes that it takes at least. */
static struct field_class *argument_class(struct arena *arena, enum ovni_type type, bool big_endian,
					  uint32_t *least)
{
	struct field_class *class;

	*least = least_bytes[type];
	if (type == OVNI_STR)
		return new_field(arena, FIELD_STRING, 0);
	class = new_field(arena, FIELD_INT, least_bytes[type] * 8u);
	class->is_signed = type == OVNI_I32 || type == OVNI_I64 || type == OVNI_I64S;
	class->big_endian = big_endian;
	if (type == OVNI_I64S) {
		struct field_class *array = new_field(arena, FIELD_ARRAY, 0);
		array->element = class;
		array->place = PLACE_REST;
		return array;
	}
	return class;
}

static bool compile(struct arena *arena, struct event_class *class, struct error *err)
{
	struct layout_grid grid = {8, 0};
	struct layout *layout;
	uint32_t base;

	if (!layout_compile(&class->scope[SCOPE_PAYLOAD], 1, &base, &grid, arena, &layout, err))
		return error_while(err, "%s", class->name);
	class->slot_base[SCOPE_PAYLOAD] = base;
	class->nslots = layout_slots(layout);
	class->layout = layout;
	return true;
}

/* The CPU's physical number stands nowhere in the event: its slot comes behind the others. */
static void add_phyid(struct arena *arena, struct event_class *class)
{
	struct field_class *context = new_struct(arena, 1);

	add_member(context, "phyid", new_field(arena, FIELD_INT, 32));
	context->members[0].class->is_signed = true;
	class->scope[SCOPE_EVENT_CONTEXT] = context;
	class->slot_base[SCOPE_EVENT_CONTEXT] = class->nslots++;
}

/* Where the argument of that name is, behind others of constant size. */
static void find_argument(const struct ovni_event *event, const char *name, size_t len,
			  struct ovni_piece *piece)
{
	for (uint32_t i = 0; i < event->narguments; i++) {
		const struct ovni_argument *argument = &event->arguments[i];

		piece->type = argument->type;
		if (strlen(argument->name) == len && !memcmp(argument->name, name, len))
			return;
		piece->at += least_bytes[argument->type];
	}
}

/* "creates task %{taskid} with ..." → letters and arguments. */
static void make_pieces(struct arena *arena, const struct ovni_event *event, struct ovni_class *own)
{
	struct ovni_piece *pieces = arena_array(arena, ARGUMENTS_MAX + 1, sizeof *pieces);
	const char *at = event->text;

	own->pieces = pieces;
	own->room = COPY_PAD;
	while (*at && own->npieces <= ARGUMENTS_MAX) {
		struct ovni_piece *piece = &pieces[own->npieces++];
		const char *mark = strchrnul(at, '%');
		piece->len = (uint32_t)(mark - at);
		piece->text = arena_padded(arena, at, piece->len);
		own->room += piece->len + COPY_PAD + NUMBER_ROOM;
		if (!*mark)
			return;
		piece->is_hex = mark[1] == 'x';
		const char *name = strchr(mark, '{') + 1, *end = strchr(name, '}');
		piece->has_argument = true;
		find_argument(event, name, (size_t)(end - name), piece);
		at = end + 1;
	}
}

struct ovni_builder {
	struct trace *trace;
	struct part *part;
	struct ovni_classes *classes;
	bool big_endian;
};

static bool add_class(struct ovni_builder *adding, const struct ovni_event *event, bool tells_cpu,
		      uint32_t *index, uint32_t *least, struct error *err)
{
	struct arena *arena = adding->trace->arena;
	struct event_class *class = trace_add_class(adding->trace, adding->part, event->mcv);
	struct ovni_class *own = arena_alloc(arena, sizeof *own);
	struct field_class *payload = new_struct(arena, event->narguments);

	*least = 0;
	for (uint32_t i = 0; i < event->narguments; i++) {
		uint32_t bytes;
		add_member(payload, event->arguments[i].name,
			   argument_class(arena, event->arguments[i].type, adding->big_endian,
					  &bytes));
		*least += bytes;
	}
	class->scope[SCOPE_PAYLOAD] = payload;
	class->id = (uint64_t)(uint8_t)event->mcv[0] << 16 | (uint64_t)(uint8_t)event->mcv[1] << 8 |
		    (uint8_t)event->mcv[2];
	class->priv = own;
	if (!compile(arena, class, err))
		return false;
	make_pieces(arena, event, own);
	own->big_endian = adding->big_endian;
	own->tells_cpu = tells_cpu;
	if (tells_cpu)
		add_phyid(arena, class);
	if (class->nslots > adding->classes->most_slots)
		adding->classes->most_slots = class->nslots;
	*index = class->index;
	return true;
}

static bool add_event(struct ovni_builder *adding, const struct ovni_event *event,
		      struct ovni_shape *shape, struct error *err)
{
	*shape = (struct ovni_shape){.is_jumbo = event->is_jumbo};
	shape->has_cpu = event->narguments && event->mcv[0] == 'O' && event->mcv[1] != 'C' &&
			 !strcmp(event->arguments[0].name, "cpu");
	if (!add_class(adding, event, shape->has_cpu, &shape->class_index, &shape->least, err))
		return false;
	shape->elsewhere = shape->class_index;
	return !shape->has_cpu ||
	       add_class(adding, event, false, &shape->elsewhere, &shape->least, err);
}

static bool add_unknown(struct ovni_builder *adding, struct error *err)
{
	struct arena *arena = adding->trace->arena;
	struct event_class *class = trace_add_class(adding->trace, adding->part, "#unknown");
	struct ovni_class *own = arena_alloc(arena, sizeof *own);
	struct field_class *payload = new_struct(arena, 2);
	struct field_class *mcv = new_field(arena, FIELD_ARRAY, 0);
	struct field_class *data = new_field(arena, FIELD_ARRAY, 0);

	mcv->element = new_field(arena, FIELD_INT, 8);
	mcv->element->is_text = true;
	mcv->length = 3;
	add_member(payload, "mcv", mcv);
	data->element = new_field(arena, FIELD_INT, 8);
	data->element->base = 16;
	data->place = PLACE_REST;
	data->is_blob = true;
	data->gap = 64; /* the clock */
	add_member(payload, "data", data);
	class->scope[SCOPE_PAYLOAD] = payload;
	class->id = UINT64_MAX;
	own->is_unknown = true;
	class->priv = own;
	adding->classes->unknown = class->index;
	if (!compile(arena, class, err))
		return false;
	if (class->nslots > adding->classes->most_slots)
		adding->classes->most_slots = class->nslots;
	return true;
}

/* Does a stream need the model? One that names none may have events of any. */
static bool is_needed(const struct ovni_model *model, const struct part *part,
		      const struct ovni_metadata *streams, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (strcmp(streams[i].host, part->host) != 0)
			continue;
		if (!streams[i].nmodels)
			return true;
		for (size_t k = 0; k < streams[i].nmodels; k++)
			if (!strcmp(streams[i].models[k].name, model->name))
				return true;
	}
	return model->id == 'O';
}

const struct ovni_classes *ovni_add_classes(struct trace *trace, struct part *part,
					    const struct ovni_metadata *streams, size_t count,
					    bool big_endian, struct error *err)
{
	struct ovni_classes *classes = arena_alloc(trace->arena, sizeof *classes);
	struct ovni_builder adding = {trace, part, classes, big_endian};
	size_t total = 0, n = 0;

	for (size_t i = 0; i < ovni_nmodels; i++)
		total += ovni_models[i].nevents;
	struct ovni_shape *shapes = arena_array(trace->arena, total, sizeof *shapes);
	classes->shapes = shapes;
	for (size_t i = 0; i < ovni_nmodels; i++) {
		const struct ovni_model *model = &ovni_models[i];
		if (!is_needed(model, part, streams, count))
			continue;
		uint16_t *table = arena_array(trace->arena, MCV_CHARS * MCV_CHARS, sizeof *table);
		classes->models[(uint8_t)model->id] = table;
		for (size_t k = 0; k < model->nevents; k++) {
			const char *mcv = model->events[k].mcv;
			if (!add_event(&adding, &model->events[k], &shapes[n++], err))
				return NULL;
			table[mcv[1] * MCV_CHARS + mcv[2]] = (uint16_t)n;
		}
	}
	return add_unknown(&adding, err) ? classes : NULL;
}
