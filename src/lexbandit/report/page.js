// Draws each panel where it stands. SVG, so that print is sharp and ink follows the page's colour.
const specs = JSON.parse(document.getElementById("specs").textContent);
for (const place of document.querySelectorAll("[data-chart]")) {
  const spec = specs[Number(place.dataset.chart)];
  vegaEmbed(place, spec, { actions: false, renderer: "svg", tooltip: { theme: "custom" } })
    .catch((error) => { place.textContent = `This figure could not be drawn: ${error.message}`; });
}
// A closed detail is no use on paper.
addEventListener("beforeprint", () => {
  for (const detail of document.querySelectorAll("details")) detail.open = true;
});
