// times.js - moments and spans as text; times are ns since the trace's first event
const trace = { number: 0, first: 0n, span: 1, epoch: false, ordinals: false, generation: 0 };

const clamp = (value, low, high) => Math.max(low, Math.min(high, value));

// 1.5 ms, 20.125 us: as the program writes spans.
function duration(ns) {
	if (trace.ordinals) return String(Math.round(ns));
	const units = [
		[1e9, "s", 9],
		[1e6, "ms", 6],
		[1e3, "us", 3],
		[1, "ns", 0],
	];
	const [size, unit, digits] = units.find(([size]) => Math.abs(ns) >= size) || units[3];
	const number = (ns / size).toFixed(digits);
	return (digits ? number.replace(/\.?0+$/, "") : number) + " " + unit;
}

// A moment, `decimals` digits behind the second; of the browser's time zone.
function moment(at, decimals) {
	const ns = trace.first + BigInt(Math.round(at));
	if (trace.ordinals) return String(ns);
	const size = ns < 0n && !trace.epoch ? -ns : ns;
	const second = (size - (((size % 1000000000n) + 1000000000n) % 1000000000n)) / 1000000000n;
	const part = String(size - second * 1000000000n)
		.padStart(9, "0")
		.slice(0, decimals);
	const two = number => String(number).padStart(2, "0");
	let text = two(second / 3600n) + ":" + two((second / 60n) % 60n) + ":" + two(second % 60n);
	if (trace.epoch) {
		const date = new Date(Number(second) * 1000);
		text = two(date.getHours()) + ":" + two(date.getMinutes()) + ":" + two(date.getSeconds());
	}
	return (ns < 0n && !trace.epoch ? "-" : "") + text + (part ? "." + part : "");
}

function day_of(at) {
	if (!trace.epoch) return "";
	return new Date(Number((trace.first + BigInt(Math.round(at))) / 1000000n)).toLocaleDateString("sv") + " ";
}

// The least round step whose texts have room.
function tick_step(room) {
	let step = 1;
	for (let i = 0; step < room && step < 1e9; i++) step *= i % 3 === 1 ? 2.5 : 2;
	for (const seconds of [2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 21600, 43200, 86400]) if (step < room) step = seconds * 1e9;
	while (step < room) step *= 2;
	return Math.round(step);
}

const decimals_of = step => (trace.ordinals ? 0 : clamp(9 - Math.floor(Math.log10(step) + 1e-9), 0, 9));

// Round times within [from, to]: calls each(time, text).
function ticks(from, to, width, each) {
	let step = tick_step(((to - from) * 90) / width);
	const room = (moment(to, decimals_of(step)).length + 2) * 7.3;
	step = tick_step(((to - from) * room) / width);
	const big = BigInt(step),
		base = trace.first + BigInt(Math.ceil(from));
	const rest = ((base % big) + big) % big;
	let at = Math.ceil(from) + Number(rest ? big - rest : 0n);
	for (; at <= to; at += step) each(at, moment(at, decimals_of(step)));
}
