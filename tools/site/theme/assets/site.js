// Adds what the theme lacks for users of a keyboard or a screen reader. The theme's script wraps tables and builds its
// dialog after the page has loaded, so this runs again after each change. The empty corner of a table is not a header.
const addAccessibility = () => {
  for (const box of document.querySelectorAll(".md-typeset__scrollwrap:not([tabindex])")) box.tabIndex = 0;
  for (const corner of document.querySelectorAll(".md-typeset th:empty"))
    corner.replaceWith(document.createElement("td"));
  document.querySelector(".md-search[role=dialog]:not([aria-label])")?.setAttribute("aria-label", "Search");
};
addAccessibility();
new MutationObserver(addAccessibility).observe(document.body, {
  childList: true,
  subtree: true,
  attributeFilter: ["role"],
});

// Browsers start no Python in a page that was opened as a file.
if (location.protocol === "file:")
  for (const link of document.querySelectorAll('a[href*="lite/notebooks/"]'))
    link.addEventListener("click", (event) => {
      event.preventDefault();
      alert("To open the labs in your browser, run python3 -m http.server in the folder of this site.");
    });
