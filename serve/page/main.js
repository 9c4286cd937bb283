// main.js - mouse, keys, fields; the beginning; traces that grow

function resized() {
	arrange();
	load_rows();
	paint_flames();
}

function add_path(path) {
	if (path && !view.paths.includes(path)) view.paths.push(path);
	load_tree();
	note_address();
}

// ---- mouse ----

function drags(target, move_by, click) {
	let from = null,
		far = 0;
	target.addEventListener("pointerdown", event => {
		if (event.button) return;
		from = { x: event.clientX, y: event.clientY };
		far = 0;
		target.setPointerCapture(event.pointerId);
	});
	target.addEventListener("pointermove", event => {
		if (!from) return;
		const dx = event.clientX - from.x,
			dy = event.clientY - from.y;
		far += Math.abs(dx) + Math.abs(dy);
		from = { x: event.clientX, y: event.clientY };
		if (far > 3) move_by(dx, dy, event);
	});
	target.addEventListener("pointerup", event => {
		if (from && far <= 3) click(event);
		from = null;
	});
	target.addEventListener("pointercancel", () => (from = null));
}

function click_row(event) {
	const row = row_at(event.offsetY);
	if (row) view.selected = row.path;
	if (event.offsetX >= plot.left) {
		const t = Math.round(clamp(time_at(event.offsetX), 0, trace.span - 1));
		view[event.shiftKey ? "b" : "a"] = t;
		if (row && !event.shiftKey) show_why(row, t).catch(why => tell(why.message, true));
	}
	paint();
	note_address();
}

function wire_mouse() {
	drags(
		canvases.view,
		(dx, dy) => {
			move(-dx / plot_width());
			$("scroller").scrollTop -= dy;
		},
		click_row,
	);
	canvases.view.addEventListener(
		"wheel",
		event => {
			if (event.offsetX < plot.left) return; // names scroll
			event.preventDefault();
			if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) move((event.deltaX || event.deltaY) / plot_width());
			else zoom(2 ** clamp(event.deltaY / 200, -1, 1), time_at(event.offsetX));
		},
		{ passive: false },
	);
	canvases.view.addEventListener("dblclick", event => {
		const row = row_at(event.offsetY),
			t = time_at(event.offsetX),
			run = row && row.data && row.data.placed[first_after(row.data.placed, t)];
		if (run && run.begin <= t) look(run.begin - (run.end - run.begin) * 0.1, run.end + (run.end - run.begin) * 0.1);
	});
	canvases.view.addEventListener("pointermove", event => show_tip(event, event.buttons ? null : lines_at(event.offsetX, event.offsetY)));
	canvases.view.addEventListener("pointerleave", event => show_tip(event, null));
	const jump = event => {
		const t = (event.offsetX / canvases.overview.clientWidth) * trace.span,
			span = view.to - view.from;
		look(t - span / 2, t + span / 2);
	};
	drags(canvases.overview, (dx, dy, event) => jump(event), jump);
	drags(
		canvases.axis,
		dx => move(-dx / plot_width()),
		() => {},
	);
	$("scroller").addEventListener("scroll", () => {
		paint();
		load_rows();
	});
	window.addEventListener("resize", () => {
		resized();
		load_density();
	});
}

// ---- search ----

function search(words) {
	view.search = words;
	$("scroller").scrollTop = 0;
	arrange();
	load_rows();
	note_address();
	if (!words) tell("");
}

// Goes to the next run whose value is found, of the rows that are shown.
function next_found(way) {
	const words = view.search.toLowerCase(),
		from = view.a === null ? middle() : view.a;
	let best = null;
	for (const row of words ? rows.shown : [])
		for (const run of row.data ? row.data.placed : [])
			if (
				run.text.toLowerCase().includes(words) &&
				(way > 0 ? run.begin > from : run.begin < from) &&
				(!best || (way > 0 ? run.begin < best.begin : run.begin > best.begin))
			)
				best = run;
	if (best) go_to(Math.round(best.begin));
	else tell("no more in what is loaded");
}

// ---- keys and fields ----

const fail = why => tell(why.message, true);

