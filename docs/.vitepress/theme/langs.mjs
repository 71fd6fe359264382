// Replaces VitePress's composable of the same name. The original links the same page in the other language even if that
// page does not exist; this one links the other language's home page then.

import { useData } from 'vitepress';
import { computed } from 'vue';

export function useLangs({ correspondingLink = false } = {}) {
  const { site, localeIndex, page, theme, hash } = useData();
  const home = (key) => (key === 'root' ? '/' : `/${key}/`);
  const currentLang = computed(() => ({
    label: site.value.locales[localeIndex.value]?.label,
    link: home(localeIndex.value),
  }));
  const localeLinks = computed(() => {
    const path = page.value.relativePath.slice(home(localeIndex.value).length - 1).replace(/\.md$/, '');
    const others = Object.entries(site.value.locales).filter(([key]) => key !== localeIndex.value);
    return others.map(([key, { label }]) => {
      const translated = (home(key) + path).slice(1);
      const exists = correspondingLink && theme.value.pages.includes(translated);
      const link = exists ? `/${translated}.html${hash.value}`.replace(/\/index\.html/, '/') : home(key);
      return { text: label, link };
    });
  });
  return { localeLinks, currentLang };
}
