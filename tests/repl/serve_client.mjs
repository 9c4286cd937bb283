// serve_client.mjs - the operations of the Trace Server Protocol, through the client that viewers use
import { createRequire } from "node:module";
import path from "node:path";

const [modules, base, trace] = process.argv.slice(2);
const require = createRequire(path.join(path.resolve(modules), "x.js"));
const { HttpTspClient } = require("tsp-typescript-client/lib/protocol/http-tsp-client");
const { QueryHelper } = require("tsp-typescript-client/lib/models/query/query-helper");
const { Query } = require("tsp-typescript-client/lib/models/query/query");
const client = new HttpTspClient(base), name = path.basename(trace);
let failed = false;

function result(good, what, why) {
	console.log(`${good ? "PASS" : "FAIL"}: ${name}: ${what}`);
	if (!good)
		console.log("\t" + String(typeof why === "object" ? JSON.stringify(why, (_, value) => typeof value === "bigint" ? String(value) : value) : why).slice(0, 1500));
	failed ||= !good;
}

// The model of a response; what is wrong with it is a failed row.
async function model_of(response, what) {
	const told = await response, model = told.getModel();
	if (!told.isOk() || model === undefined || (model.status !== undefined && model.status === "FAILED" && !model.model))
		result(false, what, [told.getStatusCode(), told.getText()]);
	return model;
}

async function opened() {
	const health = await model_of(client.checkHealth(), "health");
	result(health.status === "UP" && (await model_of(client.fetchIdentifier(), "identifier")).productId === "yore", "health and identifier", health);
	const made = await model_of(client.openTrace(new Query({ name, uri: path.resolve(trace) })), "open a trace");
	const one = await model_of(client.fetchTrace(made.UUID), "a trace"), all = await model_of(client.fetchTraces(), "traces");
	result(one.UUID === made.UUID && all.some(each => each.UUID === made.UUID) && typeof made.start === "bigint", "a trace is opened", made);
	let experiment = await model_of(client.createExperiment(new Query({ name, traces: [made.UUID] })), "an experiment");
	while (experiment.indexingStatus === "RUNNING") {
		await new Promise(done => setTimeout(done, 200));
		experiment = await model_of(client.fetchExperiment(experiment.UUID), "an experiment");
	}
	result(experiment.nbEvents > 0 && (await model_of(client.fetchExperiments(), "experiments")).length === 1, `an experiment of ${experiment.nbEvents} events`, experiment);
	const missing = await client.openTrace(new Query({ name: "x", uri: "/etc/passwd" }));
	result(missing.getStatusCode() === 404 && missing.getErrorResponse() !== undefined, "no other file is a trace", missing.getText());
	return experiment;
}

async function tables(experiment, output) {
	const columns = (await model_of(client.fetchTableColumns(experiment.UUID, output.id, QueryHelper.query()), "columns")).model;
	const query = QueryHelper.tableQuery(columns.map(column => column.id), 0, 20);
	const lines = (await model_of(client.fetchTableLines(experiment.UUID, output.id, query), "lines")).model;
	result(lines.lines.length === Math.min(20, experiment.nbEvents) && lines.size === experiment.nbEvents
		&& lines.lines.every(line => line.cells.length === columns.length), "a table of events", lines.lines[0]);
	const at = QueryHelper.timeQuery([(experiment.start + experiment.end) / 2n], { requested_table_count: 1, requested_table_column_ids: [0] });
	const middle = (await model_of(client.fetchTableLines(experiment.UUID, output.id, at), "lines at a time")).model;
	result(!middle.lines.length || BigInt(middle.lines[0].cells[0].content) >= (experiment.start + experiment.end) / 2n, "lines at a time", middle);
	const found = QueryHelper.tableQuery([2], 0, 1, { table_search_expressions: { 2: "." }, table_search_direction: "NEXT" });
	result((await model_of(client.fetchTableLines(experiment.UUID, output.id, found), "search")).model.lines[0].tags === 1, "search", found);
}

async function graphs(experiment, outputs) {
	const arrows = new Set();
	let rows = 0, states = 0;
	for (const output of outputs) {
		const tree = (await model_of(client.fetchTimeGraphTree(experiment.UUID, output.id, QueryHelper.timeRangeQuery(experiment.start, experiment.end)), "tree " + output.id)).model;
		const items = tree.entries.map(entry => entry.id);
		const query = QueryHelper.selectionTimeRangeQuery(experiment.start, experiment.end, 300, items);
		const told = (await model_of(client.fetchTimeGraphStates(experiment.UUID, output.id, query), "states " + output.id)).model;
		for (const row of told.rows) {
			if (!row.states.every((state, i) => state.start < state.end && (!i || row.states[i - 1].end <= state.start)))
				result(false, "states rise: " + output.id, row);
			states += row.states.length;
		}
		rows += items.length;
		const found = (await model_of(client.fetchTimeGraphArrows(experiment.UUID, output.id, query), "arrows " + output.id)).model;
		found.forEach(arrow => arrows.add(arrow.start));
		if (items.length) {
			const tip = QueryHelper.selectionTimeQuery([experiment.start + 1n], [items[0]]);
			await model_of(client.fetchTimeGraphTooltip(experiment.UUID, output.id, tip), "tooltip " + output.id);
		}
	}
	// a trace of the corpus may have no state at all
	result(process.env.YORE_CORPUS_TRACE ? rows > 0 === states > 0 : rows > 0 && states > 0, `${outputs.length} time graphs: ${rows} rows, ${states} states, ${arrows.size} arrows`, outputs.map(output => output.id));
}

