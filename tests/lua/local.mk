dist_check_SCRIPTS += \
	%D%/run.sh \
	%D%/analyses.sh \
	%D%/analyses_jobs.py \
	%D%/calls_twice.py \
	%D%/compare.py \
	%D%/critical_paths.py \
	%D%/futexes.py \
	%D%/conditions.py \
	%D%/first.py \
	%D%/lami.py \
	%D%/truth.py \
	%D%/same_condition.py \
	%D%/missing_switches.py \
	%D%/profiles.py \
	%D%/sampled.py
EXTRA_DIST += \
	%D%/lami.schema.json \
	%D%/exit_preempted.py \
	%D%/kernel_ctf.py \
	%D%/made_kernel.py \
	%D%/made_requests.py \
	%D%/module.lua \
	%D%/test_change.lua \
	%D%/test_events.lua \
	%D%/test_oneliner.lua \
	%D%/test_segments.lua \
	%D%/test_script.lua \
	%D%/test_state.lua \
	%D%/test_sums.lua \
	%D%/made_stacks.py \
	%D%/made_maps.py \
	%D%/torn_calls.py \
	%D%/batches_agree.lua \
	%D%/rows_written.lua \
	%D%/rows_written.out \
	%D%/stacks_agree.lua \
	%D%/counts_agree.lua \
	%D%/no_tracebacks.py
test_programs += %D%/test_script_memory
%C%_test_script_memory_SOURCES = %D%/test_script_memory.c
%C%_test_script_memory_LDADD = $(script_libs) $(CMOCKA_LIBS)
test_programs += %D%/test_stack
%C%_test_stack_SOURCES = %D%/test_stack.c
%C%_test_stack_LDADD = $(script_libs) $(CMOCKA_LIBS)
