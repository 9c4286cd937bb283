/*
 * ctf_tsdl.c - metadata of CTF 1.8
 *
 * For meanings that TSDL cannot express there are special names (engine/ctf_own.h). Paths are
 * relative if the length or tag is in the same scope, else they begin with the scope's name.
 */
#include "convert/ctf/ctf_internal.h"

#include "convert/ctf/ctf_names.h"
#include "engine/base/mem.h"
#include "engine/base/quote.h"
#include "engine/ctf_own.h"

struct printer {
	struct buf out;
	unsigned depth;
	struct buf types;       /* type aliases, which the metadata begins with */
	struct nameset aliases; /* alias types with their numbers */
	uint32_t naliases;
};

static void indent(struct printer *p)
{
	for (unsigned i = 0; i < p->depth; i++)
		buf_add_char(&p->out, '\t');
}

/* ---- types ---- */

static void add_integer(struct buf *out, const struct wire *wire)
{
	const struct field_class *from = wire->from;
	unsigned base = ctf_number_base(from);

	buf_printf(out,
		   "integer { size = %u; align = %u; signed = %s; byte_order = %s; base = %u; }",
		   wire->bits, wire->align, wire->is_signed ? "true" : "false",
		   wire->big_endian ? "be" : "le", base);
}

static void add_labels(struct buf *out, const struct wire *wire)
{
	const struct field_class *from = wire->from;

	buf_add_text(out, " {");
	for (uint32_t i = 0; i < from->nlabels; i++) {
		const struct enum_label *label = &from->labels[i];
		bool range = from->form != FORM_FLAGS && label->high != label->low;
		ctf_add_quoted(out, i ? ", " : " ", label->name, " = ");
		ctf_add_number(out, label->low, wire->is_signed);
		if (range)
			buf_add_text(out, " ... ");
		if (range)
			ctf_add_number(out, label->high, wire->is_signed);
	}
	buf_add_text(out, " }");
}

static void add_number_type(struct buf *out, const struct wire *wire)
{
	if (!wire->from || !wire->from->nlabels) {
		add_integer(out, wire);
		return;
	}
	buf_add_text(out, "enum : ");
	add_integer(out, wire);
	add_labels(out, wire);
}

/* Adds a type alias whose name tells what the integer means; appends the name to `to`. */
static void add_alias(struct printer *p, struct buf *to, const char *prefix, const struct buf *type)
{
	struct buf key = {0};
	uint32_t number;

	buf_printf(&key, "%s%s", prefix, type->data);
	if (!nameset_find(&p->aliases, key.data, &number)) {
		number = p->naliases++;
		nameset_add(&p->aliases, key.data, number);
		buf_printf(&p->types, "typealias %s := %s%u;\n", type->data, prefix, number);
	}
	buf_printf(to, "%s%u", prefix, number);
	buf_release(&key);
}

static const char *meaning_of(const struct field_class *from)
{
	static const char *const prefixes[] = {
		[FORM_BOOL] = OWN_BOOL, [FORM_BITS] = OWN_BITS, [FORM_FLAGS] = OWN_FLAGS};

	return from ? prefixes[from->form] : NULL;
}

static void add_int_type(struct printer *p, const struct wire *wire)
{
	const char *meaning = meaning_of(wire->from);
	struct buf type = {0};

	if (!meaning) {
		add_number_type(&p->out, wire);
		return;
	}
	add_number_type(&type, wire);
	add_alias(p, &p->out, meaning, &type);
	buf_release(&type);
}

static void add_float_type(struct buf *out, const struct wire *wire)
{
	static const struct {
		uint32_t bits;
		unsigned exponent, mantissa;
	} forms[] = {{16, 5, 11}, {32, 8, 24}, {64, 11, 53}};

	for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
		if (forms[i].bits == wire->bits)
			buf_printf(out,
				   "floating_point { exp_dig = %u; mant_dig = %u; align = %u; "
				   "byte_order = %s; }",
				   forms[i].exponent, forms[i].mantissa, wire->align,
				   wire->big_endian ? "be" : "le");
}

