// Pages in a real browser: they load without errors and without a network, and what a reader can do works.
// Run by scripts/test-page, which sets SPADEWORK (the command), BROWSER (chrome or firefox), EXECUTABLE (its program) and
// WORK (a folder for files).
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { appendFileSync, mkdirSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import puppeteer from 'puppeteer-core';

const { SPADEWORK, BROWSER, EXECUTABLE, WORK, SPADEWORK_DATA } = process.env;
const FIREFOX = BROWSER === 'firefox';
const HOSTILE = '</script><script>window.broken = 1</script><img src=x onerror="window.broken = 2">';
// A model's name ends at the first =.
const HOSTILE_NAME = '</script><script>window.stop(), alert(1)</script>';

/** Why widths of letters mean nothing here, if so: without a font Firefox draws a wide box for each. */
const NO_FONTS = (() => {
  try {
    return execFileSync('fc-list', { stdio: 'pipe' }).length === 0 ? 'there is no font' : false;
  } catch {
    return false;
  }
})();

const file = (name) => join(WORK, name);
const SAVED = file('saved');

/** A browser with a home of its own, since that of the user may be read-only, which saves files to SAVED. */
const launch = async (dark) => {
  const home = file(dark ? 'home-dark' : 'home');
  mkdirSync(home, { recursive: true });
  const browser = await puppeteer.launch({
    browser: BROWSER,
    executablePath: EXECUTABLE,
    env: { ...process.env, HOME: home, XDG_CONFIG_HOME: home, XDG_CACHE_HOME: home },
    args: FIREFOX ? [] : ['--no-sandbox', '--disable-gpu'],
    extraPrefsFirefox: {
      'browser.download.folderList': 2,
      'browser.download.dir': SAVED,
      'browser.download.useDownloadDir': true,
      'browser.download.alwaysOpenPanel': false,
      'browser.helperApps.neverAsk.saveToDisk': 'text/csv',
      // 0 is dark, 1 is light: the driver has no call for it.
      'layout.css.prefers-color-scheme.content-override': dark ? 0 : 1,
    },
  });
  if (!FIREFOX) {
    const session = await browser.target().createCDPSession();
    await session.send('Browser.setDownloadBehavior', { behavior: 'allow', downloadPath: SAVED });
  }
  return browser;
};
const browsers = {};
/** The one browser of a kind; Firefox needs another one for the dark. */
const theBrowser = (dark) => {
  const kind = FIREFOX && dark ? 'dark' : 'light';
  browsers[kind] ??= launch(kind === 'dark');
  return browsers[kind];
};
const spadework = (...args) => execFileSync(SPADEWORK, [...args, '--quiet'], { cwd: WORK, stdio: 'pipe' });

/** Points of three rings; outputs tear one of them. As many outputs as labels: a classifier. */
const writeArrays = () => {
  const rows = Array.from({ length: 360 }, (_, at) => {
    const [ring, angle] = [at % 3, (Math.floor(at / 3) / 120) * 2 * Math.PI];
    return { ring, x: [ring * 3 + Math.cos(angle), Math.sin(angle)], y: [ring * 2 + (ring === 1 ? angle : Math.cos(angle)), Math.sin(angle), 0.01 * angle] };
  });
  const csv = (pick) => rows.map((row) => pick(row).join(',')).join('\n') + '\n';
  writeFileSync(file('x.csv'), csv((row) => row.x));
  writeFileSync(file('y <b>.csv'), csv((row) => row.y));
  writeFileSync(file('labels.csv'), rows.map((row) => [`"${HOSTILE.replaceAll('"', '""')}"`, 'b', '"c, ""d"""'][row.ring]).join('\n') + '\n');
};

/**
 * Sets the size of the window. The driver sets the orientation of the screen too, which Firefox 140 ESR does not know;
 * the size is set all the same, so only the size is waited for.
 */
const resize = async (page, viewport) => {
  await page.setViewport(viewport).catch((error) => {
    if (!/unknown command.*setScreenOrientationOverride/.test(error.message)) throw error;
  });
  await page.waitForFunction((width) => innerWidth === width, { timeout: 10_000 }, viewport.width);
};

const open = async (name, settings = {}) => {
  const page = await (await theBrowser(settings.dark)).newPage();
  page.problems = [];
  page.on('console', (message) => { if (message.type() === 'error' || message.type() === 'warn') page.problems.push(message.text()); });
  page.on('pageerror', (error) => page.problems.push(error.message));
  page.on('request', (request) => { if (!/^(file|data|blob):/.test(request.url())) page.problems.push(`asks for ${request.url()}`); });
  await resize(page, { width: 1280, height: 900, ...settings.viewport });
  if (!FIREFOX) await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: settings.dark ? 'dark' : 'light' }]);
  await page.goto(pathToFileURL(file(name)).href);
  return page;
};
const text = (page, selector) => page.$eval(selector, (element) => element.textContent);

