test_programs += %D%/test_parquet %D%/test_sheet
%C%_test_parquet_SOURCES = %D%/test_parquet.c
%C%_test_parquet_LDADD = $(convert_libs) $(CMOCKA_LIBS)
%C%_test_sheet_SOURCES = %D%/test_sheet.c
%C%_test_sheet_LDADD = $(convert_libs) $(CMOCKA_LIBS)
dist_check_SCRIPTS += %D%/convert.sh %D%/partition.py %D%/own_input.sh %D%/perfetto.sh %D%/pprof.sh
EXTRA_DIST += %D%/with_state.py %D%/perfetto.py %D%/perfetto.proto %D%/perfetto_read.py %D%/perfetto_read.mjs %D%/perfetto_scene.py %D%/pprof.py %D%/pprof.proto
