import { expect, test } from 'vitest';
import { ADVICE } from '../../console/advice/advice-texts.ts';
import { HINTS } from '../../console/bridges/translated.ts';
import { filled } from '../../console/texts/texts.ts';
import { mqttBridgeSchema } from '../../src/data-plane/bridges/mqtt/mqtt-bridge-schema.ts';
import { postgresqlBridgeKind } from '../../src/data-plane/bridges/postgresql/postgresql-bridge-kind.ts';
import { webhookBridgeKind } from '../../src/data-plane/bridges/webhook/webhook-bridge-kind.ts';
import { englishCatalogues, translatedLanguages, translationsOf } from './catalogues.ts';

/** The names of the values. A language may need a word for the number of a value where another does not. */
const placesIn = (text: string | undefined) =>
  [...new Set([...(text ?? '').matchAll(/\{(\w+)(?:\}|:[^{|}]*\|[^{|}]*\})/g)].map(([, name]) => name))].sort();

/** The first language has the keys of the catalogue that exists in English only in the graph. */
const [first = '', ...others] = translatedLanguages();

test('catalogues have the names of their files', async () => {
  const catalogues = await englishCatalogues();
  expect(catalogues.length).toBeGreaterThan(20);
  for (const { names, file } of catalogues) expect(file).toMatch(new RegExp(`^${names[0]}[/-]texts\\.ts$`));
});

test('each language has the texts of English, with the same places for values', async () => {
  const catalogues = await englishCatalogues();
  for (const language of [first, ...others]) {
    const translations = translationsOf(language);
    expect(Object.keys(translations)).toEqual([ADVICE, HINTS, ...catalogues.map(({ names }) => names[0])].sort());
    for (const { names, en } of catalogues) {
      const texts = Object.assign({}, ...names.map((name) => translations[name]));
      const places = Object.fromEntries(Object.keys(texts).map((key) => [key, placesIn(texts[key])]));
      const expected = Object.fromEntries(Object.keys(en).map((key) => [key, placesIn(en[key])]));
      expect({ [language]: { [`${names[0]}`]: places } }).toEqual({ [language]: { [`${names[0]}`]: expected } });
    }
  }
});

test('each language has the descriptions of all values of the bridges', () => {
  const described = new Set<string>();
  JSON.parse(
    JSON.stringify([mqttBridgeSchema, postgresqlBridgeKind.schema, webhookBridgeKind.schema]),
    (key, value) => {
      if (key === 'description' && typeof value === 'string') described.add(value);
    },
  );
  expect(described.size).toBeGreaterThan(50);
  for (const language of [first, ...others])
    expect({ [language]: Object.keys(translationsOf(language)[HINTS] ?? {}).sort() }).toEqual({
      [language]: [...described].sort(),
    });
});

test('words follow their number by the rules of the language', () => {
  const textIn = (language: string) => (count: string) => filled('{count} {count:client|clients}', { count }, language);
  expect(['0', '1', '2', '1,000'].map(textIn('en'))).toEqual(['0 clients', '1 client', '2 clients', '1,000 clients']);
  expect(['0', '1', '2'].map(textIn('fr'))).toEqual(['0 client', '1 client', '2 clients']);
});

test('each language has the same advice', () => {
  const placesOf = (language: string) =>
    Object.fromEntries(
      Object.entries(translationsOf(language)[ADVICE] ?? {}).map(([key, text]) => [key, placesIn(text)]),
    );
  expect(Object.keys(placesOf(first)).length).toBeGreaterThan(20);
  expect(others.length).toBeGreaterThan(0);
  for (const language of others) expect({ [language]: placesOf(language) }).toEqual({ [language]: placesOf(first) });
});

/** Words for which another one is used everywhere, and the words of other ideas that are the same in the language. */
const OTHER_WORDS: Readonly<Record<string, readonly [avoided: RegExp, unless: RegExp][]>> = {
  en: [[/\bedit(?:s|ed|ing)?\b|\brefus|\bexplain/i, /^$/]],
  de: [
    [/bearbeiten|erklären|verweiger/i, /^$/],
    [/abgelehnt|ablehn/i, /reject/i],
  ],
  es: [
    [/\beditar|explicar/i, /^$/],
    [/rechaz/i, /reject/i],
  ],
  fr: [[/\béditer|expliquer/i, /^$/]],
};

test('one thing has one word: change, denied, check access', async () => {
  const catalogues = await englishCatalogues();
  for (const [language, words] of Object.entries(OTHER_WORDS)) {
    const translations = language === 'en' ? {} : translationsOf(language);
    for (const { names, en } of catalogues) {
      const texts = language === 'en' ? en : (translations[names[0] ?? ''] ?? {});
      const wrong = Object.entries(texts).filter(([key, text]) =>
        words.some(([avoided, unless]) => avoided.test(text) && !unless.test(en[key] ?? '')),
      );
      expect({ [`${language} ${names[0]}`]: wrong }).toEqual({ [`${language} ${names[0]}`]: [] });
    }
  }
});
