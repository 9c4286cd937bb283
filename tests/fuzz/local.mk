# One fuzzer per parser of what others wrote. libFuzzer is clang's:
#     configure --enable-fuzzers CC=clang && make fuzzers && tests/fuzz/run.sh . 60
# Some are plain programs too, which run the files that they are given:
#     make tests/fuzz/replay_packet tests/fuzz/replay_rfc tests/fuzz/replay_perf tests/fuzz/replay_ftrace tests/fuzz/replay_ovni tests/fuzz/replay_sel4 tests/fuzz/replay_gdb tests/fuzz/replay_gdb_ctf tests/fuzz/replay_store tests/fuzz/replay_variables tests/fuzz/replay_live tests/fuzz/replay_serve tests/fuzz/replay_remote tests/fuzz/replay_partial
EXTRA_DIST += \
	%D%/run.sh \
	%D%/ctf2.dict \
	%D%/rfc.dict \
	%D%/tsdl.dict \
	%D%/oneliner.dict
fuzz_all = \
	%D%/fuzz_ctf2 \
	%D%/fuzz_rfc \
	%D%/fuzz_gather \
	%D%/fuzz_packet \
	%D%/fuzz_rules \
	%D%/fuzz_tsdl \
	%D%/fuzz_intel_pt \
	%D%/fuzz_perf \
	%D%/fuzz_perf_turns \
	%D%/fuzz_ftrace \
	%D%/fuzz_ovni \
	%D%/fuzz_sel4 \
	%D%/fuzz_gdb \
	%D%/fuzz_gdb_ctf \
	%D%/fuzz_formats \
	%D%/fuzz_slices \
	%D%/fuzz_store \
	%D%/fuzz_variables \
	%D%/fuzz_live \
	%D%/fuzz_remote \
	%D%/fuzz_oneliner \
	%D%/fuzz_partial \
	%D%/fuzz_serve
replay_all = \
	%D%/replay_packet \
	%D%/replay_rfc \
	%D%/replay_perf \
	%D%/replay_ftrace \
	%D%/replay_ovni \
	%D%/replay_sel4 \
	%D%/replay_gdb \
	%D%/replay_gdb_ctf \
	%D%/replay_store \
	%D%/replay_variables \
	%D%/replay_live \
	%D%/replay_partial \
	%D%/replay_remote \
	%D%/replay_serve
EXTRA_PROGRAMS += $(fuzz_all) $(replay_all)
CLEANFILES += $(replay_all)
fuzz_linking = $(AM_LDFLAGS) -fsanitize=fuzzer

