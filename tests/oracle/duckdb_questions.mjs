// duckdb_questions.mjs - questions of docs/cookbook.md, in yore's SQL and in that of DuckDB
//
// $T is the trace. Over the Parquet files of the trace DuckDB is asked the same, with tables that are made of the files, or what stands
// behind it. What yore's SQL cannot be asked, and what the files do not have, stands below with the reason.
const pids = 'prev_state IN (0, 256) AND prev_pid != 0';
const unknown = (from, until, end) => `SELECT path, ${until} AS since, next FROM
	(SELECT path, ts, until, lead(ts) OVER (PARTITION BY path ORDER BY ts) AS next FROM ${from}) AS runs
	WHERE next > until OR (next IS NULL AND until < ${end}) ORDER BY 1, 2`;
const diff = (at, value) => `SELECT a.path, a.${value}, b.${value} AS other FROM ${at('+4ms')} a JOIN ${at('+6ms')} b ON a.path = b.path
	WHERE a.${value} IS NOT b.${value} ORDER BY 1`;

export const questions = [ // number, yore's SQL, DuckDB's, and of the Parquet files if that is another
	[1, `SELECT CAST(value AS TEXT) AS value FROM info WHERE key IN ('format', 'begin', 'end') ORDER BY key`,
		`SELECT value FROM yore_info($T) WHERE key IN ('format', 'begin', 'end') ORDER BY key`],
	[2, 'SELECT what, severity, ts, until, stream, cpu, events, packets FROM losses ORDER BY ts, stream',
		'SELECT what, severity, ts, until, stream, cpu, events, packets FROM yore_losses($T) ORDER BY ts, stream'],
	[4, 'SELECT name, count(*) AS n FROM events GROUP BY name ORDER BY name',
		`SELECT name, count(*) AS n FROM yore_events($T, '*') GROUP BY name ORDER BY name`],
	[6, `SELECT * FROM (SELECT ts, cpu, name FROM events WHERE ts < ts('+5ms') ORDER BY ts DESC LIMIT 3) UNION ALL
			SELECT * FROM (SELECT ts, cpu, name FROM events WHERE ts >= ts('+5ms') ORDER BY ts LIMIT 3) ORDER BY ts`,
		`(SELECT ts, cpu, name FROM yore_events($T, '*', until := '+5ms') ORDER BY ts DESC LIMIT 3) UNION ALL
			(SELECT ts, cpu, name FROM yore_events($T, '*', begin := '+5ms') ORDER BY ts LIMIT 3) ORDER BY ts`],
	[7, 'SELECT ts, name FROM events ORDER BY ts DESC LIMIT 1', `SELECT ts, name FROM yore_events($T, '*') ORDER BY ts DESC LIMIT 1`],
	[8, `SELECT ts, name FROM events WHERE cpu = 0 AND ts >= ts('+1ms') ORDER BY ts LIMIT 5`,
		`SELECT ts, name FROM yore_events($T, '*', begin := '+1ms') WHERE cpu = 0 ORDER BY ts LIMIT 5`],
	[9, 'SELECT ts, cpu FROM sched_switch WHERE next_pid = 31520 ORDER BY ts',
		`SELECT ts, cpu FROM yore_events($T, 'sched_switch') WHERE next_pid = 31520 ORDER BY ts`],
	[10, 'SELECT count(*) FROM sched_switch WHERE next_pid = 31520',
		`SELECT count(*) FROM yore_events($T, 'sched_switch') WHERE next_pid = 31520`],
	[11, 'SELECT ts, child_pid, child_comm FROM sched_process_fork ORDER BY ts',
		`SELECT ts, child_pid, child_comm FROM yore_events($T, 'sched_process_fork') ORDER BY ts`],
	[12, `SELECT ts, prev_comm, next_comm FROM sched_switch WHERE prev_comm GLOB 'demo-lock-*' ORDER BY ts`,
		`SELECT ts, prev_comm, next_comm FROM yore_events($T, 'sched_switch') WHERE prev_comm GLOB 'demo-lock-*' ORDER BY ts`],
	[13, 'SELECT * FROM sched_switch ORDER BY ts', `SELECT * FROM yore_events($T, 'sched_switch') ORDER BY ts`],
	[14, `SELECT ts, json_extract(fields, '$.next_pid') AS pid FROM events WHERE name = 'sched:sched_switch' ORDER BY ts`,
		`SELECT ts, CAST(fields::JSON->>'$.next_pid' AS BIGINT) AS pid FROM yore_events($T, '*') WHERE name = 'sched:sched_switch' ORDER BY ts`,
		`SELECT ts, next_pid AS pid FROM yore_events($T, 'sched_switch') ORDER BY ts`],
	[15, `SELECT path, value FROM state_at('cpu[*]/thread', ts('+5ms'))`,
		`SELECT path, value_int FROM yore_at($T, '+5ms', 'cpu[*]/thread')`],
	[16, `SELECT path, value, since FROM state_at('thread[*]/state', ts('+5ms')) ORDER BY path`,
		`SELECT path, value, since FROM yore_at($T, '+5ms', 'thread[*]/state') ORDER BY path`],
	[17, `SELECT path, CAST(value AS TEXT) AS value, since FROM state_at('thread["demo-sleep"]/**', ts('+5ms')) ORDER BY path`,
		`SELECT path, value, since FROM yore_at($T, '+5ms', 'thread["demo-sleep"]/**') ORDER BY path`],
	[19, diff((t) => `state_at('thread[*]/state', ts('${t}'))`, 'value'),
		diff((t) => `yore_at($T, '${t}', 'thread[*]/state')`, 'value').replace('IS NOT b', 'IS DISTINCT FROM b')],
	[20, `SELECT path, value, since FROM state_at('thread[*]/prio', ts('-0ms')) ORDER BY path`,
		`SELECT path, value_int, since FROM yore_at($T, '-0ms', 'thread[*]/prio') ORDER BY path`],
	[21, `SELECT value, since FROM state_at('thread["demo-sleep"]/parent', ts('-0ms'))`,
		`SELECT value_int, since FROM yore_at($T, '-0ms', 'thread["demo-sleep"]/parent')`],
	[22, `SELECT ts, until, dur FROM state('thread["demo-sleep"]/state') WHERE value = 'running' ORDER BY ts`,
		`SELECT ts, until, dur FROM yore_state($T, 'thread["demo-sleep"]/state') WHERE value = 'running' ORDER BY ts`],
	[23, `SELECT ts, until, dur, value FROM state('thread["demo-sleep"]/state') WHERE ts < ts('+6ms') AND until > ts('+4ms') ORDER BY ts`,
		`SELECT ts, until, dur, value FROM yore_state($T, 'thread["demo-sleep"]/state', begin := '+4ms', until := '+6ms') ORDER BY ts`],
	[24, `SELECT ts, dur FROM state('thread["demo-sleep"]/state') WHERE value = 'ready' ORDER BY dur DESC LIMIT 1`,
		`SELECT ts, dur FROM yore_state($T, 'thread["demo-sleep"]/state') WHERE value = 'ready' ORDER BY dur DESC LIMIT 1`],
	[25, `SELECT t.begin, t.tid, t.comm, t.dur, r.value AS ran, min(t.end, r.until) - max(t.begin, r.ts) AS ns
			FROM (SELECT * FROM thread_state WHERE state = 'ready' ORDER BY dur DESC LIMIT 1) t
			JOIN state('cpu[*]/thread') r ON r.ts < t.end AND r.until > t.begin AND r.path = 'cpu[' || t.cpu || ']/thread' ORDER BY r.ts`,
		`SELECT t.begin, t.tid, t.comm, t.dur, r.value_int AS ran, epoch_ns(least(t."end", r.until)) - epoch_ns(greatest(t.begin, r.ts)) AS ns
			FROM (SELECT * FROM yore_thread_state($T) WHERE state = 'ready' ORDER BY dur DESC LIMIT 1) t
			JOIN yore_state($T, 'cpu[*]/thread') r ON r.ts < t."end" AND r.until > t.begin AND r.path = 'cpu[' || t.cpu || ']/thread' ORDER BY r.ts`],
	[26, `SELECT tid, begin, dur FROM thread_state WHERE state = 'sleeping' ORDER BY dur DESC, tid LIMIT 5`,
		`SELECT tid, begin, dur FROM yore_thread_state($T) WHERE state = 'sleeping' ORDER BY dur DESC, tid LIMIT 5`],
	[27, `SELECT path, ts, dur, value FROM state('cpu[*]/thread') WHERE value != 0 AND dur IS NOT NULL ORDER BY dur DESC LIMIT 5`,
		`SELECT path, ts, dur, value_int FROM yore_state($T, 'cpu[*]/thread') WHERE value_int != 0 AND dur IS NOT NULL ORDER BY dur DESC LIMIT 5`],
	[28, `SELECT path, ts, until, value FROM state('cpu[*]/thread') WHERE ts < ts('+5100us') AND until > ts('+4900us') ORDER BY path, ts`,
		`SELECT path, ts, until, value_int FROM yore_state($T, 'cpu[*]/thread', begin := '+4900us', until := '+5100us') ORDER BY path, ts`],
	[29, `SELECT path, value, count(*) AS runs, sum(dur) AS ns FROM state('cpu[*]/thread') GROUP BY 1, 2 ORDER BY 1, 2`,
		`SELECT path, value_int, count(*) AS runs, sum(dur) AS ns FROM yore_state($T, 'cpu[*]/thread') GROUP BY 1, 2 ORDER BY 1, 2`],
	[30, `SELECT DISTINCT next_pid FROM sched_switch WHERE next_comm = 'demo-sleep'`,
		`SELECT DISTINCT next_pid FROM yore_events($T, 'sched_switch') WHERE next_comm = 'demo-sleep'`],
	[31, 'SELECT next_pid, count(*) AS n FROM sched_switch GROUP BY 1 ORDER BY n DESC, 1',
		`SELECT next_pid, count(*) AS n FROM yore_events($T, 'sched_switch') GROUP BY 1 ORDER BY n DESC, 1`],
	[32, `SELECT prev_pid, count(*) AS n FROM sched_switch WHERE ${pids} GROUP BY prev_pid ORDER BY n DESC, prev_pid`,
		`SELECT prev_pid, count(*) AS n FROM yore_events($T, 'sched_switch') WHERE ${pids} GROUP BY prev_pid ORDER BY n DESC, prev_pid`],
	[33, 'SELECT ts / 1000000 AS ms, count(*) AS n FROM sched_switch GROUP BY ms ORDER BY ms',
		`SELECT epoch_ns(ts) // 1000000 AS ms, count(*) AS n FROM yore_events($T, 'sched_switch') GROUP BY ms ORDER BY ms`],
	[34, 'SELECT cpu, count(*) AS n FROM sched_switch GROUP BY cpu ORDER BY cpu',
		`SELECT cpu, count(*) AS n FROM yore_events($T, 'sched_switch') GROUP BY cpu ORDER BY cpu`],
	[39, 'SELECT next_comm, count(*) AS n FROM sched_switch WHERE prev_pid = 0 GROUP BY 1 ORDER BY 1',
		`SELECT next_comm, count(*) AS n FROM yore_events($T, 'sched_switch') WHERE prev_pid = 0 GROUP BY 1 ORDER BY 1`],
	[41, `SELECT state, count(*) AS times, sum(dur) AS ns FROM thread_state WHERE state != 'running' GROUP BY 1 ORDER BY 1`,
		`SELECT state, count(*) AS times, sum(dur) AS ns FROM yore_thread_state($T) WHERE state != 'running' GROUP BY 1 ORDER BY 1`],
	[43, unknown(`state('cpu[*]/thread')`, 'until', `ts('-0ms')`),
		unknown(`yore_state($T, 'cpu[*]/thread')`, 'until', `(SELECT make_timestamp_ns(value::BIGINT) FROM yore_info($T) WHERE key = 'end')`),
		unknown(`yore_state($T, 'cpu[*]/thread')`, 'until', `(SELECT max(ts) FROM yore_events($T, '*'))`)],
	[44, `SELECT CAST(log2(dur) AS INTEGER) AS power, count(*) AS n FROM thread_state WHERE state = 'running' GROUP BY 1 ORDER BY 1`,
		`SELECT CAST(floor(log2(dur)) AS BIGINT) AS power, count(*) AS n FROM yore_thread_state($T) WHERE state = 'running' GROUP BY 1 ORDER BY 1`],
	[46, 'SELECT waker_comm, waker_kind, waker, count(*) AS n FROM wakeups WHERE tid = 31520 GROUP BY 1, 2, 3 ORDER BY n DESC, 1, 2, 3',
		`SELECT waker_comm, waker_kind, waker, count(*) AS n FROM yore_wakeups($T) WHERE tid = 31520
			GROUP BY 1, 2, 3 ORDER BY n DESC, 1 NULLS FIRST, 2, 3 NULLS FIRST`],
	[47, `SELECT cpu, count(*) AS runs, sum(dur) AS ns FROM thread_state WHERE tid = 31520 AND state = 'running' GROUP BY cpu ORDER BY cpu`,
		`SELECT cpu, count(*) AS runs, sum(dur) AS ns FROM yore_thread_state($T) WHERE tid = 31520 AND state = 'running' GROUP BY cpu ORDER BY cpu`],
	[48, 'SELECT state, count(*) AS times, sum(dur) AS ns FROM thread_state WHERE tid = 31520 GROUP BY state ORDER BY sum(dur) DESC',
		'SELECT state, count(*) AS times, sum(dur) AS ns FROM yore_thread_state($T) WHERE tid = 31520 GROUP BY state ORDER BY sum(dur) DESC'],
	[49, `SELECT dur / 100000 AS bucket, count(*) AS n FROM thread_state WHERE tid = 31520 AND state = 'sleeping' GROUP BY 1 ORDER BY 1`,
		`SELECT dur // 100000 AS bucket, count(*) AS n FROM yore_thread_state($T) WHERE tid = 31520 AND state = 'sleeping' GROUP BY 1 ORDER BY 1`],
	[50, `SELECT value AS state, count(*) AS n FROM state_at('thread[*]/state', ts('+5ms')) GROUP BY value ORDER BY value`,
		`SELECT value AS state, count(*) AS n FROM yore_at($T, '+5ms', 'thread[*]/state') GROUP BY value ORDER BY value NULLS FIRST`],
	[51, `SELECT prev_comm, next_comm, count(*) AS n FROM sched_switch WHERE ${pids} GROUP BY 1, 2 ORDER BY n DESC, 1, 2`,
		`SELECT prev_comm, next_comm, count(*) AS n FROM yore_events($T, 'sched_switch') WHERE ${pids} GROUP BY 1, 2 ORDER BY n DESC, 1, 2`],
	[52, `SELECT cpu, (ts - ts('+0ms')) / 2000000 AS at, count(*) AS n FROM sched_switch GROUP BY 1, 2 ORDER BY 2, 1`,
		`SELECT cpu, (epoch_ns(ts) - (SELECT epoch_ns(min(ts)) FROM yore_events($T, '*'))) // 2000000 AS at, count(*) AS n
			FROM yore_events($T, 'sched_switch') GROUP BY 1, 2 ORDER BY 2, 1`],
	[53, `SELECT path, value, since FROM state_at('cpu[*]/thread', ts('-0ms')) ORDER BY path`,
		`SELECT path, value_int, since FROM yore_at($T, '-0ms', 'cpu[*]/thread') ORDER BY path`],
	[55, `SELECT ts - (SELECT min(ts) FROM events) AS t, prev_pid FROM sched_switch ORDER BY ts LIMIT 5`,
		`SELECT epoch_ns(ts) - (SELECT epoch_ns(min(ts)) FROM yore_events($T, '*')) AS t, prev_pid FROM yore_events($T, 'sched_switch') ORDER BY ts LIMIT 5`],
	[56, `SELECT tid, sum(dur) AS ns FROM thread_state WHERE state = 'running' GROUP BY tid ORDER BY tid`,
		`SELECT tid, sum(dur) AS ns FROM yore_thread_state($T) WHERE state = 'running' GROUP BY tid ORDER BY tid`],
	['calls, of each thread', 'SELECT tid, name, count(*) AS n, sum(dur) AS ns, min(ret) AS least FROM syscalls GROUP BY 1, 2 ORDER BY 1, 2',
		'SELECT tid, name, count(*) AS n, sum(dur) AS ns, min(ret) AS least FROM yore_syscalls($T) GROUP BY 1, 2 ORDER BY 1, 2'],
	['from a wake-up to the switch, joined',
		`SELECT w.pid, w.ts, min(s.ts) - w.ts AS n FROM sched_wakeup w JOIN sched_switch s ON s.next_pid = w.pid AND s.ts >= w.ts GROUP BY 1, 2 ORDER BY 2, 1`,
		`SELECT w.pid, w.ts, min(epoch_ns(s.ts)) - epoch_ns(w.ts) AS n FROM yore_events($T, 'sched_wakeup') w
			JOIN yore_events($T, 'sched_switch') s ON s.next_pid = w.pid AND s.ts >= w.ts GROUP BY w.pid, w.ts ORDER BY 2, 1`],
];

// What the Parquet files of `yore convert` do not have.
export const notInFiles = {
	1: 'what is said of a trace as a whole',
	2: 'losses',
	16: 'what is unknown', 50: 'what is unknown', 53: 'what is unknown',
	17: 'when a value was said again', 20: 'when a value was said again',
	25: 'the processor of a stretch', 47: 'the processor of a stretch',
	46: 'wake-ups',
	'calls, of each thread': 'pairs of an entry and its exit',
};

export const notAsked = {
	3: 'the rules that a recording can answer are no table',
	5: 'what contradicts itself is found by `yore check`, and is no table',
	18: 'the rule that set a value is no column',
	35: 'a picture', 36: 'a picture', 37: 'files of other tools', 38: 'files of other tools',
	40: 'timelines are stored by a command',
	42: 'a walk from wait to waker is `yore critical-path`',
	45: 'an analysis for another program',
	54: 'a trace is written',
};
