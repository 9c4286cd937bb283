/*
 * test_tsdl.c - what TSDL texts mean, row by row
 *
 * A scope's tree is compared as one line: u8, i32, e8 (enumeration), f64, s (string), c8 (text);
 * "@n" where the alignment is not 8, "be" for big-endian; {a:u8 b:..} struct; [3]X array;
 * w(@n)[3]X wide integer of n bits' alignment; [=PATH]X sequence; <=PATH a(0..3 9..9):X b():X>
 * variant.
 */
#include "engine/ctf/description.h"

#include "engine/base/buf.h"
#include "tests/harness.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *const scope_names[] = {"ph.", "pc.", "eh.", "sc.", "ec.", ""};

struct scopes {
	const struct field_class *root[SCOPE_COUNT];
};

static struct scopes scopes_of(const struct ctf_description *d)
{
	const struct ctf_stream *stream = &d->streams[0];
	struct scopes scopes = {{d->packet_header, stream->packet_context, stream->event_header,
				 stream->event_context}};

	if (stream->nevents) {
		scopes.root[SCOPE_EVENT_CONTEXT] = stream->events[0].context;
		scopes.root[SCOPE_PAYLOAD] = stream->events[0].payload;
	}
	return scopes;
}

/* Writes the names on the way to `target`; false when it is not below `node`. */
static bool find_node(struct buf *out, const struct field_class *node,
		      const struct field_class *target)
{
	size_t len = out->len;

	if (node == target)
		return true;
	if (node->element)
		return find_node(out, node->element, target);
	for (uint32_t i = 0; i < node->nmembers; i++) {
		buf_printf(out, "%s%s", out->len ? "." : "", node->members[i].name);
		if (find_node(out, node->members[i].class, target))
			return true;
		out->len = len;
	}
	return false;
}

static void render_reference(struct buf *out, const struct scopes *scopes,
			     const struct field_class *target)
{
	for (int i = 0; i < SCOPE_COUNT; i++) {
		struct buf path = {0};
		bool found = scopes->root[i] && find_node(&path, scopes->root[i], target);
		if (found)
			buf_printf(out, "=%s%s", scope_names[i], buf_text(&path));
		buf_release(&path);
		if (found)
			return;
	}
	buf_add_text(out, "=?");
}

static void render(struct buf *out, const struct scopes *scopes, const struct field_class *node);

static void render_members(struct buf *out, const struct scopes *scopes,
			   const struct field_class *node)
{
	for (uint32_t i = 0; i < node->nmembers; i++) {
		const struct member *member = &node->members[i];
		buf_printf(out, "%s%s", i ? " " : "", member->name);
		if (node->kind == FIELD_VARIANT) {
			buf_add_char(out, '(');
			for (uint32_t k = 0; k < member->nranges; k++)
				buf_printf(out, "%s%" PRId64 "..%" PRId64, k ? " " : "",
					   (int64_t)member->ranges[k].low,
					   (int64_t)member->ranges[k].high);
			buf_add_char(out, ')');
		}
		buf_add_char(out, ':');
		render(out, scopes, member->class);
	}
}

static void render_scalar(struct buf *out, const struct field_class *node)
{
	char kind = node->kind == FIELD_FLOAT ? 'f'
		    : node->is_text           ? 'c'
		    : node->is_enum           ? 'e'
		    : node->is_signed         ? 'i'
					      : 'u';

	buf_printf(out, "%c%" PRIu32, kind, node->bits);
	if (node->big_endian)
		buf_add_text(out, "be");
	if (node->kind == FIELD_INT && node->base != 10)
		buf_printf(out, "/%d", node->base);
	if (node->clock >= 0)
		buf_printf(out, "#%" PRId32, node->clock);
	if (node->align != 8)
		buf_printf(out, "@%" PRIu32, node->align);
}

static void render(struct buf *out, const struct scopes *scopes, const struct field_class *node)
{
	switch (node->kind) {
	case FIELD_INT:
	case FIELD_FLOAT:
		render_scalar(out, node);
		return;
	case FIELD_STRING:
		buf_add_char(out, 's');
		return;
	case FIELD_STRUCT:
		buf_add_char(out, '{');
		render_members(out, scopes, node);
		buf_add_char(out, '}');
		break;
	case FIELD_VARIANT:
		buf_add_char(out, '<');
		render_reference(out, scopes, node->ref);
		buf_add_char(out, ' ');
		render_members(out, scopes, node);
		buf_add_char(out, '>');
		return;
	case FIELD_ARRAY:
		if (node->is_wide)
			buf_printf(out, "w(@%" PRIu32 ")", node->align);
		buf_printf(out, "[%" PRIu64 "]", node->length);
		render(out, scopes, node->element);
		return;
	case FIELD_SEQUENCE:
		buf_add_char(out, '[');
		render_reference(out, scopes, node->ref);
		buf_add_char(out, ']');
		render(out, scopes, node->element);
		return;
	}
	if (node->align != 8)
		buf_printf(out, "@%" PRIu32, node->align);
}