%C%_fuzz_ctf2_SOURCES = %D%/fuzz_ctf2.c %D%/check_description.h %D%/description.c %D%/description.h
%C%_fuzz_ctf2_LDFLAGS = $(fuzz_linking)
%C%_fuzz_ctf2_LDADD = $(engine_libs)
%C%_fuzz_packet_SOURCES = %D%/fuzz_packet.c
%C%_fuzz_packet_LDFLAGS = $(fuzz_linking)
%C%_fuzz_packet_LDADD = $(engine_libs)
%C%_fuzz_remote_SOURCES = %D%/fuzz_remote.c
%C%_fuzz_remote_LDFLAGS = $(fuzz_linking)
%C%_fuzz_remote_LDADD = libremote.a $(EXPAT_LIBS) -ldl $(engine_libs)
%C%_replay_remote_SOURCES = %D%/fuzz_remote.c %D%/replay.c
%C%_replay_remote_LDADD = libremote.a $(EXPAT_LIBS) -ldl $(engine_libs)
%C%_fuzz_rules_SOURCES = %D%/fuzz_rules.c
%C%_fuzz_rules_LDFLAGS = $(fuzz_linking)
%C%_fuzz_rules_LDADD = $(state_libs)
%C%_fuzz_oneliner_SOURCES = %D%/fuzz_oneliner.c
%C%_fuzz_oneliner_LDFLAGS = $(fuzz_linking)
%C%_fuzz_oneliner_LDADD = $(oneliner_libs)
%C%_fuzz_partial_SOURCES = %D%/fuzz_partial.c
%C%_fuzz_partial_LDFLAGS = $(fuzz_linking)
%C%_fuzz_partial_LDADD = libaggregate.a $(state_libs)
%C%_replay_partial_SOURCES = %D%/fuzz_partial.c %D%/replay.c
%C%_replay_partial_LDADD = libaggregate.a $(state_libs)
%C%_fuzz_tsdl_SOURCES = %D%/fuzz_tsdl.c %D%/check_description.h %D%/description.c %D%/description.h
%C%_fuzz_tsdl_LDFLAGS = $(fuzz_linking)
%C%_fuzz_tsdl_LDADD = $(engine_libs)
%C%_replay_packet_SOURCES = %D%/fuzz_packet.c %D%/replay.c
%C%_replay_packet_LDADD = $(engine_libs)
%C%_fuzz_intel_pt_SOURCES = %D%/fuzz_intel_pt.c
%C%_fuzz_intel_pt_LDFLAGS = $(fuzz_linking)
%C%_fuzz_intel_pt_LDADD = $(engine_libs)
%C%_fuzz_perf_SOURCES = %D%/fuzz_reader.c
%C%_fuzz_perf_CPPFLAGS = $(AM_CPPFLAGS) -DFUZZ_FORMAT='"perf"'
%C%_fuzz_perf_LDFLAGS = $(fuzz_linking)
%C%_fuzz_perf_LDADD = $(index_libs)
%C%_fuzz_perf_turns_SOURCES = %D%/fuzz_reader.c
%C%_fuzz_perf_turns_CPPFLAGS = $(AM_CPPFLAGS) -DFUZZ_FORMAT='"perf"' -DFUZZ_FOLDER -DFUZZ_TURNS
%C%_fuzz_perf_turns_LDFLAGS = $(fuzz_linking)
%C%_fuzz_perf_turns_LDADD = $(index_libs)
%C%_fuzz_ftrace_SOURCES = %D%/fuzz_reader.c
%C%_fuzz_ftrace_CPPFLAGS = $(AM_CPPFLAGS) -DFUZZ_FORMAT='"ftrace"'
%C%_fuzz_ftrace_LDFLAGS = $(fuzz_linking)
%C%_fuzz_ftrace_LDADD = $(index_libs)
%C%_fuzz_ovni_SOURCES = %D%/fuzz_reader.c
%C%_fuzz_ovni_CPPFLAGS = $(AM_CPPFLAGS) -DFUZZ_FORMAT='"ovni"' -DFUZZ_FOLDER
%C%_fuzz_ovni_LDFLAGS = $(fuzz_linking)
%C%_fuzz_ovni_LDADD = $(index_libs)
%C%_replay_ovni_SOURCES = %D%/fuzz_reader.c %D%/replay.c
%C%_replay_ovni_CPPFLAGS = $(AM_CPPFLAGS) -DFUZZ_FORMAT='"ovni"' -DFUZZ_FOLDER
%C%_replay_ovni_LDADD = $(index_libs)
%C%_fuzz_rfc_SOURCES = %D%/fuzz_reader.c
%C%_fuzz_rfc_CPPFLAGS = $(AM_CPPFLAGS) -DFUZZ_FORMAT='"ctf"' -DFUZZ_FOLDER -DFUZZ_RFC
%C%_fuzz_rfc_LDFLAGS = $(fuzz_linking)
%C%_fuzz_rfc_LDADD = $(index_libs)
%C%_replay_rfc_SOURCES = %D%/fuzz_reader.c %D%/replay.c
%C%_replay_rfc_CPPFLAGS = $(AM_CPPFLAGS) -DFUZZ_FORMAT='"ctf"' -DFUZZ_FOLDER -DFUZZ_RFC
%C%_replay_rfc_LDADD = $(index_libs)
%C%_fuzz_gather_SOURCES = %D%/fuzz_reader.c
%C%_fuzz_gather_CPPFLAGS = $(AM_CPPFLAGS) -DFUZZ_FORMAT='"ctf"' -DFUZZ_FOLDER -DFUZZ_GATHER
%C%_fuzz_gather_LDFLAGS = $(fuzz_linking)
%C%_fuzz_gather_LDADD = $(index_libs)
%C%_fuzz_gdb_SOURCES = %D%/fuzz_reader.c
%C%_fuzz_gdb_CPPFLAGS = $(AM_CPPFLAGS) -DFUZZ_FORMAT='"gdb"'
%C%_fuzz_gdb_LDFLAGS = $(fuzz_linking)
%C%_fuzz_gdb_LDADD = $(index_libs)
%C%_replay_gdb_SOURCES = %D%/fuzz_reader.c %D%/replay.c
%C%_replay_gdb_CPPFLAGS = $(AM_CPPFLAGS) -DFUZZ_FORMAT='"gdb"'
%C%_replay_gdb_LDADD = $(index_libs)
%C%_fuzz_gdb_ctf_SOURCES = %D%/fuzz_reader.c
%C%_fuzz_gdb_ctf_CPPFLAGS = $(AM_CPPFLAGS) -DFUZZ_FORMAT='"gdb"' -DFUZZ_FOLDER -DFUZZ_GDB
%C%_fuzz_gdb_ctf_LDFLAGS = $(fuzz_linking)
%C%_fuzz_gdb_ctf_LDADD = $(index_libs)
%C%_replay_gdb_ctf_SOURCES = %D%/fuzz_reader.c %D%/replay.c
%C%_replay_gdb_ctf_CPPFLAGS = $(AM_CPPFLAGS) -DFUZZ_FORMAT='"gdb"' -DFUZZ_FOLDER -DFUZZ_GDB
%C%_replay_gdb_ctf_LDADD = $(index_libs)
%C%_fuzz_sel4_SOURCES = %D%/fuzz_reader.c
%C%_fuzz_sel4_CPPFLAGS = $(AM_CPPFLAGS) -DFUZZ_FORMAT='"sel4"'
%C%_fuzz_sel4_LDFLAGS = $(fuzz_linking)
%C%_fuzz_sel4_LDADD = $(index_libs)
%C%_replay_sel4_SOURCES = %D%/fuzz_reader.c %D%/replay.c
%C%_replay_sel4_CPPFLAGS = $(AM_CPPFLAGS) -DFUZZ_FORMAT='"sel4"'
%C%_replay_sel4_LDADD = $(index_libs)
%C%_replay_perf_SOURCES = %D%/fuzz_reader.c %D%/replay.c
%C%_replay_perf_CPPFLAGS = $(AM_CPPFLAGS) -DFUZZ_FORMAT='"perf"'
%C%_replay_perf_LDADD = $(index_libs)
%C%_replay_ftrace_SOURCES = %D%/fuzz_reader.c %D%/replay.c
%C%_replay_ftrace_CPPFLAGS = $(AM_CPPFLAGS) -DFUZZ_FORMAT='"ftrace"'
%C%_replay_ftrace_LDADD = $(index_libs)
%C%_fuzz_formats_SOURCES = %D%/fuzz_formats.c
%C%_fuzz_formats_LDFLAGS = $(fuzz_linking)
%C%_fuzz_formats_LDADD = $(engine_libs)

