test_programs += %D%/test_groups
%C%_test_groups_SOURCES = %D%/test_groups.c
%C%_test_groups_LDADD = libaggregate.a $(state_libs) $(CMOCKA_LIBS)
test_programs += %D%/test_percentile
%C%_test_percentile_SOURCES = %D%/test_percentile.c
%C%_test_percentile_LDADD = libaggregate.a $(TEST_LDADD)
