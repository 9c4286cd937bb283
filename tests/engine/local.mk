test_programs += %D%/test_base %D%/test_text %D%/test_source %D%/test_timebase %D%/test_layout %D%/test_cuts \
	%D%/test_packets %D%/test_ranges
%C%_test_base_SOURCES = %D%/test_base.c
%C%_test_base_LDADD = $(TEST_LDADD)
%C%_test_text_SOURCES = %D%/test_text.c %D%/decoded.c %D%/decoded.h
%C%_test_text_LDADD = $(TEST_LDADD)
%C%_test_source_SOURCES = %D%/test_source.c
%C%_test_source_LDADD = $(TEST_LDADD)
%C%_test_timebase_SOURCES = %D%/test_timebase.c
%C%_test_timebase_LDADD = $(TEST_LDADD)
%C%_test_ranges_SOURCES = %D%/test_ranges.c
%C%_test_ranges_LDADD = $(TEST_LDADD)
%C%_test_layout_SOURCES = %D%/test_layout.c
%C%_test_layout_LDADD = $(TEST_LDADD)
%C%_test_cuts_SOURCES = %D%/test_cuts.c %D%/decoded.c %D%/decoded.h %D%/merged.c %D%/merged.h
%C%_test_cuts_LDADD = $(index_libs) $(CMOCKA_LIBS)
%C%_test_packets_SOURCES = %D%/test_packets.c %D%/decoded.c %D%/decoded.h
%C%_test_packets_LDADD = $(TEST_LDADD)
test_programs += %D%/test_ring
%C%_test_ring_SOURCES = %D%/test_ring.c
%C%_test_ring_LDADD = $(TEST_LDADD)
test_programs += %D%/test_tsdl
%C%_test_tsdl_SOURCES = %D%/test_tsdl.c
%C%_test_tsdl_LDADD = $(TEST_LDADD)
test_programs += %D%/test_metadata_suite
%C%_test_metadata_suite_SOURCES = %D%/test_metadata_suite.c
%C%_test_metadata_suite_LDADD = $(TEST_LDADD)
test_programs += %D%/test_aux
%C%_test_aux_SOURCES = %D%/test_aux.c %D%/decoded.c %D%/decoded.h
%C%_test_aux_LDADD = $(TEST_LDADD)
test_programs += %D%/test_aux_perf
%C%_test_aux_perf_SOURCES = %D%/test_aux_perf.c %D%/decoded.c %D%/decoded.h
%C%_test_aux_perf_LDADD = $(TEST_LDADD)
test_programs += %D%/test_symbols %D%/test_symbols_of_traces %D%/test_symbol_tables \
	%D%/test_symbol_spaces
%C%_test_symbols_SOURCES = %D%/test_symbols.c %D%/symbols_scene.c %D%/symbols_scene.h \
	%D%/decoded.c %D%/decoded.h
%C%_test_symbols_LDADD = $(TEST_LDADD)
%C%_test_symbols_of_traces_SOURCES = %D%/test_symbols_of_traces.c %D%/symbols_scene.c %D%/symbols_scene.h
%C%_test_symbols_of_traces_LDADD = $(TEST_LDADD)
%C%_test_symbol_tables_SOURCES = %D%/test_symbol_tables.c
%C%_test_symbol_tables_CFLAGS = $(AM_CFLAGS) $(XXHASH_CFLAGS)
%C%_test_symbol_tables_LDADD = $(TEST_LDADD) $(XXHASH_LIBS)
%C%_test_symbol_spaces_SOURCES = %D%/test_symbol_spaces.c
%C%_test_symbol_spaces_LDADD = $(TEST_LDADD)
test_programs += %D%/test_unwind
%C%_test_unwind_SOURCES = %D%/test_unwind.c
%C%_test_unwind_LDADD = $(TEST_LDADD)
test_programs += %D%/test_tracing %D%/test_tracing_text
if TRACEEVENT
%C%_test_tracing_SOURCES = %D%/test_tracing.c %D%/tracing_judge.c %D%/tracing_judge.h
%C%_test_tracing_CFLAGS = $(AM_CFLAGS) $(TRACEEVENT_CFLAGS)
%C%_test_tracing_LDADD = $(TEST_LDADD) $(TRACEEVENT_LIBS)
%C%_test_tracing_text_SOURCES = %D%/test_tracing_text.c %D%/tracing_judge.c %D%/tracing_judge.h
%C%_test_tracing_text_CFLAGS = $(AM_CFLAGS) $(TRACEEVENT_CFLAGS)
%C%_test_tracing_text_LDADD = $(TEST_LDADD) $(TRACEEVENT_LIBS)
else
%C%_test_tracing_SOURCES = %D%/no_judge.c
%C%_test_tracing_text_SOURCES = %D%/no_judge.c
endif
test_programs += %D%/test_packets_kernel %D%/test_cuts_kernel
%C%_test_packets_kernel_SOURCES = %D%/test_packets_kernel.c %D%/decoded.c %D%/decoded.h
%C%_test_packets_kernel_LDADD = $(index_libs) $(CMOCKA_LIBS)
%C%_test_cuts_kernel_SOURCES = %D%/test_cuts_kernel.c %D%/decoded.c %D%/decoded.h %D%/merged.c %D%/merged.h
%C%_test_cuts_kernel_LDADD = $(index_libs) $(CMOCKA_LIBS)
test_programs += %D%/test_perf
%C%_test_perf_SOURCES = %D%/test_perf.c %D%/perf_made.c %D%/perf_made.h \
	%D%/decoded.c %D%/decoded.h
