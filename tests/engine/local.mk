check_PROGRAMS += %D%/test_base %D%/test_timebase %D%/test_layout %D%/test_cuts \
	%D%/test_packets
%C%_test_base_SOURCES = %D%/test_base.c
%C%_test_base_LDADD = $(TEST_LDADD)
%C%_test_timebase_SOURCES = %D%/test_timebase.c
%C%_test_timebase_LDADD = $(TEST_LDADD)
%C%_test_layout_SOURCES = %D%/test_layout.c
%C%_test_layout_LDADD = $(TEST_LDADD)
%C%_test_cuts_SOURCES = %D%/test_cuts.c %D%/decoded.c %D%/decoded.h
%C%_test_cuts_LDADD = libindex.la $(TEST_LDADD)
%C%_test_packets_SOURCES = %D%/test_packets.c %D%/decoded.c %D%/decoded.h
%C%_test_packets_LDADD = $(TEST_LDADD)
check_PROGRAMS += %D%/test_tsdl
%C%_test_tsdl_SOURCES = %D%/test_tsdl.c
%C%_test_tsdl_LDADD = $(TEST_LDADD)
check_PROGRAMS += %D%/test_metadata_suite
%C%_test_metadata_suite_SOURCES = %D%/test_metadata_suite.c
%C%_test_metadata_suite_LDADD = $(TEST_LDADD)
