// Starts the page: its view, the frame around it, and its updates.

function startSite() {
  let live = null;
  const views = {cluster: clusterView, job: jobView, worker: workerView, store: storeView, scheduler: schedulerView,
    history: () => historyView((source) => live.follow(source)), missing: missingView};
  const view = (views[info.view] || missingView)();
  const frame = createFrame(view.node, info.source ? (on) => live.pause(on) : null);
  const show = async (given) => {
    if (view.title) document.title = view.title(given);
    await view.show(given);
    frame.updated();
  };
  const text = document.getElementById("document").textContent.trim();
  const embedded = text ? JSON.parse(text) : null;
  if (embedded || !info.source) show(embedded);
  if (view.print) addPrinting(view.print);
  if (!info.source) return;
  live = createLive(info.source, info.etag || null, {show, state: frame.connection});
  if (view.begin) view.begin();
}

startSite();
