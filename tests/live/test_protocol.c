/* test_protocol.c - what replies of a relay are taken for, and which are refused; names and URLs */
#include "engine/base/mem.h"
#include "live/metadata_file.h"
#include "live/names.h"
#include "live/protocol.h"
#include "live/url.h"
#include "tests/harness.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

/* Bytes ------------------------------------------------------------------------------------------
 */

static void add(struct buf *out, uint64_t number, unsigned bytes)
{
	for (unsigned i = bytes; i-- > 0;)
		buf_add_char(out, (char)(number >> (8 * i)));
}

/* A reply part written as numbers of 4 or 8 bytes: "8:5 4:1". */
static void build(struct buf *out, const char *spec)
{
	unsigned bytes;
	unsigned long long number;
	int n;

	while (sscanf(spec, "%u:%lli%n", &bytes, (long long *)&number, &n) == 2) {
		add(out, number, bytes);
		spec += n;
	}
}

static void requests_have_the_measured_bytes(void **state)
{
	struct buf out = {0};

	(void)state;
	live_ask_connect(&out);
	assert_int_equal(out.len, 16 + 20);
	assert_memory_equal(out.data, "\0\0\0\0\0\0\0\x14\0\0\0\1\0\0\0\0", 16);
	assert_memory_equal(out.data + 16, "\0\0\0\0\0\0\0\0\0\0\0\2\0\0\0\x0f\0\0\0\1", 20);
	buf_clear(&out);
	live_ask_attach(&out, 5, LIVE_SEEK_BEGINNING);
	assert_int_equal(out.len, 16 + 20);
	assert_memory_equal(out.data + 8, "\0\0\0\3\0\0\0\0\0\0\0\0\0\0\0\5\0\0\0\0\0\0\0\0\0\0\0\1", 28);
	buf_clear(&out);
	live_ask_packet(&out, 1, 2, 3);
	assert_memory_equal(out.data + 8, "\0\0\0\5\0\0\0\0\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\2\0\0\0\3", 28);
	buf_clear(&out);
	live_ask_of(&out, LIVE_INDEX, 9);
	assert_memory_equal(out.data, "\0\0\0\0\0\0\0\x08\0\0\0\4\0\0\0\0\0\0\0\0\0\0\0\x09", 24);
	buf_release(&out);
}

/* Replies ----------------------------------------------------------------------------------------
 */

enum part { CONNECT, COUNT_OF, SESSION_HEAD, CREATE, ATTACH, STREAMS, METADATA, INDEX, PACKET };

