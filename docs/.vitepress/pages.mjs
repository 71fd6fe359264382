// The pages of the site, read from the folder: a new Markdown file appears in the sidebar by itself.

import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const docs = fileURLToPath(new URL('..', import.meta.url));

/** Folders in `docs` without pages. */
const WITHOUT_PAGES = ['node_modules', 'public', 'assets', '.vitepress'];

/** From the installation to the daily work. */
const OPERATING = [
  'install', 'systemd', 'kubernetes', 'postgres-rights', 'tls', 'oidc', 'pools', 'poolers', 'sizing', 'high-availability', 'upgrade',
  'backup', 'observability', 'alerts', 'check',
];

/** The groups of the sidebar. `order` names the first pages; the others follow by name. */
const GROUPS = [
  { folder: '', en: 'Start', es: 'Primeros pasos', order: ['start', 'concepts', 'library', 'compare', 'promises'] },
  { folder: 'guides', en: 'Guides', es: 'Guías', order: ['tasks', 'browser', 'chat-bot', 'inbox', 'sync', 'push', 'sql'] },
  { folder: 'operating', en: 'Operating', es: 'Operación', order: OPERATING },
  { folder: 'reference', en: 'Reference', es: 'Referencia', order: ['configuration', 'cli'] },
  { folder: 'reference/api', en: 'HTTP API', es: 'API HTTP', order: ['index', 'leases', 'tasks', 'queues', 'sync', 'events'] },
  { folder: 'decisions', en: 'Decisions', es: 'Decisiones', order: [], collapsed: true },
  { folder: 'internals', en: 'Internals', es: 'Interior', order: [], collapsed: true },
];

/** Returns every page as a path from `docs` without its ending: `guides/tasks`, `es/guides/tasks`. */
export function pages(folder = '') {
  const entries = readdirSync(join(docs, folder), { withFileTypes: true });
  const inside = (name) => (folder ? `${folder}/${name}` : name);
  return entries.flatMap((entry) => {
    if (entry.isDirectory()) return WITHOUT_PAGES.includes(entry.name) ? [] : pages(inside(entry.name));
    return entry.name.endsWith('.md') ? [inside(entry.name.slice(0, -'.md'.length))] : [];
  });
}

export const source = (page) => readFileSync(join(docs, `${page}.md`), 'utf8');

/** Returns the first heading of a page, without Markdown. */
export function title(page) {
  const heading = source(page).match(/^# (.+)$/m) ?? source(page).match(/^title: (.+)$/m);
  if (!heading) throw new Error(`docs/${page}.md has no heading`);
  return heading[1].replaceAll('`', '');
}

export const isTranslated = (page) => existsSync(join(docs, 'es', `${page}.md`));

/** Returns the pages of the groups in their order. The home page and the translations are in none. */
export function groups() {
  const all = pages().filter((page) => page !== 'index' && !page.startsWith('es/'));
  const folderOf = (page) => page.split('/').slice(0, -1).join('/');
  const unknown = all.filter((page) => !GROUPS.some((group) => group.folder === folderOf(page)));
  if (unknown.length > 0) throw new Error(`no group of the sidebar has ${unknown.join(', ')}: add its folder to GROUPS`);
  return GROUPS.map((group) => {
    const place = (page) => {
      const at = group.order.indexOf(page.split('/').pop());
      return at < 0 ? group.order.length : at;
    };
    const members = all.filter((page) => folderOf(page) === group.folder);
    return { ...group, pages: members.sort((a, b) => place(a) - place(b) || a.localeCompare(b)) };
  });
}

/** Returns the sidebar of a language. A page without a translation is linked in English, and the text says so. */
export function sidebar(language) {
  return groups().map(({ en, es, collapsed, pages }) => {
    if (language === 'en') return { text: en, collapsed, items: pages.map((page) => item(page)) };
    const translated = pages.some(isTranslated);
    const items = pages.map((page) => {
      if (isTranslated(page)) return item(`es/${page}`);
      const english = item(page);
      return translated ? { ...english, text: `${english.text} (en inglés)` } : english;
    });
    return { text: translated ? es : `${es} (en inglés)`, collapsed, items };
  });
}

const item = (page) => ({ text: title(page), link: `/${page.replace(/(^|\/)index$/, '$1')}` });