#define HEAD "/* CTF 1.8 */ trace { major = 1; minor = 8; byte_order = le; };"
#define U8 "typealias integer { size = 8; } := u8;"
#define I32 "typealias integer { size = 32; signed = true; } := int;"
#define LTTNG(fields) EVENT(fields) "env { tracer_name = \"lttng-ust\"; };"
#define EVENT(fields) HEAD U8 I32 "event { name = e; fields := struct {" fields "}; };"

static struct shape_row {
	const char *name, *text;
	enum scope scope;
	const char *shape;
} shapes[] = {
	{"integer defaults", EVENT("integer { size = 8; } a; integer { size = 7; } b;"),
	 SCOPE_PAYLOAD, "{a:u8 b:u7@1}"},
	{"an integer over 64 bits is bytes, or bits",
	 EVENT("integer { size = 128; align = 32; byte_order = be; } a; integer { size = 65; } b;"
	       "integer { size = 72; align = 1; } c;"),
	 SCOPE_PAYLOAD, "{a:w(@32)[16]u8be/16 b:w(@1)[65]u1/16@1 c:w(@1)[9]u8/16@1}@32"},
	{"a mapping that the integer cannot hold ends at its bounds",
	 LTTNG("enum : u8 { A = -5 ... 3, B = 250 ... 300, C = 300, D } t;"
	       "variant <t> { u8 A; u8 B; u8 C; u8 D; } v;"),
	 SCOPE_PAYLOAD, "{t:e8 v:<=t A(0..3):u8 B(250..255):u8 C():u8 D():u8>}"},
	{"a label after the greatest value matches nothing",
	 LTTNG("enum : u8 { A = 255, B, C = 1 } t; variant <t> { u8 A; u8 B; u8 C; } v;"),
	 SCOPE_PAYLOAD, "{t:e8 v:<=t A(255..255):u8 B():u8 C(1..1):u8>}"},
	{"all integer attributes",
	 EVENT("integer { size = 16; align = 32; signed = TRUE; byte_order = network; base = x; } "
	       "a;"),
	 SCOPE_PAYLOAD, "{a:i16be/16@32}@32"},
	{"byte order is found before it stands",
	 "typealias integer { size = 16; } := u16; struct s { u16 x; };"
	 "event { name = e; fields := struct { struct s y; }; };"
	 "trace { major = 1; minor = 8; byte_order = be; };",
	 SCOPE_PAYLOAD, "{y:{x:u16be}}"},
	{"text is 8 bits with an encoding",
	 EVENT("integer { size = 8; encoding = UTF8; } a[3]; integer { size = 8; encoding = none; "
	       "} "
	       "b[3]; integer { size = 16; encoding = ASCII; } c[1];"),
	 SCOPE_PAYLOAD, "{a:[3]c8 b:[3]u8 c:[1]u16}"},
	{"UTF-8 without quotes", EVENT("string { encoding = UTF-8; } a;"), SCOPE_PAYLOAD, "{a:s}"},
	{"floats",
	 EVENT("floating_point { exp_dig = 8; mant_dig = 24; align = 32; } a;"
	       "floating_point { exp_dig = 11; mant_dig = 53; byte_order = be; } b;"
	       "floating_point { exp_dig = 5; mant_dig = 11; } c;"),
	 SCOPE_PAYLOAD, "{a:f32@32 b:f64be c:f16}@32"},
	{"a[2][3] is 2 of 3", EVENT("u8 a[2][3];"), SCOPE_PAYLOAD, "{a:[2][3]u8}"},
	{"several declarators", EVENT("u8 a, b[2], (c)[1];"), SCOPE_PAYLOAD,
	 "{a:u8 b:[2]u8 c:[1]u8}"},
	{"names of several words",
	 HEAD "typealias integer { size = 64; } := unsigned long;"
	      "typealias integer { size = 32; } := long unsigned;"
	      "typealias integer { size = 16; } := struct page *;"
	      "event { fields := struct { unsigned  long a; long unsigned b; const unsigned long c;"
	      "struct page * d; }; };",
	 SCOPE_PAYLOAD, "{a:u64 b:u32 c:u64 d:u16}"},
	{"inner names hide outer ones",
	 EVENT("typealias integer { size = 4; } := u8; u8 a; struct { typedef int u8; u8 b; } s;"),
	 SCOPE_PAYLOAD, "{a:u4@1 s:{b:i32}}"},
	{"struct alignment counts no variants",
	 EVENT("enum : u8 { A } t; variant <t> { integer { size = 8; align = 64; } A; } v;"),
	 SCOPE_PAYLOAD, "{t:e8 v:<=t A(0..0):u8@64>}"},
	{"align() is a minimum",
	 EVENT("struct { u8 a; } align(4) s; struct { u8 a; } align(32) t;"), SCOPE_PAYLOAD,
	 "{s:{a:u8} t:{a:u8}@32}@32"},
	{"one underscore is dropped", EVENT("u8 _a; u8 __b; u8 _;"), SCOPE_PAYLOAD,
	 "{a:u8 _b:u8 :u8}"},
	{"names stay when dropping makes two equal", EVENT("u8 str; u8 _str; u8 _x;"),
	 SCOPE_PAYLOAD, "{str:u8 _str:u8 x:u8}"},
	{"underscores of a chain", EVENT("u8 f; u8 _f; u8 __f;"), SCOPE_PAYLOAD,
	 "{f:u8 _f:u8 __f:u8}"},
	{"a length is found as written, then without underscore",
	 EVENT("u8 _n; u8 __n; u8 a[_n]; u8 b[n]; u8 c[__n];"), SCOPE_PAYLOAD,
	 "{n:u8 _n:u8 a:[=n]u8 b:[=n]u8 c:[=_n]u8}"},
	{"lengths in outer structs, nearest first",
	 EVENT("u8 n; struct { u8 a[n]; u8 n; u8 b[n]; } s; u8 c[s.n];"), SCOPE_PAYLOAD,
	 "{n:u8 s:{a:[=n]u8 n:u8 b:[=s.n]u8} c:[=s.n]u8}"},
	{"a length binds where its type is declared",
	 EVENT("u8 len; typedef struct { u8 a[len]; } T; struct { string len; T x; } f;"),
	 SCOPE_PAYLOAD, "{len:u8 f:{len:s x:{a:[=len]u8}}}"},
	{"else where it is used",
	 HEAD U8 "struct T { u8 a[len]; }; event { fields := struct { u8 len; struct T t; }; };",
	 SCOPE_PAYLOAD, "{len:u8 t:{a:[=len]u8}}"},
	{"absolute lengths",
	 "trace { major = 1; minor = 8; byte_order = le; packet.header := struct { integer { size "
	 "= 8; "
	 "} n; }; };" U8 "stream { packet.context := struct { struct { u8 n; } s; };"
	 "event.header := struct { u8 h; }; event.context := struct { u8 c; }; };"
	 "event { context := struct { u8 d; }; fields := struct { u8 a[trace.packet.header.n]; "
	 "u8 b[stream.packet.context.s.n]; u8 c[stream.event.header.h]; "
	 "u8 d[stream.event.context.c]; u8 e[event.context.d]; u8 f; u8 g[event.fields.f]; }; };",
	 SCOPE_PAYLOAD,
	 "{a:[=ph.n]u8 b:[=pc.s.n]u8 c:[=eh.h]u8 d:[=sc.c]u8 e:[=ec.d]u8 f:u8 g:[=f]u8}"},
	{"a name of another scope only",
	 HEAD U8 "event { context := struct { u8 n; }; fields := struct { u8 a[n]; }; };",
	 SCOPE_PAYLOAD, "{a:[=ec.n]u8}"},
	{"lengths of the environment",
	 HEAD U8 "event { fields := struct { u8 a[env.n]; }; }; env { n = 7; };", SCOPE_PAYLOAD,
	 "{a:[7]u8}"},
	{"LTTng's compact header",
	 HEAD
	 "struct h { enum : integer { size = 5; } { compact = 0 ... 30, extended = 31 } id;"
	 "variant <id> { struct { integer { size = 27; } timestamp; } compact;"
	 "struct { integer { size = 32; } id; integer { size = 64; } timestamp; } extended; } v;"
	 "} align(8); stream { event.header := struct h; };",
	 SCOPE_EVENT_HEADER,
	 "{id:e5@1 v:<=eh.id compact(0..30):{timestamp:u27#0@1}@1 "
	 "extended(31..31):{id:u32 timestamp:u64#0}>}"},
	{"options by several ranges, labels without option, options without label",
	 EVENT("enum : u8 { _a = 1, b, \"a\" = 7 ... 9, \"c d\", e } t; variant <t> { u8 a; u8 _b; "
	       "u8 x; } v;"),
	 SCOPE_PAYLOAD, "{t:e8 v:<=t a(1..1 7..9):u8 b(2..2):u8 x():u8>}"},
	{"the written name decides among labels",
	 EVENT("enum : u8 { P, _P } t; variant <t> { u8 _P; u8 P; } v;"), SCOPE_PAYLOAD,
	 "{t:e8 v:<=t _P(1..1):u8 P(0..0):u8>}"},
	{"a named variant gets its tag later",
	 HEAD U8 "variant V { u8 a; string b; }; enum T : u8 { a, b };"
		 "event { fields := struct { enum T x; variant V <x> v; }; };",
	 SCOPE_PAYLOAD, "{x:e8 v:<=x a(0..0):u8 b(1..1):s>}"},
	{"a tag in the header",
	 HEAD U8 "stream { event.header := struct { enum : u8 { a } id; }; };"
		 "event { fields := struct { variant <stream.event.header.id> "
		 "{ u8 a; } v; }; };",
	 SCOPE_PAYLOAD, "{v:<=eh.id a(0..0):u8>}@1"},
	{"a bit-field moves to the next unit",
	 HEAD "typealias integer { size = 32; align = 32; } := u;"
	      "event { fields := struct { u a; u b:30; u c:3; u d:2; }; };",
	 SCOPE_PAYLOAD, "{a:u32@32 b:u30@1 c:u3@32 d:u2@1}@32"},
	{"a bit-field after an array",
	 HEAD "typealias integer { size = 16; align = 16; } := u; event { fields := struct {"
	      "integer { size = 8; } a[3]; u b:9; } align(16); };",
	 SCOPE_PAYLOAD, "{a:[3]u8 b:u9@16}@16"},
	{"a mapped integer",
	 HEAD "clock { name = c; }; event { fields := struct { integer { size = 8; map = "
	      "clock.c.value; } a; }; };",
	 SCOPE_PAYLOAD, "{a:u8#0}"},
	{"a timestamp without map uses the only clock",
	 HEAD "clock { name = c; }; stream { packet.context := struct { integer { size = 64; } "
	      "timestamp_begin; integer { size = 8; } x; }; };",
	 SCOPE_PACKET_CONTEXT, "{timestamp_begin:u64#0 x:u8}"},
	{"names of blocks are free in fields", EVENT("u8 fields; u8 name; u8 id; u8 packet;"),
	 SCOPE_PAYLOAD, "{fields:u8 name:u8 id:u8 packet:u8}"},
	{"an empty struct", EVENT(""), SCOPE_PAYLOAD, "{}@1"},
	{"comments and other integers",
	 EVENT("/* * / */ u8 a[0x1FuLL]; // to the end\n u8 b[017L]; u8 c[0];"), SCOPE_PAYLOAD,
	 "{a:[31]u8 b:[15]u8 c:[0]u8}"},
};

