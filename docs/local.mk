EXTRA_DIST += docs/architecture.md docs/recording.md docs/time.md
EXTRA_DIST += docs/index-format.md
EXTRA_DIST += docs/lua.md
