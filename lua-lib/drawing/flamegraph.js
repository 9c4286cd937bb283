// flamegraph.js - zooms and searches a flame graph; its frames are the elements that were drawn
const head = svg.querySelector("#head"), axis = svg.querySelector("#axis"), range = svg.querySelector("#range");
const margin = Number(svg.querySelector("#frames").dataset.margin);
const drawn = svg.viewBox.baseVal.width - 2 * margin, unit = svg.querySelector("#frames").dataset.unit;
const total = Number(svg.querySelector("#frames").dataset.total), rest = range.textContent;
const view = { from: 0, to: 1, width: drawn, focus: null, words: "" };

const frames = [...svg.querySelectorAll(".frame")].map(group => {
	const box = group.querySelector("rect"), title = group.querySelector("title");
	const from = (Number(box.getAttribute("x")) - margin) / drawn;
	const frame = { group, box, from, to: from + Number(box.getAttribute("width")) / drawn,
		y: Number(box.getAttribute("y")), weight: Number(group.dataset.weight), kind: group.getAttribute("class"),
		change: group.dataset.change === undefined ? null : Number(group.dataset.change),
		name: title.textContent.split("\n")[0] };
	title.remove();
	group.querySelectorAll("text").forEach(old => old.remove());
	return frame;
});
const places = new Map(frames.map(frame => [frame.group, frame]));

const amount = weight => unit === "ns" ? duration(weight) : `${weight} ${unit}`;

function matches(frame) {
	return view.words && frame.name.toLowerCase().includes(view.words);
}

function draw_frame(frame) {
	const scale = view.width / (view.to - view.from), slack = 1e-9;
	const from = Math.max(frame.from, view.from), to = Math.min(frame.to, view.to), wide = (to - from) * scale;
	const shown = wide > 0.3;
	frame.group.style.display = shown ? "" : "none";
	frame.group.querySelectorAll("text").forEach(old => old.remove());
	if (!shown)
		return;
	const above = view.focus && frame.from < view.from - slack || frame.to > view.to + slack;
	frame.group.setAttribute("class", frame.kind + (matches(frame) ? " hit" : "") + (above ? " above" : ""));
	frame.box.setAttribute("x", margin + (from - view.from) * scale);
	frame.box.setAttribute("width", wide);
	const room = Math.floor((wide - 6) / 7.3);
	if (room >= 3) {
		const name = frame.name.length > room ? frame.name.slice(0, room - 1) + "…" : frame.name;
		const label = text(name, margin + (from - view.from) * scale + 3, frame.y + 13, frame.group, "on");
		label.style.pointerEvents = "none";
	}
}

// 1, 2 or 5 times a power of ten, at least `number`; of nanoseconds, which are whole, at least 1.
function round_up(number) {
	const power = 10 ** Math.floor(Math.log10(number));
	const found = power * [1, 2, 5, 10].find(step => step * power >= number * (1 - 1e-9));
	return unit === "ns" ? Math.max(1, found) : found;
}

function draw_axis() {
	const shown = total * (view.to - view.from), step = round_up(shown / 6);
	axis.replaceChildren();
	for (let i = 0; i * step <= shown * (1 + 1e-9); i++) {
		const x = margin + view.width * i * step / shown;
		element("path", { class: "tick", d: `M${x} 82v8` }, axis);
		const label = text(amount(Number((i * step).toPrecision(12))), x, 98, axis, "faint");
		label.setAttribute("text-anchor", i === 0 ? "start" : x > margin + view.width - 40 ? "end" : "middle");
	}
}

const draw = each_frame(() => {
	head.setAttribute("transform", `translate(0 ${Math.max(0, window.scrollY)})`);
	frames.forEach(draw_frame);
	draw_axis();
	range.textContent = view.focus ? `${view.focus.name}: ${amount(view.focus.weight)}, `
		+ `${percent(view.focus.weight / total)} of all` : rest;
	svg.setAttribute("data-from", view.from);
	svg.setAttribute("data-to", view.to);
});

function look(from, to) {
	const span = clamp(to - from, 1e-7, 1);
	view.from = clamp((from + to - span) / 2, 0, 1 - span);
	view.to = view.from + span;
	draw();
}

function focus(frame) {
	view.focus = frame;
	look(frame ? frame.from : 0, frame ? frame.to : 1);
}

function zoom(factor, at) {
	const span = Math.min((view.to - view.from) * factor, 1), from = at - (at - view.from) * span / (view.to - view.from);
	if (span === 1)
		view.focus = null;
	look(from, from + span);
}

const move = part => look(view.from + part * (view.to - view.from), view.to + part * (view.to - view.from));
const middle = () => (view.from + view.to) / 2;

Object.assign(keys, {
	"+": () => zoom(0.5, middle()), "=": () => zoom(0.5, middle()), "-": () => zoom(2, middle()),
	ArrowLeft: () => move(-0.25), ArrowRight: () => move(0.25), "0": () => focus(null), Home: () => focus(null),
	Escape: () => focus(null),
});

// The share of the total in which a frame of that name is on the stack; one inside another counts once.
function find(words) {
	view.words = words;
	draw();
	if (!words)
		return "";
	const found = frames.filter(matches).sort((a, b) => a.from - b.from || b.to - a.to);
	let end = 0, share = 0;
	for (const frame of found)
		if (frame.from >= end - 1e-9) {
			share += frame.to - frame.from;
			end = frame.to;
		}
	return `${found.length} frames, ${percent(share)}`;
}

function frame_at(event) {
	const group = document.elementFromPoint(event.clientX, event.clientY);
	return group && places.get(group.closest(".frame"));
}

const field = search_field(0, 4, 180, head, find, () => {});
text("click: a frame fills the width; wheel zooms; drag, arrows move; / searches; 0 or Escape resets",
	margin, 50, head, "faint");

function fit() {
	const width = Math.max(600, document.documentElement.clientWidth || drawn + 2 * margin);
	view.width = width - 2 * margin;
	svg.setAttribute("width", width);
	svg.setAttribute("viewBox", `0 0 ${width} ${svg.getAttribute("height")}`);
	field.move(width - 200);
	draw();
}

drags(svg.querySelector("#frames"), (dx, dy) => {
	move(-dx / view.width);
	window.scrollBy(0, -dy);
}, event => {
	const frame = frame_at(event);
	if (frame)
		focus(frame.from <= 0 && frame.to >= 1 - 1e-9 ? null : frame);
});
svg.querySelector("#frames").addEventListener("wheel", event => {
	event.preventDefault();
	zoom(2 ** clamp(event.deltaY / 200, -1, 1),
		view.from + (place(event).x - margin) / view.width * (view.to - view.from));
}, { passive: false });
svg.addEventListener("pointermove", event => {
	const frame = event.buttons ? null : frame_at(event);
	show_tip(event, frame ? [frame.name, frame.change === null
		? `${frame.kind.split(" ")[1]}, ${amount(frame.weight)}, ${percent(frame.weight / total)} of all`
		: `${amount(frame.weight)}, ${percent(frame.weight / total)} of all, ${percent(frame.weight / total - frame.change / 100)} in the other: ${
			frame.change < 0 ? "" : "+"}${frame.change.toFixed(2)}`] : null);
});
svg.addEventListener("pointerleave", event => show_tip(event, null));
window.addEventListener("resize", fit);
window.addEventListener("scroll", draw);
fit();
// The frames that are called by none stand at the bottom: a tall graph is shown from there.
window.scrollTo(0, document.documentElement.scrollHeight);
