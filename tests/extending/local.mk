# A format that is no part of the program, written by docs/extending.md.
test_programs += %D%/test_toy
%C%_test_toy_SOURCES = %D%/test_toy.c %D%/toy.c %D%/toy.h \
	tests/engine/decoded.c tests/engine/decoded.h
%C%_test_toy_LDADD = $(index_libs) $(CMOCKA_LIBS)
