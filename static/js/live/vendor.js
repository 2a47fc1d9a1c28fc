// Chart.js and its time adapter, loaded when a page has a chart.
const FILES = ["luxon/luxon.min.js", "chart.js/chart.umd.min.js", "chartjs-adapter-luxon/chartjs-adapter-luxon.umd.min.js"];
let loading = null;

function load(file) {
  return new Promise((done, failed) => {
    const script = document.createElement("script");
    script.src = new URL(`../../vendor/${file}`, import.meta.url).href;
    script.onload = done;
    script.onerror = () => failed(new Error(`The chart library did not load: ${file}.`));
    document.head.append(script);
  });
}

/** Chart.js, ready to use; each file needs the one before it. */
export function chartLibrary() {
  loading ??= FILES.reduce((before, file) => before.then(() => load(file)), Promise.resolve()).then(() => {
    Object.assign(Chart.defaults, { animation: false, responsive: true, maintainAspectRatio: false, events: [] });
    Chart.defaults.font.family = '"Inter Variable", system-ui, sans-serif';
    Chart.defaults.font.size = 11;
    Chart.defaults.plugins.legend.display = false;
    Chart.defaults.plugins.tooltip.enabled = false;
    return Chart;
  });
  return loading;
}
