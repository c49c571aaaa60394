// The view of the flame graph: layout, drawing, mouse, keyboard, controls.

/* --- layout and drawing --- */

const canvas = $("canvas"), paint = canvas.getContext("2d"), scroll = $("scroll");
const FONT = "12px ui-monospace, \"DejaVu Sans Mono\", Menlo, Consolas, monospace";
let wide = 0, high = 0, letter = 7;

// Rectangles of what is wide enough to be seen, row by row: what zoomed out hides is not even visited.
function layout() {
	wide = scroll.clientWidth;
	high = scroll.clientHeight;
	const z = state.zoom, scale = view.total[z] ? wide / view.total[z] : 0;
	rows = [];
	for (let i = z; i !== NONE; i = view.parent[i])
		rows[view.depth[i]] = [{i, x: 0, w: wide}];
	for (let d = view.depth[z]; rows[d]; d++) {
		const below = [];
		for (const r of d === view.depth[z] ? [{i: z}] : rows[d])
			for (let c = view.first[r.i]; c < view.first[r.i] + view.count[r.i]; c++) {
				const w = view.total[c] * scale;
				if (w >= MIN_WIDTH)
					below.push({i: c, x: (view.start[c] - view.start[z]) * scale, w});
			}
		if (below.length)
			rows[d + 1] = below;
	}
	$("space").style.height = Math.max(0, rows.length * ROW - high) + "px";
	const ratio = window.devicePixelRatio || 1;
	canvas.style.width = wide + "px";
	canvas.style.height = high + "px";
	canvas.width = Math.round(wide * ratio);
	canvas.height = Math.round(high * ratio);
	paint.setTransform(ratio, 0, 0, ratio, 0, 0);
	draw();
}

// Row d's upper edge on the canvas.
function top(d) {
	const y = d * ROW - scroll.scrollTop;
	return state.rootOnTop ? y : Math.max(high, rows.length * ROW) - (d + 1) * ROW - scroll.scrollTop;
}

// Okabe and Ito's colours, which all kinds of eyes tell apart, in three tints; one for each file.
const PALETTE = [[230, 159, 0], [86, 180, 233], [0, 158, 115], [240, 228, 66], [0, 114, 178], [213, 94, 0], [204, 121, 167]];
const colours = new Map();

function colour(label) {
	if (label.kind === MARKER)
		return "#bdbdbd";
	if (label.kind >= PROCESS)
		return label.kind === PROCESS ? "#9fb0c0" : "#c3ced8";
	let c = colours.get(label.file);
	if (!c) {
		let h = 2166136261;
		for (let k = 0; k < label.file.length; k++)
			h = Math.imul(h ^ label.file.charCodeAt(k), 16777619);
		h = (h ^ h >>> 15) >>> 0;
		const white = 0.42 + 0.13 * (Math.floor(h / PALETTE.length) % 3);
		c = PALETTE[h % PALETTE.length].map(x => Math.round(x + (255 - x) * white));
		colours.set(label.file, c = `rgb(${c})`);
	}
	return c;
}

function drawBox(r, y, style) {
	const l = r.i ? labels[view.label[r.i]] : {kind: PROCESS, name: ""};
	const hit = matches.has(view.label[r.i]), dim = !hit && (state.search && matches.size || r.i !== state.zoom &&
		view.depth[r.i] < view.depth[state.zoom]);
	const gap = r.w > 3 ? 0.7 : 0;
	paint.globalAlpha = dim ? 0.35 : 1;
	paint.fillStyle = hit ? "#b3125a" : colour(l);
	paint.fillRect(r.x, y, r.w - gap, ROW - 1);
	paint.globalAlpha = 1;
	if (r.w < MIN_TEXT)
		return;
	const text = r.i ? boxText(l) : `all: ${count(view.total[0])}`, fits = Math.floor((r.w - 8) / letter);
	paint.fillStyle = hit ? "#ffffff" : dim ? style.dim : "#10151a";
	paint.font = (l.kind === MARKER ? "italic " : "") + FONT;
	if (fits > 1)
		paint.fillText(text.length > fits ? text.slice(0, fits - 1) + "…" : text, r.x + 4, y + ROW / 2, r.w - 8);
}

function draw() {
	const css = getComputedStyle(document.body), style = {dim: css.getPropertyValue("--soft")};
	paint.clearRect(0, 0, wide, high);
	paint.textBaseline = "middle";
	paint.font = FONT;
	letter = paint.measureText("MMMMMMMMMM").width / 10;
	rows.forEach((row, d) => {
		const y = top(d);
		if (y > -ROW && y < high)
			for (const r of row)
				drawBox(r, y, style);
	});
	outline(state.hover, css.getPropertyValue("--text"), 1);
	if (document.activeElement === canvas)
		outline(state.selected, css.getPropertyValue("--focus"), 3);
}

const rectOf = i => i === NONE ? undefined : (rows[view.depth[i]] || []).find(r => r.i === i);

