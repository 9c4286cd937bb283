noinst_LTLIBRARIES += libstate.la
libstate_la_CPPFLAGS = $(AM_CPPFLAGS) $(PCRE_CFLAGS) $(XXHASH_CFLAGS)
libstate_la_LIBADD = $(PCRE_LIBS) $(XXHASH_LIBS) -lm
libstate_la_SOURCES = %D%/state.h %D%/value.h

# The rule language
libstate_la_SOURCES += %D%/ast.h %D%/attr.c %D%/attr.h %D%/expr.c %D%/expr.h \
	%D%/expr_compile.c %D%/expr_field.c %D%/expr_ops.c %D%/glob.c %D%/path.c \
	%D%/program.c %D%/program.h %D%/program_internal.h %D%/rule.h %D%/rule_compile.c \
	%D%/rule_check.c %D%/rule_lex.c %D%/rule_lex.h %D%/rule_mirror.c %D%/rule_parse.c %D%/rule_parse_expr.c \
	%D%/rule_lint.c %D%/rule_reads.c %D%/rule_reads.h %D%/rule_strata.c %D%/rules.c %D%/value.c \
	%D%/cpus.c %D%/cpus.h %D%/explain.c %D%/lookup.c %D%/lookup.h %D%/lookup_path.c \
	%D%/lookup_value.c %D%/query.c %D%/where.c %D%/where.h %D%/where_internal.h \
	%D%/where_node.c %D%/where_select.c %D%/where_thread.c

# Rule sets: installed, and inside the library so that it works uninstalled
rulesdir = $(pkgdatadir)/rules
dist_rules_DATA = %D%/rules/linux.rules %D%/rules/sel4.rules
nodist_libstate_la_SOURCES = %D%/rules_builtin.c
# its subsystems are in the tables that its reader is made of
nodist_rules_DATA = %D%/rules/ovni.rules
EXTRA_DIST += %D%/embed.awk %D%/rules/ovni.rules.in
CLEANFILES += %D%/rules_builtin.c %D%/rules/ovni.rules
%D%/rules/ovni.rules: %D%/rules/ovni.rules.in $(ovni_models) engine/ovni/models.awk
	$(AM_V_GEN)$(MKDIR_P) %D%/rules && { cat $(srcdir)/%D%/rules/ovni.rules.in && \
	$(AWK) -v rules=1 -f $(srcdir)/engine/ovni/models.awk \
		$(ovni_models:%=$(srcdir)/%); } > $@.tmp && mv $@.tmp $@
%D%/rules_builtin.c: $(dist_rules_DATA) $(nodist_rules_DATA) %D%/embed.awk
	$(AM_V_GEN)$(MKDIR_P) %D% && \
	files=; for file in $(dist_rules_DATA) $(nodist_rules_DATA); do \
		if test -f $$file; then files="$$files $$file"; else files="$$files $(srcdir)/$$file"; fi; \
	done; $(AWK) -f $(srcdir)/%D%/embed.awk $$files > $@.tmp && mv $@.tmp $@

# Evaluation
libstate_la_SOURCES += %D%/ahead.c %D%/ahead.h %D%/answers.c %D%/ask.c %D%/known.c \
	%D%/known.h %D%/backward.c %D%/backward.h \
	%D%/backward_internal.h %D%/capture.c %D%/capture.h %D%/cells.c %D%/cells.h \
	%D%/cells_bytes.c %D%/cells_internal.h %D%/changes.c %D%/changes.h %D%/checkpoint.c %D%/checkpoint.h %D%/claims.c \
	%D%/claims_prune.c %D%/closure.c %D%/closure.h %D%/comms.c %D%/comms.h %D%/contradictions.c %D%/contradictions.h %D%/tellers.c %D%/tellers.h %D%/feed.c %D%/feed.h %D%/feed_index.c \
	%D%/forward.c %D%/gaps.c %D%/gaps.h %D%/intervals.c %D%/intervals.h %D%/intervals_near.c \
	%D%/intervals_needs.c %D%/intervals_views.c %D%/line_key.c %D%/line_key.h %D%/look.c \
	%D%/number_map.c %D%/number_map.h \
	%D%/plain.c %D%/plain.h %D%/plain_internal.h %D%/plain_load.c %D%/plain_load.h %D%/planner.c \
	%D%/questions.c %D%/replay.c %D%/replay.h %D%/run.c \
	%D%/settle.c %D%/sieve.c %D%/sieve.h %D%/sieve_internal.h %D%/sieve_packets.c %D%/state.c \
	%D%/state_internal.h %D%/walk.c %D%/walk.h %D%/wanted.c %D%/writes.c %D%/writes.h

# Shards
libstate_la_SOURCES += %D%/digest.c %D%/digest.h %D%/digest_bytes.c %D%/join.c %D%/join.h \
	%D%/shard_files.c %D%/shards.c %D%/shards.h %D%/shards_internal.h %D%/shards_plan.c \
	%D%/shards_threads.c %D%/stretches.c %D%/stretches.h %D%/subset.c

# Timelines
libstate_la_SOURCES += %D%/slices/bits.h %D%/slices/build.c %D%/slices/build.h \
	%D%/slices/builder.c %D%/slices/builder.h %D%/slices/builder_internal.h \
	%D%/slices/column_get.c %D%/slices/lines.c \
	%D%/slices/column_put.c %D%/slices/direct.c %D%/slices/direct.h %D%/slices/followers.c \
	%D%/slices/followers.h %D%/slices/gaps.h %D%/slices/gathered.c %D%/slices/gathered.h \
	%D%/slices/names.c %D%/slices/names.h \
	%D%/slices/numbers.c %D%/slices/numbers.h \
	%D%/slices/numbers_internal.h %D%/slices/numbers_store.c %D%/slices/resume.c %D%/slices/shard.c \
	%D%/slices/shard.h %D%/slices/shard_internal.h %D%/slices/shard_names.c %D%/slices/shard_side.c \
	%D%/slices/slice.h %D%/slices/slicer.c %D%/slices/slicer.h %D%/slices/slice_get.c \
	%D%/slices/slice_moment.c %D%/slices/shard_moment.c %D%/slices/slice_put.c \
	%D%/slices/slice_walk.c %D%/slices/tops.c %D%/slices/tops.h %D%/stored.c %D%/stored.h \
	%D%/stored_sums.c %D%/stored_tracks.c %D%/stored_tracks.h \
	%D%/stored_walk.c %D%/timelines.c \
	%D%/sums.h %D%/timelines.h
