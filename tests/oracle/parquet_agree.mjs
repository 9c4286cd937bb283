// parquet_agree.mjs YORE TRACE... - Parquet files against the events that `yore events` prints
//
// DuckDB reads the files; every row of every class must be the event as JSON has it: time, stream,
// CPU, each field, nulls where the class or the chosen option has none. hyparquet, another reader,
// must see the same rows. YORE_NPM names the folder in which npm put both.
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { tmpdir } from 'node:os';
import { compare, load, parse, plain, same, text } from './event_rows.mjs';

const { DuckDBInstance } = await load('@duckdb/node-api');
const { parquetReadObjects } = await load('hyparquet');
const { compressors } = await load('hyparquet-compressors');

const [yore, ...traces] = process.argv.slice(2);
const db = await (await DuckDBInstance.create(':memory:')).connect();
let failed = 0;
for (const trace of traces) {
	const work = mkdtempSync(join(tmpdir(), 'yore-parquet-'));
	const out = join(work, 'out');
	const made = spawnSync(yore, ['convert', trace, out, '--to', 'parquet', '--no-state'], { encoding: 'utf8' });
	const events = spawnSync(yore, ['events', trace, '--name', '*', '--format', 'json'], { maxBuffer: 2 ** 31 });
	if (made.status !== events.status) {
		console.log(`FAIL: ${trace}: convert ${made.status}, events ${events.status}: ${made.stderr}`);
		failed++;
		continue;
	}
	const rows = new Map(), at = new Map();
	const spelled = new Map(); // names that differ in case alone have one table, and a column tells them apart
	for (const name of made.status === 1 ? [] : readdirSync(out)) {
		const file = join(out, name);
		const [[class_]] = (await db.runAndReadAll(
			`SELECT decode(value) FROM parquet_kv_metadata('${file}') WHERE decode(key) = 'yore.table'`)).getRows();
		const result = await db.runAndReadAll(`SELECT * FROM '${file}'`);
		const names = result.columnNames();
		const list = result.getRows().map((r) => Object.fromEntries(r.map((v, i) => [names[i], plain(v)])));
		const bytes = readFileSync(file);
		const other = await parquetReadObjects({
			file: bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length), compressors, utf8: false });
		if (other.length !== list.length) throw new Error(`${file}: hyparquet ${other.length} rows`);
		for (const [i, row] of other.entries())
			for (const column of names) {
				if (column === 'ts' || column === 'until') continue; // a Date, which has milliseconds
				const theirs = plain(row[column]);
				if (!same(list[i][column], theirs) && typeof list[i][column] !== 'string')
					throw new Error(`${file}: row ${i}: ${column}: DuckDB ${text(list[i][column])}, hyparquet ${text(theirs)}`);
			}
		if (class_ === 'losses' && name.startsWith('losses')) continue;
		rows.set(class_, list);
		spelled.set(class_.toLowerCase(), class_);
		at.set(class_, 0);
	}
	let count = 0, bad = null;
	const data = events.stdout;
	for (let from = 0; from < data.length && !bad; count++) {
		const end = data.indexOf(10, from);
		const event = parse(data.toString('utf8', from, end));
		from = end + 1;
		if ('lost' in event) { count--; continue; }
		const table = rows.has(event.name) ? event.name : spelled.get(event.name.toLowerCase());
		const i = at.get(table) ?? 0, row = rows.get(table)?.[i];
		at.set(table, i + 1);
		bad = row ? null : 'there is no row';
		if (row && 'name' in row && !('name' in (event.fields ?? {}))) {
			bad = row.name === event.name ? null : `it is of ${text(row.name)}`;
			delete row.name;
		}
		bad ??= compare(event, row, 'Parquet');
		if (bad) bad = `${event.name}, row ${i}, t ${event.t}: ${bad}`;
	}
	for (const [name, list] of rows)
		if (!bad && at.get(name) !== list.length) bad = `${name}: ${list.length} rows, ${at.get(name)} events`;
	console.log(bad ? `FAIL: ${trace}: ${bad}` : `PASS: ${trace}: ${count} events in ${rows.size} files`);
	failed += bad ? 1 : 0;
	rmSync(work, { recursive: true });
}
process.exit(failed ? 1 : 0);
