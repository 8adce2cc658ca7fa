import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { SETTINGS } from '../../src/platform/config/settings.ts';
import { amountOf, CONSTANTS, constantOf, limitRows } from './security-limits.ts';

const rows = limitRows(readFileSync(new URL('../../SECURITY.md', import.meta.url), 'utf8'));
const settings = new Map<string, string>(Object.values(SETTINGS).map(({ env, fallback }) => [env, fallback]));

describe('SECURITY.md', () => {
  test.each(rows)('$what: $number, as the code has it', ({ what, number, setting }) => {
    const env = /^`(\w+)`$/.exec(setting)?.[1];
    const constant = CONSTANTS[what];
    if (env === undefined) expect(constant, 'a constant is named in security-limits.ts').toBeDefined();
    const actual = env === undefined ? constant && constantOf(constant) : Number(settings.get(env));
    expect(amountOf(number)).toBe(actual);
  });

  test('every row says what happens beyond its limit, and none is there twice', () => {
    expect(rows.length).toBeGreaterThan(60);
    expect(rows.filter(({ beyond }) => beyond.length < 5)).toEqual([]);
    expect(new Set(rows.map(({ what }) => what)).size).toBe(rows.length);
  });

  test('every setting that is a maximum or a rate is in the table', () => {
    const bounds = [...settings.keys()].filter((env) => /(^|_)MAX(_|$)|^RATE_/.test(env));
    const named = new Set(rows.map(({ setting }) => setting.replaceAll('`', '')));
    expect(bounds.filter((env) => !named.has(env))).toEqual([]);
  });
});
