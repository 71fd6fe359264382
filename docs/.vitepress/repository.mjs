// Links from pages to other files of the repository. In the files they are relative, so that they work on a code host.
// The site rewrites them to the repository's address, and fails if the file does not exist.

import { existsSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';

import { docs } from './pages.mjs';

export const root = join(docs, '..');

/** The address of the repository, as Cargo.toml names it. */
export const address = readFileSync(join(root, 'Cargo.toml'), 'utf8').match(/^repository = "(.+)"$/m)[1];

/** Returns the address of a file or folder on the code host. */
export function hosted(path) {
  const kind = statSync(join(root, path)).isDirectory() ? 'tree' : 'blob';
  return `${address}/${kind}/main/${path}`;
}

const spanish = join(docs, 'es/');

/**
 * Returns the target of a link in `file`: unchanged for pages, anchors and other sites. A Spanish page that links an
 * English page leads to its translation, as soon as there is one. Headings differ, so the link leads to its top. A page
 * that links its own English page means that one.
 */
export function target(file, href) {
  if (/^([a-z]+:|#|\/)/.test(href)) return href;
  const [path, anchor] = href.split('#');
  const found = resolve(dirname(file), decodeURI(path));
  if (!existsSync(found)) throw new Error(`${relative(root, file)}: link ${href}: there is no such file`);
  const isPage = found.startsWith(docs) && found.endsWith('.md');
  if (isPage && file.startsWith(spanish) && !found.startsWith(spanish)) {
    const translated = join(spanish, relative(docs, found));
    if (existsSync(translated) && translated !== file) return relative(dirname(file), translated);
  }
  if (isPage) return href;
  return hosted(relative(root, found)) + (anchor ? `#${anchor}` : '');
}

/** Returns the anchor of a heading as code hosts make it, so that one link works in both places. */
export function slug(heading) {
  return heading.toLowerCase().replace(/[^\p{L}\p{N} _-]/gu, '').replaceAll(' ', '-');
}

/** A markdown-it plugin: rewrites links, and keeps `{{ }}` in prose as text instead of running it. */
export function plainMarkdown(md) {
  md.core.ruler.push('repository_links', (state) => {
    const links = state.tokens.flatMap((token) => token.children ?? []).filter((token) => token.type === 'link_open');
    for (const link of links) link.attrSet('href', target(state.env.path, link.attrGet('href')));
  });
  const text = md.renderer.rules.text;
  md.renderer.rules.text = (...args) => text(...args).replaceAll('{{', '&#123;&#123;');
}
