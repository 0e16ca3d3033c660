// Changes content in place: what stays the same stays the same element, with its focus, selection and scroll position.

const filled = new WeakMap();

// Changes the children of `node` into what `make` returns if `data` has changed since the last call. An element with a
// data-key is found again by it where it has moved. Open details stay open. Handlers must not keep elements of `make`.
function refill(node, data, make) {
  const key = JSON.stringify(data);
  if (filled.get(node) === key) return;
  filled.set(node, key);
  const fresh = document.createDocumentFragment();
  add(fresh, [make()]);
  const active = node.contains(document.activeElement) ? document.activeElement : null;
  patchKids(node, fresh);
  // A move takes the focus from an element.
  if (active && active.isConnected && active !== document.activeElement) active.focus({preventScroll: true});
}

function patchKids(node, fresh) {
  const wanted = new Set();
  for (const next of fresh.childNodes) if (keyOf(next)) wanted.add(keyOf(next));
  const keyed = new Map();
  for (const old of [...node.childNodes]) {
    const key = keyOf(old);
    if (!key) continue;
    if (wanted.has(key)) keyed.set(key, old);
    else old.remove();
  }
  let at = node.firstChild;
  for (const next of [...fresh.childNodes]) {
    const old = keyOf(next) ? keyed.get(keyOf(next)) : plainMatch(at, next);
    if (!old || !isAlike(old, next)) {
      node.insertBefore(next, at);
      continue;
    }
    if (!keyOf(next)) {
      while (at !== old) at = removed(at);
    }
    if (old === at) at = at.nextSibling;
    else node.insertBefore(old, at);
    patch(old, next);
  }
  while (at) at = removed(at);
}

function keyOf(node) {
  return node.dataset ? node.dataset.key : null;
}

function removed(node) {
  const next = node.nextSibling;
  node.remove();
  return next;
}

// Returns the first of the children from `at` to the next one with a key that can become `next`, or null.
function plainMatch(at, next) {
  while (at && !keyOf(at)) {
    if (isAlike(at, next) && (at.nodeType !== Node.ELEMENT_NODE ||
        at.getAttribute("class") === next.getAttribute("class"))) return at;
    at = at.nextSibling;
  }
  return null;
}

function isAlike(old, next) {
  return old.nodeName === next.nodeName && handlers.has(old) === handlers.has(next);
}

function patch(old, next) {
  if (old.nodeType !== Node.ELEMENT_NODE) {
    if (old.nodeValue !== next.nodeValue) old.nodeValue = next.nodeValue;
    return;
  }
  if (handlers.has(next)) Object.assign(handlers.get(old), handlers.get(next));
  for (const name of old.getAttributeNames()) {
    if (!next.hasAttribute(name) && name !== "style" && !(name === "open" && old.nodeName === "DETAILS")) {
      old.removeAttribute(name);
    }
  }
  for (const name of next.getAttributeNames()) {
    // The content security policy of the page refuses style attributes, but not the style of an element.
    if (name !== "style" && old.getAttribute(name) !== next.getAttribute(name)) {
      old.setAttribute(name, next.getAttribute(name));
    }
  }
  if (old.style.cssText !== next.style.cssText) old.style.cssText = next.style.cssText;
  patchKids(old, next);
}
