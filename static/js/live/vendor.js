// Chart.js, loaded when a page has a chart.
const FILE = new URL("../../vendor/chart.js/chart.umd.min.js", import.meta.url).href;
let loading = null;

function loaded() {
  return new Promise((done, failed) => {
    const script = document.createElement("script");
    script.src = FILE;
    script.onload = done;
    script.onerror = () => failed(new Error("The chart library did not load."));
    document.head.append(script);
  });
}

/** Chart.js, ready to use. */
export function chartLibrary() {
  loading ??= loaded().then(() => {
    Object.assign(Chart.defaults, { animation: false, responsive: true, maintainAspectRatio: false, events: [] });
    Chart.defaults.font.family = '"Inter Variable", system-ui, sans-serif';
    Chart.defaults.font.size = 11;
    Chart.defaults.plugins.legend.display = false;
    Chart.defaults.plugins.tooltip.enabled = false;
    return Chart;
  });
  return loading;
}
