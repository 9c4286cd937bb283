/*
 * test_ctf2.c - CTF 2 metadata, clause by clause: what is refused, with the words and the place,
 * and what is read
 *
 * JSON stands in rows with ' for ", so that it can be read. A row's text follows the fragments of
 * its `before`.
 */
#include "engine/ctf/description.h"

#include "engine/base/mem.h"
#include "tests/harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RS "\x1e"
#define PRE RS "{'type':'preamble','version':2}\n"
#define STREAM RS "{'type':'data-stream-class'}\n"
#define HEAD PRE STREAM
#define CLOCK RS "{'type':'clock-class','id':'c','frequency':1000}"
#define U8 "{'type':'fixed-length-unsigned-integer','length':8,'byte-order':'little-endian'}"
#define S8 "{'type':'fixed-length-signed-integer','length':8,'byte-order':'little-endian'}"
#define BOOL "{'type':'fixed-length-boolean','length':8,'byte-order':'little-endian'}"
#define BITS "{'type':'fixed-length-bit-array','length':8,'byte-order':'little-endian'}"
#define STR "{'type':'null-terminated-string'}"
#define STRUCT(members) "{'type':'structure','member-classes':[" members "]}"
#define M(name, class) "{'name':'" name "','field-class':" class "}"
#define EVENT(members) \
	HEAD RS "{'type':'event-record-class','payload-field-class':" STRUCT(members) "}"
#define EVENT1(class) EVENT(M("a", class))
#define FIXED(kind, more) "{'type':'fixed-length-" kind "','byte-order':'little-endian'," more "}"
#define HEADER(members) \
	PRE RS "{'type':'trace-class','packet-header-field-class':" STRUCT(members) "}"
#define ROLE(role) FIXED("unsigned-integer", "'length':32,'roles':['" role "']")
#define SEQ(location) "{'type':'dynamic-length-string','length-field-location':" location "}"
#define OPT(location, more) \
	"{'type':'optional','field-class':" U8 ",'selector-field-location':" location more "}"
#define VAR(location, options) \
	"{'type':'variant','selector-field-location':" location ",'options':[" options "]}"
#define O(name, ranges) \
	"{'name':'" name "','field-class':" U8 ",'selector-field-ranges':" ranges "}"

struct row {
	const char *name, *text;
	const char *says; /* in the error; NULL: it is read. "!": read, with this in a warning */
};

