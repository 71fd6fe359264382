// Generates the parts of the site that are not Markdown files of the repository: the API reference, the logo,
// `openapi.json`, the pages as Markdown, and `llms.txt` with `llms-full.txt`. Git ignores all of them.

import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { apiPages } from './api.mjs';
import { docs, groups, source, title } from './pages.mjs';
import { root, target } from './repository.mjs';

/** Groups that are of use only to developers of Turno. They are linked in `llms.txt`, and not a part of the full text. */
const FOR_DEVELOPERS = ['decisions', 'internals'];

function write(path, text) {
  const file = join(docs, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}

/** Returns the first sentence after the heading, as plain text. */
function opening(page) {
  const [, paragraph = ''] = `${source(page)}\n\n`.match(/^# .+\n+([^#\n|`-][^]*?)\n\n/m) ?? [];
  const text = paragraph.replace(/\s*\n\s*/g, ' ').replace(/\[([^\]]+)\]\([^)]*\)/g, '$1').replace(/^\*\*.*?\*\* /, '');
  return text.match(/^.*?[.:](?= |$)/)?.[0].replace(/:$/, '.') ?? text;
}

/** Returns a page with links that work outside of the repository. */
function portable(page) {
  const file = join(docs, `${page}.md`);
  return source(page).replace(/\]\(([^)\s]+)\)/g, (_, href) => `](${target(file, href)})`);
}

for (const folder of ['public', 'reference/api']) rmSync(join(docs, folder), { recursive: true, force: true });

const openapi = readFileSync(join(docs, 'reference/openapi.json'), 'utf8');
const messages = readFileSync(join(root, 'crates/turno-server/locales/en.ftl'), 'utf8');
for (const [name, text] of Object.entries(apiPages(JSON.parse(openapi), messages))) write(`reference/api/${name}.md`, text);

write('public/openapi.json', openapi);
copyFileSync(join(root, 'crates/turno-server/src/http/root/turno.svg'), join(docs, 'public/turno.svg'));

const list = [
  '# Turno\n',
  '> Turno is a work-coordination engine: time-limited locks (leases) and ordered queues for people and programs, on',
  '> SQLite or PostgreSQL, over HTTP, SQL, a command line or a Rust library.\n',
  'The complete text of the guides and of the reference is in [llms-full.txt](llms-full.txt), the API in',
  '[openapi.json](openapi.json).',
];
const full = [];
for (const { folder, en, pages } of groups()) {
  list.push(`\n## ${en}\n`);
  for (const page of pages) {
    const text = portable(page);
    write(`public/${page}.md`, text);
    const about = opening(page);
    list.push(`- [${title(page)}](${page}.md)${about ? `: ${about}` : ''}`);
    if (!FOR_DEVELOPERS.includes(folder)) full.push(text);
  }
}
write('public/llms.txt', `${list.join('\n')}\n`);
write('public/llms-full.txt', full.join('\n\n'));
