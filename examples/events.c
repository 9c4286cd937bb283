/*
 * events.c - all events of a trace, one a line, as `yore events --format json` prints them
 *
 *     cc events.c $(pkg-config --cflags --libs yore) -o events
 *     ./events TRACE                    or several, which are merged
 *     ./events --input ovni TRACE       the format, and its settings
 *
 * Exit status: 0; 1: the trace cannot be read; 3: a part of it could not.
 */
#include <yore.h>

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Bytes of the UTF-8 character at `at`, of `left` bytes; 0: it is none. */
static size_t utf8_length(const unsigned char *at, size_t left)
{
	static const unsigned least[] = {0, 0, 0x80, 0x800, 0x10000};
	size_t n = at[0] < 0x80 ? 1 : at[0] < 0xe0 ? 2 : at[0] < 0xf0 ? 3 : 4;
	unsigned code = n == 1 ? at[0] : at[0] & (0xffu >> (n + 1));

	if (n == 1)
		return 1;
	if (at[0] < 0xc2 || at[0] > 0xf4 || n > left)
		return 0;
	for (size_t i = 1; i < n; i++) {
		if ((at[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (at[i] & 0x3f);
	}
	return code >= least[n] && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff) ? n : 0;
}

static void put_escape(unsigned char c)
{
	static const char names[] = "\"\\\n\t\r\b\f", letters[] = "\"\\ntrbf";
	const char *name = c ? strchr(names, c) : NULL;

	if (name)
		printf("\\%c", letters[name - names]);
	else
		printf("\\u%04x", c);
}

/* A string of JSON; a byte that is not UTF-8 as \u00XX. */
static void put_text(const char *text, size_t len)
{
	const unsigned char *at = (const unsigned char *)text;

	putchar('"');
	for (size_t i = 0, n; i < len; i += n) {
		n = utf8_length(at + i, len - i);
		if (n > 1 || (n && at[i] >= 32 && at[i] != '"' && at[i] != '\\')) {
			fwrite(at + i, 1, n, stdout);
		} else {
			put_escape(at[i]);
			n = 1;
		}
	}
	putchar('"');
}

static void put_name(const char *name)
{
	put_text(name, strlen(name));
}

static void put_base64(const unsigned char *bytes, size_t len)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	putchar('"');
	for (size_t i = 0; i < len; i += 3) {
		unsigned more = len - i > 2 ? 2 : (unsigned)(len - i - 1);
		unsigned word = (unsigned)bytes[i] << 16;
		word |= more > 0 ? (unsigned)bytes[i + 1] << 8 : 0;
		word |= more > 1 ? bytes[i + 2] : 0u;
		putchar(digits[word >> 18]);
		putchar(digits[word >> 12 & 63]);
		putchar(more > 0 ? digits[word >> 6 & 63] : '=');
		putchar(more > 1 ? digits[word & 63] : '=');
	}
	putchar('"');
}

/* The shortest decimal that reads back as the same number. */
static void put_double(double number)
{
	char text[40];

	if (!isfinite(number)) {
		put_name(isnan(number) ? "NaN" : number < 0 ? "-Infinity" : "Infinity");
		return;
	}
	for (int digits = 15; digits <= 17; digits++) {
		snprintf(text, sizeof text, "%.*g", digits, number);
		if (strtod(text, NULL) == number)
			break;
	}
	printf("%s%s", text, strpbrk(text, ".e") ? "" : ".0");
}

static void put_integer(const struct yore_field *field)
{
	if (yore_field_kind(field) == YORE_BOOL)
		printf("%s", yore_field_int(field) ? "true" : "false");
	else if (yore_field_kind(field) == YORE_INT)
		printf("%" PRId64, yore_field_int(field));
	else
		printf("%" PRIu64, yore_field_uint(field));
}

static void put_number(const struct yore_field *field)
{
	const char *label;

	if (!yore_field_class_labels(yore_field_class(field))) {
		put_integer(field);
		return;
	}
	printf("{\"value\":");
	put_integer(field);
	printf(",\"labels\":[");
	for (size_t i = 0; (label = yore_field_label(field, i)); i++) {
		printf("%s", i ? "," : "");
		put_name(label);
	}
	printf("]}");
}

static void put_field(const struct yore_field *field);

static void put_items(const struct yore_field *field, char open, char close)
{
	putchar(open);
	for (uint64_t i = 0; i < yore_field_count(field); i++) {
		const char *name = yore_field_item_name(field, i);
		printf("%s", i ? "," : "");
		if (name) {
			put_name(name);
			putchar(':');
		}
		put_field(yore_field_item(field, i));
	}
	putchar(close);
}

static void put_field(const struct yore_field *field)
{
	const void *bytes;
	size_t len;

	switch (yore_field_kind(field)) {
	case YORE_BOOL:
	case YORE_INT:
	case YORE_UINT:
		put_number(field);
		break;
	case YORE_DOUBLE:
		put_double(yore_field_double(field));
		break;
	case YORE_STRING:
		bytes = yore_field_bytes(field, &len);
		put_text(bytes, len);
		break;
	case YORE_BYTES:
		bytes = yore_field_bytes(field, &len);
		put_base64(bytes, len);
		break;
	case YORE_STRUCT:
		put_items(field, '{', '}');
		break;
	case YORE_ARRAY:
		put_items(field, '[', ']');
		break;
	case YORE_VARIANT:
	case YORE_OPTIONAL:
		if (yore_field_count(field))
			put_field(yore_field_item(field, 0));
		else
			printf("null");
		break;
	}
}

static void put_scope(struct yore_events *events, const char *name, enum yore_scope scope)
{
	struct yore_error err;
	const struct yore_field *field = yore_event_scope(events, scope, &err);

	printf(",\"%s\":", name);
	if (field)
		put_field(field);
	else
		printf("{}");
	if (!field && err.kind != YORE_ERROR_QUERY)
		fprintf(stderr, "events: %s\n", err.text);
}

static void put_time(int64_t time)
{
	if (time == YORE_TIME_MIN || time == YORE_TIME_MAX)
		printf("null");
	else
		printf("%" PRId64, time);
}

static void put_event(struct yore_events *events)
{
	int cpu = yore_event_cpu(events);

	printf(",\"cpu\":");
	if (cpu < 0)
		printf("null");
	else
		printf("%d", cpu);
	printf(",\"name\":");
	put_name(yore_class_name(yore_event_class(events)));
	put_scope(events, "packet", YORE_PACKET_CONTEXT);
	put_scope(events, "context", YORE_CONTEXT);
	put_scope(events, "fields", YORE_PAYLOAD);
}

static void put_loss(const struct yore_loss *loss)
{
	printf(",\"lost\":");
	if (loss->known)
		printf("%" PRIu64, loss->events);
	else
		printf("null");
	if (loss->packets)
		printf(",\"packets\":%" PRIu64, loss->packets);
	printf(",\"until\":");
	put_time(loss->until);
}

static int put_all(struct yore *yore, struct yore_error *err)
{
	struct yore_events_options options = YORE_EVENTS_ALL;
	struct yore_events *events;
	struct yore_loss loss;
	int status;

	options.losses = options.fields = 1;
	if (yore_events_open(yore, &options, &events, err) != 0)
		return -1;
	while ((status = yore_events_next(events, err)) == 1) {
		printf("{\"ts\":");
		put_time(yore_event_time(events));
		printf(",\"t\":"); /* its name in releases before */
		put_time(yore_event_time(events));
		printf(",\"stream\":");
		put_name(yore_stream_name(yore_event_stream(events)));
		if (yore_event_loss(events, &loss))
			put_loss(&loss);
		else
			put_event(events);
		puts("}");
	}
	yore_events_close(events);
	return status;
}

static void say(void *arg, enum yore_notice kind, const char *text)
{
	(void)arg;
	if (kind != YORE_INFO)
		fprintf(stderr, "events: %s\n", text);
}

int main(int argc, char **argv)
{
	struct yore_options options = {.size = sizeof options, .no_index = 1, .say = say};
	struct yore_error err;
	struct yore *yore;
	int first = 1, status;

	if (argc > 2 && strcmp(argv[1], "--input") == 0) {
		options.input = argv[2];
		first = 3;
	}
	if (argc <= first) {
		fprintf(stderr, "usage: %s [--input FORMAT] TRACE...\n", argv[0]);
		return 2;
	}
	options.more = (const char *const *)argv + first + 1;
	options.nmore = (size_t)(argc - first - 1);
	status = yore_open(argv[first], &options, &yore, &err);
	if (status == 0) {
		status = put_all(yore, &err);
		if (status == 0 && yore_damaged(yore))
			status = 3;
		yore_close(yore);
	}
	if (status < 0) {
		fprintf(stderr, "events: %s\n", err.text);
		return 1;
	}
	return status;
}
