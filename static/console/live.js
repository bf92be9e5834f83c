// Keeps the page of a running task fresh. Everything that agents said is put in as text, never as markup.
"use strict";
(() => {
  const picture = document.getElementById("picture");
  const feed = document.getElementById("feed");
  const source = new EventSource(picture.dataset.events + "?after=" + encodeURIComponent(picture.dataset.after));

  const put = (parent, tag, name, text) => {
    const element = document.createElement(tag);
    if (name) element.className = name;
    element.textContent = text;
    parent.append(element, " ");
  };

  // Lines stand in the order of their times; a line that comes again has been finished and takes the same place.
  const place = (item) => {
    const old = feed.querySelector(`[data-id="${item.dataset.id}"]`);
    if (old) { old.replaceWith(item); return; }
    let after = feed.lastElementChild;
    while (after && after.dataset.at > item.dataset.at) after = after.previousElementSibling;
    if (after) after.after(item); else feed.prepend(item);
  };

  source.addEventListener("feed", (event) => {
    const line = JSON.parse(event.data);
    document.getElementById("feed-empty")?.remove();
    const item = document.createElement("li");
    item.className = line.kind + " " + line.status;
    item.dataset.id = String(line.id);
    item.dataset.at = line.at;
    put(item, "span", "at", line.time);
    put(item, "span", "who", line.attempt > 1 ? line.agent + " (attempt " + line.attempt + ")" : line.agent);
    put(item, "span", "kind", line.status === "completed" ? line.kind : line.kind + ", " + line.status);
    put(item, "pre", "", line.text);
    place(item);
  });

  source.addEventListener("state", (event) => {
    const state = JSON.parse(event.data);
    const badge = document.getElementById("task-state");
    badge.textContent = state.status;
    badge.className = "state " + state.status;
    for (const node of state.nodes) {
      const group = document.querySelector(`[data-node="${node.index}"]`);
      if (!group) { location.reload(); return; }
      group.setAttribute("class", "node " + node.status);
      group.querySelector(".status").textContent = node.state;
    }
  });

  // The buttons and the last states are the server's to draw.
  source.addEventListener("end", () => { source.close(); location.reload(); });
})();
