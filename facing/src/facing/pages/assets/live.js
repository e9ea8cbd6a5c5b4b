// The preview asks whether its pages are newer, and shows an error of the sources where there is one.
(() => {
  "use strict";
  let known = null;
  const ask = async () => {
    try {
      const { version, error } = await (await fetch("/_facing/version.json", { cache: "no-store" })).json();
      if (known !== null && version !== known) location.reload();
      known = version;
      let box = document.querySelector(".live-error");
      if (error && !box) {
        box = document.createElement("pre");
        box.className = "live-error coverage";
        box.setAttribute("role", "alert");
        document.body.prepend(box);
      }
      if (box) error ? (box.textContent = error) : box.remove();
    } catch {
      // The server is gone for the moment; the next question may find it again.
    }
  };
  setInterval(ask, 700);
})();
