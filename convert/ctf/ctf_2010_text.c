/*
 * ctf_2010_text.c - metadata of the 2010 proposal
 *
 * Types have no names and stand where they are used. For what the proposal cannot express yore adds
 * words of its own (docs/ctf.md): variants and optionals, ranges of an enumeration, contexts of
 * packets, sections without clock.
 */
#include "convert/ctf/ctf_internal.h"

#include "convert/ctf/ctf_names.h"
#include "engine/base/mem.h"
#include "engine/ctf_own.h"

#include <string.h>

static void ctf_2010_text_add_type(struct buf *out, const struct wire *wire);

static void add_flag(struct buf *out, const char *key, bool value)
{
	buf_printf(out, " %s = %s;", key, value ? "true" : "false");
}

/* ---- types ---- */

/* Adds an enumeration's labels. This language needs a name for each: empty ones are left out. */
static void add_map(struct buf *out, const struct wire *wire)
{
	const struct field_class *from = wire->from;

	buf_add_text(out, " map = {");
	for (uint32_t i = 0; i < from->nlabels; i++) {
		const struct enum_label *label = &from->labels[i];
		if (!*label->name)
			continue;
		buf_add_text(out, " { ");
		ctf_add_number(out, label->low, wire->is_signed);
		if (from->form != FORM_FLAGS && label->high != label->low) {
			buf_add_text(out, " ... ");
			ctf_add_number(out, label->high, wire->is_signed);
		}
		ctf_add_quoted(out, ", ", label->name, " },");
	}
	buf_add_text(out, " };");
}

/*
 * Does a predeclared type describe the integer? Those are aligned to 8 bits if their size is whole
 * bytes, else to 1 bit.
 */
static bool is_predeclared(const struct wire *wire)
{
	const struct field_class *from = wire->from;

	return !wire->big_endian && wire->align == (wire->bits % 8 ? 1 : 8) &&
	       ctf_number_base(from) == 10 &&
	       (!from || (!from->nlabels && from->form == FORM_NUMBER));
}

static void add_integer(struct buf *out, const struct wire *wire)
{
	static const char *const meanings[] = {
		[FORM_BOOL] = "boolean", [FORM_BITS] = "bits", [FORM_FLAGS] = "flags"};
	const struct field_class *from = wire->from;

	if (is_predeclared(wire)) {
		buf_printf(out, "%sint%u_t", wire->is_signed ? "" : "u", wire->bits);
		return;
	}
	buf_printf(out, "type { parent = %s; size = %u; align = %u; byte_order = %s;",
		   from && from->nlabels ? "enum" : "integer", wire->bits, wire->align,
		   wire->big_endian ? "network" : "le");
	add_flag(out, "signed", wire->is_signed);
	if (ctf_number_base(from) != 10)
		buf_printf(out, " base = %u;", ctf_number_base(from));
	if (from && meanings[from->form])
		buf_printf(out, " meaning = %s;", meanings[from->form]);
	if (from && from->nlabels)
		add_map(out, wire);
	buf_add_text(out, " }");
}

static void add_float(struct buf *out, const struct wire *wire)
{
	unsigned exponent = wire->bits == 16 ? 5 : wire->bits == 32 ? 8 : 11;

	if (wire->bits != 16 && !wire->big_endian && wire->align == 8) {
		buf_add_text(out, wire->bits == 32 ? "float" : "double");
		return;
	}
	buf_printf(out,
		   "type { parent = floating_point; exp_dig = %u; mant_dig = %u; align = %u; "
		   "byte_order = %s; }",
		   exponent, wire->bits - exponent, wire->align,
		   wire->big_endian ? "network" : "le");
}

/* Adds members; lengths and selectors that the writer added are part of their array or variant. */
static void add_fields(struct buf *out, struct wire *const *members, size_t count)
{
	buf_add_text(out, " fields = {");
	for (size_t i = 0; i < count; i++) {
		if (members[i]->of)
			continue;
		buf_add_text(out, " { ");
		ctf_2010_text_add_type(out, members[i]);
		ctf_add_quoted(out, ", ", members[i]->name, " },");
	}
	buf_add_text(out, " };");
}

/* Adds the length of a list, or the selector of a variant. */
static void add_front(struct buf *out, const char *key, const struct wire *count)
{
	buf_printf(out, " %s = ", key);
	add_integer(out, count);
	buf_add_char(out, ';');
}

static void add_list(struct buf *out, const struct wire *wire)
{
	static const struct wire byte = {.bits = 8, .align = 8};
	bool blob = wire->kind == WIRE_BYTES;

	buf_printf(out, "type { parent = %s;", wire->count ? "sequence" : "array");
	if (wire->count)
		add_front(out, "length_type", wire->count);
	else
		buf_printf(out, " length = %llu;", (unsigned long long)wire->length);
	if (blob)
		buf_add_text(out, " meaning = blob;");
	buf_add_text(out, " elem_type = ");
	ctf_2010_text_add_type(out, blob ? &byte : wire->element);
	buf_add_text(out, "; }");
}

static void add_choice(struct buf *out, const struct wire *wire)
{
	bool optional = wire->kind == WIRE_OPTIONAL;

	buf_printf(out, "type { parent = %s;", optional ? "optional" : "variant");
	add_front(out, "tag_type", wire->count);
	if (optional) {
		buf_add_text(out, " elem_type = ");
		ctf_2010_text_add_type(out, wire->members[0]);
		buf_add_char(out, ';');
	} else {
		add_fields(out, wire->members, wire->nmembers);
	}
	buf_add_text(out, " }");
}

