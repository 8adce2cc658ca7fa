/** Writes docs/console/gallery.html, a page of all pictures that `npm run screenshots` has saved in its folder. */
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './stamps.mjs';

const LOOKS = ['light', 'dark', 'narrow'];

const folder = join(root, 'docs/console');
const pictures = new Set(readdirSync(folder).filter((name) => name.endsWith('.png')));
const screens = [...pictures].filter((name) => name.endsWith('-light.png')).map((name) => name.slice(0, -10));
const picture = (screen, look) => {
  const name = `${screen}-${look}.png`;
  return pictures.has(name) ? `<a href="${name}"><img src="${name}" alt="${screen}, ${look}" loading="lazy"></a>` : '';
};
const section = (screen) =>
  `<section id="${screen}"><h2>${screen}</h2>${LOOKS.map((look) => picture(screen, look)).join('')}</section>`;
const page = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Screens of the Brokergraph console</title>
<style>
body { font-family: system-ui, sans-serif; margin: 2rem; background: #8882 }
section { display: grid; grid-template-columns: 1fr 1fr auto; gap: 1rem; align-items: start }
h2 { grid-column: 1 / -1; margin-bottom: 0 }
img { max-width: 100%; max-height: 30rem; border: 1px solid #8888 }
</style>
<h1>Screens of the Brokergraph console: ${screens.length}</h1>
${screens.sort().map(section).join('\n')}
</html>
`;
writeFileSync(join(folder, 'gallery.html'), page);
process.stdout.write(`${join(folder, 'gallery.html')}: ${screens.length} screens\n`);
