/*
 * ctf_json.c - metadata of CTF 2 (CTF2-SPEC-2.0): a fragment a line
 *
 * Names are the source's own. Members that the writer adds have a prefix by which yore's reader
 * hides them (engine/ctf_own.h).
 */
#include "convert/ctf/ctf_internal.h"

#include "convert/ctf/ctf_names.h"
#include "engine/base/mem.h"
#include "engine/base/quote.h"
#include "engine/columns/json.h"
#include "engine/ctf_own.h"

#include <stdio.h>
#include <string.h>

static void add_unsigned(struct buf *out, const char *key, uint64_t value)
{
	json_printf(out, ",%s:%llu", key, (unsigned long long)value);
}

/* `value` NULL: adds nothing. */
static void add_word(struct buf *out, const char *key, const char *value)
{
	if (value)
		json_printf(out, ",%s:%s", key, value);
}

static void begin_class(struct buf *out, const char *type)
{
	json_printf(out, "{'type':%s", type);
}

static void begin_structure(struct buf *out)
{
	json_printf(out, "{'type':'structure','member-classes':[");
}

/* ---- field classes ---- */

static void add_range(struct buf *out, uint64_t low, uint64_t high, bool is_signed)
{
	if (is_signed)
		json_printf(out, ",[%lld,%lld]", (long long)low, (long long)high);
	else
		json_printf(out, ",[%llu,%llu]", (unsigned long long)low, (unsigned long long)high);
}

static void add_bits_of(struct buf *out, uint64_t mask)
{
	for (unsigned bit = 0; bit < 64; bit++) {
		unsigned end = bit;
		if (!(mask >> bit & 1))
			continue;
		while (end < 63 && mask >> (end + 1) & 1)
			end++;
		json_printf(out, ",[%u,%u]", bit, end);
		bit = end;
	}
}

static void add_label(struct buf *out, const struct field_class *from,
		      const struct enum_label *label)
{
	if (from->form == FORM_FLAGS)
		add_bits_of(out, label->low);
	else
		add_range(out, label->low, label->high, from->is_signed);
}

/* Adds an enumeration's labels, each once with all of its ranges. */
static void add_mappings(struct buf *out, const struct field_class *from)
{
	struct nameset seen = {0};
	uint32_t *next = mem_new_array(from->nlabels + 1, sizeof *next);
	uint32_t *last = mem_new_array(from->nlabels + 1, sizeof *last);

	for (uint32_t i = 0; i < from->nlabels; i++) {
		uint32_t first = i;
		if (!nameset_add(&seen, from->labels[i].name, i)) {
			nameset_find(&seen, from->labels[i].name, &first);
			next[last[first]] = i;
		}
		last[first] = i;
		next[i] = 0;
	}
	json_printf(out, ",%s:{", from->form == FORM_FLAGS ? "flags" : "mappings");
	for (uint32_t i = 0; i < from->nlabels; i++) {
		uint32_t first = i;
		nameset_find(&seen, from->labels[i].name, &first);
		if (first != i)
			continue;
		json_printf(out, ",%s:[", from->labels[i].name);
		add_label(out, from, &from->labels[i]);
		for (uint32_t k = next[i]; k; k = next[k])
			add_label(out, from, &from->labels[k]);
		buf_add_char(out, ']');
	}
	buf_add_char(out, '}');
	nameset_release(&seen);
	mem_free(next);
	mem_free(last);
}

static void add_fixed(struct buf *out, uint32_t bits, uint32_t align, bool big_endian)
{
	json_printf(out, ",'length':%u,'byte-order':%s,'alignment':%u", bits,
		    big_endian ? "big-endian" : "little-endian", align);
}

static const char *integer_type(const struct wire *wire)
{
	static const char *const types[] = {[FORM_BOOL] = "fixed-length-boolean",
					    [FORM_BITS] = "fixed-length-bit-array",
					    [FORM_FLAGS] = "fixed-length-bit-map"};
	enum int_form form = wire->from ? wire->from->form : FORM_NUMBER;

	if (form != FORM_NUMBER)
		return types[form];
	if (wire->is_variable)
		return wire->is_signed ? "variable-length-signed-integer"
				       : "variable-length-unsigned-integer";
	return wire->is_signed ? "fixed-length-signed-integer" : "fixed-length-unsigned-integer";
}

