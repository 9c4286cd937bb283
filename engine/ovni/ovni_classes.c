/*
 * ovni_classes.c - models → event classes, and the table by MCV
 *
 * A class is named by its MCV, and its payload has the arguments of the model's table. Events that
 * name a CPU by its index in the loom have the CPU's physical number as `phyid` in their context.
 * If the loom has no such CPU, or the stream that lists CPUs is missing, they are of a second class
 * of the same name, without `phyid`. Events of unknown MCVs, or with too short a payload, are of
 * class
 * "#unknown": the MCV and the payload's bytes.
 */
#include "engine/ovni/ovni_internal.h"

#include "engine/field_make.h"

static const uint8_t least_bytes[] = {[OVNI_I32] = 4, [OVNI_U32] = 4, [OVNI_I64] = 8,
				      [OVNI_U64] = 8, [OVNI_STR] = 1, [OVNI_I64S] = 8};

/* Makes the field class of an argument; `least` is its least size in bytes. */
static struct field_class *argument_class(struct arena *arena, enum ovni_type type, bool big_endian,
					  uint32_t *least)
{
	bool is_signed = type == OVNI_I32 || type == OVNI_I64 || type == OVNI_I64S;

	*least = least_bytes[type];
	if (type == OVNI_STR)
		return field_make(arena, FIELD_STRING);
	struct field_class *class = field_make_int(arena, least_bytes[type] * 8u, is_signed);
	class->big_endian = big_endian;
	if (type == OVNI_I64S) {
		struct field_class *array = field_make(arena, FIELD_ARRAY);
		array->element = class;
		array->place = PLACE_REST;
		return array;
	}
	return class;
}

/* Adds `phyid` to the context. Its value is not in the event; its slot is behind all others. */
static void add_phyid(struct arena *arena, struct event_class *class)
{
	struct field_class *context = field_make_struct(arena, 1);

	field_make_member(context, "phyid", field_make_int(arena, 32, true));
	class->scope[SCOPE_EVENT_CONTEXT] = context;
	class->slot_base[SCOPE_EVENT_CONTEXT] = class->nslots++;
}

/* Finds the argument of that name and its offset; arguments in front of it have constant size. */
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

/* Splits "creates task %{taskid} with ..." into pieces of letters and arguments. */
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

static bool ovni_classes_add_class(struct ovni_builder *adding, const struct ovni_event *event,
				   bool tells_cpu, uint32_t *index, uint32_t *least,
				   struct error *err)
{
	struct arena *arena = adding->trace->arena;
	struct event_class *class = trace_add_class(adding->trace, adding->part, event->mcv);
	struct ovni_class *own = arena_alloc(arena, sizeof *own);
	struct field_class *payload = field_make_struct(arena, event->narguments);
	uint32_t registers;

	*least = 0;
	for (uint32_t i = 0; i < event->narguments; i++) {
		uint32_t bytes;
		field_make_member(payload, event->arguments[i].name,
				  argument_class(arena, event->arguments[i].type,
						 adding->big_endian, &bytes));
		*least += bytes;
	}
	class->scope[SCOPE_PAYLOAD] = payload;
	class->id = (uint64_t)(uint8_t)event->mcv[0] << 16 | (uint64_t)(uint8_t)event->mcv[1] << 8 |
		    (uint8_t)event->mcv[2];
	class->priv = own;
	if (!field_make_layout(arena, class, &registers, err))
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

static bool ovni_classes_add_event(struct ovni_builder *adding, const struct ovni_event *event,
				   struct ovni_shape *shape, struct error *err)
{
	*shape = (struct ovni_shape){.is_jumbo = event->is_jumbo};
	shape->has_cpu = event->narguments && event->mcv[0] == 'O' && event->mcv[1] != 'C' &&
			 !strcmp(event->arguments[0].name, "cpu");
	if (!ovni_classes_add_class(adding, event, shape->has_cpu, &shape->class_index,
				    &shape->least, err))
		return false;
	shape->elsewhere = shape->class_index;
	return !shape->has_cpu ||
	       ovni_classes_add_class(adding, event, false, &shape->elsewhere, &shape->least, err);
}

static bool add_unknown(struct ovni_builder *adding, struct error *err)
{
	struct arena *arena = adding->trace->arena;
	struct event_class *class = trace_add_class(adding->trace, adding->part, "#unknown");
	struct ovni_class *own = arena_alloc(arena, sizeof *own);
	struct field_class *payload = field_make_struct(arena, 2);
	struct field_class *mcv = field_make(arena, FIELD_ARRAY);
	struct field_class *data = field_make(arena, FIELD_ARRAY);
	uint32_t registers;

	mcv->element = field_make_int(arena, 8, false);
	mcv->element->is_text = true;
	mcv->length = 3;
	field_make_member(payload, "mcv", mcv);
	data->element = field_make_int(arena, 8, false);
	data->element->base = 16;
	data->place = PLACE_REST;
	data->is_blob = true;
	data->gap = 64; /* the clock */
	field_make_member(payload, "data", data);
	class->scope[SCOPE_PAYLOAD] = payload;
	class->id = UINT64_MAX;
	own->is_unknown = true;
	class->priv = own;
	adding->classes->unknown = class->index;
	if (!field_make_layout(arena, class, &registers, err))
		return false;
	if (class->nslots > adding->classes->most_slots)
		adding->classes->most_slots = class->nslots;
	return true;
}

/* May streams of the part use the model? Those that name none may use any; O is in every stream. */
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
			if (!ovni_classes_add_event(&adding, &model->events[k], &shapes[n++], err))
				return NULL;
			table[mcv[1] * MCV_CHARS + mcv[2]] = (uint16_t)n;
		}
	}
	return add_unknown(&adding, err) ? classes : NULL;
}
