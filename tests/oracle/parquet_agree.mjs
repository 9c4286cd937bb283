// parquet_agree.mjs YORE TRACE... - Parquet files against the events that `yore events` prints
//
// DuckDB reads the files; every row of every class must be the event as JSON has it: time, stream,
// CPU, each field, nulls where the class or the chosen option has none. hyparquet, another reader,
// must see the same rows. YORE_NPM names the folder in which npm put both.
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import { join } from 'node:path';
import { tmpdir } from 'node:os';

const load = async (name) => {
	const require = createRequire(join(process.env.YORE_NPM, 'x.js'));
	return import(pathToFileURL(require.resolve(name)));
};
const { DuckDBInstance } = await load('@duckdb/node-api');
const { parquetReadObjects } = await load('hyparquet');
const { compressors } = await load('hyparquet-compressors');

// JSON with integers as BigInt: those of 64 bits fit no Number.
function parse(text) {
	let at = 0;
	const value = () => {
		const c = text[at];
		if (c === '{') {
			const out = {};
			for (at++; text[at] !== '}'; ) {
				const key = string();
				at++;
				// two members of one name: the first is what a reader finds
				const item = value();
				if (!(key in out)) out[key] = item;
				if (text[at] === ',') at++;
			}
			at++;
			return out;
		}
		if (c === '[') {
			const out = [];
			for (at++; text[at] !== ']'; ) {
				out.push(value());
				if (text[at] === ',') at++;
			}
			at++;
			return out;
		}
		if (c === '"') return string();
		const word = /^[-+.\w]+/.exec(text.slice(at, at + 64))[0];
		at += word.length;
		if (word === 'null') return null;
		if (word === 'true' || word === 'false') return word === 'true';
		return /^-?\d+$/.test(word) ? BigInt(word) : Number(word);
	};
	const string = () => {
		const from = at;
		for (at++; text[at] !== '"'; at++) if (text[at] === '\\') at++;
		return JSON.parse(text.slice(from, ++at));
	};
	return value();
}

const isEnum = (v) => v !== null && typeof v === 'object' && !Array.isArray(v) && Array.isArray(v.labels);

// The ways to the leaves of an event, as columns are named.
function leaves(prefix, value, out) {
	if (value !== null && typeof value === 'object' && !Array.isArray(value) && !isEnum(value))
		for (const [name, item] of Object.entries(value)) leaves(prefix ? `${prefix}_${name}` : name, item, out);
	else out.push([prefix, value]);
}

const plain = (v) => {
	if (v === null || v === undefined) return null;
	if (typeof v === 'bigint' || typeof v === 'string' || typeof v === 'boolean') return v;
	if (typeof v === 'number') return Number.isInteger(v) && !Object.is(v, -0) ? BigInt(v) : v;
	if (Array.isArray(v)) return v.map(plain);
	if (v instanceof Date) return BigInt(v.getTime()) * 1000000n;
	if (ArrayBuffer.isView(v)) return Array.from(v, plain);
	if (v.items) return v.items.map(plain);
	if ('nanos' in v) return v.nanos;
	if (v.bytes) return Buffer.from(v.bytes).toString('base64');
	return String(v);
};
const text = (v) => JSON.stringify(v, (_, x) => (typeof x === 'bigint' ? `${x}n` : Number.isNaN(x) ? 'NaN' : x));

function same(a, b) {
	if (Array.isArray(a) && Array.isArray(b)) return a.length === b.length && a.every((x, i) => same(x, b[i]));
	if (typeof a === 'number' || typeof b === 'number') {
		const [x, y] = [Number(a), Number(b)];
		return Object.is(x, y) || x === y || Math.fround(x) === Math.fround(y);
	}
	if (a === 'NaN' || a === 'Infinity' || a === '-Infinity') return same(Number(a), Number(b));
	return a === b;
}

