// view.js - what is shown: range, rows, their order, two moments; and the address that holds it
const view = { from: 0, to: 1, paths: [], order: "path", search: "", where: "", a: null, b: null, selected: "", scroll: 0 };
const rows = { all: [], shown: [], by_path: new Map(), more: false };
const plot = { left: 290, right: 10, row: 20, step: 24 };
const canvases = {};
const overlay = { critical: [], bars: null, matched: null };

const plot_width = () => Math.max(50, canvases.view.clientWidth - plot.left - plot.right);
const time_at = x => view.from + ((x - plot.left) / plot_width()) * (view.to - view.from);
const least = () => Math.min(20, trace.span);

// ---- the address ----

const note_address = (() => {
	let waiting = 0;
	return () => {
		clearTimeout(waiting);
		waiting = setTimeout(() => {
			const told = new URLSearchParams();
			told.set("t", trace.number);
			told.set("v", `${Math.round(view.from)},${Math.round(view.to)}`);
			view.paths.forEach(path => told.append("p", path));
			for (const [key, name] of [
				["o", "order"],
				["s", "search"],
				["w", "where"],
				["r", "selected"],
			])
				if (view[name] && view[name] !== "path") told.set(key, view[name]);
			for (const key of ["a", "b"]) if (view[key] !== null) told.set(key, Math.round(view[key]));
			history.replaceState(null, "", "#" + told);
		}, 100);
	};
})();

function read_address() {
	const told = new URLSearchParams(location.hash.slice(1)),
		number = text => (text === null || text === "" ? null : Number(text));
	trace.number = Number(told.get("t")) || 0;
	view.paths = told.getAll("p");
	view.order = told.get("o") || "path";
	view.search = told.get("s") || "";
	view.where = told.get("w") || "";
	view.selected = told.get("r") || "";
	view.a = number(told.get("a"));
	view.b = number(told.get("b"));
	return (told.get("v") || "").split(",").map(Number);
}

// ---- moving ----

function look(from, to) {
	const span = clamp(to - from, least(), trace.span),
		middle = (from + to) / 2;
	view.from = clamp(middle - span / 2, 0, trace.span - span);
	view.to = view.from + span;
	paint();
	load_rows();
	note_address();
}

function zoom(factor, t) {
	const span = clamp((view.to - view.from) * factor, least(), trace.span);
	const from = t - ((t - view.from) * span) / (view.to - view.from);
	look(from, from + span);
}

const move = part => look(view.from + part * (view.to - view.from), view.to + part * (view.to - view.from));
const middle = () => (view.from + view.to) / 2;

// ---- rows ----

const natural = new Intl.Collator("en", { numeric: true }).compare;
const orders = {
	path: (a, b) => a.group - b.group || natural(a.path, b.path),
	name: (a, b) => natural(a.name || "~", b.name || "~") || natural(a.path, b.path),
	activity: (a, b) => b.active - a.active || natural(a.path, b.path),
};

// What the words are found in: the row's path and name, and the values that are drawn.
function is_found(row, words) {
	if (row.path.toLowerCase().includes(words) || row.name.toLowerCase().includes(words)) return true;
	return row.data ? row.data.placed.some(run => run.text.toLowerCase().includes(words)) : false;
}

function arrange() {
	const words = view.search.toLowerCase();
	rows.shown = rows.all.filter(row => !words || is_found(row, words)).sort(orders[view.order] || orders.path);
	$("spacer").style.height = Math.max(0, rows.shown.length * plot.step - $("scroller").clientHeight) + "px";
	if (words) tell(`${rows.shown.length} of ${rows.all.length} rows`);
	paint();
}

// Rows of all paths; their activity is that of the visible range.
const load_tree = latest(async () => {
	const found = [],
		range = { from: Math.floor(view.from), to: Math.ceil(view.to) };
	let more = false;
	for (const [group, path] of view.paths.entries()) {
		const whole = await ask("tree", { path, from: 0, to: trace.span });
		const now = view.order === "activity" ? await ask("tree", { path, ...range }) : whole;
		const active = new Map(now.rows.map(row => [row[0], row[3]]));
		more = more || whole.more;
		for (const [path_of, name] of whole.rows) {
			const row = rows.by_path.get(path_of) || { path: path_of, data: null };
			found.push(Object.assign(row, { name, group, active: active.get(path_of) || 0 }));
		}
	}
	rows.by_path = new Map(found.map(row => [row.path, row]));
	rows.all = [...rows.by_path.values()];
	tell(more ? "not all rows are shown: name a narrower path" : rows.all.length ? "" : "no rows: add a path, such as cpu[*]/thread");
	arrange();
	load_rows();
});

