# Pages, recordings and the README are installed as they lie here: links between pages and the examples
# on them hold in the folder $(docdir), too.
nobase_dist_doc_DATA += \
	docs/architecture.md \
	docs/ctf.md \
	docs/recording.md \
	docs/performance.md \
	docs/time.md
nobase_dist_doc_DATA += docs/index-format.md
nobase_dist_doc_DATA += \
	docs/analyses.md \
	docs/changes.md \
	docs/compare.md \
	docs/lua.md
dist_man_MANS += docs/yore-rules.5 docs/yore-sql.7
nobase_dist_doc_DATA += docs/sql.md docs/catalog.md docs/duckdb.md
nobase_dist_doc_DATA += docs/rules.md
dist_man_MANS += docs/yore.1 docs/libyore.3 docs/yore-lua.3
nobase_dist_doc_DATA += docs/library.md docs/python.md docs/fuzzing.md
nobase_dist_doc_DATA += docs/aux.md docs/convert.md
nobase_dist_doc_DATA += \
	docs/symbols.md \
	docs/pictures.md \
	docs/tutorial.md \
	docs/cookbook.md
nobase_dist_doc_DATA += docs/trace-dat.md
nobase_dist_doc_DATA += docs/sel4.md docs/gdb.md
nobase_dist_doc_DATA += docs/shards.md
nobase_dist_doc_DATA += docs/attacks.md
nobase_dist_doc_DATA += docs/perf-data.md
nobase_dist_doc_DATA += docs/ovni.md
nobase_dist_doc_DATA += docs/timelines.md docs/do.md
nobase_dist_doc_DATA += docs/live.md docs/design/live.md docs/serve.md docs/remote.md
nobase_dist_doc_DATA += \
	docs/performance/figures.json \
	docs/performance/ratios.svg \
	docs/performance/streams.svg \
	docs/performance/attributes-that-live.svg \
	docs/performance/threads.svg \
	docs/performance/size-of-a-trace.svg
nobase_dist_doc_DATA += \
	docs/glossary.md \
	docs/extending.md \
	docs/design/formats.md \
	docs/design/index.md \
	docs/design/fast-paths.md \
	docs/design/output.md \
	docs/design/state.md
