// The one piece of the page that runs in the browser: it puts what was painted into its places, says when it has been
// seen, and listens to the keyboard.
const CONTROLS = "input, select, textarea, button, summary, a, [role=slider], [role=combobox], [role=switch], [role=option]";

export default {
  template: "<div hidden></div>",
  mounted() {
    this.shown = 0;
    this.onKey = (event) => this.press(event);
    this.onSize = () => this.look();
    window.addEventListener("keydown", this.onKey);
    this.onFocus = (event) => this.remember(event.target);
    document.addEventListener("focusin", this.onFocus);
    this.observer = new ResizeObserver(this.onSize);
    this.observer.observe(document.body);
  },
  unmounted() {
    window.removeEventListener("keydown", this.onKey);
    document.removeEventListener("focusin", this.onFocus);
    this.observer.disconnect();
  },
  methods: {
    show(parts) {
      for (const [name, text] of Object.entries(parts)) {
        const place = document.querySelector(`[data-part="${name}"]`);
        if (place) place.innerHTML = text;
      }
      requestAnimationFrame(() => {
        this.shown += 1;
        document.body.dataset.shown = this.shown;
        this.keepFocus();
        this.look();
      });
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
    press(event) {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const control = event.target.closest && event.target.closest(CONTROLS);
      const name = { " ": "run", ArrowRight: "step", ".": "step" }[event.key];
      if (!name || control || (name === "run" && event.repeat)) return;
      event.preventDefault();
      this.$emit("press", { name });
    },
  },
};