static void has_shape(void **state)
{
	const struct shape_row *row = *state;
	struct arena *arena = arena_new();
	struct ctf_description d;
	struct notices quiet = {0};
	struct error err = {0};
	struct buf shape = {0};

	if (!tsdl_parse("t", row->text, strlen(row->text), false, arena, &quiet, &d, &err))
		fail_msg("%s", err.text);
	struct scopes scopes = scopes_of(&d);
	assert_non_null(scopes.root[row->scope]);
	render(&shape, &scopes, scopes.root[row->scope]);
	assert_string_equal(buf_text(&shape), row->shape);
	buf_release(&shape);
	arena_free(arena);
}

static struct error_row {
	const char *name, *text, *error;
} errors[] = {
	{"line and column", HEAD "\n\n  struct {\n\tfoo x;\n};", "t:4:2: foo is no type"},
	{"what was expected", HEAD "typealias integer { size 8; } := u8;", "expected '=', found 8"},
	{"end of the text", HEAD "stream {", "expected a name, found the end of the text"},
	{"no trace block", "/* CTF 1.8 */", "there is no trace block"},
	{"another version", "/* CTF 1.9 */", "CTF 1.9 is not supported"},
	{"a comment without end", HEAD "/* x", "never closed"},
	{"no byte order", "trace { major = 1; minor = 8; };", "has no byte_order"},
	{"no byte order, behind an empty struct",
	 "typealias struct { } := empty; trace { major = 1; minor = 8; };", "has no byte_order"},
	{"an attribute twice", HEAD "clock { name = a; name = b; };", "name stands twice"},
	{"integers of a million bits", EVENT("integer { size = 1048577; } a;"),
	 "t:1:210: integers of more than 1048576 bits"},
	{"a clock's value of 65 bits",
	 HEAD "clock { name = a; }; event { fields := struct { integer { size = 65; map = "
	      "clock.a.value; } x; }; };",
	 "an integer of 65 bits is no value of a clock"},
	{"an enumeration of 65 bits", EVENT("enum : integer { size = 65; } { A } a;"),
	 "must be of an integer type"},
	{"a length of 65 bits", EVENT("integer { size = 65; } n; u8 a[n];"), "is no integer"},
	{"a signed length", EVENT("int n; u8 a[n];"), "the length n is a signed integer"},
	{"a length that is a struct", EVENT("struct { u8 x; } n; u8 a[n];"), "is no integer"},
	{"a length after its use", EVENT("u8 a[n]; u8 n;"), "no field n"},
	{"a length in a later scope",
	 HEAD U8
	 "event { context := struct { u8 a[event.fields.n]; }; fields := struct { u8 n; }; };",
	 "no field event.fields.n"},
	{"a length in an option that may not be there",
	 EVENT("enum : u8 { A } t; variant <t> { struct { u8 n; } A; } v; u8 a[v.A.n];"),
	 "no field v.A.n"},
	{"a length in an array's elements", EVENT("struct { u8 n; } s[2]; u8 a[s.n];"),
	 "no field s.n"},
	{"a name of two other scopes",
	 HEAD U8
	 "stream { event.context := struct { u8 n; }; }; event { context := struct { u8 n; };"
	 "fields := struct { u8 a[n]; }; };",
	 "no field n"},
	{"a tag that is no enumeration", EVENT("u8 t; variant <t> { u8 a; } v;"), "no enumeration"},
	{"a variant without a tag", EVENT("variant { u8 a; } v;"), "has no tag"},
	{"a bit-field at an unknown place",
	 HEAD "typealias integer { size = 32; align = 32; } := u; event { fields := struct { u "
	      "a:3; }; };",
	 "needs align(32)"},
	{"a bit-field that is too wide", EVENT("u8 a:9;"), "1 to 8 bits"},
	{"two clocks in a stream",
	 HEAD "clock { name = a; }; clock { name = b; }; event { fields := struct {"
	      "integer { size = 8; map = clock.a.value; } x;"
	      "integer { size = 8; map = clock.b.value; } y; }; };",
	 "two clocks"},
	{"a clock that is not there", EVENT("integer { size = 8; map = clock.a.value; } x;"),
	 "no clock a"},
	{"two streams without id", HEAD "stream { }; stream { };", "id 0 already"},
	{"a stream that is not there", HEAD "event { stream_id = 1; };", "no stream with the id 1"},
	{"a range backwards", EVENT("enum : u8 { A = 3 ... 2 } a;"), "ends before it begins"},
	{"no label left", EVENT("enum : u8 { A = 255, B } a;"), "after the greatest value"},
	{"no label left of 64 bits",
	 EVENT("enum : integer { size = 64; } { A = 18446744073709551615, B } a;"),
	 "greatest value"},
	{"a mapping that the integer cannot hold", EVENT("enum : u8 { A = 256 } a;"),
	 "does not fit the enumeration's integer type"},
	{"a zero byte", NULL, "zero byte"},
	{"a pointer that is not there", EVENT("u8 *a;"), "u8 * is no type"},
	{"an environment without it", EVENT("u8 a[env.n];"), "has no env.n"},
	{"fields that are no struct", HEAD U8 "event { fields := u8; };", "must be a struct"},
	{"'=' where ':=' belongs", HEAD "event { fields = x; };", "expected ':='"},
};