static void add_integer(struct buf *out, const struct wire *wire)
{
	const struct field_class *from = wire->from;
	bool number = !from || from->form == FORM_NUMBER;
	unsigned base = ctf_number_base(from);

	begin_class(out, integer_type(wire));
	if (!wire->is_variable)
		add_fixed(out, wire->bits, wire->align, wire->big_endian);
	if (number && base != 10)
		add_unsigned(out, "preferred-display-base", base);
	if (from && from->nlabels)
		add_mappings(out, from);
	buf_add_char(out, '}');
}

static void add_location(struct buf *out, const char *key, const struct wire *user)
{
	static const char *const scopes[SCOPE_COUNT] = {
		[SCOPE_PACKET_HEADER] = "packet-header",
		[SCOPE_PACKET_CONTEXT] = "packet-context",
		[SCOPE_EVENT_HEADER] = "event-record-header",
		[SCOPE_STREAM_EVENT_CONTEXT] = "event-record-common-context",
		[SCOPE_EVENT_CONTEXT] = "event-record-specific-context",
		[SCOPE_PAYLOAD] = "event-record-payload"};
	struct wire_path path;

	wire_path_of(user, &path);
	json_printf(out, ",%s:{", key);
	if (path.absolute)
		add_word(out, "origin", scopes[path.scope]);
	json_printf(out, ",'path':[");
	for (unsigned i = 0; !path.absolute && i < path.up; i++)
		json_printf(out, ",null");
	for (size_t i = 0; i < path.count; i++)
		json_printf(out, ",%s", path.names[i]);
	buf_add_text(out, "]}");
}

static void ctf_json_add_class(struct buf *out, const struct wire *wire);

static void add_member(struct buf *out, const struct wire *member)
{
	json_printf(out, ",{'name':%s,'field-class':", member->name);
	ctf_json_add_class(out, member);
	buf_add_char(out, '}');
}

static void add_struct(struct buf *out, const struct wire *wire)
{
	begin_structure(out);
	for (size_t i = 0; i < wire->nmembers; i++)
		add_member(out, wire->members[i]);
	buf_add_char(out, ']');
	if (wire->align > 1)
		add_unsigned(out, "minimum-alignment", wire->align);
	buf_add_char(out, '}');
}

/* Adds the ranges that select an option: the source's, or those of the writer's own selector. */
static void add_ranges(struct buf *out, const struct wire *wire, size_t option)
{
	const struct member *member = &wire->from->members[option];
	uint64_t own = wire->kind == WIRE_OPTIONAL ? 1 : option;

	json_printf(out, ",'selector-field-ranges':[");
	for (uint32_t i = 0; wire->count->from && i < member->nranges; i++)
		add_range(out, member->ranges[i].low, member->ranges[i].high,
			  wire->count->is_signed);
	if (!wire->count->from)
		add_range(out, own, own, false);
	buf_add_char(out, ']');
}

static void add_optional(struct buf *out, const struct wire *wire)
{
	const struct field_class *selector = wire->count->from;

	begin_class(out, "optional");
	add_location(out, "selector-field-location", wire);
	if (!selector || selector->form != FORM_BOOL)
		add_ranges(out, wire, 0);
	json_add_key(out, "field-class");
	ctf_json_add_class(out, wire->members[0]);
	buf_add_char(out, '}');
}

static void add_variant(struct buf *out, const struct wire *wire)
{
	begin_class(out, "variant");
	add_location(out, "selector-field-location", wire);
	json_printf(out, ",'options':[");
	for (size_t i = 0; i < wire->nmembers; i++) {
		json_printf(out, ",{'name':%s", wire->members[i]->name);
		add_ranges(out, wire, i);
		json_add_key(out, "field-class");
		ctf_json_add_class(out, wire->members[i]);
		buf_add_char(out, '}');
	}
	buf_add_text(out, "]}");
}

/* The length of an array or blob. */
static void add_length(struct buf *out, const struct wire *wire)
{
	if (wire->count)
		add_location(out, "length-field-location", wire);
	else
		add_unsigned(out, "length", wire->length);
}

