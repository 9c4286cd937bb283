// event_rows.mjs - rows of DuckDB against events as `yore events --format json` prints them, field by field
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import { join } from 'node:path';

// A package of the folder that YORE_NPM names.
export const load = async (name) => {
	const require = createRequire(join(process.env.YORE_NPM, 'x.js'));
	return import(pathToFileURL(require.resolve(name)));
};
// JSON with integers as BigInt: those of 64 bits fit no Number.
export function parse(text) {
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

export const plain = (v) => {
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
export const text = (v) => JSON.stringify(v, (_, x) => (typeof x === 'bigint' ? `${x}n` : Number.isNaN(x) ? 'NaN' : x));

export function same(a, b) {
	if (Array.isArray(a) && Array.isArray(b)) return a.length === b.length && a.every((x, i) => same(x, b[i]));
	if (typeof a === 'number' || typeof b === 'number') {
		const [x, y] = [Number(a), Number(b)];
		return Object.is(x, y) || x === y || Math.fround(x) === Math.fround(y);
	}
	if (a === 'NaN' || a === 'Infinity' || a === '-Infinity') return same(Number(a), Number(b));
	return a === b;
}

// One event against one row; the columns that the event does not have must be null.
export function compare(event, row, of) {
	const seen = new Set(['ts', 'stream', 'cpu']);
	const wrong = (column, want) => `${column}: ${of} ${text(row[column])}, event ${text(want)}`;
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
		if (!seen.has(column) && row[column] !== null) return `${column}: no event has it, ${of} ${text(row[column])}`;
	return null;
}
const deep = (got, want) => (text(parse(got)) === text(want) ? null : `${got} is not ${text(want)}`);

