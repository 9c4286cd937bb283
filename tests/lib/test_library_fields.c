/*
 * test_library_fields.c - values of events through libyore: every kind of field of a made trace
 *
 * Built twice, as test_library.c is.
 */
#include "tests/harness.h"
#include "tests/lib/api.h"
#include "tests/lib/made.h"
#include "tests/lib/opened.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct yore_events *at_kinds(struct yore **yore)
{
	*yore = open_trace(made_kinds(), (struct yore_options){0});
	struct yore_events *events = open_events(*yore, all);
	assert_int_equal(api.events_next(events, &err), 1);
	return events;
}

static const struct yore_field *field_of(struct yore_events *events, const char *name,
					 enum yore_kind kind)
{
	const struct yore_field *field = api.event_field(events, name, &err);

	if (!field)
		fail_msg("%s", err.text);
	assert_int_equal(api.field_kind(field), kind);
	return field;
}

static void assert_text(const struct yore_field *field, const char *text)
{
	size_t len;

	assert_non_null(field);
	assert_string_equal(api.field_text(field, &len), text);
	assert_int_equal(len, strlen(text));
}

static void numbers(void **state)
{
	struct yore *yore;
	struct yore_events *events = at_kinds(&yore);
	const struct yore_field *field;

	(void)state;
	assert_int_equal(api.field_int(field_of(events, "yes", YORE_BOOL)), 1);
	assert_int_equal(api.field_int(field_of(events, "no", YORE_BOOL)), 0);
	field = field_of(events, "small", YORE_INT);
	assert_int_equal(api.field_int(field), -300);
	assert_true(api.field_double(field) == -300.0);
	field = field_of(events, "great", YORE_UINT);
	assert_true(api.field_uint(field) == UINT64_C(0xffeeddccbbaa9988));
	assert_true(api.field_double(field) == 18441921395520346504.0);
	assert_int_equal(api.field_class_base(api.field_class(field)), 16);
	assert_null(api.field_text(field, NULL));
	assert_int_equal(api.field_count(field), 0);
	assert_null(api.field_item(field, 0));
	assert_true(api.field_double(field_of(events, "real", YORE_DOUBLE)) == -0.25);
	assert_int_equal(api.field_uint(field_of(events, "real", YORE_DOUBLE)), 0);
	assert_int_equal(api.field_int(field_of(events, "leb", YORE_INT)), -128);
	end(yore, events);
}

static void labels(void **state)
{
	struct yore *yore;
	struct yore_events *events = at_kinds(&yore);
	const struct yore_field *color = field_of(events, "color", YORE_UINT);
	const struct yore_field *bits = field_of(events, "bits", YORE_UINT);
	const struct yore_field_class *class = api.field_class(color);
	uint64_t low, high;

	(void)state;
	assert_int_equal(api.field_uint(color), 1);
	assert_string_equal(api.field_label(color, 0), "red");
	assert_string_equal(api.field_label(color, 1), "warm");
	assert_null(api.field_label(color, 2));
	assert_int_equal(api.field_class_labels(class), 3);
	assert_string_equal(api.field_class_label(class, 1, &low, &high), "warm");
	assert_int_equal(low, 1);
	assert_int_equal(high, 2);
	assert_null(api.field_class_label(class, 3, &low, &high));
	assert_string_equal(api.field_label(bits, 0), "low");
	assert_string_equal(api.field_label(bits, 1), "mid");
	assert_string_equal(api.field_label(bits, 2), "high");
	assert_null(api.field_label(bits, 3));
	assert_null(api.field_label(field_of(events, "text", YORE_STRING), 0));
	end(yore, events);
}

static void texts_and_bytes(void **state)
{
	struct yore *yore;
	struct yore_events *events = at_kinds(&yore);
	const struct yore_field *blob = field_of(events, "blob", YORE_BYTES);
	size_t len;

	(void)state;
	assert_text(field_of(events, "text", YORE_STRING), "hi \"there\"");
	assert_text(field_of(events, "wide", YORE_STRING), "o\xc3\xa9k");
	assert_memory_equal(api.field_bytes(blob, &len), "\0\1\xfe", 3);
	assert_int_equal(len, 3);
	assert_null(api.field_text(blob, NULL));
	assert_null(api.field_bytes(field_of(events, "small", YORE_INT), &len));
	assert_int_equal(len, 0);
	end(yore, events);
}

