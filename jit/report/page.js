// The page of a recording: views of few boxes, each laid out beforehand. Drag moves, the wheel zooms, a click tells all of a box, a double click opens it.
(function (root, graphs) {
  "use strict";
  const SVG = "http://www.w3.org/2000/svg", find = (name) => root.querySelector("." + name);
  const canvas = find("canvas"), side = find("side"), path = find("path"), search = find("search");
  const svg = canvas.appendChild(document.createElementNS(SVG, "svg")), world = svg.appendChild(document.createElementNS(SVG, "g"));
  let graph = 0, view = 0, at = { x: 0, y: 0, k: 1 }, boxes = [], paths = [], chosen = null, fitted = true;

  function make(parent, tag, attributes, text) {
    const e = document.createElementNS(SVG, tag);
    for (const k in attributes) e.setAttribute(k, attributes[k]);
    if (text !== undefined) e.textContent = text;
    return parent.appendChild(e);
  }
  function element(parent, tag, text, onclick) {
    const e = parent.appendChild(document.createElement(tag));
    e.textContent = text;
    if (onclick) e.onclick = onclick;
    return e;
  }
  const now = () => graphs[graph].views[view];
  function place() { world.setAttribute("transform", `translate(${at.x},${at.y}) scale(${at.k})`); }
  function fit() {
    const v = now(), w = canvas.clientWidth, h = canvas.clientHeight, k = Math.min(1.4, (w - 24) / v.width, (h - 24) / v.height);
    at = { k, x: (w - v.width * k) / 2, y: Math.max(12, (h - v.height * k) / 2) };
    fitted = true;
    place();
  }
  function zoom(by, x = canvas.clientWidth / 2, y = canvas.clientHeight / 2) {
    const k = Math.min(8, Math.max(0.02, at.k * by));
    at = { k, x: x - (x - at.x) * k / at.k, y: y - (y - at.y) * k / at.k };
    fitted = false;
    place();
  }
  function draw() {
    const v = now();
    world.textContent = "";
    chosen = null;
    paths = v.links.map(([a, b, d, kind, width, x, y, title]) => {
      const e = make(world, "path", { d, class: kind, "stroke-width": width });
      make(e, "title", {}, title);
      make(world, "path", { class: "head", d: `M${x - 3.5},${y - 7} L${x},${y} L${x + 3.5},${y - 7} z` });
      return { a, b, e };
    });
    boxes = v.boxes.map((b, i) => {
      const [x, y, w, h, kind, hue, lines, , open] = b;
      const g = make(world, "g", { class: "node " + kind + (hue === null ? "" : " hued") + (open === null ? "" : " opens"), tabindex: 0 });
      if (hue !== null) g.style.setProperty("--hue", hue);
      make(g, "rect", { x: x - w / 2, y, width: w, height: h, rx: kind.startsWith("input") ? h / 2 : 5 });
      lines.forEach(([text, style], j) => make(g, "text", { x, y: y + 17 + 15 * j, class: style }, text));
      g.onclick = () => choose(i);
      g.ondblclick = () => { if (open !== null) go(graph, open); };
      return g;
    });
    path.textContent = "";
    for (let u = view, first = true; u !== null; u = graphs[graph].views[u].up, first = false) {
      const target = u, name = graphs[graph].views[u].name;
      if (!first) path.prepend(" › ");
      const e = document.createElement(first ? "span" : "a");
      e.textContent = name;
      if (!first) e.onclick = () => go(graph, target);
      path.prepend(e);
    }
    find("up").disabled = v.up === null;
    root.querySelectorAll(".which").forEach((b, i) => b.setAttribute("aria-pressed", i === graph));
  }
  function go(g, v, box = null) {
    graph = g;
    view = v;
    draw();
    fit();
    tell(null);
    if (box !== null) choose(box, true);
  }
  function choose(i, centre) {
    if (chosen !== null) boxes[chosen].classList.remove("chosen");
    chosen = i;
    boxes[i].classList.add("chosen");
    for (const p of paths) p.e.classList.toggle("near", p.a === i || p.b === i);
    tell(i);
    if (centre) {
      const [x, y, , h] = now().boxes[i], k = Math.max(at.k, 0.9);
      at = { k, x: canvas.clientWidth / 2 - x * k, y: canvas.clientHeight / 2 - (y + h / 2) * k };
      fitted = false;
      place();
    }
  }
  function tell(i) {
    side.textContent = "";
    const v = now();
    if (i === null) {
      element(side, "b", v.name);
      element(side, "pre", v.title);
      element(side, "p", "Click a box for all that is known of it; double-click one with a strong border, or one of several operations, to open it. " +
        "Drag to move, turn the wheel to zoom. / searches, Esc goes up, f fits.").className = "note";
      return;
    }
    const [, , , , , , lines, title, open] = v.boxes[i];
    element(side, "b", lines[0][0]);
    if (open !== null) element(side, "a", "open", () => go(graph, open));
    element(side, "pre", title);
    for (const [what, mine, other] of [["from", "b", "a"], ["to", "a", "b"]]) {
      const found = paths.filter((p) => p[mine] === i);
      if (found.length) element(side, "b", what);
      for (const p of found.slice(0, 40)) element(side, "a", v.boxes[p[other]][6][0][0], () => choose(p[other], true));
    }
  }
  function look() {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean), found = [];
    if (!words.length) return tell(null);
    for (const g of [graph, ...graphs.keys()].filter((g, i, all) => all.indexOf(g) === i)) {
      graphs[g].views.forEach((v, n) => v.boxes.forEach((b, i) => {
        if (found.length < 200 && !b[4].includes("neighbour") && words.every((w) => b[7].toLowerCase().includes(w))) found.push([g, n, i, b]);
      }));
    }
    side.textContent = "";
    element(side, "b", found.length === 200 ? "200 and more found" : found.length + " found");
    for (const [g, n, i, b] of found) element(side, "a", `${b[6][0][0]}  ${b[7].split("\n")[0].slice(0, 90)}`, () => go(g, n, i));
  }
  svg.addEventListener("wheel", (e) => {
    e.preventDefault();
    const r = canvas.getBoundingClientRect();
    zoom(Math.exp(-e.deltaY / 400), e.clientX - r.left, e.clientY - r.top);
  }, { passive: false });
  svg.addEventListener("pointerdown", (e) => {
    const from = { x: e.clientX - at.x, y: e.clientY - at.y };
    const move = (m) => { at = { k: at.k, x: m.clientX - from.x, y: m.clientY - from.y }; fitted = false; place(); };
    const up = () => { removeEventListener("pointermove", move); removeEventListener("pointerup", up); };
    addEventListener("pointermove", move);
    addEventListener("pointerup", up);
  });
  root.addEventListener("keydown", (e) => {
    if (e.target === search) { if (e.key === "Escape") { search.value = ""; look(); svg.focus(); } return; }
    if (e.key === "/") { search.focus(); e.preventDefault(); }
    if (e.key === "f") fit();
    if (e.key === "Escape" && now().up !== null) go(graph, now().up);
    if (e.key === "Enter" && chosen !== null && now().boxes[chosen][8] !== null) go(graph, now().boxes[chosen][8]);
  });
  root.querySelectorAll(".which").forEach((b, i) => { b.onclick = () => go(i, 0); });
  find("up").onclick = () => go(graph, now().up);
  find("fit").onclick = fit;
  find("in").onclick = () => zoom(1.4);
  find("out").onclick = () => zoom(1 / 1.4);
  search.oninput = look;
  new ResizeObserver(() => { if (fitted) fit(); }).observe(canvas);
  go(0, 0);
})
