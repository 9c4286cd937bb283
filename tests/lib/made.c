/* made.c - see made.h */
#include "tests/lib/made.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char folder[256];

struct bytes {
	uint8_t data[MADE_PACKETS * MADE_PACKET_BYTES];
	size_t count;
};

static void put(struct bytes *to, unsigned size, uint64_t value)
{
	for (unsigned i = 0; i < size; i++)
		to->data[to->count++] = (uint8_t)(value >> 8 * i);
}

static void put_bytes(struct bytes *to, const void *bytes, size_t count)
{
	memcpy(to->data + to->count, bytes, count);
	to->count += count;
}

static void write_file(const char *name, const void *bytes, size_t count)
{
	char path[300];

	snprintf(path, sizeof path, "%s/%s", folder, name);
	FILE *file = fopen(path, "wb");
	if (!file || fwrite(bytes, 1, count, file) != count || fclose(file) != 0)
		abort();
}

static void make_folder(void)
{
	const char *temporary = getenv("TMPDIR");

	snprintf(folder, sizeof folder, "%s/yore-lib-XXXXXX", temporary ? temporary : "/tmp");
	if (!mkdtemp(folder))
		abort();
}

void made_remove(void)
{
	char command[300];

	snprintf(command, sizeof command, "rm -rf '%s'", folder);
	if (system(command) != 0)
		abort();
}

const char *made_metadata(const char *text)
{
	make_folder();
	write_file("metadata", text, strlen(text));
	return folder;
}

/* Ticks --------------------------------------------------------------------------------------- */

static const char ticks[] =
	"/* CTF 1.8 */\n"
	"typealias integer { size = 8; align = 8; } := u8;\n"
	"typealias integer { size = 32; align = 8; } := u32;\n"
	"typealias integer { size = 64; align = 8; } := u64;\n"
	"trace { major = 1; minor = 8; byte_order = le;\n"
	"	uuid = \"01020304-0506-0708-090a-0b0c0d0e0f10\";\n"
	"	packet.header := struct { u32 magic; u32 stream_id; }; };\n"
	"env { hostname = \"there\"; answer = -42; };\n"
	"clock { name = c; freq = 1000000000; offset_s = 3; offset = 7; precision = 2;\n"
	"	description = \"a clock\"; };\n"
	"typealias integer { size = 64; align = 8; map = clock.c.value; } := t64;\n"
	"stream { id = 0;\n"
	"	packet.context := struct { t64 timestamp_begin; t64 timestamp_end; u64 "
	"content_size;\n"
	"		u64 packet_size; u64 packet_seq_num; u64 events_discarded; };\n"
	"	event.header := struct { u8 id; t64 timestamp; }; };\n"
	"event { name = tick; id = 0; stream_id = 0; loglevel = 6;\n"
	"	fields := struct { u32 count; }; };\n"
	"event { name = tock; id = 1; stream_id = 0; fields := struct { u32 count; }; };\n";

enum { HEADER_BYTES = 8 + 6 * 8, EVENT_BYTES = 1 + 8 + 4 };

/* The cycles of an event; the two streams alternate. */
static uint64_t cycles(int stream, int packet, int event)
{
	return (uint64_t)(1000 * packet + 200 * event + 10 + stream);
}

int64_t made_time(int stream, int packet, int event)
{
	return 3000000007 + (int64_t)cycles(stream, packet, event);
}

static void put_packet(struct bytes *to, int stream, int packet, const struct made_losses *losses)
{
	size_t end = to->count + MADE_PACKET_BYTES;
	bool lossy = losses && stream == 0 && losses->discarded >= 0;

	put(to, 4, 0xc1fc1fc1);
	put(to, 4, 0);
	put(to, 8, cycles(stream, packet, 0));
	put(to, 8, cycles(stream, packet, MADE_EVENTS - 1));
	put(to, 8, (HEADER_BYTES + MADE_EVENTS * EVENT_BYTES) * 8);
	put(to, 8, MADE_PACKET_BYTES * 8);
	put(to, 8, (uint64_t)packet);
	put(to, 8, lossy && packet >= losses->discarded ? 5 : 0);
	for (int event = 0; event < MADE_EVENTS; event++) {
		put(to, 1, (uint64_t)(event % 2));
		put(to, 8, cycles(stream, packet, event));
		put(to, 4, (uint64_t)(packet * MADE_EVENTS + event));
	}
	while (to->count < end)
		put(to, 1, 0);
}