static const struct row rows[] = {
	/* the metadata stream */
	{"an empty stream", RS "\n", "no fragment"},
	{"no preamble", STREAM, "fragment 1 at byte 1: the first fragment is no preamble"},
	{"two preambles", PRE PRE, "fragment 2 at byte 34: a second preamble"},
	{"version 3", RS "{'type':'preamble','version':3}", "version: CTF 3 is not supported"},
	{"version missing", RS "{'type':'preamble'}", "version is missing"},
	{"version is no integer", RS "{'type':'preamble','version':2.0}",
	 "version: expected an unsigned"},
	{"runs of record separators",
	 RS RS RS "{'type':'preamble','version':2}\n" RS RS "\n" STREAM, NULL},
	{"no record separators", "{'type':'preamble','version':2} {'type':'data-stream-class'}",
	 "!no record separators"},
	{"two values in a fragment", RS "{'type':'preamble','version':2} {}",
	 "fragment 1 at byte 33: expected the end of the fragment"},
	{"an array as fragment", PRE RS "[]", "expected a JSON object"},
	{"bad JSON", PRE RS "{'type':}\n" STREAM, "fragment 2 at byte 42"},
	{"a comment", PRE RS "/* no */ {}", "expected a JSON object"},
	{"the last fragment is cut off", PRE RS "{'type':'data-str",
	 "!ends inside fragment 2 at byte 34, which is left out"},
	{"a fragment in the middle is cut off", PRE RS "{'type':'data" STREAM, "fragment 2"},
	{"UTF-8 that is none", PRE RS "{'type':'data-stream-class','name':'\xff'}", "utf-8"},
	{"a key twice", PRE RS "{'type':'data-stream-class','id':1,'id':1}",
	 "fragment 2 at byte 69: a key stands twice"},
	{"a key twice, written in two ways",
	 PRE RS "{'type':'data-stream-class','id':1,'i\\u0064':1}", "a key stands twice"},
	{"a zero character in a key",
	 EVENT1(FIXED("bit-map", "'length':8,'flags':{'\\u0000':[[0,0]]}")),
	 "a zero character in a name"},
	{"a zero character in a name", PRE RS "{'type':'data-stream-class','name':'a\\u0000'}",
	 "name: a zero character"},
	{"2^64 - 1", PRE RS "{'type':'data-stream-class','id':18446744073709551615}", NULL},
	{"2^64", PRE RS "{'type':'data-stream-class','id':18446744073709551616}",
	 "fragment 2 at byte 67: an integer over 64 bits"},
	{"-2^63 - 1", PRE RS "{'type':'trace-class','environment':{'a':-9223372036854775809}}",
	 "an integer over 64 bits"},
	{"no number of JSON's", PRE RS "{'type':'trace-class','attributes':{'a':NaN}}",
	 "no JSON value"},
	/* common properties */
	{"an unknown fragment", PRE RS "{'type':'new-class'}", "type: new-class is not known"},
	{"no type", PRE RS "{}", "type is missing"},
	{"an unknown property", PRE RS "{'type':'data-stream-class','colour':1}",
	 "the property colour is not known"},
	{"attributes may be anything",
	 PRE RS "{'type':'trace-class','attributes':{'me':{'x':[1,{}]}}}", NULL},
	{"attributes are an object", PRE RS "{'type':'trace-class','attributes':[]}",
	 "attributes: expected an object"},
	{"an extension", RS "{'type':'preamble','version':2,'extensions':{'me':{'fast':true}}}",
	 "extensions/me: the extension fast is not known"},
	{"an extension of a field class",
	 EVENT1("{'type':'null-terminated-string','extensions':{'me':"
		"{'x':1}}}"),
	 "payload-field-class/member-classes[0]/field-class/extensions/me: the extension x"},
	{"extensions without one", PRE RS "{'type':'trace-class','extensions':{'me':{}}}", NULL},
	/* aliases */
	{"an alias of an alias",
	 PRE RS "{'type':'field-class-alias','name':'a','field-class':" U8 "}" RS
		"{'type':'field-class-alias','name':'b','field-class':'a'}" STREAM RS
		"{'type':'event-record-class','payload-field-class':" STRUCT(M("x", "'b'")) "}",
	 NULL},
	{"an alias of itself", PRE RS "{'type':'field-class-alias','name':'a','field-class':'a'}",
	 "no field class alias a before this"},
	{"an alias before it is there",
	 EVENT1("'a'") RS "{'type':'field-class-alias','name':'a','field-class':" U8 "}",
	 "no field class alias a"},
	{"an alias twice",
	 PRE RS "{'type':'field-class-alias','name':'a','field-class':" U8 "}" RS
		"{'type':'field-class-alias','name':'a','field-class':" U8 "}",
	 "the alias a is there already"},
	{"an alias that is wrong and not used",
	 PRE RS "{'type':'field-class-alias','name':'a','field-class':{'type':'what'}}",
	 "the field class what is not known"},
	/* trace class, clocks */
	{"two trace classes", PRE RS "{'type':'trace-class'}" RS "{'type':'trace-class'}",
	 "a second trace class"},
	{"a trace class behind a stream class", HEAD RS "{'type':'trace-class'}",
	 "comes after a data stream class"},
	{"an environment value", PRE RS "{'type':'trace-class','environment':{'a':1.5}}",
	 "environment/a: expected an integer or a string"},
	{"a clock without id", PRE RS "{'type':'clock-class','frequency':1}", "id is missing"},
	{"a clock without frequency", PRE RS "{'type':'clock-class','id':'c'}",
	 "frequency is missing"},
	{"a frequency of 0", PRE RS "{'type':'clock-class','id':'c','frequency':0}",
	 "0 is not in 1"},
	{"as many cycles as the frequency",
	 PRE RS "{'type':'clock-class','id':'c','frequency':5,'offset-from-origin':{'cycles':5}}",
	 "offset-from-origin/cycles: as many cycles"},
	{"a negative offset",
	 PRE RS "{'type':'clock-class','id':'c','frequency':5,'offset-from-origin':{'seconds':-5}}",
	 NULL},
	{"an origin without uid",
	 PRE RS "{'type':'clock-class','id':'c','frequency':5,'origin':{'name':'x'}}",
	 "origin: uid is missing"},
	{"an unknown origin",
	 PRE RS "{'type':'clock-class','id':'c','frequency':5,'origin':'big-bang'}",
	 "origin: big-bang is not known"},
	{"a clock twice", PRE CLOCK CLOCK, "the clock class c is there already"},
	{"a clock that is not there",
	 PRE RS "{'type':'data-stream-class','default-clock-class-id':'c'}",
	 "no clock class c before this"},
	/* stream and event classes */
	{"a stream class twice", HEAD STREAM, "the data stream class 0 is there already"},
	{"an event class twice", EVENT("") RS "{'type':'event-record-class'}",
	 "has an event record class 0 already"},
	{"an event class without stream class", PRE RS "{'type':'event-record-class'}",
	 "no data stream class 0 before this"},
	{"a payload that is no structure",
	 HEAD RS "{'type':'event-record-class','payload-field-class':" U8 "}",
	 "payload-field-class: this is no structure"},
	/* scalars */
	{"no length", EVENT1(FIXED("unsigned-integer", "'alignment':8")), "length is missing"},
	{"no byte order", EVENT1("{'type':'fixed-length-unsigned-integer','length':8}"),
	 "byte-order is missing"},
	{"a length of 0", EVENT1(FIXED("unsigned-integer", "'length':0")),
	 "length: 0 is not in 1 to 1048576"},
	{"65 bits", EVENT1(FIXED("unsigned-integer", "'length':65")), NULL},
	{"2000000 bits", EVENT1(FIXED("unsigned-integer", "'length':2000000")),
	 "length: 2000000 is not in 1 to 1048576"},
	{"65 bits of a boolean", EVENT1(FIXED("boolean", "'length':65")),
	 "length: 65 is not in 1 to 64"},
	{"mappings of 72 bits",
	 EVENT1(FIXED("unsigned-integer", "'length':72,'mappings':{'a':[[1,1]]}")),
	 "an integer of 72 bits has no mappings"},
	{"72 bits in another bit order",
	 EVENT1(FIXED("unsigned-integer", "'length':72,'bit-order':'last-to-first'")),
	 "in the bit order of its byte order only"},
	{"alignment 3", EVENT1(FIXED("unsigned-integer", "'length':8,'alignment':3")),
	 "alignment: 3 is no power of two"},
	{"base 7", EVENT1(FIXED("unsigned-integer", "'length':8,'preferred-display-base':7")),
	 "7 is none of 2, 8, 10 and 16"},
	{"an unknown byte order",
	 EVENT1("{'type':'fixed-length-boolean','length':8,'byte-order':'vax'}"),
	 "vax is not known"},
	{"a float of 24 bits", EVENT1(FIXED("floating-point-number", "'length':24")),
	 "none of IEEE 754"},
	{"a float of 16 bits", EVENT1(FIXED("floating-point-number", "'length':16")), NULL},
	{"a float of 128 bits",
	 EVENT1(FIXED("floating-point-number", "'length':128,'alignment':8")), NULL},
	{"a float of 144 bits",
	 EVENT1(FIXED("floating-point-number", "'length':144,'alignment':8")), "none of IEEE 754"},
	{"roles of a signed integer", EVENT1(FIXED("signed-integer", "'length':8,'roles':[]")),
	 "the property roles is not known here"},
	{"a bit map without flags", EVENT1(FIXED("bit-map", "'length':8,'flags':{}")),
	 "without flags"},
	{"a mapping that ends before it begins",
	 EVENT1(FIXED("unsigned-integer", "'length':8,'mappings':{'a':[[2,1]]}")),
	 "mappings/a[0]: the range ends before it begins"},
	{"a mapping of three numbers",
	 EVENT1(FIXED("unsigned-integer", "'length':8,'mappings':{'a':[[1,2,3]]}")),
	 "a lowest and a highest"},
	{"a mapping that an unsigned integer cannot hold",
	 EVENT1(FIXED("unsigned-integer", "'length':8,'mappings':{'a':[[-1,-1]]}")),
	 "!never matches"},
	{"a mapping without ranges",
	 EVENT1(FIXED("signed-integer", "'length':8,'mappings':{'a':[]}")), "not empty"},
	{"an unknown encoding", EVENT1("{'type':'null-terminated-string','encoding':'latin-1'}"),
	 "encoding: latin-1 is not known"},
	/* what holds others */
	{"a member twice", EVENT(M("a", U8) "," M("a", U8)),
	 "member-classes[1]/name: a is there already"},
	{"a member without class", EVENT("{'name':'a'}"), "field-class is missing"},
	{"a variant without options", EVENT(M("s", U8) "," M("v", VAR("{'path':['s']}", ""))),
	 "a variant without options"},
	{"options that overlap",
	 EVENT(M("s", U8) "," M("v",
				VAR("{'path':['s']}", O("a", "[[0,2]]") "," O("b", "[[2,3]]")))),
	 "the ranges of two options overlap"},
	{"options of one name",
	 EVENT(M("s", U8) "," M("v",
				VAR("{'path':['s']}", O("a", "[[0,1]]") "," O("a", "[[2,3]]")))),
	 "options[1]/name: a is there already"},
	{"a negative range of an unsigned selector",
	 EVENT(M("s", U8) "," M("v", VAR("{'path':['s']}", O("a", "[[-1,1]]")))), "negative"},
	{"a negative range of a signed selector",
	 EVENT(M("s", S8) "," M("v", VAR("{'path':['s']}", O("a", "[[-1,1]]")))), NULL},
	{"an optional by an integer without ranges",
	 EVENT(M("s", U8) "," M("o", OPT("{'path':['s']}", ""))),
	 "selector-field-ranges is missing"},
	{"an optional by a boolean with ranges",
	 EVENT(M("s", BOOL) "," M("o", OPT("{'path':['s']}", ",'selector-field-ranges':[[1,1]]"))),
	 "a boolean selector has no ranges"},
	{"an optional by a boolean", EVENT(M("s", BOOL) "," M("o", OPT("{'path':['s']}", ""))),
	 NULL},
	{"a variant by a boolean",
	 EVENT(M("s", BOOL) "," M("v", VAR("{'path':['s']}", O("a", "[[0,1]]")))),
	 "the selector of a variant is no integer"},
	/* field locations */
	{"a length behind its user", EVENT(M("t", SEQ("{'path':['n']}")) "," M("n", U8)),
	 "no such field is decoded before"},
	{"a length in no scope", EVENT1(SEQ("{'origin':'somewhere','path':['n']}")),
	 "somewhere is not known"},
	{"a length in a later scope",
	 PRE RS "{'type':'data-stream-class','packet-context-field-class':" STRUCT(
		 M("t", SEQ("{'origin':'event-record-payload','path':['n']}"))) "}",
	 "no such field is decoded before"},
	{"an empty path", EVENT1(SEQ("{'path':[]}")), "the path is empty"},
	{"a path that ends with null", EVENT1(SEQ("{'path':['a',null]}")), "the path ends"},
	{"a path above its scope", EVENT(M("n", U8) "," M("t", SEQ("{'path':[null,'n']}"))),
	 "goes above its scope"},
	{"a path there and back",
	 EVENT(M("n", U8) "," M("t", SEQ("{'path':['x','y',null,null,'n']}"))), NULL},
	{"the parent's length",
	 EVENT(M("n", U8) "," M("s", STRUCT(M("t", SEQ("{'path':[null,'n']}"))))), NULL},
	{"a signed length", EVENT(M("n", S8) "," M("t", SEQ("{'path':['n']}"))),
	 "no unsigned integer"},
	{"bits as length", EVENT(M("n", BITS) "," M("t", SEQ("{'path':['n']}"))),
	 "no unsigned integer"},
	{"a string as selector",
	 EVENT(M("s", STR) "," M("v", VAR("{'path':['s']}", O("a", "[[0,1]]")))),
	 "neither an integer nor a boolean"},
	{"a structure as length", EVENT(M("n", STRUCT("")) "," M("t", SEQ("{'path':['n']}"))),
	 "ends at a structure"},
	{"a length inside of an array",
	 EVENT(M("l", "{'type':'static-length-array','length':2,'element-field-class':" STRUCT(
			      M("n", U8)) "}") "," M("t", SEQ("{'path':['l','n']}"))),
	 "leads into an array"},
	{"a length of one's own element",
	 EVENT(M("l",
		 "{'type':'static-length-array','length':2,'element-field-class':" STRUCT(
			 M("n", U8) "," M(
				 "t",
				 SEQ("{'origin':'event-record-payload','path':['l','n']}"))) "}")),
	 NULL},
	{"lengths of two kinds",
	 EVENT(M("s", U8) "," M(
		 "v", VAR("{'path':['s']}",
			  "{'field-class':" STRUCT(
				  M("n", U8)) ",'selector-field-ranges':[[0,0]]},"
					      "{'field-class':" STRUCT(M(
						      "n", S8)) ",'selector-field-ranges':[[1,1]]"
								"}")) "," M("t", SEQ("{'path':['v',"
										     "'n']}"))),
	 "no unsigned integer"},
	/* roles */
	{"an unknown role", EVENT1(ROLE("my-role")), NULL},
	{"a role in another scope", EVENT1(ROLE("packet-total-length")), "!has no effect here"},
	{"a magic number that is not the first",
	 HEADER(M("a", U8) "," M("m", ROLE("packet-magic-number"))),
	 "the role of one field, the first"},
	{"two magic numbers",
	 HEADER(M("a", ROLE("packet-magic-number")) "," M("m", ROLE("packet-magic-number"))),
	 "the role of one field, the first"},
	{"a magic number of 8 bits",
	 HEADER(M("m", FIXED("unsigned-integer", "'length':8,'roles':['packet-magic-number']"))),
	 "of 32 bits"},
	{"a UUID that the preamble has not",
	 HEADER(M("u",
		  "{'type':'static-length-blob','length':16,'roles':['metadata-stream-uuid']}")),
	 "the preamble has no uuid"},
	{"a UUID of 15 bytes",
	 HEADER(M("u",
		  "{'type':'static-length-blob','length':15,'roles':['metadata-stream-uuid']}")),
	 "is of 16 bytes"},
	{"a time stamp without clock",
	 PRE RS "{'type':'data-stream-class','event-record-header-field-class':" STRUCT(
		 M("t", ROLE("default-clock-timestamp"))) "}",
	 "has no default clock"},
	/* SPECRC-7.0 */
	{"RC7: a clock by its name",
	 PRE RS "{'type':'clock-class','name':'c','frequency':1,'uuid':[0,1,2,3,4,5,6,7,8,9,10,11,"
		"12,13,14,15]}" RS
		"{'type':'data-stream-class','default-clock-class-name':'c','user-attributes':{}}",
	 NULL},
	{"RC7: an enumeration, a location as array",
	 EVENT(M("n", FIXED("unsigned-enumeration", "'length':8,'mappings':{'a':[[0,1]]}")) "," M(
		 "t", SEQ("['event-record-payload','n']"))),
	 NULL},
	{"RC7: variable-length enumerations",
	 EVENT1("{'type':'variable-length-signed-enumeration','mappings':{'a':[[-1,1]]}}"), NULL},
	{"RC7: the offset of a clock",
	 PRE RS "{'type':'clock-class','name':'c','frequency':9,'offset':{'seconds':1,'cycles':2},"
		"'origin-is-unix-epoch':true}",
	 NULL},
	{"RC7: the uuid of a trace class",
	 PRE RS "{'type':'trace-class','uuid':[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15]}", NULL},
	{"both dialects in one stream",
	 PRE CLOCK RS "{'type':'data-stream-class','user-attributes':{}}",
	 "user-attributes is of CTF2-SPECRC-7.0, but id of fragment 2 is of CTF2-SPEC-2.0"},
};

