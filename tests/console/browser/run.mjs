// Opens the console in a browser and does what a person does.
//
//     node run.mjs ADDRESS SCRIPT
//
// BROWSER_DRIVER: a folder with playwright-core and axe-core; CHROMIUM: the browser; SCREENSHOTS: a folder for pictures.

import { mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

import { steps } from './steps.mjs';

const { BROWSER_DRIVER, CHROMIUM, SCREENSHOTS } = process.env;
const require = createRequire(join(BROWSER_DRIVER, 'package.json'));
const { chromium } = require('playwright-core');
const axe = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');

// Machines of continuous integration may stand still for a while.
const PATIENCE = 120_000;
const ARGUMENTS = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
  '--disable-component-update', '--disable-sync', '--disable-dev-shm-usage'];

mkdirSync(SCREENSHOTS, { recursive: true });
const browser = await chromium.launch({ executablePath: CHROMIUM, args: ARGUMENTS, timeout: PATIENCE });
const context = await browser.newContext({
  viewport: { width: 1280, height: 800 },
  reducedMotion: 'reduce',
  permissions: ['clipboard-read', 'clipboard-write'],
});
context.setDefaultTimeout(PATIENCE);
await context.addInitScript(() => addEventListener('securitypolicyviolation', (event) =>
  console.error(`refused by the content security policy: ${event.violatedDirective} ${event.blockedURI}`)));
const page = await context.newPage();
const problems = [];
page.on('console', (message) => { if (['error', 'warning'].includes(message.type())) problems.push(message.text()); });
page.on('pageerror', (error) => problems.push(String(error)));
page.on('dialog', (dialog) => { problems.push(`a dialog: ${dialog.message()}`); dialog.dismiss(); });

/** Fails if the page has something that people with a screen reader, a keyboard or weak eyes cannot use. */
async function accessible(name) {
  for (const colorScheme of ['light', 'dark']) {
    await page.emulateMedia({ colorScheme });
    await page.evaluate(axe);
    const { violations } = await page.evaluate(() => axe.run());
    for (const { id, impact, nodes } of violations.filter((one) => ['serious', 'critical'].includes(one.impact))) {
      problems.push(`${name}, ${colorScheme}: ${impact}: ${id}: ${nodes.slice(0, 3).map((node) => `${node.html} ${node.failureSummary}`).join(' | ')}`);
    }
    await page.screenshot({ path: join(SCREENSHOTS, `${name}-${colorScheme}.png`) });
  }
  await page.emulateMedia({ colorScheme: 'light' });
}

try {
  await steps({ page, context, accessible, address: process.argv[2], script: process.argv[3] });
} catch (error) {
  await page.screenshot({ path: join(SCREENSHOTS, 'failed.png') });
  problems.push(error.stack);
}
await browser.close();
if (problems.length) {
  console.error(problems.join('\n'));
  process.exit(1);
}
