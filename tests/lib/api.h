/*
 * api.h - libyore's functions as a table, from the linked library or a loaded one
 *
 * With API_DLOPEN defined the program is not linked with libyore: the table comes from dlopen() and
 * dlsym(). Tests call api.open(), not yore_open().
 */
#ifndef TESTS_LIB_API_H
#define TESTS_LIB_API_H

#include <yore.h>

/* clang-format off */
#define API_EACH(f) \
	f(absorb_fault) f(class) f(class_count) f(class_id) f(class_index) \
	f(class_loglevel) f(class_name) f(class_part) f(class_scope) f(class_stream_id) \
	f(clock) f(clock_count) f(clock_description) f(clock_frequency) \
	f(clock_is_epoch) f(clock_name) f(clock_offset) f(clock_precision) f(clock_uuid) \
	f(close) f(damaged) f(event_class) f(event_cpu) f(event_field) f(event_loss) \
	f(event_place) f(event_scope) f(event_stream) f(event_text) f(event_time) \
	f(events_close) f(events_next) f(events_open) f(events_seek) f(field_bytes) \
	f(field_class) f(field_class_base) f(field_class_bits) f(field_class_count) \
	f(field_class_item) f(field_class_kind) f(field_class_label) \
	f(field_class_labels) f(field_count) f(field_double) f(field_get) f(field_int) \
	f(field_item) f(field_item_name) f(field_kind) f(field_label) f(field_text) \
	f(field_uint) f(follow_close) f(follow_late) f(follow_next) \
	f(follow_open) f(follow_trace) f(on_no_memory) f(open) f(part) f(part_count) f(part_domain) f(part_environment) \
	f(part_format) f(part_host) f(part_path) f(part_uuid) f(part_variable) \
	f(part_version) f(range) f(stream) f(stream_bytes) f(stream_clock) \
	f(stream_count) f(stream_cpu) f(stream_has_time) f(stream_id) f(stream_index) \
	f(stream_name) f(stream_part) f(stream_section) f(version)
/* clang-format on */

#define API_MEMBER(name) __typeof__(yore_##name) *name;
struct api {
	API_EACH(API_MEMBER)
};
extern struct api api;

/* Fills the table; if a function is missing the program ends. */
void api_fill(void);

#endif
