noinst_LIBRARIES += libstate.a
libstate_a_CFLAGS = $(AM_CFLAGS) $(SHARED_CFLAGS)
libstate_a_CPPFLAGS = $(AM_CPPFLAGS) $(PCRE_CFLAGS) $(XXHASH_CFLAGS)
state_libs = libstate.a $(index_libs) $(state_outside)
state_outside = $(PCRE_LIBS) $(XXHASH_LIBS) -lm

# The door: what other rooms ask
libstate_a_SOURCES = \
	%D%/changes.c \
	%D%/changes.h \
	%D%/comms.c \
	%D%/comms.h \
	%D%/condition.c \
	%D%/condition.h \
	%D%/interval_window.c \
	%D%/interval_window.h \
	%D%/reading.c \
	%D%/reading.h \
	%D%/state.c \
	%D%/state.h \
	%D%/violations.c \
	%D%/violations.h

# Rooms, from the lowest up
libstate_a_SOURCES += \
	%D%/model/attr.c \
	%D%/model/attr.h \
	%D%/model/glob.c \
	%D%/model/glob.h \
	%D%/model/moment.h \
	%D%/model/number_map.c \
	%D%/model/number_map.h \
	%D%/model/op.c \
	%D%/model/op.h \
	%D%/model/pattern.c \
	%D%/model/pattern.h \
	%D%/model/spells.c \
	%D%/model/spells.h \
	%D%/model/text_part.c \
	%D%/model/text_part.h \
	%D%/model/value.c \
	%D%/model/value.h \
	%D%/model/value_bytes.c \
	%D%/model/value_bytes.h
libstate_a_SOURCES += \
	%D%/expr/lex.c \
	%D%/expr/number.c \
	%D%/expr/number.h \
	%D%/expr/parse.c \
	%D%/expr/parse.h \
	%D%/expr/regex.c \
	%D%/expr/regex.h \
	%D%/expr/tree.c \
	%D%/expr/tree.h
libstate_a_SOURCES += \
	%D%/rules/ast.h \
	%D%/rules/check.c \
	%D%/rules/cycles.c \
	%D%/rules/explain.c \
	%D%/rules/lex.h \
	%D%/rules/line.h \
	%D%/rules/carried.c \
	%D%/rules/mirror.c \
	%D%/rules/parse.c \
	%D%/rules/parse_expr.c \
	%D%/rules/query.c \
	%D%/rules/reads.c \
	%D%/rules/reads.h \
	%D%/rules/rules.c \
	%D%/rules/rules.h \
	%D%/rules/set.c \
	%D%/rules/tree.c
libstate_a_SOURCES += \
	%D%/program/column_test.c \
	%D%/program/column_test.h \
	%D%/program/compile.c \
	%D%/program/cpus.c \
	%D%/program/cpus.h \
	%D%/program/expr.c \
	%D%/program/expr.h \
	%D%/program/expr_calls.c \
	%D%/program/expr_compile.c \
	%D%/program/expr_field.c \
	%D%/program/expr_ops.c \
	%D%/program/gaps.c \
	%D%/program/gaps.h \
	%D%/program/internal.h \
	%D%/program/lint.c \
	%D%/program/lookup.c \
	%D%/program/lookup.h \
	%D%/program/lookup_path.c \
	%D%/program/lookup_value.c \
	%D%/program/mirror_classes.c \
	%D%/program/mirror_classes.h \
	%D%/program/naming.c \
	%D%/program/naming.h \
	%D%/program/path.c \
	%D%/program/plain.c \
	%D%/program/plain.h \
	%D%/program/plain_load.c \
	%D%/program/plain_load.h \
	%D%/program/program.c \
	%D%/program/program.h \
	%D%/program/subset.c
libstate_a_SOURCES += \
	%D%/filter/internal.h \
	%D%/filter/node.c \
	%D%/filter/rows.c \
	%D%/filter/rows.h \
	%D%/filter/select.c \
	%D%/filter/thread.c \
	%D%/filter/where.c \
	%D%/filter/where.h
