import { describe, expect, test } from 'vitest';
import { VERBS } from '../../console/search/found.ts';
import { searchTexts } from '../../console/search/texts.ts';
import { ACTIONS, commandIn } from '../../console/search/verbs.ts';
import { translatedLanguages, translationsOf } from './catalogues.ts';

/** How people write a phrase: with and without accents, capitals and typographic apostrophes. */
const spellingsOf = (phrase: string) => [
  phrase,
  phrase.toUpperCase(),
  phrase.normalize('NFD').replaceAll(/\p{M}/gu, ''),
  phrase.replaceAll('’', "'"),
];

describe.each(['en', ...translatedLanguages()])('the search in %s', (tag) => {
  const translations = tag === 'en' ? {} : translationsOf(tag);
  const words: Readonly<Record<string, string>> = { ...searchTexts.en, ...translations.search };
  const spellings = (key: string) => String(words[key]).split('|').flatMap(spellingsOf);
  const read = (term: string) => commandIn(term, { tag, translations });

  test('reads each verb before a name', () => {
    for (const verb of VERBS)
      for (const phrase of spellings(verb))
        expect({ phrase, ...read(`${phrase} press-7`) }).toEqual({
          ...{ phrase, verb, name: 'press-7', action: null, topic: '' },
        });
  });

  test('reads each action between a name and a topic, and after them', () => {
    for (const why of spellings('why'))
      for (const action of ACTIONS)
        for (const phrase of spellings(action))
          for (const typed of [`${why} press-7 ${phrase} plant/state`, `${why} press-7 plant/state ${phrase}`])
            expect({ typed, ...read(typed) }).toEqual({
              ...{ typed, verb: 'why', name: 'press-7', action, topic: 'plant/state' },
            });
  });

  test('skips the words between', () => {
    const typed = `${words.why} ${words.fillers} press-7 plant/state`;
    expect(read(typed)).toEqual({ verb: 'why', name: 'press-7', action: null, topic: 'plant/state' });
  });

  test('only searches a verb alone, and a name that begins like a verb', () => {
    for (const term of [String(words.why), 'whyle press-7', 'press-7'])
      expect(read(term)).toEqual({ verb: null, name: term, action: null, topic: '' });
  });
});

test('people may say it as they speak', () => {
  const read = (tag: string, term: string) => commandIn(term, { tag, translations: translationsOf(tag) });
  const found = { verb: 'why', name: 'press-7', topic: 'plant/state' };
  expect(read('es', 'por qué no puede press-7 suscribirse a plant/state')).toMatchObject({
    ...found,
    action: 'SUBSCRIBE',
  });
  expect(read('es', 'Porque press-7 publicar plant/state')).toMatchObject({ ...found, action: 'PUBLISH' });
  expect(read('fr', "pourquoi press-7 ne peut pas s'abonner à plant/state")).toMatchObject({
    ...found,
    action: 'SUBSCRIBE',
  });
  expect(read('fr', 'deconnecter press-7')).toMatchObject({ verb: 'disconnect', name: 'press-7' });
  expect(read('de', 'warum darf press-7 plant/state nicht veroffentlichen')).toMatchObject({
    ...found,
    action: 'PUBLISH',
  });
  expect(read('de', 'why can press-7 publish plant/state')).toMatchObject({ ...found, action: 'PUBLISH' });
});
