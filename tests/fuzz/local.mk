# One fuzzer per parser of what others wrote. libFuzzer is clang's:
#     configure --enable-fuzzers CC=clang && make fuzzers && tests/fuzz/run.sh . 60
# fuzz_packet is a plain program too, which runs the files that it is given:
#     make tests/fuzz/replay_packet
EXTRA_DIST += %D%/run.sh
fuzz_all = %D%/fuzz_packet %D%/fuzz_rules %D%/fuzz_tsdl
EXTRA_PROGRAMS += $(fuzz_all) %D%/replay_packet
CLEANFILES += %D%/replay_packet$(EXEEXT)
fuzz_linking = $(AM_LDFLAGS) -fsanitize=fuzzer

%C%_fuzz_packet_SOURCES = %D%/fuzz_packet.c
%C%_fuzz_packet_LDFLAGS = $(fuzz_linking)
%C%_fuzz_packet_LDADD = libengine.la
%C%_fuzz_rules_SOURCES = %D%/fuzz_rules.c
%C%_fuzz_rules_LDFLAGS = $(fuzz_linking)
%C%_fuzz_rules_LDADD = libstate.la libindex.la libengine.la
%C%_fuzz_tsdl_SOURCES = %D%/fuzz_tsdl.c
%C%_fuzz_tsdl_LDFLAGS = $(fuzz_linking)
%C%_fuzz_tsdl_LDADD = libengine.la
%C%_replay_packet_SOURCES = %D%/fuzz_packet.c
%C%_replay_packet_CPPFLAGS = $(AM_CPPFLAGS) -DFUZZ_MAIN
%C%_replay_packet_LDADD = libengine.la

.PHONY: fuzzers
if FUZZERS
CLEANFILES += $(fuzz_all)
fuzzers: $(fuzz_all) fixtures/yore-gen$(EXEEXT)
else
fuzzers:
	@echo 'fuzzers need: configure --enable-fuzzers CC=clang'; false
endif
