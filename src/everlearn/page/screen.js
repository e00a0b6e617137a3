// What runs in the browser, beside the scrubber: it puts what was painted into its places, says when it has been
// seen, and listens to the keyboard.
const FIELDS = "input:not([type=range]), select, textarea, [role=combobox], [role=option], [role=listbox]";
const BUTTONS = "button, summary, a, [role=switch], [role=button]";
const REST = 30; // milliseconds between two pictures: they seem to move, and the engine keeps its speed
const CALM = 1000; // milliseconds between two pictures for those who ask for less motion

export default {
  template: "<div hidden></div>",
  mounted() {
    this.shown = 0;
    this.onKey = (event) => this.press(event);
    this.onSize = () => this.look();
    window.addEventListener("keydown", this.onKey);
    this.onFocus = (event) => this.remember(event.target);
    document.addEventListener("focusin", this.onFocus);
    this.onClick = (event) => this.release(event);
    document.addEventListener("click", this.onClick);
    this.observer = new ResizeObserver(this.onSize);
    this.observer.observe(document.body);
    try {
      const theme = localStorage.getItem("everlearn.theme");
      if (theme) this.$emit("theme", { theme });
    } catch { /* the browser denies storage */ }
  },
  unmounted() {
    window.removeEventListener("keydown", this.onKey);
    document.removeEventListener("focusin", this.onFocus);
    document.removeEventListener("click", this.onClick);
    this.observer.disconnect();
    clearTimeout(this.next);
  },
  methods: {
    show(parts) {
      for (const [name, text] of Object.entries(parts)) {
        const place = document.querySelector(`[data-part="${name}"]`);
        if (place?.show) place.show(text); // the scrubber
        else if (place) place.innerHTML = text;
      }
      requestAnimationFrame(() => {
        this.shown += 1;
        document.body.dataset.shown = this.shown;
        this.keepFocus();
        const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
        clearTimeout(this.next); // whatever made it show something, the next look is one
        this.next = setTimeout(() => this.look(), calm ? CALM : REST);
      });
    },
    fold(name) {
      document.querySelector(`details[data-fold="${name}"]`)?.removeAttribute("open");
    },
    keepTheme(theme) {
      try { localStorage.setItem("everlearn.theme", theme); } catch { /* denied */ }
    },
    look() {
      const place = document.querySelector("[data-part=chart]");
      this.$emit("look", { width: place ? place.clientWidth : 0 });
    },
    alike(label) {
      return [...document.querySelectorAll(`[aria-label="${CSS.escape(label)}"]`)];
    },
    remember(target) {
      const label = target.getAttribute("aria-label");
      this.focused = label && { target, label, place: this.alike(label).indexOf(target) };
    },
    // Choices are built anew when others can be made; whoever was at one finds themselves at the same one again.
    keepFocus() {
      if (!this.focused || this.focused.target.isConnected || document.activeElement !== document.body) return;
      const { label, place } = this.focused;
      this.alike(label)[place]?.focus();
    },
    // A key belongs to what has the focus if that does something with it.
    belongs({ key, target }) {
      if (!target.closest || target.closest(FIELDS)) return !!target.closest;
      if (target.closest("[type=range]")) return key.startsWith("Arrow");
      return key === " " && !!target.closest(BUTTONS);
    },
    // Whoever clicks a button with the mouse, not with a key, has the space bar afterwards.
    release(event) {
      const moment = event.target.closest("[data-at]");
      if (moment) this.$emit("go", { at: Number(moment.dataset.at) });
      const button = event.target.closest(BUTTONS);
      if (event.detail === 0 || !button) return;
      setTimeout(() => button.contains(document.activeElement) && document.activeElement.blur());
    },
    press(event) {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const name = { " ": "run", ArrowRight: "step", ".": "step" }[event.key];
      if (!name || (name === "run" && event.repeat) || this.belongs(event)) return;
      event.preventDefault();
      this.$emit("press", { name });
    },
  },
};
