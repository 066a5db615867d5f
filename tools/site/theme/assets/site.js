// What the theme leaves out for those who use keys or a screen reader: its script wraps tables and builds its dialog
// once the page is there. A table's empty corner heads nothing.
const repair = () => {
  for (const box of document.querySelectorAll(".md-typeset__scrollwrap:not([tabindex])")) box.tabIndex = 0;
  for (const corner of document.querySelectorAll(".md-typeset th:empty"))
    corner.replaceWith(document.createElement("td"));
  document.querySelector(".md-search[role=dialog]:not([aria-label])")?.setAttribute("aria-label", "Search");
};
repair();
new MutationObserver(repair).observe(document.body, { childList: true, subtree: true, attributeFilter: ["role"] });