const char *made_ticks(const struct made_losses *losses)
{
	static struct bytes bytes;
	char name[] = "stream_0";

	made_metadata(ticks);
	for (int stream = 0; stream < MADE_STREAMS; stream++) {
		bytes.count = 0;
		for (int packet = 0; packet < MADE_PACKETS; packet++)
			if (!losses || stream || packet != losses->missing)
				put_packet(&bytes, stream, packet, losses);
		name[7] = (char)('0' + stream);
		write_file(name, bytes.data, bytes.count);
	}
	return folder;
}

/* Kinds --------------------------------------------------------------------------------------- */

/* ' stands for ". */
static const char kinds[] =
	"\x1e{'type':'preamble','version':2}\n"
	"\x1e{'type':'data-stream-class','event-record-common-context-field-class':{'type':'"
	"structure',"
	"'member-classes':[{'name':'who','field-class':{'type':'fixed-length-unsigned-integer',"
	"'length':8,'byte-order':'little-endian'}},{'name':'where','field-class':"
	"{'type':'fixed-length-unsigned-integer','length':8,'byte-order':'little-endian'}}]}}\n"
	"\x1e{'type':'event-record-class','name':'all','specific-context-field-class':{'type':'"
	"structure',"
	"'member-classes':[{'name':'who','field-class':{'type':'fixed-length-unsigned-integer',"
	"'length':16,'byte-order':'big-endian'}}]},'payload-field-class':{'type':'structure',"
	"'member-classes':["
	"{'name':'yes','field-class':{'type':'fixed-length-boolean','length':8,"
	"'byte-order':'little-endian'}},"
	"{'name':'no','field-class':{'type':'fixed-length-boolean','length':8,"
	"'byte-order':'little-endian'}},"
	"{'name':'small','field-class':{'type':'fixed-length-signed-integer','length':16,"
	"'byte-order':'little-endian'}},"
	"{'name':'great','field-class':{'type':'fixed-length-unsigned-integer','length':64,"
	"'byte-order':'big-endian','preferred-display-base':16}},"
	"{'name':'color','field-class':{'type':'fixed-length-unsigned-integer','length':8,"
	"'byte-order':'little-endian','mappings':{'red':[[1,1]],'warm':[[1,2]],'blue':[[3,3]]}}},"
	"{'name':'bits','field-class':{'type':'fixed-length-bit-map','length':8,"
	"'byte-order':'little-endian','flags':{'low':[[0,0]],'mid':[[3,3]],'high':[[7,7]]}}},"
	"{'name':'real','field-class':{'type':'fixed-length-floating-point-number','length':64,"
	"'byte-order':'little-endian'}},"
	"{'name':'leb','field-class':{'type':'variable-length-signed-integer'}},"
	"{'name':'text','field-class':{'type':'null-terminated-string'}},"
	"{'name':'n','field-class':{'type':'fixed-length-unsigned-integer','length':8,"
	"'byte-order':'little-endian'}},"
	"{'name':'wide','field-class':{'type':'dynamic-length-string','encoding':'utf-16le',"
	"'length-field-location':{'path':['n']}}},"
	"{'name':'blob','field-class':{'type':'static-length-blob','length':3}},"
	"{'name':'inner','field-class':{'type':'structure','member-classes':["
	"{'name':'a','field-class':{'type':'fixed-length-unsigned-integer','length':8,"
	"'byte-order':'little-endian'}},"
	"{'name':'b','field-class':{'type':'null-terminated-string'}}]}},"
	"{'name':'list','field-class':{'type':'dynamic-length-array','length-field-location':"
	"{'path':['n']},'element-field-class':{'type':'fixed-length-signed-integer','length':12,"
	"'byte-order':'little-endian'}}},"
	"{'name':'deep','field-class':{'type':'static-length-array','length':3,'minimum-alignment':"
	"8,"
	"'element-field-class':{'type':'structure','member-classes':["
	"{'name':'m','field-class':{'type':'fixed-length-unsigned-integer','length':8,"
	"'alignment':8,'byte-order':'little-endian'}},"
	"{'name':'words','field-class':{'type':'dynamic-length-array','length-field-location':"
	"{'path':['m']},'element-field-class':{'type':'optional','selector-field-location':"
	"{'path':['m']},'selector-field-ranges':[[2,9]],'field-class':"
	"{'type':'null-terminated-string'}}}}]}}},"
	"{'name':'there','field-class':{'type':'optional','selector-field-location':{'path':['yes']"
	"},"
	"'field-class':{'type':'fixed-length-unsigned-integer','length':8,"
	"'byte-order':'little-endian'}}},"
	"{'name':'absent','field-class':{'type':'optional','selector-field-location':{'path':['no']"
	"},"
	"'field-class':{'type':'null-terminated-string'}}},"
	"{'name':'pick','field-class':{'type':'variant','selector-field-location':{'path':['color']"
	"},"
	"'options':[{'name':'one','selector-field-ranges':[[1,1]],'field-class':{'type':'structure'"
	","
	"'member-classes':[{'name':'x','field-class':{'type':'fixed-length-unsigned-integer',"
	"'length':8,'byte-order':'little-endian'}}]}},{'name':'two','selector-field-ranges':[[2,2]]"
	","
	"'field-class':{'type':'null-terminated-string'}}]}}"
	"]}}\n";

