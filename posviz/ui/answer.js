// What the server knows better about a place in a figure: one exact value, a part in more detail.
//
// A component of its own, so that an answer of a few bytes does not send the whole figure again.
// It stands invisibly beside the figure, hangs the answer on it and says so.

export default function ({ data, parentElement }) {
  parentElement.querySelector(".posviz-figure").dataset.idle = "preload";
  if (!data?.length) return;
  const { text, payload } = unpack(data);
  const answer = { ...JSON.parse(text), payload };
  const figure = document.querySelector(`.st-key-${answer.key} .posviz-figure`);
  if (!figure) return;
  figure.posvizAnswer = answer;
  figure.dispatchEvent(new CustomEvent("posviz-answer"));
}
