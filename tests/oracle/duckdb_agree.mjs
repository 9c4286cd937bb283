// duckdb_agree.mjs YORE EXTENSION CHECK ... - the extension in DuckDB against the commands of yore
//
//     events TRACE...    rows of yore_events() are the events that `yore events` prints, field by field, and the rows of the Parquet
//                        files that `yore convert` writes; yore_state() and yore_at() are `yore state` and `yore at`
//     damaged TRACE...   an error that names file and cause; with skip_damage the rows of `yore events`
//     questions TRACE    questions of docs/cookbook.md: the answers of commands, and those of DuckDB
//     mistakes TRACE     one error for each wrong argument
//     memory TRACE       queries a hundred times, also such that nobody reads to the end
//
// YORE_NPM names the folder in which npm put @duckdb/node-api.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { tmpdir } from 'node:os';
import { compare, load, parse, plain, same, text } from './event_rows.mjs';

const { DuckDBInstance } = await load('@duckdb/node-api');
const [yore, extension, check, ...traces] = process.argv.slice(2);
let failed = 0;

const open = async (threads) => {
	const instance = await DuckDBInstance.create(':memory:', { allow_unsigned_extensions: 'true', threads: String(threads) });
	const db = await instance.connect();
	await db.run(`LOAD '${extension}'`);
	return db;
};
const db = await open(1), many = await open(4);
const quoted = (value) => `'${String(value).replaceAll("'", "''")}'`;

async function ask(query, of = db) {
	const result = await of.runAndReadAll(query);
	const names = result.columnNames();
	return result.getRows().map((row) => Object.fromEntries(row.map((v, i) => [names[i], plain(v)])));
}

async function fails(query) {
	try {
		await db.runAndReadAll(query);
		return null;
	} catch (error) {
		return error.message;
	}
}

// Lines of JSON that a command prints; null: it fails.
function lines(...words) {
	const run = spawnSync(yore, [...words, '--format', 'json'], { maxBuffer: 2 ** 31 });
	if (run.status === 1) return null;
	const out = [];
	for (let from = 0, end; from < run.stdout.length; from = end + 1) {
		end = run.stdout.indexOf(10, from);
		if (end < 0) end = run.stdout.length;
		out.push(parse(run.stdout.toString('utf8', from, end)));
	}
	return out;
}

function tell(trace, bad, good) {
	console.log(bad ? `FAIL: ${check}: ${trace}: ${bad}` : `PASS: ${check}: ${trace}: ${good}`);
	failed += bad ? 1 : 0;
}

const by = (...keys) => (a, b) => {
	for (const key of keys) {
		const [x, y] = [key(a), key(b)];
		if (x === y) continue;
		if (x === null || x === undefined) return -1;
		if (y === null || y === undefined) return 1;
		return x < y ? -1 : 1;
	}
	return 0;
};
// Where a stream's events have equal times, both sides have them in the order of the trace.
const inOrder = (rows) => rows.sort(by((r) => r.ts, (r) => r.stream));

// ---- events ----

// What is the same for all rows of a query of `events`.
function compareHead(event, row) {
	for (const [column, want] of [['name', event.name], ['stream', event.stream], ['cpu', event.cpu]])
		if (!same(want, row[column])) return `${column}: ${text(row[column])}, event ${text(want)}`;
	const payload = text(parse(row.fields));
	return payload === text(event.fields) ? null : `fields: ${payload}, event ${text(event.fields)}`;
}

function firstBad(events, rows, of) {
	if (events.length !== rows.length) return `${rows.length} rows, ${events.length} events`;
	for (const [i, event] of events.entries()) {
		const bad = of(event, rows[i]);
		if (bad) return `row ${i}, ts ${text(event.ts)}: ${bad}`;
	}
	return null;
}