const keys = {
	"+": () => zoom(0.5, middle()),
	"=": () => zoom(0.5, middle()),
	"-": () => zoom(2, middle()),
	w: () => zoom(0.5, middle()),
	s: () => zoom(2, middle()),
	ArrowLeft: () => move(-0.25),
	ArrowRight: () => move(0.25),
	a: () => move(-0.25),
	d: () => move(0.25),
	ArrowUp: () => ($("scroller").scrollTop -= plot.step * 3),
	ArrowDown: () => ($("scroller").scrollTop += plot.step * 3),
	0: () => look(0, trace.span),
	Home: () => look(0, trace.span),
	"/": () => $("search").focus(),
	":": () => $("where").focus(),
	n: () => next_found(1),
	N: () => next_found(-1),
	o: () => set_order({ path: "name", name: "activity", activity: "path" }[view.order]),
	e: () => show_events().catch(fail),
	c: () => show_critical().catch(fail),
	f: () => show_flames().catch(fail),
	"?": show_keys,
	Escape: () => {
		hide_panel();
		Object.assign(view, { a: null, b: null });
		overlay.critical = [];
		paint();
		note_address();
	},
};

function set_order(order) {
	view.order = order;
	$("order").value = order;
	load_tree();
	note_address();
}

function wire_fields() {
	document.addEventListener("keydown", event => {
		const typing = /^(INPUT|SELECT)$/.test(event.target.tagName),
			act = keys[event.key];
		if (typing && event.key === "Escape") event.target.blur();
		if (typing || !act || event.ctrlKey || event.metaKey || event.altKey) return;
		event.preventDefault();
		act();
	});
	$("search").addEventListener("input", () => search($("search").value));
	$("search").addEventListener("keydown", event => {
		if (event.key === "Enter") next_found(1);
		if (event.key === "Escape") {
			$("search").value = "";
			search("");
		}
	});
	$("where").addEventListener("change", () => {
		view.where = $("where").value;
		note_address();
		if (view.where) show_events().catch(fail);
		else load_matched();
	});
	$("path").addEventListener("change", () => {
		add_path($("path").value.trim());
		$("path").value = "";
	});
	$("order").addEventListener("change", () => set_order($("order").value));
	$("analysis").addEventListener("change", () => {
		if ($("analysis").value) show_analysis($("analysis").value).catch(fail);
		$("analysis").value = "";
	});
	$("trace").addEventListener("change", () => {
		location.hash = "#t=" + $("trace").value;
		location.reload();
	});
	for (const [id, key] of [
		["events", "e"],
		["critical", "c"],
		["flames", "f"],
		["keys", "?"],
	])
		$(id).addEventListener("click", keys[key]);
}

// ---- the beginning, and traces that grow ----

function take_info(info) {
	Object.assign(trace, {
		first: BigInt(info.first),
		span: info.span,
		epoch: info.epoch,
		ordinals: info.ordinals,
		generation: info.generation,
		counted: info.counted,
		events: info.events,
	});
	document.title = `${info.name} - yore`;
	$("name").textContent = info.name;
}

async function look_again() {
	const span = trace.span,
		before = trace.generation,
		whole = view.from <= 0 && view.to >= span,
		counted = trace.counted;
	const info = await ask("info");
	take_info(info);
	if (info.generation !== before) {
		if (whole) look(0, trace.span);
		else if ($("follow").checked) look(trace.span - (view.to - view.from), trace.span);
		load_tree();
	}
	if (info.generation !== before || info.counted !== counted) load_density();
	if (info.follows || !info.counted) setTimeout(() => look_again().catch(fail), 1000);
}

const usual = ["cpu[*]/thread", "thread[*]/state"];

async function begin() {
	for (const name of ["view", "axis", "overview"]) canvases[name] = $(name);
	const [from, to] = read_address(),
		info = await ask("info");
	tones.rgba = new Array(13);
	read_colors();
	take_info(info);
	if (!view.paths.length) view.paths = usual.filter(path => info.classes.includes(path));
	for (const path of info.classes.slice(0, 40))
		// of other kinds of traces: the first that has rows
		if (!view.paths.length && (await ask("tree", { path, from: 0, to: trace.span })).rows.length) view.paths = [path];
	$("paths").append(...info.classes.map(value => element("option", { value })));
	$("trace").append(...info.traces.map((text, value) => element("option", { value, textContent: text })));
	$("trace").value = trace.number;
	$("trace").hidden = info.traces.length < 2;
	$("analysis").append(...info.analyses.map(([value, title]) => element("option", { value, title, textContent: value })));
	$("following").hidden = !info.follows;
	for (const [id, name] of [
		["search", "search"],
		["where", "where"],
		["order", "order"],
	])
		$(id).value = view[name];
	wire_mouse();
	wire_fields();
	matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
		read_colors();
		rows.all.forEach(row => row.data && (row.data.strip = null));
		paint();
		paint_flames();
	});
	look(from || 0, to || trace.span);
	load_tree();
	load_density();
	if (view.where) load_matched();
	if (info.follows || !info.counted) setTimeout(() => look_again().catch(fail), 500);
	window.yore = { view, rows, trace, stats, overlay, plot, canvases, look, flames };
}

begin().catch(fail);
