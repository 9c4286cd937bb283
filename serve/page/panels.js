// panels.js - tables and the flame graph below the rows, and what is under the pointer

function element(name, attributes, ...inside) {
	const made = Object.assign(document.createElement(name), attributes || {});
	made.append(...inside);
	return made;
}

function show_panel(kind, title, ...inside) {
	const close = element("button", { textContent: "close (Esc)", onclick: hide_panel });
	$("panel").replaceChildren(element("h2", {}, title, close), ...inside);
	$("panel").dataset.kind = kind;
	$("panel").className = "shown";
	resized();
}

function hide_panel() {
	$("panel").className = "";
	$("panel").dataset.kind = "";
	$("panel").replaceChildren();
	resized();
}

function table_of(columns, lines, follow) {
	const body = element("tbody");
	for (const line of lines) {
		const row = element(
			"tr",
			{},
			...line.cells.map(cell =>
				element("td", { textContent: cell === null ? "" : String(cell), className: typeof cell === "number" ? "number" : "" }),
			),
		);
		if (follow) {
			row.className = "follows";
			row.onclick = () => follow(line);
		}
		body.append(row);
	}
	const head = element("tr", {}, ...columns.map(name => element("th", { textContent: name })));
	return element("table", {}, element("thead", {}, head), body);
}

const visible = () => ({ from: Math.floor(view.from), to: Math.ceil(view.to) });

// ---- events ----

function go_to(t) {
	view.a = t;
	const span = view.to - view.from;
	if (t < view.from || t > view.to) look(t - span / 2, t + span / 2);
	paint();
	note_address();
}

async function show_events() {
	const told = await ask("events", { ...visible(), where: view.where, limit: 500 });
	const lines = told.events.map(([t, cpu, tid, name, contents]) => ({ t, cells: [moment(t, 9), cpu, tid, name, contents] }));
	const title = `${lines.length}${lines.length === 500 ? " first" : ""} events${view.where ? " where " + view.where : ""}`;
	show_panel(
		"events",
		title,
		table_of(["time", "CPU", "thread", "event", "contents"], lines, line => go_to(line.t)),
	);
	load_matched();
}

// ---- analyses ----

// Times of rows are ns since the clock's origin.
const offset_of = ns => Number(BigInt(ns) - trace.first);

async function show_analysis(name) {
	tell(`${name}…`);
	const told = await ask("analysis", { name, ...visible() });
	const columns = [...new Set(told.rows.flatMap(row => Object.keys(row)))];
	const lines = told.rows
		.slice(0, 2000)
		.map(row => ({
			row,
			cells: columns.map(key =>
				row[key] === undefined ? null : typeof row[key] === "object" && row[key] ? JSON.stringify(row[key]) : row[key],
			),
		}));
	tell("");
	show_panel(
		"analysis",
		`${name} of the visible range: ${told.rows.length} rows`,
		table_of(columns, lines, line => {
			if (typeof line.row.begin === "number") go_to(offset_of(line.row.begin));
		}),
	);
}

// ---- critical path ----

const thread_of = path => Number((path.match(/thread\[(\d+)\]/) || [])[1] ?? NaN);

// The thread of the selected row: its own, or the one that it shows in the middle.
function selected_thread() {
	const row = rows.by_path.get(view.selected);
	if (!row) return NaN;
	if (!Number.isNaN(thread_of(row.path))) return thread_of(row.path);
	const t = view.a !== null ? view.a : middle(),
		run = row.data && row.data.placed[first_after(row.data.placed, t)];
	return row.path.endsWith("/thread") && run ? parseInt(run.text, 10) : NaN;
}

async function show_critical() {
	const tid = selected_thread();
	if (Number.isNaN(tid)) {
		tell("select the row of a thread first: click on it", true);
		return;
	}
	tell("critical path…");
	const told = await ask("analysis", { name: "critical-path", tid, ...visible() });
	overlay.critical = told.rows.map(row => ({ path: `thread[${row.tid}]/state`, from: offset_of(row.begin), to: offset_of(row.end) }));
	const lines = told.rows.map(row => ({
		row,
		cells: [moment(offset_of(row.begin), 9), duration(row.dur), row.what, row.tid, row.comm, row.state],
	}));
	tell("");
	show_panel(
		"critical",
		`critical path of thread ${tid}: ${lines.length} stretches`,
		table_of(["from", "for", "what", "thread", "name", "state"], lines, line => go_to(offset_of(line.row.begin))),
	);
	if (!view.paths.includes("thread[*]/state")) add_path("thread[*]/state");
	bring(view.selected);
	paint();
}

// ---- flame graph ----

const flames = { root: null, top: null, boxes: [], unit: "" };

function add_stack(root, frames, weight) {
	let node = root;
	node.weight += weight;
	for (const frame of frames) {
		if (!node.below.has(frame)) node.below.set(frame, { name: frame, weight: 0, below: new Map() });
		node = node.below.get(frame);
		node.weight += weight;
	}
}

function flame_boxes(node, depth, left, width, out) {
	out.push({ node, depth, left, width });
	let x = left;
	for (const below of [...node.below.values()].sort((a, b) => b.weight - a.weight)) {
		const wide = (width * below.weight) / node.weight;
		if (wide >= 1) flame_boxes(below, depth + 1, x, wide, out);
		x += wide;
	}
}