async function agree(trace, events, options = '') {
	const named = new Map();
	for (const event of events) named.set(event.name, [...(named.get(event.name) ?? []), event]);
	for (const [name, list] of named) {
		const call = `yore_events(${quoted(trace)}, ${quoted(name)}${options})`;
		const rows = inOrder(await ask(`SELECT * FROM ${call}`));
		const bad = firstBad(list, rows, (event, row) => compare(event, row, 'DuckDB'));
		if (bad) return `${name}: ${bad}`;
		const [{ n, cpus }] = await ask(`SELECT count(*) AS n, count(cpu) AS cpus FROM ${call}`, many);
		if (n !== BigInt(list.length) || cpus !== BigInt(rows.filter((r) => r.cpu !== null).length))
			return `${name}: ${n} rows and ${cpus} of CPUs by several threads`;
	}
	const rows = inOrder(await ask(`SELECT * FROM yore_events(${quoted(trace)}, '*'${options})`));
	return firstBad(events, rows, compareHead);
}

// The same rows as Parquet has, also in the middle of the range.
async function likeParquet(trace, events) {
	const work = mkdtempSync(join(tmpdir(), 'yore-duckdb-')), out = join(work, 'out');
	const bounds = events.map((e) => e.ts).filter((t) => t !== null).sort(by((t) => t));
	const [from, to] = [bounds[Math.floor(bounds.length / 3)], bounds[Math.floor(bounds.length * 2 / 3)]];
	const names = new Set(events.map((e) => e.name)), twins = [...names].map((name) => name.toLowerCase());
	let bad = null;
	spawnSync(yore, ['convert', trace, out, '--to', 'parquet', '--no-state', '--quiet']);
	for (const name of existsSync(out) ? readdirSync(out) : []) {
		const file = join(out, name);
		const [{ table }] = await ask(
			`SELECT decode(value) AS "table" FROM parquet_kv_metadata('${file}') WHERE decode(key) = 'yore.table'`);
		// a file has the events of all names that differ in their case alone
		if (name.startsWith('losses') || bad || !names.has(table) ||
			twins.filter((n) => n === table.toLowerCase()).length > 1) continue;
		const call = (more) => `SELECT * FROM yore_events(${quoted(trace)}, ${quoted(table)}${more})`;
		const read = (where) => `SELECT * FROM '${file}' ${where}`;
		const pairs = [[call(''), read('')]];
		const [{ times }] = await ask(`SELECT count(ts) AS times FROM '${file}'`);
		if (times && bounds.length > 3) // of a trace without a clock ordinals are no timestamps
			pairs.push([call(`, begin := ${from}, until := make_timestamp_ns(${to})`),
				read(`WHERE ts >= make_timestamp_ns(${from}) AND ts < make_timestamp_ns(${to})`)]);
		for (const [ours, theirs] of pairs)
			for (const [a, b] of [[ours, theirs], [theirs, ours]]) {
				const [{ n }] = await ask(`SELECT count(*) AS n FROM (${a} EXCEPT ALL ${b})`, many);
				if (n) bad = `${table}: ${n} rows of ${a} are not in ${b}`;
			}
	}
	rmSync(work, { recursive: true });
	return bad;
}

const byPlace = [(r) => r.path, (r) => r.ts];
const asState = (r) => text([r.path, r.ts, r.until, r.value]);

// The value of a row in the words of JSON.
const typed = (row) => row.value_int ?? row.value_float ?? row.value_bool ?? row.value;
const unsigned = (a, b) => same(a, b) || (typeof a === 'bigint' && typeof b === 'bigint' && BigInt.asIntN(64, a) === b);

