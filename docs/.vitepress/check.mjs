// Checks the built site: links and anchors resolve, nothing is loaded from another host, and llms.txt names real files.
// VitePress itself only checks that the linked pages exist.

import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const dist = fileURLToPath(new URL('./dist', import.meta.url));
const base = process.env.DOCS_BASE ?? '/';
const findings = [];

const files = readdirSync(dist, { recursive: true }).map(String);
const texts = new Map(files.filter((file) => file.endsWith('.html')).map((file) => [file, readFileSync(join(dist, file), 'utf8')]));
const ids = new Map([...texts].map(([file, text]) => [file, new Set([...text.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id))]));

/** Returns the file of a link from `page`, or nothing for other sites. */
function fileOf(page, path) {
  if (path.startsWith(base)) return path.slice(base.length);
  return path.startsWith('/') ? path : join(dirname(page), path);
}

let links = 0;
for (const [page, text] of texts) {
  for (const [, href] of text.matchAll(/<a [^>]*href="([^"]*)"/g)) {
    links += 1;
    const [path, anchor] = href.replaceAll('&amp;', '&').split('#');
    if (/^[a-z]+:/.test(path)) continue;
    const found = path === '' ? page : fileOf(page, decodeURI(path)).replace(/(^|\/)$/, '$1index.html');
    if (!existsSync(join(dist, found))) findings.push(`${page}: link ${href}: there is no ${found}`);
    else if (anchor && !ids.get(found)?.has(decodeURIComponent(anchor))) findings.push(`${page}: link ${href}: no such heading`);
  }
  for (const [element, address] of text.matchAll(/<(?:script|img|link|source|iframe)\b[^>]*?(?:src|href)="([^"]*)"/g)) {
    if (/^([a-z]+:)?\/\//.test(address)) findings.push(`${page}: loads ${address} from another host: ${element}`);
  }
}
for (const file of files.filter((file) => file.endsWith('.css'))) {
  const loads = readFileSync(join(dist, file), 'utf8').match(/(url\(["']?|@import ["'])(https?:)?\/\/[^)"']+/g) ?? [];
  findings.push(...loads.map((load) => `${file}: loads ${load} from another host`));
}
for (const [, path] of readFileSync(join(dist, 'llms.txt'), 'utf8').matchAll(/\]\(([^)]+)\)/g)) {
  if (!existsSync(join(dist, path))) findings.push(`llms.txt: there is no ${path}`);
}

if (texts.size === 0 || links === 0) findings.push(`${relative(process.cwd(), dist)} has no pages with links`);
for (const finding of findings) console.error(finding);
console.log(`${texts.size} pages, ${links} links: ${findings.length} findings`);
process.exitCode = findings.length > 0 ? 1 : 0;
