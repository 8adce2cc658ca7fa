import fc from 'fast-check';
import { expect, test } from 'vitest';
import { matcherOf } from '../../../src/domains/access-control/reading/account-conditions.ts';
import { TopicPage } from '../../../src/domains/messages/retained/topic-page.ts';
import { FITS } from '../../../src/platform/text/text-filter.ts';
import { includesText, placesOf } from '../../../src/platform/text/text-search.ts';
import { busyMs } from '../../support/busy-time.ts';

const letters = (maxLength: number, minLength = 0) =>
  fc.string({ unit: fc.constantFrom('a', 'a', 'b'), minLength, maxLength });

test('parts are found where JavaScript finds them, also long and overlapping ones', () => {
  fc.assert(
    fc.property(letters(300), letters(40, 1), (text, part) => {
      const places: number[] = [];
      for (let at = text.indexOf(part); at !== -1; at = text.indexOf(part, at + 1)) places.push(at);
      expect([...placesOf(part, text)]).toEqual(places);
      expect(includesText(text, part)).toBe(text.includes(part));
      expect(includesText(`${text}${part}b`, part)).toBe(true);
    }),
  );
});

const NAME = 'a'.repeat(65_535);
const SEARCH = `${'a'.repeat(16_000)}b${'a'.repeat(16_000)}`;
const account = (username: string) => ({
  username,
  clientId: username,
  textName: username,
  textDescription: username,
  disabled: false,
  groups: [],
  roles: [],
});

test.each([
  ['client ids', () => FITS.contains(NAME, SEARCH)],
  ['accounts', () => matcherOf({ search: SEARCH })?.(account(NAME))],
  [
    'retained topics',
    () => {
      const page = new TopicPage({ first: 1, after: null, search: SEARCH });
      page.add(NAME);
      return page.count > 0;
    },
  ],
])('a search in long %s takes linear time', (_what, search) => {
  const since = busyMs();
  for (let time = 0; time < 5; time += 1) expect(search()).toBe(false);
  expect(busyMs() - since).toBeLessThan(700);
});

test.each(['Sensor', 'sensor of the NORTHERN hall', `${'x'.repeat(40_000)}\\`.repeat(2)])(
  'accounts are searched in any case, whatever the length of the text',
  (search) => {
    const matches = matcherOf({ search });
    expect(matches?.(account(`the ${search.toUpperCase()} 7`))).toBe(true);
    expect(matches?.(account('another'))).toBe(false);
  },
);