static void is_refused(void **state)
{
	static const char zero[] = HEAD "\0";
	const struct error_row *row = *state;
	struct arena *arena = arena_new();
	struct ctf_description d;
	struct notices quiet = {0};
	struct error err = {0};
	const char *text = row->text ? row->text : zero;
	size_t size = row->text ? strlen(text) : sizeof zero;

	assert_false(tsdl_parse("t", text, size, false, arena, &quiet, &d, &err));
	assert_int_equal(err.kind, ERR_FORMAT);
	if (!strstr(err.text, row->error))
		fail_msg("expected \"%s\" in: %s", row->error, err.text);
	arena_free(arena);
}

static struct warning_row {
	const char *name, *text, *warning;
} warnings[] = {
	{"an unknown attribute", EVENT("integer { size = 8; x = y; } a;"), "unknown attribute x"},
	{"a mapping that the integer cannot hold, by LTTng", LTTNG("enum : u8 { A, B = -1 } a;"),
	 "does not fit the enumeration's integer type; the label matches nothing"},
	{"a label after the greatest value, by LTTng", LTTNG("enum : u8 { A = 255, B } a;"),
	 "the label after the greatest value has none; the label matches nothing"},
	{"a quoted word", EVENT("integer { size = 8; base = \"hex\"; } a;"), "without quotes"},
	{"two structs without ';' between", HEAD "struct a { } struct b { };", "expected ';'"},
	{"a name of another scope only",
	 HEAD U8 "event { context := struct { u8 n; }; fields := struct { u8 a[n]; }; };",
	 "t:1:163: n stands in another scope only"},
	{"two trace blocks", HEAD "trace { byte_order = le; };", "another trace block"},
	{"two env blocks", HEAD "env { }; env { };", "another env block"},
	{"an environment's name twice", HEAD "env { a = 1; a = 2; };", "a stands twice"},
	{"a stream's id that no packet has", HEAD "stream { id = 1; };", "no stream_id"},
	{"a size that is a string",
	 HEAD "stream { packet.context := struct { string packet_size; }; };",
	 "t:1:107: packet_size should be an unsigned integer"},
	{"a magic number that comes second",
	 "trace { major = 1; minor = 8; byte_order = le; packet.header := struct { integer { size "
	 "= 8; } stream_id; integer { size = 32; } magic; }; };",
	 "magic should be the first member"},
	{"a UUID of 15 bytes",
	 "trace { major = 1; minor = 8; byte_order = le; packet.header := struct { integer { size "
	 "= 8; } uuid[15]; }; };",
	 "uuid should be an array of 16 bytes"},
	{"an id with a sign", HEAD I32 "stream { event.header := struct { int id; }; };",
	 "id should be an unsigned integer"},
	{"classes that no event can be told of", HEAD "event { name = a; }; event { id = 1; };",
	 "event headers have no id"},
	{"no clock among several",
	 HEAD "clock { name = a; }; clock { name = b; }; stream { event.header := struct {"
	      "integer { size = 8; } timestamp; }; };",
	 "which clock"},
};