async function likeState(trace, events) {
	const times = events.map((e) => e.ts).filter((t) => t !== null);
	const kernel = lines('state', trace, '**');
	if (!kernel || !times.length) return [null, 0];
	const [from, to] = [times[Math.floor(times.length / 3)], times[Math.floor(times.length * 2 / 3)]];
	for (const [words, options] of [[[], ''], [['--begin', `@${from}`, '--end', `@${to}`], `, begin := ${from}, until := ${to}`]]) {
		const want = lines('state', trace, '**', ...words)
			.map((r) => ({ path: r.path, ts: r.begin, until: r.end, value: r.value })).sort(by(...byPlace));
		const rows = (await ask(`SELECT * FROM yore_state(${quoted(trace)}, '**'${options})`)).sort(by(...byPlace));
		const bad = firstBad(want, rows, (a, b) => {
			const good = a.path === b.path && same(a.ts, b.ts) && same(a.until, b.until) && unsigned(a.value, typed(b)) &&
				(a.ts === null || a.until === null ? b.dur === null : b.dur === a.until - a.ts);
			return good ? null : `${asState(b)}, state ${asState(a)}`;
		});
		if (bad) return [`state${options}: ${bad}`, 0];
	}
	const moment = times[Math.floor(times.length / 2)];
	const want = lines('at', trace, `@${moment}`, '**'), rows = await ask(`SELECT * FROM yore_at(${quoted(trace)}, ${moment}, '**')`);
	const bad = firstBad(want, rows, (a, b) => {
		const good = a.path === b.path && same(a.since, b.since) && unsigned(a.value, typed(b)) && b.known === (a.known ?? true);
		return good ? null : `${text(b)}, at ${text(a)}`;
	});
	return [bad && `at: ${bad}`, kernel.length];
}

async function checkEvents(trace) {
	const all = lines('events', trace, '--name', '*');
	if (!all) {
		const message = await fails(`FROM yore_events(${quoted(trace)}, '*')`);
		return tell(trace, message ? null : 'yore cannot read it, DuckDB can', 'cannot be read');
	}
	const events = inOrder(all);
	if (await fails(`SELECT count(*) FROM yore_events(${quoted(trace)}, '*')`))
		return checkDamaged(trace);
	const bad = await agree(trace, events) ?? await likeParquet(trace, events);
	const [badState, intervals] = bad ? [null, 0] : await likeState(trace, events);
	return tell(trace, bad ?? badState, `${events.length} events, ${intervals} intervals`);
}

// ---- damage ----