// Scrolls where the row is seen.
function bring(path) {
	const place = rows.shown.findIndex(row => row.path === path);
	if (place >= 0) $("scroller").scrollTop = Math.max(0, (place + 1.5) * plot.step - $("scroller").clientHeight / 2);
}

function visible_rows() {
	const first = Math.max(0, Math.floor($("scroller").scrollTop / plot.step) - 2);
	return rows.shown.slice(first, first + Math.ceil(canvases.view.clientHeight / plot.step) + 4);
}

// Half a screen on both sides, so that a drag has something to show. A search is for values, too:
// of rows that it hides, as well.
const load_rows = latest(async () => {
	const span = view.to - view.from,
		wanted = view.search ? rows.all.slice(0, 400) : visible_rows();
	const from = Math.max(0, Math.floor(view.from - span / 2)),
		to = Math.min(trace.span, Math.ceil(view.to + span / 2));
	if (!wanted.length) return;
	const columns = clamp(Math.round(((to - from) / span) * plot_width()), 1, 16000);
	const begun = performance.now();
	const told = await ask("rows", { paths: wanted.map(row => row.path), from, to, columns });
	const got = new Map(told.rows.map(row => [row.path, row]));
	for (const row of wanted) {
		const own = got.get(row.path);
		row.data = { from, to, columns: told.columns, runs: own ? own.runs : [], values: told.values };
		row.data.placed = place_runs(row.data);
		row.name = (own && own.name) || row.name;
	}
	stats.asked = performance.now() - begun;
	stats.loaded = `${from},${to}`;
	stats.count++;
	if (view.search) arrange();
	paint();
});

const load_density = latest(async () => {
	const columns = Math.max(50, Math.min(2000, canvases.overview.clientWidth));
	overlay.bars = (await ask("density", { from: 0, to: trace.span, columns })).counts;
	paint();
});

// Of the visible range: where the condition is true.
const load_matched = latest(async () => {
	overlay.matched = null;
	if (view.where) {
		const from = Math.floor(view.from),
			to = Math.ceil(view.to);
		const told = await ask("density", { from, to, columns: Math.round(plot_width()), where: view.where });
		overlay.matched = { from, to, counts: told.counts };
		tell(`${told.counts.reduce((sum, count) => sum + count, 0)} events`);
	}
	paint();
});

// ---- painting ----

const stats = { frames: 0, paint: 0, asked: 0, loaded: "", count: 0 };

function size_canvas(canvas, width, height) {
	const ratio = window.devicePixelRatio || 1;
	if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
		canvas.width = Math.round(width * ratio);
		canvas.height = Math.round(height * ratio);
		canvas.style.width = width + "px";
		canvas.style.height = height + "px";
	}
	const draw = canvas.getContext("2d");
	draw.setTransform(ratio, 0, 0, ratio, 0, 0);
	draw.clearRect(0, 0, width, height);
	draw.font = "12px ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace";
	return draw;
}

function paint_overview() {
	const width = document.body.clientWidth,
		draw = size_canvas(canvases.overview, width, 40);
	if (overlay.bars) draw_bars(draw, overlay.bars, null, width, 40);
	const x = (view.from / trace.span) * width,
		end = (view.to / trace.span) * width;
	draw.fillStyle = tones.mark;
	draw.globalAlpha = 0.18;
	draw.fillRect(x, 0, Math.max(2, end - x), 40);
	draw.globalAlpha = 1;
	draw.strokeStyle = tones.mark;
	draw.strokeRect(x + 0.5, 0.5, Math.max(2, end - x) - 1, 39);
}