static void keep_notice(void *arg, enum notice_kind kind, const char *text)
{
	assert_int_equal(kind, NOTICE_WARNING);
	buf_add_text(arg, text);
	buf_add_char(arg, '\n');
}

static void warns(void **state)
{
	const struct warning_row *row = *state;
	struct arena *arena = arena_new();
	struct ctf_description d;
	struct buf said = {0};
	struct notices notices = {.say = keep_notice, .arg = &said};
	struct error err = {0};

	if (!tsdl_parse("t", row->text, strlen(row->text), false, arena, &notices, &d, &err))
		fail_msg("%s", err.text);
	if (!strstr(buf_text(&said), row->warning))
		fail_msg("expected \"%s\" in: %s", row->warning, buf_text(&said));
	buf_release(&said);
	arena_free(arena);
}

static void parse(struct arena *arena, const char *text, struct ctf_description *d)
{
	struct notices quiet = {0};
	struct error err = {0};

	if (!tsdl_parse("t", text, strlen(text), false, arena, &quiet, d, &err))
		fail_msg("%s", err.text);
}

static void reads_blocks(void **state)
{
	static const char text[] =
		"/* CTF 1.8 */ event { name = \"a\\x41\\102\"; id = 5; stream_id = 2; loglevel = "
		"14;"
		"model.emf.uri = \"u\"; }; env { a = -3; b = \"x\"; c = word; tracer_name = "
		"\"lttng-ust\"; };"
		"stream { id = 7; }; stream { id = 2; }; event { id = 4; stream_id = 2; };"
		"clock { name = \"monotonic\"; freq = 5; offset_s = -1; offset = -9; precision = 3;"
		"uuid = \"00010203-0405-0607-0809-0a0b0c0D0E0f\"; description = d; };"
		"callsite { name = a; line = 3; }; trace { major = 1; minor = 8; byte_order = be;"
		"uuid = \"2a6422d0-6cee-11e0-8c08-cb07d7b3a564\"; };";
	struct arena *arena = arena_new();
	struct ctf_description d;

	(void)state;
	parse(arena, text, &d);
	assert_true(d.big_endian && d.has_uuid && d.uuid[0] == 0x2a && d.uuid[15] == 0x64);
	assert_int_equal(d.nstreams, 2);
	assert_int_equal(d.streams[0].id, 7);
	assert_int_equal(d.streams[0].clock, -1);
	assert_int_equal(d.streams[1].nevents, 2);
	const struct ctf_event *event = &d.streams[1].events[0];
	assert_string_equal(event->name, "aAB");
	assert_int_equal(event->id, 5);
	assert_int_equal(event->loglevel, 14);
	assert_string_equal(event->emf_uri, "u");
	assert_null(d.streams[1].events[1].name);
	assert_int_equal(d.streams[1].events[1].loglevel, -1);
	assert_int_equal(d.nenv, 4);
	assert_int_equal(d.env[0].number, -3);
	assert_string_equal(d.env[1].text, "x");
	assert_string_equal(d.env[2].text, "word");
	assert_int_equal(d.nclocks, 1);
	assert_true(d.clocks[0].epoch && d.clocks[0].has_uuid && d.clocks[0].uuid[14] == 14);
	assert_int_equal(d.clocks[0].base.frequency, 5);
	assert_int_equal(d.clocks[0].base.offset_s, -1);
	assert_int_equal(d.clocks[0].base.offset_cycles, -9);
	assert_int_equal(d.clocks[0].precision, 3);
	arena_free(arena);
}