function paint_flames() {
	const canvas = $("flame");
	if (!canvas) return;
	const width = $("panel").clientWidth - 20;
	flames.boxes = [];
	flame_boxes(flames.top, 0, 0, width, flames.boxes);
	const deep = Math.max(...flames.boxes.map(box => box.depth)) + 1,
		draw = size_canvas(canvas, width, deep * 18);
	for (const { node, depth, left, width: wide } of flames.boxes) {
		draw.fillStyle = tones.css[depth === 0 ? 4 : [6, 10, 11, 5][depth % 4]];
		draw.fillRect(left, depth * 18, Math.max(1, wide - 1), 17);
		const room = Math.floor((wide - 6) / 7.3);
		if (room >= 3) {
			draw.fillStyle = depth ? "#10141a" : tones.ink;
			draw.fillText(node.name.length > room ? node.name.slice(0, room - 1) + "…" : node.name, left + 3, depth * 18 + 13);
		}
	}
}

const flame_at = event =>
	flames.boxes.find(box => event.offsetX >= box.left && event.offsetX < box.left + box.width && Math.floor(event.offsetY / 18) === box.depth);

async function show_flames() {
	tell("flame graph…");
	const told = await ask("analysis", { name: "flamegraph", ...visible() });
	const root = { name: "all", weight: 0, below: new Map() };
	for (const row of told.rows) add_stack(root, [row.comm, ...String(row.stack).split(";")], row.weight);
	Object.assign(flames, { root, top: root });
	tell("");
	const canvas = element("canvas", { id: "flame", height: 20 });
	canvas.onclick = event => {
		const box = flame_at(event);
		flames.top = box ? (box.node === flames.top ? flames.root : box.node) : flames.root;
		paint_flames();
	};
	canvas.onpointermove = event => {
		const box = flame_at(event);
		show_tip(
			event,
			box
				? [box.node.name, `${box.node.weight} of ${flames.root.weight}, ${((box.node.weight / flames.root.weight) * 100).toFixed(2)} %`]
				: null,
		);
	};
	canvas.onpointerleave = () => show_tip(null, null);
	show_panel("flames", `flame graph of the visible range: ${told.rows.length} stacks`, canvas);
	paint_flames();
}

// ---- what is under the pointer ----

function show_tip(event, lines) {
	const tip = $("tip");
	tip.style.display = lines ? "block" : "none";
	if (!lines) return;
	tip.textContent = lines.join("\n");
	tip.style.left = Math.min(event.clientX + 14, window.innerWidth - tip.offsetWidth - 4) + "px";
	tip.style.top = (event.clientY + 18 + tip.offsetHeight > window.innerHeight ? event.clientY - tip.offsetHeight - 8 : event.clientY + 18) + "px";
}

const row_at = y => rows.shown[Math.floor((y + $("scroller").scrollTop) / plot.step)];

function lines_at(x, y) {
	const row = row_at(y);
	if (!row) return null;
	if (x < plot.left) return [row.path, row.name].filter(text => text);
	const t = time_at(x),
		run = row.data && row.data.placed[first_after(row.data.placed, t)];
	const head = row.name ? `${row.path} ${row.name}` : row.path;
	if (!run || run.begin > t) return [head, "unknown, or none", moment(t, 9)];
	const about = row.data.columns < trace.span ? "about " : "";
	return [
		head,
		run.text + (run.mixed ? " and others: it held longest" : ""),
		`${about}${moment(run.begin, 9)} to ${moment(run.end, 9)}, ${duration(run.end - run.begin)}`,
		"click: exactly, and what set it",
	];
}

// The value, exactly: since when, and by which event.
async function show_why(row, t) {
	const told = await ask("why", { path: row.path, from: Math.round(t) });
	const lines = [
		["attribute", row.path],
		["at", moment(t, 9)],
		["value", told.known ? told.value : "unknown"],
	];
	if (told.since !== null && told.since !== undefined) lines.push(["since", moment(told.since, 9)]);
	if (told.event) lines.push(["set by", `${told.event} at ${moment(told.at, 9)}`], ["rule", `${told.rules}:${told.line}`]);
	show_panel(
		"why",
		row.path,
		table_of(
			["", ""],
			lines.map(cells => ({ cells })),
		),
	);
}

function show_keys() {
	const keys_told = [
		["wheel, + -, w s", "zoom"],
		["drag, arrows, a d", "move"],
		["wheel on names, ↑ ↓", "scroll"],
		["0, Home", "the whole trace"],
		["click", "moment A, and what the value is"],
		["Shift+click", "moment B: the difference is told"],
		["/", "search rows and values; others hide"],
		["n N", "next, last value that is found"],
		["o", "order: path, name, activity"],
		[":", "condition on events, as yore's --where"],
		["e", "events of the visible range"],
		["c", "critical path of the selected thread"],
		["f", "flame graph of the visible range"],
		["Escape", "close, forget moments"],
	];
	show_panel(
		"keys",
		"keys",
		element("div", { id: "help" }, ...keys_told.map(([key, what]) => element("div", {}, element("kbd", { textContent: key }), " " + what))),
	);
}
