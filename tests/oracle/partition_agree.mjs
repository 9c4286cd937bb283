// partition_agree.mjs YORE FOLDER CATALOG - a folder of `yore convert --partition` as DuckDB, Polars and ClickHouse read it
//
//     rows        of each table and trace: how many, and each time to the nanosecond, as `yore sql` has them; trace and host of each
//     manifests   as DuckDB's read_json() and Polars have them, against the files
//     questions   of docs/cookbook.md: the answers of yore's commands, and those of DuckDB and ClickHouse over the files
//     fleet       questions over all traces, against `yore sql --catalog --then`
//
// FOLDER was made of the traces below CATALOG, of which one is fixtures/golden/demo/trace.dat. YORE_NPM names the folder in which npm
// put the engines; one that is missing is said.
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { load, parse } from './event_rows.mjs';

const [yore, folder, catalog] = process.argv.slice(2);
let failed = 0;

const missing = (name, why) => console.log(`oracles: ${name} skipped: ${why.message.split('\n')[0]}`);
async function have(name, open) {
	try {
		return await open();
	} catch (why) {
		missing(name, why);
		return null;
	}
}

// ---- engines: rows as lists of texts ----

const shown = (v) => (v === null || v === undefined ? 'null' : typeof v === 'object' && 'nanos' in v ? String(v.nanos) : String(v));

// A query is written once: {TABLE} is a table of the folder, {{TABLE}} of one trace of it; ns(TIME), div(A, B) and log2(N) are as each has them.
const duckdb = await have('DuckDB', async () => {
	const { DuckDBInstance } = await load('@duckdb/node-api');
	const db = await (await DuckDBInstance.create(':memory:')).connect();
	await db.run('CREATE MACRO ns(t) AS epoch_ns(t); CREATE MACRO div(a, b) AS a // b; CREATE MACRO power2(n) AS CAST(floor(log2(n)) AS BIGINT)');
	const table = (name) => `read_parquet('${folder}/table=${name}/*/*.parquet', hive_partitioning = true, union_by_name = true)`;
	return {
		name: 'DuckDB', table,
		ask: async (query) => (await db.runAndReadAll(query)).getRows().map((row) => row.map(shown)),
	};
});
const clickhouse = await have('ClickHouse', async () => {
	const { Session } = await load('chdb');
	const session = new Session();
	session.query('CREATE FUNCTION ns AS (t) -> toUnixTimestamp64Nano(t)');
	session.query('CREATE FUNCTION div AS (a, b) -> intDiv(a, b)');
	session.query('CREATE FUNCTION power2 AS (n) -> toInt64(floor(log2(n)))');
	// columns of all tables have types that it does not join: those that all have are named
	const columns = `, 'ts Nullable(DateTime64(9, \\'UTC\\')), cpu Nullable(Int32), "table" LowCardinality(String), trace LowCardinality(String)'`;
	const table = (name) => `file('${folder}/table=${name}/trace=*/*.parquet', 'Parquet'${name === '*' ? columns : ''})`;
	// ClickHouse 26.7 loses a column of its own where it moves two conditions on one expression into its reader of Parquet
	const settings = 'SETTINGS output_format_json_quote_64bit_integers = 1, schema_inference_mode = \'union\', optimize_move_to_prewhere = 0';
	return {
		name: 'ClickHouse', table,
		ask: async (query) => session.query(`${query} ${settings}`, 'JSONCompactEachRow').trim().split('\n').filter((l) => l)
			.map((line) => JSON.parse(line).map(shown)),
	};
});
const polars = await have('Polars', async () => {
	const module = await load('nodejs-polars');
	const pl = module.default ?? module;
	const scan = (name) => pl.scanParquet(`${folder}/table=${name}/*/*.parquet`, { hivePartitioning: true });
	return { name: 'Polars', pl, scan };
});
const engines = [duckdb, clickhouse].filter((e) => e);

function tell(what, bad, good) {
	console.log(bad ? `FAIL: ${what}: ${bad}` : `PASS: ${what}: ${good}`);
	failed += bad ? 1 : 0;
}