static char *unquoted(const char *text)
{
	char *copy = mem_strdup(text);

	for (char *c = copy; *c; c++)
		*c = *c == '\'' ? '"' : *c;
	return copy;
}

struct heard {
	char last[512];
	unsigned count;
};

static void hear(void *arg, enum notice_kind kind, const char *text)
{
	struct heard *heard = arg;

	(void)kind;
	heard->count++;
	snprintf(heard->last, sizeof heard->last, "%s", text);
}

static bool parse(const char *text, struct arena *arena, struct heard *heard,
		  struct ctf_description *out, struct error *err)
{
	struct notices notices = {.say = hear, .arg = heard};
	char *json = unquoted(text);

	*heard = (struct heard){0};
	assert_true(ctf2_is_metadata(json, strlen(json)));
	bool done = ctf2_parse("metadata", json, strlen(json), arena, &notices, out, NULL, err);
	mem_free(json);
	return done;
}

static void reads(void **state)
{
	const struct row *row = *state;
	struct arena *arena = arena_new();
	struct ctf_description d;
	struct error err = {0};
	struct heard heard;
	bool done = parse(row->text, arena, &heard, &d, &err),
	     warns = row->says && row->says[0] == '!';

	if (!row->says || warns) {
		if (!done)
			fail_msg("%s", err.text);
		assert_int_equal(heard.count, warns);
		if (warns && !strstr(heard.last, row->says + 1))
			fail_msg("warned \"%s\"", heard.last);
	} else {
		assert_false(done);
		if (!strstr(err.text, row->says) || strncmp(err.text, "metadata: ", 10) != 0)
			fail_msg("\"%s\" does not say \"%s\"", err.text, row->says);
	}
	arena_free(arena);
}