function paint_axis() {
	const width = document.body.clientWidth,
		draw = size_canvas(canvases.axis, width, 24),
		scale = plot_width() / (view.to - view.from);
	draw.fillStyle = tones.faint;
	draw.fillText(duration(view.to - view.from), 8, 15);
	ticks(view.from, view.to, plot_width(), (at, text) => {
		const x = plot.left + (at - view.from) * scale;
		draw.fillStyle = tones.line;
		draw.fillRect(x, 0, 1, 24);
		draw.fillStyle = tones.ink;
		draw.fillText(text, x + 3, 15);
	});
}

function paint_matched(draw, high) {
	if (!overlay.matched) return;
	const { from, to, counts } = overlay.matched,
		scale = plot_width() / (view.to - view.from),
		step = (to - from) / counts.length;
	draw.fillStyle = tones.mark;
	counts.forEach((count, i) => {
		const x = (from + i * step - view.from) * scale;
		if (count && x >= 0 && x < plot_width()) draw.fillRect(plot.left + x, 0, 1, Math.min(high, 6));
	});
}

function paint_moments(draw, high) {
	for (const key of ["a", "b"]) {
		if (view[key] === null) continue;
		const x = plot.left + ((view[key] - view.from) * plot_width()) / (view.to - view.from);
		if (x < plot.left || x > plot.left + plot_width()) continue;
		draw.fillStyle = tones.mark;
		draw.fillRect(x, 0, 1.5, high);
		draw.fillText(key.toUpperCase(), x + 4, high - 6);
	}
}

// The path is a line along its rows, and where it goes on to another one, between them.
function paint_critical(draw, top) {
	const scale = plot_width() / (view.to - view.from),
		places = new Map(rows.shown.map((row, i) => [row.path, i]));
	let last = null;
	draw.strokeStyle = tones.path;
	draw.lineWidth = 3;
	draw.beginPath();
	for (const part of overlay.critical) {
		const place = places.get(part.path);
		if (place === undefined) continue;
		const y = place * plot.step - top + plot.row - 1;
		const x = clamp((part.from - view.from) * scale, 0, plot_width()),
			end = clamp((part.to - view.from) * scale, 0, plot_width());
		if (last !== null && x > 0 && x < plot_width()) {
			draw.moveTo(plot.left + x, last);
			draw.lineTo(plot.left + x, y);
		}
		draw.moveTo(plot.left + x, y);
		draw.lineTo(plot.left + Math.max(end, x + 1), y);
		last = y;
	}
	draw.stroke();
	draw.lineWidth = 1;
}

function paint_rows() {
	const high = Math.max(60, $("scroller").clientHeight),
		draw = size_canvas(canvases.view, $("scroller").clientWidth, high);
	const top = $("scroller").scrollTop,
		first = Math.max(0, Math.floor(top / plot.step));
	for (let i = first; i < rows.shown.length && i * plot.step - top < high; i++) {
		const row = rows.shown[i],
			y = i * plot.step - top;
		if (row.path === view.selected) {
			draw.fillStyle = tones.row;
			draw.fillRect(0, y - 2, plot.left, plot.step);
		}
		draw.fillStyle = row.path === view.selected ? tones.mark : tones.ink;
		const label = row.name ? `${row.path} ${row.name}` : row.path,
			room = Math.floor((plot.left - 14) / 7.3);
		draw.fillText(label.length > room ? label.slice(0, room - 1) + "…" : label, 8, y + plot.row - 5);
		draw_row(draw, row, view.from, view.to, plot.left, plot_width(), y, plot.row);
	}
	paint_matched(draw, high);
	paint_critical(draw, top);
	paint_moments(draw, high);
}

const paint = (() => {
	let pending = false;
	return () => {
		if (pending) return;
		pending = true;
		requestAnimationFrame(() => {
			const begun = performance.now();
			pending = false;
			paint_overview();
			paint_axis();
			paint_rows();
			tell_moments();
			stats.frames++;
			stats.paint = performance.now() - begun;
		});
	};
})();

function tell_moments() {
	const parts = [`${day_of(view.from)}${moment(view.from, 9)} to ${moment(view.to, 9)}, ${duration(view.to - view.from)}`];
	if (view.a !== null) parts.push(`A ${moment(view.a, 9)}`);
	if (view.b !== null) parts.push(`B ${moment(view.b, 9)}`);
	if (view.a !== null && view.b !== null) parts.push(`B - A ${duration(view.b - view.a)}`);
	$("name").title = parts[0];
	$("moments").textContent = parts.join("   ");
}