/** Clicks at what may lie anywhere: at the edge of the screen the contents, which stay there, would be hit. */
const click = async (page, selector) => {
  await page.$eval(selector, (element) => element.scrollIntoView({ block: 'center' }));
  await page.click(selector);
};

/** The square of the first plot on the screen, its frame included. */
const plotBox = async (page) => {
  await page.$eval('#views .plot', (plot) => plot.scrollIntoView({ block: 'center' }));
  return (await page.$('#views .plot')).boundingBox();
};

/** Drags over the first plot along points given as parts of its sides, beginning so many pixels inside of the first. */
const drag = async (page, corners, inset = 0) => {
  const box = await plotBox(page);
  const inside = (part, start, side) => start + part * side + Math.sign(0.5 - part) * inset;
  const at = ([x, y]) => [inside(x, box.x, box.width), inside(y, box.y, box.height)];
  await page.mouse.move(...at(corners[0]));
  await page.mouse.down();
  for (const corner of corners.slice(1)) await page.mouse.move(...at(corner), { steps: 5 });
  await page.mouse.up();
};

const saved = async (page, button, name) => {
  rmSync(SAVED, { recursive: true, force: true });
  mkdirSync(SAVED);
  await page.$eval(button, (element) => element.click());
  // Firefox writes name.part and then renames it, over an empty file of the name.
  const isThere = () => { const names = readdirSync(SAVED); return names.length === 1 && names[0] === name && statSync(join(SAVED, name)).size > 0; };
  for (let wait = 0; wait < 600 && !isThere(); wait += 1) await new Promise((done) => setTimeout(done, 50));
  return readFileSync(join(SAVED, name), 'utf8').trim().split('\n');
};

before(async () => {
  writeArrays();
  const data = ['--inputs', 'x.csv', '--outputs', 'y <b>.csv', '--labels', 'labels.csv', '--connectivity', 'bridge'];
  spadework('score', ...data, '-k', '4', '--out', 'result');
  writeFileSync(file('ids.txt'), Array.from({ length: 360 }, (_, at) => (at === 1 ? '=1+1' : `<i>id</i> ${at}`)).join('\n') + '\n');
  spadework('score', ...data, '-k', '4', '--ids', 'ids.txt', '--report', 'ids.html');
  execFileSync(SPADEWORK, ['report', 'result', '--out', 'score.html', '--title', `Title ${HOSTILE}`], { cwd: WORK });
  execFileSync(SPADEWORK, ['demo', '--report', 'demo.html'], { cwd: WORK });
  spadework('sweep', '--inputs', 'x.csv', '--outputs', `${HOSTILE_NAME}=y <b>.csv`, '--outputs', 'same=x.csv', '-k', '4..6', '--connectivity', 'bridge', '--report', 'sweep.html');
  const browser = await theBrowser(false);
  console.log(`browser: ${await browser.version()}`);
});
after(async () => { for (const browser of Object.values(browsers)) await (await browser).close(); });

for (const name of ['score.html', 'demo.html', 'sweep.html', 'ids.html']) {
  test(`${name} loads without an error and without a network, also on a phone and in the dark`, async () => {
    for (const settings of [{}, { viewport: { width: 390, height: 800 }, dark: true }]) {
      const page = await open(name, settings);
      assert.deepEqual(page.problems, []);
      const [wide, room] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
      assert.ok(wide <= room, `${wide} pixels on a screen of ${room}`);
      assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), settings.dark ? 'dark' : 'light');
      await page.close();
    }
  });
}