// One event against one row; the columns that the event does not have must be null.
function compare(event, row) {
	const seen = new Set(['ts', 'stream', 'cpu']);
	const wrong = (column, want) => `${column}: Parquet ${text(row[column])}, event ${text(want)}`;
	const check = (column, want) => {
		seen.add(column);
		return column in row && same(want, row[column]) ? null : wrong(column, want);
	};
	for (const [column, want] of [['ts', event.t], ['stream', event.stream], ['cpu', event.cpu]]) {
		// streams without time have ordinals there, which are no times
		const ordinal = column === 'ts' && row.ts === null && event.t < 1000000n;
		const bad = ordinal || same(want, row[column]) ? null : wrong(column, want);
		if (bad) return bad;
	}
	for (const [scope, before] of [['fields', 'field_'], ['context', 'context_']]) {
		const list = [];
		leaves('', event[scope] ?? {}, list);
		for (let [name, value] of list) {
			if (!(name in row) && value !== null && Array.isArray(value) && !value.length) continue;
			// JSON shows the chosen option of a variant without the option's name
			const options = name in row ? [] : Object.keys(row).filter((c) =>
				c.startsWith(`${name}_`) && !seen.has(c) && row[c] !== null);
			if (options.length === 1) name = options[0];
			if (seen.has(name) || !(name in row)) name = before + name;
			while (seen.has(name)) name = /_\d+$/.test(name) ? name.replace(/\d+$/, (n) => +n + 1) : `${name}_2`;
			let bad;
			if (isEnum(value)) {
				const label = `${name}_label` in row ? `${name}_label` : `${before}${name}_label`;
				bad = check(name, value.value) ?? check(label, value.labels.length ? value.labels.join('|') : null);
			} else if (typeof row[name] === 'string' && value !== null && typeof value === 'object') {
				bad = check(name, null) && (same(parse(row[name]), value) ? null : deep(row[name], value));
			} else bad = check(name, value);
			if (bad) return bad;
		}
	}
	for (const column of Object.keys(row))
		if (!seen.has(column) && row[column] !== null) return `${column}: no event has it, Parquet ${text(row[column])}`;
	return null;
}
const deep = (got, want) => (text(parse(got)) === text(want) ? null : `${got} is not ${text(want)}`);

const [yore, ...traces] = process.argv.slice(2);
const db = await (await DuckDBInstance.create(':memory:')).connect();
let failed = 0;
for (const trace of traces) {
	const work = mkdtempSync(join(tmpdir(), 'yore-parquet-'));
	const out = join(work, 'out');
	const made = spawnSync(yore, ['convert', trace, out, '--to', 'parquet', '--no-state'], { encoding: 'utf8' });
	const events = spawnSync(yore, ['events', trace, '--format', 'json'], { maxBuffer: 2 ** 31 });
	if (made.status !== events.status) {
		console.log(`FAIL: ${trace}: convert ${made.status}, events ${events.status}: ${made.stderr}`);
		failed++;
		continue;
	}
	const files = new Map(), rows = new Map(), at = new Map();
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
		at.set(class_, 0);
	}
	let count = 0, bad = null;
	const data = events.stdout;
	for (let from = 0; from < data.length && !bad; count++) {
		const end = data.indexOf(10, from);
		const event = parse(data.toString('utf8', from, end));
		from = end + 1;
		if ('lost' in event) { count--; continue; }
		const i = at.get(event.name) ?? 0, row = rows.get(event.name)?.[i];
		at.set(event.name, i + 1);
		bad = row ? compare(event, row) : 'there is no row';
		if (bad) bad = `${event.name}, row ${i}, t ${event.t}: ${bad}`;
	}
	for (const [name, list] of rows)
		if (!bad && at.get(name) !== list.length) bad = `${name}: ${list.length} rows, ${at.get(name)} events`;
	console.log(bad ? `FAIL: ${trace}: ${bad}` : `PASS: ${trace}: ${count} events in ${rows.size} files`);
	failed += bad ? 1 : 0;
	rmSync(work, { recursive: true });
}
process.exit(failed ? 1 : 0);