static void ctf_2010_text_add_type(struct buf *out, const struct wire *wire)
{
	switch (wire->kind) {
	case WIRE_INT:
		add_integer(out, wire);
		break;
	case WIRE_FLOAT:
		add_float(out, wire);
		break;
	case WIRE_STRING:
		buf_add_text(out, "string");
		break;
	case WIRE_BYTES:
	case WIRE_ARRAY:
		add_list(out, wire);
		break;
	case WIRE_STRUCT:
		buf_add_text(out, "type { parent = struct;");
		add_fields(out, wire->members, wire->nmembers);
		buf_add_text(out, " }");
		break;
	case WIRE_VARIANT:
	case WIRE_OPTIONAL:
		add_choice(out, wire);
		break;
	}
}

/* ---- blocks ---- */

static bool has_meaning(const char *key)
{
	static const char *const keys[] = {"major", "minor", "arch_align", "clock_freq",
					   "clock_offset"};

	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
		if (strcmp(keys[i], key) == 0)
			return true;
	return !*key;
}

static void ctf_2010_text_add_env(struct buf *out, const struct ctf_folder *folder)
{
	const struct part *part = folder->part;

	for (size_t i = 0; i < part->nenv; i++) {
		const struct env_entry *entry = &part->env[i];
		struct buf name = {0};
		if (ctf_is_own_env(entry->name))
			continue;
		buf_printf(&name, "%s%s", entry->name, has_meaning(entry->name) ? "_" : "");
		ctf_add_quoted(out, "\t", buf_text(&name), " = ");
		if (entry->text)
			ctf_add_quoted(out, "", entry->text, ";\n");
		else
			buf_printf(out, "%lld;\n", (long long)entry->number);
		buf_release(&name);
	}
	ctf_add_own_env(out, folder);
}

static void ctf_2010_text_add_trace(struct buf *out, const struct ctf_folder *folder)
{
	const struct ctf_clock *clock =
		folder->has_clock ? &folder->writer->clocks[folder->clock] : NULL;

	buf_add_text(out, "trace {\n\tmajor = 0;\n\tminor = 1;\n\tarch_align = packed;\n"
			  "\tclock_freq = 1000000000;\n");
	if (clock && ((clock->from && clock->from->epoch) || clock->base.offset_s))
		buf_printf(
			out, "\tclock_offset = %lld;\n",
			(long long)(clock->base.offset_s * 1000000000 + clock->base.offset_cycles));
	ctf_2010_text_add_env(out, folder);
	buf_add_text(out, "}\n");
}

static void add_packet_context(struct buf *out, const struct written_stream_class *class)
{
	const struct wire *own = class->context;
	struct wire wires[NUMBERS];
	struct wire **members = mem_new_array(NUMBERS + (own ? own->nmembers : 0), sizeof *members);
	size_t count = 0;

	for (size_t i = 0; i < NUMBERS; i++) {
		const struct ctf_number_kind *number = &ctf_numbers[i];
		if (!(class->numbers & 1u << i))
			continue;
		wires[i] = (struct wire){.name = number->name,
					 .bits = number->bits,
					 .align = 8,
					 .is_signed = number->is_signed};
		members[count++] = &wires[i];
	}
	for (size_t i = 0; own && i < own->nmembers; i++)
		members[count++] = own->members[i];
	if (count) {
		buf_add_text(out, "\tpacket { context = type { parent = struct;");
		add_fields(out, members, count);
		buf_add_text(out, " } }\n");
	}
	mem_free(members);
}

static void add_section(struct buf *out, const struct written_stream_class *class)
{
	ctf_add_quoted(out, "section {\n\tname = ", class->name, ";\n");
	if (class->folder->numbered)
		buf_add_text(out, "\tcpu = none;\n");
	if (class->clock < 0)
		buf_add_text(out, "\tclock = none;\n");
	if (class->counts)
		buf_add_text(out, "\tdiscarded = end;\n");
	add_packet_context(out, class);
	buf_add_text(out, "\tevent { header_type = type2;");
	if (class->common) {
		buf_add_text(out, " context = ");
		ctf_2010_text_add_type(out, class->common);
		buf_add_char(out, ';');
	}
	buf_add_text(out, " }\n}\n");
}

static void ctf_2010_text_add_event(struct buf *out, const struct written_class *class)
{
	buf_add_text(out, "event {");
	if (*class->from->name)
		ctf_add_quoted(out, " name = ", class->from->name, ";");
	buf_printf(out, " id = %u;", class->id);
	ctf_add_quoted(out, " section = ", class->stream->name, ";");
	if (class->from->loglevel >= 0)
		buf_printf(out, " loglevel = %d;", class->from->loglevel);
	if (class->payload) {
		buf_add_text(out, " fields = ");
		ctf_2010_text_add_type(out, class->payload);
		buf_add_char(out, ';');
	}
	buf_add_text(out, " }\n");
}

static void ctf_2010_text_write(const struct ctf_folder *folder, struct buf *out)
{
	ctf_2010_text_add_trace(out, folder);
	for (size_t i = 0; i < folder->nclasses; i++) {
		add_section(out, folder->classes[i]);
		for (const struct written_class *c = folder->classes[i]->first; c; c = c->next)
			ctf_2010_text_add_event(out, c);
	}
}

const struct ctf_language ctf_2010 = {
	.means = {.half = true,
		  .optionals = true,
		  .any_tag = true,
		  .no_context = true,
		  .in_front = true,
		  .packed = true},
	.packing = &ctf_packing_2010,
	.metadata = ctf_2010_text_write,
	.pack = ctf_2010_pack,
};