libstate_a_SOURCES += \
	%D%/events/call_events.c \
	%D%/events/call_events.h \
	%D%/events/capture.c \
	%D%/events/capture.h \
	%D%/events/closure.c \
	%D%/events/closure.h \
	%D%/events/event_source.c \
	%D%/events/event_source.h \
	%D%/events/event_source_index.c \
	%D%/events/horizon.c \
	%D%/events/horizon.h \
	%D%/events/line_key.c \
	%D%/events/line_key.h \
	%D%/events/cpu_runs.c \
	%D%/events/cpu_runs.h \
	%D%/events/pair_doubts.c \
	%D%/events/pair_doubts.h \
	%D%/events/event_filter.c \
	%D%/events/event_filter.h
libstate_a_SOURCES += \
	%D%/replay/cells.c \
	%D%/replay/cells.h \
	%D%/replay/cells_bytes.c \
	%D%/replay/cells_internal.h \
	%D%/replay/checkpoint.c \
	%D%/replay/checkpoint.h \
	%D%/replay/contradictions.c \
	%D%/replay/contradictions.h \
	%D%/replay/contradictions_internal.h \
	%D%/replay/contradictions_stream.c \
	%D%/replay/known_ranges.c \
	%D%/replay/known_ranges.h \
	%D%/replay/replay.c \
	%D%/replay/replay.h \
	%D%/replay/walk.c \
	%D%/replay/walk.h \
	%D%/replay/write_log.c \
	%D%/replay/write_log.h \
	%D%/replay/writes.c \
	%D%/replay/chosen.h \
	%D%/replay/writes.h
libstate_a_SOURCES += \
	%D%/backward/backward.c \
	%D%/backward/backward.h \
	%D%/backward/pending.c \
	%D%/backward/pending_prune.c \
	%D%/backward/internal.h \
	%D%/backward/questions.c \
	%D%/backward/resolve.c
libstate_a_SOURCES += \
	%D%/slices/bits.h \
	%D%/slices/build.c \
	%D%/slices/build.h \
	%D%/slices/builder.c \
	%D%/slices/builder.h \
	%D%/slices/column_get.c \
	%D%/slices/column_put.c \
	%D%/slices/gathered.c \
	%D%/slices/gathered.h \
	%D%/slices/lines.c \
	%D%/slices/names.c \
	%D%/slices/names.h \
	%D%/slices/numbers.c \
	%D%/slices/numbers.h \
	%D%/slices/numbers_store.c \
	%D%/slices/part.h \
	%D%/slices/resume.c \
	%D%/slices/shard.c \
	%D%/slices/shard.h \
	%D%/slices/shard_moment.c \
	%D%/slices/shard_names.c \
	%D%/slices/shard_side.c \
	%D%/slices/slice.h \
	%D%/slices/slice_get.c \
	%D%/slices/slice_moment.c \
	%D%/slices/slice_put.c \
	%D%/slices/dominant.c \
	%D%/slices/dominant.h
libstate_a_SOURCES += \
	%D%/context/answers.c \
	%D%/context/answers.h \
	%D%/context/class_lines.c \
	%D%/context/class_lines.h \
	%D%/context/handover.c \
	%D%/context/handover.h \
	%D%/context/context.h \
	%D%/context/reach.c \
	%D%/context/reach.h \
	%D%/context/run.c \
	%D%/context/run.h \
	%D%/context/wanted.c \
	%D%/context/wanted.h
libstate_a_SOURCES += \
	%D%/answer/forward_scan.c \
	%D%/answer/forward_scan.h \
	%D%/answer/ask.c \
	%D%/answer/ask.h \
	%D%/answer/forward.c \
	%D%/answer/forward.h \
	%D%/answer/backfill.c \
	%D%/answer/backfill.h \
	%D%/answer/planner.c \
	%D%/answer/planner.h