%C%_test_perf_CFLAGS = $(AM_CFLAGS) $(ZSTD_CFLAGS)
%C%_test_perf_LDADD = $(TEST_LDADD) $(ZSTD_LIBS)
test_programs += %D%/test_copy_cache
%C%_test_copy_cache_SOURCES = %D%/test_copy_cache.c %D%/perf_made.c %D%/perf_made.h \
	%D%/cache_scene.c %D%/cache_scene.h %D%/decoded.c %D%/decoded.h
%C%_test_copy_cache_CFLAGS = $(AM_CFLAGS) $(ZSTD_CFLAGS) $(XXHASH_CFLAGS)
%C%_test_copy_cache_LDFLAGS = -Wl,--wrap=write
%C%_test_copy_cache_LDADD = $(TEST_LDADD) $(ZSTD_LIBS) $(XXHASH_LIBS)
test_programs += %D%/test_chunk_cache
%C%_test_chunk_cache_SOURCES = %D%/test_chunk_cache.c %D%/cache_scene.c %D%/cache_scene.h \
	%D%/opened_ftrace.c %D%/opened_ftrace.h \
	%D%/made_ftrace.c %D%/made_ftrace.h %D%/decoded.c %D%/decoded.h
%C%_test_chunk_cache_CFLAGS = $(AM_CFLAGS) $(ZLIB_CFLAGS) $(ZSTD_CFLAGS) $(XXHASH_CFLAGS)
%C%_test_chunk_cache_LDADD = $(TEST_LDADD) $(ZLIB_LIBS) $(ZSTD_LIBS) $(XXHASH_LIBS)
test_programs += %D%/test_ftrace %D%/test_ftrace_options
%C%_test_ftrace_SOURCES = %D%/test_ftrace.c %D%/opened_ftrace.c %D%/opened_ftrace.h \
	%D%/made_ftrace.c %D%/made_ftrace.h %D%/decoded.c %D%/decoded.h
%C%_test_ftrace_CFLAGS = $(AM_CFLAGS) $(ZLIB_CFLAGS) $(ZSTD_CFLAGS)
%C%_test_ftrace_LDADD = $(TEST_LDADD) $(ZLIB_LIBS) $(ZSTD_LIBS)
%C%_test_ftrace_options_SOURCES = %D%/test_ftrace_options.c %D%/opened_ftrace.c \
	%D%/opened_ftrace.h %D%/made_ftrace.c %D%/made_ftrace.h %D%/decoded.c %D%/decoded.h
%C%_test_ftrace_options_CFLAGS = $(AM_CFLAGS) $(ZLIB_CFLAGS) $(ZSTD_CFLAGS)
%C%_test_ftrace_options_LDADD = $(TEST_LDADD) $(ZLIB_LIBS) $(ZSTD_LIBS)
test_programs += %D%/test_ctf2
%C%_test_ctf2_SOURCES = %D%/test_ctf2.c
%C%_test_ctf2_LDADD = $(TEST_LDADD)
dist_check_SCRIPTS += %D%/ctf2_classes.py %D%/ctf2_scene.sh
test_programs += %D%/test_rfc
%C%_test_rfc_SOURCES = %D%/test_rfc.c
%C%_test_rfc_LDADD = $(TEST_LDADD)
dist_check_SCRIPTS += %D%/rfc2010_scene.sh
EXTRA_DIST += %D%/rfc2010.py %D%/rfc2010_read.py
test_programs += %D%/test_ovni
%C%_test_ovni_SOURCES = %D%/test_ovni.c %D%/decoded.c %D%/decoded.h %D%/merged.c %D%/merged.h
%C%_test_ovni_LDADD = $(index_libs) $(CMOCKA_LIBS)
dist_check_SCRIPTS += %D%/ovni_doc.sh
test_programs += %D%/test_sel4
%C%_test_sel4_SOURCES = %D%/test_sel4.c %D%/decoded.c %D%/decoded.h %D%/merged.c %D%/merged.h
%C%_test_sel4_LDADD = $(index_libs) $(CMOCKA_LIBS)
test_programs += %D%/test_gdb
%C%_test_gdb_SOURCES = %D%/test_gdb.c %D%/decoded.c %D%/decoded.h %D%/merged.c %D%/merged.h %D%/told.c %D%/told.h
%C%_test_gdb_LDADD = $(index_libs) $(CMOCKA_LIBS)
