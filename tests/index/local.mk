INDEX_TEST_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS) -pthread
INDEX_TEST_LDADD = $(index_libs) $(CMOCKA_LIBS)
INDEX_FAKE = %D%/fake_format.h %D%/fake_reader.c %D%/fake_reader.h %D%/fake_write.c

STORE_PLACE = %D%/store_place.c %D%/store_place.h $(INDEX_FAKE)
test_programs += %D%/test_store
%C%_test_store_SOURCES = %D%/test_store.c $(STORE_PLACE)
%C%_test_store_CFLAGS = $(INDEX_TEST_CFLAGS)
%C%_test_store_LDADD = $(INDEX_TEST_LDADD)

test_programs += %D%/test_store_damage
%C%_test_store_damage_SOURCES = %D%/test_store_damage.c $(STORE_PLACE)
%C%_test_store_damage_CFLAGS = $(INDEX_TEST_CFLAGS)
%C%_test_store_damage_LDADD = $(INDEX_TEST_LDADD)

test_programs += %D%/test_catalog
%C%_test_catalog_SOURCES = %D%/test_catalog.c $(STORE_PLACE)
%C%_test_catalog_CFLAGS = $(INDEX_TEST_CFLAGS)
%C%_test_catalog_LDADD = $(INDEX_TEST_LDADD)

test_programs += %D%/test_table
%C%_test_table_SOURCES = %D%/test_table.c $(INDEX_FAKE)
%C%_test_table_CFLAGS = $(INDEX_TEST_CFLAGS)
%C%_test_table_LDADD = $(INDEX_TEST_LDADD)

test_programs += %D%/test_identity
%C%_test_identity_SOURCES = %D%/test_identity.c $(INDEX_FAKE)
%C%_test_identity_CFLAGS = $(INDEX_TEST_CFLAGS)
%C%_test_identity_LDADD = $(INDEX_TEST_LDADD)

test_programs += %D%/test_build
%C%_test_build_SOURCES = %D%/test_build.c %D%/world.c %D%/world.h $(INDEX_FAKE)
%C%_test_build_CFLAGS = $(INDEX_TEST_CFLAGS)
%C%_test_build_LDADD = $(INDEX_TEST_LDADD)

test_programs += %D%/test_growth
%C%_test_growth_SOURCES = %D%/test_growth.c
%C%_test_growth_CFLAGS = $(INDEX_TEST_CFLAGS)
%C%_test_growth_LDADD = $(INDEX_TEST_LDADD)

INDEX_SCENE = $(INDEX_FAKE) %D%/scene.c %D%/scene.h
test_programs += %D%/test_loser
%C%_test_loser_SOURCES = %D%/test_loser.c
%C%_test_loser_CFLAGS = $(INDEX_TEST_CFLAGS)
%C%_test_loser_LDADD = $(INDEX_TEST_LDADD)

test_programs += %D%/test_merge
%C%_test_merge_SOURCES = %D%/test_merge.c
%C%_test_merge_CFLAGS = $(INDEX_TEST_CFLAGS)
%C%_test_merge_LDADD = $(INDEX_TEST_LDADD)

test_programs += %D%/test_events
%C%_test_events_SOURCES = %D%/test_events.c $(INDEX_SCENE)
%C%_test_events_CFLAGS = $(INDEX_TEST_CFLAGS)
%C%_test_events_LDADD = $(INDEX_TEST_LDADD)

test_programs += %D%/test_read_ahead
%C%_test_read_ahead_SOURCES = %D%/test_read_ahead.c $(INDEX_SCENE)
%C%_test_read_ahead_CFLAGS = $(INDEX_TEST_CFLAGS)
%C%_test_read_ahead_LDADD = $(INDEX_TEST_LDADD)

test_programs += %D%/test_head_cache
%C%_test_head_cache_SOURCES = %D%/test_head_cache.c $(INDEX_SCENE)
%C%_test_head_cache_CFLAGS = $(INDEX_TEST_CFLAGS)
%C%_test_head_cache_LDADD = $(INDEX_TEST_LDADD)

test_programs += %D%/test_packet_filters
%C%_test_packet_filters_SOURCES = %D%/test_packet_filters.c $(INDEX_SCENE)
%C%_test_packet_filters_CFLAGS = $(INDEX_TEST_CFLAGS)
%C%_test_packet_filters_LDADD = $(INDEX_TEST_LDADD)

test_programs += %D%/test_losses
%C%_test_losses_SOURCES = %D%/test_losses.c $(INDEX_SCENE)
%C%_test_losses_CFLAGS = $(INDEX_TEST_CFLAGS)
%C%_test_losses_LDADD = $(INDEX_TEST_LDADD)

test_programs += %D%/test_alone
%C%_test_alone_SOURCES = %D%/test_alone.c
%C%_test_alone_CFLAGS = $(INDEX_TEST_CFLAGS)
%C%_test_alone_LDADD = $(INDEX_TEST_LDADD)

test_programs += %D%/test_packet_cache
%C%_test_packet_cache_SOURCES = %D%/test_packet_cache.c $(INDEX_SCENE)
%C%_test_packet_cache_CFLAGS = $(INDEX_TEST_CFLAGS)
%C%_test_packet_cache_LDADD = $(INDEX_TEST_LDADD)

test_programs += %D%/test_sweep
%C%_test_sweep_SOURCES = %D%/test_sweep.c $(INDEX_SCENE)
%C%_test_sweep_CFLAGS = $(INDEX_TEST_CFLAGS)
%C%_test_sweep_LDADD = $(INDEX_TEST_LDADD)
