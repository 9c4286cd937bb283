SQL_TEST_LDADD = $(sql_libs) $(CMOCKA_LIBS)
sql_world = %D%/world.c %D%/world.h
test_programs += %D%/test_pushdown
%C%_test_pushdown_SOURCES = %D%/test_pushdown.c $(sql_world)
%C%_test_pushdown_LDADD = $(SQL_TEST_LDADD)
test_programs += %D%/test_random
%C%_test_random_SOURCES = %D%/test_random.c $(sql_world)
%C%_test_random_LDADD = $(SQL_TEST_LDADD)
dist_check_SCRIPTS += \
	%D%/extension.sh \
	%D%/shell.sh \
	%D%/threads.py \
	%D%/extremes.py
EXTRA_DIST += %D%/extension.py
test_programs += %D%/test_plain
%C%_test_plain_SOURCES = %D%/test_plain.c
%C%_test_plain_LDADD = $(SQL_TEST_LDADD)
test_programs += %D%/test_fold
%C%_test_fold_SOURCES = %D%/test_fold.c $(sql_world)
%C%_test_fold_LDADD = $(SQL_TEST_LDADD)
test_programs += %D%/test_stretches
%C%_test_stretches_SOURCES = %D%/test_stretches.c $(sql_world)
%C%_test_stretches_LDADD = $(SQL_TEST_LDADD)