function command(...words) {
	const run = spawnSync(yore, [...words, '--format', 'json'], { maxBuffer: 2 ** 31 });
	return run.stdout.toString().trim().split('\n').filter((l) => l).map(parse);
}

const values = (row) => (row !== null && typeof row === 'object' ? Object.values(row) : [row]).map(shown);
const differ = (want, got) => {
	for (let i = 0; i < Math.max(want.length, got.length); i++)
		if (String(want[i]) !== String(got[i])) return `row ${i} of ${got.length}: ${got[i]}, yore ${want[i]} of ${want.length}`;
	return null;
};

// ---- manifests ----

const manifests = readdirSync(join(folder, '_manifest')).filter((n) => n.endsWith('.json'))
	.map((n) => parse(readFileSync(join(folder, '_manifest', n), 'utf8').trim()));
const total = manifests.reduce((n, m) => n + m.files.length, 0);
if (duckdb) {
	const got = await duckdb.ask(`SELECT trace, host, "begin", "end", len(files) FROM read_json('${folder}/_manifest/*.json') ORDER BY trace`);
	const want = manifests.map((m) => [m.trace, m.host, m.begin, m.end, m.files.length].map(shown)).sort((a, b) => (a[0] < b[0] ? -1 : 1));
	tell('manifests, DuckDB', differ(want, got), `${want.length} manifests`);
}

// ---- rows ----

const tables = new Map(); // folder → [manifest, exact name, rows]
for (const m of manifests)
	for (const file of m.files) {
		const name = /^table=([^/]*)\//.exec(file.path)[1];
		tables.set(name, [...(tables.get(name) ?? []), [m, file.table, file.rows]]);
	}

// Times of a trace's table, sorted as numbers; those that are NULL are left out.
const truth = (m, table) => command('sql', m.path, `SELECT ts FROM ${table === 'state' ? "state('**')" : `"${table}"`} WHERE ts IS NOT NULL`)
	.map((r) => r.ts).sort((a, b) => (a < b ? -1 : a > b ? 1 : 0)).map(String);

let rowsChecked = 0;
const bad = new Map([duckdb, clickhouse, polars].filter((e) => e).map((e) => [e.name, null]));
for (const [name, parts] of tables) {
	const times = new Map();
	for (const [m, table] of parts) times.set(m.trace, truth(m, table));
	for (const engine of engines) {
		const counts = new Map((await engine.ask(`SELECT trace, count(*), max(host), max("table") FROM ${engine.table(name)} GROUP BY trace`))
			.map((r) => [r[0], r.slice(1)]));
		const rows = await engine.ask(`SELECT trace, ns(ts) AS t FROM ${engine.table(name)} WHERE ts IS NOT NULL ORDER BY trace, t`);
		const got = new Map();
		for (const [trace, t] of rows) got.set(trace, [...(got.get(trace) ?? []), t]);
		for (const [m, , n] of parts) {
			const wrong = String(counts.get(m.trace)) === String([n, m.host, name].map(shown)) ? differ(times.get(m.trace), got.get(m.trace) ?? [])
				: `${counts.get(m.trace)}, the manifest ${n}, ${m.host}`;
			if (wrong && !bad.get(engine.name)) bad.set(engine.name, `${name} of ${m.path}: ${wrong}`);
		}
	}
	if (polars) {
		for (const [m, , n] of parts) {
			const { pl } = polars;
			// one trace after the other: Polars wants one schema, and formats have columns of several widths
			const frame = pl.scanParquet(`${folder}/table=${name}/trace=${m.trace}/*.parquet`, { hivePartitioning: true })
				.select(pl.col('ts').cast(pl.Int64).alias('t'), pl.col('host')).collectSync();
			const got = frame.getColumn('t').cast(pl.Utf8).toArray().filter((t) => t !== null).sort((a, b) => (BigInt(a) < BigInt(b) ? -1 : 1));
			const hosts = [...new Set(frame.getColumn('host').toArray())];
			const wrong = frame.height !== Number(n) ? `${frame.height} rows, the manifest ${n}`
				: String(hosts.map(shown)) !== shown(m.host) ? `host ${hosts}` : differ(times.get(m.trace), got);
			if (wrong && !bad.get('Polars')) bad.set('Polars', `${name} of ${m.path}: ${wrong}`);
		}
	}
	rowsChecked += parts.reduce((n, p) => n + Number(p[2]), 0);
}
for (const [name, wrong] of bad) tell(`rows, ${name}`, wrong, `${rowsChecked} rows in ${total} files, each time exact`);
if (polars) {
	const { pl, scan } = polars;
	const one = manifests.filter((m) => m.files.some((f) => f.path.startsWith('table=state/'))); // its columns are the same in all
	const frame = scan('state').select(pl.col('trace'), pl.col('host')).collectSync();
	const got = new Map();
	for (const trace of frame.getColumn('trace').toArray()) got.set(trace, (got.get(trace) ?? 0) + 1);
	const want = one.map((m) => [m.trace, m.files.find((f) => f.path.startsWith('table=state/')).rows]);
	tell('a table of all traces, Polars', differ(want.map(String).sort(), [...got].map(String).sort()), `${frame.height} rows of ${want.length} traces`);
}

