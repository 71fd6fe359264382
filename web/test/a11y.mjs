// Accessibility checks and pictures of pages.

import assert from 'node:assert/strict';
import { mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { ROOT } from './harness.mjs';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
/** The weights of problems that make a page hard or impossible to use; the rest is advice. */
const GRAVE = ['serious', 'critical'];

/** Returns the problems of these weights that axe-core finds, one line each. `within` is a selector. */
export async function accessibilityProblems(page, { weights = GRAVE, within = null } = {}) {
  // Evaluated and not added as a script, because the content policy of the page forbids other scripts.
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

/** Fails with the list of problems if there are any. */
export async function assertAccessible(page, options = {}) {
  const problems = await accessibilityProblems(page, options);
  assert.equal(problems.length, 0, `${page.url()}\n${problems.join('\n')}`);
}

/**
 * Takes pictures of the page into target/screenshots: light and dark, wide and on a phone. `looks` can name fewer. Returns
 * the paths of the files.
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

/** Whether the page is wider than its window. */
export function overflowsSideways(page) {
  return page.evaluate(() => document.documentElement.scrollWidth > document.documentElement.clientWidth);
}
