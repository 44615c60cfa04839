// What a person does, view by view.

import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';

export async function steps({ page, context, accessible, address, script }) {
  const view = async (name) => {
    await page.getByRole('navigation').getByRole('link', { name, exact: true }).click();
    await page.getByRole('heading', { level: 1, name, exact: true }).waitFor();
  };
  const table = (name) => page.getByRole('table', { name, exact: true });
  const row = (name, text) => table(name).getByRole('row').filter({ hasText: text });
  const panel = (name) => page.getByRole('region', { name, exact: true });
  const openRow = async (name, text) => row(name, text).first().locator('button.open').click();
  const result = panel('Result');

  await page.goto(address);
  await page.getByRole('heading', { level: 1, name: 'Servers' }).waitFor();
  await page.getByRole('status').filter({ hasText: 'Live' }).waitFor();
  assert.ok(!page.url().includes(address.split('#')[1]), 'the code is no longer in the address');
  assert.deepEqual(await context.cookies(), []);

  // Servers: how they are, what they write, and a restart.
  await row('Servers', 'fake').filter({ hasText: 'ready' }).waitFor();
  await row('Servers', 'poison').filter({ hasText: 'ready' }).waitFor();
  await accessible('servers');
  await openRow('Servers', 'fake');
  await panel('Server').getByText('the fake server is up').first().waitFor();
  await panel('Server').getByRole('button', { name: 'Restart' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Restart' }).click();
  await panel('Server').getByText(/Restart:\s*ready/).waitFor();
  await accessible('server');

  // Tools: a form of the schema, with numbers as they are written.
  await view('Tools');
  await row('Tools', 'shout').waitFor();
  await accessible('tools');
  await openRow('Tools', 'shout');
  const tool = panel('Tool');
  await tool.getByLabel('text', { exact: true }).fill('hello');
  await tool.getByLabel('times', { exact: true }).fill('9007199254740993');
  await tool.getByLabel('tone', { exact: true }).selectOption({ label: 'kind' });
  await tool.getByRole('button', { name: 'Call', exact: true }).click();
  await result.getByText('HELLO').first().waitFor();
  await accessible('tool');

  // A question of the server, answered in place.
  await openRow('Tools', 'ask');
  await tool.getByLabel('message', { exact: true }).fill('Which colour?');
  await tool.getByRole('button', { name: 'Call', exact: true }).click();
  const question = page.getByRole('group', { name: 'Elicitation' });
  await question.getByText('Which colour?').waitFor();
  await accessible('elicitation');
  await question.getByLabel('colour', { exact: true }).fill('teal');
  await question.getByRole('button', { name: 'Accept' }).click();
  await result.getByText('teal').first().waitFor();

  // What a model reads and a person does not see is shown, and nothing of it is markup.
  await openRow('Tools', 'add');
  for (const mark of ['U+202E', 'tags: obey', 'ESC[31m']) {
    await tool.locator('.mark', { hasText: mark }).first().waitFor();
  }
  await tool.getByText('<img src=x onerror=alert(1)>').first().waitFor();
  await tool.getByRole('button', { name: 'Call', exact: true }).click();
  await result.getByText('<script>alert(1)</script>').first().waitFor();
  await result.locator('.mark', { hasText: 'U+200B' }).first().waitFor();
  assert.equal(await page.locator('main img, main b, main script').count(), 0);
  await accessible('hidden-text');

  // A call that the script refuses, and one that fails.
  await openRow('Tools', 'shout');
  await tool.getByLabel('text', { exact: true }).fill('secret');
  await tool.getByRole('button', { name: 'Call', exact: true }).click();
  await result.getByText('not this word').first().waitFor();
  await openRow('Tools', 'never_works');
  await tool.getByRole('button', { name: 'Call', exact: true }).click();
  await result.getByText('error').first().waitFor();

  // Another user sees other tools.
  assert.equal(await row('Tools', 'for_ann').count(), 0);
  await page.getByLabel('As user').fill('ann');
  await page.getByLabel('As user').press('Enter');
  await row('Tools', 'for_ann').waitFor();
  await page.getByLabel('As user').fill('');
  await page.getByLabel('As user').press('Enter');
  await row('Tools', 'for_ann').waitFor({ state: 'detached' });

  // Surface: what became of each item, where and why.
  await view('Surface');
  await row('Surface', 'never_works').filter({ hasText: 'renamed' }).filter({ hasText: 'policy.star:' }).waitFor();
  await row('Surface', 'crash').filter({ hasText: 'hidden' }).filter({ hasText: 'it ends the server' }).waitFor();
  await accessible('surface');
  await openRow('Surface', 'never_works');
  await panel('Item').locator('ins', { hasText: 'Always' }).first().waitFor();
  await accessible('surface-item');
  await panel('Item').getByRole('link', { name: /policy\.star:/ }).first().click();

  // Script: the line that decided.
  await page.getByRole('heading', { level: 1, name: 'Script' }).waitFor();
  await page.locator('.line.current', { hasText: 'never_works' }).waitFor();
  await accessible('script');
  // A version that does not run: what it changes, until it is taken back.
  const used = readFileSync(script, 'utf8');
  writeFileSync(script, `${used}\nfail("not yet")\n`);
  await page.getByLabel('Changes of policy.star').locator('ins', { hasText: 'fail("not yet")' }).waitFor();
  await accessible('script-not-in-use');
  writeFileSync(script, used);
  await page.getByLabel('Changes of policy.star').waitFor({ state: 'detached' });

  // Calls: those of the page, with where they were refused and what they led to.
  await view('Calls');
  await row('Calls', 'refused').waitFor();
  await page.getByLabel('Filter').fill('tool:shout');
  await row('Calls', 'ask').waitFor({ state: 'detached' });
  await accessible('calls');
  await row('Calls', 'shout').filter({ hasText: '2 server calls' }).locator('button.open').click();
  await panel('Call').getByText('hello', { exact: false }).first().waitFor();
  await panel('Call').getByText('console', { exact: true }).first().waitFor();
  assert.equal(await panel('Call').getByRole('list', { name: 'Timeline' }).locator('> li').count(), 2);
  await accessible('call');
  await panel('Call').getByRole('button', { name: 'Copy as test' }).click();
  await panel('Call').getByRole('status').getByText('Copied').waitFor();
  assert.match(await page.evaluate(() => navigator.clipboard.readText()), /def test_shout_\w+\(\):/);
  await row('Calls', 'refused').locator('button.open').click();
  await panel('Call').getByRole('link', { name: /policy\.star:/ }).first().waitFor();

  // A narrow window, and a page that is loaded again in its tab.
  await page.setViewportSize({ width: 320, height: 640 });
  for (const name of ['Servers', 'Tools', 'Surface', 'Script', 'Calls']) {
    await view(name);
    const tooWide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    assert.ok(tooWide <= 0, `${name} is ${tooWide} pixels too wide`);
  }
  await page.reload();
  await page.getByRole('status').filter({ hasText: 'Live' }).waitFor();
}