static void makes_a_clock(void **state)
{
	struct arena *arena = arena_new();
	struct ctf_description d;

	(void)state;
	parse(arena,
	      HEAD
	      "stream { id = 0; event.header := struct { integer { size = 64; } timestamp; }; };"
	      "stream { id = 1; };",
	      &d);
	assert_int_equal(d.nclocks, 1);
	assert_string_equal(d.clocks[0].name, "");
	assert_int_equal(d.clocks[0].base.frequency, 1000000000);
	assert_false(d.clocks[0].epoch);
	assert_int_equal(d.streams[0].clock, 0);
	assert_int_equal(d.streams[1].clock, -1);
	arena_free(arena);
}

static void keeps_to_its_depth(void **state)
{
	enum { LEVELS = 100000 };
	static const char *const openings[] = {"struct { ", "enum : ", "typedef int ((",
					       "variant <a> { "};
	struct notices quiet = {0};

	(void)state;
	for (size_t i = 0; i < COUNT(openings); i++) {
		struct arena *arena = arena_new();
		struct ctf_description d;
		struct error err = {0};
		struct buf text = {0};
		buf_add_text(&text, HEAD);
		for (int k = 0; k < LEVELS; k++)
			buf_add_text(&text, k && i == 2 ? "(" : openings[i]);
		assert_false(tsdl_parse("t", text.data, text.len, false, arena, &quiet, &d, &err));
		assert_non_null(strstr(err.text, "deep"));
		buf_release(&text);
		arena_free(arena);
	}
}

