// server.js - questions to the server; their answers are JSON
const base = location.pathname.replace(/[^/]*$/, "");

async function ask(what, body) {
	const answer = await fetch(
		`${base}page/${trace.number}/${what}`,
		body ? { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) } : {},
	);
	const told = await answer.json();
	if (!answer.ok) throw new Error(told.title || answer.statusText);
	if (told.status === "CANCELLED") throw new Error(told.statusMessage);
	return told;
}

// One question at a time: while one is asked, only the last that was wanted meanwhile is kept.
function latest(run) {
	let running = false,
		wanted = false;
	return async function again() {
		wanted = true;
		if (running) return;
		running = true;
		while (wanted) {
			wanted = false;
			try {
				await run();
			} catch (why) {
				tell(why.message, true);
			}
		}
		running = false;
	};
}

const $ = name => document.getElementById(name);

function tell(text, wrong) {
	$("told").textContent = text;
	$("told").className = wrong ? "wrong" : "";
}