static void ctf_json_add_class(struct buf *out, const struct wire *wire)
{
	switch (wire->kind) {
	case WIRE_INT:
		add_integer(out, wire);
		return;
	case WIRE_STRUCT:
		add_struct(out, wire);
		return;
	case WIRE_VARIANT:
		add_variant(out, wire);
		return;
	case WIRE_OPTIONAL:
		add_optional(out, wire);
		return;
	case WIRE_FLOAT:
		begin_class(out, "fixed-length-floating-point-number");
		add_fixed(out, wire->bits, wire->align, wire->big_endian);
		break;
	case WIRE_STRING:
		begin_class(out, "null-terminated-string");
		break;
	case WIRE_BYTES:
		begin_class(out, wire->count ? "dynamic-length-blob" : "static-length-blob");
		add_length(out, wire);
		add_word(out, "media-type", wire->from->media_type);
		break;
	case WIRE_ARRAY:
		begin_class(out, wire->count ? "dynamic-length-array" : "static-length-array");
		add_length(out, wire);
		json_add_key(out, "element-field-class");
		ctf_json_add_class(out, wire->element);
		break;
	}
	buf_add_char(out, '}');
}

/* ---- fragments ---- */

static void begin_fragment(struct buf *out, const char *type)
{
	buf_add_char(out, 0x1e);
	begin_class(out, type);
}

static void end_fragment(struct buf *out)
{
	buf_add_text(out, "}\n");
}

static void ctf_json_add_number(struct buf *out, const char *name, const char *role, uint32_t bits,
				bool is_signed)
{
	const struct wire wire = {.bits = bits, .align = 8, .is_signed = is_signed};

	json_printf(out, ",{'name':%s,'field-class':", name);
	add_integer(out, &wire);
	if (role) {
		out->len--; /* reopen the class's object */
		json_printf(out, ",'roles':[%s]}", role);
	}
	buf_add_char(out, '}');
}

static void add_preamble(struct buf *out, const struct ctf_folder *folder)
{
	begin_fragment(out, "preamble");
	json_printf(out, ",'version':2,'uuid':[");
	for (int i = 0; i < 16; i++)
		json_printf(out, ",%u", (unsigned)folder->uuid[i]);
	buf_add_char(out, ']');
	end_fragment(out);
}

static void ctf_json_add_env(struct buf *out, const struct ctf_folder *folder)
{
	const struct part *part = folder->part;
	char name[48];

	json_printf(out, ",'environment':{");
	for (size_t i = 0; i < part->nenv; i++) {
		if (ctf_is_own_env(part->env[i].name))
			continue;
		json_add_key(out, part->env[i].name);
		if (part->env[i].text)
			json_add_text(out, part->env[i].text);
		else
			buf_add_i64(out, part->env[i].number);
	}
	add_unsigned(out, OWN_ENV, 1);
	for (const struct written_stream *stream = NULL;
	     (stream = ctf_next_shown(folder, stream));) {
		snprintf(name, sizeof name, OWN_ENV_STREAM "%llu",
			 (unsigned long long)ctf_number(stream));
		json_printf(out, ",%s:%s", name, stream->shown);
	}
	buf_add_char(out, '}');
}

static void ctf_json_add_trace(struct buf *out, const struct ctf_folder *folder)
{
	begin_fragment(out, "trace-class");
	ctf_json_add_env(out, folder);
	json_add_key(out, "packet-header-field-class");
	begin_structure(out);
	ctf_json_add_number(out, "magic", "packet-magic-number", 32, false);
	json_printf(out, ",{'name':'uuid','field-class':{'type':'static-length-blob','length':16,"
			 "'roles':['metadata-stream-uuid']}}");
	ctf_json_add_number(out, "stream_id", "data-stream-class-id", 32, false);
	ctf_json_add_number(out, "stream_instance_id", "data-stream-id", 64, false);
	buf_add_text(out, "]}");
	end_fragment(out);
}

/* In CTF 2 an offset's cycles are from 0 up to the frequency. */
static void add_offset(struct buf *out, const struct timebase *base)
{
	int64_t frequency = (int64_t)base->frequency;
	int64_t seconds = base->offset_s, cycles = base->offset_cycles;

	if (frequency > 0) {
		seconds += cycles / frequency - (cycles % frequency < 0);
		cycles = cycles % frequency + (cycles % frequency < 0 ? frequency : 0);
	}
	json_printf(out, ",'offset-from-origin':{'seconds':%lld,'cycles':%lld}", (long long)seconds,
		    (long long)cycles);
}

static void add_full_name(struct buf *out, const struct full_name *name)
{
	add_word(out, "namespace", name->space);
	add_word(out, "name", name->name);
	add_word(out, "uid", name->uid);
}

