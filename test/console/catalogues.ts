/** The texts of the console: English in the code, other languages in files. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { common } from '../../console/texts/common.ts';
import { type Catalogue, catalogue } from '../../console/texts/texts.ts';

const FOLDER = join(import.meta.dirname, '../../console');
const TRANSLATED = join(FOLDER, 'texts/catalogues');

/** The English texts of all screens, each with its file. */
export async function englishCatalogues(): Promise<readonly (Catalogue<string> & { readonly file: string })[]> {
  const files = readdirSync(FOLDER, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('texts.ts'));
  const found = await Promise.all(
    files.map(async (file) => {
      const values = Object.values<unknown>(await import(join(FOLDER, file)));
      return values.filter(isCatalogue).map((one) => ({ ...one, file }));
    }),
  );
  return [{ ...catalogue('common', common), file: 'common/texts.ts' }, ...found.flat()];
}

const isCatalogue = (value: unknown): value is Catalogue<string> =>
  typeof value === 'object' && value !== null && 'names' in value && 'en' in value;

export const translatedLanguages = (): readonly string[] =>
  readdirSync(TRANSLATED).map((name) => name.replace('.json', ''));

/** The texts of a language by the names of their catalogues and their keys. */
export const translationsOf = (language: string): Readonly<Record<string, Readonly<Record<string, string>>>> =>
  JSON.parse(readFileSync(join(TRANSLATED, `${language}.json`), 'utf8'));
