test_programs += %D%/test_oneliner
%C%_test_oneliner_SOURCES = %D%/test_oneliner.c
%C%_test_oneliner_LDADD = $(oneliner_libs) $(CMOCKA_LIBS)
