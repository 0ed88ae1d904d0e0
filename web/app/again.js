// Loads the page again when one of its files could not be loaded: Chromium aborts all loads when a network interface
// comes or goes, as jobs on the same machine make it do (ERR_NETWORK_CHANGED). A classic script, since a module that is
// missing takes those that import it along. How often is in the history's entry, which a reload keeps; main.js clears it.

(() => {
  const PAUSES_MS = [500, 2000, 4000];
  const again = history.state?.again || 0;
  let waits = window.loadsAgain || again >= PAUSES_MS.length;
  window.loadsAgain = true; // index.html has this file twice.
  const failed = (event) => {
    const isNeeded = event.target.tagName === "SCRIPT" || event.target.rel === "stylesheet";
    if (waits || !isNeeded) return;
    waits = true;
    setTimeout(() => {
      history.replaceState({ again: again + 1 }, "");
      location.reload();
    }, PAUSES_MS[again]);
  };
  addEventListener("error", failed, true); // Such an event does not bubble.
})();