async function checkDamaged(trace) {
	const call = (more) => `yore_events(${quoted(trace)}, '*'${more})`;
	const run = spawnSync(yore, ['events', trace, '--name', '*', '--format', 'json'], { maxBuffer: 2 ** 31 });
	const told = run.stderr.toString().split('\n').filter((l) => l.startsWith('yore: damaged: ') || run.status === 1)
		.map((l) => l.replace(/^yore: (damaged: )?/, ''));
	const message = await fails(`SELECT count(*) FROM ${call('')}`);
	if (run.status === 0)
		return tell(trace, message, 'nothing is damaged');
	const cause = message?.replace(/^[A-Z]\w+( \w+)* Error: /, '').split('\n')[0].replace(/ \(skip_damage := true .*/, '');
	if (!cause || !told.some((l) => l === cause)) return tell(trace, `DuckDB says '${message}', yore '${told.join('; ')}'`);
	if (run.status === 1) return tell(trace, null, message.split('\n')[0]);
	const events = inOrder(lines('events', trace, '--name', '*'));
	return tell(trace, await agree(trace, events, ', skip_damage := true'), `${events.length} events beside '${cause}'`);
}

// ---- questions of the cookbook ----

const questions = [
	['10: how often was a thread switched to',
		['events', '$T', '--where', 'next_pid == 31520', '--count'],
		`SELECT count(*) FROM yore_events($T, 'sched_switch') WHERE next_pid = 31520`],
	['30: the number of a name',
		['sql', '$T', `SELECT DISTINCT next_pid FROM sched_switch WHERE next_comm = 'demo-sleep'`],
		`SELECT DISTINCT next_pid FROM yore_events($T, 'sched_switch') WHERE next_comm = 'demo-sleep'`],
	['32: threads preempted most often',
		['sql', '$T', `SELECT prev_pid, count(*) AS n FROM sched_switch WHERE prev_state IN (0, 256) AND prev_pid != 0 GROUP BY prev_pid ORDER BY n DESC, prev_pid`],
		`SELECT prev_pid, count(*) AS n FROM yore_events($T, 'sched_switch') WHERE prev_state IN (0, 256) AND prev_pid != 0 GROUP BY prev_pid ORDER BY n DESC, prev_pid`],
	['33: switches in each millisecond',
		['sql', '$T', 'SELECT ts / 1000000 AS ms, count(*) AS n FROM sched_switch GROUP BY ms ORDER BY ms'],
		`SELECT epoch_ns(ts) // 1000000 AS ms, count(*) AS n FROM yore_events($T, 'sched_switch') GROUP BY ms ORDER BY ms`],
	['34: events of each CPU',
		['sql', '$T', 'SELECT cpu, count(*) AS n FROM sched_switch GROUP BY cpu ORDER BY cpu'],
		`SELECT cpu, count(*) AS n FROM yore_events($T, 'sched_switch') GROUP BY cpu ORDER BY cpu`],
	['4: how many of each',
		['sql', '$T', 'SELECT name, count(*) AS n FROM events GROUP BY name ORDER BY name'],
		`SELECT name, count(*) AS n FROM yore_events($T, '*') GROUP BY name ORDER BY name`],
	['7: what happened last',
		['sql', '$T', 'SELECT ts, name FROM events ORDER BY ts DESC LIMIT 1'],
		`SELECT epoch_ns(ts) AS ts, name FROM yore_events($T, '*') ORDER BY ts DESC LIMIT 1`],
	['which thread ran at a moment',
		['sql', '$T', `SELECT path, value FROM state_at('cpu[*]/thread', ts('+5ms'))`],
		`SELECT path, value_int AS value FROM yore_at($T, '+5ms', 'cpu[*]/thread')`],
	['the time of each state of a thread',
		['sql', '$T', `SELECT value, sum(dur) AS n FROM state('thread[31520]/state') GROUP BY value ORDER BY value`],
		`SELECT value, sum(dur) AS n FROM yore_state($T, 'thread[31520]/state') GROUP BY value ORDER BY value`],
	['how long each thread ran on each CPU',
		['sql', '$T', `SELECT path, value, sum(dur) AS n FROM state('cpu[*]/thread') GROUP BY 1, 2 ORDER BY 1, 2`],
		`SELECT path, value_int AS value, sum(dur) AS n FROM yore_state($T, 'cpu[*]/thread') GROUP BY 1, 2 ORDER BY 1, 2`],
	['from a wake-up to the switch, joined',
		['sql', '$T', `SELECT w.pid, w.ts, min(s.ts) - w.ts AS n FROM sched_wakeup w JOIN sched_switch s ON s.next_pid = w.pid AND s.ts >= w.ts GROUP BY 1, 2 ORDER BY 2, 1`],
		`SELECT w.pid, epoch_ns(w.ts) AS ts, min(epoch_ns(s.ts)) - epoch_ns(w.ts) AS n FROM yore_events($T, 'sched_wakeup') w
			JOIN yore_events($T, 'sched_switch') s ON s.next_pid = w.pid AND s.ts >= w.ts GROUP BY w.pid, w.ts ORDER BY 2, 1`],
];

// A statement that is prepared opens its trace once, and runs as often as it is asked.
async function checkPrepared(trace) {
	for (const of of [db, many]) {
		await of.run(`PREPARE q AS SELECT (SELECT count(*) FROM yore_events(${quoted(trace)}, 'sched_switch')),
			(SELECT sum(dur) FROM yore_state(${quoted(trace)}, 'cpu[*]/thread')), (SELECT count(*) FROM yore_at(${quoted(trace)}, '+5ms', '**'))`);
		const [first, second] = [text(await ask('EXECUTE q', of)), text(await ask('EXECUTE q', of))];
		await of.run('DEALLOCATE q');
		tell('a prepared statement', first === second ? null : `${first}, then ${second}`, first);
	}
}

async function checkQuestions(trace) {
	await checkPrepared(trace);
	for (const [what, words, query] of questions) {
		const run = spawnSync(yore, [...words.map((w) => (w === '$T' ? trace : w)), '--format', 'json'], { encoding: 'utf8' });
		const want = run.stdout.trim().split('\n').map((l) => {
			const value = parse(l);
			return Object.values(typeof value === 'object' ? value : { value });
		});
		const got = (await ask(query.replaceAll('$T', quoted(trace)), many)).map((r) => Object.values(r));
		const wanted = text(want.map((r) => r.map(plain)));
		tell(what, wanted === text(got) ? null : `${text(got)}, yore ${wanted}`, `${got.length} rows`);
	}
}

// ---- mistakes ----

async function checkMistakes(trace) {
	const t = quoted(trace);
	const wrong = [
		[`yore_events('nowhere', '*')`, /nowhere: No such file or directory/],
		[`yore_events(NULL, '*')`, /the path of a trace is NULL/],
		[`yore_events(${t}, NULL)`, /the name of events is NULL/],
		[`yore_events(${t}, 'none')`, /no events called 'none'/],
		[`yore_events(${t}, 'none*')`, /no events called 'none\*'/],
		[`yore_events(${t}, '*', begin := '25:99')`, /time '25:99'/],
		[`yore_events(${t}, '*', begin := '+2ms', until := '+1ms')`, /the end of the range lies before its begin/],
		[`yore_events(${t}, '*', begin := 1.5)`, /a moment is a TIMESTAMP_NS/],
		[`yore_events(${t}, '*', begin := NULL)`, /a moment is NULL/],
		[`yore_events(${t}, '*', begin := TIMESTAMP '9999-01-01 00:00:00')`, /does not fit in nanoseconds/],
		[`yore_state(${t}, 'cpu[')`, /column 5/],
		[`yore_state(${t}, 'nothing/here')`, /no attribute 'nothing'/],
		[`yore_state(${t}, NULL)`, /the path of an attribute is NULL/],
		[`yore_at(${t}, NULL, 'cpu[*]/thread')`, /a moment is NULL/],
		[`yore_at(${t}, '+1ms', 'cpu[99]/thread')`, /cpu\[99\]/],
		[`yore_at(${t}, 'noon', 'cpu[*]/thread')`, /time 'noon'/],
		[`yore_events(${t})`, /No function matches/],
	];
	for (const [call, message] of wrong) {
		const got = await fails(`FROM ${call}`);
		tell(call.replace(t, 'TRACE'), got && message.test(got) ? null : `says '${got}'`, got?.split('\n')[0]);
	}
	const [{ n }] = await ask(`SELECT count(*) AS n FROM yore_events(${t}, '*')`);
	tell('a query behind them', n ? null : 'has no rows', `${n} rows`);
}

// ---- memory ----

async function checkMemory(trace) {
	const t = quoted(trace);
	const queries = [`SELECT * FROM yore_events(${t}, '*') LIMIT 3`, `SELECT count(*) FROM yore_events(${t}, 'sched_switch')`,
		`SELECT * FROM yore_events(${t}, 'sched_switch') LIMIT 1`, `SELECT * FROM yore_state(${t}, '**') LIMIT 5`,
		`SELECT * FROM yore_at(${t}, '+1ms', '**')`, `SELECT fields FROM yore_events(${t}, '*') ORDER BY ts LIMIT 2`];
	const round = async () => {
		for (const query of queries) for (const of of [db, many]) await of.runAndReadAll(query);
		await fails(`FROM yore_events(${t}, 'none')`);
	};
	for (let i = 0; i < 50; i++) await round();
	globalThis.gc?.();
	const before = process.memoryUsage.rss(), files = readdirSync('/proc/self/fd').length;
	for (let i = 0; i < 100; i++) await round();
	globalThis.gc?.();
	const grown = (process.memoryUsage.rss() - before) / 1e6, more = readdirSync('/proc/self/fd').length - files;
	tell(trace, grown > 150 || more > 0 ? `memory grew by ${grown.toFixed(1)} MB, open files by ${more}` : null,
		`1300 queries: memory grew by ${grown.toFixed(1)} MB`);
}

const checks = { events: checkEvents, damaged: checkDamaged, questions: checkQuestions, mistakes: checkMistakes, memory: checkMemory };
for (const trace of traces) await checks[check](trace);
process.exit(failed ? 1 : 0);
