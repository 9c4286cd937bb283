// duckdb.mjs BUILD [TRACE] - the extension in DuckDB: rows a second, beside DuckDB over the Parquet files of the same trace
//
// Without a trace one of 300 MB is made by yore-gen. Figures are of seconds of the processor of the whole process on one thread, the least of
// five runs; of two threads of wall seconds. "First" is a query that a process asks first of all, the least of three; the others find what was
// kept of the trace (docs/duckdb.md). Rows are what the table function gives; of one name it passes over the heads of all
// others first, which are twelve times as many. What writing the Parquet files takes comes first. YORE_NPM names the folder in which npm put @duckdb/node-api (tests/oracle/duckdb.sh BUILD --install).
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import { join, resolve } from 'node:path';
import { homedir, tmpdir } from 'node:os';

const require = createRequire(join(process.env.YORE_NPM ?? join(homedir(), '.cache/yore-npm'), 'x.js'));
const { DuckDBInstance } = await import(pathToFileURL(require.resolve('@duckdb/node-api')));
const build = resolve(process.argv[2]);
const work = mkdtempSync(join(tmpdir(), 'yore-bench-'));
process.env.YORE_INDEX_DIR = join(work, 'index');

const queries = [ // name, query of {}, events
	['count of rows', 'SELECT count(*) FROM {}', '*'],
	['count per CPU', 'SELECT cpu, count(*) FROM {} GROUP BY 1', '*'],
	['count and last per name', 'SELECT name, count(*), max(ts) FROM {} GROUP BY 1', '*'],
	['count per integer', 'SELECT next_prio, count(*) FROM {} GROUP BY 1', 'sched_switch'],
	['sums of two integers', 'SELECT sum(next_tid), sum(prev_tid) FROM {}', 'sched_switch'],
	['count per text', 'SELECT next_comm, count(*) FROM {} GROUP BY 1', 'sched_switch'],
	['all columns', 'SELECT max(COLUMNS(*)) FROM {}', 'sched_switch'],
];

const spent = (since) => {
	const { user, system } = process.cpuUsage(since);
	return (user + system) / 1e6;
};

async function open(threads) {
	const instance = await DuckDBInstance.create(':memory:', { allow_unsigned_extensions: 'true', threads: String(threads) });
	const db = await instance.connect();
	await db.run(`LOAD '${build}/yore.duckdb_extension'`);
	return db;
}

// DuckDB's own start is paid before.
async function once(query) {
	const db = await open(1);
	await db.runAndReadAll('SELECT count(*), max(i) FROM range(1000) AS t(i) GROUP BY i % 7');
	const since = process.cpuUsage();
	await db.runAndReadAll(query);
	return spent(since);
}

const first = (query) => Math.min(...[1, 2, 3].map(() => Number(execFileSync(process.execPath, [process.argv[1], build, '--once', query]))));

async function least(db, query) {
	let cpu = Infinity, wall = Infinity;
	for (let i = 0; i < 5; i++) {
		const since = process.cpuUsage(), begin = performance.now();
		await db.runAndReadAll(query);
		cpu = Math.min(cpu, spent(since));
		wall = Math.min(wall, (performance.now() - begin) / 1e3);
	}
	return { cpu, wall };
}

if (process.argv[3] === '--once') {
	console.log(await once(process.argv[4]));
	process.exit(0);
}
try {
	let trace = process.argv[3];
	if (!trace) {
		trace = join(work, 'trace');
		execFileSync(join(build, 'fixtures/yore-gen'), ['--out', trace, '--size', '300M', '--no-truth']);
	}
	const parquet = join(work, 'parquet'), begin = performance.now();
	execFileSync(join(build, 'yore'), ['convert', trace, parquet, '--to', 'parquet', '--no-state', '--quiet', '--name', 'sched_switch']);
	console.log(`Parquet files of sched_switch are written in ${((performance.now() - begin) / 1e3).toFixed(1)} s`);
	const one = await open(1), two = await open(2);
	console.log('                                a second of one thread, millions    of two    over Parquet, one thread');
	console.log('query                      rows    first     rows         ns a row      rows    rows');
	for (const [name, query, of] of queries) {
		const table = `yore_events('${trace}', '${of}')`;
		const [[n]] = (await one.runAndReadAll(`SELECT count(*) FROM ${table}`)).getRows();
		const rows = Number(n) / 1e6;
		const single = await least(one, query.replace('{}', table)), both = await least(two, query.replace('{}', table));
		const file = of === '*' ? null : await least(one, query.replace('{}', `'${parquet}/${of}.parquet'`));
		const column = (value, digits, width) => value.toFixed(digits).padStart(width);
		console.log(`${name.padEnd(24)}${column(rows, 1, 5)} M${column(rows / first(query.replace('{}', table)), 1, 9)}${column(rows / single.cpu, 1, 9)}` +
			`${column(single.cpu / rows * 1e3, 0, 17)}${column(rows / both.wall, 1, 10)}${file ? column(rows / file.cpu, 1, 8) : ''}`);
	}
} finally {
	rmSync(work, { recursive: true, force: true });
}
