dist_check_SCRIPTS += \
	%D%/catalog.py \
	%D%/csv_columns.py \
	%D%/ctf_clauses.py \
	%D%/ctf_doc.py \
	%D%/ctf_suite.py \
	%D%/datagrams.py \
	%D%/decoding.sh \
	%D%/frames.sh \
	%D%/formats.py \
	%D%/gdb_values.py \
	%D%/run_sessions.sh \
	%D%/examples.sh \
	%D%/kills.sh \
	%D%/manners.sh \
	%D%/mistakes.sh \
	%D%/pipe.sh \
	%D%/relay.py \
	%D%/rings.py \
	%D%/rows.sh \
	%D%/rules_check.sh \
	%D%/diff_agrees.py \
	%D%/memory_limits.py \
	%D%/mixed.py \
	%D%/partials.py \
	%D%/slurm.py \
	%D%/sections.py \
	%D%/stored.py \
	%D%/tracedat.py \
	%D%/timelines.sh \
	%D%/names.sh \
	%D%/on_terminal.py \
	%D%/prompt_terminal.py \
	%D%/completion.sh \
	%D%/zsh.py \
	%D%/perf_newer.py \
	%D%/pictures.py \
	%D%/interval_triggers.py \
	%D%/triggers.py \
	%D%/event_windows.py \
	%D%/turns.py \
	%D%/view.py \
	%D%/serve.py \
	%D%/serve_page.py \
	%D%/serve_client.sh \
	%D%/sockets.py \
	%D%/lttng_chunks.py \
	%D%/tutorial.py \
	%D%/limits.sh \
	%D%/threads_named.py \
	%D%/follow.py \
	%D%/follow_cost.py \
	%D%/follow_lttng.py \
	%D%/index_follow.py
EXTRA_DIST += \
	%D%/follow.lua \
	%D%/terminal.py \
	%D%/filtered.py \
	%D%/results.py \
	%D%/spoilt_traces.py \
	%D%/ring_files.py \
	%D%/mistakes.tsv \
	%D%/at.session \
	%D%/do.session \
	%D%/commands.session \
	%D%/errors.session \
	%D%/events.session \
	%D%/browser.py \
	%D%/serve_requests.py \
	%D%/serving.py \
	%D%/serve_client.mjs \
	%D%/ftrace.session \
	%D%/init.lua \
	%D%/lines.session \
	%D%/lua.session \
	%D%/moves.session \
	%D%/ovni.session \
	%D%/perf.session \
	%D%/sql.session \
	%D%/stats.session \
	%D%/timeline.session

test_programs += %D%/test_times %D%/test_options %D%/test_render %D%/test_picture %D%/test_lanes
%C%_test_lanes_SOURCES = %D%/test_lanes.c
%C%_test_lanes_LDADD = $(repl_libs) $(CMOCKA_LIBS)
%C%_test_picture_SOURCES = %D%/test_picture.c
%C%_test_picture_LDADD = $(repl_libs) $(CMOCKA_LIBS)
%C%_test_times_SOURCES = %D%/test_times.c
%C%_test_times_LDADD = $(repl_libs) $(CMOCKA_LIBS)
%C%_test_options_SOURCES = %D%/test_options.c
%C%_test_options_LDADD = $(repl_libs) $(CMOCKA_LIBS)
%C%_test_render_SOURCES = %D%/test_render.c
%C%_test_render_LDADD = $(repl_libs) $(CMOCKA_LIBS)
