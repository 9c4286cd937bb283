// timeline.js - zooms, moves and searches a timeline; the data are beside it, in <metadata>
//
// A row is a list of segments [gap, length, value]: `gap` ns after the one before, `length` ns of one
// value. Value -1 stands for several short ones, followed by how many, and tones with their shares in
// 1/10000. What no segment covers is unknown, or none. A pixel that holds several is drawn as a stack of
// their shares.
const data = JSON.parse(svg.querySelector("metadata").textContent);
const plot = { left: data.left, top: data.top, row: data.row, step: data.step, width: data.width };
const view = { from: 0, to: data.span };
const least = Math.max(Math.min(20, data.span), data.grain * 20);
const head = svg.querySelector("#head"), axis = svg.querySelector("#axis");
const groups = [...svg.querySelectorAll(".row")];
const state = { words: "", hits: null, mark: null };

const rows = data.rows.map(row => {
	let at = 0;
	const segments = row.s.map(([gap, length, value, count, shares]) => {
		const begin = at + gap;
		at = begin + length;
		return { begin, end: at, value, count: count || 1, shares };
	});
	return { label: row.label, lost: row.lost, segments };
});

// ---- times ----

const floor_div = (a, b) => (a - ((a % b) + b) % b) / b;

// A moment, `decimals` digits behind the second.
function moment(at, decimals) {
	const ns = BigInt(data.time.base) + BigInt(Math.round(at)), style = data.time.style;
	if (style === "ns" || style === "ordinal")
		return String(ns);
	const negative = ns < 0n && style !== "clock" && style !== "iso", size = negative ? -ns : ns;
	const second = floor_div(size, 1000000000n), two = number => String(number).padStart(2, "0");
	const part = String(size - second * 1000000000n).padStart(9, "0").slice(0, decimals);
	const fraction = part ? "." + part : "";
	if (style === "relative" || style === "seconds")
		return (negative ? "-" : style === "relative" ? "+" : "") + second + fraction;
	const day = floor_div(second, 86400n), rest = second - day * 86400n;
	const hours = rest / 3600n + (data.time.epoch ? 0n : day * 24n);
	const clock = two(hours) + ":" + two(rest / 60n % 60n) + ":" + two(rest % 60n) + fraction;
	if (style === "clock" && (!data.time.epoch || day === floor_div(BigInt(data.time.base), 86400000000000n)))
		return clock;
	return new Date(Number(day) * 86400000).toISOString().slice(0, 10) + (style === "iso" ? "T" : " ") + clock;
}

const span_text = span => data.time.style === "ordinal" ? String(Math.round(span)) : duration(span);

// The least round step whose texts have room.
function tick_step(room) {
	let step = 1;
	for (let i = 0; step < room && step < 1e9; i++)
		step *= i % 3 === 1 ? 2.5 : 2;
	for (const seconds of [2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 21600, 43200, 86400])
		if (step < room)
			step = seconds * 1e9;
	while (step < room)
		step *= 2;
	return step;
}

function draw_axis() {
	const span = view.to - view.from, scale = plot.width / span;
	let step = tick_step(span * 90 / plot.width);
	let decimals = Math.max(0, 9 - Math.floor(Math.log10(step) + 1e-9));
	const room = (moment(view.to, decimals).length + 2) * 7.3;
	step = tick_step(span * room / plot.width);
	decimals = Math.max(0, 9 - Math.floor(Math.log10(step) + 1e-9));
	const base = BigInt(data.time.base), big = BigInt(Math.round(step));
	const first = Number(floor_div(base + BigInt(Math.ceil(view.from)) + big - 1n, big) * big - base);
	axis.replaceChildren();
	for (let t = first; t <= view.to; t += Math.round(step)) {
		const x = plot.left + (t - view.from) * scale;
		element("path", { class: "tick", d: `M${x} ${plot.top - 18}V${plot.bottom}` }, axis);
		if (x + room < plot.left + plot.width + 40)
			text(moment(t, decimals), x + 3, plot.top - 8, axis, "faint");
	}
	svg.querySelector("#range").textContent = `${moment(view.from, 9)} to ${moment(view.to, 9)}, ${span_text(span)}`;
}