async function lines(experiment, outputs) {
	let series = 0;
	for (const output of outputs) {
		const tree = (await model_of(client.fetchXYTree(experiment.UUID, output.id, QueryHelper.timeRangeQuery(experiment.start, experiment.end)), "XY tree")).model;
		const query = QueryHelper.selectionTimeRangeQuery(experiment.start, experiment.end, 100, tree.entries.map(entry => entry.id));
		const told = (await model_of(client.fetchXY(experiment.UUID, output.id, query), "XY " + output.id)).model;
		for (const one of told.series)
			if (one.xValues.length !== one.yValues.length)
				result(false, "as many values as moments: " + output.id, one);
		series += told.series.length;
	}
	result(series > 0, `${outputs.length} outputs of lines: ${series} series`);
}

async function others(experiment, outputs) {
	let entries = 0;
	for (const output of outputs.filter(one => one.type === "DATA_TREE")) {
		const told = await model_of(client.fetchDataTree(experiment.UUID, output.id, QueryHelper.timeRangeQuery(experiment.start, experiment.end)), output.id);
		entries += told.model.entries.length;
	}
	result(true, `results of analyses: ${entries} entries`);
	const categories = await model_of(client.fetchAnnotationsCategories(experiment.UUID, outputs[0].id), "categories");
	const marks = await model_of(client.fetchAnnotations(experiment.UUID, outputs[0].id, QueryHelper.timeRangeQuery(experiment.start, experiment.end)), "annotations");
	result(categories.model.annotationCategories.every(one => Array.isArray(marks.model.annotations[one])), "annotations", marks);
	result((await model_of(client.fetchMarkerSets(experiment.UUID), "marker sets")).model.length === 0, "marker sets");
	result(Object.keys((await model_of(client.fetchStyles(experiment.UUID, outputs[0].id, QueryHelper.query()), "styles")).model.styles).length === 13, "styles");
	const types = await model_of(client.fetchConfigurationSourceTypes(), "types");
	const text = "event *\n\tlast[section/cpu]/event = event/name\n";
	const made = await client.createConfiguration(types[0].id, QueryHelper.configurationQuery("mine", "a test", { rules: text }));
	if (made.isOk()) {
		const again = await model_of(client.fetchConfigurations(types[0].id), "configurations");
		await model_of(client.deleteConfiguration(types[0].id, made.getModel().id), "delete a configuration");
		result(again.length === 1, "rules as a configuration", again);
	} else {
		result(made.getErrorResponse() !== undefined, "rules that are wrong for the trace are refused", made.getText());
	}
}

// States of 200 rows at 2,000 pixels, at several depths.
async function measure(experiment, output) {
	const tree = (await model_of(client.fetchTimeGraphTree(experiment.UUID, output.id, QueryHelper.query()), "tree")).model;
	const items = tree.entries.slice(0, 200).map(entry => entry.id), took = [], span = experiment.end - experiment.start;
	let slowest = 0;
	for (const part of [1n, 4n, 16n, 64n, 1024n, 65536n, 1048576n]) {
		const start = experiment.start + span / 3n * (part > 1n ? 1n : 0n), query = QueryHelper.selectionTimeRangeQuery(start, start + span / part, 2000, items);
		const best = [];
		for (let i = 0; i < 10; i++) {
			const begun = performance.now();
			const answer = await fetch(`${base}/experiments/${experiment.UUID}/outputs/timeGraph/${output.id}/states`,
				{ method: "POST", body: JSON.stringify(query, (_, value) => typeof value === "bigint" ? Number(value) : value) });
			await answer.arrayBuffer();
			best.push(performance.now() - begun);
		}
		took.push(`1/${part}: ${Math.min(...best).toFixed(0)} ms`);
		slowest = Math.max(slowest, Math.min(...best));
	}
	result(slowest < 100, `states of ${items.length} rows at 2,000 pixels in under 100 ms: ${took.join(", ")}`, slowest);
}

const experiment = await opened(), outputs = await model_of(client.experimentOutputs(experiment.UUID), "outputs");
const of = type => outputs.filter(output => output.type === type);
const large = experiment.nbEvents > 1e7;
await tables(experiment, of("TABLE")[0]);
await graphs(experiment, large ? of("TIME_GRAPH").filter(output => /^(cpu.thread|thread.state)$/.test(output.id)) : of("TIME_GRAPH"));
await lines(experiment, large ? of("TREE_TIME_XY").slice(0, 2) : of("TREE_TIME_XY"));
await others(experiment, large ? outputs.filter(output => output.type !== "DATA_TREE") : outputs);
if (large)
	await measure(experiment, outputs.find(output => output.id === "thread.state"));
process.exit(failed ? 1 : 0);
