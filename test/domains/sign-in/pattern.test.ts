import { expect, test } from 'vitest';
import { keptClaims, valuesAt } from '../../../src/domains/sign-in/rules/claim-values.ts';
import { Pattern } from '../../../src/domains/sign-in/rules/pattern.ts';
import { PatternError } from '../../../src/domains/sign-in/rules/pattern-parser.ts';

const SAME_AS_JAVASCRIPT = [
  'admins',
  'plant-.*',
  '^plant-[a-z]+$',
  '(eu|us)-(ops|dev)',
  'a?b+c*',
  '\\d{2,3}',
  '[^/]+/[^/]+',
  '\\w+@example\\.com',
  '(?:ab)*?c',
  'x{3}',
  '[\\]\\-a]+',
  'a|',
  '\\S+ \\S+',
  '(a*)*b',
  'cn=[A-Za-z ]+,ou=groups,.*',
];
const VALUES = [
  'admins',
  'Admins',
  'plant-',
  'plant-a',
  'xplant-a',
  'plant-9',
  'eu-ops',
  'us-dev',
  'eu-',
  'b',
  'abbcc',
  'ac',
  '42',
  '1234',
  'a/b',
  'a/b/c',
  'jo@example.com',
  'jo@examplexcom',
  'ababc',
  'c',
  'xxx',
  'xxxx',
  ']-a',
  'a',
  '',
  'one two',
  'aaab',
  'cn=Line One,ou=groups,dc=example',
];

test('a pattern fits the values that it fits as a whole in JavaScript', () => {
  for (const text of SAME_AS_JAVASCRIPT) {
    const expected = new RegExp(`^(?:${text})$`, 'u');
    const pattern = new Pattern(text);
    for (const value of VALUES) expect([text, value, pattern.fits(value)]).toEqual([text, value, expected.test(value)]);
  }
});

test('(?i) at the start looks at letters in any case', () => {
  const pattern = new Pattern('(?i)cn=Admins,[A-C]+\\D[^x]');
  expect(pattern.fits('CN=admins,abC-y')).toBe(true);
  expect(pattern.fits('CN=admins,abC-X')).toBe(false);
  expect(pattern.fits('CN=admins,abD-y')).toBe(false);
  expect(new Pattern('admins').fits('ADMINS')).toBe(false);
});

test.each([
  ['', 'characters'],
  ['a'.repeat(201), 'characters'],
  ['(a', 'without'],
  ['a)', 'without'],
  ['[a', 'early'],
  ['a\\', 'early'],
  ['*a', 'nothing'],
  ['a**', 'repetition'],
  ['a{2,1}', 'lower'],
  ['a{1000}', 'begins no repetition'],
  ['(?=a)b', 'group'],
  ['(?<name>a)', 'group'],
  ['(a)\\1', 'not supported'],
  ['\\bword', 'not supported'],
  ['a^b', 'whole'],
  ['[z-a]', 'empty'],
  ['((a{100}){100}){100}', 'too many'],
  [`${'('.repeat(19)}${'){100}'.repeat(19)}`, 'too many'],
  [`${'('.repeat(30)}a${')'.repeat(30)}`, 'deep'],
])('the pattern %j is refused', (text, reason) => {
  expect(() => new Pattern(text)).toThrow(PatternError);
  expect(() => new Pattern(text)).toThrow(reason);
});

test('patterns that make other engines try for ever are matched in steps that grow with the value', () => {
  for (const text of ['(a+)+b', '(a|a)*b', '(.*.*.*.*.*)*x', '(a?){50}a{50}b']) {
    const budget = { left: 2_000_000 };
    expect(new Pattern(text).fits('a'.repeat(1_024), budget)).toBe(false);
    expect(budget.left).toBeGreaterThan(0);
  }
});

test('what is not decided within its budget does not fit', () => {
  const pattern = new Pattern('a*');
  expect(pattern.fits('a'.repeat(100), { left: 1_000 })).toBe(true);
  expect(pattern.fits('a'.repeat(100), { left: 10 })).toBe(false);
});

test('ways that read nothing cost steps, too, and so does what a pattern is made of', () => {
  const pattern = new Pattern(`(${'|'.repeat(20)}){100}.*`);
  const budget = { left: 10_000 };
  expect(pattern.fits('a', budget)).toBe(true);
  expect(budget.left).toBeLessThan(8_000);
  const once = budget.left;
  expect(pattern.fits('', budget)).toBe(true);
  expect(budget.left).toBeLessThan(once);
  expect(pattern.steps).toBeGreaterThan(10_000);
});

test('values are found below nested names, in lists, and below names with dots', () => {
  const claims = {
    groups: ['a', 'b'],
    realm_access: { roles: ['admin', 7, { no: 'value' }] },
    'https://example.com/groups': ['x'],
    orgs: [{ name: 'one' }, { name: 'two' }],
    isStaff: true,
  };
  expect(valuesAt(claims, 'groups')).toEqual(['a', 'b']);
  expect(valuesAt(claims, 'realm_access.roles')).toEqual(['admin', '7']);
  expect(valuesAt(claims, 'https://example.com/groups')).toEqual(['x']);
  expect(valuesAt(claims, 'orgs.name')).toEqual(['one', 'two']);
  expect(valuesAt(claims, 'isStaff')).toEqual(['true']);
  expect(valuesAt(claims, 'constructor.name')).toEqual([]);
  expect(valuesAt(claims, '__proto__')).toEqual([]);
});

test('a claim that is nested deeper than anything can write it is left out', () => {
  const deep: unknown = JSON.parse('['.repeat(20_000) + ']'.repeat(20_000));
  expect(keptClaims({ deep, groups: ['ops'] }, ['groups'])).toEqual({ kept: { groups: ['ops'] }, left: ['deep'] });
});

test('of claims that are too many, the named ones are kept and the others left out', () => {
  const claims = { big: 'x'.repeat(60_000), groups: Array.from({ length: 1_000 }, (_, n) => `group-${n}`), aud: 'us' };
  const { kept, left } = keptClaims(claims, ['groups']);
  expect(Object.keys(kept)).toEqual(['groups']);
  expect(left).toEqual(['big']);
});
