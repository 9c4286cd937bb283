# One fuzzer per parser of what others wrote. libFuzzer is clang's:
#     configure --enable-fuzzers CC=clang && make fuzzers && tests/fuzz/run.sh . 60
# fuzz_packet is a plain program too, which runs the files that it is given:
#     make tests/fuzz/replay_packet
EXTRA_DIST += %D%/run.sh
FUZZER_PROGRAMS = %D%/fuzz_packet %D%/fuzz_rules %D%/fuzz_tsdl
EXTRA_PROGRAMS += $(FUZZER_PROGRAMS) %D%/replay_packet
CLEANFILES += %D%/replay_packet$(EXEEXT)
FUZZER_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer

%C%_fuzz_packet_SOURCES = %D%/fuzz_packet.c
%C%_fuzz_packet_LDFLAGS = $(FUZZER_LDFLAGS)
%C%_fuzz_packet_LDADD = libengine.la
%C%_fuzz_rules_SOURCES = %D%/fuzz_rules.c
%C%_fuzz_rules_LDFLAGS = $(FUZZER_LDFLAGS)
%C%_fuzz_rules_LDADD = libstate.la libindex.la libengine.la
%C%_fuzz_tsdl_SOURCES = %D%/fuzz_tsdl.c
%C%_fuzz_tsdl_LDFLAGS = $(FUZZER_LDFLAGS)
%C%_fuzz_tsdl_LDADD = libengine.la
%C%_replay_packet_SOURCES = %D%/fuzz_packet.c
%C%_replay_packet_CPPFLAGS = $(AM_CPPFLAGS) -DFUZZ_MAIN
%C%_replay_packet_LDADD = libengine.la

.PHONY: fuzzers
if FUZZERS
CLEANFILES += $(FUZZER_PROGRAMS)
fuzzers: $(FUZZER_PROGRAMS) fixtures/yore-gen$(EXEEXT)
else
fuzzers:
	@echo 'fuzzers need: configure --enable-fuzzers CC=clang'; false
endif