static const struct reply {
	const char *name;
	enum part part;
	const char *spec;
	const char *refused; /* part of the error; NULL: it is taken */
} replies[] = {
	{"minor 4 is the least", CONNECT, "8:1 4:2 4:4 4:0", NULL},
	{"minor 3 has no attach", CONNECT, "8:1 4:2 4:3 4:0", "from 2.4 on"},
	{"minor 99 is taken for 15", CONNECT, "8:1 4:2 4:99 4:0", NULL},
	{"another major", CONNECT, "8:1 4:3 4:0 4:0", "protocol 3.0"},
	{"no session", COUNT_OF, "4:0", NULL},
	{"four billion sessions", COUNT_OF, "4:0xffffffff", "4294967295 sessions"},
	{"a session of CTF 2", SESSION_HEAD, "8:1 4:1000 4:0 4:2 4:4 4:4 4:1", NULL},
	{"a format that is not known", SESSION_HEAD, "8:1 4:1000 4:0 4:2 4:4 4:4 4:2", "format 2"},
	{"a host of 256 bytes", SESSION_HEAD, "8:1 4:1000 4:0 4:2 4:256 4:4 4:0", "256 bytes"},
	{"a name of 2^32 - 1 bytes", SESSION_HEAD, "8:1 4:1 4:0 4:2 4:1 4:0xffffffff 4:0",
	 "4294967295"},
	{"a viewer session", CREATE, "4:1", NULL},
	{"no viewer session", CREATE, "4:2", "could not create"},
	{"status 0 of create", CREATE, "4:0", "status 0"},
	{"attach with streams", ATTACH, "4:1 4:3", NULL},
	{"attach: a viewer is there", ATTACH, "4:2 4:0", NULL},
	{"attach: refused, but with streams", ATTACH, "4:3 4:7", NULL},
	{"status 7 of attach", ATTACH, "4:7 4:0", "status 7"},
	{"four billion streams", ATTACH, "4:1 4:0xffffffff", "4294967295 streams"},
	{"new streams: ok with none", STREAMS, "4:1 4:0", NULL},
	{"new streams: hang-up", STREAMS, "4:4 4:0", NULL},
	{"status 5 of new streams", STREAMS, "4:5 4:0", "status 5"},
	{"metadata: ok with 0 bytes", METADATA, "8:0 4:1", NULL},
	{"metadata: an error that has bytes", METADATA, "8:10 4:3", NULL},
	{"metadata of 2^63 bytes", METADATA, "8:0x8000000000000000 4:1", "bytes of metadata"},
	{"status 0 of metadata", METADATA, "8:0 4:0", "status 0"},
	{"an index", INDEX, "8:4096 8:32768 8:100 8:5 8:6 8:0 8:0 4:1 4:0", NULL},
	{"a beacon without a stream class", INDEX, "8:0 8:0 8:0 8:0 8:6 8:0 8:-1 4:5 4:3", NULL},
	{"later, with new metadata", INDEX, "8:0 8:0 8:0 8:0 8:0 8:0 8:0 4:2 4:1", NULL},
	{"later, with nonsense beside it", INDEX, "8:-1 8:-1 8:-1 8:-1 8:-1 8:-1 8:-1 4:2 4:0", NULL},
	{"status 7 of an index", INDEX, "8:0 8:0 8:0 8:0 8:0 8:0 8:0 4:7 4:0", "status 7"},
	{"a packet of no bytes", INDEX, "8:0 8:0 8:0 8:0 8:0 8:0 8:0 4:1 4:0", "0 of 0 bits"},
	{"a packet of 12 bits", INDEX, "8:0 8:12 8:0 8:0 8:0 8:0 8:0 4:1 4:0", "of 12 bits"},
	{"more content than packet", INDEX, "8:0 8:8 8:9 8:0 8:0 8:0 8:0 4:1 4:0", "9 of 8 bits"},
	{"a packet of 1 GiB", INDEX, "8:0 8:0x200000000 8:8 8:0 8:0 8:0 8:0 4:1 4:0", NULL},
	{"a packet of more", INDEX, "8:0 8:0x200000008 8:8 8:0 8:0 8:0 8:0 4:1 4:0", "1073741825"},
	{"a packet that ends beyond 2^63", INDEX, "8:0x7fffffffffffffff 8:8 8:8 8:0 8:0 8:0 8:0 4:1 4:0",
	 "at 9223372036854775807"},
	{"a whole packet", PACKET, "4:1 4:100 4:0", NULL},
	{"a part of what was asked for", PACKET, "4:1 4:99 4:0", NULL},
	{"more than was asked for", PACKET, "4:1 4:101 4:0", "101 bytes"},
	{"ok without a byte", PACKET, "4:1 4:0 4:0", "0 bytes"},
	{"a packet: later, of any length", PACKET, "4:2 4:0xffffffff 4:0", NULL},
	{"status 5 of a packet", PACKET, "4:5 4:0 4:0", "status 5"},
};

static bool read_reply(const struct reply *reply, const uint8_t *bytes, struct error *err)
{
	struct live_session_head head;
	struct live_bytes sized;
	struct live_count count;
	struct live_index index;
	uint32_t number;

	switch (reply->part) {
	case CONNECT:
		return live_read_connect(bytes, &number, err) && number <= LIVE_MINOR_MOST;
	case COUNT_OF:
		return live_read_count(bytes, &number, err);
	case SESSION_HEAD:
		return live_read_session_head(bytes, &head, err) && head.session.ctf2;
	case CREATE:
		return live_read_create(bytes, err);
	case ATTACH:
		return live_read_streams(bytes, LIVE_ATTACH, &count, err) && (count.status == 1 || !count.count);
	case STREAMS:
		return live_read_streams(bytes, LIVE_STREAMS, &count, err);
	case METADATA:
		return live_read_metadata(bytes, 0, &sized, err);
	case INDEX:
		return live_read_index(bytes, &index, err);
	case PACKET:
		return live_read_packet(bytes, 100, &sized, err) &&
		       (sized.status == 1 || !sized.size);
	}
	return false;
}

static void reply_is(void **state)
{
	const struct reply *reply = *state;
	struct error err = {0};
	struct buf bytes = {0};

	build(&bytes, reply->spec);
	bool ok = read_reply(reply, (const uint8_t *)bytes.data, &err);
	if (!reply->refused) {
		assert_string_equal(err.text, "");
		assert_true(ok);
	} else {
		assert_false(ok);
		assert_int_equal(err.kind, reply->part == CREATE && strstr(reply->refused, "could")
						   ? ERR_IO
						   : ERR_FORMAT);
		assert_non_null(strstr(err.text, reply->refused));
	}
	buf_release(&bytes);
}

