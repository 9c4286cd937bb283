/*
 * ovni streams made here: both byte orders, jumbo events, CPUs that no loom lists, offsets of
 * clocks, regions out of order, attributes that contradict each other, and damage of each kind. A
 * stream is also cut at every byte: all whole events in front of the cut come out, and one message.
 */
#include "tests/engine/decoded.h"

#include "engine/base/mem.h"
#include "engine/event.h"
#include "engine/ovni/ovni_internal.h"
#include "tests/engine/merged.h"
#include "tests/harness.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* ---- a stream.obs ---- */

struct obs {
	uint8_t bytes[4096];
	size_t len;
	bool big;
};

static void put(struct obs *obs, uint64_t value, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		obs->bytes[obs->len++] = (uint8_t)(value >> 8 * (obs->big ? bytes - 1 - i : i));
}

static void put_text(struct obs *obs, const char *text, size_t len)
{
	memcpy(obs->bytes + obs->len, text, len);
	obs->len += len;
}

static struct obs obs_new(bool big)
{
	struct obs obs = {.big = big};

	put_text(&obs, "ovni", 4);
	put(&obs, 1, 4);
	return obs;
}

static void put_head(struct obs *obs, uint8_t flags, const char *mcv, uint64_t clock)
{
	obs->bytes[obs->len++] = flags;
	put_text(obs, mcv, 3);
	put(obs, clock, 8);
}

static void put_event(struct obs *obs, const char *mcv, uint64_t clock)
{
	put_head(obs, 0, mcv, clock);
}

static void put_execute(struct obs *obs, uint64_t clock, int32_t cpu)
{
	put_head(obs, 15, "OHx", clock);
	put(obs, (uint32_t)cpu, 4);
	put(obs, (uint32_t)-1, 4);
	put(obs, 0xabc, 8);
}

static void put_type(struct obs *obs, uint64_t clock, uint32_t type, const char *label)
{
	put_head(obs, 0x13, "VYc", clock);
	put(obs, 4 + strlen(label) + 1, 4);
	put(obs, type, 4);
	put_text(obs, label, strlen(label) + 1);
}

/* ---- a trace ---- */

struct made {
	char *folder;
	struct trace *trace;
	struct said said;
	struct error err;
};

static const char plain_json[] =
	"/* a comment */ {\"version\": 3, \"ovni\": {\"part\": \"thread\", \"tid\": 7, \"pid\": 5,"
	"\"loom\": \"host.l\", \"rank\": 2, \"app_id\": 1, \"finished\": 1,"
	"\"require\": {\"ovni\": \"1.1.0\", \"nosv\": \"2.0.0\"},"
	"\"loom_cpus\": [{\"index\": 0, \"phyid\": 4}, {\"index\": 1, \"phyid\": 9}]}}";

static void add_stream(struct made *made, const char *name, const char *json, const void *obs,
		       size_t size)
{
	char *folder = path_join(made->folder, name);

	mkdir(folder, 0755);
	char *text = path_join(folder, "stream.json"), *events = path_join(folder, "stream.obs");
	if (json)
		write_file(text, json, strlen(json));
	if (obs)
		write_file(events, obs, size);
	mem_free(text);
	mem_free(events);
	mem_free(folder);
}

static bool open_made(struct made *made)
{
	return decoded_open(made->folder, &made->said, &made->trace, &made->err);
}

static void release(struct made *made)
{
	if (made->trace)
		trace_close(made->trace);
	made->trace = NULL;
	scratch_remove(made->folder);
}

static struct made made_of(const char *json, const struct obs *obs)
{
	struct made made = {.folder = scratch_folder()};

	add_stream(&made, "s", json, obs->bytes, obs->len);
	return made;
}

static void add_line(void *arg, struct events *events, const struct event *event)
{
	static const char *const name = "phyid";
	struct buf *out = arg;
	struct fields fields;
	struct field phyid;
	struct error bad;

	buf_printf(out, "%lld %s ", (long long)event->time, event->class->name);
	if (!events_fields(events, event, &fields, &bad))
		buf_add_text(out, bad.text);
	else if (ovni_reader.text->write(&fields, out) == WORDS_NONE)
		buf_add_text(out, "-");
	if (fields_get(&fields, 1u << SCOPE_EVENT_CONTEXT, &name, 1, &phyid))
		buf_printf(out, " [%lld]", (long long)phyid.slot.s);
	buf_add_char(out, '\n');
}