function outline(i, colourOf, width) {
	const r = rectOf(i);
	if (!r)
		return;
	paint.strokeStyle = colourOf;
	paint.lineWidth = width;
	paint.strokeRect(r.x + width / 2, top(view.depth[i]) + width / 2, Math.max(1, r.w - width), ROW - 1 - width);
}

/* --- telling about a frame --- */

function shares(i) {
	const total = view.total[i], parts = [`${percent(total, everything)} of all`];
	if (view.total[0] !== everything)
		parts.push(`${percent(total, view.total[0])} of shown`);
	if (state.zoom)
		parts.push(`${percent(total, view.total[state.zoom])} of zoomed`);
	const time = data.clock ? `, ${(view.time[i] / 1e9).toFixed(2)} s` : "";
	return `${count(total)}${time}: ${parts.join(", ")}`;
}

function ownShare(i) {
	return `self ${number(view.self[i])}: ${percent(view.self[i], everything)} of all`;
}

function nameOf(i) {
	return i ? labels[view.label[i]].kind >= PROCESS ? taskName(labels[view.label[i]]) : labels[view.label[i]].name : "all";
}

function tell(i) {
	const where = i > 0 ? place(labels[view.label[i]]) : "";
	$("status").textContent = i === NONE ? "" : `${nameOf(i)}${where ? "  " + where : ""}  ·  ${shares(i)}  ·  ${ownShare(i)}`;
}

function tip(i, x, y) {
	const box = $("tip");
	box.style.display = i === NONE ? "none" : "block";
	if (i === NONE)
		return;
	const line = (tag, text) => Object.assign(document.createElement(tag), {textContent: text});
	const where = i ? place(labels[view.label[i]]) : "";
	box.replaceChildren(line("b", nameOf(i)), ...where ? [line("span", where)] : [], line("span", shares(i)),
		line("span", ownShare(i)));
	box.style.left = Math.max(4, Math.min(x + 14, innerWidth - box.offsetWidth - 8)) + "px";
	box.style.top = (y + 18 + box.offsetHeight > innerHeight ? y - box.offsetHeight - 10 : y + 18) + "px";
}

/* --- mouse and keyboard --- */

function at(x, y) {
	const up = state.rootOnTop ? y + scroll.scrollTop : Math.max(high, rows.length * ROW) - (y + scroll.scrollTop);
	const row = rows[Math.floor(up / ROW)] || [];
	let low = 0, end = row.length;
	while (low < end) {
		const mid = low + end >> 1;
		if (row[mid].x <= x)
			low = mid + 1;
		else
			end = mid;
	}
	const r = row[low - 1];
	return r && x < r.x + Math.max(1, r.w) ? r.i : NONE;
}

function zoom(i) {
	state.zoom = state.selected = i;
	state.hover = NONE;
	tellMatched(matcher());
	layout();
	scroll.scrollTop = state.rootOnTop ? 0 : scroll.scrollHeight;
	draw();
	tell(i);
}

function select(i) {
	if (i === NONE || !rectOf(i))
		return;
	state.selected = i;
	const y = top(view.depth[i]);
	if (y < 0 || y + ROW > high)
		scroll.scrollTop += y < 0 ? y - ROW : y + 2 * ROW - high;
	draw();
	tell(i);
}

// The widest child; the neighbour in the row.
function inward(i) {
	return (rows[view.depth[i] + 1] || []).filter(r => view.parent[r.i] === i).reduce((a, r) => !a || r.w > a.w ? r : a, null)?.i ?? NONE;
}

function beside(i, step) {
	const row = rows[view.depth[i]] || [];
	return row[row.findIndex(r => r.i === i) + step]?.i ?? NONE;
}

canvas.addEventListener("keydown", e => {
	const s = rectOf(state.selected) ? state.selected : state.zoom;
	const steps = {
		ArrowUp: () => select(state.rootOnTop ? view.parent[s] : inward(s)),
		ArrowDown: () => select(state.rootOnTop ? inward(s) : view.parent[s]),
		ArrowLeft: () => select(beside(s, -1)),
		ArrowRight: () => select(beside(s, 1)),
		Home: () => select(state.zoom),
		Enter: () => zoom(s),
		" ": () => zoom(s),
		Backspace: () => zoom(Math.max(0, view.parent[state.zoom])),
	};
	if (e.ctrlKey || e.altKey || e.metaKey || !steps[e.key])
		return;
	e.preventDefault();
	steps[e.key]();
});
document.addEventListener("keydown", e => {
	if (e.key === "/" && document.activeElement !== $("search")) {
		e.preventDefault();
		$("search").focus();
		$("search").select();
	} else if (e.key === "Escape") {
		if (state.search)
			setSearch("");
		else
			zoom(0);
		canvas.focus({preventScroll: true});
	}
});
canvas.addEventListener("mousemove", e => {
	const box = canvas.getBoundingClientRect(), i = at(e.clientX - box.left, e.clientY - box.top);
	canvas.style.cursor = i === NONE ? "default" : "pointer";
	tip(i, e.clientX, e.clientY);
	if (i === state.hover)
		return;
	state.hover = i;
	draw();
});
canvas.addEventListener("mouseleave", () => {
	state.hover = NONE;
	tip(NONE);
	draw();
});
canvas.addEventListener("click", e => {
	const box = canvas.getBoundingClientRect(), i = at(e.clientX - box.left, e.clientY - box.top);
	if (i !== NONE)
		zoom(i);
	tip(NONE);
});
for (const what of ["focus", "blur"])
	canvas.addEventListener(what, draw);
