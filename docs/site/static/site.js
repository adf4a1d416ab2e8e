// SPDX-License-Identifier: MIT
// Light and dark pages. Debian's furo ships its script as a module that it loads as a plain script, and styles without the
// theme of the system, so both are done here: the theme that a reader chose, else that of the system.
(function () {
    "use strict";
    const system = window.matchMedia("(prefers-color-scheme: dark)");
    function show() {
        document.body.dataset.theme = localStorage.getItem("theme") || (system.matches ? "dark" : "light");
    }
    function toggle() {
        localStorage.setItem("theme", document.body.dataset.theme === "dark" ? "light" : "dark");
        show();
    }
    if (!["light", "dark"].includes(localStorage.getItem("theme")))
        localStorage.removeItem("theme");
    show();
    system.addEventListener("change", show);
    document.documentElement.classList.remove("no-js");
    for (const button of document.getElementsByClassName("theme-toggle"))
        button.addEventListener("click", toggle);
})();