/* All events, merged: "CLOCK NAME text of it", a line each. */
static char *said_by(struct trace *trace)
{
	struct buf out = {0};

	merged_each(trace, &(const struct index_options){.none = true, .jobs = 1}, add_line, &out);
	return out.data ? out.data : mem_strdup("");
}

static void check_text(struct made *made, const char *wanted)
{
	if (!open_made(made))
		fail_msg("%s", made->err.text);
	char *text = said_by(made->trace);
	assert_string_equal(text, wanted);
	mem_free(text);
}

/* ---- rows ---- */

static struct obs usual(bool big)
{
	struct obs obs = obs_new(big);

	put_execute(&obs, 10, 1);
	put_type(&obs, 20, 3, "a \"label\"");
	put_head(&obs, 7, "VTx", 30);
	put(&obs, 8, 4);
	put(&obs, 0, 4);
	put_event(&obs, "OHe", 40);
	return obs;
}

static const char usual_text[] =
	"10 OHx begins the execution on CPU 1 created from -1 with tag 0xabc [9]\n"
	"20 VYc creates task type 3 with label \"a \"label\"\"\n"
	"30 VTx executes the task 8 with bodyid 0\n"
	"40 OHe ends the execution\n";

static void reads_both_byte_orders(void **state)
{
	(void)state;
	for (int big = 0; big < 2; big++) {
		struct obs obs = usual(big);
		struct made made = made_of(plain_json, &obs);
		check_text(&made, usual_text);
		assert_int_equal(made.said.damages, 0);
		const struct stream *stream = made.trace->streams[0];
		assert_int_equal(stream->tid, 7);
		assert_int_equal(stream->pid, 5);
		assert_int_equal(stream->rank, 2);
		assert_string_equal(stream->loom, "host.l");
		assert_string_equal(made.trace->parts[0]->host, "host");
		release(&made);
	}
}

static void unknown_events_show_their_bytes(void **state)
{
	struct obs obs = obs_new(false);

	(void)state;
	put_event(&obs, "Zz!", 1);
	put_head(&obs, 3, "VTx", 2); /* too short for two arguments */
	put(&obs, 1, 4);
	put_head(&obs, 7, "VYc", 3); /* not a jumbo event */
	put(&obs, 1, 8);
	put_event(&obs, "6Tx", 4); /* of a model that is not required */
	struct made made = made_of(plain_json, &obs);
	check_text(&made, "1 #unknown -\n2 #unknown -\n3 #unknown -\n4 #unknown -\n");
	assert_int_equal(made.said.damages, 0);
	release(&made);
}

static void a_cpu_that_no_loom_lists_has_no_number(void **state)
{
	struct obs obs = obs_new(false);

	(void)state;
	put_execute(&obs, 1, 0);
	put_execute(&obs, 2, 2);
	put_execute(&obs, 3, -1);
	struct made made = made_of(plain_json, &obs);
	check_text(&made,
		   "1 OHx begins the execution on CPU 0 created from -1 with tag 0xabc [4]\n"
		   "2 OHx begins the execution on CPU 2 created from -1 with tag 0xabc\n"
		   "3 OHx begins the execution on CPU -1 created from -1 with tag 0xabc [-1]\n");
	release(&made);
}