const char *made_kinds(void)
{
	static struct bytes event;
	char *text = strdup(kinds);
	double real = -0.25;

	for (char *quote = text; (quote = strchr(quote, '\''));)
		*quote = '"';
	made_metadata(text);
	free(text);
	event.count = 0;
	put(&event, 1, 11);     /* who, of the stream class */
	put(&event, 1, 12);     /* where */
	put(&event, 2, 0x1502); /* who, of the event class, big-endian: 533 */
	put(&event, 1, 1);
	put(&event, 1, 0);
	put(&event, 2, (uint64_t)-300);
	put_bytes(&event, "\xff\xee\xdd\xcc\xbb\xaa\x99\x88", 8);
	put(&event, 1, 1);    /* color */
	put(&event, 1, 0x89); /* bits 0, 3 and 7 */
	put_bytes(&event, &real, sizeof real);
	put_bytes(&event, "\x80\x7f", 2); /* leb: -128 */
	put_bytes(&event, "hi \"there\"", sizeof "hi \"there\"");
	put(&event, 1, 6);
	put_bytes(&event, "o\0\xe9\0k\0", 6); /* UTF-16: o, e acute, k */
	put_bytes(&event, "\0\1\xfe", 3);
	put(&event, 1, 200);
	put_bytes(&event, "in", 3);
	/* list: 6 times 12 bits: 1, -1, 2, -2, 3, -3 */
	put_bytes(&event, "\x01\xf0\xff\x02\xe0\xff\x03\xd0\xff", 9);
	put(&event, 1, 2); /* deep: two words, which are there */
	put_bytes(&event, "a\0bc", 5);
	put(&event, 1, 1); /* one word, which is not there */
	put(&event, 1, 3);
	put_bytes(&event, "d\0\0efg", 7);
	put(&event, 1, 77); /* there */
	put(&event, 1, 5);  /* pick: one, x */
	write_file("stream", event.data, event.count);
	return folder;
}