static void metadata_is_capped_over_all_replies(void **state)
{
	struct buf bytes = {0};
	struct live_bytes out;
	struct error err = {0};

	(void)state;
	build(&bytes, "8:4096 4:1");
	assert_true(live_read_metadata((uint8_t *)bytes.data, LIVE_METADATA_MOST - 4096, &out, &err));
	assert_false(live_read_metadata((uint8_t *)bytes.data, LIVE_METADATA_MOST - 4095, &out, &err));
	assert_false(live_read_metadata((uint8_t *)bytes.data, UINT64_MAX, &out, &err));
	buf_release(&bytes);
}

static void texts_end_in_their_fields(void **state)
{
	uint8_t *bytes = mem_new(LIVE_STREAM_BYTES);
	struct live_stream *stream = mem_new(sizeof *stream);
	struct error err = {0};

	(void)state;
	memset(bytes + 20, 'a', 4095);
	memset(bytes + 20 + 4096, 'b', 254);
	assert_true(live_read_stream(bytes, stream, &err));
	assert_int_equal(strlen(stream->path), 4095);
	assert_int_equal(strlen(stream->channel), 254);
	bytes[20 + 4095] = 'a';
	assert_false(live_read_stream(bytes, stream, &err));
	assert_non_null(strstr(err.text, "path has no end"));
	bytes[20 + 4095] = 0;
	bytes[20 + 4096 + 254] = 'b';
	assert_false(live_read_stream(bytes, stream, &err));
	assert_non_null(strstr(err.text, "channel has no end"));
	mem_free(bytes);
	mem_free(stream);
}

/* Names of files ---------------------------------------------------------------------------------
 */

static const struct file_name {
	const char *name, *told, *path, *file; /* NULL: refused */
} file_names[] = {
	{"a path of LTTng", "ust/uid/1000/64-bit", "ust/uid/1000/64-bit", "ust%2Fuid%2F1000%2F64-bit"},
	{"a channel of LTTng", "ch0_0", "ch0_0", "ch0_0"},
	{"the folder above", "..", "%2E.", "%2E."},
	{"folders above", "../../etc/passwd", "%2E./%2E./etc/passwd", "%2E.%2F..%2Fetc%2Fpasswd"},
	{"from the root", "/tmp//x/", "tmp/x", "%2Ftmp%2F%2Fx%2F"},
	{"a hidden file", ".a", "%2Ea", "%2Ea"},
	{"the file of metadata", "metadata", "%6Detadata", "%6Detadata"},
	{"the folder of indexes", "index", "%69ndex", "%69ndex"},
	{"like it, but another", "index2", "index2", "index2"},
	{"as the later files of a stream are called", "ch0_0.12", "ch0_0%2E12", "ch0_0%2E12"},
	{"a number that is no such", "ch.0_0", "ch.0_0", "ch.0_0"},
	{"what an escaped one is called", "%2E", "%252E", "%252E"},
	{"what steers a terminal", "a\x1b[2J\n\x7f", "a%1B[2J%0A%7F", "a%1B[2J%0A%7F"},
	{"letters of Unicode", "b\xc3\xbcro", "b\xc3\xbcro", "b\xc3\xbcro"},
	{"no name", "", "", NULL},
};

static void name_becomes(void **state)
{
	const struct file_name *row = *state;
	struct buf path = {0}, file = {0};
	struct error err = {0};

	assert_true(live_add_path(&path, row->told, &err));
	assert_string_equal(buf_text(&path), row->path);
	assert_true(live_add_name(&file, row->told, &err) == (row->file != NULL));
	if (row->file)
		assert_string_equal(buf_text(&file), row->file);
	buf_release(&path);
	buf_release(&file);
}

static void long_names_are_refused(void **state)
{
	char name[LIVE_TEXT_MOST + 1];
	struct buf out = {0};
	struct error err;

	(void)state;
	memset(name, 'a', sizeof name);
	name[LIVE_FILE_MAX] = 0;
	assert_true(live_add_name(&out, name, &err));
	buf_clear(&out);
	name[0] = '%';
	assert_false(live_add_name(&out, name, &err));
	assert_non_null(strstr(err.text, "242 bytes"));
	buf_release(&out);
}

/* URLs -------------------------------------------------------------------------------------------
 */