static void ctf_tsdl_add_path(struct buf *out, const struct wire *user)
{
	static const char *const scopes[SCOPE_COUNT] = {
		[SCOPE_PACKET_HEADER] = "trace.packet.header.",
		[SCOPE_PACKET_CONTEXT] = "stream.packet.context.",
		[SCOPE_EVENT_HEADER] = "stream.event.header.",
		[SCOPE_STREAM_EVENT_CONTEXT] = "stream.event.context.",
		[SCOPE_EVENT_CONTEXT] = "event.context.",
		[SCOPE_PAYLOAD] = "event.fields."};
	struct wire_path path;

	wire_path_of(user, &path);
	if (path.absolute)
		buf_add_text(out, scopes[path.scope]);
	for (size_t i = 0; i < path.count; i++)
		buf_printf(out, "%s%s", i ? "." : "", path.names[i]);
}

static void add_byte(struct printer *p)
{
	static const struct wire byte = {.bits = 8, .align = 8};
	struct buf type = {0};

	add_integer(&type, &byte);
	add_alias(p, &p->out, OWN_BLOB, &type);
	buf_release(&type);
}

static void add_declaration(struct printer *p, const struct wire *wire);

static void add_members(struct printer *p, struct wire *const *members, size_t count)
{
	p->depth++;
	for (size_t i = 0; i < count; i++)
		add_declaration(p, members[i]);
	p->depth--;
	indent(p);
	buf_add_char(&p->out, '}');
}

static void add_struct(struct printer *p, const struct wire *wire)
{
	buf_add_text(&p->out, "struct {\n");
	add_members(p, wire->members, wire->nmembers);
	if (wire->align > 1)
		buf_printf(&p->out, " align(%u)", wire->align);
}

/* Adds an enumeration for the writer's own tag; its labels are the names of the options. */
static void add_own_tag(struct printer *p, const struct wire *tag)
{
	const struct wire *of = tag->of;

	buf_add_text(&p->out, "enum : ");
	add_integer(&p->out, tag);
	buf_add_text(&p->out, " { ");
	if (of->kind == WIRE_OPTIONAL)
		buf_add_text(&p->out, "\"" OWN_NONE "\" = 0, \"" OWN_SOME "\" = 1");
	for (size_t i = 0; of->kind == WIRE_VARIANT && i < of->nmembers; i++)
		buf_printf(&p->out, "%s\"%s\" = %zu", i ? ", " : "", of->members[i]->name, i);
	buf_add_text(&p->out, " }");
}

static void add_variant(struct printer *p, const struct wire *wire)
{
	buf_add_text(&p->out, "variant <");
	ctf_tsdl_add_path(&p->out, wire);
	buf_add_text(&p->out, "> {\n");
	if (wire->kind == WIRE_OPTIONAL) {
		p->depth++;
		indent(p);
		buf_add_text(&p->out, "struct { } " OWN_NONE ";\n");
		p->depth--;
	}
	add_members(p, wire->members, wire->nmembers);
}

/* Adds the type before a name; add_declaration() adds an array's brackets behind it. */
static void ctf_tsdl_add_type(struct printer *p, const struct wire *wire)
{
	while (wire->kind == WIRE_ARRAY)
		wire = wire->element;
	switch (wire->kind) {
	case WIRE_INT:
		if (wire->of && (wire->of->kind == WIRE_VARIANT || wire->of->kind == WIRE_OPTIONAL))
			add_own_tag(p, wire);
		else
			add_int_type(p, wire);
		break;
	case WIRE_FLOAT:
		add_float_type(&p->out, wire);
		break;
	case WIRE_STRING:
		buf_add_text(&p->out, "string { encoding = UTF8; }");
		break;
	case WIRE_BYTES:
		add_byte(p);
		break;
	case WIRE_STRUCT:
		add_struct(p, wire);
		break;
	case WIRE_VARIANT:
	case WIRE_OPTIONAL:
		add_variant(p, wire);
		break;
	case WIRE_ARRAY:
		break;
	}
}

static void add_declaration(struct printer *p, const struct wire *wire)
{
	indent(p);
	ctf_tsdl_add_type(p, wire);
	buf_printf(&p->out, " %s", wire->name);
	for (; wire->kind == WIRE_ARRAY || wire->kind == WIRE_BYTES; wire = wire->element) {
		buf_add_char(&p->out, '[');
		if (wire->count)
			ctf_tsdl_add_path(&p->out, wire);
		else
			buf_add_u64(&p->out, wire->length);
		buf_add_char(&p->out, ']');
		if (wire->kind == WIRE_BYTES)
			break;
	}
	buf_add_text(&p->out, ";\n");
}