/* Nothing that begins like a good stream is read wrong, crashes or is refused without a word. */
static void cut_at_every_byte(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		char *text = unquoted(rows[i].text);
		for (size_t size = strlen(text); size-- > 1;) {
			struct arena *arena = arena_new();
			struct ctf_description d;
			struct error err = {0};
			struct heard heard = {0};
			const struct notices notices = {.say = hear, .arg = &heard};
			char *part = mem_new(size); /* no byte behind it */
			memcpy(part, text, size);
			if (!ctf2_parse("metadata", part, size, arena, &notices, &d, NULL, &err))
				assert_non_null(strstr(err.text, "metadata: "));
			mem_free(part);
			arena_free(arena);
		}
		mem_free(text);
	}
}

static void what_is_told(void **state)
{
	static const char text[] = RS
		"{'type':'preamble','version':2,'uuid':[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,255]}" RS
		"{'type':'trace-class','namespace':'n','name':'t','uid':'u','environment':{'i':-5,"
		"'s':'x'}}" RS
		"{'type':'clock-class','id':'c','name':'nice','namespace':'cn','uid':"
		"'00010203-0405-0607-0809-0A0b0c0d0eff','frequency':1000,'description':'d','"
		"precision':7,"
		"'accuracy':8,'origin':{'namespace':'on','name':'o','uid':'ou'},'offset-from-"
		"origin':"
		"{'seconds':-3,'cycles':999}}" RS
		"{'type':'data-stream-class','id':5,'name':'channel',"
		"'default-clock-class-id':'c','packet-context-field-class':" STRUCT(
			M("cpu_id", U8)) "}" RS
					 "{'type':'event-record-class','id':18446744073709551615,'"
					 "data-stream-class-id':5,'name':'e',"
					 "'attributes':{'lttng.org,2009':{'log-level':'debug:unit',"
					 "'emf-uri':'http://e'}},"
					 "'payload-field-class':" STRUCT(M("_a", U8)) "}";
	struct arena *arena = arena_new();
	struct ctf_description d;
	struct error err = {0};
	struct heard heard;

	(void)state;
	if (!parse(text, arena, &heard, &d, &err))
		fail_msg("%s", err.text);
	assert_int_equal(heard.count, 0);
	assert_true(d.major == 2 && d.minor == 0 && d.has_uuid && d.uuid[15] == 255);
	assert_string_equal(d.full_name.space, "n");
	assert_string_equal(d.full_name.name, "t");
	assert_string_equal(d.full_name.uid, "u");
	assert_int_equal(d.nenv, 2);
	assert_true(!d.env[0].text && d.env[0].number == -5);
	assert_string_equal(d.env[1].text, "x");
	assert_int_equal(d.nclocks, 1);
	assert_string_equal(d.clocks[0].name, "nice");
	assert_string_equal(d.clocks[0].description, "d");
	assert_true(d.clocks[0].has_uuid && d.clocks[0].uuid[15] == 255 &&
		    d.clocks[0].uuid[10] == 10);
	assert_true(!d.clocks[0].epoch && d.clocks[0].precision == 7 && d.clocks[0].accuracy == 8);
	assert_string_equal(d.clocks[0].origin.uid, "ou");
	assert_true(d.clocks[0].base.frequency == 1000 && d.clocks[0].base.offset_s == -3 &&
		    d.clocks[0].base.offset_cycles == 999);
	assert_true(d.nstreams == 1 && d.streams[0].id == 5 && d.streams[0].clock == 0);
	assert_string_equal(d.streams[0].name, "channel");
	assert_int_equal(d.streams[0].packet_context->members[0].class->roles, ROLE_CPU);
	assert_int_equal(d.streams[0].nevents, 1);
	assert_true(d.streams[0].events[0].id == UINT64_MAX);
	assert_int_equal(d.streams[0].events[0].loglevel, 11);
	assert_string_equal(d.streams[0].events[0].emf_uri, "http://e");
	assert_string_equal(d.streams[0].events[0].payload->members[0].name, "_a");
	arena_free(arena);
}

