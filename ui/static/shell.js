// Our own pages: the reader's choice of light or dark (shared with Gradio's pages), and the "show" button of passwords.
(() => {
  let chosen = null;
  try { chosen = localStorage.getItem("sf_theme"); } catch (_) { /* storage may be closed */ }
  const system = matchMedia("(prefers-color-scheme: dark)");
  const apply = () => document.documentElement.classList.toggle("dark", chosen ? chosen === "dark" : system.matches);
  apply();
  system.addEventListener("change", apply);
  window.sfTheme = () => {
    chosen = document.documentElement.classList.contains("dark") ? "light" : "dark";
    try { localStorage.setItem("sf_theme", chosen); } catch (_) { /* then it lasts for this page */ }
    apply();
  };
  document.addEventListener("DOMContentLoaded", () => {
    for (const button of document.querySelectorAll("[data-reveal]")) {
      const field = document.getElementById(button.dataset.reveal);
      button.hidden = false;
      button.addEventListener("click", () => {
        const shown = field.type === "text";
        field.type = shown ? "password" : "text";
        button.setAttribute("aria-pressed", String(!shown));
        button.textContent = shown ? button.dataset.show : button.dataset.hide;
        field.focus();
      });
    }
    // A second press while the first is under way would only be refused.
    for (const form of document.querySelectorAll("form")) {
      form.addEventListener("submit", event => {
        if (form.dataset.sent) event.preventDefault();
        form.dataset.sent = "1";
        setTimeout(() => { delete form.dataset.sent; }, 5000);
      });
    }
  });
  window.addEventListener("pageshow", () => document.querySelectorAll("form").forEach(form => { delete form.dataset.sent; }));
})();