/* Each struct holds the one before twice: 2 to the 60th nodes, were they all made. */
static void keeps_to_its_size(void **state)
{
	struct arena *arena = arena_new();
	struct ctf_description d;
	struct notices quiet = {0};
	struct error err = {0};
	struct buf text = {0};

	(void)state;
	buf_add_text(&text, HEAD U8 "struct s0 { u8 a; };");
	for (int i = 0; i < 60; i++)
		buf_printf(&text, "struct s%d { struct s%d a, b; };", i + 1, i);
	buf_add_text(&text, "event { fields := struct s60; };");
	assert_false(tsdl_parse("t", text.data, text.len, false, arena, &quiet, &d, &err));
	assert_non_null(strstr(err.text, "too large"));
	buf_release(&text);
	arena_free(arena);
}

static size_t add_packet(uint8_t *to, bool big, const char *text, uint32_t padding)
{
	uint32_t len = (uint32_t)strlen(text),
		 words[2] = {(37 + len) * 8, (37 + len + padding) * 8};
	uint32_t magic = 0x75d11d57;

	memset(to, 0, 37 + len + padding);
	for (unsigned i = 0; i < 4; i++) {
		unsigned shift = big ? 24 - 8 * i : 8 * i;
		to[i] = (uint8_t)(magic >> shift);
		to[24 + i] = (uint8_t)(words[0] >> shift);
		to[28 + i] = (uint8_t)(words[1] >> shift);
	}
	to[35] = 1;
	to[36] = 8;
	memcpy(to + 37, text, len);
	return 37 + len + padding;
}

