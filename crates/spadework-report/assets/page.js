'use strict';
(() => {
  const byId = (id) => document.getElementById(id);
  const data = JSON.parse(byId('data').textContent);

  // Theme: the reader's, until the button says otherwise.
  const theme = byId('theme');
  const setTheme = (dark) => {
    document.documentElement.dataset.theme = dark ? 'dark' : 'light';
    theme.setAttribute('aria-pressed', String(dark));
    theme.textContent = dark ? 'Light' : 'Dark';
  };
  setTheme(matchMedia('(prefers-color-scheme: dark)').matches);

  // Tables and lists as files. What a spreadsheet would compute begins with an apostrophe, as in the tables that the command writes.
  const isFormula = (text) => /^[=+\-@\t\r]/.test(text) && Number.isNaN(Number(text));
  const csvField = (value) => {
    const raw = String(value);
    const text = isFormula(raw) ? `'${raw}` : raw;
    return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  const save = (name, rows) => {
    const text = rows.map((row) => row.map(csvField).join(',')).join('\n') + '\n';
    const link = document.createElement('a');
    link.href = URL.createObjectURL(new Blob([text], { type: 'text/csv' }));
    link.download = `${name}.csv`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  };
  for (const button of document.querySelectorAll('button.save')) {
    button.addEventListener('click', () => {
      const table = byId(button.dataset.table);
      save(table.dataset.name, Array.from(table.rows, (row) => Array.from(row.cells, (cell) => cell.dataset.exact ?? cell.textContent)));
    });
  }

  let redraw = () => {};
  theme.addEventListener('click', () => {
    setTheme(document.documentElement.dataset.theme !== 'dark');
    redraw();
  });
  if (data === null) return;

  // Columns of numbers.
  const unpack = (text, Kind) => new Kind(Uint8Array.from(atob(text), (byte) => byte.charCodeAt(0)).buffer);
  const count = data.samples;
  // Most fragile first; equal ones in the order of the samples, as everywhere.
  const ordered = (column) => Uint32Array.from({ length: count }, (_, p) => p).sort((a, b) => column[b] - column[a] || a - b);
  const ranks = (order) => {
    const rank = new Uint32Array(count);
    order.forEach((p, at) => { rank[p] = at + 1; });
    return rank;
  };
  const idOf = (p) => (data.ids ? data.ids[p] : `#${p}`);
  const labels = data.labels && { names: data.labels.names, of: unpack(data.labels.packed, Uint16Array) };
  const models = data.models.map((model) => {
    const [scores, margins, fragility] = [model.scores, model.margins, model.fragility].map((column) => column && unpack(column, Float64Array));
    const predicted = model.predicted && { names: model.predicted.names, of: unpack(model.predicted.packed, Uint16Array) };
    // By what says best which samples break, as in the tables of the command; node scores keep ranks of their own.
    const [order, scoreOrder] = [ordered(fragility ?? scores), ordered(scores)];
    return { name: model.name, scores, order, scoreOrder, rank: ranks(order), scoreRank: ranks(scoreOrder), predicted, margins, fragility };
  });
  const labelOf = (p) => (labels ? labels.names[labels.of[p]] : null);
  const predictedOf = (model, p) => (model.predicted ? model.predicted.names[model.predicted.of[p]] : null);
  const isWrong = (model, p) => model.predicted !== null && labelOf(p) !== predictedOf(model, p);
  const written = (value) => (value === 0 ? '0' : Math.abs(value) < 1e-4 || Math.abs(value) >= 1e7 ? value.toExponential(1) : String(Number(value.toPrecision(3))));

  // Numbers of a sample, the one that ranks it first.
  const numbersOf = (model, p) => [
    ...(model.fragility ? [`fragility ${model.fragility[p].toFixed(3)}`] : []),
    ...(model.margins ? [`margin ${written(model.margins[p])}`] : []),
    `${model.fragility ? 'node score' : 'score'} ${written(model.scores[p])}`,
  ];
  // In a caption there is room for what ranks a sample, and no more.
  const briefly = (model, p) => numbersOf(model, p).slice(0, model.fragility ? 2 : 1);

  // Pictures and rows of samples, and of the probes that broke some of them.
  const sheet = data.pictures;
  const place = new Map((sheet ? sheet.samples : []).map((p, at) => [p, at]));
  const rows = new Map((data.rows ? data.rows.samples : []).map((p, at) => [p, data.rows.numbers[at]]));
  const variants = data.variants;
  const variantOf = new Map((variants ? variants.samples : []).map((p, at) => [p, at]));
  const sheetStyle = (name, image) => `.picture.${name} { background-image: url(${image}); }`;
  const style = document.createElement('style');
  if (sheet) style.textContent += sheetStyle('of-sheet', sheet.image);
  if (variants?.pictures) style.textContent += sheetStyle('of-variants', variants.pictures.image);
  document.head.append(style);
  const nameOf = (p) => `sample ${idOf(p)}${labels ? `, label ${labelOf(p)}` : ''}`;
  const showCell = (element, from, at, name) => {
    // The longer side fills the square.
    const scale = 84 / Math.max(from.width, from.height);
    element.classList.add(name);
    element.style.width = `${from.width * scale}px`;
    element.style.height = `${from.height * scale}px`;
    element.style.backgroundSize = `${from.columns * from.width * scale}px ${from.rows * from.height * scale}px`;
    element.style.backgroundPosition = `${-(at % from.columns) * from.width * scale}px ${-Math.floor(at / from.columns) * from.height * scale}px`;
  };
  const named = (element, name) => {
    element.setAttribute('role', 'img');
    element.setAttribute('aria-label', name);
    return element;
  };
  const fillPicture = (element, p) => {
    if (place.has(p)) showCell(element, sheet, place.get(p), 'of-sheet');
    else if (rows.has(p)) {
      element.classList.add('numbers');
      const table = document.createElement('table');
      for (const [column, value] of rows.get(p)) {
        const row = table.insertRow();
        row.insertCell().textContent = column;
        row.insertCell().textContent = value;
      }
      if (data.rows.left_out > 0) table.insertRow().insertCell().textContent = `and ${data.rows.left_out} more`;
      element.replaceChildren(table);
    } else {
      element.classList.add('empty');
      element.textContent = sheet ? 'no picture (--pictures)' : 'not on this page';
    }
    return named(element, nameOf(p));
  };
  const division = (name) => {
    const element = document.createElement('div');
    element.className = name;
    return element;
  };
  // The probe that broke a sample, and what it changed.
  const brokenOf = (p) => {
    const at = variantOf.get(p);
    const [to, times] = [variants.classes[at], variants.amplified];
    if (!variants.pictures) {
      const text = division('picture numbers');
      text.textContent = variants.text[at];
      return [named(text, `what the probe changed; classified as ${to}`)];
    }
    const [probe, difference] = [division('picture'), division('picture')];
    showCell(probe, variants.pictures, at, 'of-variants');
    showCell(difference, variants.pictures, variants.samples.length + at, 'of-variants');
    return [named(probe, `the probe that broke ${idOf(p)}, classified as ${to}`), named(difference, `the difference, amplified ${times} times`)];
  };
  const caption = (p, model, extra) => {
    const text = document.createElement('figcaption');
    const id = document.createElement('strong');
    id.textContent = idOf(p);
    text.append(id);
    if (labels) text.append(` · ${labelOf(p)}`);
    if (isWrong(model, p)) {
      const span = document.createElement('span');
      span.textContent = ` → ${predictedOf(model, p)}`;
      span.className = 'wrong';
      text.append(span);
    }
    for (const line of extra ? [extra] : briefly(model, p)) text.append(document.createElement('br'), line);
    return text;
  };
  const figureOf = (p, model, extra, withBroken) => {
    const figure = document.createElement('figure');
    const picture = fillPicture(division('picture'), p);
    const isText = !place.has(p) && rows.has(p);
    if (isText) figure.className = 'text';
    if (!withBroken || !variantOf.has(p)) {
      figure.append(picture, caption(p, model, extra));
      return figure;
    }
    figure.classList.add('broken');
    const row = division('three');
    row.append(picture, ...brokenOf(p));
    const to = document.createElement('span');
    to.className = 'wrong';
    to.textContent = variants.classes[variantOf.get(p)];
    const text = caption(p, model, 'after the probe ');
    text.append(to, isText ? '' : ` (difference × ${variants.amplified})`);
    figure.append(row, text);
    return figure;
  };
  const fillGallery = (gallery, samples, model, extra) => {
    gallery.replaceChildren(...samples.map((p) => figureOf(p, model, extra && extra(p))));
    if (samples.length === 0) gallery.textContent = 'None.';
  };
  for (const element of document.querySelectorAll('.picture[data-sample]')) {
    const p = Number(element.dataset.sample);
    if (element.dataset.caption) element.replaceWith(figureOf(p, models[0], undefined, element.dataset.broken));
    else fillPicture(element, p);
  }

  // Colors of points: a bucket a sample, drawn bucket by bucket.
  const shades = ['#440154', '#472d7b', '#3b528b', '#2c728e', '#21918c', '#28ae80', '#5ec962', '#addc30', '#fde725'];
  const schemes = {};
  if (models.every((model) => model.fragility)) schemes.fragility = 'fragility';
  schemes.score = 'node score';
  if (labels) schemes.label = 'label';
  if (models.some((model) => model.predicted)) schemes.right = 'right or wrong';
  const colorChoice = byId('color');
  for (const [value, text] of Object.entries(schemes)) colorChoice.append(new Option(text, value));
  if (labels) colorChoice.value = 'label';
  const coloring = (scheme, model) => {
    if (scheme === 'label') return { colors: labels.names.map((_, at) => data.colors[at % data.colors.length]), bucket: (p) => labels.of[p] };
    if (scheme === 'right') return { colors: ['#56b4e9', '#d55e00'], bucket: (p) => (isWrong(model, p) ? 1 : 0) };
    if (scheme === 'fragility') return { colors: shades, bucket: (p) => Math.min(shades.length - 1, Math.floor(model.fragility[p] * shades.length)) };
    return { colors: shades, bucket: (p) => Math.min(shades.length - 1, Math.floor((1 - (model.scoreRank[p] - 1) / count) * shades.length)) };
  };
  const drawLegend = () => {
    const legend = byId('legend');
    legend.replaceChildren();
    const entry = (color, text) => {
      const item = document.createElement('span');
      const dot = document.createElement('i');
      dot.style.background = color;
      item.append(dot, text);
      legend.append(item);
    };
    if (colorChoice.value === 'label') labels.names.slice(0, 40).forEach((name, at) => entry(data.colors[at % data.colors.length], name));
    else if (colorChoice.value === 'right') { entry('#56b4e9', 'right'); entry('#d55e00', 'wrong'); } else {
      const bar = document.createElement('b');
      bar.style.background = `linear-gradient(to right, ${shades.join(',')})`;
      legend.append('most robust', bar, 'most fragile (by rank)');
    }
  };

  // Scatter plots. All of them show the same samples, so they share the one pointed at and the selection.
  const selected = new Uint8Array(count);
  let pointed = -1;
  const cssValue = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const CELL = 16;

  class View {
    constructor(view) {
      this.model = models[view.model];
      this.packed = unpack(view.points, Uint16Array);
      const figure = document.createElement('figure');
      this.plot = document.createElement('div');
      this.plot.className = 'plot';
      this.points = document.createElement('canvas');
      this.marks = document.createElement('canvas');
      this.marks.tabIndex = 0;
      this.marks.setAttribute('role', 'application');
      this.marks.setAttribute('aria-label', `${view.title}. Scatter plot of ${count} samples. Arrow keys step through the samples, Enter selects.`);
      this.plot.append(this.points, this.marks);
      const text = document.createElement('figcaption');
      const title = document.createElement('strong');
      title.textContent = view.title;
      text.append(title, ' ', view.note);
      figure.append(text, this.plot);
      byId('views').append(figure);
      this.whole();
      this.listen();
      new ResizeObserver(() => { this.resize(); }).observe(this.plot);
    }

    whole() {
      this.zoom = 1;
      this.center = [0.5, 0.5];
    }

    resize() {
      const box = this.marks.getBoundingClientRect();
      this.ratio = devicePixelRatio || 1;
      [this.width, this.height] = [box.width, box.height];
      for (const canvas of [this.points, this.marks]) {
        canvas.width = Math.round(box.width * this.ratio);
        canvas.height = Math.round(box.height * this.ratio);
        canvas.getContext('2d').scale(this.ratio, this.ratio);
      }
      this.layOut();
    }

    // Screen places of all samples, and the samples of every cell of a grid, for finding the one under the pointer.
    layOut() {
      if (!this.width) return;
      const margin = 10;
      const [wide, high] = [this.width - 2 * margin, this.height - 2 * margin];
      this.x = new Float32Array(count);
      this.y = new Float32Array(count);
      for (let p = 0; p < count; p += 1) {
        this.x[p] = margin + ((this.packed[2 * p] / 65535 - this.center[0]) * this.zoom + 0.5) * wide;
        this.y[p] = margin + ((1 - this.packed[2 * p + 1] / 65535 - this.center[1]) * this.zoom + 0.5) * high;
      }
      this.columns = Math.ceil(this.width / CELL);
      this.rows = Math.ceil(this.height / CELL);
      const cellOf = (p) => {
        const [column, row] = [Math.floor(this.x[p] / CELL), Math.floor(this.y[p] / CELL)];
        return column < 0 || row < 0 || column >= this.columns || row >= this.rows ? -1 : row * this.columns + column;
      };
      this.starts = new Uint32Array(this.columns * this.rows + 1);
      for (let p = 0; p < count; p += 1) { const cell = cellOf(p); if (cell >= 0) this.starts[cell + 1] += 1; }
      for (let cell = 0; cell < this.columns * this.rows; cell += 1) this.starts[cell + 1] += this.starts[cell];
      this.inCells = new Uint32Array(this.starts[this.columns * this.rows]);
      const next = this.starts.slice();
      for (let p = 0; p < count; p += 1) { const cell = cellOf(p); if (cell >= 0) { this.inCells[next[cell]] = p; next[cell] += 1; } }
      this.draw();
    }

    draw() {
      if (!this.width) return;
      const context = this.points.getContext('2d');
      context.clearRect(0, 0, this.width, this.height);
      const { colors, bucket } = coloring(colorChoice.value, this.model);
      const buckets = colors.map(() => []);
      for (let p = 0; p < count; p += 1) {
        if (this.x[p] > -4 && this.y[p] > -4 && this.x[p] < this.width + 4 && this.y[p] < this.height + 4) buckets[bucket(p)].push(p);
      }
      const size = count > 20000 ? 1.6 : count > 3000 ? 2.4 : 4;
      context.globalAlpha = 0.75;
      buckets.forEach((samples, at) => {
        context.fillStyle = colors[at];
        for (const p of samples) context.fillRect(this.x[p] - size / 2, this.y[p] - size / 2, size, size);
      });
      context.globalAlpha = 1;
      this.drawMarks();
    }

    drawMarks() {
      if (!this.width) return;
      const context = this.marks.getContext('2d');
      context.clearRect(0, 0, this.width, this.height);
      context.strokeStyle = cssValue('--ink');
      context.lineWidth = 1;
      if (selectedCount() > 0) {
        for (let p = 0; p < count; p += 1) if (selected[p]) context.strokeRect(this.x[p] - 3, this.y[p] - 3, 6, 6);
      }
      if (pointed >= 0) {
        context.lineWidth = 2.5;
        context.strokeStyle = cssValue('--accent');
        context.beginPath();
        context.arc(this.x[pointed], this.y[pointed], 8, 0, 7);
        context.stroke();
      }
      if (this.path && this.path.length > 1) {
        context.strokeStyle = cssValue('--accent');
        context.lineWidth = 1.5;
        context.setLineDash([5, 4]);
        context.beginPath();
        this.outline().forEach(([x, y], at) => (at ? context.lineTo(x, y) : context.moveTo(x, y)));
        context.closePath();
        context.stroke();
        context.setLineDash([]);
      }
    }

    // The corners of a box, or the lasso as it was drawn.
    outline() {
      if (mode() === 'lasso') return this.path;
      const [[a, b], [c, d]] = [this.path[0], this.path[this.path.length - 1]];
      return [[a, b], [c, b], [c, d], [a, d]];
    }

    nearest([x, y]) {
      let [best, least] = [-1, 14 * 14];
      const [column, row] = [Math.floor(x / CELL), Math.floor(y / CELL)];
      for (let j = Math.max(0, row - 1); j <= Math.min(this.rows - 1, row + 1); j += 1) {
        for (let i = Math.max(0, column - 1); i <= Math.min(this.columns - 1, column + 1); i += 1) {
          const cell = j * this.columns + i;
          for (let at = this.starts[cell]; at < this.starts[cell + 1]; at += 1) {
            const p = this.inCells[at];
            const distance = (this.x[p] - x) ** 2 + (this.y[p] - y) ** 2;
            if (distance < least) [best, least] = [p, distance];
          }
        }
      }
      return best;
    }

    listen() {
      // The plot is a little larger than its canvas: what begins at the edge begins on the plot.
      const [plot, canvas] = [this.plot, this.marks];
      const at = (event) => {
        const box = canvas.getBoundingClientRect();
        return [event.clientX - box.left, event.clientY - box.top];
      };
      plot.addEventListener('pointerdown', (event) => {
        if (event.button > 0) return;
        this.path = [at(event)];
        plot.setPointerCapture(event.pointerId);
      });
      plot.addEventListener('pointermove', (event) => {
        const here = at(event);
        if (!this.path) { point(this.nearest(here), this.model); return; }
        const [x, y] = this.path[this.path.length - 1];
        if (mode() === 'move') {
          this.center[0] -= (here[0] - x) / this.width / this.zoom;
          this.center[1] -= (here[1] - y) / this.height / this.zoom;
          this.path = [here];
          this.layOut();
          return;
        }
        this.path.push(here);
        this.drawMarks();
      });
      const end = (event, drop) => {
        const path = this.path;
        if (!path) return;
        const far = path.some(([x, y]) => Math.hypot(x - path[0][0], y - path[0][1]) > 5);
        const outline = far && !drop && mode() !== 'move' ? this.outline() : null;
        this.path = null;
        if (outline) selectWithin(this, outline, event.shiftKey);
        else if (!far && !drop) point(this.nearest(path[0]), this.model);
        this.drawMarks();
      };
      plot.addEventListener('pointerup', (event) => end(event, false));
      plot.addEventListener('pointercancel', (event) => end(event, true));
      plot.addEventListener('wheel', (event) => {
        event.preventDefault();
        const [x, y] = at(event);
        const factor = Math.exp(-event.deltaY / 400);
        const zoom = Math.min(5000, Math.max(1, this.zoom * factor));
        const shift = 1 / this.zoom - 1 / zoom;
        this.center[0] += (x / this.width - 0.5) * shift;
        this.center[1] += (y / this.height - 0.5) * shift;
        this.zoom = zoom;
        if (zoom === 1) this.whole();
        this.layOut();
      }, { passive: false });
      canvas.addEventListener('keydown', (event) => {
        const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
        if (step) {
          const rank = pointed < 0 ? (step > 0 ? 0 : count - 1) : this.model.rank[pointed] - 1 + step;
          point(this.model.order[(rank + count) % count], this.model);
        } else if ((event.key === 'Enter' || event.key === ' ') && pointed >= 0) {
          selected[pointed] = 1 - selected[pointed];
          showSelection();
        } else if (event.key === 'Escape') clearSelection();
        else return;
        event.preventDefault();
      });
    }
  }

  const mode = () => document.querySelector('input[name=mode]:checked').value;
  const selectedCount = () => selected.reduce((sum, is) => sum + is, 0);
  const views = [];
  const redrawMarks = () => views.forEach((view) => view.drawMarks());
  const card = byId('card');
  const point = (p, model) => {
    if (p < 0 || p === pointed) return;
    pointed = p;
    const lines = document.createElement('div');
    const says = [[`Sample ${idOf(p)}, rank ${model.rank[p]} of ${count}`, ...numbersOf(model, p)].join(', ')];
    if (labels) says.push(`label ${labelOf(p)}`);
    if (model.predicted) says.push(`predicted ${predictedOf(model, p)}`);
    lines.textContent = says.join('; ') + '.';
    const picture = document.createElement('div');
    picture.className = 'picture';
    fillPicture(picture, p);
    card.replaceChildren(picture, lines);
    redrawMarks();
  };
  card.textContent = 'Point at a sample to see it.';

  // A point is inside where a ray from it crosses the outline an odd number of times.
  const inside = (outline, x, y) => {
    let is = false;
    for (let i = 0, j = outline.length - 1; i < outline.length; j = i, i += 1) {
      const [[a, b], [c, d]] = [outline[i], outline[j]];
      if ((b > y) !== (d > y) && x < ((c - a) * (y - b)) / (d - b) + a) is = !is;
    }
    return is;
  };
  const selectWithin = (view, outline, add) => {
    if (!add) selected.fill(0);
    for (let p = 0; p < count; p += 1) if (inside(outline, view.x[p], view.y[p])) selected[p] = 1;
    showSelection();
  };
  const clearSelection = () => { selected.fill(0); showSelection(); };
  const nodeRows = (samples) => {
    const header = ['index', ...(data.ids ? ['id'] : []), 'label'];
    for (const model of models) {
      const suffix = models.length > 1 ? `_${model.name}` : '';
      header.push(`predicted${suffix}`, `score${suffix}`, `rank${suffix}`, `margin${suffix}`, `fragility${suffix}`);
    }
    const fields = (model, p) => [predictedOf(model, p) ?? '', model.scores[p], model.rank[p], model.margins?.[p] ?? '', model.fragility?.[p] ?? ''];
    return [header, ...samples.map((p) => [p, ...(data.ids ? [data.ids[p]] : []), labelOf(p) ?? '', ...models.flatMap((model) => fields(model, p))])];
  };
  const selectedSamples = () => Array.from(models[0].order).filter((p) => selected[p]);
  const showSelection = () => {
    const samples = selectedSamples();
    byId('selected-count').textContent = samples.length === 0 ? 'Nothing is selected.' : `${samples.length} ${samples.length === 1 ? 'sample' : 'samples'} selected${samples.length > 36 ? '; the 36 most fragile of them (pictures as far as this page has them):' : ', most fragile first:'}`;
    fillGallery(byId('selection'), samples.slice(0, 36), models[0]);
    if (samples.length === 0) byId('selection').textContent = '';
    byId('save-selection').disabled = samples.length === 0;
    byId('clear-selection').disabled = samples.length === 0;
    redrawMarks();
  };
  byId('save-selection').addEventListener('click', () => save('selection', nodeRows(selectedSamples())));
  byId('clear-selection').addEventListener('click', clearSelection);
  byId('save-nodes').addEventListener('click', () => save('nodes', nodeRows(Array.from({ length: count }, (_, p) => p))));
  byId('reset-view').addEventListener('click', () => views.forEach((view) => { view.whole(); view.layOut(); }));
  colorChoice.addEventListener('change', () => { drawLegend(); views.forEach((view) => view.draw()); });
  for (const view of data.views) views.push(new View(view));
  drawLegend();
  redraw = () => views.forEach((view) => view.draw());

  // Fragile and robust samples of one model.
  if (byId('fragile')) {
    const [model] = models;
    const [label, right, by] = [byId('filter-label'), byId('filter-right'), byId('rank-by')];
    const orders = { score: Array.from(model.scoreOrder) };
    if (model.fragility) {
      by.prepend(new Option('fragility', 'fragility'));
      by.value = 'fragility';
      orders.fragility = Array.from(model.order);
    } else by.disabled = true;
    if (labels) labels.names.forEach((name, at) => label.append(new Option(name, String(at))));
    else label.disabled = true;
    if (!model.predicted) right.disabled = true;
    const fits = (p) => (label.value === '' || labels.of[p] === Number(label.value))
      && (right.value === '' || isWrong(model, p) === (right.value === 'wrong'));
    const fill = () => {
      const samples = orders[by.value].filter(fits);
      fillGallery(byId('fragile'), samples.slice(0, data.galleries.fragile), model);
      fillGallery(byId('robust'), samples.slice(-data.galleries.robust).reverse(), model);
    };
    label.addEventListener('change', fill);
    right.addEventListener('change', fill);
    by.addEventListener('change', fill);
    fill();
  }

  // Samples whose rank changed most between two models.
  if (byId('worse')) {
    const [from, to] = [byId('change-from'), byId('change-to')];
    if (models.every((model) => model.fragility)) byId('changed-by').textContent = 'fragility';
    const fill = () => {
      const [a, b] = [models[Number(from.value)], models[Number(to.value)]];
      const change = (p) => a.rank[p] - b.rank[p];
      // The largest changes one way, samples in their order where they are equal.
      const changed = (sign) => Array.from({ length: count }, (_, p) => p)
        .filter((p) => sign * change(p) > 0)
        .sort((p, q) => sign * (change(q) - change(p)) || p - q)
        .slice(0, data.galleries.changed);
      const extra = (p) => `rank ${a.rank[p]} → ${b.rank[p]}`;
      fillGallery(byId('worse'), changed(1), b, extra);
      fillGallery(byId('better'), changed(-1), b, extra);
    };
    from.addEventListener('change', fill);
    to.addEventListener('change', fill);
    fill();
  }
})();
