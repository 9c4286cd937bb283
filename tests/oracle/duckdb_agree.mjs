// duckdb_agree.mjs YORE EXTENSION CHECK ... - the extension in DuckDB against the commands of yore
//
//     events TRACE...    rows of yore_events() are the events that `yore events` prints, field by field, and the rows of the Parquet
//                        files that `yore convert` writes; yore_state() and yore_at() are `yore state` and `yore at`
//     damaged TRACE...   an error that names file and cause; with skip_damage the rows of `yore events`
//     tables TRACE...    yore_thread_state() and the like have the rows of the tables of `yore sql`
//     questions TRACE    questions of docs/cookbook.md in yore's SQL, and in DuckDB's, over the extension and over Parquet
//     arrow TRACE...     the Arrow streams of the Python package, read by DuckDB's library, LIBDUCKDB; PYTHONPATH has the package
//     mistakes TRACE     one error for each wrong argument
//     memory TRACE       queries a hundred times, also such that nobody reads to the end
//
// YORE_NPM names the folder in which npm put @duckdb/node-api.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { tmpdir } from 'node:os';
import { notAsked, notInFiles, questions } from './duckdb_questions.mjs';
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
	const names = new Set(events.map((e) => e.name)), classes = new Set(lines('info', trace)[0].classes.map((c) => c.name));
	let bad = null;
	spawnSync(yore, ['convert', trace, out, '--to', 'parquet', '--no-state', '--quiet']);
	for (const name of existsSync(out) ? readdirSync(out) : []) {
		const file = join(out, name);
		const [{ table }] = await ask(
			`SELECT decode(value) AS "table" FROM parquet_kv_metadata('${file}') WHERE decode(key) = 'yore.table'`);
		// a file has the events of all names that differ in their case alone, and a column that says which, also where one has none
		if (name.startsWith('losses') || bad || !names.has(table) ||
			[...classes].filter((n) => n.toLowerCase() === table.toLowerCase()).length > 1) continue;
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

/*
 * Tables over the Parquet files of `yore convert`, as queries: what a call of the extension gives, as far as the files have its columns.
 * A moment is nanoseconds behind the first event, or before the last.
 */
async function parquetTables(folder) {
	const file = (name) => `'${join(folder, name)}'`, state = file('state.parquet'), tables = {};
	for (const name of readdirSync(folder).filter((f) => f !== 'state.parquet'))
		tables[(await ask(`SELECT decode(value) AS "table" FROM parquet_kv_metadata(${file(name)}) WHERE decode(key) = 'yore.table'`))[0].table] = file(name);
	const all = Object.entries(tables).map(([name, from]) => `SELECT ts, stream, cpu, '${name}' AS name FROM ${from}`).join(' UNION ALL ');
	const [{ first, last }] = await ask(`SELECT epoch_ns(min(ts)) AS first, epoch_ns(max(ts)) AS last FROM (${all})`);
	const units = { ns: 1n, us: 1000n, ms: 1000000n };
	const moment = (words) => {
		const [, sign, count, unit] = words.match(/^([+-])(\d+)(\w+)$/), ns = BigInt(count) * units[unit];
		return sign === '+' ? BigInt(first) + ns : BigInt(last) - ns;
	};
	const named = async (name) => (await ask(`SELECT DISTINCT regexp_extract(path, '\\d+') AS tid FROM ${state}
		WHERE path LIKE 'thread[%]/name' AND value = ${quoted(name)}`)).map(({ tid }) => tid).join('|');
	// a path as a regular expression
	const pattern = async (path) => {
		const name = path.match(/\["(.*)"\]/), key = name ? await named(name[1]) : '[^]]*';
		return path.replace(/\[.*?\]/, '\\[(KEY)\\]').replace('/**', '(/.*)?').replace('KEY', key);
	};
	const until = 'make_timestamp_ns(epoch_ns(ts) + dur)', end = `coalesce(epoch_ns(ts) + dur, ${2n ** 63n - 1n})`;
	return {
		events: (name, range) => {
			const own = Object.keys(tables).find((table) => table === name || table.endsWith(`:${name}`));
			return `(SELECT * FROM ${name === '*' ? `(${all})` : tables[own]} WHERE true ${range.begin ? `AND epoch_ns(ts) >= ${moment(range.begin)}` : ''}
				${range.until ? `AND epoch_ns(ts) < ${moment(range.until)}` : ''})`;
		},
		state: async (path, range) => `(SELECT *, ${until} AS until FROM ${state} WHERE regexp_full_match(path, '${await pattern(path)}')
			${range.begin ? `AND ${end} > ${moment(range.begin)}` : ''} ${range.until ? `AND epoch_ns(ts) < ${moment(range.until)}` : ''})`,
		at: async (t, path) => `(SELECT path, value, value_int, ts AS since FROM ${state} WHERE regexp_full_match(path, '${await pattern(path)}')
			AND epoch_ns(ts) <= ${moment(t)} AND ${end} > ${moment(t)})`,
		threadState: () => `(SELECT *, epoch_ns("end") - epoch_ns(begin) AS dur FROM (SELECT regexp_extract(path, '\\d+')::BIGINT AS tid, value AS state,
			ts AS begin, coalesce(${until}, make_timestamp_ns(${last})) AS "end" FROM ${state} WHERE regexp_full_match(path, 'thread\\[[^]]*\\]/state'))
			WHERE "end" > begin)`,
	};
}

// The same over these tables.
async function overParquet(query, tables) {
	const range = (words) => Object.fromEntries([...words.matchAll(/, (\w+) := '([^']*)'/g)].map(([, name, value]) => [name, value]));
	const calls = [[/yore_events\(\$T, '([\w*]+)'((?:, \w+ := '[^']*')*)\)/, (name, words) => tables.events(name, range(words))],
		[/yore_state\(\$T, '([^']+)'((?:, \w+ := '[^']*')*)\)/, (path, words) => tables.state(path, range(words))],
		[/yore_at\(\$T, '([^']+)', '([^']+)'\)/, (t, path) => tables.at(t, path)], [/yore_thread_state\(\$T\)/, () => tables.threadState()]];
	for (const [call, table] of calls)
		for (let found; (found = query.match(call));)
			query = query.replace(found[0], await table(...found.slice(1)));
	return query;
}

async function checkQuestions(trace) {
	await checkPrepared(trace);
	const folder = mkdtempSync(join(tmpdir(), 'yore-duckdb-')), parquet = join(folder, 'out');
	spawnSync(yore, ['convert', trace, parquet, '--to', 'parquet', '--quiet']);
	const tables = await parquetTables(parquet);
	let asked = 0, rows = 0, files = 0;
	for (const [what, sql, query, queryOfFiles] of questions) {
		const run = spawnSync(yore, ['sql', trace, sql, '--format', 'json'], { encoding: 'utf8' });
		const wanted = text(run.stdout.split('\n').filter((l) => l).map((l) => Object.values(parse(l)).map(plain)));
		const over = notInFiles[what] ? null : await overParquet(queryOfFiles ?? query, tables);
		for (const [where, words] of [['the extension', query.replaceAll('$T', quoted(trace))], ['Parquet', over]].filter(([, w]) => w)) {
			const got = (await ask(words, many)).map((r) => Object.values(r));
			const bad = run.status ? run.stderr : wanted === text(got) ? null : `${text(got)}, yore ${wanted}`;
			if (bad) tell(`${what} over ${where}`, bad);
			rows += got.length;
			files += where === 'Parquet' && typeof what === 'number';
		}
		asked += typeof what === 'number';
	}
	rmSync(folder, { recursive: true });
	const count = readFileSync(new URL('../../docs/cookbook.md', import.meta.url), 'utf8').match(/^\*\*\d+\. /gm).length;
	const left = count - asked - Object.keys(notAsked).length;
	tell(trace, left ? `${left} questions of the cookbook are neither asked nor said to be none of SQL` : null,
		`${asked} of ${count} questions of the cookbook, ${files} of them over Parquet, too: ${rows} rows`);
}

// ---- tables ----

// A column without a type has numbers and texts in SQL, and texts in DuckDB.
const asText = (v) => (v === null ? null : String(plain(v)));

// Rows of tables that both have, of all of the trace and of its middle. What is damaged is left out, as SQL does.
async function checkTables(trace) {
	const range = lines('sql', trace, `SELECT value FROM info WHERE key IN ('begin', 'end')`);
	if (!range) return tell(trace, null, 'cannot be read');
	const [first, last] = range.length ? range.map((r) => r.value) : [0n, 3n];
	const [from, to] = [first + (last - first) / 3n, first + (last - first) * 2n / 3n];
	const compared = { thread_state: true, wakeups: true, syscalls: true, threads: false, losses: false, packets: false, streams: false, classes: false, info: false };
	let bad = null, n = 0;
	for (const [table, ranges] of Object.entries(compared))
		for (const [told, options] of ranges ? [['', ''], [`(${from}, ${to})`, `, begin := ${from}, until := ${to}`]] : [['', '']]) {
			const asked = `SELECT * FROM yore_${table}(${quoted(trace)}${options}, skip_damage := true)`;
			const rows = lines('sql', trace, `SELECT * FROM ${table}${told}`);
			if (!rows) { // its format has no rules, say
				bad ??= await fails(asked) ? null : `${table}${told}: SQL has an error, DuckDB none`;
				continue;
			}
			const [want, got] = [rows, await ask(asked)].map((list) => list.map((r) => text(Object.values(r).map(asText))));
			const i = want.findIndex((row, k) => row !== got[k]);
			if (i >= 0 || want.length !== got.length)
				bad ??= `${table}${told}: ${got.length} rows, SQL ${want.length}: ${got[i]}, SQL ${want[i]}`;
			n += want.length;
		}
	tell(trace, bad, `${n} rows of ${Object.keys(compared).length} tables`);
}

// ---- Arrow ----

// What DuckDB's own reader of Arrow's C streams gets from the Python package: a row for each event, nanoseconds exact.
async function checkArrow(trace) {
	const events = lines('events', trace, '--name', '*'), named = new Map();
	for (const event of events) named.set(event.name, [...(named.get(event.name) ?? []), event]);
	const folder = mkdtempSync(join(tmpdir(), 'yore-arrow-')), names = [...named.keys()];
	const run = spawnSync('/usr/bin/python3', [new URL('arrow_stream.py', import.meta.url).pathname, process.env.LIBDUCKDB, trace, folder],
		{ input: JSON.stringify(names), encoding: 'utf8' });
	let bad = run.status ? run.stderr : null;
	for (const [i, name] of bad ? [] : names.entries()) {
		const rows = inOrder(await ask(`FROM '${join(folder, `${i}.parquet`)}'`));
		bad ??= firstBad(inOrder(named.get(name)), rows, ({ ...event }, { us, ...row }) =>
			(event.t !== null && us !== event.t / 1000n ? `${us} us, event ${event.t} ns` : compare(event, row, 'Arrow')));
		if (bad) bad = `${name}: ${bad}`;
		if (bad) break;
	}
	rmSync(folder, { recursive: true });
	tell(trace, bad, `${events.length} events by ${names.length} streams`);
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
	const stored = spawnSync(yore, ['index', trace, '--timelines']); // by another process, while the trace is open here
	tell(`${trace}: yore index`, stored.status ? stored.stderr.toString() : null, 'is stored');
}

const checks = { events: checkEvents, damaged: checkDamaged, tables: checkTables, arrow: checkArrow, questions: checkQuestions, mistakes: checkMistakes, memory: checkMemory };
for (const trace of traces) await checks[check](trace);
process.exit(failed ? 1 : 0);
