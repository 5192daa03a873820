// The pictures of the page in README.md and docs/command-line.md, photographs of the demo's page:
//   node scripts/make_page_images.mjs COMMAND [CHROMIUM]
// COMMAND is the built spadework. Needs the driver that scripts/test-page installs. The pixels depend on the fonts of the
// machine, so no test compares them: run this after a change of the comparison page.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const target = resolve(process.env.CARGO_TARGET_DIR ?? join(root, 'target'));
const puppeteer = createRequire(join(target, 'page-tests/'))('puppeteer-core');
const [command, chromium = '/usr/bin/chromium'] = process.argv.slice(2);
const work = mkdtempSync(join(tmpdir(), 'page-'));

/** What a window of this size shows of the page, from its top or from this section on. */
const photograph = async (browser, name, { scheme, section }) => {
  const page = await browser.newPage();
  await page.setViewport({ width: 1000, height: 760 });
  await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }]);
  await page.goto(pathToFileURL(join(work, 'demo.html')).href);
  if (section) await page.$eval(section, (element) => element.scrollIntoView());
  await page.screenshot({ path: join(root, 'docs/images', `${name}.png`) });
};

try {
  execFileSync(resolve(command), ['demo', '--report', join(work, 'demo.html')]);
  const browser = await puppeteer.launch({ executablePath: chromium, args: ['--no-sandbox', '--disable-gpu'] });
  await photograph(browser, 'page-verdict', { scheme: 'light' });
  await photograph(browser, 'page-changed', { scheme: 'dark', section: '#changed' });
  await browser.close();
} finally {
  rmSync(work, { recursive: true });
}
