// The slider of the timeline.  Its place belongs to whoever moves it: the server says where the run is, and that is
// shown only while nobody moves the slider and no move is under way.
const REST = 300; // milliseconds after which a slider that was let go shows the run again, if nothing was chosen
const PLACES = 1000; // the last place; the scale is logarithmic, and ends at the last step

const placeOf = (t, last) => (t >= last ? PLACES : Math.round((PLACES * Math.log1p(t)) / Math.log1p(last)));
const stepAt = (place, last) => (place >= PLACES ? last : Math.round(Math.expm1((Math.log1p(last) * place) / PLACES)));

export default {
  template: `<div class="scrub"><b>Timeline</b>
    <input type="range" min="0" :max="most" step="1" :value="place" data-part="scrub" aria-label="Go to a step"
      title="Drag to go back to any step" :aria-valuetext="label" ref="slider" @pointerdown="hold(false)"
      @pointerup="drop" @pointercancel="drop" @keydown="hold(true)" @keyup="drop" @blur="drop"
      @input="move" @change="choose">
    <span class="quiet">{{ label }}</span></div>`,
  data: () => ({ most: PLACES, t: 0, last: 0, place: PLACES, wanted: null, waiting: false }),
  computed: {
    label() {
      if (this.wanted !== null) return `step ${this.wanted.toLocaleString("en")}`;
      if (this.t >= this.last) return "drag to go back";
      return `step ${this.t.toLocaleString("en")} of ${this.last.toLocaleString("en")}`;
    },
  },
  mounted() {
    this.latest = "0 0"; // the step of the run, and the last one
    this.held = false; // whether a pointer or a key holds the slider
    this.keys = false;
    this.$refs.slider.show = (text) => this.show(text);
  },
  unmounted() {
    clearTimeout(this.dropping);
  },
  methods: {
    show(text) {
      this.latest = text;
      if (this.held || this.waiting) return;
      [this.t, this.last] = text.split(" ").map(Number);
      this.wanted = null;
      this.place = placeOf(this.t, this.last);
    },
    hold(keys) {
      clearTimeout(this.dropping);
      this.held = true;
      this.keys = keys;
    },
    drop() {
      clearTimeout(this.dropping);
      this.dropping = setTimeout(() => { this.held = false; this.show(this.latest); }, REST);
    },
    move(event) {
      const before = this.wanted ?? this.t;
      let place = Number(event.target.value);
      const step = stepAt(place, this.last);
      const back = place < this.place ? -1 : 1;
      this.wanted = this.keys && step === before ? Math.min(Math.max(step + back, 0), this.last) : step;
      if (this.keys && step === before) place = placeOf(this.wanted, this.last); // a key goes to another step
      this.place = place;
      event.target.value = place;
    },
    choose() {
      if (this.wanted === null) return;
      this.waiting = true;
      this.$emit("go", { at: this.wanted });
    },
    // The server has gone to the step of the latest "go", or has done something else since.
    arrive() {
      this.waiting = false;
      this.show(this.latest);
    },
  },
};
