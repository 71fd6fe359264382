// VitePress's theme without its fonts, in the colours of the console.

import Theme from 'vitepress/theme-without-fonts';

import './style.css';

export default Theme;
