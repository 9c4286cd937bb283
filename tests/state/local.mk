STATE_TEST_LDADD = $(state_libs) $(CMOCKA_LIBS)
test_programs += %D%/test_attr %D%/test_rule_parse %D%/test_query %D%/test_expr
%C%_test_attr_SOURCES = %D%/test_attr.c
%C%_test_attr_LDADD = $(STATE_TEST_LDADD)
test_programs += %D%/test_value_bytes %D%/test_glob %D%/test_op %D%/test_pattern %D%/test_text_part
%C%_test_value_bytes_SOURCES = %D%/test_value_bytes.c
%C%_test_value_bytes_LDADD = $(STATE_TEST_LDADD)
%C%_test_glob_SOURCES = %D%/test_glob.c
%C%_test_glob_LDADD = $(STATE_TEST_LDADD)
%C%_test_op_SOURCES = %D%/test_op.c
%C%_test_op_LDADD = $(STATE_TEST_LDADD)
%C%_test_pattern_SOURCES = %D%/test_pattern.c
%C%_test_pattern_LDADD = $(STATE_TEST_LDADD)
%C%_test_text_part_SOURCES = %D%/test_text_part.c
%C%_test_text_part_LDADD = $(STATE_TEST_LDADD)
%C%_test_rule_parse_SOURCES = %D%/test_rule_parse.c
%C%_test_rule_parse_LDADD = $(STATE_TEST_LDADD)
%C%_test_query_SOURCES = %D%/test_query.c
%C%_test_query_LDADD = $(STATE_TEST_LDADD)
%C%_test_expr_SOURCES = %D%/test_expr.c %D%/where_one.h
%C%_test_expr_LDADD = $(STATE_TEST_LDADD)

test_programs += %D%/test_where
%C%_test_where_SOURCES = %D%/test_where.c %D%/where_one.h
%C%_test_where_LDADD = $(STATE_TEST_LDADD)

test_programs += %D%/test_known_ranges
%C%_test_known_ranges_SOURCES = %D%/test_known_ranges.c
%C%_test_known_ranges_LDADD = $(STATE_TEST_LDADD)

test_programs += %D%/test_slices %D%/test_dominant
test_programs += %D%/test_names %D%/test_numbers %D%/test_gathered %D%/test_bits
%C%_test_slices_SOURCES = %D%/test_slices.c
%C%_test_slices_LDADD = $(STATE_TEST_LDADD)
%C%_test_dominant_SOURCES = %D%/test_dominant.c
%C%_test_dominant_LDADD = $(STATE_TEST_LDADD)
%C%_test_names_SOURCES = %D%/test_names.c %D%/temp_store.c %D%/temp_store.h
%C%_test_names_LDADD = $(STATE_TEST_LDADD)
%C%_test_numbers_SOURCES = %D%/test_numbers.c %D%/temp_store.c %D%/temp_store.h
%C%_test_numbers_LDADD = $(STATE_TEST_LDADD)
%C%_test_gathered_SOURCES = %D%/test_gathered.c %D%/temp_store.c %D%/temp_store.h
%C%_test_gathered_LDADD = $(STATE_TEST_LDADD)
%C%_test_bits_SOURCES = %D%/test_bits.c
%C%_test_bits_LDADD = $(STATE_TEST_LDADD)

test_programs += %D%/test_steps
%C%_test_steps_SOURCES = %D%/test_steps.c %D%/fake_trace.c %D%/fake_trace.h \
	%D%/random_rules.c %D%/random_rules.h fixtures/rng.h
%C%_test_steps_LDADD = $(STATE_TEST_LDADD)

test_programs += %D%/test_windows
%C%_test_windows_SOURCES = %D%/test_windows.c %D%/fake_trace.c %D%/fake_trace.h \
	%D%/random_rules.c %D%/random_rules.h fixtures/rng.h
%C%_test_windows_LDADD = $(STATE_TEST_LDADD)

test_programs += %D%/test_property
%C%_test_property_SOURCES = %D%/test_property.c %D%/fake_trace.c %D%/fake_trace.h \
	%D%/random_rules.c %D%/random_rules.h %D%/sums_check.c %D%/sums_check.h \
	%D%/totals_check.c %D%/totals_check.h
%C%_test_property_LDADD = $(STATE_TEST_LDADD)

test_programs += %D%/test_shards
%C%_test_shards_SOURCES = %D%/test_shards.c %D%/fake_trace.c %D%/fake_trace.h \
	%D%/random_rules.c %D%/random_rules.h %D%/dump_cells.c %D%/dump_cells.h
%C%_test_shards_LDADD = $(STATE_TEST_LDADD)
check_PROGRAMS += %D%/real_shards
%C%_real_shards_SOURCES = %D%/real_shards.c %D%/dump_cells.c %D%/dump_cells.h
%C%_real_shards_LDADD = $(STATE_TEST_LDADD)

FAKE_STATE = %D%/fake_state.c %D%/fake_state.h %D%/fake_trace.c %D%/fake_trace.h \
	%D%/random_rules.c %D%/random_rules.h
test_programs += %D%/test_closure %D%/test_event_filter %D%/test_planner
%C%_test_closure_SOURCES = %D%/test_closure.c $(FAKE_STATE)
%C%_test_closure_LDADD = $(STATE_TEST_LDADD)
%C%_test_event_filter_SOURCES = %D%/test_event_filter.c $(FAKE_STATE)
%C%_test_event_filter_LDADD = $(STATE_TEST_LDADD)
%C%_test_planner_SOURCES = %D%/test_planner.c $(FAKE_STATE)
%C%_test_planner_LDADD = $(STATE_TEST_LDADD)

test_programs += %D%/test_shard_files
%C%_test_shard_files_SOURCES = %D%/test_shard_files.c $(FAKE_STATE)
%C%_test_shard_files_LDADD = $(STATE_TEST_LDADD)

test_programs += %D%/test_linux
%C%_test_linux_SOURCES = %D%/test_linux.c %D%/all_ways.c %D%/all_ways.h \
	%D%/fake_trace.c %D%/fake_trace.h
%C%_test_linux_LDADD = $(STATE_TEST_LDADD)

test_programs += %D%/test_cells
%C%_test_cells_SOURCES = %D%/test_cells.c %D%/fake_trace.c %D%/fake_trace.h
%C%_test_cells_LDADD = $(STATE_TEST_LDADD)

test_programs += %D%/test_traps
check_PROGRAMS += %D%/real_state
%C%_test_traps_SOURCES = %D%/test_traps.c %D%/all_ways.c %D%/all_ways.h \
	%D%/fake_trace.c %D%/fake_trace.h
%C%_test_traps_LDADD = $(STATE_TEST_LDADD)
%C%_real_state_SOURCES = %D%/real_state.c
%C%_real_state_LDADD = $(STATE_TEST_LDADD)
dist_check_SCRIPTS += \
	%D%/real_state.sh \
	%D%/real_shards.sh \
	%D%/exchange.py \
	%D%/packet_filters.sh \
	%D%/damaged.sh
EXTRA_DIST += \
	%D%/real_traces.sh \
	%D%/truth_agree.py \
	%D%/impossible.known \
	%D%/damaged.py
dist_check_SCRIPTS += \
	%D%/many_keys.py \
	%D%/many_shapes.py \
	%D%/requirements.py \
	%D%/woken.py \
	%D%/switch_records.py \
	%D%/impossible.py \
	%D%/one_answer.py \
	%D%/computed_ends.py \
	%D%/features.py \
	%D%/first_answer.py \
	%D%/windows.py