static void regions_are_put_in_order_over_packets(void **state)
{
	struct obs obs = obs_new(false);

	(void)state;
	put_event(&obs, "OHp", 10);
	put_event(&obs, "OHr", 20);
	put_event(&obs, "OHp", 30);
	put_event(&obs, "OU[", 40);
	put_event(&obs, "KCO", 15);
	put_event(&obs, "KCI", 12);
	put_event(&obs, "OU]", 50);
	put_event(&obs, "OHe", 60);
	for (uint32_t bytes = 12; bytes <= 96; bytes += 12) {
		decoded_cut_at(bytes);
		struct made made = made_of(NULL, &obs);
		char json[512];
		snprintf(json, sizeof json, "%s", plain_json);
		memcpy(strstr(json, "nosv\": \"2.0.0"), "kernel\":\"1.0", 12);
		add_stream(&made, "s", json, obs.bytes, obs.len);
		check_text(&made,
			   "10 OHp pauses the execution\n12 KCI back to CPU\n"
			   "15 KCO out of CPU\n20 OHr resumes the execution\n"
			   "30 OHp pauses the execution\n40 OU[ enters unordered event region\n"
			   "50 OU] leaves unordered event region\n60 OHe ends the execution\n");
		assert_int_equal(made.said.damages, 0);
		release(&made);
	}
	decoded_cut_at(0);
}

static void a_clock_that_falls_ends_the_stream(void **state)
{
	struct obs obs = obs_new(false);

	(void)state;
	put_event(&obs, "OHp", 10);
	put_event(&obs, "OHr", 9);
	put_event(&obs, "OHp", 30);
	struct made made = made_of(plain_json, &obs);
	check_text(&made, "10 OHp pauses the execution\n");
	assert_int_equal(made.said.damages, 1);
	assert_non_null(strstr(made.said.last, "event at offset 20 has clock 9 after 10"));
	release(&made);
}

/* Two streams in a folder below the one that is opened, the table beside them or beside that one. */
static void offsets_lie_between(const char *inner)
{
	struct made made = {.folder = scratch_folder()};
	struct obs a = obs_new(false), b = obs_new(false);
	char json[1024];
	static const char table[] = "rank hostname median mean std\n"
				    "0 host 0 0.0 0.0\n\n1\tother\t-4999999990.7 -5e9 1\n";

	put_event(&a, "OHp", 10);
	put_event(&b, "OHr", UINT64_C(5000000000));
	char *top = made.folder;
	made.folder = path_join(top, inner);
	mkdir(made.folder, 0700);
	add_stream(&made, "a", plain_json, a.bytes, a.len);
	snprintf(json, sizeof json, "%s", plain_json);
	memcpy(strstr(json, "\"host.l\""), "\"other\" ", 8);
	add_stream(&made, "b", json, b.bytes, b.len);
	char *path = path_join(made.folder, "clock-offsets.txt");
	write_file(path, table, sizeof table - 1);
	mem_free(path);
	mem_free(made.folder);
	made.folder = top;
	check_text(&made, "10 OHp pauses the execution\n10 OHr resumes the execution\n");
	assert_int_equal(made.said.damages, 0);
	assert_int_equal(made.trace->nparts, 2);
	assert_string_equal(made.trace->parts[1]->host, "other");
	release(&made);
}

static void hosts_have_clocks_of_their_own(void **state)
{
	(void)state;
	offsets_lie_between(".");
}

static void offsets_below_the_opened_folder_count(void **state)
{
	(void)state;
	offsets_lie_between("ovni");
}

static struct damage_row {
	const char *name, *json, *obs;
	size_t size;
	const char *told;
} damage_rows[] = {
	{"an empty stream.obs", plain_json, "", 0, "stream.obs: it is empty"},
	{"a stream.obs without its header", plain_json, "ovn", 3, "shorter than its header"},
	{"another magic", plain_json, "ovnj\1\0\0\0", 8, "does not begin with \"ovni\""},
	{"another stream version", plain_json, "ovni\2\0\0\0", 8,
	 "stream version 2 is not known (1 is)"},
	{"JSON that ends early", "{\"version\": 3, ", "ovni\1\0\0\0", 8, "ends too early"},
	{"no JSON", "nonsense", "ovni\1\0\0\0", 8, "no JSON at offset 1"},
	{"another version of the JSON", "{\"version\": 2}", "ovni\1\0\0\0", 8,
	 "version 2 is not known (3 is)"},
	{"no version", "{}", "ovni\1\0\0\0", 8, "version is missing"},
	{"a list", "[3]", "ovni\1\0\0\0", 8, "its top is not an object"},
	{"no part", "{\"version\": 3}", "ovni\1\0\0\0", 8, "ovni.part is missing"},
	{"thread 0", "{\"version\":3,\"ovni\":{\"part\":\"thread\",\"tid\":0,\"pid\":1}}",
	 "ovni\1\0\0\0", 8, "ovni.tid is missing or not above 0"},
	{"a thread without process", "{\"version\":3,\"ovni\":{\"part\":\"thread\",\"tid\":1}}",
	 "ovni\1\0\0\0", 8, "ovni.pid is missing or not above 0"},
	{"no stream.json", NULL, "ovni\1\0\0\0", 8, "there is no stream.json beside it"},
	{"no stream.obs", plain_json, NULL, 0, "there is no stream.obs beside it"},
};