libstate_a_SOURCES += \
	%D%/timelines/grown.c \
	%D%/timelines/grown.h \
	%D%/timelines/retry.c \
	%D%/timelines/retry.h \
	%D%/timelines/shard_start.c \
	%D%/timelines/shard_start.h \
	%D%/timelines/shard_summary.c \
	%D%/timelines/shard_summary.h \
	%D%/timelines/shard_summary_bytes.c \
	%D%/timelines/shard_merge.c \
	%D%/timelines/shard_merge.h \
	%D%/timelines/shard_files.c \
	%D%/timelines/claims.c \
	%D%/timelines/claims.h \
	%D%/timelines/exchange.c \
	%D%/timelines/exchange.h \
	%D%/timelines/shards.c \
	%D%/timelines/shards_cuts.c \
	%D%/timelines/shards.h \
	%D%/timelines/shards_internal.h \
	%D%/timelines/shards_plan.c \
	%D%/timelines/shards_threads.c \
	%D%/timelines/stored.c \
	%D%/timelines/stored_walk.c \
	%D%/timelines/stored.h \
	%D%/timelines/timelines.c \
	%D%/timelines/timelines.h
libstate_a_SOURCES += \
	%D%/pictures/picture.c \
	%D%/pictures/picture.h \
	%D%/pictures/picture_fill.c \
	%D%/pictures/picture_fill.h \
	%D%/pictures/samples.c \
	%D%/pictures/samples.h
libstate_a_SOURCES += \
	%D%/intervals/intervals.c \
	%D%/intervals/intervals.h \
	%D%/intervals/named.c \
	%D%/intervals/named.h \
	%D%/intervals/ends.c \
	%D%/intervals/near.c \
	%D%/intervals/buried.c \
	%D%/intervals/computed.c \
	%D%/intervals/interval_run.c \
	%D%/intervals/source.c \
	%D%/intervals/stored_sums.c \
	%D%/intervals/stored_tracks.c \
	%D%/intervals/stored_tracks.h \
	%D%/intervals/own_timelines.c \
	%D%/intervals/stretches.c \
	%D%/intervals/spool.c \
	%D%/intervals/spool.h \
	%D%/intervals/own_timelines.h \
	%D%/intervals/stretches.h \
	%D%/intervals/sums.h \
	%D%/intervals/totals.c \
	%D%/intervals/tracks.c \
	%D%/intervals/views.c \
	%D%/intervals/window.c

# Rule sets: installed, and inside the library so that it works uninstalled
rulesdir = $(pkgdatadir)/rules
dist_rules_DATA = %D%/rules/linux.rules %D%/rules/sel4.rules
nodist_libstate_a_SOURCES = %D%/rules/builtin.c
# its subsystems are in the tables that its reader is made of
nodist_rules_DATA = %D%/rules/ovni.rules
EXTRA_DIST += %D%/rules/embed.awk %D%/rules/ovni.rules.in
CLEANFILES += %D%/rules/builtin.c %D%/rules/ovni.rules
%D%/rules/ovni.rules: %D%/rules/ovni.rules.in $(ovni_models) engine/ovni/models.awk
	$(AM_V_GEN)$(MKDIR_P) %D%/rules && { cat $(srcdir)/%D%/rules/ovni.rules.in && \
	$(AWK) -v rules=1 -f $(srcdir)/engine/ovni/models.awk \
		$(ovni_models:%=$(srcdir)/%); } > $@.tmp && mv $@.tmp $@
%D%/rules/builtin.c: $(dist_rules_DATA) $(nodist_rules_DATA) %D%/rules/embed.awk
	$(AM_V_GEN)$(MKDIR_P) %D%/rules && \
	files=; for file in $(dist_rules_DATA) $(nodist_rules_DATA); do \
		if test -f $$file; then files="$$files $$file"; else files="$$files $(srcdir)/$$file"; fi; \
	done; $(AWK) -f $(srcdir)/%D%/rules/embed.awk $$files > $@.tmp && mv $@.tmp $@
