# libyore as others use it: linked, loaded, installed.
test_programs += %D%/test_library %D%/test_library_columns %D%/test_library_dlopen %D%/test_library_fields \
	%D%/test_library_fields_dlopen %D%/test_library_follow %D%/test_library_state
lib_test = %D%/api.c %D%/api.h %D%/made.c %D%/made.h %D%/opened.c %D%/opened.h
%C%_test_library_SOURCES = %D%/test_library.c $(lib_test)
%C%_test_library_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS) -pthread
%C%_test_library_LDADD = libyore.la $(CMOCKA_LIBS)
%C%_test_library_dlopen_SOURCES = $(%C%_test_library_SOURCES)
%C%_test_library_dlopen_CPPFLAGS = $(AM_CPPFLAGS) -DAPI_DLOPEN
%C%_test_library_dlopen_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS) -pthread
%C%_test_library_dlopen_LDADD = $(CMOCKA_LIBS)
EXTRA_tests_lib_test_library_dlopen_DEPENDENCIES = libyore.la
%C%_test_library_fields_SOURCES = %D%/test_library_fields.c $(lib_test)
%C%_test_library_fields_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS) -pthread
%C%_test_library_fields_LDADD = libyore.la $(CMOCKA_LIBS)
%C%_test_library_fields_dlopen_SOURCES = $(%C%_test_library_fields_SOURCES)
%C%_test_library_fields_dlopen_CPPFLAGS = $(AM_CPPFLAGS) -DAPI_DLOPEN
%C%_test_library_fields_dlopen_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS) -pthread
%C%_test_library_fields_dlopen_LDADD = $(CMOCKA_LIBS)
EXTRA_tests_lib_test_library_fields_dlopen_DEPENDENCIES = libyore.la
%C%_test_library_columns_SOURCES = %D%/test_library_columns.c
%C%_test_library_columns_LDADD = libyore.la $(CMOCKA_LIBS)
%C%_test_library_follow_SOURCES = %D%/test_library_follow.c $(lib_test)
%C%_test_library_follow_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
%C%_test_library_follow_LDADD = libyore.la $(CMOCKA_LIBS)
%C%_test_library_state_SOURCES = %D%/test_library_state.c
%C%_test_library_state_LDADD = libyore-state.la $(CMOCKA_LIBS)
dist_check_SCRIPTS += %D%/library.sh %D%/python.sh
EXTRA_DIST += %D%/describe_agree.py %D%/python_package.py

# The binary interface against the dumps of it.
EXTRA_DIST += %D%/abi.sh %D%/public_abi.py %D%/libyore.abi %D%/libyore-state.abi
.PHONY: abi abi-renew
abi: $(lib_LTLIBRARIES)
	@srcdir=$(srcdir) top_builddir=. $(srcdir)/%D%/abi.sh || [ $$? = 77 ]
abi-renew: $(lib_LTLIBRARIES)
	@srcdir=$(srcdir) top_builddir=. $(srcdir)/%D%/abi.sh --renew