/* LTTng's clocks of SPECRC-7.0 lost the word for their origin; others have none. */
static void lttng_clocks_of_the_candidate(void **state)
{
	static const char *const tracers[] = {"lttng-ust", "barectf"};

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct arena *arena = arena_new();
		struct ctf_description d;
		struct error err = {0};
		struct heard heard;
		char *text = arena_printf(
			arena,
			PRE RS "{'type':'clock-class','name':'c','frequency':1}" RS
			       "{'type':'trace-class','environment':{'tracer_name':'%s'}}",
			tracers[i]);
		assert_true(parse(text, arena, &heard, &d, &err));
		assert_int_equal(d.clocks[0].epoch, i == 0);
		arena_free(arena);
	}
}

/* A structure in a structure, `depth` of them; aliases that double at each step. */
static void too_deep_or_too_large(void **state)
{
	struct arena *arena = arena_new();
	struct ctf_description d;
	struct error err = {0};
	struct heard heard;
	struct buf text = {0};

	(void)state;
	buf_add_text(&text, HEAD RS "{'type':'event-record-class','payload-field-class':");
	for (int i = 0; i < 300; i++)
		buf_add_text(&text,
			     "{'type':'structure','member-classes':[{'name':'a','field-class':");
	buf_add_text(&text, U8);
	for (int i = 0; i < 300; i++)
		buf_add_text(&text, "}]}");
	buf_add_char(&text, '}');
	assert_false(parse(buf_text(&text), arena, &heard, &d, &err));
	if (!strstr(err.text, "nested more than 256 deep"))
		fail_msg("%s", err.text);
	buf_clear(&text);
	buf_add_text(&text, PRE RS "{'type':'field-class-alias','name':'a0','field-class':" U8 "}");
	for (int i = 1; i < 40; i++)
		buf_printf(&text,
			   RS "{'type':'field-class-alias','name':'a%d','field-class':" STRUCT(
				   M("x", "'a%d'") "," M("y", "'a%d'")) "}",
			   i, i - 1, i - 1);
	assert_false(parse(buf_text(&text), arena, &heard, &d, &err));
	if (!strstr(err.text, "too large"))
		fail_msg("%s", err.text);
	buf_release(&text);
	arena_free(arena);
}

int main(void)
{
	struct CMUnitTest tests[COUNT(rows) + 4];
	size_t n = 0;

	for (; n < COUNT(rows); n++)
		tests[n] = (struct CMUnitTest){rows[n].name, reads, NULL, NULL,
					       (void *)(uintptr_t)&rows[n]};
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(cut_at_every_byte);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(what_is_told);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(lttng_clocks_of_the_candidate);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(too_deep_or_too_large);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
