// The site: VitePress over the Markdown files of `docs`. Nothing is loaded from another host.

import { fileURLToPath } from 'node:url';

import { defineConfig } from 'vitepress';

import { isTranslated, pages, sidebar } from './pages.mjs';
import { address, plainMarkdown, slug } from './repository.mjs';

/** The path under which the site is published. */
const base = process.env.DOCS_BASE ?? '/';

const en = {
  nav: [
    { text: 'Start', link: '/start' },
    { text: 'Guides', link: '/guides/tasks', activeMatch: '/guides/' },
    { text: 'Operating', link: '/operating/install', activeMatch: '/operating/' },
    { text: 'HTTP API', link: '/reference/api/', activeMatch: '/reference/api/' },
  ],
  sidebar: sidebar('en'),
  outline: { level: [2, 3] },
  notFound: {
    title: 'PAGE NOT FOUND',
    quote: 'The address does not exist. Use the menu or the search.',
    linkLabel: 'Go to the start page',
    linkText: 'Go to the start page',
  },
};

const link = (page) => (isTranslated(page) ? `/es/${page}` : `/${page}`);
const suffix = (page) => (isTranslated(page) ? '' : ' (en inglés)');

/** Lets the links of the Spanish home page lead to English pages that have no translation. */
function fallBack({ frontmatter }) {
  for (const entry of [...(frontmatter.features ?? []), ...(frontmatter.hero?.actions ?? [])]) {
    const [, page] = entry.link?.match(/^\/es\/(.+)$/) ?? [];
    if (page) entry.link = link(page);
  }
}

const es = {
  nav: [
    { text: `Primeros pasos${suffix('start')}`, link: link('start') },
    { text: `Guías${suffix('guides/tasks')}`, link: link('guides/tasks'), activeMatch: '/guides/' },
    { text: `Operación${suffix('operating/install')}`, link: link('operating/install'), activeMatch: '/operating/' },
    { text: 'API HTTP (en inglés)', link: '/reference/api/' },
  ],
  sidebar: sidebar('es'),
  outline: { level: [2, 3], label: 'En esta página' },
  docFooter: { prev: 'Anterior', next: 'Siguiente' },
  darkModeSwitchLabel: 'Apariencia',
  lightModeSwitchTitle: 'Usar el modo claro',
  darkModeSwitchTitle: 'Usar el modo oscuro',
  sidebarMenuLabel: 'Menú',
  returnToTopLabel: 'Volver arriba',
  langMenuLabel: 'Cambiar de idioma',
  skipToContentLabel: 'Ir al contenido',
  notFound: {
    title: 'PÁGINA NO ENCONTRADA',
    quote: 'La dirección no existe. Use el menú o la búsqueda.',
    linkLabel: 'Ir al inicio',
    linkText: 'Ir al inicio',
  },
};

const search = {
  provider: 'local',
  options: {
    locales: {
      es: {
        translations: {
          button: { buttonText: 'Buscar', buttonAriaLabel: 'Buscar' },
          modal: {
            displayDetails: 'Mostrar los detalles',
            resetButtonTitle: 'Borrar la búsqueda',
            backButtonTitle: 'Cerrar la búsqueda',
            noResultsText: 'Sin resultados para',
            footer: {
              selectText: 'elegir',
              selectKeyAriaLabel: 'Intro',
              navigateText: 'navegar',
              navigateUpKeyAriaLabel: 'flecha arriba',
              navigateDownKeyAriaLabel: 'flecha abajo',
              closeText: 'cerrar',
              closeKeyAriaLabel: 'Escape',
            },
          },
        },
      },
    },
  },
};

export default defineConfig({
  base,
  title: 'Turno',
  description: 'One at a time, in turn, nothing lost: leases and queues on SQLite or PostgreSQL.',
  srcExclude: ['node_modules', 'public', 'assets'],
  head: [
    ['link', { rel: 'icon', href: `${base}turno.svg`, type: 'image/svg+xml' }],
    ['meta', { name: 'color-scheme', content: 'light dark' }],
  ],
  // Pages are plain Markdown, as on a code host: `<PATH>` in a sentence is text, not an element.
  markdown: {
    html: false,
    anchor: { slugify: slug },
    toc: { slugify: slug },
    // A Caddyfile has no grammar of its own. The one of nginx colours its comments and blocks.
    languageAlias: { caddy: 'nginx' },
    config: plainMarkdown,
  },
  transformPageData: fallBack,
  locales: {
    root: { label: 'English', lang: 'en', themeConfig: en },
    es: {
      label: 'Español',
      lang: 'es',
      description: 'De a uno, por turno, sin perder nada: bloqueos y colas sobre SQLite o PostgreSQL.',
      themeConfig: es,
    },
  },
  themeConfig: {
    logo: '/turno.svg',
    search,
    socialLinks: [{ icon: 'github', link: address }],
    /** The pages, for the language menu: a page without a translation leads to the home page of the language. */
    pages: pages(),
  },
  vite: {
    resolve: {
      alias: [
        {
          find: /^.*\/composables\/langs$/,
          replacement: fileURLToPath(new URL('./theme/langs.mjs', import.meta.url)),
        },
      ],
    },
  },
});
