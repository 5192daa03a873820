// Pages in a real browser: they load without errors and without a network, and what a reader can do works.
// Run by scripts/test-page, which sets SPADEWORK (the command), CHROMIUM and WORK (a folder for files).
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import puppeteer from 'puppeteer-core';

const { SPADEWORK, CHROMIUM, WORK, SPADEWORK_DATA } = process.env;
const HOSTILE = '</script><script>window.broken = 1</script><img src=x onerror="window.broken = 2">';
// A model's name ends at the first =.
const HOSTILE_NAME = '</script><script>window.stop(), alert(1)</script>';

let browser;
const file = (name) => join(WORK, name);
const spadework = (...args) => execFileSync(SPADEWORK, [...args, '--quiet'], { cwd: WORK, stdio: 'pipe' });

/** Points of three rings; outputs tear one of them. */
const writeArrays = () => {
  const rows = Array.from({ length: 360 }, (_, at) => {
    const [ring, angle] = [at % 3, (Math.floor(at / 3) / 120) * 2 * Math.PI];
    return { ring, x: [ring * 3 + Math.cos(angle), Math.sin(angle)], y: [ring * 2 + (ring === 1 ? angle : Math.cos(angle)), Math.sin(angle)] };
  });
  const csv = (pick) => rows.map((row) => pick(row).join(',')).join('\n') + '\n';
  writeFileSync(file('x.csv'), csv((row) => row.x));
  writeFileSync(file('y <b>.csv'), csv((row) => row.y));
  writeFileSync(file('labels.csv'), rows.map((row) => [`"${HOSTILE.replaceAll('"', '""')}"`, 'b', '"c, ""d"""'][row.ring]).join('\n') + '\n');
};

const open = async (name, settings = {}) => {
  const page = await browser.newPage();
  page.problems = [];
  page.on('console', (message) => { if (message.type() === 'error' || message.type() === 'warn') page.problems.push(message.text()); });
  page.on('pageerror', (error) => page.problems.push(error.message));
  page.on('request', (request) => { if (!/^(file|data|blob):/.test(request.url())) page.problems.push(`asks for ${request.url()}`); });
  await page.setViewport({ width: 1280, height: 900, ...settings.viewport });
  if (settings.dark) await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: 'dark' }]);
  await page.goto(`file://${file(name)}`);
  return page;
};
const text = (page, selector) => page.$eval(selector, (element) => element.textContent);

/** Drags over the first plot along points given as parts of its sides. */
const drag = async (page, corners) => {
  await page.$eval('#views canvas + canvas', (canvas) => canvas.scrollIntoView({ block: 'center' }));
  const box = await (await page.$('#views canvas + canvas')).boundingBox();
  const at = ([x, y]) => [box.x + x * box.width, box.y + y * box.height];
  await page.mouse.move(...at(corners[0]));
  await page.mouse.down();
  for (const corner of corners.slice(1)) await page.mouse.move(...at(corner), { steps: 5 });
  await page.mouse.up();
};

const saved = async (page, button, name) => {
  const folder = file('saved');
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder);
  const session = await page.createCDPSession();
  await session.send('Browser.setDownloadBehavior', { behavior: 'allow', downloadPath: folder });
  await page.$eval(button, (element) => element.click());
  for (let wait = 0; wait < 100 && !readdirSync(folder).includes(name); wait += 1) await new Promise((done) => setTimeout(done, 50));
  return readFileSync(join(folder, name), 'utf8').trim().split('\n');
};

before(async () => {
  writeArrays();
  const data = ['--inputs', 'x.csv', '--outputs', 'y <b>.csv', '--labels', 'labels.csv', '--connectivity', 'bridge'];
  spadework('score', ...data, '-k', '4', '--out', 'result');
  execFileSync(SPADEWORK, ['report', 'result', '--out', 'score.html', '--title', `Title ${HOSTILE}`], { cwd: WORK });
  execFileSync(SPADEWORK, ['demo', '--report', 'demo.html'], { cwd: WORK });
  spadework('sweep', '--inputs', 'x.csv', '--outputs', `${HOSTILE_NAME}=y <b>.csv`, '--outputs', 'same=x.csv', '-k', '4..6', '--connectivity', 'bridge', '--report', 'sweep.html');
  browser = await puppeteer.launch({ executablePath: CHROMIUM, args: ['--no-sandbox', '--disable-gpu'] });
});
after(() => browser?.close());