static void structures_and_arrays(void **state)
{
	static const int64_t list[] = {1, -1, 2, -2, 3, -3};
	struct yore *yore;
	struct yore_events *events = at_kinds(&yore);
	const struct yore_field *field = field_of(events, "inner", YORE_STRUCT);

	(void)state;
	assert_int_equal(api.field_count(field), 2);
	assert_string_equal(api.field_item_name(field, 1), "b");
	assert_null(api.field_item_name(field, 2));
	assert_text(api.field_item(field, 1), "in");
	assert_int_equal(api.field_uint(api.field_get(field, "a")), 200);
	assert_null(api.field_get(field, "c"));
	assert_int_equal(api.field_uint(field_of(events, "inner/a", YORE_UINT)), 200);
	field = field_of(events, "list", YORE_ARRAY);
	assert_int_equal(api.field_count(field), COUNT(list));
	for (size_t i = COUNT(list); i-- > 0;)
		assert_int_equal(api.field_int(api.field_item(field, i)), list[i]);
	assert_null(api.field_item(field, COUNT(list)));
	assert_null(api.field_item_name(field, 0));
	assert_int_equal(api.field_int(field_of(events, "list/3", YORE_INT)), -2);
	assert_null(api.event_field(events, "list/6", &err));
	assert_null(api.event_field(events, "list/1x", &err));
	assert_null(api.event_field(events, "list/", &err));
	assert_int_equal(err.kind, YORE_ERROR_QUERY);
	assert_string_equal(err.text, "all has no field list/");
	end(yore, events);
}

/* What is inside of elements is right in any order, though it is decoded by what came before. */
static void elements_in_any_order(void **state)
{
	static const char *const words[3][3] = {{"a", "bc"}, {NULL}, {"d", "", "efg"}};
	struct yore *yore;
	struct yore_events *events = at_kinds(&yore);
	const struct yore_field *deep = field_of(events, "deep", YORE_ARRAY);

	(void)state;
	assert_int_equal(api.field_count(deep), 3);
	for (int pass = 0; pass < 2; pass++)
		for (uint64_t i = 3; i-- > 0;) {
			const struct yore_field *element = api.field_item(deep, i);
			uint64_t count = api.field_uint(api.field_get(element, "m"));
			const struct yore_field *list = api.field_get(element, "words");
			assert_int_equal(count, i == 0 ? 2 : i == 1 ? 1 : 3);
			assert_int_equal(api.field_count(list), count);
			for (uint64_t k = count; k-- > 0;) {
				const struct yore_field *word = api.field_item(list, k);
				assert_int_equal(api.field_kind(word), YORE_OPTIONAL);
				assert_int_equal(api.field_count(word), words[i][k] != NULL);
				if (words[i][k])
					assert_text(api.field_item(word, 0), words[i][k]);
			}
		}
	assert_null(api.event_field(events, "deep/1/words/0/0", &err));
	assert_int_equal(api.field_uint(field_of(events, "deep/2/m", YORE_UINT)), 3);
	end(yore, events);
}

static void optionals_and_variants(void **state)
{
	struct yore *yore;
	struct yore_events *events = at_kinds(&yore);
	const struct yore_field *there = field_of(events, "there", YORE_OPTIONAL);
	const struct yore_field *absent = field_of(events, "absent", YORE_OPTIONAL);
	const struct yore_field *pick = field_of(events, "pick", YORE_VARIANT);
	const char *name;

	(void)state;
	assert_int_equal(api.field_count(there), 1);
	assert_null(api.field_item_name(there, 0));
	assert_int_equal(api.field_uint(api.field_item(there, 0)), 77);
	assert_int_equal(api.field_count(absent), 0);
	assert_null(api.field_item(absent, 0));
	assert_int_equal(api.field_count(pick), 1);
	assert_string_equal(api.field_item_name(pick, 0), "one");
	assert_int_equal(api.field_kind(api.field_get(pick, "one")), YORE_STRUCT);
	assert_int_equal(api.field_uint(field_of(events, "pick/one/x", YORE_UINT)), 5);
	assert_int_equal(api.field_uint(field_of(events, "pick/x", YORE_UINT)), 5);
	assert_null(api.event_field(events, "pick/two", &err));
	assert_int_equal(api.field_class_count(api.field_class(pick)), 2);
	assert_int_equal(
		api.field_class_kind(api.field_class_item(api.field_class(pick), 1, &name)),
		YORE_STRING);
	assert_string_equal(name, "two");
	assert_int_equal(api.field_class_count(api.field_class(there)), 1);
	end(yore, events);
}

