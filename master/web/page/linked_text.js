// Makes links of the ids in a sentence of the master.

function linkedSentence(text) {
  return el("span", {class: "isolated"}, idNodes(visible(text), (id) => ({href: urlOfId(id)})));
}