%C%_fuzz_slices_SOURCES = %D%/fuzz_slices.c
%C%_fuzz_slices_LDFLAGS = $(fuzz_linking)
%C%_fuzz_slices_LDADD = $(state_libs)
%C%_fuzz_store_SOURCES = %D%/fuzz_store.c
%C%_fuzz_store_CPPFLAGS = $(AM_CPPFLAGS) -DFUZZ_TRACE='"$(abs_srcdir)/fixtures/golden/sched-demo"'
%C%_fuzz_store_LDFLAGS = $(fuzz_linking)
%C%_fuzz_store_LDADD = $(state_libs)
%C%_replay_store_SOURCES = %D%/fuzz_store.c %D%/replay.c
%C%_replay_store_CPPFLAGS = $(AM_CPPFLAGS) -DFUZZ_TRACE='"$(abs_srcdir)/fixtures/golden/sched-demo"'
%C%_replay_store_LDADD = $(state_libs)
%C%_fuzz_variables_SOURCES = %D%/fuzz_variables.c
%C%_fuzz_variables_LDFLAGS = $(fuzz_linking)
%C%_fuzz_variables_LDADD = $(engine_libs)
%C%_replay_variables_SOURCES = %D%/fuzz_variables.c %D%/replay.c
%C%_replay_variables_LDADD = $(engine_libs)
# time passes where the mirror waits
live_wraps = -Wl,--wrap=clock_gettime,--wrap=connection_idle
%C%_fuzz_live_SOURCES = %D%/fuzz_live.c
%C%_fuzz_live_LDFLAGS = $(fuzz_linking) $(live_wraps)
%C%_fuzz_live_LDADD = $(live_libs)
%C%_replay_live_SOURCES = %D%/fuzz_live.c %D%/replay.c
%C%_replay_live_LDFLAGS = $(AM_LDFLAGS) $(live_wraps)
%C%_replay_live_LDADD = $(live_libs)

.PHONY: fuzzers
if FUZZERS
CLEANFILES += $(fuzz_all)
fuzzers: $(fuzz_all) fixtures/yore-gen$(EXEEXT)
else
fuzzers:
	@echo 'fuzzers need: configure --enable-fuzzers CC=clang'; false
endif
serve_fuzz_flags = $(AM_CPPFLAGS) $(JSON_CFLAGS) -DFUZZ_TRACE='"$(abs_srcdir)/fixtures/golden/sched-demo"' -DFUZZ_LUA='"$(abs_srcdir)/lua-lib"'
%C%_fuzz_serve_SOURCES = %D%/fuzz_serve.c
%C%_fuzz_serve_CPPFLAGS = $(serve_fuzz_flags)
%C%_fuzz_serve_LDFLAGS = $(fuzz_linking)
%C%_fuzz_serve_LDADD = $(repl_libs)
%C%_replay_serve_SOURCES = %D%/fuzz_serve.c %D%/replay.c
%C%_replay_serve_CPPFLAGS = $(serve_fuzz_flags)
%C%_replay_serve_LDADD = $(repl_libs)
