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
    this.observer = new ResizeObserver(this.onSize);
    this.observer.observe(document.querySelector("[data-part=chart]"));
  },
  unmounted() {
    window.removeEventListener("keydown", this.onKey);
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
        this.look();
      });
    },
    look() {
      const place = document.querySelector("[data-part=chart]");
      this.$emit("look", { width: place ? place.clientWidth : 0 });
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
