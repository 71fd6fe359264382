// For tests of pages: what a screen reader would stumble over, and what the page looks like.

import assert from 'node:assert/strict';
import { mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { ROOT } from './harness.mjs';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
/** What makes a page hard or impossible to use; the rest is advice. */
const GRAVE = ['serious', 'critical'];

/** Everything that axe-core finds, of these weights, as lines for people. `within` is a selector. */
export async function accessibilityProblems(page, { weights = GRAVE, within = null } = {}) {
  // Evaluated, not added as a script: a strict policy of the page would forbid that, and it should stay strict.
  await page.evaluate(axe);
  const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];
  const { violations } = await page.evaluate(
    ({ within, tags }) => globalThis.axe.run(within ?? document, { runOnly: tags, resultTypes: ['violations'] }),
    { within, tags },
  );
  return violations
    .filter(({ impact }) => weights.includes(impact))
    .map(
      ({ id, impact, help, nodes }) => `${impact} ${id}: ${help}\n${nodes.map(({ html }) => `    ${html}`).join('\n')}`,
    );
}

/** Fails with all of them if there are any. */
export async function assertAccessible(page, options = {}) {
  const problems = await accessibilityProblems(page, options);
  assert.equal(problems.length, 0, `${page.url()}\n${problems.join('\n')}`);
}

/**
 * Pictures of the page under target/screenshots, to be looked at: light and dark, on a desk and on a phone. Returns
 * the files' paths. `looks` may name fewer.
 */
export async function screenshots(page, name, looks = ['light', 'dark', 'phone']) {
  const folder = join(ROOT, 'target', 'screenshots');
  mkdirSync(folder, { recursive: true });
  const [size, files] = [page.viewportSize(), []];
  for (const look of looks) {
    await page.emulateMedia({ colorScheme: look === 'dark' ? 'dark' : 'light', reducedMotion: 'reduce' });
    if (look === 'phone') await page.setViewportSize({ width: 390, height: 844 });
    const path = join(folder, `${name}-${look}.png`);
    await page.screenshot({ path, fullPage: true });
    files.push(path);
    if (look === 'phone' && size) await page.setViewportSize(size);
  }
  await page.emulateMedia({ colorScheme: null, reducedMotion: null });
  return files;
}

/** Whether the page is wider than its window, as phones punish. */
export function overflowsSideways(page) {
  return page.evaluate(() => document.documentElement.scrollWidth > document.documentElement.clientWidth);
}
