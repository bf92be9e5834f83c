// Keeps the page of a running task fresh. Everything that agents said is put in as text, never as markup.
"use strict";
(() => {
  const picture = document.getElementById("picture");
  const feed = document.getElementById("feed");
  const last = feed.querySelector("li[data-id]:last-child");
  const after = last ? "?after=" + encodeURIComponent(last.dataset.id) : "";
  const source = new EventSource(picture.dataset.events + after);

  const put = (parent, tag, name, text) => {
    const element = document.createElement(tag);
    if (name) element.className = name;
    element.textContent = text;
    parent.append(element, " ");
    return element;
  };

  source.addEventListener("feed", (event) => {
    const line = JSON.parse(event.data);
    document.getElementById("feed-empty")?.remove();
    const item = document.createElement("li");
    item.className = line.kind + " " + line.status;
    put(item, "span", "at", line.at);
    put(item, "span", "who", line.attempt > 1 ? line.agent + " (attempt " + line.attempt + ")" : line.agent);
    put(item, "span", "kind", line.kind);
    put(item, "pre", "", line.text);
    feed.append(item);
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
      group.querySelector(".status").textContent = node.blocked_by ? `${node.status} by ${node.blocked_by}` : node.status;
    }
  });

  source.addEventListener("end", () => source.close());
})();