/* ---- blocks ---- */

static void add_root(struct printer *p, const char *scope, const struct wire *root)
{
	if (!root)
		return;
	buf_printf(&p->out, "\t%s := ", scope);
	p->depth = 1;
	add_struct(p, root);
	buf_add_text(&p->out, ";\n");
	p->depth = 0;
}

static void add_unsigned(struct buf *out, uint32_t bits, const char *name)
{
	const struct wire wire = {.bits = bits, .align = 8};

	buf_add_text(out, "\t\t");
	add_integer(out, &wire);
	buf_printf(out, " %s;\n", name);
}

static void ctf_tsdl_add_trace(struct buf *out, const struct ctf_folder *folder)
{
	char uuid[UUID_TEXT];

	buf_printf(out, "trace {\n\tmajor = 1;\n\tminor = 8;\n\tuuid = \"%s\";\n",
		   uuid_put(folder->uuid, uuid));
	buf_add_text(out, "\tbyte_order = le;\n\tpacket.header := struct {\n");
	add_unsigned(out, 32, "magic");
	add_unsigned(out, 8, "uuid[16]");
	add_unsigned(out, 32, "stream_id");
	add_unsigned(out, 64, "stream_instance_id");
	buf_add_text(out, "\t};\n};\n\n");
}

/* Adds a name to `env` as an identifier: other characters become '_'. */
static void add_env_name(struct buf *out, const char *name)
{
	for (const char *c = name; *c; c++)
		buf_add_char(out,
			     char_begins_word(*c) || (c > name && char_is_digit(*c)) ? *c : '_');
}

void ctf_add_own_env(struct buf *out, const struct ctf_folder *folder)
{
	buf_add_text(out, "\t" OWN_ENV " = 1;\n");
	for (const struct written_stream *stream = NULL;
	     (stream = ctf_next_shown(folder, stream));) {
		buf_printf(out, "\t" OWN_ENV_STREAM "%llu", (unsigned long long)ctf_number(stream));
		ctf_add_quoted(out, " = ", stream->shown, ";\n");
	}
}

static void ctf_tsdl_add_env(struct buf *out, const struct ctf_folder *folder)
{
	const struct part *part = folder->part;
	struct nameset names = {0};
	struct buf name = {0};

	buf_add_text(out, "env {\n");
	for (size_t i = 0; i < part->nenv; i++) {
		if (ctf_is_own_env(part->env[i].name))
			continue;
		buf_clear(&name);
		add_env_name(&name, part->env[i].name);
		nameset_make_free(&names, &name, 0, "_");
		nameset_add(&names, buf_text(&name), 2);
		buf_printf(out, "\t%s", buf_text(&name));
		if (part->env[i].text)
			ctf_add_quoted(out, " = ", part->env[i].text, ";\n");
		else
			buf_printf(out, " = %lld;\n", (long long)part->env[i].number);
	}
	ctf_add_own_env(out, folder);
	buf_add_text(out, "};\n\n");
	nameset_release(&names);
	buf_release(&name);
}

static void ctf_tsdl_add_clock(struct buf *out, const struct ctf_clock *clock)
{
	char uuid[UUID_TEXT];

	buf_printf(out, "clock {\n\tname = \"%s\";\n", clock->name);
	if (clock->from && clock->from->has_uuid)
		buf_printf(out, "\tuuid = \"%s\";\n", uuid_put(clock->from->uuid, uuid));
	if (clock->from && *clock->from->description)
		ctf_add_quoted(out, "\tdescription = ", clock->from->description, ";\n");
	buf_printf(out, "\tfreq = %llu;\n", (unsigned long long)clock->base.frequency);
	if (clock->from && clock->from->precision)
		buf_printf(out, "\tprecision = %llu;\n",
			   (unsigned long long)clock->from->precision);
	buf_printf(out, "\toffset_s = %lld;\n\toffset = %lld;\n\tabsolute = %s;\n};\n\n",
		   (long long)clock->base.offset_s, (long long)clock->base.offset_cycles,
		   clock->from && clock->from->epoch ? "true" : "false");
}

