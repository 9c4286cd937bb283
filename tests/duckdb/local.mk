# The extension for DuckDB, as it was built, in a host of our own.
test_programs += %D%/test_extension
%C%_test_extension_SOURCES = %D%/host.c %D%/host.h %D%/test_extension.c
%C%_test_extension_LDADD = $(CMOCKA_LIBS)
EXTRA_tests_duckdb_test_extension_DEPENDENCIES = yore.duckdb_extension
