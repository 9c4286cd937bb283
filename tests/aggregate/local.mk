test_programs += %D%/test_groups
%C%_test_groups_SOURCES = %D%/test_groups.c
%C%_test_groups_LDADD = libaggregate.a $(state_libs) $(CMOCKA_LIBS)