scroll.addEventListener("scroll", draw);
addEventListener("resize", layout);

/* --- controls --- */

function setSearch(text) {
	state.search = $("search").value = text;
	search();
	draw();
}

function fill(select, all, nodes) {
	const options = nodes.map(i => new Option(`${taskName(labels[source.label[i]])}: ${percent(source.total[i], everything)}`, i));
	select.replaceChildren(new Option(all, NONE), ...options);
}

const byTotal = nodes => [...nodes].sort((a, b) => source.total[b] - source.total[a]);

function fillThreads() {
	const processes = source.children[0].filter(p => state.process === NONE || p === state.process);
	fill($("thread"), "all", byTotal(processes.flatMap(p => source.children[p])));
}

function update() {
	$("process").value = state.process;
	$("thread").value = state.thread;
	$("group").value = state.group;
	buildView();
	$("empty").hidden = view.total[0] > 0;
	canvas.hidden = !view.total[0];
	zoom(0);
}

function setTheme(theme) {
	document.documentElement.dataset.theme = theme;
	$("theme").textContent = theme === "dark" ? "Light" : "Dark";
}

function setRoot(onTop) {
	state.rootOnTop = onTop;
	$("flip").textContent = onTop ? "Root at bottom" : "Root at top";
}

function facts() {
	const outcomes = Object.entries(data.outcomes).filter(([, n]) => n).map(([name, n]) => `${name} ${number(n)}`);
	const rows = {
		Recorded: `${new Date(data.start_real / 1e6).toISOString()}, ${(data.duration_ns / 1e9).toFixed(2)} s`,
		Host: `${data.host}, ${data.kernel}, ${data.cpus} CPUs, scry ${data.scry}`,
		Event: data.freq ? `${data.event} at ${number(data.rate)} Hz` : `${data.event}, every ${number(data.rate)}`,
		Samples: `${count(everything)} of ${number(source.children[0].length)} processes` +
			(everything !== data.samples ? ` (of ${number(data.samples)} recorded)` : ""),
		Outcomes: outcomes.join(", "),
		Besides: `${number(data.lost)} lost, ${number(data.other)} elsewhere`,
		Command: data.command,
	};
	$("facts").querySelector("summary").textContent =
		clean([rows.Samples, rows.Event, `${(data.duration_ns / 1e9).toFixed(2)} s`, data.host, data.command].join("  ·  "));
	for (const [name, text] of Object.entries(rows))
		for (const [tag, content] of [["dt", name], ["dd", clean(text)]])
			$("facts").querySelector("dl").append(Object.assign(document.createElement(tag), {textContent: content}));
}

$("search").addEventListener("input", e => setSearch(e.target.value));
$("search").addEventListener("keydown", e => {
	if (e.key === "Enter")
		canvas.focus({preventScroll: true});
});
$("process").addEventListener("change", e => {
	state.process = Number(e.target.value);
	state.thread = NONE;
	fillThreads();
	update();
});
$("thread").addEventListener("change", e => {
	state.thread = Number(e.target.value);
	update();
});
$("group").addEventListener("change", e => {
	state.group = e.target.value;
	update();
});
$("flip").addEventListener("click", () => {
	setRoot(!state.rootOnTop);
	zoom(state.zoom);
});
$("theme").addEventListener("click", () => {
	setTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark");
	draw();
});
$("reset").addEventListener("click", () => {
	Object.assign(state, initial);
	$("search").value = "";
	fillThreads();
	update();
});
$("facts").addEventListener("toggle", layout);

document.title = clean(data.title || "scry") + " - flame graph";
setTheme(matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
setRoot(true);
facts();
fill($("process"), "all", byTotal(source.children[0]));
fillThreads();
update();

// What is on the screen, for tests.
window.flamegraph = {
	state,
	stacks() {
		const path = i => i ? [...path(view.parent[i]), nameOf(i)] : [];
		return view.self.map((n, i) => [path(i), n]).filter(([, n]) => n);
	},
	boxes: () => rows.flatMap((row, d) => row.map(r => ({id: r.i, depth: d, name: nameOf(r.i), x: r.x, w: r.w,
		y: top(d) + canvas.getBoundingClientRect().top, total: view.total[r.i], self: view.self[r.i]}))),
};
