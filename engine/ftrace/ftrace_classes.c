/*
 * ftrace_classes.c - the kernel's formats → event classes, and the table by common_type
 *
 * Types without a format are of class "#unknown", whose field `data` has the record's bytes behind
 * common_type. So are types whose format has no usable field.
 */
#include "engine/field_make.h"
#include "engine/ftrace/ftrace_internal.h"
#include "engine/layout_internal.h"

#include <string.h>

/* Makes a class of two fields: common_type, and all bytes behind it. */
static void shape_raw(const struct ftrace_file *file, struct event_class *class)
{
	struct arena *arena = file->trace->arena;
	struct field_class *common = field_make_struct(arena, 1);
	struct field_class *payload = field_make_struct(arena, 1);
	struct field_class *type = field_make_int(arena, file->type_bytes * 8, false);
	struct field_class *data = field_make_bytes(arena, 0, true);

	type->gap = file->type_at * 8;
	type->big_endian = file->big_endian;
	field_make_member(common, "common_type", type);
	data->place = PLACE_REST;
	field_make_member(payload, "data", data);
	class->scope[SCOPE_STREAM_EVENT_CONTEXT] = common;
	class->scope[SCOPE_PAYLOAD] = payload;
}

static bool compile_raw(const struct ftrace_file *file, struct event_class *class,
			struct error *err)
{
	uint32_t registers; /* none: no field refers to another */

	shape_raw(file, class);
	return field_make_layout(file->trace->arena, class, &registers, err);
}

static bool ftrace_classes_add_class(struct ftrace_file *file, const struct tracing_format *format,
				     const char *name, struct error *err)
{
	struct event_class *class = trace_add_class(file->trace, file->part, name);
	struct ftrace_class *own = arena_alloc(file->trace->arena, sizeof *own);

	own->file = file;
	own->format = format;
	class->priv = own;
	class->id = format ? format->id : UINT64_MAX;
	if (format && format->payload) {
		class->scope[SCOPE_STREAM_EVENT_CONTEXT] = format->common;
		class->scope[SCOPE_PAYLOAD] = format->payload;
		class->slot_base[SCOPE_STREAM_EVENT_CONTEXT] = format->slot_base[0];
		class->slot_base[SCOPE_PAYLOAD] = format->slot_base[1];
		class->nslots = format->nslots;
		class->layout = format->layout;
	} else if (!compile_raw(file, class, err)) {
		return false;
	}
	if (class->nslots > file->greatest_slots)
		file->greatest_slots = class->nslots;
	if (format && format->id < TYPES)
		file->class_of[format->id] = class->index;
	return true;
}

/*
 * Returns the machine as `uname -m` prints it: by the option UNAME, else by the prefix of the
 * kernel's symbols of system calls. "": unknown.
 */
static const char *architecture(const struct ftrace_file *file)
{
	static const struct {
		const char *prefix, *machine;
	} known[] = {{"__x64_sys_", "x86_64"},
		     {"__arm64_sys_", "aarch64"},
		     {"__s390x_sys_", "s390x"},
		     {"__riscv_sys_", "riscv64"}};
	const char *name;
	uint64_t start;

	for (size_t i = 0; i < file->nenv; i++)
		if (!strcmp(file->env[i].name, "architecture") && file->env[i].text)
			return file->env[i].text;
	for (size_t i = 0; tracing_symbol_at(file->tracing, i, &start, &name); i++)
		for (size_t k = 0; k < sizeof known / sizeof *known; k++)
			if (!strncmp(name, known[k].prefix, strlen(known[k].prefix)))
				return known[k].machine;
	return "";
}

bool ftrace_add_classes(struct ftrace_file *file, struct error *err)
{
	struct arena *arena = file->trace->arena;

	tracing_syscalls(file->tracing, architecture(file));
	tracing_type_field(file->tracing, &file->type_at, &file->type_bytes);
	if (!file->type_bytes || file->type_bytes > 8 || file->type_at > 64) {
		file->type_at = 0;
		file->type_bytes = 2;
	}
	file->class_of = arena_array(arena, TYPES + 1, sizeof *file->class_of);
	if (!ftrace_classes_add_class(file, NULL, "#unknown", err))
		return false;
	uint32_t unknown = file->trace->classes[file->trace->nclasses - 1]->index;
	for (size_t i = 0; i <= TYPES; i++)
		file->class_of[i] = unknown;
	for (uint32_t i = 0; i < tracing_count(file->tracing); i++) {
		const struct tracing_format *format = tracing_at(file->tracing, i);
		const char *name = arena_printf(arena, "%s:%s", format->system, format->name);
		if (!ftrace_classes_add_class(file, format, name, err))
			return false;
	}
	return true;
}
