// Before anything is painted: the colours the viewer chose.
try {
  const chosen = localStorage.getItem("lexbandit-theme");
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
} catch { /* storage may be forbidden: the system's colours then */ }