// ---- questions of the cookbook ----

const demo = manifests.find((m) => m.path.endsWith('/demo/trace.dat'));
const at5 = demo.begin + 5000000n, end = demo.end;
// An interval whose begin is not known has no end in the table either: what was so before the recording is left out.
const during = (t) => overlaps(t, t + 1n);
const sleep = `path = 'thread[31520]/state'`;
const overlaps = (from, until) => `coalesce(ns(ts), ${2n ** 62n}) < ${until} AND coalesce(ns(ts) + dur, ${2n ** 62n}) > ${from}`;
const sql = (text) => ['sql', demo.path, text];
const questions = [
	[1, ['catalog', demo.path], (r) => [r.begin, r.end], null, () => [[demo.begin, demo.end]]],
	[2, ['catalog', demo.path], (r) => [r.lost], null, () => [[demo.lost]]],
	[4, sql('SELECT name, count(*) AS n FROM events GROUP BY name ORDER BY name'), null, null,
		() => demo.files.filter((f) => f.table !== 'state').map((f) => [f.table, f.rows]).sort((a, b) => (a[0] < b[0] ? -1 : 1))],
	[7, ['events', demo.path, '--reverse', '--limit', '1'], (r) => [r.ts, r.name.replace(':', '.')],
		`SELECT ns(ts), "table" FROM {{*}} WHERE "table" != 'state' ORDER BY ts DESC LIMIT 1`],
	[8, ['events', demo.path, '--cpu', '0', '--begin', '+1ms', '--limit', '1'], (r) => [r.ts, r.name.replace(':', '.')],
		`SELECT ns(ts), "table" FROM {{*}} WHERE cpu = 0 AND ns(ts) >= ${demo.begin + 1000000n} ORDER BY ts LIMIT 1`],
	[9, ['events', demo.path, '--where', 'next_pid == 31520', '--limit', '1'], (r) => [r.ts, r.fields.prev_comm],
		'SELECT ns(ts), prev_comm FROM {{sched.sched_switch}} WHERE next_pid = 31520 ORDER BY ts LIMIT 1'],
	[10, ['events', demo.path, '--where', 'next_pid == 31520', '--count'], null, 'SELECT count(*) FROM {{sched.sched_switch}} WHERE next_pid = 31520'],
	[11, ['events', demo.path, '--name', 'sched_process_fork'], (r) => [r.ts, r.fields.parent_pid ?? r.fields.pid, r.fields.child_pid],
		'SELECT ns(ts), parent_pid, child_pid FROM {{sched.sched_process_fork}} ORDER BY ts'],
	[12, ['events', demo.path, '--name', 'sched_switch', '--where', 'prev_comm ~ "demo-lock-*"'], (r) => [r.ts, r.fields.next_pid],
		`SELECT ns(ts), next_pid FROM {{sched.sched_switch}} WHERE prev_comm LIKE 'demo-lock-%' ORDER BY ts`],
	[14, ['events', demo.path, '--name', 'sched_switch'],
		(r) => [r.ts, r.stream, r.cpu, r.context.common_pid, r.fields.prev_comm, r.fields.prev_state, r.fields.next_comm, r.fields.next_prio],
		'SELECT ns(ts), stream, cpu, common_pid, prev_comm, prev_state, next_comm, next_prio FROM {{sched.sched_switch}} ORDER BY ts, stream'],
	[15, ['at', demo.path, '+5ms', 'cpu[*]/thread'], (r) => [r.path, r.value], `SELECT path, value_int FROM {{state}}
		WHERE path LIKE 'cpu[%]/thread' AND ${during(at5)} ORDER BY path`],
	[16, ['sql', demo.path, `SELECT path, value FROM state_at('thread[*]/state', ts('+5ms')) WHERE value IS NOT NULL ORDER BY path`], null,
		`SELECT path, value FROM {{state}} WHERE path LIKE 'thread[%]/state' AND ${during(at5)} ORDER BY path`],
	[17, ['sql', demo.path, `SELECT path, CAST(value AS TEXT) FROM state_at('thread[31520]/**', ts('+5ms')) WHERE value IS NOT NULL ORDER BY path`], null,
		`SELECT path, value FROM {{state}} WHERE path LIKE 'thread[31520]/%' AND ${during(at5)} ORDER BY path`],
	[19, ['sql', demo.path, `SELECT a.path, a.value AS a, b.value AS b FROM state_at('thread[*]/state', ts('+4ms')) a JOIN state_at('thread[*]/state', ts('+6ms')) b USING (path)
		WHERE a.value != b.value ORDER BY 1`], null,
		`SELECT a.path AS path, a.value AS a, b.value AS b FROM (SELECT path, value FROM {{state}} WHERE ${during(demo.begin + 4000000n)}) a
		JOIN (SELECT path, value FROM {{state}} WHERE ${during(demo.begin + 6000000n)}) b ON a.path = b.path
		WHERE a.path LIKE 'thread[%]/state' AND a.value != b.value ORDER BY 1`],
	[20, ['sql', demo.path, `SELECT path, value FROM state_at('thread[*]/prio', ts('-0ms')) WHERE value IS NOT NULL ORDER BY path`], null,
		`SELECT path, value_int FROM {{state}} WHERE path LIKE 'thread[%]/prio' AND ${during(end)} ORDER BY path`],
	[21, ['at', demo.path, '-0ms', 'thread[31520]/parent'], (r) => [r.value], `SELECT value_int FROM {{state}} WHERE path = 'thread[31520]/parent' AND ${during(end)}`],
	[22, ['when', demo.path, 'thread[31520]/state="running"'], (r) => [r.begin, r.end - r.begin],
		`SELECT ns(ts), dur FROM {{state}} WHERE ${sleep} AND value = 'running' ORDER BY ts`],
	[23, ['state', demo.path, 'thread[31520]/state', '--begin', '+4ms', '--end', '+6ms'], (r) => [r.begin, r.value],
		`SELECT ns(ts), value FROM {{state}} WHERE ${sleep} AND ${overlaps(demo.begin + 4000000n, demo.begin + 6000000n)} ORDER BY ts`],
	[24, ['longest', demo.path, 'thread[31520]/state="ready"', '--limit', '1'], (r) => [r.begin, r.end - r.begin],
		`SELECT ns(ts), dur FROM {{state}} WHERE ${sleep} AND value = 'ready' ORDER BY dur DESC LIMIT 1`],
	[27, ['longest', demo.path, 'cpu[*]/thread', '--limit', '2'], (r) => [r.begin, r.end - r.begin, r.path, r.value],
		`SELECT ns(ts), dur, path, value_int FROM {{state}} WHERE path LIKE 'cpu[%]/thread' AND dur IS NOT NULL ORDER BY dur DESC LIMIT 2`],
	[28, ['state', demo.path, 'cpu[*]/thread', '--begin', '+4900us', '--end', '+5100us'], (r) => [r.begin, r.path, r.value],
		`SELECT ns(ts), path, value_int FROM {{state}} WHERE path LIKE 'cpu[%]/thread' AND ${overlaps(demo.begin + 4900000n, demo.begin + 5100000n)} ORDER BY path, ts`],
	[30, sql(`SELECT DISTINCT next_pid FROM sched_switch WHERE next_comm = 'demo-sleep'`), null,
		`SELECT DISTINCT next_pid FROM {{sched.sched_switch}} WHERE next_comm = 'demo-sleep'`],
	[31, sql('SELECT next_pid, count(*) AS n FROM sched_switch GROUP BY 1 ORDER BY n DESC, 1 LIMIT 3'), null,
		'SELECT next_pid, count(*) AS n FROM {{sched.sched_switch}} GROUP BY next_pid ORDER BY n DESC, next_pid LIMIT 3'],
	[32, sql('SELECT prev_pid, count(*) AS n FROM sched_switch WHERE prev_state IN (0, 256) AND prev_pid != 0 GROUP BY prev_pid ORDER BY n DESC, prev_pid LIMIT 3'), null,
		'SELECT prev_pid, count(*) AS n FROM {{sched.sched_switch}} WHERE prev_state IN (0, 256) AND prev_pid != 0 GROUP BY prev_pid ORDER BY n DESC, prev_pid LIMIT 3'],
	[33, sql('SELECT ts / 1000000 AS ms, count(*) AS n FROM sched_switch GROUP BY ms ORDER BY ms'), null,
		'SELECT div(ns(ts), 1000000) AS ms, count(*) AS n FROM {{sched.sched_switch}} GROUP BY ms ORDER BY ms'],
	[34, sql('SELECT cpu, count(*) AS n FROM sched_switch GROUP BY cpu ORDER BY cpu'), null, 'SELECT cpu, count(*) AS n FROM {{sched.sched_switch}} GROUP BY cpu ORDER BY cpu'],
	[39, ['events', demo.path, '--name', 'sched_switch', '--where', 'prev_pid == 0 && next_comm == "demo-sleep"', '--count'], null,
		`SELECT count(*) FROM {{sched.sched_switch}} WHERE prev_pid = 0 AND next_comm = 'demo-sleep'`],
	[29, ['cputop', demo.path], (r) => (r.table === 'cpus' ? [`cpu[${r.cpu}]/thread`, r.busy] : null),
		`SELECT path, sum(coalesce(dur, ${end} + 1 - ns(ts))) AS busy FROM {{state}} WHERE path LIKE 'cpu[%]/thread' AND value_int != 0 AND ts IS NOT NULL
		GROUP BY path ORDER BY path`],
	[47, sql(`SELECT cpu, count(*) AS runs, sum(dur) AS ns FROM thread_state WHERE tid = 31520 AND state = 'running' GROUP BY cpu ORDER BY cpu`), null,
		`SELECT c AS cpu, count(*) AS runs, sum(dur) AS ns FROM (SELECT ns(ts) AS t, dur FROM {{state}} WHERE ${sleep} AND value = 'running') AS s
		CROSS JOIN (SELECT value_int AS c, ns(ts) AS begin, coalesce(ns(ts) + dur, ${2n ** 62n}) AS till FROM {{state}} WHERE path = 'thread[31520]/cpu') AS placed
		WHERE t >= begin AND t < till GROUP BY c ORDER BY c`],
	[48, sql(`SELECT state, count(*) AS times, sum(dur) AS ns FROM thread_state WHERE tid = 31520 AND state != 'dead' GROUP BY state ORDER BY sum(dur) DESC`), null,
		`SELECT value, count(*) AS times, sum(dur) AS ns FROM {{state}} WHERE ${sleep} AND value != 'dead' GROUP BY value ORDER BY ns DESC`],
	[49, sql(`WITH RECURSIVE h(i, j) AS (SELECT 0, histogram(dur) FROM thread_state WHERE tid = 31520 AND state = 'sleeping')
		SELECT json_extract(value, '$.from') AS f, json_extract(value, '$.count') AS n FROM h, json_each(j)`), null,
		`SELECT CAST(power(2, b) AS BIGINT) AS f, n FROM (SELECT power2(dur) AS b, count(*) AS n FROM {{state}} WHERE ${sleep} AND value = 'sleeping' AND dur IS NOT NULL
		GROUP BY b) ORDER BY f`],
	[50, sql(`SELECT value, count(*) AS n FROM state_at('thread[*]/state', ts('+5ms')) WHERE value IS NOT NULL GROUP BY value ORDER BY value`), null,
		`SELECT value, count(*) AS n FROM {{state}} WHERE path LIKE 'thread[%]/state' AND ${during(at5)} GROUP BY value ORDER BY value`],
	[51, sql(`SELECT prev_comm, next_comm, count(*) AS n FROM sched_switch WHERE prev_state IN (0, 256) AND prev_pid != 0 GROUP BY 1, 2 ORDER BY n DESC, 1, 2 LIMIT 3`), null,
		`SELECT prev_comm, next_comm, count(*) AS n FROM {{sched.sched_switch}} WHERE prev_state IN (0, 256) AND prev_pid != 0 GROUP BY prev_comm, next_comm
		ORDER BY n DESC, prev_comm, next_comm LIMIT 3`],
	[53, ['at', demo.path, '-0ms', 'cpu[*]/thread'], (r) => (r.value === null || r.value === undefined ? null : [r.path, r.value]),
		`SELECT path, value_int FROM {{state}} WHERE path LIKE 'cpu[%]/thread' AND ${during(end)} ORDER BY path`],
];
const written = (query, engine, trace) => query.replace(/\{\{([*\w.]+)\}\}/g, (_, t) => `(SELECT * FROM ${engine.table(t)} WHERE trace = '${trace}') AS src`)
	.replace(/\{([*\w.]+)\}/g, (_, t) => engine.table(t));

