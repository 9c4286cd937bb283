test_programs += %D%/test_parquet %D%/test_sheet
%C%_test_parquet_SOURCES = %D%/test_parquet.c
%C%_test_parquet_LDADD = $(convert_libs) $(CMOCKA_LIBS)
%C%_test_sheet_SOURCES = %D%/test_sheet.c
%C%_test_sheet_LDADD = $(convert_libs) $(CMOCKA_LIBS)
dist_check_SCRIPTS += %D%/convert.sh %D%/own_input.sh
EXTRA_DIST += %D%/with_state.py
