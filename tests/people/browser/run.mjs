// Logs in on the pages of the proxy as a person does, and then tries what their content security policy forbids.
//
//     node run.mjs PAGE ISSUER
//
// BROWSER_DRIVER: a folder with playwright-core; CHROMIUM: the browser.

import { createRequire } from 'node:module';
import { join } from 'node:path';

const { BROWSER_DRIVER, CHROMIUM } = process.env;
const [address, issuer] = process.argv.slice(2);
const { chromium } = createRequire(join(BROWSER_DRIVER, 'package.json'))('playwright-core');

const PATIENCE = 120_000;
const ARGUMENTS = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
  '--disable-component-update', '--disable-sync', '--disable-dev-shm-usage'];

function fail(problem) {
  console.error(problem);
  process.exit(1);
}

const browser = await chromium.launch({ executablePath: CHROMIUM, args: ARGUMENTS, timeout: PATIENCE });
const context = await browser.newContext();
context.setDefaultTimeout(PATIENCE);
// The issuer knows people by this cookie.
await context.addCookies([{ name: 'who', value: 'ann', url: issuer }]);
const page = await context.newPage();
const problems = [];
page.on('console', (message) => { if (message.type() === 'error') problems.push(message.text()); });
page.on('dialog', (dialog) => { problems.push(`a dialog: ${dialog.message()}`); dialog.dismiss(); });

// The forms lead through redirects to the issuer, to the authorization server, and back.
await page.goto(address);
await page.getByRole('button', { name: 'Sign in', exact: true }).click();
await page.getByText('You are').waitFor();
await page.getByRole('button', { name: 'Connect', exact: true }).click();
await page.getByText('connected as ann').waitFor();
if (problems.length) fail(`while logging in: ${problems.join('\n')}`);
const cookies = await context.cookies(address);
const person = cookies.find((cookie) => cookie.name.endsWith('proxy-person'));
if (!person?.httpOnly || person.sameSite !== 'Lax') fail(`the cookie: ${JSON.stringify(person?.sameSite)}`);

// What somebody would do who could write markup into a page.
const tried = await page.evaluate(async () => {
  const refused = [];
  const script = document.createElement('script');
  script.textContent = 'window.ran = true';
  document.body.append(script);
  if (!window.ran) refused.push('inline script');
  const image = new Image();
  const loaded = new Promise((done) => { image.onload = () => done(true); image.onerror = () => done(false); });
  image.src = 'data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7';
  if (!await loaded) refused.push('image');
  const fetched = await fetch(location.href).then(() => true, () => false);
  if (!fetched) refused.push('fetch');
  return refused;
});

// Another site that shows the page in a frame, beside one that may be shown.
const framing = await context.newPage();
await framing.route(`${issuer}/frames`, (route) => route.fulfill({
  contentType: 'text/html', body: `<iframe src="${issuer}/keys"></iframe><iframe src="${address}"></iframe>`,
}));
await framing.goto(`${issuer}/frames`);
const [allowed, forbidden] = framing.mainFrame().childFrames().map((frame) => frame.url());
if (allowed !== `${issuer}/keys`) fail(`no frame at all is shown: ${allowed}`);
if (forbidden.startsWith('chrome-error:')) tried.push('frame');
console.log(`connected, refused: ${tried.join(', ')}`);
await browser.close();
