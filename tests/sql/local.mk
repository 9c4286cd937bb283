SQL_TEST_LDADD = libsql.la libstate.la libindex.la libengine.la $(CMOCKA_LIBS)
sql_world = %D%/world.c %D%/world.h
check_PROGRAMS += %D%/test_pushdown
%C%_test_pushdown_SOURCES = %D%/test_pushdown.c $(sql_world)
%C%_test_pushdown_LDADD = $(SQL_TEST_LDADD)
check_PROGRAMS += %D%/test_random
%C%_test_random_SOURCES = %D%/test_random.c $(sql_world)
%C%_test_random_LDADD = $(SQL_TEST_LDADD)
