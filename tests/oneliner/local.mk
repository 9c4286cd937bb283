check_PROGRAMS += %D%/test_oneliner
%C%_test_oneliner_SOURCES = %D%/test_oneliner.c
%C%_test_oneliner_LDADD = liboneliner.la libstate.la libindex.la $(TEST_LDADD)
