import type { GraphQLEnumType } from 'graphql';
import { expect, test } from 'vitest';
import { ADVICE } from '../../console/advice/advice-texts.ts';
import { reasonTexts } from '../../console/advice/reason-texts.ts';
import { codeTexts } from '../../console/audit/code-texts.ts';
import { helpTexts } from '../../console/problems/help-texts.ts';
import { statementTexts } from '../../console/problems/statement-texts.ts';
import { DEFAULTS } from '../../console/problems/threshold-defaults.ts';
import { titleTexts } from '../../console/problems/title-texts.ts';
import { capabilityTexts } from '../../console/texts/capability-texts.ts';
import { schema } from '../../src/app/schema.ts';
import { PROBLEM_KINDS, problemKinds } from '../../src/domains/problems/model/problem-kinds.ts';
import { THRESHOLDS } from '../../src/domains/problems/model/problem-thresholds.ts';
import { STATEMENTS } from '../../src/protocol/problems/problem-statements.ts';
import { translationsOf } from './catalogues.ts';

/** Access was denied for one of several reasons, each with a text of its own. */
const DENIED = { ACCESS_DENIED: 'deniedByRule' } as const;

/** The text of the service has examples of lines, so the console shows it unchanged. */
const AS_SENT = ['LOG_NOT_UNDERSTOOD'];

const CODES = [
  { type: 'BrokerCapabilityReason', texts: capabilityTexts.en, others: {} },
  { type: 'ErrorCode', texts: codeTexts.en, others: {} },
  { type: 'RefusalReason', texts: reasonTexts.en, others: {} },
  // All languages have the same keys.
  { type: 'RefusalReason', texts: translationsOf('de')[ADVICE], others: DENIED },
] as const;

test('each code of the graph that the console shows in words has a text, unless the graph has the English one', () => {
  for (const { type, texts, others } of CODES) {
    const codes = (schema.getType(type) as GraphQLEnumType)
      .getValues()
      .flatMap(({ name }) => (AS_SENT.includes(name) ? [] : [name]));
    expect(codes.length).toBeGreaterThan(5);
    const keys: Readonly<Record<string, string>> = Object.fromEntries(codes.map((code) => [code, code]));
    for (const key of Object.values({ ...keys, ...others })) {
      const text = (texts as Readonly<Record<string, string>>)[key];
      expect({ [`${type} ${key}`]: text }).toEqual({ [`${type} ${key}`]: expect.any(String) });
    }
  }
});

test('titles, details and remedies of problems are those of the service, so that the console recognizes and translates them', () => {
  const wordsOf = (what: 'title' | 'whatWouldHelp') =>
    Object.fromEntries(problemKinds.map((kind) => [kind, PROBLEM_KINDS[kind][what]]));
  expect(statementTexts.en).toEqual(STATEMENTS);
  expect(titleTexts.en).toEqual(wordsOf('title'));
  expect(helpTexts.en).toEqual(wordsOf('whatWouldHelp'));
});

test('defaults and bounds of thresholds are those of the service', () => {
  const known = Object.entries(THRESHOLDS).map(([name, { fallback, min, max }]) => [name, { fallback, min, max }]);
  expect(DEFAULTS).toEqual(Object.fromEntries(known));
});
