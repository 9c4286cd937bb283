// chart.js - tells what is under the pointer, in a histogram or a heat map
const tips = new Map();
svg.querySelectorAll("title").forEach(title => {
	if (title.parentNode === svg)
		return;
	tips.set(title.parentNode, title.textContent.split("\n"));
	title.remove();
});
svg.addEventListener("pointermove", event => show_tip(event, tips.get(event.target) || null));
svg.addEventListener("pointerleave", event => show_tip(event, null));