static void add_clocks(struct buf *out, const struct ctf_folder *folder)
{
	size_t count = folder->writer->of.options.trace->nclocks + 1;
	bool *used = ctf_clocks_used(folder);

	for (size_t i = 0; i < count; i++)
		if (used[i])
			ctf_tsdl_add_clock(out, &folder->writer->clocks[i]);
	mem_free(used);
}

static void add_time(struct buf *out, uint32_t bits, const char *clock, const char *name)
{
	buf_printf(out,
		   "\t\tinteger { size = %u; align = 8; signed = false; byte_order = le; "
		   "map = clock.%s.value; } %s;\n",
		   bits, clock, name);
}

static void add_packet_context(struct printer *p, const struct written_stream_class *class)
{
	const struct ctf_clock *clock = ctf_clock_of(class);

	buf_add_text(&p->out, "\tpacket.context := struct {\n");
	for (int i = 0; i < NUMBERS; i++) {
		const struct ctf_number_kind *number = &ctf_numbers[i];
		const struct wire wire = {
			.bits = number->bits, .align = 8, .is_signed = number->is_signed};
		if (!(class->numbers & 1u << i))
			continue;
		if (number->is_time) {
			add_time(&p->out, number->bits, clock->name, number->name);
			continue;
		}
		buf_add_text(&p->out, "\t\t");
		add_integer(&p->out, &wire);
		buf_printf(&p->out, " %s;\n", number->name);
	}
	p->depth = 1;
	if (class->context)
		add_members(p, class->context->members, class->context->nmembers);
	else
		buf_add_text(&p->out, "\t}");
	if (class->context && class->context->align > 8)
		buf_printf(&p->out, " align(%u)", class->context->align);
	buf_add_text(&p->out, ";\n");
}

static void add_stream(struct printer *p, const struct written_stream_class *class)
{
	buf_printf(&p->out, "stream {\n\tid = %u;\n", class->id);
	add_packet_context(p, class);
	buf_add_text(&p->out, "\tevent.header := struct {\n");
	add_unsigned(&p->out, class->wide_ids ? 32 : 16, "id");
	if (class->clock >= 0)
		add_time(&p->out, 32, ctf_clock_of(class)->name, "timestamp");
	buf_add_text(&p->out, "\t};\n");
	add_root(p, "event.context", class->common);
	buf_add_text(&p->out, "};\n\n");
}

static void ctf_tsdl_add_event(struct printer *p, const struct written_class *class)
{
	ctf_add_quoted(&p->out, "event {\n\tname = ", class->from->name, ";\n");
	buf_printf(&p->out, "\tid = %u;\n\tstream_id = %u;\n", class->id, class->stream->id);
	if (class->from->loglevel >= 0)
		buf_printf(&p->out, "\tloglevel = %d;\n", class->from->loglevel);
	add_root(p, "context", class->context);
	if (class->payload)
		add_root(p, "fields", class->payload);
	else
		buf_add_text(&p->out, "\tfields := struct { };\n");
	buf_add_text(&p->out, "};\n\n");
}

static void write_tsdl(const struct ctf_folder *folder, struct buf *out)
{
	struct printer p = {0};

	for (size_t i = 0; i < folder->nclasses; i++) {
		add_stream(&p, folder->classes[i]);
		for (const struct written_class *c = folder->classes[i]->first; c; c = c->next)
			ctf_tsdl_add_event(&p, c);
	}
	buf_add_text(out, "/* CTF 1.8 */\n\n");
	if (p.types.len)
		buf_printf(out, "%s\n", p.types.data);
	ctf_tsdl_add_trace(out, folder);
	ctf_tsdl_add_env(out, folder);
	add_clocks(out, folder);
	if (p.out.len)
		buf_add(out, p.out.data, p.out.len);
	buf_release(&p.out);
	buf_release(&p.types);
	nameset_release(&p.aliases);
}

const struct ctf_language ctf_tsdl = {
	.means = {.identifiers = true},
	.packing = &ctf_packing,
	.metadata = write_tsdl,
};