async function question([number, words, pick, query, of]) {
	const rows = command(...words).map((r) => (pick ? pick(r) : values(r))).filter((r) => r);
	const want = rows.map((r) => values(r));
	if (of) return tell(`question ${number}`, differ(want, of().map((r) => r.map(shown))), `${want.length} rows, of the manifest`);
	for (const engine of engines)
		try {
			const got = await engine.ask(written(query, engine, demo.trace));
			tell(`question ${number}, ${engine.name}`, got.length ? differ(want, got) : 'no rows', `${got.length} rows`);
		} catch (error) {
			tell(`question ${number}, ${engine.name}`, error.message.split('\n')[0]);
		}
}
for (const each of questions) await question(each);
console.log(`${questions.length} of the cookbook's 56 questions were asked`);

// ---- the fleet ----

const fleet = [
	['events of each host', 'SELECT host, count(*) AS n FROM sched_switch', 'SELECT host, sum(n) FROM rows WHERE host IS NOT NULL GROUP BY host ORDER BY host',
		'SELECT host, count(*) AS n FROM {*sched_switch} WHERE host IS NOT NULL GROUP BY host ORDER BY host'],
	['how long threads were ready, per host', `SELECT host, dur FROM state('thread[*]/state') WHERE value = 'ready' AND dur IS NOT NULL`,
		'SELECT host, count(*), min(dur), max(dur), sum(dur) FROM rows GROUP BY host ORDER BY host',
		`SELECT host, count(*) AS n, min(dur), max(dur), sum(dur) FROM {state} WHERE path LIKE 'thread[%]/state' AND value = 'ready' AND dur IS NOT NULL AND host IS NOT NULL
		GROUP BY host ORDER BY host`],
	['losses of each host', 'SELECT host, count(*) AS places, sum(events) AS n FROM losses', 'SELECT host, sum(places), sum(n) FROM rows GROUP BY host HAVING sum(places) > 0 ORDER BY host',
		'SELECT host, count(*) AS places, sum(events) AS n FROM {losses} WHERE host IS NOT NULL GROUP BY host ORDER BY host'],
];
for (const [what, query, then, theirs] of fleet) {
	const want = command('sql', '--catalog', catalog, query, '--then', then).map(values).filter((r) => r[0] !== 'null');
	for (const engine of engines) {
		const got = await engine.ask(written(theirs, engine));
		tell(`${what}, ${engine.name}`, got.length ? differ(want, got) : 'no rows', `${got.length} rows`);
	}
}
console.log(`oracles: ${failed} of partitions failed`);
process.exit(failed ? 1 : 0);