static void ctf_json_add_clock(struct buf *out, const struct ctf_clock *clock)
{
	const struct clock *from = clock->from;

	begin_fragment(out, "clock-class");
	json_printf(out, ",'id':%s,'frequency':%llu", clock->name,
		    (unsigned long long)clock->base.frequency);
	add_offset(out, &clock->base);
	if (from && from->full_name.name) {
		add_full_name(out, &from->full_name);
	} else {
		char uuid[UUID_TEXT];
		add_word(out, "name", clock->name);
		if (from && from->has_uuid)
			add_word(out, "uid", uuid_put(from->uuid, uuid));
	}
	if (from && *from->description)
		add_word(out, "description", from->description);
	if (from && from->precision)
		add_unsigned(out, "precision", from->precision);
	if (from && from->accuracy)
		add_unsigned(out, "accuracy", from->accuracy);
	if (from && from->epoch) {
		add_word(out, "origin", "unix-epoch");
	} else if (from && from->origin.name) {
		json_printf(out, ",'origin':{");
		add_full_name(out, &from->origin);
		buf_add_char(out, '}');
	}
	end_fragment(out);
}

static void add_packet_context(struct buf *out, const struct written_stream_class *class)
{
	json_add_key(out, "packet-context-field-class");
	begin_structure(out);
	for (int i = 0; i < NUMBERS; i++)
		if (class->numbers & 1u << i)
			ctf_json_add_number(out, ctf_numbers[i].name, ctf_numbers[i].role,
					    ctf_numbers[i].bits, ctf_numbers[i].is_signed);
	for (size_t i = 0; class->context && i < class->context->nmembers; i++)
		add_member(out, class->context->members[i]);
	buf_add_char(out, ']');
	if (class->context && class->context->align > 1)
		add_unsigned(out, "minimum-alignment", class->context->align);
	buf_add_char(out, '}');
}

static void add_root(struct buf *out, const char *key, const struct wire *root)
{
	if (!root)
		return;
	json_add_key(out, key);
	ctf_json_add_class(out, root);
}

static void add_stream(struct buf *out, const struct written_stream_class *class)
{
	begin_fragment(out, "data-stream-class");
	add_unsigned(out, "id", class->id);
	add_word(out, "name", class->name);
	if (class->clock >= 0)
		add_word(out, "default-clock-class-id", ctf_clock_of(class)->name);
	add_packet_context(out, class);
	json_add_key(out, "event-record-header-field-class");
	begin_structure(out);
	ctf_json_add_number(out, "id", "event-record-class-id", class->wide_ids ? 32 : 16, false);
	if (class->clock >= 0)
		ctf_json_add_number(out, "timestamp", "default-clock-timestamp", 32, false);
	buf_add_text(out, "]}");
	add_root(out, "event-record-common-context-field-class", class->common);
	end_fragment(out);
}

static void ctf_json_add_event(struct buf *out, const struct written_class *class)
{
	begin_fragment(out, "event-record-class");
	json_printf(out, ",'id':%u,'data-stream-class-id':%u,'name':%s", class->id,
		    class->stream->id, class->from->name);
	if (class->from->loglevel >= 0)
		json_printf(out, ",'attributes':{'lttng.org,2009':{'log-level':%d}}",
			    class->from->loglevel);
	add_root(out, "specific-context-field-class", class->context);
	add_root(out, "payload-field-class", class->payload);
	end_fragment(out);
}

static void write_json(const struct ctf_folder *folder, struct buf *out)
{
	size_t count = folder->writer->of.options.trace->nclocks + 1;
	bool *used = ctf_clocks_used(folder);

	add_preamble(out, folder);
	ctf_json_add_trace(out, folder);
	for (size_t i = 0; i < count; i++)
		if (used[i])
			ctf_json_add_clock(out, &folder->writer->clocks[i]);
	mem_free(used);
	for (size_t i = 0; i < folder->nclasses; i++) {
		add_stream(out, folder->classes[i]);
		for (const struct written_class *c = folder->classes[i]->first; c; c = c->next)
			ctf_json_add_event(out, c);
	}
}

const struct ctf_language ctf_json = {
	.means = {.variable = true,
		  .half = true,
		  .optionals = true,
		  .any_tag = true,
		  .own_context = true},
	.packing = &ctf_packing,
	.metadata = write_json,
};
