// The model of the flame graph: what was recorded, the tree that is shown, the search.
"use strict";
const PYTHON = 1, MARKER = 4, PROCESS = 5, THREAD = 6;
const ROW = 19, MIN_WIDTH = 0.5, MIN_TEXT = 22, NONE = -1;
const $ = id => document.getElementById(id);
const data = JSON.parse($("data").textContent);

/* --- what was recorded --- */

// Control characters, and what changes the direction of text, are shown as escapes.
const clean = s => s.replace(/[\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g, c => {
	const code = c.charCodeAt(0);
	return code < 256 ? "\\x" + code.toString(16).padStart(2, "0") : "\\u" + code.toString(16);
});
const strings = data.strings.map(clean);
const labels = [];
for (let i = 0; i < data.labels.length; i += 4)
	labels.push({kind: data.labels[i], name: strings[data.labels[i + 1]], file: strings[data.labels[i + 2]],
		line: data.labels[i + 3]});

// Nodes in depth-first order, each as (levels up from the child of the one before, label, own samples).
const source = {label: [NONE], self: [0], total: [0], time: [0], children: [[]]};
{
	const path = [0], parent = [NONE];
	let times = 0;
	for (let i = 0; i < data.nodes.length; i += 3) {
		path.length -= data.nodes[i];
		const id = source.label.length, up = path[path.length - 1];
		source.label.push(data.nodes[i + 1]);
		source.self.push(data.nodes[i + 2]);
		source.total.push(0);
		source.time.push(data.clock && data.nodes[i + 2] ? data.times[times++] : 0);
		source.children.push([]);
		source.children[up].push(id);
		parent.push(up);
		path.push(id);
	}
	for (let i = source.label.length - 1; i >= 0; i--) {
		source.total[i] += source.self[i];
		if (i)
			source.total[parent[i]] += source.total[i];
	}
}
const everything = source.total[0];

const number = n => n.toLocaleString("en-US");
const percent = (part, whole) => whole ? (100 * part / whole).toFixed(2) + " %" : "0 %";
const count = n => number(n) + (n === 1 ? " sample" : " samples");

function taskName(label) {
	return `${label.name} [${label.line}]`;
}

function boxText(label) {
	if (label.kind >= PROCESS)
		return taskName(label);
	// <module> and its like are many: the file tells them apart
	return label.name.startsWith("<") && label.file ? `${label.name} ${label.file.replace(/.*\//, "")}` : label.name;
}

function place(label) {
	if (label.kind >= PROCESS || !label.file)
		return label.kind === PROCESS ? label.file : "";
	return label.line ? `${label.file}:${label.line}` : label.file;
}

/* --- the tree that is shown: the chosen threads, merged --- */

const initial = {process: NONE, thread: NONE, group: data.group, search: ""};
const state = {...initial, zoom: 0, selected: 0, hover: NONE, rootOnTop: true};
let view, rects, rows;

function chosen() {
	const processes = source.children[0].filter(p => state.process === NONE || p === state.process);
	return processes.map(p => [p, source.children[p].filter(t => state.thread === NONE || t === state.thread)]);
}

function buildView() {
	const v = {label: [], parent: [], depth: [], self: [], total: [], time: [], first: [], count: [], start: []}, from = [];
	const add = (parent, label, sources) => {
		v.label.push(label);
		v.parent.push(parent);
		v.depth.push(parent === NONE ? 0 : v.depth[parent] + 1);
		v.self.push(0);
		v.total.push(0);
		v.time.push(0);
		v.first.push(0);
		v.count.push(0);
		v.start.push(0);
		from.push(sources);
		return v.label.length - 1;
	};
	const tasks = chosen(), groups = new Map();
	add(NONE, NONE, state.group === "none" ? tasks.flatMap(([, threads]) => threads) : []);
	if (state.group !== "none")
		for (const [process, threads] of tasks)
			groups.set(source.label[process], (groups.get(source.label[process]) || []).concat(threads));
	for (const [label, threads] of groups)
		add(0, label, state.group === "process" ? threads : {threads});
	v.first[0] = 1;
	v.count[0] = groups.size;
	for (let i = 0; i < v.label.length; i++) {
		const sources = from[i], children = new Map();
		if (sources.threads) {
			for (const t of sources.threads)
				children.set(source.label[t], (children.get(source.label[t]) || []).concat(t));
		} else {
			for (const s of sources) {
				v.self[i] += source.self[s];
				v.time[i] += source.time[s];
				for (const c of source.children[s]) {
					const same = children.get(source.label[c]);
					if (same)
						same.push(c);
					else
						children.set(source.label[c], [c]);
				}
			}
		}
		from[i] = null;
		if (!children.size)
			continue;
		v.first[i] = v.label.length;
		v.count[i] = children.size;
		// labels are numbered in the order of their names
		for (const label of [...children.keys()].sort((a, b) => a - b))
			add(i, label, children.get(label));
	}
	for (let i = v.label.length - 1; i >= 0; i--) {
		v.total[i] += v.self[i];
		if (i) {
			v.total[v.parent[i]] += v.total[i];
			v.time[v.parent[i]] += v.time[i];
		}
	}
	for (let i = 0; i < v.label.length; i++)
		for (let c = v.first[i], at = v.start[i]; c < v.first[i] + v.count[i]; at += v.total[c++])
			v.start[c] = at;
	view = v;
	state.zoom = state.selected = 0;
	state.hover = NONE;
	search();
}

/* --- search --- */

let matches = new Set();

function matcher() {
	const text = state.search, slashes = /^\/(.*)\/$/.exec(text);
	$("search").classList.remove("wrong");
	if (!text)
		return null;
	try {
		if (slashes) {
			const re = new RegExp(slashes[1], "i");
			return s => re.test(s);
		}
	} catch (e) {
		$("search").classList.add("wrong");
		return null;
	}
	return s => s.toLowerCase().includes(text.toLowerCase());
}

function search() {
	const test = matcher();
	matches = new Set();
	if (test)
		labels.forEach((l, i) => {
			if (test(l.kind >= PROCESS ? taskName(l) : `${l.name} ${place(l)}`))
				matches.add(i);
		});
	tellMatched(test);
}

// The share of the samples in view that have a match anywhere in their stack.
function tellMatched(test) {
	let sum = 0;
	const todo = [state.zoom];
	while (test && todo.length) {
		const i = todo.pop();
		if (matches.has(view.label[i])) {
			sum += view.total[i];
			continue;
		}
		for (let c = view.first[i]; c < view.first[i] + view.count[i]; c++)
			todo.push(c);
	}
	$("matched").textContent = test ? `matched ${percent(sum, view.total[state.zoom])}` : "";
}