for (const name of ['score.html', 'demo.html', 'sweep.html']) {
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
  await page.$eval('#views canvas + canvas', (canvas) => canvas.scrollIntoView({ block: 'center' }));
  const box = await (await page.$('#views canvas + canvas')).boundingBox();
  // Somewhere along the diagonals there is a sample within reach.
  for (let part = 0.02; part < 1; part += 0.01) {
    await page.mouse.move(box.x + part * box.width, box.y + part * box.height);
    await page.mouse.move(box.x + part * box.width, box.y + (1 - part) * box.height);
  }
  assert.match(await text(page, '#card'), /Sample \d+, rank \d+ of 360, score .*, margin .*, fragility 0\.\d+; label /);
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
  await drag(page, [[0.001, 0.001], [0.999, 0.999]]);
  assert.match(await text(page, '#selected-count'), /^1797 samples selected/);
  await page.click('input[value=lasso]');
  // The half below the diagonal: some, not all.
  await drag(page, [[0.001, 0.001], [0.001, 0.999], [0.999, 0.999], [0.002, 0.002]]);
  const count = Number((await text(page, '#selected-count')).split(' ')[0]);
  assert.ok(count > 0 && count < 1797, `${count} selected`);
  const lines = await saved(page, '#save-selection', 'selection.csv');
  assert.equal(lines[0], 'index,label,predicted_robust,score_robust,rank_robust,margin_robust,fragility_robust,predicted_standard,score_standard,rank_standard,margin_standard,fragility_standard');
  assert.equal(lines.length, count + 1);
  await page.click('#clear-selection');
  assert.equal(await text(page, '#selected-count'), 'Nothing is selected.');
  await page.close();
});

test('what is saved is what the command wrote', async () => {
  const page = await open('score.html');
  const nodes = (await saved(page, '#save-nodes', 'nodes.csv')).length;
  assert.equal(nodes, 361);
  const table = await saved(page, 'button[data-table=table-top_nodes]', 'top_nodes.csv');
  const result = JSON.parse(readFileSync(file('result/result.json'), 'utf8'));
  assert.equal(Number(table[1].split(',')[1]), result.top_nodes[0].index);
  await page.close();
});

test('filters narrow the gallery', async () => {
  const page = await open('score.html');
  const labels = () => page.$$eval('#fragile figcaption', (captions) => captions.map((caption) => caption.textContent));
  assert.ok((await labels()).length === 24);
  await page.select('#filter-label', '1');
  const shown = await labels();
  assert.ok(shown.length > 0 && shown.every((caption) => caption.includes(' · b')), shown[0]);
  await page.close();
});

test('samples are ranked by fragility where a reader wants it', async () => {
  const page = await open('score.html');
  const fragility = () => page.$$eval('#fragile figcaption', (captions) => captions.map((caption) => Number(/fragility ([\d.]+)/.exec(caption.textContent)[1])));
  const isSorted = (numbers) => numbers.every((value, at) => at === 0 || numbers[at - 1] >= value);
  assert.ok(!isSorted(await fragility()), 'by node score the order is another');
  await page.select('#rank-by', 'fragility');
  const ranked = await fragility();
  assert.ok(isSorted(ranked) && ranked[0] > 0.99, String(ranked));
  await page.select('#color', 'fragility');
  assert.deepEqual(page.problems, []);
  await page.close();
});

test('numbers beside the score come with what they are worth', async () => {
  for (const [name, table] of [['score.html', '#table-numbers'], ['demo.html', '#table-worth']]) {
    const page = await open(name);
    assert.match(await text(page, table), /edge overlap.*Larger is more robust/s);
    assert.match(await text(page, '.meaning'), /docs\/what-the-scores-mean\.md/);
    await page.close();
  }
});

test('two models: which samples changed follows the choice of models', async () => {
  const page = await open('demo.html');
  const ids = (gallery) => page.$$eval(`#${gallery} figcaption`, (captions) => captions.map((caption) => caption.firstChild.textContent));
  const [worse, better] = [await ids('worse'), await ids('better')];
  assert.ok(worse.length > 0 && better.length > 0);
  // The other way round, what became worse became better.
  await page.select('#change-from', '0');
  await page.select('#change-to', '1');
  assert.deepEqual([await ids('worse'), await ids('better')], [better, worse]);
  await page.close();
});

test('the theme follows the button', async () => {
  const page = await open('score.html');
  const paper = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await paper();
  await page.click('#theme');
  assert.notEqual(await paper(), light);
  await page.close();
});

test('the page prints', async () => {
  const page = await open('demo.html', { dark: true });
  await page.emulateMediaType('print');
  assert.equal(await page.evaluate(() => getComputedStyle(document.body).backgroundColor), 'rgb(255, 255, 255)');
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
  assert.match(await text(gone, '.notice'), /x\.csv: no such file/);
  const found = await open('found.html');
  assert.equal(await found.$('main .notice'), null);
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
    await page.close();
  });
}