test('a hostile label, title, model or file is text', async () => {
  for (const name of ['score.html', 'sweep.html']) {
    const page = await open(name);
    assert.equal(await page.evaluate(() => window.broken), undefined);
    assert.deepEqual(page.problems, []);
    assert.equal(await page.$('main img'), null);
    await page.close();
  }
  const sweep = await open('sweep.html');
  assert.ok((await text(sweep, '#table-sweep')).includes(HOSTILE_NAME));
  await sweep.close();
  const page = await open('score.html');
  assert.ok((await text(page, 'h1')).includes(HOSTILE));
  assert.ok((await text(page, '#legend')).includes(HOSTILE));
  assert.ok((await text(page, '#table-labels')).includes('c, "d"'));
  assert.ok((await text(page, '#table-provenance')).includes('y <b>.csv'));
  await page.close();
});

test('pointing at a sample shows it', async () => {
  const page = await open('score.html');
  const box = await plotBox(page);
  // Somewhere along the diagonals there is a sample within reach.
  for (let part = 0.02; part < 1; part += 0.01) {
    await page.mouse.move(box.x + part * box.width, box.y + part * box.height);
    await page.mouse.move(box.x + part * box.width, box.y + (1 - part) * box.height);
  }
  assert.match(await text(page, '#card'), /Sample #\d+, rank \d+ of 360, fragility \d\.\d+, margin .*, node score .*; label /);
  await page.close();
});

test('the keyboard steps through the samples and selects', async () => {
  const page = await open('demo.html');
  await page.focus('#views canvas + canvas');
  await page.keyboard.press('ArrowRight');
  assert.match(await text(page, '#card'), /rank 1 of 1797/);
  await page.keyboard.press('ArrowRight');
  assert.match(await text(page, '#card'), /rank 2 of 1797/);
  await page.keyboard.press('Enter');
  assert.match(await text(page, '#selected-count'), /^1 sample selected/);
  await page.keyboard.press('Escape');
  assert.equal(await text(page, '#selected-count'), 'Nothing is selected.');
  await page.close();
});

test('a box and a lasso select, and the selection is saved', async () => {
  const page = await open('demo.html');
  // Points lie ten pixels or more from the edge.
  await drag(page, [[0.01, 0.01], [0.99, 0.99]]);
  assert.match(await text(page, '#selected-count'), /^1797 samples selected/);
  await click(page, 'input[value=lasso]');
  // The half below the diagonal: some, not all.
  await drag(page, [[0.01, 0.01], [0.01, 0.99], [0.99, 0.99], [0.02, 0.02]]);
  const count = Number((await text(page, '#selected-count')).split(' ')[0]);
  assert.ok(count > 0 && count < 1797, `${count} selected`);
  const lines = await saved(page, '#save-selection', 'selection.csv');
  assert.equal(lines[0], 'index,label,predicted_robust,score_robust,rank_robust,margin_robust,fragility_robust,predicted_standard,score_standard,rank_standard,margin_standard,fragility_standard');
  assert.equal(lines.length, count + 1);
  await click(page, '#clear-selection');
  assert.equal(await text(page, '#selected-count'), 'Nothing is selected.');
  await page.close();
});

// A pixel outside, on the frame, and in the rounded corner, which is six pixels deep.
for (const inset of [-1, 0, 0.5, 1]) {
  test(`a drag from a corner selects where it begins ${inset} pixels inside of it`, async () => {
    const page = await open('demo.html');
    for (const [from, to] of [[[0, 0], [1, 1]], [[1, 0], [0, 1]], [[0, 1], [1, 0]], [[1, 1], [0, 0]]]) {
      await drag(page, [from, to], inset);
      assert.match(await text(page, '#selected-count'), /^1797 samples selected/, `from ${from}`);
      await click(page, '#clear-selection');
    }
    await page.close();
  });
}

test('what is saved is what the command wrote', async () => {
  const page = await open('score.html');
  const nodes = await saved(page, '#save-nodes', 'nodes.csv');
  assert.equal(nodes.length, 361);
  // To the last digit, though the page shows three.
  const written = readFileSync(file('result/nodes.csv'), 'utf8').trim().split('\n');
  const column = (lines, name) => { const at = lines[0].split(',').indexOf(name) - lines[0].split(',').length; return lines.slice(1).map((line) => Number(line.split(',').at(at))); };
  for (const name of ['score', 'rank', 'margin', 'fragility']) assert.deepEqual(column(nodes, name), column(written, name), name);
  const table = await saved(page, 'button[data-table=table-top_nodes]', 'top_nodes.csv');
  const result = JSON.parse(readFileSync(file('result/result.json'), 'utf8'));
  assert.equal(Number(table[1].split(',')[1]), result.top_nodes[0].index);
  assert.equal(Number(table[1].split(',').at(-1)), result.top_nodes[0].score);
  await page.close();
});

test('filters narrow the gallery', async () => {
  const page = await open('score.html');
  const labels = () => page.$$eval('#fragile figcaption', (captions) => captions.map((caption) => caption.textContent));
  assert.ok((await labels()).length === 16);
  await page.select('#filter-label', '1');
  const shown = await labels();
  assert.ok(shown.length > 0 && shown.every((caption) => caption.includes(' · b')), shown[0]);
  await page.close();
});

test('samples are ranked by fragility, and by node score where a reader wants it', async () => {
  const page = await open('score.html');
  const fragility = () => page.$$eval('#fragile figcaption', (captions) => captions.map((caption) => Number(/fragility ([\d.]+)/.exec(caption.textContent)[1])));
  const isSorted = (numbers) => numbers.every((value, at) => at === 0 || numbers[at - 1] >= value);
  const ranked = await fragility();
  assert.ok(isSorted(ranked) && ranked[0] > 0.99, String(ranked));
  await page.select('#rank-by', 'score');
  assert.ok(!isSorted(await fragility()), 'by node score the order is another');
  await page.select('#color', 'fragility');
  assert.deepEqual(page.problems, []);
  await page.close();
});

test('numbers come with how well they track accuracy under attack', async () => {
  for (const [name, table] of [['score.html', '#table-numbers'], ['demo.html', '#table-worth']]) {
    const page = await open(name);
    assert.match(await text(page, table), /neighborhood overlap.*Larger is more robust/s);
    assert.match(await text(page, '.meaning'), /docs\/what-the-scores-mean\.md/);
    await page.close();
  }
});

test('two models: which samples changed follows the choice of models', async () => {
  const page = await open('demo.html');
  const ids = (gallery) => page.$$eval(`#${gallery} figcaption strong`, (names) => names.map((name) => name.textContent));
  const [worse, better] = [await ids('worse'), await ids('better')];
  assert.ok(worse.length > 0 && better.length > 0);
  // The other way round, what became worse became better.
  await page.select('#change-from', '0');
  await page.select('#change-to', '1');
  assert.deepEqual([await ids('worse'), await ids('better')], [better, worse]);
  await page.close();
});

test('the page begins with a sentence, its evidence and a list of its sections', async () => {
  const page = await open('score.html');
  assert.match(await text(page, '.verdict'), /^Not tested against attacks: .*neighbors at the output\.$/);
  // The SPADE score comes last, and no number is larger than the first.
  const cards = await page.$$eval('.headlines > div', (all) => all.map((card) => [card.querySelector('dt').textContent, parseFloat(getComputedStyle(card.querySelector('strong')).fontSize)]));
  assert.match(cards.at(-1)[0], /SPADE score/);
  assert.ok(cards.length > 1 && cards.at(-1)[1] < cards[0][1], JSON.stringify(cards));
  // What the command noted is there: bridges.
  assert.ok((await page.$$eval('.notes li', (notes) => notes.map((note) => note.dataset.code))).includes('bridges'));
  const missing = await page.$$eval('.contents a', (links) => links.filter((link) => !document.querySelector(link.getAttribute('href'))).map((link) => link.href));
  assert.deepEqual(missing, []);
  await page.close();
});

test('pairs are of one label first, and show each sample once', async () => {
  const page = await open('score.html');
  const pairs = await page.$$eval('.pairs', (lists) => lists.map((list) => Array.from(list.querySelectorAll('.ends'), (ends) => Array.from(ends.querySelectorAll('.picture'), (end) => Number(end.dataset.sample)))));
  const label = (sample) => sample % 3;
  assert.ok(pairs[0].length > 0 && pairs[0].every(([p, q]) => label(p) === label(q)), JSON.stringify(pairs[0]));
  const samples = pairs.flat(2);
  assert.equal(new Set(samples).size, samples.length);
  await page.close();
});

test('samples have the names that the user gave them', async () => {
  const page = await open('ids.html');
  assert.match(await page.$eval('#fragile figcaption strong', (name) => name.textContent), /^(<i>id<\/i> \d+|=1\+1)$/);
  const lines = await saved(page, '#save-nodes', 'nodes.csv');
  assert.match(lines[1], /^0,<i>id<\/i> 0,/);
  assert.match(lines[2], /^1,'=1\+1,/, 'a spreadsheet must not compute it');
  assert.equal(await page.$('main i.id, figcaption i'), null);
  await page.close();
});

test('on a phone nothing is wider than the screen, and tables are cards', async () => {
  for (const name of ['score.html', 'demo.html', 'ids.html', 'sweep.html']) {
    const page = await open(name, { viewport: { width: 390, height: 800 } });
    for (const details of await page.$$('details')) await details.evaluate((element) => { element.open = true; });
    const wide = await page.evaluate(() => Array.from(document.querySelectorAll('main *'))
      .filter((element) => element.getBoundingClientRect().right > innerWidth + 1 && !element.closest('.scroll'))
      .map((element) => `${element.tagName}.${element.className}`));
    assert.deepEqual(wide.slice(0, 5), [], name);
    const scrolls = await page.$$eval('.scroll', (boxes) => boxes.filter((box) => box.querySelector('table.cards') && box.scrollWidth > box.clientWidth + 1).length);
    assert.equal(scrolls, 0, `${name}: tables that scroll`);
    // The name of a column breaks into lines rather than run into its value.
    const unbroken = await page.$$eval('table.cards td', (cells) => cells.filter((cell) => getComputedStyle(cell, '::before').whiteSpace === 'nowrap').length);
    assert.equal(unbroken, 0, `${name}: names of columns that do not break`);
    const letters = await page.$$eval('.charts svg', (charts) => charts.map((chart) => 12 * chart.getBoundingClientRect().width / chart.viewBox.baseVal.width));
    assert.ok(letters.length > 0 && Math.min(...letters) > 8.9, `${name}: letters of ${letters} pixels`);
    await page.close();
  }
});

test('what is written in a chart lies inside it', { skip: NO_FONTS }, async () => {
  for (const name of ['score.html', 'demo.html', 'ids.html', 'sweep.html']) {
    const page = await open(name);
    const [texts, outside] = await page.$$eval('.charts svg', (charts) => {
      const written = charts.flatMap((chart) => Array.from(chart.querySelectorAll('text'), (text) => [chart.getBoundingClientRect(), text]));
      const isInside = ([{ left, right, top, bottom }, text]) => {
        const box = text.getBoundingClientRect();
        return box.left > left - 1 && box.right < right + 1 && box.top > top - 1 && box.bottom < bottom + 1;
      };
      return [written.length, written.filter((one) => !isInside(one)).map(([, text]) => text.textContent)];
    });
    assert.ok(texts > 0, name);
    assert.deepEqual(outside, [], name);
    await page.close();
  }
});

test('the theme follows the button', async () => {
  const page = await open('score.html');
  const paper = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await paper();
  await click(page, '#theme');
  assert.notEqual(await paper(), light);
  await page.close();
});

const NO_PRINT_STYLES = FIREFOX && 'its driver cannot show print styles';
// scripts/test lists what was skipped.
if (NO_PRINT_STYLES && process.env.SPADEWORK_SKIPS) appendFileSync(process.env.SPADEWORK_SKIPS, `print styles in Firefox: ${NO_PRINT_STYLES}\n`);
test('paper is white in the dark too', { skip: NO_PRINT_STYLES }, async () => {
  const page = await open('demo.html', { dark: true });
  await page.emulateMediaType('print');
  assert.equal(await page.evaluate(() => getComputedStyle(document.body).backgroundColor), 'rgb(255, 255, 255)');
  await page.close();
});

test('the page prints', async () => {
  const page = await open('demo.html', { dark: true });
  assert.ok((await page.pdf()).length > 10000);
  await page.close();
});

test('a result whose arrays are gone still has a page', async () => {
  const moved = file('x-moved.csv');
  writeFileSync(moved, readFileSync(file('x.csv')));
  rmSync(file('x.csv'));
  execFileSync(SPADEWORK, ['report', 'result', '--out', 'gone.html'], { cwd: WORK, stdio: 'pipe' });
  execFileSync(SPADEWORK, ['report', 'result', '--inputs', 'x-moved.csv', '--out', 'found.html'], { cwd: WORK, stdio: 'pipe' });
  const gone = await open('gone.html');
  assert.deepEqual(gone.problems, []);
  assert.match(await text(gone, '.notice:not(.notes)'), /x\.csv: no such file/);
  const found = await open('found.html');
  assert.equal(await found.$('main .notice:not(.notes)'), null);
  await gone.close();
  await found.close();
});

const REAL = [
  ['MNIST', 'mnist:DATA/mnist:test', 'logits/mnist_test_lenet5.npz:lenet5_eps0.0'],
  ['CIFAR-10', 'cifar10:DATA/cifar10:test', 'logits/cifar10_test_resnet18.npz:resnet18_l2_eps0.0'],
];
for (const [name, inputs, outputs] of REAL) {
  const skip = SPADEWORK_DATA ? false : 'SPADEWORK_DATA is not set';
  test(`${name}: one file below 6 MB with pictures`, { skip }, async () => {
    spadework('score', '--inputs', inputs.replace('DATA', SPADEWORK_DATA), '--outputs', `${SPADEWORK_DATA}/${outputs}`, '--report', 'real.html');
    assert.ok(statSync(file('real.html')).size < 6e6);
    const page = await open('real.html');
    assert.deepEqual(page.problems, []);
    const pictures = await page.evaluate(() => JSON.parse(document.getElementById('data').textContent).pictures.samples.length);
    assert.ok(pictures >= 200, `${pictures} pictures`);
    assert.equal(await page.$eval('.pair .picture', (element) => element.classList.contains('of-sheet')), true);
    // Whatever is chosen, every gallery has its pictures.
    const values = (select) => page.$$eval(`${select} option`, (options) => options.map((option) => option.value));
    for (const by of await values('#rank-by')) {
      await page.select('#rank-by', by);
      for (const right of await values('#filter-right')) {
        await page.select('#filter-right', right);
        for (const label of await values('#filter-label')) {
          await page.select('#filter-label', label);
          assert.equal(await page.$('.gallery .picture.empty'), null, `${by} ${right} ${label}`);
        }
      }
    }
    await page.close();
  });
}

test('a weak sample stands next to the probe that broke it', { skip: SPADEWORK_DATA ? false : 'SPADEWORK_DATA is not set' }, async () => {
  const data = SPADEWORK_DATA;
  spadework('score', '--inputs', `mnist:${data}/mnist:test`, '--model', `${data}/models/lenet5_eps0.0.onnx`, '--probe', 'linf:0.1', '--probe-samples', '60', '--out', 'probed', '--report', 'probed.html');
  execFileSync(SPADEWORK, ['report', 'probed', '--out', 'probed-later.html'], { cwd: WORK, stdio: 'pipe' });
  for (const name of ['probed.html', 'probed-later.html']) {
    const page = await open(name);
    assert.deepEqual(page.problems, []);
    assert.equal(await text(page, 'h1'), 'lenet5_eps0.0');
    assert.match(await text(page, '.verdict'), /under attack by changes of at most 0\.1 per number/);
    const weakest = await page.$$eval('#weakest figure', (figures) => figures.map((figure) => [figure.querySelectorAll('.picture').length, figure.querySelectorAll('.of-variants').length, figure.querySelector('.wrong').textContent, figure.textContent]));
    assert.ok(weakest.length > 0);
    for (const [pictures, variants, to, words] of weakest) {
      assert.deepEqual([pictures, variants], [3, 2]);
      // The class after the probe is another one.
      assert.notEqual(/· (\w+)/.exec(words)[1], to);
      assert.match(words, /after the probe \d \(difference × 5\)/);
    }
    await page.close();
  }
});
