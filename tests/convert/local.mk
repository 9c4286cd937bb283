check_PROGRAMS += %D%/test_parquet %D%/test_sheet
%C%_test_parquet_SOURCES = %D%/test_parquet.c
%C%_test_parquet_LDADD = libconvert.la libengine.la $(CMOCKA_LIBS)
%C%_test_sheet_SOURCES = %D%/test_sheet.c
%C%_test_sheet_LDADD = libconvert.la libstate.la libindex.la libengine.la $(CMOCKA_LIBS)
dist_check_SCRIPTS += %D%/convert.sh
EXTRA_DIST += %D%/with_state.py