// ---- rows ----

// The first segment that ends after t.
function first_after(segments, t) {
	let low = 0, high = segments.length;
	while (low < high) {
		const middle = (low + high) >> 1;
		if (segments[middle].end > t)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

const tone_of = segment => data.values[segment.value][0];
const text_of = segment => data.values[segment.value][1];

// Calls each(tone, share) for what a segment consists of.
function each_share(segment, each) {
	if (segment.value >= 0)
		each(tone_of(segment), 1);
	else
		for (let i = 0; i < segment.shares.length; i += 2)
			each(segment.shares[i], segment.shares[i + 1] / 10000);
}

// Paths by tone: whole pixels of one value, and stacks of shares where a pixel has several.
function row_paths(segments, high) {
	const paths = {}, scale = plot.width / (view.to - view.from);
	let pixel = -1, shares = {};

	const add = (tone, x, y, width, height) => paths[tone] = (paths[tone] || "")
		+ `M${plot.left + x} ${y.toFixed(1)}h${width}v${height.toFixed(1)}h-${width}z`;
	function flush() {
		let y = high;
		for (const tone in shares) {
			const height = Math.min(shares[tone] * high, y);
			y -= height;
			add(tone, pixel, y, 1, height);
		}
		shares = {};
	}
	for (let i = first_after(segments, view.from); i < segments.length && segments[i].begin < view.to; i++) {
		let x = Math.max(0, (segments[i].begin - view.from) * scale);
		const end = Math.min(plot.width, (segments[i].end - view.from) * scale);
		while (x < end) {
			const at = Math.min(Math.floor(x), plot.width - 1), whole = Math.floor(end) - at;
			if (at !== pixel) {
				flush();
				pixel = at;
			}
			if (x === at && whole >= 1 && segments[i].value >= 0) {
				add(tone_of(segments[i]), at, 0, whole, high);
				x = at + whole;
				continue;
			}
			const to = Math.min(at + 1, end);
			each_share(segments[i], (tone, share) => shares[tone] = (shares[tone] || 0) + (to - x) * share);
			x = to > x ? to : end;
		}
	}
	flush();
	return paths;
}

function draw_labels(group, segments) {
	const scale = plot.width / (view.to - view.from);
	for (let i = first_after(segments, view.from); i < segments.length && segments[i].begin < view.to; i++) {
		const from = Math.max(0, (segments[i].begin - view.from) * scale);
		const room = Math.floor((Math.min(plot.width, (segments[i].end - view.from) * scale) - from - 4) / 7.3);
		if (room < 3 || segments[i].value < 0)
			continue;
		const whole = text_of(segments[i]);
		if (whole.length > room && room < 6)
			continue;
		const label = text(whole.length > room ? whole.slice(0, room - 1) + "…" : whole,
			plot.left + from + 3, plot.row - 6, group, "on on" + tone_of(segments[i]));
		label.style.pointerEvents = "none";
	}
}

function draw_row(row, group) {
	const segments = row.segments, high = plot.row;
	group.querySelectorAll("path, .on, .mark").forEach(old => old.remove());
	group.querySelector(".ground").setAttribute("width", plot.width);
	const paths = row_paths(segments, high);
	for (const tone in paths)
		element("path", { class: row.lost ? "lost" : "t" + tone, d: paths[tone] }, group);
	draw_labels(group, segments);
	if (state.mark && state.mark.row === row) {
		const scale = plot.width / (view.to - view.from);
		const x = clamp((state.mark.segment.begin - view.from) * scale, 0, plot.width);
		const end = clamp((state.mark.segment.end - view.from) * scale, 0, plot.width);
		element("rect", { class: "mark", x: plot.left + x - 1, y: 0, width: end - x + 2, height: high }, group);
	}
	group.setAttribute("class", state.hits && !state.hits.rows.has(row) ? "row miss" : "row");
}

const draw = each_frame(() => {
	const down = Math.max(0, window.scrollY);
	head.setAttribute("transform", `translate(0 ${down})`);
	axis.setAttribute("transform", `translate(0 ${down})`);
	rows.forEach((row, i) => {
		const y = plot.top + i * plot.step;
		if (y + plot.step >= down && y <= down + window.innerHeight)
			draw_row(row, groups[i]);
	});
	draw_axis();
	svg.setAttribute("data-from", view.from);
	svg.setAttribute("data-to", view.to);
});

// ---- moving ----

function look(from, to) {
	const span = clamp(to - from, least, data.span);
	const middle = (from + to) / 2;
	view.from = clamp(middle - span / 2, 0, data.span - span);
	view.to = view.from + span;
	draw();
}

// Zooms so that time `t` stays where it is.
function zoom(factor, t) {
	const span = clamp((view.to - view.from) * factor, least, data.span);
	const from = t - (t - view.from) * span / (view.to - view.from);
	look(from, from + span);
}

const time_at = x => view.from + (x - plot.left) / plot.width * (view.to - view.from);
const move = part => look(view.from + part * (view.to - view.from), view.to + part * (view.to - view.from));
const middle = () => (view.from + view.to) / 2;

function reset() {
	state.mark = null;
	look(0, data.span);
}

Object.assign(keys, {
	"+": () => zoom(0.5, middle()), "=": () => zoom(0.5, middle()), "-": () => zoom(2, middle()),
	w: () => zoom(0.5, middle()), s: () => zoom(2, middle()),
	ArrowLeft: () => move(-0.25), ArrowRight: () => move(0.25), a: () => move(-0.25), d: () => move(0.25),
	"0": reset, Home: reset, n: () => next_hit(1), N: () => next_hit(-1),
});

// ---- what is under the pointer ----

function row_at(y) {
	const i = Math.floor((y - plot.top) / plot.step);
	return y < plot.top + Math.max(0, window.scrollY) ? null : rows[i];
}

function range_text(begin, end) {
	return `${moment(begin, 9)} to ${moment(end, 9)}, ${span_text(end - begin)}`;
}

// Several segments in one pixel: the values that hold longest, with their shares.
function several(row, found, from, to) {
	const held = new Map();
	let count = 0;
	for (const segment of found) {
		const part = (Math.min(segment.end, to) - Math.max(segment.begin, from)) / (to - from);
		count += segment.count;
		if (segment.value >= 0)
			held.set(text_of(segment), (held.get(text_of(segment)) || 0) + part);
		else
			each_share(segment, (tone, share) => {
				const name = data.tones[tone];
				held.set(name, (held.get(name) || 0) + part * share);
			});
	}
	const known = [...held.values()].reduce((sum, share) => sum + share, 0);
	const most = [...held].sort((a, b) => b[1] - a[1]).slice(0, 5);
	if (known < 0.9999)
		most.push(["unknown, or none", 1 - known]);
	return [row.label, `${count} intervals within ${span_text(to - from)}:`,
		...most.map(([name, share]) => `${percent(share).padStart(7)}  ${name}`), range_text(from, to)];
}

function lines_at(at) {
	const row = row_at(at.y);
	if (!row || at.x < plot.left || at.x >= plot.left + plot.width)
		return row && at.x < plot.left ? [row.label] : null;
	const from = time_at(Math.floor(at.x)), to = time_at(Math.floor(at.x) + 1), found = [];
	const first = first_after(row.segments, from);
	for (let i = first; i < row.segments.length && row.segments[i].begin < to; i++)
		found.push(row.segments[i]);
	if (!found.length) {
		const begin = first ? row.segments[first - 1].end : 0;
		const end = first < row.segments.length ? row.segments[first].begin : data.span;
		return [row.label, row.lost ? "nothing is known to be lost" : "unknown, or none", range_text(begin, end)];
	}
	if (found.length > 1)
		return several(row, found, from, to);
	if (found[0].value < 0)
		return several(row, found, found[0].begin, found[0].end).concat("drawn as one: too short for this picture");
	return [row.label, text_of(found[0]), range_text(found[0].begin, found[0].end)];
}

// ---- search ----

function find(words) {
	state.words = words;
	state.hits = state.mark = null;
	draw();
	if (!words)
		return "";
	const wanted = new Set();
	data.values.forEach(([, name], i) => name.toLowerCase().includes(words) && wanted.add(i));
	const hits = { rows: new Set(), list: [] };
	for (const row of rows) {
		if (row.label.toLowerCase().includes(words))
			hits.rows.add(row);
		for (const segment of row.segments)
			if (wanted.has(segment.value)) {
				hits.rows.add(row);
				hits.list.push({ row, segment });
			}
	}
	hits.list.sort((a, b) => a.segment.begin - b.segment.begin);
	state.hits = hits;
	return `${hits.rows.size} rows, ${hits.list.length} intervals`;
}

// Goes to the next interval that was found, and marks it.
function next_hit(way) {
	const list = state.hits ? state.hits.list : [];
	if (!list.length)
		return;
	const at = state.mark ? list.indexOf(state.mark) : way > 0 ? -1 : 0;
	state.mark = list[(at + way + list.length) % list.length];
	const { begin, end } = state.mark.segment, span = Math.max(view.to - view.from, (end - begin) * 1.2);
	look((begin + end - span) / 2, (begin + end + span) / 2);
	const y = plot.top + rows.indexOf(state.mark.row) * plot.step;
	if (y < window.scrollY + plot.top || y > window.scrollY + window.innerHeight - plot.step)
		window.scrollTo(0, y - window.innerHeight / 2);
}

// ---- the window ----

const field = search_field(0, 4, 180, head, find, () => next_hit(1));
text("wheel, + and - zoom; drag, arrows move; double click: an interval; / searches, n goes on; 0 resets",
	plot.left, 50, head, "faint");
const pane = element("rect", { class: "plot", x: plot.left, y: plot.top }, null);
head.before(pane);

function fit() {
	const width = Math.max(600, document.documentElement.clientWidth || data.left + data.width + 20);
	plot.width = Math.floor(width - plot.left - 20);
	plot.bottom = plot.top + rows.length * plot.step;
	const height = Number(svg.getAttribute("height"));
	svg.setAttribute("width", width);
	svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
	pane.setAttribute("width", plot.width);
	pane.setAttribute("height", rows.length * plot.step);
	field.move(width - 200);
	draw();
}

drags(pane, (dx, dy) => {
	move(-dx / plot.width);
	window.scrollBy(0, -dy);
});
pane.addEventListener("wheel", event => {
	event.preventDefault();
	if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY))
		move((event.deltaX || event.deltaY) / plot.width);
	else
		zoom(2 ** clamp(event.deltaY / 200, -1, 1), time_at(place(event).x));
}, { passive: false });
pane.addEventListener("dblclick", event => {
	const at = place(event), row = row_at(at.y), t = time_at(at.x);
	const segment = row && row.segments[first_after(row.segments, t)];
	if (segment && segment.begin <= t)
		look(segment.begin - (segment.end - segment.begin) * 0.1, segment.end + (segment.end - segment.begin) * 0.1);
});
svg.addEventListener("pointermove", event => show_tip(event, event.buttons ? null : lines_at(place(event))));
svg.addEventListener("pointerleave", event => show_tip(event, null));
window.addEventListener("resize", fit);
window.addEventListener("scroll", draw);
fit();