static const struct url_row {
	const char *name, *word, *host, *port, *session_host, *session; /* host NULL: refused */
	bool whole;
	int family;
} urls[] = {
	{"a relay", "net://h", "h", "5344", "", "", false, AF_UNSPEC},
	{"its port, and a slash", "net://h:1/", "h", "1", "", "", false, AF_UNSPEC},
	{"an IPv6 address", "net6://[::1]:5345", "::1", "5345", "", "", false, AF_INET6},
	{"without a port", "net4://[fe80::1]", "fe80::1", "5344", "", "", false, AF_INET},
	{"a session", "net://h:7/host/a b/s-1", "h", "7", "a b", "s-1", true, AF_UNSPEC},
	{"that a slash ends", "net://h/host/a/s/", "h", "5344", "a", "s", true, AF_UNSPEC},
	{"a session where a relay is meant", "net://h/host/a/s", NULL, "", "", "", false, 0},
	{"a relay where a session is meant", "net://h", NULL, "", "", "", true, 0},
	{"no host", "net://", NULL, "", "", "", false, 0},
	{"port 0", "net://h:0", NULL, "", "", "", false, 0},
	{"port 65536", "net://h:65536", NULL, "", "", "", false, 0},
	{"a port that is none", "net://h:x", NULL, "", "", "", false, 0},
	{"a bracket that is open", "net://[::1", NULL, "", "", "", false, 0},
	{"more behind the session", "net://h/host/a/s/t", NULL, "", "", "", true, 0},
	{"another scheme", "tcp://h", NULL, "", "", "", false, 0},
};

static void url_is(void **state)
{
	const struct url_row *row = *state;
	struct live_url url;
	struct error err = {0};

	assert_true(live_url_parse(row->word, row->whole, &url, &err) == (row->host != NULL));
	if (!row->host) {
		assert_int_equal(err.kind, ERR_QUERY);
		return;
	}
	assert_string_equal(url.host, row->host);
	assert_string_equal(url.port, row->port);
	assert_string_equal(url.session_host, row->session_host);
	assert_string_equal(url.session, row->session);
	assert_int_equal(url.family, row->family);
}

/* Beginnings of metadata -------------------------------------------------------------------------
 */

#define TEXT_UUID "trace { uuid = \"2a6422d0-6cee-11e0-8c08-cb07d7b3a564\"; };"
#define JSON_UUID "\"uuid\":[42,100,34,208,108,238,17,224,140,8,203,7,215,179,165,100]"

static const struct beginning {
	const char *name, *bytes;
	bool begins, same; /* as the text with TEXT_UUID */
} beginnings[] = {
	{"text", "/* CTF 1.8 */\n" TEXT_UUID, true, true},
	{"text in the middle", TEXT_UUID, false, true},
	{"text of another trace",
	 "/* CTF 1.8 */\ntrace { uuid = \"3a6422d0-6cee-11e0-8c08-cb07d7b3a564\"; };", true, false},
	{"the preamble of JSON", "\x1e{\"type\":\"preamble\",\"version\":2," JSON_UUID "}", true, true},
	{"another fragment", "\x1e{\"type\":\"event-record-class\"}", false, false},
	{"a preamble that is not the first fragment",
	 "\x1e{\"type\":\"clock-class\"}\x1e{\"type\":\"preamble\"}", false, false},
};

static void beginning_is(void **state)
{
	const struct beginning *row = *state;
	char first[] = "/* CTF 1.8 */\n" TEXT_UUID, second[256];
	struct buf one = {first, strlen(first), sizeof first}, two = {second, strlen(row->bytes), 256};

	memcpy(second, row->bytes, strlen(row->bytes) + 1);
	assert_true(metadata_begins(&two) == row->begins);
	assert_true(metadata_same_trace(&one, &two) == row->same);
}

int main(void)
{
	struct CMUnitTest tests[4 + COUNT(replies) + COUNT(file_names) + COUNT(urls) +
				COUNT(beginnings)] = {
		cmocka_unit_test(requests_have_the_measured_bytes),
		cmocka_unit_test(metadata_is_capped_over_all_replies),
		cmocka_unit_test(texts_end_in_their_fields),
		cmocka_unit_test(long_names_are_refused),
	};
	size_t n = 4;

	ADD_ROWS(tests, n, replies, reply_is);
	ADD_ROWS(tests, n, file_names, name_becomes);
	ADD_ROWS(tests, n, urls, url_is);
	ADD_ROWS(tests, n, beginnings, beginning_is);
	assert_int_equal(n, COUNT(tests));
	return cmocka_run_group_tests(tests, NULL, NULL);
}
