import { expect, test } from 'vitest';
import { limitedClaims, valuesAt } from '../../../src/domains/sign-in/rules/claim-values.ts';
import { Pattern, PatternError } from '../../../src/domains/sign-in/rules/pattern.ts';
import { rolesByRules } from '../../../src/domains/sign-in/rules/rule-roles.ts';
import { busyMs } from '../../support/busy-time.ts';

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

test('a pattern matches the whole values that it matches in JavaScript', () => {
  for (const text of SAME_AS_JAVASCRIPT) {
    const expected = new RegExp(`^(?:${text})$`, 'u');
    const pattern = new Pattern(text);
    for (const value of VALUES)
      expect([text, value, pattern.matches(value)]).toEqual([text, value, expected.test(value)]);
  }
});

test('a pattern that begins with (?i) ignores the case of letters', () => {
  const pattern = new Pattern('(?i)cn=Admins,[A-C]+\\D[^x]');
  expect(pattern.matches('CN=admins,abC-y')).toBe(true);
  expect(pattern.matches('CN=admins,abC-X')).toBe(false);
  expect(pattern.matches('CN=admins,abD-y')).toBe(false);
  expect(new Pattern('admins').matches('ADMINS')).toBe(false);
});

test('`.` matches a line break, and `^` and `$` match the ends of the value only', () => {
  expect(new Pattern('a.b').matches('a\nb')).toBe(true);
  expect(new Pattern('^a$').matches('a')).toBe(true);
  expect(new Pattern('^a$').matches('a\n')).toBe(false);
  expect(new Pattern('a^b').matches('ab')).toBe(false);
});

test.each([
  ['', 'must have 1 to 200 characters'],
  ['a'.repeat(201), 'must have 1 to 200 characters'],
  ['(a', 'missing closing ) in "(a"'],
  ['a)', 'unexpected ) in "a)"'],
  ['[a', 'missing closing ] in "[a"'],
  ['a\\', 'trailing backslash'],
  ['*a', 'missing argument to repetition operator in "*"'],
  ['a**', 'invalid nested repetition operator in "**"'],
  ['a{2,1}', 'invalid repeat count in "{2,1}"'],
  ['a{1001}', 'invalid repeat count'],
  ['(?=a)b', 'unsupported Perl syntax in "(?="'],
  ['(?<=a)b', 'invalid named capture'],
  ['(a)\\1', 'invalid escape sequence in "\\1"'],
  ['[z-a]', 'invalid character class range in "z-a"'],
  ['a{501}', 'too many repetitions'],
  ['((((a|b)?c?){10}){10}){10}', 'too many repetitions'],
  ['((a{100}){100}){100}', 'invalid repeat count'],
  [`${'('.repeat(19)}${'){100}'.repeat(19)}`, 'invalid repeat count'],
])('the pattern %j is refused', (text, reason) => {
  expect(() => new Pattern(text)).toThrow(PatternError);
  expect(() => new Pattern(text)).toThrow(reason);
});

test('patterns that take exponential time in backtracking engines are matched in linear time', () => {
  for (const text of ['(a+)+b', '(a|a)*b', '(.*.*.*.*.*)*x', '(a?){50}a{50}b', '(|a|aa){50}c']) {
    const pattern = new Pattern(text);
    const before = busyMs();
    expect(pattern.matches('a'.repeat(1_024))).toBe(false);
    expect(busyMs() - before).toBeLessThan(1_000);
  }
});

test('patterns that take long to compile are compiled or refused within a second', () => {
  for (const text of ['(?i)[^\\pL\\pN]{1000}', '((((a|b)?c?){10}){10}){10}', `(${'|'.repeat(190)}){1000}`]) {
    const before = busyMs();
    expect(() => {
      new Pattern(text);
    }).toThrow(PatternError);
    expect(busyMs() - before).toBeLessThan(1_000);
  }
});

test('a value of more than 1,024 characters matches no pattern', () => {
  const pattern = new Pattern('a*');
  expect(pattern.matches('a'.repeat(1_024))).toBe(true);
  expect(pattern.matches('a'.repeat(1_025))).toBe(false);
});

test('the slow rules of one project stop at its time limit, and the rules of other projects still count', async () => {
  const claimPath = 'groups';
  // About a millisecond for each value: 60 seconds without the limit.
  const groups = Array.from({ length: 600 }, (_, n) => `${'ab'.repeat(250)}${n}`);
  const slow = Array.from({ length: 100 }, (_, n) => `[ab]*a[ab]{200}c${n}`);
  const rules = [
    ...slow.map((pattern) => ({ projectId: 'slow', claimPath, pattern, role: 'ADMIN' as const })),
    { projectId: 'other', claimPath, pattern: '[ab]+7', role: 'EDITOR' as const },
  ];
  const before = busyMs();
  expect(await rolesByRules(rules, { groups })).toEqual([{ projectId: 'other', role: 'EDITOR' }]);
  expect(busyMs() - before).toBeLessThan(10_000);
});

test('a claim path finds nested values, entries of lists, and names with dots', () => {
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
  // Read as 9007199254740992, which may be another group.
  expect(valuesAt(JSON.parse('{"groups":[9007199254740993,1e400,-7]}'), 'groups')).toEqual(['-7']);
  expect(valuesAt(claims, 'constructor.name')).toEqual([]);
  expect(valuesAt(claims, '__proto__')).toEqual([]);
});

test('a claim that is nested too deep for JSON.stringify is omitted', () => {
  const deep: unknown = JSON.parse('['.repeat(20_000) + ']'.repeat(20_000));
  expect(limitedClaims({ deep, groups: ['ops'] }, ['groups'])).toEqual({
    included: { groups: ['ops'] },
    omitted: ['deep'],
  });
});

test('if the claims are too large, the preferred claims are included and others are omitted', () => {
  const claims = { big: 'x'.repeat(60_000), groups: Array.from({ length: 1_000 }, (_, n) => `group-${n}`), aud: 'us' };
  const { included, omitted } = limitedClaims(claims, ['groups']);
  expect(Object.keys(included)).toEqual(['groups']);
  expect(omitted).toEqual(['big']);
});