/* Faults of LTTng, which are warnings by default, are errors with `strict`. */
static void refuses_when_strict(void **state)
{
	static const char *const texts[] = {LTTNG("enum : u8 { A, B = -1 } a;"),
					    LTTNG("enum : u8 { A = 255, B } a;")};
	struct notices quiet = {0};

	(void)state;
	for (size_t i = 0; i < COUNT(texts); i++) {
		struct arena *arena = arena_new();
		struct ctf_description d;
		struct error err = {0};
		assert_false(
			tsdl_parse("t", texts[i], strlen(texts[i]), true, arena, &quiet, &d, &err));
		assert_non_null(strstr(err.text, i ? "after the greatest" : "does not fit"));
		arena_free(arena);
	}
}

/* One of them holds no text. */
static void joins_many_packets(void **state)
{
	enum { COUNT_PACKETS = 23 };
	struct arena *arena = arena_new();
	struct notices quiet = {0};
	struct error err = {0};
	struct buf whole = {0};
	uint8_t bytes[64];
	size_t size;
	char *text;

	(void)state;
	for (uint32_t i = 0; i < COUNT_PACKETS; i++) {
		char piece[2] = {(char)('a' + i), 0};
		size_t len = add_packet(bytes, false, i == 7 ? "" : piece, i % 3);
		buf_add(&whole, bytes, len);
	}
	assert_true(metadata_text("m", (const uint8_t *)whole.data, whole.len, arena, &quiet, &text,
				  &size, &err));
	assert_string_equal(text, "abcdefgijklmnopqrstuvw");
	buf_release(&whole);
	arena_free(arena);
}

static struct packet_row {
	const char *name;
	bool big;
	size_t cut;       /* bytes taken from the end */
	int poke;         /* byte of the second packet that is made 9, -1 none */
	const char *text; /* NULL: refused */
} packets[] = {
	{"little endian", false, 0, -1, "trace {};"},
	{"big endian", true, 0, -1, "trace {};"},
	{"padding cut off", false, 3, -1, "trace {};"},
	{"second packet cut off", false, 15, -1, "tra"},
	{"second header cut off", true, 30, -1, "tra"},
	{"first packet cut off", false, 70, -1, NULL},
	{"wrong magic in the second", false, 0, 0, NULL},
	{"another UUID", false, 0, 5, NULL},
	{"content larger than packet", false, 0, 26, NULL},
	{"compressed", false, 0, 32, NULL},
	{"version 1.9", true, 0, 36, NULL},
};

static void joins_packets(void **state)
{
	const struct packet_row *row = *state;
	struct arena *arena = arena_new();
	struct notices quiet = {0};
	struct error err = {0};
	uint8_t bytes[128];
	size_t size, first = add_packet(bytes, row->big, "tra", 2);
	size_t count = first + add_packet(bytes + first, row->big, "ce {};", 8);
	char *text;

	if (row->poke >= 0)
		bytes[first + (size_t)row->poke] = 9;
	bool done = metadata_text("m", bytes, count - row->cut, arena, &quiet, &text, &size, &err);
	assert_int_equal(done, row->text != NULL);
	if (done) {
		assert_string_equal(text, row->text);
		assert_int_equal(size, strlen(row->text));
	}
	arena_free(arena);
}

int main(void)
{
	struct CMUnitTest
		tests[COUNT(shapes) + COUNT(errors) + COUNT(warnings) + COUNT(packets) + 6];
	size_t n = 0;

	for (size_t i = 0; i < COUNT(shapes); i++)
		tests[n++] = (struct CMUnitTest){shapes[i].name, has_shape, NULL, NULL, &shapes[i]};
	for (size_t i = 0; i < COUNT(errors); i++)
		tests[n++] =
			(struct CMUnitTest){errors[i].name, is_refused, NULL, NULL, &errors[i]};
	for (size_t i = 0; i < COUNT(warnings); i++)
		tests[n++] = (struct CMUnitTest){warnings[i].name, warns, NULL, NULL, &warnings[i]};
	for (size_t i = 0; i < COUNT(packets); i++)
		tests[n++] = (struct CMUnitTest){packets[i].name, joins_packets, NULL, NULL,
						 &packets[i]};
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(reads_blocks);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(makes_a_clock);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(keeps_to_its_depth);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(keeps_to_its_size);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(refuses_when_strict);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(joins_many_packets);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
