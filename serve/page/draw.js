// draw.js - colours, and rows as strips: a pixel wide column each, drawn at any scale at once
const tones = { css: [], rgba: [], hatch: null, stripes: null, ink: "", faint: "", line: "", page: "", mark: "", path: "" };

function pattern_of(color, alpha) {
	const tile = new OffscreenCanvas(6, 6),
		draw = tile.getContext("2d");
	draw.strokeStyle = color;
	draw.globalAlpha = alpha;
	draw.beginPath();
	for (const at of [-6, 0, 6]) {
		draw.moveTo(at - 1, 7);
		draw.lineTo(at + 7, -1);
	}
	draw.stroke();
	return draw.createPattern(tile, "repeat");
}

function read_colors() {
	const style = getComputedStyle(document.documentElement),
		get = name => style.getPropertyValue("--" + name).trim();
	const dot = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
	tones.css = tones.rgba.map(() => "");
	for (let i = 0; i < 13; i++) {
		tones.css[i] = get("t" + i);
		dot.fillStyle = tones.css[i];
		dot.fillRect(0, 0, 1, 1);
		tones.rgba[i] = [...dot.getImageData(0, 0, 1, 1).data];
	}
	for (const name of ["ink", "faint", "line", "page", "mark", "path", "row"]) tones[name] = get(name);
	tones.hatch = pattern_of(get("hatch"), 1);
	tones.stripes = pattern_of(get("stripe"), 0.8);
}

// Columns of one row: the upper half is the value that held longest, the lower one is darker where
// others held, too.
function make_strip(runs, values, columns) {
	const strip = new OffscreenCanvas(columns, 2),
		draw = strip.getContext("2d");
	const image = draw.createImageData(columns, 2);
	let column = 0;
	for (let i = 0; i < runs.length; i += 3) {
		const [count, value, mixed] = [runs[i], runs[i + 1], runs[i + 2]];
		if (value) {
			const [r, g, b] = tones.rgba[values[value - 1][0]],
				shade = mixed ? 0.8 : 1;
			for (let k = column; k < column + count; k++) {
				image.data.set([r, g, b, 255], k * 4);
				image.data.set([r * shade, g * shade, b * shade, 255], (columns + k) * 4);
			}
		}
		column += count;
	}
	draw.putImageData(image, 0, 0);
	return strip;
}

// Runs with where they begin and end, for texts and for the pointer.
function place_runs(data) {
	const placed = [],
		step = (data.to - data.from) / data.columns;
	let column = 0;
	for (let i = 0; i < data.runs.length; i += 3) {
		const begin = column,
			[count, value, mixed] = [data.runs[i], data.runs[i + 1], data.runs[i + 2]];
		column += count;
		if (value)
			placed.push({
				begin: data.from + begin * step,
				end: data.from + column * step,
				tone: data.values[value - 1][0],
				text: data.values[value - 1][1],
				mixed: !!mixed,
			});
	}
	return placed;
}

// The first run that ends behind t.
function first_after(runs, t) {
	let low = 0,
		high = runs.length;
	while (low < high) {
		const middle = (low + high) >> 1;
		if (runs[middle].end > t) high = middle;
		else low = middle + 1;
	}
	return low;
}

function draw_texts(draw, row, from, to, left, width, y, high) {
	const scale = width / (to - from);
	for (let i = first_after(row.data.placed, from); i < row.data.placed.length && row.data.placed[i].begin < to; i++) {
		const run = row.data.placed[i];
		const x = Math.max(0, (run.begin - from) * scale),
			end = Math.min(width, (run.end - from) * scale);
		if (end - x < 12) continue;
		if (run.tone === 3) {
			draw.fillStyle = tones.stripes;
			draw.fillRect(left + x, y, end - x, high);
		}
		const room = Math.floor((end - x - 6) / 7.3);
		if (room < 3 || (run.text.length > room && room < 6)) continue;
		draw.fillStyle = run.tone === 3 ? "#ffffff" : run.tone === 2 || run.tone === 4 ? tones.ink : "#10141a";
		draw.fillText(run.text.length > room ? run.text.slice(0, room - 1) + "…" : run.text, left + x + 3, y + high - 5);
	}
}

function draw_row(draw, row, from, to, left, width, y, high) {
	draw.fillStyle = tones.hatch;
	draw.fillRect(left, y, width, high);
	if (!row.data) return;
	const data = row.data,
		scale = width / (to - from),
		per = (data.to - data.from) / data.columns;
	const begin = Math.max(from, data.from),
		end = Math.min(to, data.to);
	if (begin >= end) return;
	if (!data.strip) data.strip = make_strip(data.runs, data.values, data.columns);
	draw.imageSmoothingEnabled = false;
	draw.drawImage(data.strip, (begin - data.from) / per, 0, (end - begin) / per, 2, left + (begin - from) * scale, y, (end - begin) * scale, high);
	draw_texts(draw, row, from, to, left, width, y, high);
}

// Bars of counts, the tallest as high as the canvas; `of` also draws those for which a condition is
// true.
function draw_bars(draw, counts, matched, width, high) {
	const most = Math.max(1, ...counts),
		step = width / counts.length;
	const bar = count => (count ? Math.max(1.5, (Math.log1p(count) / Math.log1p(most)) * (high - 2)) : 0);
	draw.fillStyle = tones.css[5];
	counts.forEach((count, i) => draw.fillRect(i * step, high - bar(count), Math.max(1, step), bar(count)));
	if (!matched) return;
	draw.fillStyle = tones.mark;
	matched.forEach((count, i) => draw.fillRect(i * step, high - bar(count), Math.max(1, step), bar(count)));
}