/* Beside a stream that is good, which is read. */
static void damage_costs_its_stream(void **state)
{
	const struct damage_row *row = *state;
	struct obs obs = usual(false);
	struct made made = {.folder = scratch_folder()};

	add_stream(&made, "bad", row->json, row->obs, row->size);
	add_stream(&made, "good", plain_json, obs.bytes, obs.len);
	check_text(&made, usual_text);
	assert_int_equal(made.said.damages, 1);
	if (!strstr(made.said.last, row->told))
		fail_msg("%s", made.said.last);
	release(&made);
}

static void nothing_to_read_is_an_error(void **state)
{
	struct obs obs = usual(false);
	struct made made = made_of("{", &obs);

	(void)state;
	assert_false(open_made(&made));
	assert_int_equal(made.said.damages, 0);
	assert_non_null(strstr(made.err.text, "stream.json"));
	made.trace = NULL;
	release(&made);
}

static void cut_at_every_byte(void **state)
{
	static const size_t ends[] = {8, 36, 66, 86, 98};
	struct obs obs = usual(false);

	(void)state;
	assert_int_equal(obs.len, ends[COUNT(ends) - 1]);
	for (size_t size = 8; size <= obs.len; size++) {
		struct made made = {.folder = scratch_folder()};
		size_t whole = 0, lines = 0, exact = 0;
		add_stream(&made, "s", plain_json, obs.bytes, size);
		for (size_t i = 1; i < COUNT(ends); i++)
			whole += ends[i] <= size;
		for (size_t i = 0; i < COUNT(ends); i++)
			exact |= ends[i] == size;
		assert_true(open_made(&made));
		char *text = said_by(made.trace);
		for (const char *at = text; (at = strchr(at, '\n')); at++)
			lines++;
		assert_int_equal(lines, whole);
		assert_memory_equal(text, usual_text, strlen(text));
		assert_int_equal(made.said.damages, !exact);
		mem_free(text);
		release(&made);
	}
}

static void a_jumbo_event_longer_than_the_file(void **state)
{
	struct obs obs = obs_new(false);

	(void)state;
	put_event(&obs, "OHp", 1);
	put_head(&obs, 0x13, "VYc", 2);
	put(&obs, UINT32_MAX, 4);
	put(&obs, 0, 8);
	struct made made = made_of(plain_json, &obs);
	check_text(&made, "1 OHp pauses the execution\n");
	assert_int_equal(made.said.damages, 1);
	release(&made);
}

int main(void)
{
	struct CMUnitTest tests[16 + COUNT(damage_rows)] = {
		cmocka_unit_test(reads_both_byte_orders),
		cmocka_unit_test(unknown_events_show_their_bytes),
		cmocka_unit_test(a_cpu_that_no_loom_lists_has_no_number),
		cmocka_unit_test(regions_are_put_in_order_over_packets),
		cmocka_unit_test(a_clock_that_falls_ends_the_stream),
		cmocka_unit_test(hosts_have_clocks_of_their_own),
		cmocka_unit_test(offsets_below_the_opened_folder_count),
		cmocka_unit_test(nothing_to_read_is_an_error),
		cmocka_unit_test(cut_at_every_byte),
		cmocka_unit_test(a_jumbo_event_longer_than_the_file),
	};
	size_t count = 9;

	ADD_ROWS(tests, count, damage_rows, damage_costs_its_stream);
	return _cmocka_run_group_tests("ovni", tests, count, NULL, NULL);
}
