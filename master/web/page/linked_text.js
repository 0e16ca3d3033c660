// Makes links of the ids in a sentence.

const kIdsInText = /\b(?:attempt_\d+_\d+_\d+_[mr]_\d+_\d+|task_\d+_\d+_\d+_[mr]_\d+|job_\d+_\d+)\b/g;

function linkedSentence(text) {
  const parts = [];
  let end = 0;
  for (const {0: id, index} of text.matchAll(kIdsInText)) {
    parts.push(text.slice(end, index), el("a", {href: urlOfId(id)}, id));
    end = index + id.length;
  }
  return el("span", {class: "isolated"}, parts, text.slice(end));
}
