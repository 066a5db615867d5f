// What the theme leaves out for those who use keys or a screen reader: its script wraps tables and builds its dialog once the
// page is there.
const mend = () => {
  for (const box of document.querySelectorAll(".md-typeset__scrollwrap:not([tabindex])")) box.tabIndex = 0;
  document.querySelector(".md-search[role=dialog]:not([aria-label])")?.setAttribute("aria-label", "Search");
};
mend();
new MutationObserver(mend).observe(document.body, { childList: true, subtree: true, attributeFilter: ["role"] });