static void scopes(void **state)
{
	struct yore *yore;
	struct yore_events *events = at_kinds(&yore);
	const struct yore_field *both = api.event_scope(events, YORE_CONTEXT, &err);

	(void)state;
	assert_int_equal(api.field_count(both), 3);
	assert_null(api.field_class(both));
	assert_string_equal(api.field_item_name(both, 0), "context_who");
	assert_string_equal(api.field_item_name(both, 1), "where");
	assert_string_equal(api.field_item_name(both, 2), "who");
	assert_int_equal(api.field_uint(api.field_get(both, "context_who")), 11);
	assert_int_equal(api.field_uint(api.field_get(both, "where")), 12);
	assert_int_equal(api.field_uint(api.field_get(both, "who")), 0x215);
	assert_null(api.field_get(both, "when"));
	assert_int_equal(api.field_uint(field_of(events, "who", YORE_UINT)), 0x215);
	assert_int_equal(api.field_uint(field_of(events, "context_who", YORE_UINT)), 11);
	const struct yore_field *own = api.event_scope(events, YORE_STREAM_CONTEXT, &err);
	assert_string_equal(api.field_item_name(own, 0), "who");
	assert_null(api.event_scope(events, YORE_PACKET_HEADER, &err));
	assert_int_equal(err.kind, YORE_ERROR_QUERY);
	assert_int_equal(api.field_count(api.event_scope(events, YORE_PAYLOAD, &err)), 18);
	assert_null(api.event_text(events, &err));
	assert_int_equal(api.stream_has_time(api.event_stream(events)), 0);
	assert_int_equal(api.event_time(events), 0);
	assert_int_equal(api.events_next(events, NULL), 0);
	assert_null(api.event_scope(events, YORE_PAYLOAD, NULL));
	end(yore, events);
}

/* What was borrowed from one event, and what it said at first. */
struct borrowed {
	const char *text;
	char *copy;
	size_t len;
};

enum { BORROWED_MOST = 400 };

struct lender {
	struct borrowed items[BORROWED_MOST];
	size_t count;
};

static void borrow(struct lender *lender, const char *text, size_t len)
{
	if (!text || lender->count == BORROWED_MOST)
		return;
	struct borrowed *item = &lender->items[lender->count++];
	*item = (struct borrowed){text, malloc(len + 1), len};
	assert_non_null(item->copy);
	memcpy(item->copy, text, len);
}

/* All texts and bytes of a field and what is in it. */
static void borrow_field(struct lender *lender, const struct yore_field *field)
{
	size_t len = 0;
	const char *text = api.field_text(field, &len);

	borrow(lender, text, text ? len + 1 : 0); /* and the zero behind it */
	if (api.field_kind(field) == YORE_BYTES) {
		const void *bytes = api.field_bytes(field, &len);
		borrow(lender, bytes, len);
	}
	for (size_t i = 0; (text = api.field_label(field, i)); i++)
		borrow(lender, text, strlen(text) + 1);
	for (uint64_t i = 0; i < api.field_count(field) && i < 100; i++)
		borrow_field(lender, api.field_item(field, i));
}

static void borrow_event(struct lender *lender, struct yore_events *events)
{
	const char *text = api.event_text(events, &err);

	borrow(lender, text, text ? strlen(text) + 1 : 0);
	for (int scope = YORE_PACKET_HEADER; scope <= YORE_PAYLOAD; scope++) {
		const struct yore_field *field = api.event_scope(events, scope, &err);
		if (field)
			borrow_field(lender, field);
	}
}

/* Each is as it was; frees the copies. */
static void give_back(struct lender *lender)
{
	for (size_t i = 0; i < lender->count; i++) {
		assert_memory_equal(lender->items[i].text, lender->items[i].copy,
				    lender->items[i].len);
		free(lender->items[i].copy);
	}
	lender->count = 0;
}

static void borrowed_until_the_next(void **state)
{
	static const char *const traces[] = {"sched-demo", "sched-perf/perf.data",
					     "sched-ftrace/trace.dat", "memory-demo"};
	static struct lender lender;
	char path[4096];
	size_t lent = 0;

	(void)state;
	for (size_t t = 0; t < COUNT(traces); t++) {
		snprintf(path, sizeof path, "%s/fixtures/golden/%s", getenv("srcdir"), traces[t]);
		struct yore *yore = open_trace(path, (struct yore_options){0});
		struct yore_events *events = open_events(yore, all);
		struct yore_events *other = open_events(yore, all);
		uint64_t packet, bits;
		int64_t first, last;

		while (api.events_next(events, &err) == 1) {
			borrow_event(&lender, events);
			lent += lender.count;
			/* nothing but the next event of this cursor ends them */
			for (int i = 0; i < 3 && api.events_next(other, &err) == 1; i++)
				api.event_field(other, "comm", &err);
			assert_int_equal(api.range(yore, &first, &last, &err), 1);
			api.event_place(events, &packet, &bits);
			api.event_field(events, "no such field", &err);
			api.event_text(events, &err);
			give_back(&lender);
		}
		api.events_close(other);
		api.events_close(events);
		api.close(yore);
	}
	assert_true(lent > 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers),
		cmocka_unit_test(labels),
		cmocka_unit_test(texts_and_bytes),
		cmocka_unit_test(structures_and_arrays),
		cmocka_unit_test(elements_in_any_order),
		cmocka_unit_test(optionals_and_variants),
		cmocka_unit_test(scopes),
		cmocka_unit_test(borrowed_until_the_next),
	};

	api_fill();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
