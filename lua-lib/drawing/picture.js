// picture.js - what all pictures share: elements, tooltip, search field, keys, wheel and drag
const svg = document.currentScript.closest("svg");

function element(name, attributes, parent) {
	const made = document.createElementNS("http://www.w3.org/2000/svg", name);
	for (const key in attributes)
		made.setAttribute(key, attributes[key]);
	if (parent)
		parent.append(made);
	return made;
}

function text(content, x, y, parent, look) {
	const made = element("text", { x, y, class: look || "" }, parent);
	made.textContent = content;
	return made;
}

const clamp = (value, low, high) => Math.max(low, Math.min(high, value));

// 1.5 ms, 20.125 us: as the program writes spans.
function duration(ns) {
	const units = [[1e9, "s", 9], [1e6, "ms", 6], [1e3, "us", 3], [1, "ns", 0]];
	const [size, unit, digits] = units.find(([size]) => Math.abs(ns) >= size) || units[3];
	const number = (ns / size).toFixed(digits);
	return (digits ? number.replace(/\.?0+$/, "") : number) + " " + unit;
}

const percent = share => (share * 100).toFixed(share < 0.1 ? 2 : 1) + " %";

// A function that has `paint` called before the next frame, once however often it is called until then.
function each_frame(paint) {
	let pending = false;
	return () => {
		if (pending)
			return;
		pending = true;
		requestAnimationFrame(() => {
			pending = false;
			paint();
		});
	};
}

// The place of the pointer in the picture's own units.
function place(event) {
	const at = svg.createSVGPoint();
	at.x = event.clientX;
	at.y = event.clientY;
	return at.matrixTransform(svg.getScreenCTM().inverse());
}

// Lines beside the pointer; null hides them.
const tip = element("g", { class: "tip" });
function show_tip(event, lines) {
	tip.replaceChildren();
	if (!lines)
		return;
	const at = place(event), size = svg.viewBox.baseVal;
	const wide = Math.max(...lines.map(line => line.length)) * 7.3 + 14, high = lines.length * 16 + 10;
	const x = clamp(at.x + 14, 0, Math.max(0, size.width - wide));
	const y = at.y + 18 + high > size.height ? Math.max(0, at.y - high - 8) : at.y + 18;
	element("rect", { x, y, width: wide, height: high, rx: 3 }, tip);
	lines.forEach((line, i) => text(line, x + 7, y + 18 + i * 16, tip, i ? "faint" : ""));
	svg.append(tip);
}

// A field that calls `find(words)` when they change and `next()` at Enter; find tells what to say.
function search_field(x, y, width, parent, find, next) {
	const box = element("foreignObject", { x, y, width, height: 24 }, parent);
	const field = document.createElementNS("http://www.w3.org/1999/xhtml", "input");
	const found = text("", x - 8, y + 16, parent, "faint");
	field.setAttribute("placeholder", "search ( / )");
	found.setAttribute("text-anchor", "end");
	found.id = "found";
	box.append(field);
	field.addEventListener("input", () => found.textContent = find(field.value.toLowerCase()));
	field.addEventListener("keydown", event => {
		event.stopPropagation();
		if (event.key === "Enter")
			next();
		if (event.key === "Escape") {
			field.value = "";
			found.textContent = find("");
			field.blur();
		}
	});
	keys["/"] = () => field.focus();
	return { move(to) {
		box.setAttribute("x", to);
		found.setAttribute("x", to - 8);
	} };
}

// What each key does; searching and other fields keep theirs.
const keys = {};
document.addEventListener("keydown", event => {
	const act = event.ctrlKey || event.metaKey || event.altKey ? null : keys[event.key];
	if (!act)
		return;
	event.preventDefault();
	act();
});

// Drags from `target`: move(dx, dy) for each step; a click is a drag that did not move.
function drags(target, move, click) {
	let from = null, far = 0;
	target.addEventListener("pointerdown", event => {
		if (event.button)
			return;
		from = { x: event.clientX, y: event.clientY };
		far = 0;
		target.setPointerCapture(event.pointerId);
	});
	target.addEventListener("pointermove", event => {
		if (!from)
			return;
		const dx = event.clientX - from.x, dy = event.clientY - from.y;
		far += Math.abs(dx) + Math.abs(dy);
		from = { x: event.clientX, y: event.clientY };
		if (far > 3)
			move(dx, dy);
	});
	target.addEventListener("pointerup", event => {
		if (from && far <= 3 && click)
			click(event);
		from = null;
	});
	target.addEventListener("pointercancel", () => from = null);
}
