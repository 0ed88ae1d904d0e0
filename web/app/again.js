// Reloads the page when one of its files failed to load: Chromium aborts all loads when a network interface appears or
// disappears (ERR_NETWORK_CHANGED), which jobs on the same machine cause. This is a classic script, because a missing
// module also breaks the modules that import it. The history entry counts the reloads; main.js clears it.

(() => {
  const PAUSES_MS = [500, 2000, 4000];
  const again = history.state?.again || 0;
  let waits = window.loadsAgain || again >= PAUSES_MS.length;
  window.loadsAgain = true; // index.html includes this file twice.
  const failed = (event) => {
    const isNeeded = event.target.tagName === "SCRIPT" || event.target.rel === "stylesheet";
    if (waits || !isNeeded) return;
    waits = true;
    setTimeout(() => {
      history.replaceState({ again: again + 1 }, "");
      location.reload();
    }, PAUSES_MS[again]);
  };
  addEventListener("error", failed, true); // Load errors do not bubble.
})();
